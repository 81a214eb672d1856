//! Which algorithm: the one that is quickest by what is known of the links.

use weft_base::Span;
use weft_collective::{ALGORITHMS, Algorithm, Call, Terrain, algorithm};

use super::cost::seconds;
use crate::Fault;

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
    /// This one, for all collectives that it knows; for others, such as the barriers of a measurement, the first that
    /// suits.
    Named(String),
    /// The one that takes the least time where every message takes a latency and its bytes their time.
    Quickest(Speeds),
}

impl Choice {
    /// What a message costs, where that decides.
    pub fn speeds(&self) -> Option<Speeds> {
        match self {
            Self::Named(_) => None,
            Self::Quickest(speeds) => Some(*speeds),
        }
    }

    /// The algorithm for a call.
    pub(super) fn algorithm(&self, call: &Call, terrain: &Terrain) -> Result<&'static dyn Algorithm, Fault> {
        match self {
            Self::Named(name) => named(name, call, terrain),
            Self::Quickest(speeds) => {
                let quickest = candidates(call, terrain, *speeds).into_iter().next();
                quickest.map(|(entry, _)| entry).ok_or_else(|| Fault::Lacking {
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

/// An algorithm that was asked for, if it is to do with this call.
fn named(name: &str, call: &Call, terrain: &Terrain) -> Result<&'static dyn Algorithm, Fault> {
    let lacking = |how: String| Fault::Lacking { what: "algorithm", how };
    let entry = algorithm(name).ok_or_else(|| lacking(format!("there is none called `{name}`")))?;
    if entry.collectives().contains(&call.collective) {
        return entry.suits(call, terrain).map(|()| entry).map_err(|reason| lacking(reason.to_string()));
    }
    let first = ALGORITHMS.iter().find(|entry| entry.suits(call, terrain).is_ok());
    first.copied().ok_or_else(|| lacking(format!("none suits {}", call.collective.name())))
}

/// All algorithms that suit, the quickest first, with their seconds; of equals in the order of `ALGORITHMS`.
fn candidates(call: &Call, terrain: &Terrain, speeds: Speeds) -> Vec<(&'static dyn Algorithm, f64)> {
    let suits = ALGORITHMS.iter().filter(|entry| entry.suits(call, terrain).is_ok());
    let mut found: Vec<_> =
        suits.filter_map(|entry| Some((*entry, seconds(*entry, call, terrain, speeds)?))).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    found
}
