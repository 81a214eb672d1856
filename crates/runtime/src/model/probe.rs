//! Small plans of two ranks, and of all, by whose times a transport is known.

use std::time::Duration;

use weft_base::Bytes;
use weft_collective::Rank;

use super::Calibration;
use super::clock::is_crowded;
use super::fit;
use super::stream::Age;
use crate::communicator::Trial;
use crate::measure::{fitting, slowest};
use crate::ports::Shape;
use crate::script::{Extent, Region, Writing};
use crate::{Buffer, Communicator, Fault, Port, Script, Transport, Tuning};

/// Steps of a probe that takes turns.
pub(super) const ROUNDS: usize = 8;
/// Channels of one that does several things at once.
pub(super) const CHANNELS: u16 = 4;
/// Messages of one that shows how many a second there can be.
pub(super) const FLOOD: usize = 16;
/// Pieces up to this length are sent so.
pub(super) const FLOODED: usize = 32 << 10;
/// The shortest piece of which it is measured what its bytes cost.
pub(super) const PIECE_LEAST: usize = 512;
/// Messages that are copied twice are cut so in large calls, as plans do.
pub(super) const CHUNK: usize = 512 << 10;
/// The largest that are read by the receiver.
pub(super) const READ: usize = 8 << 20;

/// The shortest of them.
const READ_LEAST: usize = 8 << 10;
/// Calls of a probe at most.
const CALLS_MOST: u32 = 10_000;

/// What a probe does. Bytes are of each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Nothing: what each call costs.
    Nothing,
    /// Step by step a message each way between two ranks.
    Turns(usize),
    /// A message each way: a call of its own for each step.
    Once(usize),
    /// A message one way, call by call.
    Follows(usize),
    /// As many messages each way as there are channels, all at once.
    Burst(usize),
    /// The same one way; timed is the sender alone.
    Sends(usize),
    /// Step by step a message from every rank to the next one.
    Circle(usize),
    /// Between two ranks both ways, in messages of at most so much.
    Both { bytes: usize, message: usize, combines: bool },
    /// From one to the other, then an answer.
    OneWay { bytes: usize, message: usize, combines: bool },
    /// Between two ranks both ways, read by the receiver where they are: in the sender's own memory or in buffers that
    /// both map, where they are for so long.
    Read { bytes: usize, combines: bool, age: Age, registered: bool },
    /// Within two ranks at the same time.
    Local { bytes: usize, combines: bool },
}

impl What {
    /// What the call touches on a rank.
    pub fn footprint(self) -> usize {
        2 * buffer_bytes(self)
    }
}

/// Whose time counts, of which calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timed {
    /// Of all ranks, of many calls in a row.
    All,
    /// Of the first, of each call alone.
    First,
}

/// What was measured by one probe, in seconds of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Probed {
    /// In words.
    pub text: String,
    /// The median of the rounds.
    pub median_s: f64,
    /// The shortest and the longest.
    pub range_s: (f64, f64),
}

/// Probes of a transport that are run in rounds, so that other measurements can be between them.
#[derive(Debug)]
pub struct Probes {
    list: Vec<What>,
    times_s: Vec<Vec<f64>>,
    /// Calls that fill a measurement, once it is known.
    counts: Vec<u32>,
    lasting: Duration,
    shape: Shape,
    transport: String,
    processors: u32,
    hosts: Vec<u32>,
    ranks: u32,
    tuning: Option<Tuning>,
    /// In which all are run: of this rank alone, and such as others map; made when they are first needed.
    own: Option<Buffers>,
    mapped: Option<Buffers>,
}

/// A place in one of two buffers.
type Place = fn(usize, usize) -> Extent;

/// Two buffers, as long as any probe needs them.
#[derive(Debug)]
struct Buffers {
    input: Buffer<u8>,
    output: Buffer<u8>,
}

impl Buffers {
    fn new(list: &[What], buffer: impl Fn(usize) -> Buffer<u8>) -> Self {
        let bytes = list.iter().map(|what| buffer_bytes(*what)).max().unwrap_or(0);
        let filled = || {
            let mut memory = buffer(bytes);
            // The system gives it no memory before it is written.
            memory.fill(1);
            memory
        };
        Self { input: filled(), output: filled() }
    }
}

