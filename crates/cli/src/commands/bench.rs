//! `weft bench`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use weft_base::{Bytes, Diagnostic};
use weft_collective::{ALGORITHMS, Collective, Rank, algorithm};
use weft_runtime::measure::{Series, collectives};
use weft_runtime::{Element, Fault, Place, Reduction};

use super::Answer;
use crate::bench::hosts::{HostArgs, Hosts, TransportName};
use crate::bench::{self, Goal, RANKS_MAX, Seat, Task, pairs, start};
use crate::codes::{MEASURING_FAILED, NOT_MEASURED};
use crate::exit::{Exit, Failure};
use crate::json;

/// Measure what collectives really reach: plans played with real data between processes
///
/// Without more, all ranks are started on this host and use shared memory. With `--hosts` the commands are printed that
/// start them on several, or are run over ssh. No MPI, no GPU and no Python is needed. The table is that of nccl-tests;
/// of `pairs` it is the matrix of what every two ranks reach, with the host or pair that is slow.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all or barrier; pairs: every two ranks; all:
    /// every collective, to compare
    #[arg(value_name = "COLLECTIVE", default_value = "all-reduce")]
    collective: String,
    /// How many processes: 2 unless the hosts or a launcher say otherwise
    #[arg(long, short = 'n', value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=i64::from(RANKS_MAX)))]
    ranks: Option<u32>,
    /// The smallest message, as nccl-tests counts it
    #[arg(long, short = 'b', value_name = "SIZE", default_value = "8 B")]
    min: Bytes,
    /// The largest message: 64 MiB; of pairs the only one: 16 MiB
    #[arg(long, short = 'e', value_name = "SIZE")]
    max: Option<Bytes>,
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
    /// How long a rank that does not move is waited for, in seconds: 5; where pairs are measured 60, as one may be slow
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: Option<u64>,
    /// How long a rank is waited for that lives and runs, but is busy with something else, in seconds: 600
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    patience: Option<u64>,
    /// Put what is predicted beside what is measured; both are measured in turn
    #[arg(long, conflicts_with = "calibrate")]
    compare: bool,
    /// Measure what messages and local work cost, by which algorithms are chosen and times predicted
    #[arg(long)]
    calibrate: bool,
    /// Write that to a file
    #[arg(long, value_name = "FILE", requires = "calibrate")]
    save: Option<PathBuf>,
    /// Choose algorithms by such a file, not by what is measured at the start
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
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
    /// Take part as this rank of several that were started by hand, on one host or on many; rank 0 prints. `4-7` starts
    /// several of this host, `auto` asks what `srun`, `mpirun` and the like have put into the environment
    #[arg(long, value_name = "NUMBER", requires = "join")]
    rank: Option<Seat>,
    /// Where they meet: a port of rank 0 (`node01:7400`), or a file that all of them see
    #[arg(long, value_name = "PLACE")]
    join: Option<OsString>,
    /// Print the latencies of pairs too
    #[arg(long)]
    latency: bool,
    #[command(flatten)]
    on: HostArgs,
}

/// How to print what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// For a reader.
    #[default]
    Text,
    /// For a script: `bench.json`, of pairs `bench-pairs.json` in `schemas` describes it.
    Json,
    /// The matrix of pairs.
    Csv,
}

pub fn run(args: &Args) -> Result<Answer, Failure> {
    answer(args).map_err(|mut failure| {
        if args.format == Format::Json {
            failure.document = Some(if args.is_pairs() {
                json::text(&json::bench_pairs::failed(&failure.diagnostics))
            } else {
                json::text(&json::bench::failed(&failure.diagnostics))
            });
        }
        failure
    })
}

fn answer(args: &Args) -> Result<Answer, Failure> {
    if args.on.tied {
        start::end_with_input();
    }
    if args.on.hosts.is_some() {
        return on_hosts(args);
    }
    let (seat, ranks) = seat(args)?;
    let task = task(args, ranks)?;
    let prints = seat.is_none_or(|(first, _)| first == 0);
    if args.is_pairs() {
        let name = args.on.name.clone().unwrap_or_else(host_name);
        let report = played(args, seat, &task, |rank, place| pairs::take_part(&task, &name, rank, place))?;
        return Ok(if prints { pairs_answer(args, &report) } else { Answer::default() });
    }
    let report = played(args, seat, &task, |rank, place| bench::take_part(&task, rank, place))?;
    if !prints {
        return Ok(Answer::default());
    }
    if let (Some(path), Some(calibration)) = (&args.save, &report.calibration) {
        bench::save_calibration(path, calibration)?;
    }
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::bench::document(&report))),
        Format::Text | Format::Csv => Answer::text(match report.task.goal {
            Goal::Measure => bench::text(&report),
            Goal::Compare(_) => bench::compared(&report),
            Goal::Calibrate => bench::calibrated(&report),
        }),
    })
}

