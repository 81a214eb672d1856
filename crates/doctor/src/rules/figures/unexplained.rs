//! A run that is low for no cause that another rule found: what would make the machine so slow.

use weft_base::{Bytes, Severity};

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use weft_predictor::Algorithm;
use weft_predictor::compare::{Comparison, Point, Verdict};

/// Nobody knows yet.
pub const UNEXPLAINED: Cause = Cause {
    code: "D099",
    word: "unexplained-slow",
    title: "a run is slower than expected, and the input does not say why",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "The bandwidth is below what such a machine is expected to reach, and nothing in the input explains it. The same \
        machine was predicted again with one thing wrong after the other; what comes near the measured figure is told as a \
        possible cause, with the command that settles it. `weft gather` collects all that is asked for. Where nothing comes \
        near, look for a slow GPU or host by tests of pairs, and for other jobs on the machine.",
};

/// Sizes from here on show links.
const LARGE: Bytes = Bytes::new(16 << 20);
/// Below this share of what a ring would reach it is no matter of taste of the model.
const FAR: f64 = 0.4;
/// Above this share of it, models err as much.
const LITTLE: f64 = 0.8;

/// The rule; what it finds yields to what any other finds (see `weigh`).
#[derive(Debug)]
pub struct Unexplained;

impl Rule for Unexplained {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&UNEXPLAINED]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let low = chart.compared().filter_map(|(run, comparison)| {
            let last = comparison
                .points
                .last()
                .filter(|last| last.verdict == Verdict::Low && last.bytes >= LARGE)?;
            (!is_series(chart, comparison)).then_some((run, comparison, last))
        });
        let lowest = low.min_by(|a, b| a.2.ratio.total_cmp(&b.2.ratio));
        lowest.and_then(|(run, comparison, last)| finding(chart, run, comparison, last)).into_iter().collect()
    }
}

/// By how much it falls short of what a ring reaches: where a ring fills the wires, only the choice of algorithm differs.
fn share(run: &Run<'_>, last: &Point) -> f64 {
    let ring = run.instead(|request| {
        request.settings = request.settings.clone().only(Algorithm::Ring);
        request.sizes = vec![last.bytes];
    });
    let ring = ring.and_then(|prediction| prediction.rows.first().map(|row| row.busbw));
    let least = ring.map_or(last.expected.busbw, |ring| ring.min(last.expected.busbw));
    last.busbw.as_gigabytes() / least.as_gigabytes().max(1e-9)
}

/// Whether another run of the same GPUs is as expected: then the machine is well, and the runs were set up differently.
fn is_series(chart: &Chart<'_>, comparison: &Comparison) -> bool {
    let like = chart.compared().filter(|(_, it)| {
        it.collective == comparison.collective
            && it.ranks == comparison.ranks
            && !std::ptr::eq(*it, comparison)
    });
    let mut last = like.filter_map(|(_, it)| it.points.last().filter(|last| last.bytes >= LARGE));
    last.any(|last| last.verdict != Verdict::Low)
}

fn finding(chart: &Chart<'_>, run: &Run<'_>, comparison: &Comparison, last: &Point) -> Option<Finding> {
    let has_nics = chart.machine().is_some_and(|machine| !machine.nics.is_empty());
    let is_described = run.assumed.is_none() && (comparison.prediction.nodes == 1 || has_nics);
    let share = share(run, last);
    if share > LITTLE {
        return None;
    }
    let severity = if is_described && share < FAR { Severity::Warning } else { Severity::Note };
    let of =
        format!("busbw of {} over {} GPUs at {}", comparison.collective.name(), comparison.ranks, last.bytes);
    let assumed = run.assumed.as_ref().map_or(String::new(), |machine| format!(" of {machine}"));
    let what = format!(
        "{} is {:.0} % of the {} expected{assumed}, and nothing in the input says why",
        last.busbw,
        100.0 * last.ratio,
        last.expected.busbw
    );
    let mut found = Finding::new(&UNEXPLAINED, Confidence::Possible, what)
        .severity(severity)
        .at(run.at(last.line), format!("{} at {}", last.busbw, last.bytes))
        .figures(&of, last.expected.busbw, last.busbw)
        .costs(1.0 - share.min(1.0), format!("{:.0} % of the bandwidth", 100.0 * (1.0 - last.ratio)))
        .fix("find the cause first: what would settle it is named below");
    for cause in &comparison.causes {
        found = found.without(format!("as if {}: then {} is expected", cause.text, cause.busbw));
    }
    let looks: Vec<&str> = comparison.causes.iter().map(|cause| cause.look).collect();
    let settle = if looks.is_empty() {
        "tests of pairs (p2pBandwidthLatencyTest, all_reduce_perf over two hosts at a time), and NCCL_DEBUG=INFO of the run".to_owned()
    } else {
        looks.join("; ")
    };
    Some(found.settle(settle))
}