impl Probes {
    /// All that is needed to know calls that touch at most so much on a rank, with lengths a factor of `step` apart; each
    /// probe takes about `lasting`, or one call if that takes longer.
    pub fn new<T: Transport>(
        communicator: &Communicator<T>,
        most: Bytes,
        step: usize,
        lasting: Duration,
    ) -> Self {
        let (shape, ranks) = (communicator.transport().shape(), communicator.ranks());
        let (hosts, processors) = communicator.placement();
        let most = usize::try_from(most.get()).unwrap_or(usize::MAX).max(2 * CHUNK);
        // What can be read by the system is so, however long it is.
        let direct_from_bytes = if shape.direct_up_to_bytes > 0 { READ_LEAST } else { usize::MAX };
        let shape = Shape { direct_from_bytes, ..shape };
        let list = list(shape, most, step.max(2), is_crowded(hosts, processors));
        Self {
            times_s: vec![Vec::new(); list.len()],
            counts: vec![0; list.len()],
            list,
            lasting,
            shape,
            transport: communicator.transport().kind().to_owned(),
            processors,
            hosts: hosts.to_vec(),
            ranks,
            tuning: communicator.transport().tuning(),
            own: None,
            mapped: None,
        }
    }

    /// Runs each probe once more. All ranks do so together.
    pub fn round<T: Transport>(&mut self, communicator: &mut Communicator<T>) -> Result<(), Fault> {
        let before = communicator.transport().tuning();
        for at in 0..self.list.len() {
            let seconds = self.run(communicator, at)?;
            self.times_s[at].push(seconds);
        }
        if let Some(before) = before {
            communicator.tune_to(before);
        }
        Ok(())
    }

    /// What each has shown so far.
    pub fn probed(&self) -> Vec<Probed> {
        let each = self.list.iter().zip(&self.times_s);
        each.map(|(what, times_s)| {
            let mut times_s = times_s.clone();
            times_s.sort_by(f64::total_cmp);
            let at = |index: usize| times_s.get(index).copied().unwrap_or(f64::NAN);
            Probed {
                text: format!("{what:?}"),
                median_s: at(times_s.len() / 2),
                range_s: (at(0), at(times_s.len().saturating_sub(1))),
            }
        })
        .collect()
    }

    /// What follows from them. All ranks get the same, since all know the same times.
    pub fn calibration(&self) -> Calibration {
        let medians: Vec<_> =
            self.list.iter().copied().zip(self.probed().iter().map(|probed| probed.median_s)).collect();
        fit::fit(&fit::Found {
            medians: &medians,
            shape: self.shape,
            transport: &self.transport,
            processors: self.processors,
            hosts: &self.hosts,
            ranks: self.ranks,
            tuning: self.tuning,
        })
    }

    fn run<T: Transport>(&mut self, communicator: &mut Communicator<T>, at: usize) -> Result<f64, Fault> {
        let what = self.list[at];
        let scripts = scripts(what, self.ranks);
        let text = format!("{what:?}");
        let list = &self.list;
        let Buffers { input, output } = if matches!(what, What::Read { registered: true, .. }) {
            // Where memory for all to share is lacking, that is for calls to say that ask for it.
            let buffer = |bytes| communicator.buffer(bytes).unwrap_or_else(|_| Buffer::private(bytes));
            self.mapped.get_or_insert_with(|| Buffers::new(list, buffer))
        } else {
            self.own.get_or_insert_with(|| Buffers::new(list, Buffer::private))
        };
        let bytes = buffer_bytes(what);
        let mut trial =
            Trial::new(&scripts[communicator.rank().index()], &text, (&input[..bytes], &mut output[..bytes]));
        if let Some(tuning) = self.tuning {
            let reads = matches!(what, What::Read { registered: false, .. });
            let direct_from_bytes = if reads { 1 } else { usize::MAX };
            communicator.tune_to(Tuning { direct_from_bytes, registered_from_bytes: 0, ..tuning });
        }
        let timed = if matches!(what, What::Sends(_)) { Timed::First } else { Timed::All };
        if self.counts[at] == 0 {
            trial.run(communicator, timed, 1)?;
            let own_s = trial.run(communicator, timed, 1)?;
            let one_s = slowest(communicator, own_s)?;
            self.counts[at] = fitting(self.lasting.as_secs_f64() / one_s.max(1e-9), CALLS_MOST);
            if self.counts[at] < 2 {
                return Ok(one_s);
            }
        }
        // Those that take no part fall asleep meanwhile.
        trial.run(communicator, timed, self.counts[at].div_ceil(3))?;
        let own_s = trial.run(communicator, timed, self.counts[at])?;
        slowest(communicator, own_s)
    }
}

