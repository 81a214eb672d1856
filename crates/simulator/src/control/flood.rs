//! Senders that nothing slows down: neither priority flow control nor DCQCN.

use std::collections::BTreeMap;

use weft_base::{Bytes, Rate, Span, Time};

use super::openings::Openings;
use super::queues::{Queues, alone_bytes_per_s};
use super::{Control, Counts, Links, Moving};
use crate::engine::{Engine, PathId};
use crate::network::{Loss, Recovery};

/// What decides how much arrives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloodLimits {
    /// From sending a packet until the sender hears that it was lost.
    pub round_trip: Span,
    /// Data of a packet.
    pub packet: Bytes,
    /// What is sent again.
    pub recovery: Recovery,
}

/// Each message is sent at the rate that it would reach alone. A link that gets more than it carries loses the same
/// part of all; what is left of a message's rate for new data follows from the part p that it loses on its way, as
/// [`Loss::goodput_share`] says. What is lost loads the links before the one that loses it, and none after.
#[derive(Debug)]
pub struct Flood {
    links: Links,
    limits: FloodLimits,
    openings: Openings,
    /// Paths with a cap, so that each is made once.
    capped: BTreeMap<(PathId, u64), PathId>,
    /// Since when what is lost and sent again, in bytes per second.
    since: Time,
    lost_bytes_per_s: f64,
    again_bytes_per_s: f64,
    counts: Counts,
}

impl Flood {
    /// Senders without restraint on the links of a network.
    pub fn new(links: Links, limits: FloodLimits) -> Self {
        Self {
            links,
            limits,
            openings: Openings::default(),
            capped: BTreeMap::new(),
            since: Time::ZERO,
            lost_bytes_per_s: 0.0,
            again_bytes_per_s: 0.0,
            counts: Counts::default(),
        }
    }

    fn path(&mut self, engine: &mut Engine, path: PathId, rate_bytes_per_s: f64) -> PathId {
        // Not quite nothing: a message that starves goes on, if for ever.
        let cap = Rate::from_gigabytes(rate_bytes_per_s / 1e9).max(Rate::bytes_per_second(1));
        *self.capped.entry((path, cap.get())).or_insert_with(|| {
            let uses = engine.uses(path);
            engine.add_path(&uses, Span::ZERO, Some(cap))
        })
    }

    fn count(&mut self, now: Time) {
        let passed_s = (now - self.since).as_seconds();
        self.since = now;
        self.counts.lost_packets_count += self.lost_bytes_per_s * passed_s / self.limits.packet.as_f64();
        self.counts.sent_again_bytes += self.again_bytes_per_s * passed_s;
        (self.lost_bytes_per_s, self.again_bytes_per_s) = (0.0, 0.0);
    }
}

impl Control for Flood {
    fn react(&mut self, engine: &mut Engine, moving: &[Moving]) -> Option<Time> {
        self.count(engine.now());
        let stage = self.openings.note(engine, moving);
        let rates: Vec<f64> =
            stage.open.iter().map(|message| alone_bytes_per_s(engine, message.path)).collect();
        let queues = Queues::new(engine, &self.links, &stage.open, &rates);
        for ((message, rate), delivered) in stage.open.iter().zip(rates).zip(queues.delivered_share) {
            let share = 1.0 - delivered;
            if share <= 1e-9 {
                engine.reroute(message.flow, message.path);
                continue;
            }
            let flight = rate * self.limits.round_trip.as_seconds() / self.limits.packet.as_f64();
            let loss = Loss { share, window_weight: flight.max(1.0) };
            let goodput = rate * loss.goodput_share(self.limits.recovery);
            let path = self.path(engine, message.path, goodput);
            engine.reroute(message.flow, path);
            self.lost_bytes_per_s += rate * share;
            self.again_bytes_per_s += rate - goodput;
        }
        stage.next
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
