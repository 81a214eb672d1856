use std::ffi::OsString;
use std::str::FromStr;

use weft_base::{Bytes, Diagnostic, Rate};
use weft_catalogue::Catalogue;
use weft_collective::{Call, Collective, Rank};
use weft_formats::msccl::{self, MscclAbout, MscclRefusal};
use weft_formats::{MscclAlgorithm, Source};
use weft_predictor::{GraphLimit, SwitchFacts};
use weft_simulator::machine::terrain;
use weft_topology::{NodeId, NodeKind};

use super::Answer;
use crate::arguments::{Format, chosen_gpus, collective};
use crate::codes::{NO_MACHINE, NO_SUCH_GPU, NOT_WRITTEN, UNPLAYABLE};
use crate::exit::{Exit, Failure};
use crate::load::{self, Loaded, OpenArgs};
use crate::plan::{self, Answers, Asked, Candidate, Clock, Studied, Timed, Verdict};
use crate::{input, json, report, show};

/// Ranks up to which the limit of a collective is computed.
const MOST_LIMITED: u32 = 128;
/// Messages of all ranks up to which a plan is played when several are compared.
const MOST_PLAYED: u64 = 20_000_000;

/// Which algorithms suit a collective on a machine, what each does, whether it is right, how long it takes
///
/// With a machine: the plans of all algorithms that suit, or of one in full. With an algorithm of MSCCL (XML): that
/// one, timed on the machine of `--on`. Plans are proved for every order of events, and played by the simulator.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A machine or cluster as every command takes it, or an algorithm file of MSCCL
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all, send-recv or barrier
    #[arg(long, short, value_name = "NAME", default_value = "all-reduce", value_parser = any_collective)]
    collective: Collective,
    /// The message with its unit, as nccl-tests counts it
    #[arg(long, short, value_name = "SIZE", default_value = "64 MiB", value_parser = Bytes::from_str)]
    size: Bytes,
    /// The GPUs that take part: how many (`4`), or which (`0,2,4-6`) [default: all]
    #[arg(long, value_name = "GPUS")]
    gpus: Option<String>,
    /// One algorithm in full; `all` compares those that suit [default: all]
    #[arg(long, short, value_name = "NAME")]
    algorithm: Option<String>,
    /// Channels of the plan, where the algorithm has some [default: as many as the algorithm takes]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    channels: Option<u16>,
    /// Chunks that follow each other along a chain or a tree [default: by the size]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=4096))]
    chunks: Option<u32>,
    /// The root of a broadcast or reduce, the sender of a send-recv to rank 1
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    root: u32,
    /// Input and output are the same memory
    #[arg(long)]
    in_place: bool,
    /// List what this rank does, operation by operation
    #[arg(long, value_name = "RANK")]
    rank: Option<u32>,
    /// How the network behaves; `weft show --list networks` names the models
    #[arg(long, short, value_name = "NAME")]
    network: Option<String>,
    /// The machine on which an algorithm file is timed
    #[arg(long, value_name = "SOURCE")]
    on: Option<OsString>,
    /// Write the plan for a runtime, the quickest that can be written where no algorithm is named
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "format")]
    to: Option<Written>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Written {
    /// XML of MSCCL, which the runtimes of MSCCL and RCCL read.
    MscclAlgorithm,
}

fn any_collective(text: &str) -> Result<Collective, String> {
    collective(text, &Collective::ALL)
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    answer(args, catalogue).map_err(|mut failure| {
        if args.format == Format::Json {
            failure.document =
                Some(json::text(&json::plan::failed(Some(args.collective), &failure.diagnostics)));
        }
        failure
    })
}

fn answer(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    if let Some((source, algorithm)) = algorithm_file(args, catalogue)? {
        return of_file(args, source, &algorithm, catalogue);
    }
    let loaded = load::machine(&args.sources, &args.open, "plan for", catalogue)?;
    let gpus = gpus(args, &loaded, None)?;
    let ranks = count(&gpus);
    let size = if args.collective == Collective::Barrier { Bytes::new(0) } else { args.size };
    let named = Call::message(args.collective, size.get(), ranks);
    let call = Call { root: Rank::new(args.root), in_place: args.in_place, ..named };
    let terrain = terrain(&loaded.graph.topology, &SwitchFacts(catalogue), &gpus);
    let asked = Asked {
        algorithm: args.algorithm.as_deref().filter(|name| *name != "all"),
        channels: args.channels,
        chunks: args.chunks,
    };
    let refused = |finding: Diagnostic| Failure::new(Exit::Usage, what(args), finding);
    there(args, ranks).map_err(refused)?;
    let (candidates, unsuited) = plan::candidates(&asked, &call, &terrain).map_err(refused)?;
    let mut clock = clock(args, &loaded, gpus, catalogue)?;
    let mut plans: Vec<Studied> = candidates.into_iter().map(|one| plan::study(one, &call)).collect();
    let alone = plans.len() == 1;
    for studied in &mut plans {
        let messages = studied.counted.message_count;
        studied.timed = if alone || messages <= MOST_PLAYED {
            clock.time(&studied.candidate.plan, &call, size)
        } else {
            Timed::Not(format!("its {messages} messages take long to play; name it to have it played"))
        };
    }
    plans.sort_by_key(|studied| studied.timed.span().map_or((1, weft_base::Span::ZERO), |span| (0, span)));
    if args.to.is_some() {
        return written(args, &plans, &call, Some(&loaded));
    }
    playable(args, &plans)?;
    let limit = limit(&terrain, &call);
    let network = Some(clock.network());
    let rank = args.rank.map(Rank::new);
    let answers = Answers { call, size, ranks, network, limit, plans, unsuited, rank };
    Ok(printed(args, &answers, asked.algorithm.is_some(), Some(&loaded), catalogue))
}

