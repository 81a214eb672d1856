//! NVSwitches that could add and do not, and algorithms that a log shows to be badly chosen.

use weft_base::{Place, Rate};
use weft_catalogue::Form;
use weft_collective::Collective;
use weft_formats::{NcclLog, TuningChoice};
use weft_predictor::compare::{Comparison, Point, Verdict};
use weft_predictor::{Algorithm, Allowed};

use super::choice::NVLS_OFF;
use super::version::VERSION_ALGORITHM;
use crate::cause::Cause;
use crate::chart::{Chart, Run, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Figures nearer than this are alike.
const NEAR: f64 = 0.15;
/// What the better algorithm must bring.
const GAIN: f64 = 1.15;

/// The rule.
#[derive(Debug)]
pub struct Nvls;

impl Rule for Nvls {
    fn causes(&self) -> &'static [&'static Cause] {
        // The rule on settings owns the causes.
        &[]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        switched_off(chart).or_else(|| badly_chosen(chart)).into_iter().collect()
    }
}

/// That a log says that it is off: the line and the words.
fn said_off(log: &NcclLog, place: &Place) -> Option<(Place, String)> {
    let is_on = log.channels.iter().any(|it| it.nvls.is_some_and(|count| count > 0))
        || log.remarks.iter().any(|it| it.text.contains("multicast support is available"));
    if is_on {
        return None;
    }
    let words = ["multicast support is not available", "ailed to bind NVLink SHARP"];
    let said = |text: &str| words.iter().any(|word| text.contains(word));
    let remark = log.remarks.iter().find(|it| said(&it.text)).map(|it| (it.line, it.text.clone()));
    let problem = || log.problems.iter().find(|it| said(&it.text)).map(|it| (it.line, it.text.clone()));
    let none = || {
        log.channels.iter().find(|it| it.nvls == Some(0)).map(|it| (it.line, "0 nvls channels".to_owned()))
    };
    let (line, text) = remark.or_else(problem).or_else(none)?;
    Some((at(place, line), text))
}

/// What the same run would reach with one algorithm alone, at the size of a point.
fn with_only(run: &Run<'_>, point: &Point, algorithm: Algorithm) -> Option<Rate> {
    let other = run.instead(|request| {
        request.settings.algorithms = Allowed::only(algorithm);
        request.sizes = vec![point.bytes];
    })?;
    Some(other.rows.first()?.busbw)
}

fn is_near(a: Rate, b: Rate) -> bool {
    (a.as_gigabytes() / b.as_gigabytes().max(1e-9) - 1.0).abs() < NEAR
}

/// The last size of a run inside one node, where the library should let the switches add.
fn should_add(comparison: &Comparison) -> Option<&Point> {
    let is_one = comparison.prediction.nodes == 1 && comparison.collective == Collective::AllReduce;
    let last = comparison.points.last().filter(|_| is_one)?;
    matches!(last.expected.algorithm, Algorithm::Nvls | Algorithm::NvlsTree).then_some(last)
}

