//! Settings that keep the library from its best choice, and choices that a table shows to be bad.

use weft_base::{Bytes, Severity, Span};
use weft_formats::BenchmarkRow;
use weft_predictor::compare::{Comparison, Point, Verdict};
use weft_predictor::{Allowed, Request};

use super::version::VERSION_ALGORITHM;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run, Stated};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// The switches do not add.
pub const NVLS_OFF: Cause = Cause {
    code: "D083",
    word: "nvls-off",
    title: "NVSwitches do not add (NVLS is off)",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "NVSwitches of the third generation on add up what GPUs send (NVLS, NVLink SHARP), which makes an all-reduce inside \
        a node about a third faster than rings. It is off with NCCL_NVLS_ENABLE=0, with NCCL_ALGO that leaves out NVLS, in \
        versions before 2.17, in virtual machines that do not pass the switches on, and where the Fabric Manager does not run. \
        Look for `nvls channels` and `NVLS multicast support is available` in NCCL_DEBUG=INFO; unset the variable. From the \
        documentation of NCCL and NVIDIA/nccl-tests#272.",
};

/// What leaving out a setting must gain.
const GAIN: f64 = 1.2;
/// Sizes from here on show links.
const LARGE: Bytes = Bytes::new(16 << 20);
/// Sizes below it are all latency.
const SOME: Bytes = Bytes::new(64 << 10);
/// A larger message that takes this much less time shows that the choice for the smaller was bad.
const LESS: f64 = 0.8;

/// Variables, and how to ask as if they were not set.
type Unset = (&'static str, fn(&mut Request));

const UNSET: &[Unset] = &[
    ("NCCL_NVLS_ENABLE", |request| request.settings.without_nvls = false),
    ("NCCL_ALGO", |request| request.settings.algorithms = Allowed::default()),
    ("NCCL_PROTO", |request| request.settings.protocols = Allowed::default()),
    ("NCCL_MAX_NCHANNELS", |request| request.settings.max_channels = None),
    ("NCCL_MAX_CTAS", |request| request.settings.max_channels = None),
    ("NCCL_MIN_NCHANNELS", |request| request.settings.min_channels = None),
    ("NCCL_MIN_CTAS", |request| request.settings.min_channels = None),
];

/// The rule.
#[derive(Debug)]
pub struct Choice;

impl Rule for Choice {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&NVLS_OFF]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let stated = UNSET.iter().filter_map(|unset| Some((unset, chart.setting(unset.0)?)));
        let costly = stated.filter_map(|(unset, stated)| costly(chart, *unset, &stated));
        let dip = chart.runs.iter().find_map(dip);
        costly.chain(dip).collect()
    }
}

/// A setting without which more is expected.
fn costly(chart: &Chart<'_>, (name, unset): Unset, stated: &Stated) -> Option<Finding> {
    let gains = chart.compared().filter_map(|(run, comparison)| {
        let last = comparison.points.last().filter(|last| last.bytes >= LARGE && is_so(last))?;
        let free = run.instead(|request| {
            unset(request);
            request.sizes = vec![last.bytes];
        })?;
        let row = free.rows.first()?;
        let gain = row.busbw.as_gigabytes() / last.expected.busbw.as_gigabytes();
        (gain >= GAIN).then_some((gain, row.clone(), run, comparison, last))
    });
    let (gain, row, run, comparison, last) = gains.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let cause = if name == "NCCL_NVLS_ENABLE" { &NVLS_OFF } else { &VERSION_ALGORITHM };
    let what = format!(
        "{name}={} costs bandwidth: without it {} over {:?} is expected of {} at {}, with it {}",
        stated.value,
        row.busbw,
        row.algorithm,
        comparison.collective.name(),
        last.bytes,
        last.expected.busbw
    );
    let finding = Finding::new(cause, Confidence::Likely, what)
        .severity(severity(run, comparison, name))
        .at(stated.place.clone(), format!("{name}={}", stated.value))
        .at(run.at(last.line), format!("{} at {}", last.busbw, last.bytes))
        .figures(&format!("busbw of {} at {}", comparison.collective.name(), last.bytes), row.busbw, last.busbw)
        .costs(1.0 - 1.0 / gain, format!("{:.0} % of the bandwidth of {}", 100.0 * (1.0 - 1.0 / gain), comparison.collective.name()))
        .fix(format!("unset {name} (in the job's environment, in nccl.conf or in mpirun's -x); NCCL then chooses by size"))
        .check(format!("near {} at {}", row.busbw, last.bytes));
    Some(finding)
}