impl Args {
    fn is_pairs(&self) -> bool {
        self.collective == "pairs"
    }
}

fn refused(what: &str, message: String, hint: &str) -> Failure {
    Failure::new(Exit::Usage, what, Diagnostic::error(NOT_MEASURED, message).hint(hint))
}

/// Prints how to start all ranks, or starts them.
fn on_hosts(args: &Args) -> Result<Answer, Failure> {
    let hosts = Hosts::read(&args.on, args.ranks, args.join.as_ref())?;
    let task = task(args, hosts.ranks())?;
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args.on.ssh {
        start::start(&hosts, &args.on, &given, task.deadline)
    } else {
        Ok(Answer::plain(bench::hosts::commands(&hosts, &args.on, &given)))
    }
}

/// Which ranks this process is, first and last, if it is told; and how many there are.
#[expect(clippy::disallowed_methods, reason = "launchers say it in the environment")]
fn seat(args: &Args) -> Result<(Option<(u32, u32)>, u32), Failure> {
    let place = "find this rank's place";
    let (seat, launched) = match args.rank {
        None if args.join.is_some() => {
            let message = "`--join` says where ranks meet, and nothing says which rank this is".to_owned();
            return Err(refused(
                place,
                message,
                "give `--rank NUMBER`, `--rank auto` or `--hosts HOSTS` too",
            ));
        }
        None => (None, None),
        Some(Seat::Ranks(first, last)) => (Some((first, last)), None),
        Some(Seat::Launched) => {
            let (rank, ranks) = bench::launched(|name| std::env::var(name).ok())
                .map_err(|why| Failure::new(Exit::Environment, place, why))?;
            (Some((rank, rank)), ranks)
        }
    };
    let ranks = match (args.ranks, launched) {
        (Some(ranks), Some(launched)) if ranks != launched => {
            let message = format!("`--ranks {ranks}`, and the launcher has started {launched}");
            return Err(refused(place, message, "leave `--ranks` out, or start as many"));
        }
        (Some(ranks), _) | (None, Some(ranks)) => ranks,
        (None, None) => 2,
    };
    if let Some((_, last)) = seat.filter(|(_, last)| *last >= ranks) {
        let message = format!("there is no rank called `{last}`");
        return Err(refused(
            place,
            message,
            &format!("of {ranks} ranks the last is {}", ranks.saturating_sub(1)),
        ));
    }
    if seat.is_none() && ranks > 64 {
        let message = format!("{ranks} processes are more than one host should run");
        return Err(refused(place, message, "at most 64 are started; `--hosts` spreads them"));
    }
    Ok((seat, ranks))
}

/// Does the work of this process's first rank, with its others started beside it.
fn played<R>(
    args: &Args,
    seat: Option<(u32, u32)>,
    task: &Task,
    work: impl FnOnce(u32, Place) -> Result<R, Fault>,
) -> Result<R, Failure> {
    let done = match (seat, &args.join) {
        (Some((first, last)), Some(place)) => {
            bench::among(first + 1..=last, place, || work(first, meeting_place(place)))
        }
        _ => bench::lead(task, |place| work(0, place)),
    };
    done.map_err(|fault| failed(&fault))
}

fn pairs_answer(args: &Args, report: &pairs::PairsReport) -> Answer {
    let answer = match args.format {
        Format::Text => Answer::text(pairs::text(report, args.latency)),
        Format::Csv => Answer::plain(pairs::csv(report)),
        Format::Json => Answer::plain(json::text(&json::bench_pairs::document(report))),
    };
    Answer { is_finding: !report.verdict.is_clean() || report.wrong_count() > 0, ..answer }
}

/// What this host calls itself.
#[expect(clippy::disallowed_methods, reason = "the command line is where files are read")]
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// What is said of collectives only.
fn check_pairs(args: &Args, ranks: u32) -> Result<(), Failure> {
    let what = "choose what to measure of pairs";
    let said = [
        ("--algorithm", args.algorithm.is_some()),
        ("--min", args.min != Bytes::new(8)),
        ("--factor", args.factor != 4),
        ("--element", args.element != "float"),
        ("--reduction", args.reduction != "sum"),
        ("--root", args.root != 0),
    ];
    if let Some((name, _)) = said.iter().find(|(_, said)| *said) {
        let message = format!("`{name}` says nothing of pairs, which only send bytes");
        return Err(refused(what, message, "leave it out; `--max` sets the message, `--repeats` how often"));
    }
    if ranks < 2 {
        return Err(refused(what, "one rank is no pair".to_owned(), "give two ranks or more"));
    }
    Ok(())
}

