//! What is found out of a plan without a machine: its size, and whether it is right.

use weft_base::Bytes;
use weft_collective::{Buffer, Call, Layout, Plan, Proof, Rank, Work, verify};

use super::candidates::Candidate;
use super::time::Timed;

/// Operations of all ranks up to which a plan is proved here.
const MOST_PROVED: u64 = 4_000_000;
/// Blocks of all buffers of all ranks up to which it is proved.
const MOST_BLOCKS: u64 = 4_000_000;
/// Operations of all ranks up to which those of each rank are counted.
const MOST_COUNTED: u64 = 50_000_000;

/// Whether a plan is right.
pub enum Verdict {
    /// Proved.
    Right(Proof),
    /// What is wrong.
    Wrong(String),
    /// Why it was not proved.
    Unchecked(String),
}

/// What ranks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Of the rank with the fewest, and with the most.
    pub steps: (u64, u64),
    /// Bytes that a rank sends: the least, the most.
    pub sent: (Bytes, Bytes),
    /// Messages and multicasts of all ranks.
    pub message_count: u64,
    /// Whether all ranks were counted; else the first stands for all.
    pub is_of_all: bool,
}

/// A plan that was looked at.
pub struct Studied {
    pub candidate: Candidate,
    pub counted: Counted,
    pub verdict: Verdict,
    /// How long it takes on the machine.
    pub timed: Timed,
}

/// Counts and proves.
pub fn study(mut candidate: Candidate, call: &Call) -> Studied {
    let plan = &candidate.plan;
    let first = plan.work(call, Rank::new(0));
    let operations = first.operation_count.saturating_mul(u64::from(plan.ranks));
    let counted = counted(plan, call, first, operations <= MOST_COUNTED);
    let known = candidate.verdict.take();
    let verdict = known.unwrap_or_else(|| judge(plan, call, operations));
    Studied { candidate, counted, verdict, timed: Timed::Not("no machine is given".to_owned()) }
}

fn counted(plan: &Plan, call: &Call, first: Work, all: bool) -> Counted {
    let ranks = if all { plan.ranks } else { 1 };
    let mut counted = Counted {
        steps: (first.step_count, first.step_count),
        sent: (first.sent, first.sent),
        message_count: 0,
        is_of_all: all,
    };
    for rank in 0..ranks {
        let work = if rank == 0 { first } else { plan.work(call, Rank::new(rank)) };
        let Counted { steps, sent, .. } = &mut counted;
        *steps = (steps.0.min(work.step_count), steps.1.max(work.step_count));
        *sent = (sent.0.min(work.sent), sent.1.max(work.sent));
        counted.message_count += work.message_count;
    }
    if !all {
        counted.message_count = first.message_count.saturating_mul(u64::from(plan.ranks));
    }
    counted
}

fn judge(plan: &Plan, call: &Call, operations: u64) -> Verdict {
    let layout = Layout::new(call, plan.ranks, plan.pieces);
    let scratch = u64::from(plan.scratch) * u64::from(layout.blocks(Buffer::Scratch(0)));
    let own = u64::from(layout.blocks(Buffer::Input)) + u64::from(layout.blocks(Buffer::Output)) + scratch;
    let blocks = own * u64::from(plan.ranks);
    if operations > MOST_PROVED || blocks > MOST_BLOCKS {
        let why = format!("its {operations} operations on {blocks} blocks are too many to be proved here");
        return Verdict::Unchecked(why);
    }
    match verify(plan, call) {
        Ok(proof) => Verdict::Right(proof),
        Err(violation) => Verdict::Wrong(violation.to_string()),
    }
}