/// Switches that do not add, by the log, on a machine that has them, and figures of rings.
fn switched_off(chart: &Chart<'_>) -> Option<Finding> {
    let (place, text) = chart.logs().find_map(|(log, place)| said_off(log, place))?;
    // A fabric that is not there is told by its own rule.
    let is_broken = chart.records("gpu").any(|said| {
        said.record
            .text("fabric-state")
            .is_some_and(|it| !matches!(it, "Completed" | "N/A" | "Not Supported"))
    });
    if is_broken
        || chart.setting("NCCL_NVLS_ENABLE").is_some_and(|it| it.value.trim().trim_end_matches('.') == "0")
    {
        return None;
    }
    let (run, comparison, last) = chart.compared().find_map(|(run, it)| Some((run, it, should_add(it)?)))?;
    let ring = with_only(run, last, Algorithm::Ring)?;
    let is_ring =
        is_near(last.busbw, ring) && last.expected.busbw.as_gigabytes() > GAIN * ring.as_gigabytes();
    if !is_ring {
        return None;
    }
    let what = format!(
        "the switches do not add: {} at {} is what rings make ({ring}), and {} over NVLS is expected",
        last.busbw, last.bytes, last.expected.busbw
    );
    let share = 1.0 - last.busbw.as_gigabytes() / last.expected.busbw.as_gigabytes();
    let of = format!("busbw of {} at {}", comparison.collective.name(), last.bytes);
    let is_guest = crate::rules::inside::is_guest(chart);
    let confidence = if chart.models().iter().all(|gpu| gpu.form == Form::Sxm) {
        Confidence::Certain
    } else {
        Confidence::Likely
    };
    let mut found = Finding::new(&NVLS_OFF, confidence, what)
        .at(place, text)
        .at(run.at(last.line), format!("{} at {}", last.busbw, last.bytes))
        .figures(&of, last.expected.busbw, last.busbw)
        .costs(share, format!("{:.0} % of the bandwidth of an all-reduce inside a node", 100.0 * share));
    if let Some((place, says)) = is_guest {
        found = found.at(place, says);
    }
    Some(
        found
            .fix(
                "driver 530 or later with the Fabric Manager of that very version, fabric Completed; in a virtual machine a \
                 partition with all eight GPUs and their switches; in a container the driver's devices whole; no other \
                 process may hold the multicast memory",
            )
            .check("NCCL_DEBUG=INFO: `NVLS multicast support is available`, and `16 nvls channels` or the like")
            .settle("nvidia-smi -q | grep -A4 Fabric; nvidia-smi for the driver; systemctl status nvidia-fabricmanager"),
    )
}

/// What the log says was chosen for a size of that collective.
fn choice_of<'a>(
    chart: &Chart<'a>,
    collective: Collective,
    point: &Point,
) -> Option<(&'a TuningChoice, Place)> {
    let name = collective.name().replace('-', "");
    chart.logs().find_map(|(log, place)| {
        let all = log
            .choices
            .iter()
            .filter(|it| it.collective.as_ref().is_none_or(|it| it.eq_ignore_ascii_case(&name)));
        let near = all.filter(|it| it.bytes <= point.bytes).max_by_key(|it| it.bytes)?;
        (near.bytes.get() * 4 >= point.bytes.get()).then(|| (near, at(place, near.line)))
    })
}

/// A run that is as slow as the algorithm that its log names, where another is expected to be faster.
fn badly_chosen(chart: &Chart<'_>) -> Option<Finding> {
    chart.compared().find_map(|(run, comparison)| {
        let last = comparison.points.last().filter(|last| last.verdict == Verdict::Low)?;
        let (choice, place) = choice_of(chart, comparison.collective, last)?;
        let named = [
            ("Tree", Algorithm::Tree),
            ("Ring", Algorithm::Ring),
            ("NVLS", Algorithm::Nvls),
            ("NVLSTree", Algorithm::NvlsTree),
        ];
        let (_, algorithm) =
            named.into_iter().find(|(word, _)| choice.algorithm.eq_ignore_ascii_case(word))?;
        let own = with_only(run, last, algorithm)?;
        let gain = last.expected.busbw.as_gigabytes() / last.busbw.as_gigabytes().max(1e-9);
        if last.expected.algorithm == algorithm || !is_near(last.busbw, own) || gain < GAIN {
            return None;
        }
        let what = format!(
            "{} was chosen for {} and makes {}; {:?} is expected to make {}",
            choice.algorithm, last.bytes, last.busbw, last.expected.algorithm, last.expected.busbw
        );
        let share = 1.0 - 1.0 / gain;
        Some(
            Finding::new(&VERSION_ALGORITHM, Confidence::Likely, what)
                .at(place, format!("{} over {} at {}", choice.algorithm, choice.protocol, choice.bytes))
                .at(run.at(last.line), format!("{} at {}", last.busbw, last.bytes))
                .figures(&format!("busbw at {}", last.bytes), last.expected.busbw, last.busbw)
                .costs(share, format!("{:.0} % of the bandwidth at {}", 100.0 * share, last.bytes))
                .fix(format!(
                    "another version of the library, or NCCL_ALGO={:?} (for this job)",
                    last.expected.algorithm
                ))
                .check(format!("near {} at {}", last.expected.busbw, last.bytes))
                .settle("the same run with NCCL_ALGO set to each algorithm"),
        )
    })
}
