//! Several GPUs behind one uplink of a PCIe switch.

use std::collections::BTreeMap;

use weft_base::Severity;
use weft_formats::EndKind;
use weft_topology::ReportedClass;

use super::peers::without_peers;
use super::switch_pattern::inside_slower_than_across;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::Chart;
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed;

/// One uplink.
pub const SHARED_UPLINK: Cause = Cause {
    code: "D016",
    word: "shared-uplink",
    title: "several GPUs share one uplink to the CPU",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "GPUs behind one PCIe switch (PIX or PXB in the matrix) reach the CPU over the switch's one uplink. With \
        peer-to-peer their traffic turns around in the switch, and nothing is shared; without (cards that have none, or \
        refused) each byte goes up and comes down again, so that n cards have the n-th part of the uplink each. A group of \
        GPUs spread over switches is then faster than one within. Known from NVIDIA/nccl#1086.",
};

/// The rule.
#[derive(Debug)]
pub struct Uplink;

impl Rule for Uplink {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&SHARED_UPLINK]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let allowed = chart.peers_allowed();
        let refused = allowed.as_ref().is_some_and(|told| !told.fact);
        let none = without_peers(&chart.models()) && allowed.as_ref().is_none_or(|told| !told.fact);
        if !(refused || none) {
            return Vec::new();
        }
        let Some(located) = chart.case.matrix.as_ref() else { return Vec::new() };
        let matrix = &located.value;
        let gpus: Vec<usize> = matrix.of_kind(EndKind::Gpu).collect();
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for gpu in &gpus {
            let near = |other: &&usize| {
                matches!(matrix.class(*gpu, **other), Some(ReportedClass::Pix | ReportedClass::Pxb))
            };
            let head = gpus.iter().find(near).copied().map_or(*gpu, |other| other.min(*gpu));
            groups.entry(head).or_default().push(*gpu);
        }
        let Some(group) = groups.values().max_by_key(|group| group.len()).filter(|group| group.len() > 1)
        else {
            return Vec::new();
        };
        let label = |gpu: &usize| matrix.ends().get(*gpu).map_or("", |end| end.label.as_str());
        let names: Vec<&str> = group.iter().map(label).collect();
        let what = format!("{} stage their traffic over the one uplink of their switch", listed(&names));
        #[expect(clippy::cast_precision_loss, reason = "a count of GPUs")]
        let share = 1.0 - 1.0 / group.len() as f64;
        let mut found = Finding::new(&SHARED_UPLINK, Confidence::Certain, what)
            .severity(Severity::Note)
            .at(located.place.clone(), format!("{} GPUs behind one switch", group.len()));
        if let Some(pattern) = inside_slower_than_across(chart) {
            found = found.severity(Severity::Warning).at(pattern.place.clone(), pattern.says());
        }
        if let Some(told) = allowed {
            found = found.at(told.place, told.says);
        }
        vec![
            found
                .costs(0.4 * share, format!("{} GPUs share what one of them could use alone", group.len()))
                .fix("no setting mends it: spread groups of GPUs over switches (CUDA_VISIBLE_DEVICES), or cards with peer-to-peer")
                .check("all_reduce_perf over GPUs of different switches is faster"),
        ]
    }
}
