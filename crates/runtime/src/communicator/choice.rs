//! Which algorithm: the one that is quickest by what is known of the links.

use weft_collective::{ALGORITHMS, Algorithm, Call, Rank, Terrain, algorithm};

use super::cost::Pricing;
use crate::model::Calibration;
use crate::{Fault, Script, Tuning};

/// How algorithms are chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// This one, for all collectives that it knows; for others, such as the barriers of a measurement, the first that
    /// suits.
    Named(String),
    /// The one that takes the least time by what was measured.
    Quickest(Box<Calibration>),
    /// The same by what is measured at the next call, which is therefore a slow one.
    Measured,
}

impl Choice {
    /// What was measured, where that decides.
    pub fn calibration(&self) -> Option<&Calibration> {
        match self {
            Self::Named(_) | Self::Measured => None,
            Self::Quickest(calibration) => Some(calibration),
        }
    }

    /// Whether it depends on where the data lies.
    pub(super) fn weighs(&self) -> bool {
        match self {
            Self::Named(_) => false,
            Self::Quickest(_) | Self::Measured => true,
        }
    }

    /// What is taken for a call.
    pub(super) fn chosen<'p>(
        &'p self,
        call: &Call,
        terrain: &Terrain,
        pricing: impl FnOnce(&'p Calibration) -> Pricing<'p>,
    ) -> Result<Chosen, Fault> {
        let entry = match self {
            Self::Named(name) => named(name, call, terrain),
            Self::Quickest(calibration) => {
                let pricing = pricing(calibration);
                let quickest = candidates(call, terrain, &pricing).into_iter().next();
                let (chosen, whole_s) = quickest.ok_or_else(|| none_suits(call))?;
                return Ok(Chosen { parts: parts(chosen, call, terrain, (&pricing, whole_s)), ..chosen });
            }
            Self::Measured => first(call, terrain),
        };
        Ok(Chosen { entry: entry?, tuning: None, parts: 1 })
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
            Self::Measured => "nothing is measured yet".to_owned(),
            Self::Quickest(calibration) => {
                let all = candidates(call, terrain, &pricing(calibration));
                let text = all.iter().map(|(chosen, seconds)| {
                    format!("{}{} {:.2} us", chosen.entry.name(), chosen.way(), seconds * 1e6)
                });
                text.collect::<Vec<_>>().join("; ")
            }
        }
    }
}

/// What is taken for a call.
#[derive(Clone, Copy)]
pub(super) struct Chosen {
    pub entry: &'static dyn Algorithm,
    /// Which of two ways the transport goes, where that is chosen too.
    pub tuning: Option<Tuning>,
    /// Into how many parts the call is cut, of which each is played by the algorithm.
    pub parts: u32,
}

impl Chosen {
    /// In words, behind the algorithm's name.
    fn way(&self) -> &'static str {
        match self.tuning {
            Some(tuning) if tuning.direct_from_bytes < usize::MAX => " (read by the system)",
            Some(tuning) if tuning.registered_from_bytes < usize::MAX => " (read where it is)",
            Some(_) | None => "",
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
    first(call, terrain)
}

/// The first one that suits.
fn first(call: &Call, terrain: &Terrain) -> Result<&'static dyn Algorithm, Fault> {
    let first = ALGORITHMS.iter().find(|entry| entry.suits(call, terrain).is_ok());
    first.copied().ok_or_else(|| none_suits(call))
}

fn none_suits(call: &Call) -> Fault {
    Fault::Lacking { what: "algorithm", how: format!("none suits {}", call.collective.name()) }
}

/// Calls in a row by which algorithms are chosen.
const CALLS: u32 = 12;

/// Predictions are about so right: of algorithms that lie closer, the one with the fewest messages is taken
const CLOSE: f64 = 1.08;
/// up to so many seconds. In longer calls what disturbs a message does not count.
const LONG_S: f64 = 1e-3;

/// Parts may take so much longer than the whole by what is known, in which caches are not.
const CUT: f64 = 1.1;
/// There are no more of them, so that a plan stays short.
const PARTS_MOST: u64 = 1024;

/// Into how many parts a call is cut, which takes so many seconds as a whole.
fn parts(chosen: Chosen, call: &Call, terrain: &Terrain, (pricing, whole_s): (&Pricing<'_>, f64)) -> u32 {
    let bytes = Script::lengths(call, terrain.ranks(), Rank::new(0)).1;
    let wanted = (bytes / pricing.shape.call_bytes.max(1)) as u64;
    let parts = u32::try_from(wanted.min(PARTS_MOST)).unwrap_or(1);
    if parts < 2 || !Script::can_be_cut(call) {
        return 1;
    }
    let priced = pricing.tuned(chosen.tuning).call(chosen.entry, call, terrain, (CALLS, parts));
    if priced.is_some_and(|priced| priced.mean_s() <= CUT * whole_s) { parts } else { 1 }
}

/// From this length on pieces may be read by the system; of shorter ones to ask it takes longer than a second copy.
const READ_FROM_BYTES: usize = 16 << 10;

/// All algorithms that suit with their seconds, the chosen one first, then the quickest.
fn candidates(call: &Call, terrain: &Terrain, pricing: &Pricing<'_>) -> Vec<(Chosen, f64)> {
    let suits = || ALGORITHMS.iter().filter(|entry| entry.suits(call, terrain).is_ok());
    let mut found = Vec::new();
    for tuning in tunings(pricing) {
        let pricing = match tuning {
            Some(_) => pricing.tuned(tuning).given_only(),
            None => *pricing,
        };
        let priced =
            suits().filter_map(|entry| Some((*entry, pricing.call(*entry, call, terrain, (CALLS, 1))?)));
        found.extend(priced.map(|(entry, priced)| (Chosen { entry, tuning, parts: 1 }, priced)));
    }
    found.sort_by(|a, b| a.1.mean_s().total_cmp(&b.1.mean_s()));
    let least = found.first().map_or(0.0, |(_, priced)| priced.mean_s());
    let close = if least < LONG_S { CLOSE * least } else { least };
    let close = found.iter().take_while(|(_, priced)| priced.mean_s() <= close);
    // The first of equals, which is the quickest of them.
    let chosen = close.enumerate().min_by_key(|(at, (_, priced))| (priced.action_count, *at));
    if let Some((at, _)) = chosen {
        found[..=at].rotate_right(1);
    }
    found.into_iter().map(|(chosen, priced)| (chosen, priced.mean_s())).collect()
}

/// The ways that a transport may go with the data of a call.
fn tunings(pricing: &Pricing<'_>) -> Vec<Option<Tuning>> {
    let Some(tuning) = pricing.calibration.tuning else { return vec![None] };
    let copied = Tuning { direct_from_bytes: usize::MAX, registered_from_bytes: usize::MAX, ..tuning };
    let mut all = vec![Some(copied)];
    if pricing.registered {
        all.push(Some(Tuning { registered_from_bytes: 0, ..copied }));
    } else if pricing.calibration.direct.is_some() {
        all.push(Some(Tuning { direct_from_bytes: READ_FROM_BYTES, ..copied }));
    }
    all
}