fn task(args: &Args, ranks: u32) -> Result<Task, Failure> {
    let all = args.compare && args.collective == "all";
    let collective = if all { Collective::AllReduce } else { collective(args)? };
    if args.is_pairs() {
        check_pairs(args, ranks)?;
    } else if args.format == Format::Csv || args.latency {
        let message = "only pairs are printed as CSV and have latencies of their own".to_owned();
        return Err(refused("choose the format", message, "the table can be read as it is: `| weft show -`"));
    }
    let element = Element::from_name(&args.element)
        .ok_or_else(|| unknown("type", &args.element, &Element::near(&args.element)))?;
    let reduction = Reduction::from_name(&args.reduction)
        .ok_or_else(|| unknown("reduction", &args.reduction, &Reduction::near(&args.reduction)))?;
    check_algorithm(args, collective)?;
    if args.root >= ranks {
        return Err(unknown("rank", &args.root.to_string(), &[]));
    }
    let series = Series {
        collective,
        element,
        reduction,
        root: Rank::new(args.root),
        sizes: sizes(args, ranks, collective, element)?,
        repeats: args.repeats as usize,
        lasting: Duration::from_millis(20),
        registered: args.registered,
    };
    let deadline = Duration::from_secs(args.deadline.unwrap_or(if args.is_pairs() { 60 } else { 5 }));
    let patience = args.patience.map(Duration::from_secs);
    let (algorithm, interface) = (args.algorithm.clone(), args.interface.clone());
    let only_tcp = args.tcp || args.on.transport == Some(TransportName::Tcp);
    let only_shared = args.on.transport == Some(TransportName::SharedMemory);
    let meets_within = Duration::from_secs(args.on.meet_within_s);
    let goal = match (args.compare, args.calibrate) {
        (true, _) => Goal::Compare(if all { collectives().collect() } else { vec![collective] }),
        (false, true) => Goal::Calibrate,
        (false, false) => Goal::Measure,
    };
    // The first rank tells the others.
    let tells = !matches!(args.rank, Some(Seat::Ranks(first, _)) if first > 0);
    let calibration =
        args.calibration.as_deref().filter(|_| tells).map(bench::read_calibration).transpose()?;
    Ok(Task {
        series,
        ranks,
        algorithm,
        deadline,
        patience,
        only_tcp,
        interface,
        only_shared,
        meets_within,
        goal,
        calibration,
    })
}

fn unknown(what: &str, name: &str, near: &[&str]) -> Failure {
    let why = Diagnostic::error(NOT_MEASURED, format!("there is no {what} called `{name}`"));
    let why = if near.is_empty() { why } else { why.hint(format!("did you mean `{}`?", near.join("`, `"))) };
    Failure::new(Exit::Usage, format!("choose the {what}"), why)
}

fn collective(args: &Args) -> Result<Collective, Failure> {
    Collective::from_name(&args.collective)
        .filter(|collective| *collective != Collective::SendRecv)
        .or(args.is_pairs().then_some(Collective::SendRecv))
        .ok_or_else(|| unknown("collective", &args.collective, &Collective::near(&args.collective)))
}

/// The algorithm that was asked for is there, and has a plan for the collective.
fn check_algorithm(args: &Args, collective: Collective) -> Result<(), Failure> {
    let Some(name) = &args.algorithm else { return Ok(()) };
    let Some(entry) = algorithm(name) else {
        let names = weft_base::nearest(name, ALGORITHMS.iter().map(|entry| entry.name()), 2);
        return Err(unknown("algorithm", name, &names));
    };
    if entry.collectives().contains(&collective) {
        return Ok(());
    }
    let why = format!("`{name}` has no plan for {}", collective.name());
    Err(Failure::new(Exit::Usage, "choose the algorithm", Diagnostic::error(NOT_MEASURED, why)))
}

/// The sizes that give every rank an element.
fn sizes(args: &Args, ranks: u32, collective: Collective, element: Element) -> Result<Vec<Bytes>, Failure> {
    let max = args.max.unwrap_or(Bytes::new(if args.is_pairs() { 16 << 20 } else { 64 << 20 }));
    if collective == Collective::Barrier {
        return Ok(vec![Bytes::ZERO]);
    }
    if args.is_pairs() {
        return Ok(vec![max]);
    }
    let mut sizes = Series::sizes(args.min, max, args.factor);
    let least = u64::from(ranks) * element.size_bytes() as u64;
    sizes.retain(|size| size.get() >= least);
    if sizes.is_empty() {
        let why = format!("no size from {} to {max} gives each of {ranks} ranks an element", args.min);
        return Err(Failure::new(Exit::Usage, "choose the sizes", Diagnostic::error(NOT_MEASURED, why)));
    }
    Ok(sizes)
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
