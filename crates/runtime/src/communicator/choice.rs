//! Which algorithm: the one that is quickest by what is known of the links.

use weft_base::Span;
use weft_collective::{ALGORITHMS, Algorithm, Call, Rank, Terrain};

use crate::{Fault, Script};

/// What a message costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speeds {
    /// From the decision to send until the receiver goes on, for a message without bytes.
    pub latency: Span,
    /// Bytes that a rank sends and receives at the same time, per second of either.
    pub bytes_per_s: f64,
}

/// How algorithms are chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// This one, always.
    Named(String),
    /// The one that takes the least time where every message takes a latency and its bytes their time.
    Quickest(Speeds),
}

impl Choice {
    /// The name of the algorithm for a call.
    pub(super) fn algorithm<'c>(&'c self, call: &Call, terrain: &Terrain) -> Result<&'c str, Fault> {
        match self {
            Self::Named(name) => Ok(name),
            Self::Quickest(speeds) => {
                let quickest = candidates(call, terrain, *speeds).into_iter().next();
                quickest.map(|(entry, _)| entry.name()).ok_or_else(|| Fault::Lacking {
                    what: "algorithm",
                    how: format!("none suits {} on {} ranks", call.collective.name(), terrain.ranks()),
                })
            }
        }
    }

    /// Which one is taken, and what the others would take.
    pub(super) fn explain(&self, call: &Call, terrain: &Terrain) -> String {
        match self {
            Self::Named(name) => format!("{name}, as asked for"),
            Self::Quickest(speeds) => {
                let all = candidates(call, terrain, *speeds);
                let text =
                    all.iter().map(|(entry, seconds)| format!("{} {:.2} us", entry.name(), seconds * 1e6));
                text.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// All algorithms that suit, the quickest first, with their seconds; of equals in the order of `ALGORITHMS`.
fn candidates(call: &Call, terrain: &Terrain, speeds: Speeds) -> Vec<(&'static dyn Algorithm, f64)> {
    let suits = ALGORITHMS.iter().filter(|entry| entry.suits(call, terrain).is_ok());
    let mut found: Vec<_> =
        suits.filter_map(|entry| Some((*entry, seconds(*entry, call, terrain, speeds)?))).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    found
}

/// What a plan takes: the steps of the rank that has most to do, each a latency and the bytes that it sends or
/// receives, whichever are more. `None` for what cannot be played here.
fn seconds(algorithm: &dyn Algorithm, call: &Call, terrain: &Terrain, speeds: Speeds) -> Option<f64> {
    let plan = algorithm.plan(call, terrain);
    let of = |rank| Some(Script::new(&plan, call, Rank::new(rank)).ok()?.seconds(speeds));
    // Ranks beyond these do what one of them does, or less.
    (0..plan.ranks.min(RANKS_ASKED)).try_fold(0.0_f64, |most, rank| Some(most.max(of(rank)?)))
}

const RANKS_ASKED: u32 = 16;

impl Script {
    /// The time of the longest thread, step by step.
    fn seconds(&self, speeds: Speeds) -> f64 {
        let threads = self.threads.iter().map(|thread| {
            let firsts = std::iter::once(thread.first).chain(thread.ends.iter().copied());
            let steps = firsts.zip(&thread.ends).map(|(first, end)| {
                let (mut sent, mut taken) = (0, 0);
                let actions = &self.actions[first as usize..*end as usize];
                let messages = actions.iter().filter(|action| action.kind.port().is_some()).count();
                for action in actions {
                    let bytes = self.bytes(action.kind);
                    *(if action.kind.sends() { &mut sent } else { &mut taken }) += bytes;
                }
                let latency = if messages == 0 { 0.0 } else { speeds.latency.as_seconds() };
                latency + precise(sent.max(taken)) / speeds.bytes_per_s
            });
            steps.sum()
        });
        threads.fold(0.0, f64::max)
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes in memory stay below 2^53")]
fn precise(bytes: usize) -> f64 {
    bytes as f64
}