fn what(args: &Args) -> String {
    format!("plan {}", args.collective.name())
}

fn count(gpus: &[NodeId]) -> u32 {
    u32::try_from(gpus.len()).unwrap_or(u32::MAX)
}

/// Whether the ranks that are named are there.
fn there(args: &Args, ranks: u32) -> Result<(), Diagnostic> {
    match args.rank.into_iter().chain([args.root]).find(|rank| *rank >= ranks.max(1)) {
        Some(rank) => {
            let hint = format!("ranks are 0 to {}", ranks.saturating_sub(1));
            Err(Diagnostic::error(NO_SUCH_GPU, format!("there is no rank {rank}")).hint(hint))
        }
        None => Ok(()),
    }
}

/// Whether any plan can be played at all.
fn playable(args: &Args, plans: &[Studied]) -> Result<(), Failure> {
    let mut reasons = plans.iter().map(|studied| match &studied.timed {
        Timed::Took { .. } => None,
        Timed::Not(why) => Some(why),
    });
    match reasons.next().flatten() {
        Some(why) if plans.len() > 1 && reasons.all(|reason| reason.is_some()) => {
            let message = format!("no plan can be played: {why}");
            let hint = "choose GPUs that a network joins; `--algorithm NAME` shows a plan all the same";
            Err(Failure::new(Exit::Findings, what(args), Diagnostic::error(UNPLAYABLE, message).hint(hint)))
        }
        Some(_) | None => Ok(()),
    }
}

/// The GPUs that are chosen; for a file that is for fewer than there are, the first.
fn gpus(args: &Args, loaded: &Loaded, ranks: Option<u32>) -> Result<Vec<NodeId>, Failure> {
    let mut gpus = match &args.gpus {
        Some(text) => chosen_gpus(text, &loaded.graph.topology)?,
        None => loaded.graph.topology.of_kind(NodeKind::Gpu).collect(),
    };
    let Some(ranks) = ranks else { return Ok(gpus) };
    if args.gpus.is_none() {
        gpus.truncate(ranks as usize);
    }
    if count(&gpus) == ranks {
        return Ok(gpus);
    }
    let message = format!("the algorithm is for {ranks} GPUs, not for {}", gpus.len());
    let why = Diagnostic::error(NO_SUCH_GPU, message).hint(format!("choose {ranks} with `--gpus`"));
    Err(Failure::new(Exit::Usage, "time the algorithm", why))
}

fn clock<'a>(
    args: &Args,
    loaded: &'a Loaded,
    gpus: Vec<NodeId>,
    catalogue: &'a Catalogue,
) -> Result<Clock<'a>, Failure> {
    Clock::new(&loaded.graph.topology, catalogue, gpus, args.network.as_deref())
        .map_err(|findings| Failure::because(Exit::Usage, what(args), findings, Vec::new()))
}

fn limit(terrain: &weft_collective::Terrain, call: &Call) -> Option<GraphLimit> {
    let limit = (terrain.ranks() <= MOST_LIMITED).then(|| GraphLimit::of_terrain(terrain, call.collective));
    // Where no way joins all, nothing is to be compared with.
    limit.flatten().filter(|limit| limit.busbw > Rate::ZERO)
}

fn printed(
    args: &Args,
    answers: &Answers,
    in_full: bool,
    loaded: Option<&Loaded>,
    catalogue: &Catalogue,
) -> Answer {
    let diagnostics = loaded.map_or(&[][..], |loaded| &loaded.diagnostics);
    let is_finding = answers.plans.iter().any(|studied| matches!(studied.verdict, Verdict::Wrong(_)));
    if args.format == Format::Json {
        let document = json::text(&json::plan::document(answers, diagnostics));
        return Answer { is_finding, ..Answer::plain(document) };
    }
    let machine = loaded.map_or_else(String::new, |loaded| {
        let all = loaded.graph.topology.of_kind(NodeKind::Gpu).count();
        let of = if (answers.ranks as usize) < all { " of" } else { ":" };
        format!("{of} {}", show::composition(loaded, catalogue))
    });
    let text = match answers.plans.as_slice() {
        [only] if in_full => plan::one(answers, only, &machine),
        _ => plan::several(answers, &machine),
    };
    Answer { talk: talk(loaded), is_finding, ..Answer::text(text) }
}

fn talk(loaded: Option<&Loaded>) -> String {
    loaded.map_or_else(String::new, |loaded| report::findings(&loaded.diagnostics, &loaded.sources))
}

