//! `weft bench`.

use std::time::Duration;

use weft_base::{Bytes, Diagnostic};
use weft_collective::{ALGORITHMS, Collective, Rank, algorithm};
use weft_runtime::measure::Series;
use weft_runtime::{Element, Fault, Reduction};

use super::Answer;
use crate::bench::{self, Task};
use crate::codes::{MEASURING_FAILED, NOT_MEASURED};
use crate::exit::{Exit, Failure};
use crate::json;

/// Measure what collectives really reach: plans played with real data between processes
///
/// On this host, over shared memory. All ranks are started here; no MPI, no GPU and no Python is needed. The table is
/// that of nccl-tests.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all or barrier
    #[arg(value_name = "COLLECTIVE", default_value = "all-reduce")]
    collective: String,
    /// How many processes
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    ranks: u32,
    /// The smallest message, as nccl-tests counts it
    #[arg(long, short = 'b', value_name = "SIZE", default_value = "8 B")]
    min: Bytes,
    /// The largest message
    #[arg(long, short = 'e', value_name = "SIZE", default_value = "64 MiB")]
    max: Bytes,
    /// From one message to the next
    #[arg(long, short = 'f', value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..))]
    factor: u64,
    /// The algorithm; else for each size the one that takes least by what this host was measured to need
    #[arg(long, short, value_name = "NAME")]
    algorithm: Option<String>,
    /// The type of elements: float, double, half, bfloat16, int32, int64, uint8
    #[arg(long, short = 'd', value_name = "TYPE", default_value = "float")]
    element: String,
    /// How they are combined: sum, prod, min, max, avg
    #[arg(long, short = 'o', value_name = "NAME", default_value = "sum")]
    reduction: String,
    /// The root of a broadcast or reduce
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    root: u32,
    /// How often each size is measured; the median counts
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    /// How long a rank that does not move is waited for, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: u64,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Which rank this process is; for those that the first one starts
    #[arg(long, hide = true, requires = "join")]
    rank: Option<u32>,
    /// Where the first one is found
    #[arg(long, hide = true, requires = "rank")]
    join: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// For a reader, and for `weft show`: the table of nccl-tests.
    #[default]
    Text,
    /// For a script: `schemas/bench.json` describes it.
    Json,
}

pub fn run(args: &Args) -> Result<Answer, Failure> {
    answer(args).map_err(|mut failure| {
        if args.format == Format::Json {
            failure.document = Some(json::text(&json::bench::failed(&failure.diagnostics)));
        }
        failure
    })
}

fn answer(args: &Args) -> Result<Answer, Failure> {
    let task = task(args)?;
    if let (Some(rank), Some(address)) = (args.rank, &args.join) {
        // What it found out, the first rank tells.
        let _ = bench::follow(&task, Rank::new(rank), address);
        return Ok(Answer::default());
    }
    let report = bench::lead(&task).map_err(|fault| failed(&fault))?;
    Ok(match args.format {
        Format::Text => Answer::text(bench::text(&report)),
        Format::Json => Answer::plain(json::text(&json::bench::document(&report))),
    })
}

fn task(args: &Args) -> Result<Task, Failure> {
    let unknown = |what: &str, name: &str, near: &[&str]| {
        let why = Diagnostic::error(NOT_MEASURED, format!("there is no {what} called `{name}`"));
        let why =
            if near.is_empty() { why } else { why.hint(format!("did you mean `{}`?", near.join("`, `"))) };
        Failure::new(Exit::Usage, format!("choose the {what}"), why)
    };
    let collective = Collective::from_name(&args.collective)
        .filter(|collective| *collective != Collective::SendRecv)
        .ok_or_else(|| unknown("collective", &args.collective, &Collective::near(&args.collective)))?;
    let element = Element::from_name(&args.element)
        .ok_or_else(|| unknown("type", &args.element, &Element::near(&args.element)))?;
    let reduction = Reduction::from_name(&args.reduction)
        .ok_or_else(|| unknown("reduction", &args.reduction, &Reduction::near(&args.reduction)))?;
    if let Some(name) = &args.algorithm
        && algorithm(name).is_none()
    {
        let names = weft_base::nearest(name, ALGORITHMS.iter().map(|entry| entry.name()), 2);
        return Err(unknown("algorithm", name, &names));
    }
    if args.root >= args.ranks {
        return Err(unknown("rank", &args.root.to_string(), &[]));
    }
    let sizes = if collective == Collective::Barrier {
        vec![Bytes::ZERO]
    } else {
        let mut sizes = Series::sizes(args.min, args.max, args.factor);
        // Every rank has at least one element.
        let least = u64::from(args.ranks) * element.size_bytes() as u64;
        sizes.retain(|size| size.get() >= least);
        sizes
    };
    if sizes.is_empty() {
        let why = format!(
            "no size from {} to {} gives each of {} ranks an element",
            args.min, args.max, args.ranks
        );
        return Err(Failure::new(Exit::Usage, "choose the sizes", Diagnostic::error(NOT_MEASURED, why)));
    }
    let series = Series {
        collective,
        element,
        reduction,
        root: Rank::new(args.root),
        sizes,
        repeats: args.repeats as usize,
        lasting: Duration::from_millis(20),
    };
    let deadline = Duration::from_secs(args.deadline);
    Ok(Task { series, ranks: args.ranks, algorithm: args.algorithm.clone(), deadline })
}

fn failed(fault: &Fault) -> Failure {
    Failure::new(Exit::Findings, "measure", Diagnostic::error(MEASURING_FAILED, fault.to_string()))
}