pub(super) fn list(shape: Shape, most: usize, step: usize, crowded: bool) -> Vec<What> {
    let mut list = vec![What::Nothing];
    let small = [(shape.line_bytes > 0).then_some(8), Some(shape.line_bytes + 16)];
    for bytes in small.into_iter().flatten() {
        list.extend([What::Turns(bytes), What::Burst(bytes), What::Sends(bytes), flood(bytes)]);
        list.extend([What::Once(bytes), What::Follows(bytes)]);
    }
    list.push(What::Local { bytes: 8, combines: false });
    if crowded {
        list.push(What::Circle(8));
    }
    let mut piece = PIECE_LEAST;
    while piece <= CHUNK.min(most) {
        if piece <= FLOODED {
            list.extend([What::Sends(piece), flood(piece)]);
        } else {
            list.push(What::OneWay { bytes: piece, message: piece, combines: false });
        }
        list.extend([false, true].map(|combines| What::Both { bytes: piece, message: piece, combines }));
        piece *= step;
    }
    // What the caches hold and what they do not lie far apart; and what is larger than the last one costs what that does.
    let footprints = std::iter::successors(Some(4 << 10), |footprint| Some(footprint * step.min(4)));
    for footprint in footprints.take_while(|footprint| *footprint < most).chain([most]) {
        let bytes = footprint / 2;
        for combines in [false, true] {
            list.push(What::Local { bytes, combines });
            if bytes > CHUNK {
                list.push(What::Both { bytes, message: CHUNK, combines });
            }
            list.extend(reads(shape, footprint, combines));
        }
        if bytes > CHUNK {
            list.push(What::OneWay { bytes, message: CHUNK, combines: false });
        }
    }
    list
}

/// What is read where it is, in calls that touch so much on a rank.
fn reads(shape: Shape, footprint: usize, combines: bool) -> impl Iterator<Item = What> {
    // What the system reads is only what a call was given.
    let each = [(false, Age::Old), (true, Age::Old), (true, Age::PassedOn), (true, Age::Fresh)];
    each.into_iter().filter_map(move |(registered, age)| {
        // What is written before was somewhere else.
        let bytes = footprint / if age == Age::Old { 2 } else { 4 };
        let message = bytes.min(READ);
        let is_read = if registered {
            message >= shape.registered_from_bytes
        } else {
            shape.is_direct(message, message)
        };
        is_read.then_some(What::Read { bytes, combines, age, registered })
    })
}

/// Many messages one way.
pub(super) fn flood(bytes: usize) -> What {
    What::OneWay { bytes: FLOOD * bytes, message: bytes, combines: false }
}

/// The scripts of all ranks. Two take part, or all: the first one and the last, which is on another host if any is.
pub(super) fn scripts(what: What, ranks: u32) -> Vec<Script> {
    let last = ranks.saturating_sub(1);
    (0..ranks)
        .map(|rank| {
            let other = if rank == 0 { last } else { 0 };
            let takes_part = (rank == 0 || rank == last) && ranks > 1;
            let mut writing = Writing::new(buffer_bytes(what));
            if let (What::Circle(bytes), true) = (what, ranks > 1) {
                turns(&mut writing, ((rank + 1) % ranks, (rank + last) % ranks), bytes, ROUNDS);
            } else if let (What::Local { bytes, combines }, true) = (what, takes_part || ranks == 1) {
                writing.local(input(0, bytes), output(0, bytes), combines);
                writing.step();
            } else if takes_part {
                pair(&mut writing, what, rank == 0, other);
            }
            // What a rank writes for itself it writes to its cache.
            writing.script(!matches!(what, What::Read { age: Age::Fresh, .. }))
        })
        .collect()
}

