//! All ranks in virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use weft_collective::Rank;

use super::rank::{Advance, Did, State, Walker};
use super::stream::{Age, Part, Stream, Way};
use super::{Calibration, Local, Rates, Regime};
use crate::ports::Shape;
use crate::script::{Action, Kind, Region};
use crate::{Port, Script};

/// Parts into which a piece is cut at most: from there on they say nothing new.
const PARTS_MOST: usize = 32;
/// What a receiver takes at a time of what it maps.
const TURN: usize = 1 << 20;

/// A processor, or a rank's own where there are enough.
#[derive(Debug, Default)]
struct Core {
    now_s: f64,
    ranks: Vec<usize>,
    /// Which of them runs.
    turn: usize,
    /// How many in a row had nothing to do.
    missed: usize,
    idle: bool,
    /// When something happens to its ranks, as bits of seconds: above zero they are in order.
    events: BinaryHeap<Reverse<u64>>,
}

/// What things cost on a rank in this call besides what they cost everywhere.
#[derive(Debug, Clone, Copy)]
struct Costs {
    stream: Rates,
    direct: Seen,
    registered: Seen,
    local: Local,
}

/// What bytes cost that are read in the sender's memory: such as have been there for long, and such as were just written.
#[derive(Debug, Clone, Copy)]
struct Seen {
    old: Rates,
    passed_on: Rates,
    fresh: Rates,
}

impl Seen {
    fn of(regime: &Regime, footprint: f64) -> Self {
        let of = |age| regime.of_age(age, footprint);
        Self { old: of(Age::Old), passed_on: of(Age::PassedOn), fresh: of(Age::Fresh) }
    }

    fn at(&self, age: Age) -> &Rates {
        match age {
            Age::Old => &self.old,
            Age::PassedOn => &self.passed_on,
            Age::Fresh => &self.fresh,
        }
    }
}

/// What is left of a piece that is sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    port: Port,
    piece: usize,
    rest: usize,
    from: Region,
    age: Age,
}

/// What ranks do to each other.
struct World<'c> {
    calibration: &'c Calibration,
    shape: Shape,
    /// Whether what is given to the call lies in buffers that others map.
    registered: bool,
    costs: Vec<Costs>,
    hosts: Vec<u32>,
    /// By receiver, and the port on which it takes it.
    streams: BTreeMap<(usize, Port), Stream>,
    /// When the wires out of and into each host are free.
    wires: BTreeMap<(u32, bool), f64>,
    /// What has happened: to which rank, when.
    events: Vec<(usize, f64)>,
}

/// A rank that goes on.
struct Turn<'w, 'c> {
    world: &'w mut World<'c>,
    rank: usize,
    now_s: f64,
}

/// The scripts of all ranks as they play a call several times in a row.
pub(crate) struct Clock<'c> {
    walkers: Vec<Walker<'c>>,
    cores: Vec<Core>,
    core_of: Vec<usize>,
    world: World<'c>,
}

impl<'c> Clock<'c> {
    /// Ranks that share a processor are neighbours, or as far `apart` as can be.
    pub fn new(
        scripts: &'c [Script],
        hosts: &[u32],
        calibration: &'c Calibration,
        shape: Shape,
        apart: bool,
    ) -> Self {
        // Of ranks of which nothing is known each is on a host of its own.
        let own = (0_u32..).zip(scripts).map(|(rank, _)| rank);
        let hosts: Vec<u32> = hosts.iter().copied().chain(own.skip(hosts.len())).collect();
        let (cores, core_of) = cores(&hosts[..scripts.len()], calibration.processors, apart);
        let touched: Vec<f64> = scripts.iter().map(footprint).collect();
        let costs = core_of.iter().map(|core| {
            let footprint: f64 = cores[*core].ranks.iter().map(|rank| touched[*rank]).sum();
            let stream = &calibration.stream;
            let seen = |regime: &Option<Regime>| Seen::of(regime.as_ref().unwrap_or(stream), footprint);
            Costs {
                stream: stream.touched(footprint),
                direct: seen(&calibration.direct),
                registered: seen(&calibration.registered),
                local: calibration.local(footprint),
            }
        });
        let world = World {
            calibration,
            shape,
            registered: false,
            costs: costs.collect(),
            hosts,
            streams: BTreeMap::new(),
            wires: BTreeMap::new(),
            events: Vec::new(),
        };
        Self { walkers: scripts.iter().map(Walker::new).collect(), cores, core_of, world }
    }

