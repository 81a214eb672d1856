//! Pauses that spread: priority flow control without congestion control, or credits that run out.

use std::collections::BTreeMap;

use weft_base::{Rate, Time};

use super::openings::Openings;
use super::{Control, Counts, Links, Moving};
use crate::engine::{Engine, FlowId, PathId, ResourceId};

/// A port that is asked for more than it carries stops the links that lead to it, these stop the links that lead to
/// them, and so on up to the senders. A stopped link serves its queue in order, so that every message on it gets no
/// more than the one that is stopped for.
#[derive(Debug, Default)]
pub struct Pauses {
    links: Links,
    openings: Openings,
    /// Messages that are held up, and the path that holds them.
    held: BTreeMap<FlowId, PathId>,
    /// Paths with a cap, so that each is made once.
    capped: BTreeMap<(PathId, u64), PathId>,
    victims: u64,
}

/// Where a message is held up, counted along its way, and the rate that is left.
#[derive(Debug, Clone, Copy)]
struct Hold {
    place: usize,
    rate_bytes_per_s: f64,
}

/// Rates that differ by less are the same.
const SAME: f64 = 1e-9;

impl Pauses {
    /// Pauses on the links of a network.
    pub fn new(links: Links) -> Self {
        Self { links, ..Self::default() }
    }

    /// The least rate of the messages that are held up further on, for each link that is stopped for them.
    fn stopped(
        &self,
        engine: &mut Engine,
        open: &[Moving],
        holds: &BTreeMap<FlowId, Hold>,
    ) -> BTreeMap<ResourceId, f64> {
        let mut least: BTreeMap<ResourceId, f64> = BTreeMap::new();
        for message in open {
            let rate = engine.rate_bytes_per_s(message.flow);
            let full = engine.bottleneck(message.flow);
            let uses = engine.uses(message.path);
            let place = match (full, holds.get(&message.flow)) {
                (Some(full), _) => uses.iter().position(|used| used.resource == full),
                (None, hold) => hold.map(|hold| hold.place),
            };
            for used in &uses[..place.unwrap_or(0)] {
                if self.links.contains(used.resource) {
                    let least = least.entry(used.resource).or_insert(rate);
                    *least = least.min(rate);
                }
            }
        }
        least
    }

    /// Holds up whoever gets more on a stopped link than the one that it is stopped for. False if nobody does.
    fn hold(
        &mut self,
        engine: &mut Engine,
        open: &[Moving],
        stopped: &BTreeMap<ResourceId, f64>,
        holds: &mut BTreeMap<FlowId, Hold>,
    ) -> bool {
        let mut changed = false;
        for message in open {
            let rate = engine.rate_bytes_per_s(message.flow);
            let places = engine.uses(message.path).into_iter().enumerate();
            let limits = places.filter_map(|(place, used)| Some((place, *stopped.get(&used.resource)?)));
            let tightest = limits.min_by(|a, b| a.1.total_cmp(&b.1));
            // Caps are whole bytes per second.
            if let Some((place, limit)) = tightest
                && limit + 1.0 < rate * (1.0 - SAME)
            {
                holds.insert(message.flow, Hold { place, rate_bytes_per_s: limit });
                changed = true;
            }
        }
        for message in open {
            let Some(hold) = holds.get(&message.flow) else { continue };
            let path = self.path(engine, message.path, hold.rate_bytes_per_s);
            if self.held.insert(message.flow, path) != Some(path) {
                engine.reroute(message.flow, path);
            }
        }
        changed
    }

    /// A path with a cap.
    fn path(&mut self, engine: &mut Engine, path: PathId, rate_bytes_per_s: f64) -> PathId {
        let cap = Rate::from_gigabytes(rate_bytes_per_s / 1e9);
        *self.capped.entry((path, cap.get())).or_insert_with(|| {
            let uses = engine.uses(path);
            engine.add_path(&uses, weft_base::Span::ZERO, Some(cap))
        })
    }
}

impl Control for Pauses {
    fn react(&mut self, engine: &mut Engine, moving: &[Moving]) -> Option<Time> {
        let stage = self.openings.note(engine, moving);
        let before = std::mem::take(&mut self.held);
        for message in moving.iter().filter(|message| before.contains_key(&message.flow)) {
            engine.reroute(message.flow, message.path);
        }
        let mut holds = BTreeMap::new();
        // Each round lowers a rate to that of another message, of which there are so many.
        for _ in 0..stage.open.len() {
            let stopped = self.stopped(engine, &stage.open, &holds);
            if !self.hold(engine, &stage.open, &stopped, &mut holds) {
                break;
            }
        }
        let fresh = self.held.keys().filter(|flow| !before.contains_key(flow)).count();
        self.victims += u64::try_from(fresh).unwrap_or(u64::MAX);
        stage.next
    }

    fn counts(&self) -> Counts {
        Counts { victims_count: self.victims, ..Counts::default() }
    }
}
