//! Recorded steps played on another machine: execution traces of ranks, whose computing takes what was recorded and whose
//! communication takes what this crate predicts.
//!
//! Each rank has one stream that computes, one of the host, one of its memory, and one for each process group, in which
//! the group's collectives follow each other. What leaves a server shares the server's ports with whatever else leaves it.

mod account;
mod critical;
mod intervals;
mod plan;
mod play;
mod price;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use weft_base::{Code, Diagnostic, Severity};
use weft_formats::ExecutionTrace;

use crate::train::Site;

pub use price::{Priced, Prices};

/// Sends and receives that do not belong together.
pub const REPLAY_UNMATCHED: Code = Code {
    name: "replay-unmatched",
    explanation: "A send of a trace has no receive in the trace of the rank it goes to, or a receive no send, so that a \
        replay would wait for ever. They are matched by both ranks and the tag (`comm_src`, `comm_dst`, `comm_tag`), the \
        first with the first. Traces that were cut at different steps, or of different runs, do this.",
};

/// Collectives that not all ranks take part in.
pub const REPLAY_MISMATCH: Code = Code {
    name: "replay-mismatch",
    explanation: "The ranks of a process group do not agree on its collectives: some never come, or they come with another \
        operation. The collectives of a group are matched by their order in the traces of its ranks. A missing file, traces \
        of different steps, and a definition of the group that is not the run's do this.",
};

/// Traces that never end.
pub const REPLAY_STUCK: Code = Code {
    name: "replay-stuck",
    explanation: "The replay comes to where every rank waits for another one. Each trace by itself has no circle, but \
        together they have: one rank goes into collective A before B, another into B before A.",
};

/// Computing of which nobody knows how long it took.
pub const REPLAY_NO_TIMES: Code = Code {
    name: "replay-no-times",
    explanation: "No computation of the traces says how long it took (`duration_micros`) or how much it was (`num_ops`, \
        `tensor_size`). The step would consist of communication only, and nothing would hide it.",
};

/// Communication without a price.
pub const REPLAY_NO_PRICE: Code = Code {
    name: "replay-no-price",
    explanation: "A collective or a message of the traces cannot be priced on the machine: it does not say its size, there is \
        no model of the operation, the machine has too few GPUs for its ranks, or nothing joins them.",
};

/// What the traces leave open.
pub const REPLAY_ASSUMED: Code = Code {
    name: "replay-assumed",
    explanation: "The traces leave something open that a replay has to know: the ranks of a group, the size where ranks \
        differ, the time of computations that were not measured. The message says what was taken.",
};

/// What is played.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The trace of each rank.
    pub traces: BTreeMap<u32, ExecutionTrace>,
    /// Ranks of process groups that the traces themselves do not define.
    pub groups: BTreeMap<String, Vec<u32>>,
    /// How many times as long computations on the GPU take as they were recorded.
    pub compute_scale: f64,
}

/// A step as it was played.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replayed {
    /// The end of the last node.
    pub step_s: f64,
    /// Each rank, in order.
    pub ranks: Vec<RankTime>,
    /// Each process group that communicates, then all messages between two ranks together.
    pub groups: Vec<GroupTime>,
    /// The rank that others waited longest for; `None` if no one waits.
    pub slowest_rank: Option<u32>,
    /// What the end of the step waited for, the longest first: together as long as the step.
    pub critical: Vec<CriticalTime>,
    /// What happened when.
    pub bars: Vec<ReplayBar>,
    /// What was assumed.
    pub diagnostics: Vec<Diagnostic>,
}

/// Where the step goes on one rank. The first four add up to the step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// The GPU computes.
    pub compute_s: f64,
    /// It does not, and something of its own is sent.
    pub exposed_s: f64,
    /// Neither, and it waits for another rank.
    pub waiting_s: f64,
    /// None of this: the host, the memory, dependencies.
    pub idle_s: f64,
    /// Something of its own is sent, hidden or not.
    pub communication_s: f64,
    /// How long other ranks waited for this one, added up.
    pub waited_for_s: f64,
}

/// What a process group sends.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupTime {
    /// As in the traces; `None` for messages between two ranks.
    pub name: Option<String>,
    /// Who is in it.
    pub ranks: Vec<u32>,
    /// Its operations.
    pub operations_count: usize,
    /// Their sizes as nccl-tests counts them, added up.
    pub bytes: u64,
    /// Their time, added up: the next two together.
    pub seconds: f64,
    /// While the GPU does not compute, the mean of those who take part.
    pub exposed_s: f64,
    /// While it does.
    pub hidden_s: f64,
    /// Of the time what there would not be if nothing else were sent.
    pub shared_s: f64,
}

/// A part of the critical path: nodes of one kind each of which another one of the path waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct CriticalTime {
    /// Whose time it is.
    pub lane: ReplayLane,
    /// Of communication the operation.
    pub operation: Option<&'static str>,
    /// Of collectives the group.
    pub group: Option<String>,
    /// Its nodes; a collective counts once.
    pub nodes_count: usize,
    /// Their time, added up.
    pub seconds: f64,
    /// The longest of them.
    pub longest: ReplayBar,
}

/// Whose time a bar shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayLane {
    /// The GPU.
    Compute,
    /// The network.
    Communication,
    /// The GPU's memory, by itself.
    Memory,
    /// The CPU.
    Host,
}

/// From when to when a node of a trace ran.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayBar {
    /// On which rank.
    pub rank: u32,
    /// On what of it.
    pub lane: ReplayLane,
    /// The node's id.
    pub node_number: u64,
    /// The node's name.
    pub name: String,
    /// Of communication the operation: `all-reduce`.
    pub operation: Option<&'static str>,
    /// Its begin.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// Plays a recording on a machine whose GPU of each number is the rank of that number.
pub fn replay(recording: &Recording, site: &Site<'_>) -> Result<Replayed, Vec<Diagnostic>> {
    played(recording, &price::SitePrices::new(site))
}

/// The same at any prices.
pub fn played(recording: &Recording, prices: &dyn Prices) -> Result<Replayed, Vec<Diagnostic>> {
    let (plan, found) = plan::plan(recording, prices);
    if found.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(found);
    }
    let played = match play::play(&plan) {
        Ok(played) => played,
        Err(stuck) => return Err(found.into_iter().chain([play::stuck(&plan, recording, &stuck)]).collect()),
    };
    Ok(Replayed { diagnostics: found, ..account::account(&plan, recording, &played) })
}
