//! Which algorithm: the one that is quickest by what is known of the links.

use weft_collective::{ALGORITHMS, Algorithm, Call, Terrain, algorithm};

use super::cost::Pricing;
use crate::Fault;
use crate::model::Calibration;

/// How algorithms are chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// This one, for all collectives that it knows; for others, such as the barriers of a measurement, the first that
    /// suits.
    Named(String),
    /// The one that takes the least time by what was measured.
    Quickest(Box<Calibration>),
}

impl Choice {
    /// What was measured, where that decides.
    pub fn calibration(&self) -> Option<&Calibration> {
        match self {
            Self::Named(_) => None,
            Self::Quickest(calibration) => Some(calibration),
        }
    }

    /// The algorithm for a call.
    pub(super) fn algorithm<'p>(
        &'p self,
        call: &Call,
        terrain: &Terrain,
        pricing: impl FnOnce(&'p Calibration) -> Pricing<'p>,
    ) -> Result<&'static dyn Algorithm, Fault> {
        match self {
            Self::Named(name) => named(name, call, terrain),
            Self::Quickest(calibration) => {
                let quickest = candidates(call, terrain, &pricing(calibration)).into_iter().next();
                quickest.map(|(entry, _)| entry).ok_or_else(|| Fault::Lacking {
                    what: "algorithm",
                    how: format!("none suits {} on {} ranks", call.collective.name(), terrain.ranks()),
                })
            }
        }
    }

    /// Which one is taken, and what the others would take.
    pub(super) fn explain<'p>(
        &'p self,
        call: &Call,
        terrain: &Terrain,
        pricing: impl FnOnce(&'p Calibration) -> Pricing<'p>,
    ) -> String {
        match self {
            Self::Named(name) => format!("{name}, as asked for"),
            Self::Quickest(calibration) => {
                let all = candidates(call, terrain, &pricing(calibration));
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

/// Calls in a row by which algorithms are chosen.
const CALLS: u32 = 12;

/// Predictions are about so right: of algorithms that lie closer, the one with the fewest messages is taken.
const CLOSE: f64 = 1.15;

/// All algorithms that suit with their seconds, the chosen one first, then the quickest.
fn candidates(call: &Call, terrain: &Terrain, pricing: &Pricing<'_>) -> Vec<(&'static dyn Algorithm, f64)> {
    let suits = ALGORITHMS.iter().filter(|entry| entry.suits(call, terrain).is_ok());
    let priced = suits.filter_map(|entry| Some((*entry, pricing.call(*entry, call, terrain, CALLS)?)));
    let mut found: Vec<_> = priced.collect();
    found.sort_by(|a, b| a.1.mean_s().total_cmp(&b.1.mean_s()));
    let least = found.first().map_or(0.0, |(_, priced)| priced.mean_s());
    let close = found.iter().take_while(|(_, priced)| priced.mean_s() <= CLOSE * least);
    // The first of equals, which is the quickest of them.
    let chosen = close.enumerate().min_by_key(|(at, (_, priced))| (priced.action_count, *at));
    if let Some((at, _)) = chosen {
        found[..=at].rotate_right(1);
    }
    found.into_iter().map(|(entry, priced)| (entry, priced.mean_s())).collect()
}
