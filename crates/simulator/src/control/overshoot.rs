//! Losses until senders have slowed down: DCQCN without priority flow control.

use std::collections::BTreeMap;

use weft_base::{Bytes, Span, Time};

use super::openings::Openings;
use super::queues::{Queues, alone_bytes_per_s};
use super::{Control, Counts, Links, Moving};
use crate::engine::{Engine, FlowId, ResourceId, Use};
use crate::network::Recovery;

/// What decides how much is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OvershootLimits {
    /// What one port can hold.
    pub port_buffer: Bytes,
    /// Until senders hear of the first report: a round trip.
    pub reaction: Span,
    /// Between reports.
    pub interval: Span,
    /// Data of a packet.
    pub packet: Bytes,
    /// What is sent again.
    pub recovery: Recovery,
}

/// Messages begin at full rate, and each report halves it: DCQCN begins with alpha = 1 and cuts the rate by alpha/2,
/// and alpha stays 1 while packets are marked (Zhu and others, 2015). What meets at a port beyond what it carries
/// fills its buffer; once that is full, the rest is lost and sent again. From there on all share the port fairly.
#[derive(Debug)]
pub struct Overshoot {
    links: Links,
    limits: OvershootLimits,
    openings: Openings,
    /// What each message had when last asked, in bytes per second, and how often its bytes count since losses.
    known: BTreeMap<FlowId, (f64, f64)>,
    counts: Counts,
}

/// No message slows down by more than this many halves.
const HALVES: u32 = 40;

/// What is lost and sent again of some messages.
struct Losses {
    lost_bytes: f64,
    /// For each message.
    again_bytes: Vec<f64>,
}

impl Overshoot {
    /// Senders that react as `limits` says, on the links of a network.
    pub fn new(links: Links, limits: OvershootLimits) -> Self {
        Self {
            links,
            limits,
            openings: Openings::default(),
            known: BTreeMap::new(),
            counts: Counts::default(),
        }
    }

    /// The rates at which messages begin: the full one for those that have just begun, the last one for others.
    fn starts(&self, engine: &Engine, open: &[Moving], fresh: &[Moving]) -> Vec<f64> {
        let start = |message: &Moving| match self.known.get(&message.flow) {
            Some((rate, _)) if !fresh.contains(message) => *rate,
            Some(_) | None => alone_bytes_per_s(engine, message.path),
        };
        open.iter().map(start).collect()
    }

    /// What is lost until nothing meets any more.
    fn losses(&self, engine: &mut Engine, open: &[Moving], starts: &[f64]) -> Losses {
        let mut left: Vec<f64> = open.iter().map(|message| engine.remaining(message.flow).as_f64()).collect();
        let mut queued: BTreeMap<ResourceId, f64> = BTreeMap::new();
        let mut losses = Losses { lost_bytes: 0.0, again_bytes: vec![0.0; open.len()] };
        let mut part = 1.0;
        for halves in 0..HALVES {
            let reaction = if halves == 0 { self.limits.reaction } else { self.limits.interval };
            let lasts_s = reaction.as_seconds();
            let sent = |(start, left): (&f64, &f64)| (start * part).min(left / lasts_s);
            let rates: Vec<f64> = starts.iter().zip(&left).map(sent).collect();
            let queues = Queues::new(engine, &self.links, open, &rates);
            let lost = self.lost_shares(&queues, &mut queued, lasts_s);
            if lost.is_empty() {
                break;
            }
            for (index, arrivals) in queues.arrivals.iter().enumerate() {
                let (mut again, mut gone) = (0.0_f64, 0.0_f64);
                for (link, rate) in arrivals {
                    let Some((lost_share, time_share)) = lost.get(link) else { continue };
                    gone += rate * lasts_s * lost_share;
                    again = again.max(rates[index] * lasts_s * time_share);
                }
                losses.lost_bytes += gone;
                losses.again_bytes[index] += match self.limits.recovery {
                    Recovery::GoBackN => again,
                    Recovery::SelectiveRepeat => gone,
                };
                left[index] -= rates[index] * lasts_s;
            }
            part /= 2.0;
        }
        losses
    }

    /// For each link that gets too much: the part that it loses, and the part of the time in which its buffer is full.
    fn lost_shares(
        &self,
        queues: &Queues,
        queued: &mut BTreeMap<ResourceId, f64>,
        lasts_s: f64,
    ) -> BTreeMap<ResourceId, (f64, f64)> {
        let buffer = self.limits.port_buffer.as_f64();
        let mut lost = BTreeMap::new();
        for (link, load) in &queues.at {
            let excess = (load.reaches - load.carries) * lasts_s;
            if excess <= load.carries * lasts_s * 1e-9 {
                continue;
            }
            let queue = queued.entry(*link).or_insert(0.0);
            let over = (*queue + excess - buffer).clamp(0.0, excess);
            *queue = (*queue + excess).min(buffer);
            lost.insert(*link, (over / (load.reaches * lasts_s), over / excess));
        }
        lost
    }

    /// Lets a message carry so many bytes more over the network: its bytes weigh more from now on.
    fn burden(&mut self, engine: &mut Engine, message: &Moving, again_bytes: f64) {
        let left = engine.remaining(message.flow).as_f64();
        if again_bytes <= 0.0 || left <= 0.0 {
            return;
        }
        let (_, weight) = self.known.entry(message.flow).or_insert((0.0, 1.0));
        *weight += again_bytes / left;
        let scale = |used: &Use| {
            let factor = if self.links.contains(used.resource) { *weight } else { 1.0 };
            Use { resource: used.resource, weight: used.weight * factor }
        };
        let uses: Vec<Use> = engine.uses(message.path).iter().map(scale).collect();
        let path = engine.add_path(&uses, Span::ZERO, None);
        engine.reroute(message.flow, path);
        self.counts.sent_again_bytes += again_bytes;
    }
}

impl Control for Overshoot {
    fn react(&mut self, engine: &mut Engine, moving: &[Moving]) -> Option<Time> {
        let stage = self.openings.note(engine, moving);
        if !stage.fresh.is_empty() {
            let starts = self.starts(engine, &stage.open, &stage.fresh);
            let losses = self.losses(engine, &stage.open, &starts);
            self.counts.lost_packets_count += losses.lost_bytes / self.limits.packet.as_f64();
            for (message, again_bytes) in stage.open.iter().zip(losses.again_bytes) {
                self.burden(engine, message, again_bytes);
            }
        }
        let before = std::mem::take(&mut self.known);
        for message in &stage.open {
            let weight = before.get(&message.flow).map_or(1.0, |(_, weight)| *weight);
            self.known.insert(message.flow, (engine.rate_bytes_per_s(message.flow), weight));
        }
        stage.next
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
