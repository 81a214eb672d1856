//! What meets in a network when everything moves at one pace: the chunks of a ring or a tree are on all of its hops
//! at once, so that the slowest hop is the pace of all.
//!
//! A stream is played as one flow over all cables that its hops take, each as often as it takes it. Streams beside each
//! other share cables max-min fair, and a slow one leaves to others what it cannot use.

mod tables;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

use weft_base::{Bytes, Rate, Span, Time};

use crate::engine::{Engine, EventKind, ResourceId, Use};

pub use tables::TableWays;
pub use ways::ChosenWays;

/// A hop from NIC to NIC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop<N> {
    /// What sends.
    pub from: N,
    /// What receives.
    pub to: N,
    /// The connection between them.
    pub channel: u16,
    /// Bytes on it for each byte of the stream.
    pub weight: f64,
}

/// A cable in one direction, as a finder numbers them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CableId(u64);

/// A cable between two switches that a hop takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Laid {
    /// Which: equal for all hops that share it.
    pub cable: CableId,
    /// What it carries.
    pub rate: Rate,
    /// The part of the hop's bytes that goes over it.
    pub share: f64,
}

/// Says which cables a hop takes.
pub trait Finder<N> {
    /// The cables between switches, none where one switch joins both ends; `None` where there is no way.
    fn cables(&mut self, hop: &Hop<N>) -> Option<Vec<Laid>>;
    /// Both ends of a cable in words.
    fn name(&self, cable: CableId) -> String;
}

/// How streams got on together.
#[derive(Debug, Clone, PartialEq)]
pub struct Meeting {
    /// What the slowest stream reached, bytes of it per second; `None` where no stream crosses a cable between switches.
    pub pace_bytes_per_s: Option<f64>,
    /// Hops that cross such cables.
    pub crossing: usize,
    /// Cables that are crossed.
    pub cables: usize,
    /// The most hops on one cable, of those that hold up the slowest stream.
    pub most: usize,
    /// That cable.
    pub fullest: CableId,
}

/// So many bytes of each stream are moved: enough that picoseconds are no matter.
const PLAYED: Bytes = Bytes::new(1 << 30);

/// Plays streams that begin together; `None` where some hop has no way.
pub fn play<N>(streams: &[Vec<Hop<N>>], finder: &mut impl Finder<N>) -> Option<Meeting> {
    let mut net = Net::default();
    let mut meeting =
        Meeting { pace_bytes_per_s: None, crossing: 0, cables: 0, most: 0, fullest: CableId::default() };
    for (hops, tag) in streams.iter().zip(0u64..) {
        let mut uses = Vec::new();
        for hop in hops {
            let laid = finder.cables(hop)?;
            meeting.crossing += usize::from(!laid.is_empty());
            uses.extend(laid.into_iter().map(|laid| net.lay(laid, hop.weight)));
        }
        if !uses.is_empty() {
            let path = net.engine.add_path(&uses, Span::ZERO, None);
            net.engine.start(path, PLAYED, tag);
        }
    }
    meeting.cables = net.cables.len();
    let last = net.last();
    let seconds = (last.0 - Time::ZERO).as_seconds();
    meeting.pace_bytes_per_s = (meeting.crossing > 0 && seconds > 0.0).then(|| PLAYED.as_f64() / seconds);
    let held = last.1.and_then(|resource| net.cables.iter().find(|(_, (known, _))| *known == resource));
    if let Some((cable, (_, hops))) = held {
        (meeting.fullest, meeting.most) = (*cable, *hops);
    }
    Some(meeting)
}

/// Cables as resources, each with the hops on it.
#[derive(Default)]
struct Net {
    engine: Engine,
    cables: BTreeMap<CableId, (ResourceId, usize)>,
}

impl Net {
    fn lay(&mut self, laid: Laid, weight: f64) -> Use {
        let engine = &mut self.engine;
        let (resource, hops) =
            self.cables.entry(laid.cable).or_insert_with(|| (engine.add_resource(laid.rate), 0));
        *hops += 1;
        Use { resource: *resource, weight: weight * laid.share }
    }

    /// When the last stream ends, and what held it up.
    fn last(&mut self) -> (Time, Option<ResourceId>) {
        let (mut events, mut last) = (Vec::new(), (Time::ZERO, None));
        let mut ended = BTreeSet::new();
        while self.engine.advance(&mut events) {
            for event in &events {
                if let EventKind::Ended { bottleneck } = event.kind
                    && ended.insert(event.tag)
                {
                    last = (self.engine.now(), bottleneck);
                }
            }
        }
        last
    }
}

#[cfg(test)]
mod tests;
