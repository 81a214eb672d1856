//! Tests that do not test what they are meant to: each process alone, a GPU twice, sizes of nothing, wrong results.

use std::collections::BTreeSet;

use weft_base::{Bytes, Place, Severity};
use weft_formats::{Benchmark, BenchmarkRank};

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Set up wrongly.
pub const BAD_TEST: Cause = Cause {
    code: "D080",
    word: "bad-test-setup",
    title: "the test does not run as one job over several GPUs",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "One rank alone moves nothing, and nccl-tests prints 0 GB/s for it by its formula. That is what comes of nccl-tests \
        built without MPI=1: mpirun or srun then start as many separate tests as there are processes, each calls itself rank 0, \
        and each prints a table of its own. It is also what `-g 1` without mpirun gives. A size below one element for each rank \
        (-b 8 -e 8 over more than two ranks of an all-gather) is rounded to 0 bytes and shows 0 GB/s too. Build with \
        `make MPI=1 MPI_HOME=…` and look for one list with ranks 0 to n-1. Known from NVIDIA/nccl-tests#71 and #249.",
};

/// Data that arrived wrong.
pub const WRONG_RESULTS: Cause = Cause {
    code: "D081",
    word: "wrong-results",
    title: "a test found wrong results",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "nccl-tests compares what arrived with what should have (columns `#wrong`, line `Out of bounds values`). A count \
        above 0 means that data was damaged on its way, most often by peer-to-peer over PCIe that the platform translates or \
        reorders (IOMMU, ACS, patched drivers, GPUs behind a virtual machine), seldom by a broken GPU or link. Training on \
        such a machine gives garbage without an error. Run again with NCCL_P2P_DISABLE=1: if the results are right then, the \
        peer-to-peer way is at fault; if not, run the test on each pair of GPUs.",
};

/// The rule.
#[derive(Debug)]
pub struct TestSetup;

impl Rule for TestSetup {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&BAD_TEST, &WRONG_RESULTS]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let wrong = chart.runs.iter().find_map(wrong);
        let setup = alone(chart).or_else(|| chart.runs.iter().find_map(twice)).or_else(|| empty(chart));
        setup.into_iter().chain(wrong).collect()
    }
}

/// Whether a program of nccl-tests or rccl-tests wrote it.
fn is_test(run: &Run<'_>) -> bool {
    matches!(run.benchmark.tool, "nccl-tests" | "rccl-tests")
}

/// The ranks of a list that call themselves the first.
fn firsts(benchmark: &Benchmark) -> Vec<&BenchmarkRank> {
    benchmark.ranks.iter().filter(|rank| rank.rank == 0).collect()
}

/// Processes that each are a job of one rank.
fn alone(chart: &Chart<'_>) -> Option<Finding> {
    let runs = || chart.runs.iter().filter(|run| is_test(run));
    // Groups are jobs of their own on purpose.
    let is_mixed = |run: &&Run<'_>| {
        let firsts = firsts(run.benchmark);
        let groups: BTreeSet<Option<u32>> = firsts.iter().map(|rank| rank.group).collect();
        firsts.len() > 1 && groups.len() == 1 && firsts.len() == run.benchmark.ranks.len()
    };
    if let Some(run) = runs().find(is_mixed) {
        let firsts = firsts(run.benchmark);
        let lines = firsts.iter().map(|rank| run.at(rank.line)).collect();
        return Some(apart(firsts.len(), lines, Confidence::Certain));
    }
    let is_alone = |run: &&Run<'_>| run.benchmark.ranks.len() == 1 || run.benchmark.rank_count == Some(1);
    let lonely: Vec<&Run<'_>> = runs().filter(is_alone).collect();
    let is_all = runs().count() == lonely.len();
    let line =
        |run: &Run<'_>| run.at(run.benchmark.ranks.first().map_or(run.benchmark.line, |rank| rank.line));
    match lonely[..] {
        [run] if is_all => Some(single(run, line(run))),
        [_, _, ..] if is_all => {
            let lines: Vec<Place> = lonely.iter().map(|run| line(run)).collect();
            // One after the other in one file they were started together; else they may be tests of one GPU each.
            let files: BTreeSet<&str> = lines.iter().map(|place| place.file.as_str()).collect();
            let ranked = if files.len() == 1 { Confidence::Likely } else { Confidence::Possible };
            Some(apart(lonely.len(), lines, ranked))
        }
        _ => None,
    }
}

fn apart(count: usize, lines: Vec<Place>, confidence: Confidence) -> Finding {
    let what =
        format!("{count} processes ran apart, each a job of its rank 0 alone, and nothing crossed a link");
    let mut finding = Finding::new(&BAD_TEST, confidence, what);
    for place in lines.into_iter().take(4) {
        finding = finding.at(place, "rank 0 of a job of one rank");
    }
    finding
        .costs(1.0, "the test says nothing of the machine: busbw of one rank is 0 by its formula")
        .fix(
            "build the tests with MPI: make MPI=1 MPI_HOME=/path/to/mpi; or without mpirun over the GPUs of one node: \
             all_reduce_perf -b 8 -e 8G -f 2 -g <GPUs>",
        )
        .check("one list of ranks, from 0 to n-1, and one table")
        .settle("the command that started it, and `ldd all_reduce_perf | grep mpi`")
}

