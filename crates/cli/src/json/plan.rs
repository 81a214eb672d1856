//! `weft/plan/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_collective::{Buffer, Collective, Op, Plan, Rank, Ranks, Slice};

use super::DiagnosticJson;
use super::predict::LimitJson;
use crate::plan::{Answers, PhaseFold, Studied, ThreadFold, Timed, Verdict, folded};

/// The version of this document.
pub const SCHEMA: &str = "weft/plan/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct PlanDocument {
    schema: &'static str,
    collective: Option<&'static str>,
    ranks: u32,
    bytes: u64,
    in_place: bool,
    network: Option<&'static str>,
    limit: Option<LimitJson>,
    plans: Vec<PlanJson>,
    unsuited: Vec<UnsuitedJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct PlanJson {
    algorithm: String,
    title: String,
    threads: Vec<ThreadJson>,
    pieces: u32,
    scratch_buffers: u16,
    /// Of the rank with the fewest, and with the most.
    steps_least: u64,
    steps_most: u64,
    messages: u64,
    messages_in_a_row: Option<u32>,
    sent_least_bytes: u64,
    sent_most_bytes: u64,
    /// Null where the plan is not proved.
    bound_sent_bytes: Option<u64>,
    /// Null where it is not known.
    proved: Option<bool>,
    /// Why it is not proved, or what is wrong.
    reason: Option<String>,
    needs_buffers: Option<bool>,
    time_s: Option<f64>,
    algbw_bytes_per_s: Option<u64>,
    busbw_bytes_per_s: Option<u64>,
    /// Why there is no time.
    not_timed: Option<String>,
    rank: Option<RankJson>,
}

#[derive(Debug, Serialize)]
struct ThreadJson {
    threads: Vec<usize>,
    phases: Vec<PhaseJson>,
}

#[derive(Debug, Serialize)]
struct PhaseJson {
    channel: u16,
    steps_least: u32,
    steps_most: u32,
    groups: String,
    movement: &'static str,
    window: String,
}

#[derive(Debug, Serialize)]
struct UnsuitedJson {
    algorithm: &'static str,
    reason: String,
}

#[derive(Debug, Serialize)]
struct RankJson {
    rank: u32,
    threads: Vec<StepsJson>,
}

#[derive(Debug, Serialize)]
struct StepsJson {
    thread: u16,
    steps: Vec<StepJson>,
}

#[derive(Debug, Serialize)]
struct StepJson {
    channel: u16,
    operations: Vec<OperationJson>,
}

#[derive(Debug, Default, Serialize)]
struct OperationJson {
    kind: &'static str,
    /// Ranks of a message, a multicast or a sum.
    peers: Vec<u32>,
    from: Option<BlocksJson>,
    /// What comes is added to this.
    local: Option<BlocksJson>,
    into: Option<BlocksJson>,
    /// For what it waits.
    wait_thread: Option<u16>,
    wait_steps: Option<u32>,
}

#[derive(Debug, Serialize)]
struct BlocksJson {
    buffer: String,
    /// First and last of each range.
    ranges: Vec<(u32, u32)>,
}

/// The document of what was found.
pub fn document(answers: &Answers, diagnostics: &[Diagnostic]) -> PlanDocument {
    let unsuited =
        |one: &crate::plan::Unsuited| UnsuitedJson { algorithm: one.name, reason: one.reason.to_string() };
    PlanDocument {
        schema: SCHEMA,
        collective: Some(answers.call.collective.name()),
        ranks: answers.ranks,
        bytes: answers.size.get(),
        in_place: answers.call.in_place,
        network: answers.network,
        limit: answers.limit.as_ref().map(LimitJson::of),
        plans: answers.plans.iter().map(|studied| plan(studied, answers.rank)).collect(),
        unsuited: answers.unsuited.iter().map(unsuited).collect(),
        diagnostics: super::all(diagnostics),
    }
}

/// The document where there is no plan.
pub fn failed(collective: Option<Collective>, diagnostics: &[Diagnostic]) -> PlanDocument {
    PlanDocument {
        schema: SCHEMA,
        collective: collective.map(Collective::name),
        ranks: 0,
        bytes: 0,
        in_place: false,
        network: None,
        limit: None,
        plans: Vec::new(),
        unsuited: Vec::new(),
        diagnostics: super::all(diagnostics),
    }
}