/// Whether a figure is what the setting lets expect.
fn is_so(point: &Point) -> bool {
    match point.verdict {
        Verdict::AsExpected => true,
        Verdict::Low => point.ratio > 0.75,
        Verdict::High => point.ratio < 1.3,
        Verdict::TooGood => false,
    }
}

/// Between nodes rings are asked for to see the network, and then nothing is wrong.
fn severity(run: &Run<'_>, comparison: &Comparison, name: &str) -> Severity {
    let shows_network = comparison.prediction.nodes > 1 && name == "NCCL_ALGO";
    if shows_network || run.assumed.is_some() { Severity::Note } else { Severity::Warning }
}

/// Sizes that take longer than a larger one: the algorithm or the protocol of the smaller ones was badly chosen.
fn dip(run: &Run<'_>) -> Option<Finding> {
    let rows: Vec<(&BenchmarkRow, Span)> = times(run);
    let (index, (after, time)) = rows.iter().enumerate().rev().find(|(index, (_, time))| {
        let slower = |back: usize, less: f64| {
            let before = index.checked_sub(back).and_then(|at| rows.get(at));
            before.is_some_and(|(row, before)| {
                row.bytes >= SOME && time.as_seconds() < less * before.as_seconds()
            })
        };
        // Two sizes, since one may have been disturbed; and what follows goes on from there.
        let goes_on = rows.get(index + 1).is_none_or(|(_, next)| next.as_seconds() < 4.0 * time.as_seconds());
        slower(1, LESS) && slower(2, 1.0) && goes_on
    })?;
    let (before, slow) = rows.get(index.checked_sub(1)?)?;
    let what = format!(
        "{} takes {time}, and {} before it {slow}: the algorithm or protocol of the sizes up to {} is badly chosen",
        after.bytes, before.bytes, before.bytes
    );
    let share = 1.0 - 0.5 * time.as_seconds() / slow.as_seconds();
    let finding = Finding::new(&VERSION_ALGORITHM, Confidence::Possible, what)
        .at(run.at(before.line), format!("{}: {slow}", before.bytes))
        .at(run.at(after.line), format!("{}: {time}", after.bytes))
        .figures(&format!("time of {}", before.bytes), format!("less than {time}"), slow)
        .costs(share, format!("{:.0} % of the bandwidth at {}", 100.0 * share, before.bytes))
        .fix("another version of the library, or NCCL_PROTO and NCCL_ALGO as the larger sizes have them (for this job)")
        .check("times rise with sizes")
        .settle("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING of the run: which algorithm and protocol each size gets");
    Some(finding)
}

/// The rows of one half of a table by size, each size once.
fn times<'a>(run: &Run<'a>) -> Vec<(&'a BenchmarkRow, Span)> {
    let half = |in_place: bool| {
        let rows = run.benchmark.rows.iter().filter(move |row| row.in_place == in_place);
        let timed = rows.filter_map(|row| Some((row, row.time?)));
        let mut rows: Vec<(&BenchmarkRow, Span)> = timed.collect();
        rows.sort_by_key(|(row, _)| row.bytes);
        rows
    };
    let rows = half(false);
    let rows = if rows.is_empty() { half(true) } else { rows };
    // Tables of several runs have a size more than once: what differs there is not the size.
    let is_once = rows.windows(2).all(|pair| pair[0].0.bytes < pair[1].0.bytes);
    if is_once { rows } else { Vec::new() }
}
