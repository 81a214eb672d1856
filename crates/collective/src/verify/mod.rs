//! The proof that a plan is right: it is run symbolically, block by block.
//!
//! A block holds nothing, or a block of the input summed over a set of ranks. At the end every output block must hold
//! exactly what the collective promises, each contribution once. What is proved holds **for every interleaving** of
//! threads and messages, not for the one that is played:
//!
//! - which message a receive takes is fixed: users of one end of a queue (sender, receiver, channel) are ordered;
//! - what a block holds when it is read is fixed: two uses of a block of which one writes are ordered, or it is a
//!   [`Violation::Race`]; within a step there is no order, so there it is a [`Violation::Overlap`];
//! - "ordered" is what the plan itself forces: the steps of a thread, [`Op::Await`](crate::Op::Await), and messages
//!   (what a sender has done before is done when its message is received), followed with vector clocks;
//! - so threads are functions of what they receive (a Kahn network), and one run that ends shows that all end, with
//!   the same blocks.
//!
//! A block without a byte carries nothing: it may be read unwritten, and need not arrive. The messages themselves
//! must match all the same.

mod bound;
mod clock;
mod place;
mod play;
mod promise;
mod space;
mod state;
mod sums;
mod survey;
mod violation;

use weft_base::Bytes;

pub use bound::{Assistance, Bound, Volume};
pub use place::{Action, Block, Place};
pub use violation::{CallFault, Content, Part, Violation};

use crate::{Call, Collective, Plan};
use clock::Clocks;
use play::{Play, Sends};
use space::Space;
use state::State;
use survey::Survey;

/// What is known of a plan that is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// What the ranks send. A multicast is sent once.
    pub sent: Volume,
    /// What the ranks receive. A sum of switches is received once.
    pub received: Volume,
    /// Messages in all; a multicast is one for each receiver.
    pub message_count: u64,
    /// Messages of the longest chain in which each must wait for the one before: the latencies of the plan.
    pub chain: u32,
    /// What any plan must move.
    pub bound: Bound,
    /// Whether the plan also ends where a send waits until its receiver has begun to receive, so that nothing needs
    /// to be buffered. It always ends where sends are buffered.
    pub rendezvous: bool,
}

/// Proves that a plan does what the call asks for, or says what is wrong with it. Takes time in proportion to the
/// operations and their blocks; where threads of a rank share blocks, each step also costs the number of threads.
pub fn verify(plan: &Plan, call: &Call) -> Result<Proof, Violation> {
    let space = Space::new(plan, call)?;
    let survey = Survey::of(plan, &space)?;
    let clocks = survey.shared || call.collective == Collective::Barrier;
    let clocks = clocks.then(|| Clocks::new(&space, survey.shared));
    let state = State::new(&space, &survey, clocks);
    let played = Play::new(plan, &space, Sends::Buffered, Some(state)).run(&survey)?;
    let Some(mut state) = played else { return Err(Violation::Deadlock(Vec::new())) };
    promise::kept(&space, &mut state)?;
    let assistance = Assistance { multicast: survey.multicasts, reduction: survey.switch_reduces };
    let bound = Bound::of(&space, assistance);
    let (sent, received) = (volume(&state.traffic.sent), volume(&state.traffic.received));
    for (moved, bound) in [(sent, bound.sent), (received, bound.received)] {
        for (moved, bound) in [(moved.most, bound.most), (moved.total, bound.total)] {
            if moved < bound {
                let (moved_bytes, bound_bytes) = (moved.get(), bound.get());
                return Err(Violation::BelowBound { collective: call.collective, moved_bytes, bound_bytes });
            }
        }
    }
    let rendezvous = Play::new(plan, &space, Sends::Rendezvous, None).run(&survey).is_ok();
    let (message_count, chain) = (state.traffic.messages, state.longest_chain());
    Ok(Proof { sent, received, message_count, chain, bound, rendezvous })
}

fn volume(each: &[u64]) -> Volume {
    let total = each.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    Volume { most: Bytes::new(each.iter().copied().max().unwrap_or(0)), total: Bytes::new(total) }
}

#[cfg(test)]
mod tests;