    /// Says whether what is given to the call lies in buffers that others map; at first it does not.
    pub fn registered(mut self, registered: bool) -> Self {
        self.world.registered = registered;
        self
    }

    /// When the last rank was done with each of so many calls in a row, in seconds; `None` if they wait for each other
    /// for ever.
    pub fn run(mut self, calls: usize) -> Option<Vec<f64>> {
        let mut ends = vec![0.0; calls];
        let mut left = self.walkers.len();
        while left > 0 {
            let at = self.next()?;
            self.cores[at].awake();
            let Core { now_s, turn, ref ranks, .. } = self.cores[at];
            let rank = ranks[turn];
            let walker = &mut self.walkers[rank];
            let did = if std::mem::replace(&mut walker.begun, true) {
                walker.go_on(&mut Turn { world: &mut self.world, rank, now_s })
            } else {
                Did::Worked(self.world.calibration.call_s)
            };
            let core = &mut self.cores[at];
            match did {
                Did::Worked(seconds) => {
                    core.now_s += seconds;
                    core.missed = 0;
                }
                Did::Nothing => core.miss(self.world.calibration.turn_s),
                Did::Over => {
                    let end: &mut f64 = &mut ends[walker.calls];
                    *end = end.max(now_s);
                    walker.calls += 1;
                    walker.rewind();
                    core.missed = 0;
                    if walker.calls == calls {
                        core.ranks.remove(turn);
                        core.turn = 0;
                        left -= 1;
                    }
                }
            }
            for (rank, at_s) in self.world.events.drain(..) {
                self.cores[self.core_of[rank]].events.push(Reverse(at_s.to_bits()));
            }
        }
        Some(ends)
    }

    /// The core on which something happens next.
    fn next(&self) -> Option<usize> {
        let cores = self.cores.iter().enumerate().filter(|(_, core)| !core.ranks.is_empty());
        let times = cores.filter_map(|(at, core)| Some((at, core.next_s()?)));
        times.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }
}

impl Core {
    /// When it goes on; nothing if that is for others to say.
    fn next_s(&self) -> Option<f64> {
        if !self.idle {
            return Some(self.now_s);
        }
        self.events.peek().map(|Reverse(bits)| f64::from_bits(*bits).max(self.now_s))
    }

    /// Goes on at that time.
    fn awake(&mut self) {
        if let Some(next_s) = self.next_s().filter(|_| self.idle) {
            self.events.pop();
            self.now_s = next_s;
            (self.idle, self.missed) = (false, 0);
        }
    }

    /// The rank that runs has nothing to do: the next one runs, or nobody until something happens.
    fn miss(&mut self, turn_s: f64) {
        self.missed += 1;
        if self.ranks.len() > 1 {
            self.turn = (self.turn + 1) % self.ranks.len();
            self.now_s += turn_s;
        }
        self.idle = self.missed >= self.ranks.len();
        while self.idle && self.events.peek().is_some_and(|Reverse(bits)| f64::from_bits(*bits) <= self.now_s)
        {
            // It has happened while the others had their turn: there is something to look at.
            self.events.pop();
            (self.idle, self.missed) = (self.ranks.len() == 1, 0);
        }
    }
}

/// Whether some processor is shared.
pub(crate) fn is_crowded(hosts: &[u32], processors: u32) -> bool {
    hosts.iter().any(|host| hosts.iter().filter(|other| *other == host).count() > processors as usize)
}

