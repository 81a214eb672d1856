//! Adapters that the GPUs' way to them cannot feed. That a slot cannot feed its ports is told by the rule on slots.

use weft_base::Severity;
use weft_predictor::HcaFilter;

use super::lookup::{self, best_rate};
use super::ports;
use crate::cause::Cause;
use crate::chart::Chart;
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::rules::inside::NIC_PCIE_LIMIT;

/// The rule.
#[derive(Debug)]
pub struct Slots;

impl Rule for Slots {
    fn causes(&self) -> &'static [&'static Cause] {
        // The rule on slots owns the cause.
        &[]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        useless(chart).into_iter().collect()
    }
}

/// More adapters would not be faster: the prediction with one is that with all.
fn useless(chart: &Chart<'_>) -> Option<Finding> {
    let used = ports::used(chart);
    let (first, _, place) = used.first()?;
    if used.len() < 2 || chart.host_count() < 2 {
        return None;
    }
    let only = HcaFilter::read(&format!("={first}"));
    let (one, all) = lookup::otherwise(chart, |request| request.settings.hca = Some(only.clone()))?;
    let measured = chart.runs.iter().filter_map(best_rate).max()?;
    let alike =
        one.as_gigabytes() > 0.9 * all.as_gigabytes() && one.as_gigabytes() < 1.1 * all.as_gigabytes();
    if !alike || measured.as_gigabytes() > 1.5 * all.as_gigabytes() {
        return None;
    }
    let what = format!(
        "{} adapters are no faster than one: PCIe between the GPUs and to the adapters is the bound",
        used.len()
    );
    Some(
        Finding::new(&NIC_PCIE_LIMIT, Confidence::Likely, what)
            .at(place.clone(), format!("{} adapters are used", used.len()))
            .without(format!("with one of them {one} would be expected, with all {all}"))
            .costs(0.0, "nothing that a setting brings back")
            .fix("NVLink between the GPUs, or GPUs and NICs in pairs below PCIe switches; no setting helps")
            .severity(Severity::Note),
    )
}