fn single(run: &Run<'_>, place: Place) -> Finding {
    let gpu = run.benchmark.ranks.first().and_then(|rank| rank.gpu.clone());
    let on = gpu.map_or(String::new(), |gpu| format!(" ({gpu})"));
    let what = format!(
        "the test ran on one rank alone{on}, which moves nothing: 0 GB/s of bus bandwidth by its formula"
    );
    Finding::new(&BAD_TEST, Confidence::Certain, what)
        .severity(Severity::Warning)
        .at(place, "the only rank")
        .costs(1.0, "the test says nothing of links")
        .fix("run on at least two GPUs: -g 2, or mpirun -np 2 with tests that are built with MPI=1")
        .check("the list above the table names as many ranks as GPUs are meant to take part")
}

/// Two ranks of one job on the same GPU.
fn twice(run: &Run<'_>) -> Option<Finding> {
    let ranks = &run.benchmark.ranks;
    let is_known = |rank: &&BenchmarkRank| {
        let bus = rank.bus.as_deref().unwrap_or_default();
        let gpu = rank.gpu.as_deref().unwrap_or_default();
        bus.chars().any(|digit| digit.is_ascii_hexdigit() && digit != '0') && !gpu.contains("MIG")
    };
    let is_same = |a: &BenchmarkRank, b: &BenchmarkRank| {
        a.host == b.host && a.bus == b.bus && a.device.is_some() && a.device == b.device && a.group == b.group
    };
    let known: Vec<&BenchmarkRank> = ranks.iter().filter(is_known).collect();
    let pair = known.iter().enumerate().find_map(|(index, rank)| {
        let other = known[..index].iter().find(|other| is_same(other, rank) && other.rank != rank.rank)?;
        Some((*other, *rank))
    });
    let (first, second) = pair?;
    let device = second.device?;
    let what = format!("ranks {} and {} both ran on GPU {device} of one host", first.rank, second.rank);
    let finding = Finding::new(&BAD_TEST, Confidence::Likely, what)
        .at(run.at(first.line), format!("rank {}: device {device}", first.rank))
        .at(run.at(second.line), format!("rank {}: device {device}", second.rank))
        .costs(0.5, "ranks on one GPU share its links and its memory; most versions refuse to run so")
        .fix("one rank per GPU: as many processes as GPUs with -g 1, and no CUDA_VISIBLE_DEVICES that is the same for all")
        .check("each rank of the list has a device of its own");
    Some(finding)
}

/// Tables whose sizes are all nothing.
fn empty(chart: &Chart<'_>) -> Option<Finding> {
    let is_empty = |run: &&Run<'_>| {
        let rows = &run.benchmark.rows;
        is_test(run)
            && !rows.is_empty()
            && rows.iter().all(|row| row.bytes == Bytes::ZERO || row.count == Some(0))
    };
    let run = chart.runs.iter().find(is_empty)?;
    let row = run.benchmark.rows.first()?;
    let finding = Finding::new(&BAD_TEST, Confidence::Certain, "every size of the test is below one element of each rank, so that nothing was sent")
        .at(run.at(row.line), format!("size {}, {} elements", row.bytes, row.count.unwrap_or(0)))
        .costs(1.0, "0 GB/s at a size of nothing says nothing of links")
        .fix("larger sizes: -b 8 -e 8G -f 2; sizes of all-gather, reduce-scatter and all-to-all are divided by the ranks")
        .check("the column of elements is above 0");
    Some(finding)
}

fn wrong(run: &Run<'_>) -> Option<Finding> {
    let row = run.benchmark.rows.iter().find(|row| {
        let count = row.check.as_deref().and_then(|check| check.parse::<u64>().ok());
        count.is_some_and(|count| count > 0)
    });
    let count = run.benchmark.wrong_count.filter(|count| *count > 0);
    if !is_test(run) || row.is_none() && count.is_none() {
        return None;
    }
    let line = row.map_or(run.benchmark.line, |row| row.line);
    let says = match (row, count) {
        (Some(row), _) => format!("{} wrong at {}", row.check.as_deref().unwrap_or_default(), row.bytes),
        (None, Some(count)) => format!("{count} values out of bounds"),
        (None, None) => return None,
    };
    let finding = Finding::new(&WRONG_RESULTS, Confidence::Likely, "the test found wrong results: data is damaged on its way")
        .at(run.at(line), says)
        .costs(0.3, "results that cannot be trusted")
        .fix("NCCL_P2P_DISABLE=1 as a way round (slower; for this job only) until the cause is found; see `weft explain acs-iommu`")
        .check("#wrong is 0 in all rows")
        .settle("the same test with NCCL_P2P_DISABLE=1, and `lspci -vvv` as root");
    Some(finding)
}
