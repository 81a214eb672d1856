//! Which figure of a table was read: algbw or busbw, the average or the largest size, a size that fills the links.

use weft_base::{Bytes, Rate};
use weft_formats::Benchmark;
use weft_predictor::compare::Verdict;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Another column, or an average.
pub const MISREAD_ALGBW: Cause = Cause {
    code: "D076",
    word: "misread-algbw",
    title: "algbw or the average is read as the bandwidth of the links",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "nccl-tests prints algbw, the size by the time, and busbw, which is algbw times what each link must carry: \
        2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all. Only busbw is to be compared with a \
        link, and only at sizes that fill it. `Avg bus bandwidth` averages over all sizes, the smallest included: of a sweep \
        from 8 bytes it says little, and two sweeps of different ranges cannot be compared by it. Take busbw of the largest \
        size. Told so by the maintainers in NVIDIA/nccl-tests#212 and #40.",
};

/// Too small.
pub const LATENCY_BOUND: Cause = Cause {
    code: "D075",
    word: "latency-bound-size",
    title: "the largest size is too small to fill the links",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "A collective takes time before its first byte counts: launching the kernel, and a step for each hop of the ring \
        or tree. Up to some size, which grows with the number of GPUs and with the bandwidth, that time decides and the bus \
        bandwidth still rises with each doubling. A table that ends there does not show the links. Run with `-b 8 -e 8G -f 2`: \
        where busbw no longer rises, the links are full. Known from NVIDIA/nccl-tests#149 and #212.",
};

/// An average below this share of the best says nothing of the links.
const FAR: f64 = 0.8;
/// A factor from here on makes algbw look low.
const FACTOR: f64 = 1.4;
/// What a large size must gain.
const GAIN: f64 = 1.25;
/// A size that fills every link that there is.
const FULL: Bytes = Bytes::new(8 << 30);
/// Sizes from here on show links at all: what is smaller was meant to show latencies.
const SOME: Bytes = Bytes::new(1 << 20);

/// The rule.
#[derive(Debug)]
pub struct Reading;

impl Rule for Reading {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&MISREAD_ALGBW, &LATENCY_BOUND]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let fine = || chart.runs.iter().filter(|run| is_fine(run));
        let columns = fine().filter_map(columns).max_by_key(|(rate, _)| *rate).map(|(_, finding)| finding);
        let size = fine().find_map(|run| small(run));
        columns.into_iter().chain(size).collect()
    }
}

/// Whether a table of a collective's test is as expected, and not low for a cause that others tell.
fn is_fine(run: &Run<'_>) -> bool {
    let is_low = |it: &weft_predictor::compare::Comparison| {
        it.points.last().is_some_and(|point| matches!(point.verdict, Verdict::Low | Verdict::TooGood))
    };
    run.comparison.as_ref().is_some_and(|it| !is_low(it))
}

/// The average of a table; `None` where each of its sizes was a run with an average of its own.
fn average(benchmark: &Benchmark) -> Option<Rate> {
    if let [average] = benchmark.averages[..] { Some(average) } else { None }
}

fn columns(run: &Run<'_>) -> Option<(Rate, Finding)> {
    let best = run.benchmark.best()?;
    let (algbw, busbw) = (best.algbw?, best.busbw?);
    let share = |rate: Rate| rate.as_gigabytes() / busbw.as_gigabytes();
    let average = average(run.benchmark).filter(|average| share(*average) < FAR);
    let is_other = algbw > Rate::ZERO && busbw.as_gigabytes() / algbw.as_gigabytes() > FACTOR;
    if average.is_none() && !is_other {
        return None;
    }
    let others = [
        is_other.then(|| format!("algbw ({algbw})")),
        average.map(|average| format!("the average over all sizes ({average})")),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    let what = format!(
        "the bandwidth to compare with the links is busbw at large sizes, {busbw} at {}, not {}",
        best.bytes,
        others.join(" or ")
    );
    let finding = Finding::new(&MISREAD_ALGBW, Confidence::Likely, what)
        .at(run.at(best.line), format!("{}: algbw {algbw}, busbw {busbw}", best.bytes))
        .fix("nothing to mend; read busbw of the largest size");
    Some((busbw, finding))
}

fn small(run: &Run<'_>) -> Option<Finding> {
    let comparison = run.comparison.as_ref()?;
    let last = comparison.points.last().filter(|last| last.bytes >= SOME && last.bytes < FULL)?;
    let full = run.instead(|request| request.sizes = vec![FULL])?.rows.first()?.busbw;
    let gain = full.as_gigabytes() / last.expected.busbw.as_gigabytes();
    if gain < GAIN {
        return None;
    }
    let what = format!(
        "the largest size, {}, does not fill the links of {} GPUs: {FULL} would show about {:.1} times the bus bandwidth",
        last.bytes, comparison.ranks, gain
    );
    let finding = Finding::new(&LATENCY_BOUND, Confidence::Likely, what)
        .at(run.at(last.line), format!("{} at {}", last.busbw, last.bytes))
        .figures(&format!("busbw at {FULL}, and at {}", last.bytes), full, last.busbw)
        .fix("run with larger sizes: -b 8 -e 8G -f 2")
        .check("busbw no longer rises from one size to the next");
    Some(finding)
}
