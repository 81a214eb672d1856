//! `weft bench`.

use std::ffi::OsString;
use std::time::Duration;

use weft_base::{Bytes, Diagnostic};
use weft_collective::{ALGORITHMS, Collective, Rank, algorithm};
use weft_runtime::measure::Series;
use weft_runtime::{Element, Fault, Place, Reduction};

use super::Answer;
use crate::arguments::Format;
use crate::bench::{self, Task};
use crate::codes::{MEASURING_FAILED, NOT_MEASURED};
use crate::exit::{Exit, Failure};
use crate::json;

/// Measure what collectives really reach: plans played with real data between processes
///
/// Without more, all ranks are started on this host and use shared memory. On several hosts each rank is started by
/// hand, with its number and where rank 0 is met. No MPI, no GPU and no Python is needed. The table is that of
/// nccl-tests.
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
    /// Buffers in memory that the ranks of one host share, so that they read each other's data where it is
    #[arg(long, conflicts_with = "tcp")]
    registered: bool,
    /// TCP even where memory can be shared
    #[arg(long)]
    tcp: bool,
    /// The network interface; else what can be reached is found out
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Take part as this rank of several that were started by hand, on one host or on many; rank 0 prints
    #[arg(long, value_name = "NUMBER", requires = "join")]
    rank: Option<u32>,
    /// Where they meet: a port of rank 0 (`node01:7400`), or a file that all of them see
    #[arg(long, value_name = "PLACE", requires = "rank")]
    join: Option<OsString>,
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
    let report = match (args.rank, &args.join) {
        (Some(rank), Some(place)) => bench::take_part(&task, rank, meeting_place(place)),
        _ => bench::lead(&task),
    };
    let report = report.map_err(|fault| failed(&fault))?;
    if args.rank.is_some_and(|rank| rank > 0) {
        return Ok(Answer::default());
    }
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
    let knows =
        |name: &String| algorithm(name).is_some_and(|entry| entry.collectives().contains(&collective));
    if let Some(name) = args.algorithm.as_ref().filter(|name| !knows(name)) {
        let why = format!("`{name}` has no plan for {}", collective.name());
        return Err(Failure::new(Exit::Usage, "choose the algorithm", Diagnostic::error(NOT_MEASURED, why)));
    }
    if let Some(rank) = [args.rank, Some(args.root)].into_iter().flatten().find(|rank| *rank >= args.ranks) {
        return Err(unknown("rank", &rank.to_string(), &[]));
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
        registered: args.registered,
    };
    let deadline = Duration::from_secs(args.deadline);
    let (algorithm, interface) = (args.algorithm.clone(), args.interface.clone());
    Ok(Task { series, ranks: args.ranks, algorithm, deadline, only_tcp: args.tcp, interface })
}

/// An address has a port behind its last colon.
fn meeting_place(text: &OsString) -> Place {
    let address = text.to_str().filter(|text| {
        text.rsplit_once(':').is_some_and(|(host, port)| !host.contains('/') && port.parse::<u16>().is_ok())
    });
    address.map_or_else(|| Place::File(text.into()), |address| Place::Address(address.to_owned()))
}

fn failed(fault: &Fault) -> Failure {
    Failure::new(Exit::Findings, "measure", Diagnostic::error(MEASURING_FAILED, fault.to_string()))
}