/// The file for a runtime.
fn written(args: &Args, plans: &[Studied], call: &Call, loaded: Option<&Loaded>) -> Result<Answer, Failure> {
    let mut refusals = Vec::new();
    for studied in plans {
        let about = MscclAbout {
            name: studied.candidate.name.clone(),
            protocol: "Simple".to_owned(),
            smallest: Bytes::new(0),
            largest: None,
        };
        match msccl::write(&studied.candidate.plan, call, &about) {
            Ok(text) => {
                return Ok(Answer { talk: talk(loaded), ..Answer::plain(text) });
            }
            Err(refusal) => refusals.push(not_written(&studied.candidate, &refusal)),
        }
    }
    refusals.truncate(1);
    Err(Failure::because(
        Exit::Findings,
        format!("write {} for MSCCL", args.collective.name()),
        refusals,
        Vec::new(),
    ))
}

fn not_written(candidate: &Candidate, refusal: &MscclRefusal) -> Diagnostic {
    let hint = match refusal {
        MscclRefusal::Steps { .. } => "cut the plan into fewer chunks with `--chunks`, or take fewer GPUs",
        MscclRefusal::Collective(_) => {
            "MSCCL takes all-reduce, all-gather, reduce-scatter, broadcast, reduce and all-to-all"
        }
        MscclRefusal::Uneven
        | MscclRefusal::Switches
        | MscclRefusal::Wrong(_)
        | MscclRefusal::SharedChannel { .. }
        | MscclRefusal::Unordered(_) => "name another algorithm with `--algorithm`",
    };
    Diagnostic::error(NOT_WRITTEN, format!("{}: {refusal}", candidate.name)).hint(hint)
}

/// The algorithm of MSCCL that the only source holds, if it does.
fn algorithm_file(args: &Args, catalogue: &Catalogue) -> Result<Option<(Source, MscclAlgorithm)>, Failure> {
    let [only] = args.sources.as_slice() else { return Ok(None) };
    if only == weft_probe::SOURCE {
        return Ok(None);
    }
    let Some(given) = input::read(only, catalogue)?.into_iter().next() else { return Ok(None) };
    let source = given.source;
    if given.from_folder || !source.text.contains("<algo") {
        return Ok(None);
    }
    let (algorithm, findings) = msccl::read(&source.name, &source.text);
    if let Some(algorithm) = algorithm {
        return Ok(Some((source, algorithm)));
    }
    let what = format!("read the algorithm of {}", source.name);
    Err(Failure::because(Exit::BadInput, what, findings, vec![source]))
}

/// An algorithm file: what it does, and on a machine how long.
fn of_file(
    args: &Args,
    source: Source,
    algorithm: &MscclAlgorithm,
    catalogue: &Catalogue,
) -> Result<Answer, Failure> {
    let ranks = algorithm.ranks();
    there(args, ranks).map_err(|finding| Failure::new(Exit::Usage, what(args), finding))?;
    let (candidate, proved) = plan::of_file(algorithm);
    let Some(proved) = proved else {
        let message = format!("what {} promises is not known", algorithm.coll);
        let why = Diagnostic::error(UNPLAYABLE, message)
            .hint("known are allreduce, allgather, reducescatter, alltoall, broadcast and reduce");
        return Err(Failure::because(
            Exit::BadInput,
            format!("plan {}", source.name),
            vec![why],
            vec![source],
        ));
    };
    let sized = Call::message(proved.collective, args.size.get(), ranks);
    let call = Call { root: proved.root, in_place: proved.in_place, ..sized };
    let is_wrong = matches!(candidate.verdict, Some(Verdict::Wrong(_)));
    let mut studied = plan::study(candidate, &call);
    let loaded = match &args.on {
        Some(machine) => {
            Some(load::machine(std::slice::from_ref(machine), &args.open, "plan for", catalogue)?)
        }
        None => None,
    };
    let (mut network, mut bound) = (None, None);
    if let Some(loaded) = &loaded {
        let gpus = gpus(args, loaded, Some(ranks))?;
        let terrain = terrain(&loaded.graph.topology, &SwitchFacts(catalogue), &gpus);
        bound = limit(&terrain, &call);
        let mut clock = clock(args, loaded, gpus, catalogue)?;
        network = Some(clock.network());
        studied.timed = if is_wrong {
            Timed::Not("what is wrong is not played".to_owned())
        } else {
            clock.time(&studied.candidate.plan, &call, args.size)
        };
    } else if args.gpus.is_some() || args.network.is_some() {
        let why = Diagnostic::error(NO_MACHINE, "an algorithm file says nothing of the machine")
            .hint("name the machine with `--on`: `--on dgx-h100`");
        return Err(Failure::new(Exit::Usage, format!("time {}", source.name), why));
    }
    let rank = args.rank.map(Rank::new);
    let (size, plans) = (args.size, vec![studied]);
    if args.to.is_some() {
        return written(args, &plans, &call, loaded.as_ref());
    }
    let answers = Answers { call, size, ranks, network, limit: bound, plans, unsuited: Vec::new(), rank };
    Ok(printed(args, &answers, true, loaded.as_ref(), catalogue))
}