fn port(peer: u32, channel: u16) -> Port {
    Port { peer: Rank::new(peer), channel }
}

fn turns(writing: &mut Writing, (to, from): (u32, u32), bytes: usize, rounds: usize) {
    for _ in 0..rounds {
        writing.send(port(to, 0), input(0, bytes));
        writing.receive(port(from, 0), output(0, bytes));
        writing.step();
    }
}

/// What two ranks do with each other.
fn pair(writing: &mut Writing, what: What, first: bool, other: u32) {
    match what {
        What::Turns(bytes) => turns(writing, (other, other), bytes, ROUNDS),
        What::Once(bytes) => turns(writing, (other, other), bytes, 1),
        What::Follows(bytes) => {
            if first {
                writing.send(port(other, 0), input(0, bytes));
            } else {
                writing.receive(port(other, 0), output(0, bytes));
            }
            writing.step();
        }
        What::Burst(bytes) => {
            (0..CHANNELS).for_each(|channel| writing.send(port(other, channel), input(0, bytes)));
            (0..CHANNELS).for_each(|channel| writing.receive(port(other, channel), output(0, bytes)));
            writing.step();
        }
        What::Sends(bytes) => {
            for channel in 0..CHANNELS {
                if first {
                    writing.send(port(other, channel), input(0, bytes));
                } else {
                    writing.receive(port(other, channel), output(0, bytes));
                }
            }
            writing.step();
        }
        What::Both { bytes, message, combines } => {
            let messages = || cut(bytes, message);
            messages().for_each(|(at, length)| writing.send(port(other, 0), input(at, length)));
            messages().for_each(|(at, length)| take(writing, other, (at, length), combines));
            writing.step();
        }
        What::Read { bytes, combines, age, .. } => {
            let is_old = age == Age::Old;
            let (from, into) = if is_old { (input as Place, 0) } else { (output as Place, bytes) };
            if !is_old {
                writing.local(input(0, bytes), output(0, bytes), false);
                writing.step();
            }
            cut(bytes, READ).for_each(|(at, length)| writing.send(port(other, 0), from(at, length)));
            cut(bytes, READ).for_each(|(at, length)| take(writing, other, (into + at, length), combines));
            writing.step();
        }
        What::OneWay { bytes, message, combines } => {
            for at in (0..bytes).step_by(message) {
                let length = message.min(bytes - at);
                if first {
                    writing.send(port(other, 0), input(at, length));
                } else {
                    take(writing, other, (at, length), combines);
                }
            }
            writing.step();
            if first {
                writing.receive(port(other, 0), output(0, 8));
            } else {
                writing.send(port(other, 0), input(0, 8));
            }
            writing.step();
        }
        What::Nothing | What::Circle(_) | What::Local { .. } => {}
    }
}

/// Messages of at most so much: where each begins, and how long it is.
fn cut(bytes: usize, message: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes).step_by(message).map(move |at| (at, message.min(bytes - at)))
}

fn take(writing: &mut Writing, from: u32, (at, length): (usize, usize), combines: bool) {
    if combines {
        writing.combine(port(from, 0), input(at, length), output(at, length));
    } else {
        writing.receive(port(from, 0), output(at, length));
    }
}

fn input(offset: usize, length: usize) -> Extent {
    Extent { region: Region::Input, offset, length }
}

fn output(offset: usize, length: usize) -> Extent {
    Extent { region: Region::Output, offset, length }
}

/// Of each of the two buffers.
pub(super) fn buffer_bytes(what: What) -> usize {
    match what {
        What::Nothing => 0,
        What::Turns(bytes)
        | What::Once(bytes)
        | What::Follows(bytes)
        | What::Burst(bytes)
        | What::Sends(bytes)
        | What::Circle(bytes) => bytes,
        What::Both { bytes, .. } | What::OneWay { bytes, .. } | What::Local { bytes, .. } => bytes,
        What::Read { bytes, age: Age::Old, .. } => bytes,
        What::Read { bytes, age: Age::PassedOn | Age::Fresh, .. } => 2 * bytes,
    }
}