fn plan(studied: &Studied, rank: Option<Rank>) -> PlanJson {
    let (candidate, counted) = (&studied.candidate, &studied.counted);
    let (proof, reason) = match &studied.verdict {
        Verdict::Right(proof) => (Some(proof), None),
        Verdict::Wrong(reason) | Verdict::Unchecked(reason) => (None, Some(reason.clone())),
    };
    let proved = match &studied.verdict {
        Verdict::Right(_) => Some(true),
        Verdict::Wrong(_) => Some(false),
        Verdict::Unchecked(_) => None,
    };
    let not_timed = match &studied.timed {
        Timed::Took { .. } => None,
        Timed::Not(why) => Some(why.clone()),
    };
    let reached = studied.timed.reached();
    PlanJson {
        algorithm: candidate.name.clone(),
        title: candidate.title.clone(),
        threads: folded(&candidate.plan).into_iter().map(thread).collect(),
        pieces: candidate.plan.pieces,
        scratch_buffers: candidate.plan.scratch,
        steps_least: counted.steps.0,
        steps_most: counted.steps.1,
        messages: proof.map_or(counted.message_count, |proof| proof.message_count),
        messages_in_a_row: proof.map(|proof| proof.chain),
        sent_least_bytes: counted.sent.0.get(),
        sent_most_bytes: counted.sent.1.get(),
        bound_sent_bytes: proof.map(|proof| proof.bound.sent.most.get()),
        proved,
        reason,
        needs_buffers: proof.map(|proof| !proof.rendezvous),
        time_s: studied.timed.span().map(weft_base::Span::as_seconds),
        algbw_bytes_per_s: reached.map(|reached| reached.algbw.get()),
        busbw_bytes_per_s: reached.map(|reached| reached.busbw.get()),
        not_timed,
        rank: rank.map(|rank| listed(&candidate.plan, rank)),
    }
}

fn thread(fold: ThreadFold) -> ThreadJson {
    let phase = |phase: PhaseFold| PhaseJson {
        channel: phase.channel,
        steps_least: phase.steps.0,
        steps_most: phase.steps.1,
        groups: phase.groups,
        movement: phase.movement,
        window: phase.window,
    };
    ThreadJson { threads: fold.threads, phases: fold.phases.into_iter().map(phase).collect() }
}

fn listed(plan: &Plan, rank: Rank) -> RankJson {
    let threads = u16::try_from(plan.threads.len()).unwrap_or(u16::MAX);
    let steps = |thread| {
        let (mut walk, mut ops, mut steps) = (plan.steps(rank, thread), Vec::new(), Vec::new());
        while let Some(channel) = walk.next_into(&mut ops) {
            steps.push(StepJson { channel, operations: ops.drain(..).map(|op| operation(&op)).collect() });
        }
        StepsJson { thread, steps }
    };
    RankJson { rank: rank.get(), threads: (0..threads).map(steps).collect() }
}

fn operation(op: &Op) -> OperationJson {
    let one = |rank: &Rank| vec![rank.get()];
    let many = |ranks: &Ranks| ranks.iter().map(Rank::get).collect();
    let none = OperationJson::default;
    match op {
        Op::Send { to, from } => {
            OperationJson { kind: "send", peers: one(to), from: Some(blocks(from)), ..none() }
        }
        Op::Recv { from, into } => {
            OperationJson { kind: "receive", peers: one(from), into: Some(blocks(into)), ..none() }
        }
        Op::RecvReduce { from, local, into } => OperationJson {
            kind: "receive-reduce",
            peers: one(from),
            local: Some(blocks(local)),
            into: Some(blocks(into)),
            ..none()
        },
        Op::Copy { from, into } => {
            OperationJson { kind: "copy", from: Some(blocks(from)), into: Some(blocks(into)), ..none() }
        }
        Op::Reduce { from, into } => {
            OperationJson { kind: "reduce", from: Some(blocks(from)), into: Some(blocks(into)), ..none() }
        }
        Op::Multicast { to, from } => {
            OperationJson { kind: "multicast", peers: many(to), from: Some(blocks(from)), ..none() }
        }
        Op::Contribute { to, from } => {
            OperationJson { kind: "contribute", peers: one(to), from: Some(blocks(from)), ..none() }
        }
        Op::SwitchReduce { of, local, into } => OperationJson {
            kind: "switch-reduce",
            peers: many(of),
            local: Some(blocks(local)),
            into: Some(blocks(into)),
            ..none()
        },
        Op::Await { thread, steps } => {
            OperationJson { kind: "await", wait_thread: Some(*thread), wait_steps: Some(*steps), ..none() }
        }
    }
}

fn blocks(slice: &Slice) -> BlocksJson {
    let buffer = match slice.buffer {
        Buffer::Input => "input".to_owned(),
        Buffer::Output => "output".to_owned(),
        Buffer::Scratch(number) => format!("scratch{number}"),
    };
    BlocksJson { buffer, ranges: slice.joined() }
}