/// Which processor runs which ranks: each its own, or in turn those of their host.
fn cores(hosts: &[u32], processors: u32, apart: bool) -> (Vec<Core>, Vec<usize>) {
    let mut cores: Vec<Core> = Vec::new();
    let mut core_of = vec![0; hosts.len()];
    let mut of_hosts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (rank, host) in hosts.iter().enumerate() {
        of_hosts.entry(*host).or_default().push(rank);
    }
    for ranks in of_hosts.values() {
        let first = cores.len();
        let count = ranks.len().min(processors.max(1) as usize);
        cores.resize_with(first + count, Core::default);
        for (seat, rank) in ranks.iter().enumerate() {
            let core = first + if apart { seat % count } else { seat * count / ranks.len() };
            cores[core].ranks.push(*rank);
            core_of[*rank] = core;
        }
    }
    (cores, core_of)
}

/// What a call touches on a rank, in bytes.
fn footprint(script: &Script) -> f64 {
    let scratch: usize = script.scratch_bytes().iter().sum();
    precise(script.input_bytes() + script.output_bytes() + scratch)
}

impl World<'_> {
    fn way(&self, piece: usize, rest: usize, from: Region) -> Way {
        // What a call needs besides is memory of the library's own.
        let registered = self.registered || matches!(from, Region::Scratch(_));
        if piece <= self.shape.line_bytes && self.calibration.line.is_some() {
            Way::Line
        } else if registered
            && rest >= self.shape.registered_from_bytes
            && self.calibration.registered.is_some()
        {
            Way::Registered
        } else if self.calibration.direct.is_some() && self.shape.is_direct(piece, rest) {
            Way::Direct
        } else {
            Way::Stream
        }
    }

    fn regime(&self, way: Way) -> &Regime {
        let stream = &self.calibration.stream;
        match way {
            Way::Line => self.calibration.line.as_ref().unwrap_or(stream),
            Way::Stream => stream,
            Way::Direct => self.calibration.direct.as_ref().unwrap_or(stream),
            Way::Registered => self.calibration.registered.as_ref().unwrap_or(stream),
        }
    }

    /// When bytes that leave at a time have crossed the wire between two ranks.
    fn cross(&mut self, from: usize, to: usize, leave_s: f64, bytes: usize) -> f64 {
        let (from, to) = (self.hosts.get(from).copied(), self.hosts.get(to).copied());
        let wire = self.calibration.wire_s_per_byte * precise(bytes);
        let (Some(from), Some(to)) = (from, to) else { return leave_s };
        if wire <= 0.0 || from == to {
            return leave_s;
        }
        let free = |wires: (u32, bool)| self.wires.get(&wires).copied().unwrap_or(0.0);
        let over = free((from, true)).max(free((to, false))).max(leave_s) + wire;
        self.wires.insert((from, true), over);
        self.wires.insert((to, false), over);
        over
    }
}

impl Turn<'_, '_> {
    fn send(&mut self, sent: Sent, state: &mut State) -> Option<f64> {
        let Sent { port, piece, rest, from, age } = sent;
        let (peer, own) = (port.peer.index(), self.rank);
        let key = (peer, Port { peer: name(own), channel: port.channel });
        let now_s = self.now_s;
        let way = self.world.way(piece, rest, from);
        let regime = self.world.regime(way);
        let rates = regime.rates(precise(piece), &self.world.costs[own].stream);
        let (overhead, mut latency) = (regime.sender_s, regime.latency_s);
        let grain = grain(piece, self.world.shape, way);
        let window = self.world.shape.window_bytes.max(2 * grain);
        let stream = self.world.streams.entry(key).or_default();
        if state.posted {
            if !stream.is_read(now_s) {
                return None;
            }
            state.posted = false;
            state.bytes = piece;
            return Some(0.0);
        }
        let begins = state.bytes == 0;
        let mut seconds = if begins { overhead } else { 0.0 };
        let bytes = match way {
            Way::Line => piece,
            Way::Direct | Way::Registered => {
                state.posted = true;
                rest
            }
            Way::Stream => {
                let bytes = rest.min(grain);
                if stream.room(now_s, window) < bytes {
                    return None;
                }
                seconds += precise(bytes) * rates.send_s_per_byte;
                latency += precise(bytes) * rates.latency_s_per_byte;
                bytes
            }
        };
        if !state.posted {
            state.bytes += bytes;
        }
        let arrival_s = self.world.cross(own, peer, now_s + seconds, bytes) + latency;
        if let Some(stream) = self.world.streams.get_mut(&key) {
            stream.send(Part { arrival_s, bytes, piece, way, grain, begins, age });
        }
        self.world.events.push((peer, arrival_s));
        Some(seconds)
    }

