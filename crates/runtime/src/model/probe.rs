//! Small plans of two ranks, and of all, by whose times a transport is known.

use std::time::Duration;

use weft_base::Bytes;
use weft_collective::Rank;

use super::Calibration;
use super::clock::is_crowded;
use super::fit;
use crate::communicator::Trial;
use crate::measure::slowest;
use crate::ports::Shape;
use crate::script::{Extent, Region, Writing};
use crate::{Communicator, Fault, Port, Script, Transport};

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
    /// Within two ranks at the same time.
    Local { bytes: usize, combines: bool },
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
        }
    }

    /// Runs each probe once more. All ranks do so together.
    pub fn round<T: Transport>(&mut self, communicator: &mut Communicator<T>) -> Result<(), Fault> {
        for at in 0..self.list.len() {
            let seconds = self.run(communicator, at)?;
            self.times_s[at].push(seconds);
        }
        Ok(())
    }

    /// What a small message each way took last, in seconds.
    pub(crate) fn exchange_s(&self) -> Option<f64> {
        let at = self.list.iter().position(|what| matches!(what, What::Once(_)))?;
        self.times_s[at].last().copied()
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
        })
    }

    fn run<T: Transport>(&mut self, communicator: &mut Communicator<T>, at: usize) -> Result<f64, Fault> {
        let what = self.list[at];
        let scripts = scripts(what, self.ranks);
        let text = format!("{what:?}");
        let mut trial = Trial::new(&scripts[communicator.rank().index()], &text);
        let timed = if matches!(what, What::Sends(_)) { Timed::First } else { Timed::All };
        if self.counts[at] == 0 {
            trial.run(communicator, timed, 2)?;
            let own_s = trial.run(communicator, timed, 2)?;
            let one_s = slowest(communicator, own_s)?;
            self.counts[at] = fitting(self.lasting.as_secs_f64() / one_s.max(1e-9));
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
    let mut footprint = 4 << 10;
    while footprint <= most {
        let bytes = footprint / 2;
        for combines in [false, true] {
            list.push(What::Local { bytes, combines });
            if bytes > CHUNK {
                list.push(What::Both { bytes, message: CHUNK, combines });
            }
            if shape.is_direct(bytes.min(READ), bytes.min(READ)) {
                list.push(What::Both { bytes, message: bytes.min(READ), combines });
            }
        }
        if bytes > CHUNK {
            list.push(What::OneWay { bytes, message: CHUNK, combines: false });
        }
        footprint *= step;
    }
    list
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
            let mut writing = Writing::new(bytes(what));
            if let (What::Circle(bytes), true) = (what, ranks > 1) {
                turns(&mut writing, ((rank + 1) % ranks, (rank + last) % ranks), bytes, ROUNDS);
            } else if let (What::Local { bytes, combines }, true) = (what, takes_part || ranks == 1) {
                writing.local(input(0, bytes), output(0, bytes), combines);
                writing.step();
            } else if takes_part {
                pair(&mut writing, what, rank == 0, other);
            }
            writing.script()
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
            let messages = || (0..bytes).step_by(message).map(|at| (at, message.min(bytes - at)));
            messages().for_each(|(at, length)| writing.send(port(other, 0), input(at, length)));
            messages().for_each(|(at, length)| take(writing, other, (at, length), combines));
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
fn bytes(what: What) -> usize {
    match what {
        What::Nothing => 0,
        What::Turns(bytes)
        | What::Once(bytes)
        | What::Follows(bytes)
        | What::Burst(bytes)
        | What::Sends(bytes)
        | What::Circle(bytes) => bytes,
        What::Both { bytes, .. } | What::OneWay { bytes, .. } | What::Local { bytes, .. } => bytes,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded above and below")]
fn fitting(count: f64) -> u32 {
    count.clamp(1.0, 10_000.0) as u32
}