    fn receive(&mut self, (port, want): (Port, usize), combines: bool, state: &mut State) -> Option<f64> {
        let (own, now_s) = (self.rank, self.now_s);
        let stream = self.world.streams.get(&(own, port))?;
        let part = *stream.parts.front().filter(|part| part.arrival_s <= now_s)?;
        let regime = self.world.regime(part.way);
        let (overhead, latency) = (regime.receiver_s, regime.latency_s);
        let costs = &self.world.costs[own];
        let rates = match part.way {
            Way::Line => Rates::default(),
            Way::Stream => regime.rates(precise(part.piece), &costs.stream),
            Way::Direct => regime.rates(precise(part.piece), costs.direct.at(part.age)),
            Way::Registered => regime.rates(precise(part.piece), costs.registered.at(part.age)),
        };
        let bytes = part.bytes.min(want).min(part.grain);
        let rate = if combines { rates.combine_s_per_byte } else { rates.receive_s_per_byte };
        let seconds = if part.begins { overhead } else { 0.0 } + precise(bytes) * rate;
        state.bytes += bytes;
        let seen_s = now_s + seconds + latency;
        if let Some(stream) = self.world.streams.get_mut(&(own, port)) {
            stream.take(bytes, seen_s);
        }
        self.world.events.push((port.peer.index(), seen_s));
        Some(seconds)
    }
}

impl Advance for Turn<'_, '_> {
    fn advance(&mut self, script: &Script, action: Action, state: &mut State) -> Option<f64> {
        let kind = action.kind;
        let (local, local_s) = (self.world.costs[self.rank].local, self.world.calibration.local_s);
        let run = match kind {
            Kind::Send { from, .. } => from,
            Kind::Receive { into, .. } | Kind::ReceiveReduce { into, .. } => into,
            Kind::Copy { .. } => {
                state.over = true;
                return Some(local_s + precise(script.bytes(kind)) * local.copy_s_per_byte);
            }
            Kind::Reduce { .. } => {
                state.over = true;
                return Some(local_s + precise(script.bytes(kind)) * local.combine_s_per_byte);
            }
            Kind::Await { .. } => return None,
        };
        // An empty message is one byte.
        let (piece, from) = if run.count == 0 {
            (1, Region::Input)
        } else {
            let extent = script.extents[(run.first + state.piece) as usize];
            (extent.length, extent.region)
        };
        let rest = piece - state.bytes;
        let seconds = match kind {
            Kind::Send { port, .. } => {
                self.send(Sent { port, piece, rest, from, age: age(action, from) }, state)?
            }
            Kind::Receive { port, .. } => self.receive((port, rest), false, state)?,
            Kind::ReceiveReduce { port, .. } => self.receive((port, rest), true, state)?,
            Kind::Copy { .. } | Kind::Reduce { .. } | Kind::Await { .. } => return None,
        };
        if state.bytes == piece {
            state.bytes = 0;
            state.piece += 1;
            state.over = state.piece >= run.count;
        }
        Some(seconds)
    }
}

/// Since when what is sent is there.
fn age(sends: Action, from: Region) -> Age {
    match from {
        Region::Input => Age::Old,
        Region::Output | Region::Scratch(_) if sends.sent_on => Age::PassedOn,
        Region::Output | Region::Scratch(_) => Age::Fresh,
    }
}

/// How much of a piece goes at a time.
fn grain(piece: usize, shape: Shape, way: Way) -> usize {
    let part = match way {
        Way::Line | Way::Stream | Way::Direct => shape.part_bytes,
        Way::Registered => TURN,
    };
    part.max(piece.div_ceil(PARTS_MOST)).max(1)
}

fn name(rank: usize) -> Rank {
    Rank::new(u32::try_from(rank).unwrap_or(u32::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "bytes in memory stay below 2^53")]
fn precise(bytes: usize) -> f64 {
    bytes as f64
}
