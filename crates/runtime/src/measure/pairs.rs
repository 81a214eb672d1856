//! What every two ranks reach between them, several pairs at a time.

use std::sync::Arc;

use weft_base::Bytes;
use weft_collective::{Call, Collective, Counts, Rank};

use super::now;
use crate::{Choice, Communicator, Element, Fault, Reduction, Transport};

/// What is measured of each pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairSeries {
    /// The message whose rate is measured, in either direction by itself.
    pub bytes: Bytes,
    /// How often all pairs are gone through; the medians count. What disturbs a network for a while so disturbs one
    /// repeat of many pairs, not all repeats of one.
    pub repeats: usize,
}

/// What was measured from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairMeasured {
    /// The median of the repeats.
    pub bytes_per_s: f64,
    /// The slowest and the quickest repeat.
    pub range_bytes_per_s: (f64, f64),
    /// Half of what a small message takes there and back: the median of the repeats, the same in both directions.
    pub latency_s: f64,
    /// Bytes that came otherwise than they were sent.
    pub wrong_count: u64,
}

/// What was measured of all pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct PairsMeasured {
    ranks: usize,
    /// By sender, then receiver.
    cells: Vec<Option<PairMeasured>>,
}

impl PairsMeasured {
    /// What was measured from one rank to another, if anything was.
    pub fn get(&self, from: usize, to: usize) -> Option<PairMeasured> {
        let inside = from < self.ranks && to < self.ranks;
        self.cells.get(from * self.ranks + to).copied().flatten().filter(|_| inside)
    }
}

/// Small messages there and back in a visit; the first one, which may open a connection, is not counted.
const PINGS: usize = 12;
/// Before a message is timed, one of this part of it goes ahead, so that connections and caches are warm.
const AHEAD: usize = 8;
/// What is timed and said in between.
const SMALL: usize = 8;
/// Numbers that a rank tells of each of its peers.
const TOLD: usize = 5;

/// The algorithm, of which nothing is left but one message of each pair where all other parts are empty.
const ALGORITHM: &str = "pairwise";

/// Measures all pairs of `rounds`, of which those of one round at the same time; a rank is in at most one pair of a
/// round. All ranks call this with the same rounds, and all learn everything.
pub fn pairs<T: Transport>(
    communicator: &mut Communicator<T>,
    rounds: &[Vec<(u32, u32)>],
    series: &PairSeries,
) -> Result<PairsMeasured, Fault> {
    let (ranks, own, choice) = (communicator.ranks(), communicator.rank(), communicator.choice().clone());
    let bytes = usize::try_from(series.bytes.get()).unwrap_or(usize::MAX).max(SMALL);
    let mut seen: Vec<Seen> = vec![Seen::default(); ranks as usize];
    let mut memory = Memory { sent: vec![mark(own); bytes], received: vec![0; bytes] };
    for _ in 0..series.repeats.max(1) {
        for round in rounds {
            // Calls of other rounds will not come again for a while, and many would be slow to find.
            communicator.choose(Choice::Named(ALGORITHM.to_owned()));
            communicator.barrier()?;
            let visit = Visit::new(round, ranks, own, bytes);
            let found = visit.run(communicator, &mut memory)?;
            if let Some(seen) = visit.peer().and_then(|peer| seen.get_mut(peer.index())) {
                seen.rates.push(found.bytes_per_s);
                seen.latencies.push(found.latency_s);
                seen.wrong_count += found.wrong_count;
            }
        }
    }
    communicator.choose(choice);
    tell(communicator, &seen)
}

/// What a rank has seen of a peer: of what it sent, and in how much of what came it was wrong.
#[derive(Debug, Clone, Default)]
struct Seen {
    rates: Vec<f64>,
    latencies: Vec<f64>,
    wrong_count: u64,
}

/// What a rank sends, and where it receives.
struct Memory {
    sent: Vec<u8>,
    received: Vec<u8>,
}

/// A round: what all pairs of it do at the same time. Whoever pauses makes the same calls, and has no part in them.
struct Visit {
    own: Rank,
    /// The pair of this rank.
    pair: Option<(Rank, Rank)>,
    small: Message,
    ahead: Message,
    whole: Message,
}

/// One message of each pair, from the one to the other, and from the other to the one: an exchange of all ranks in
/// which all other parts are empty.
struct Message {
    there: Call,
    back: Call,
}

impl Message {
    fn new(round: &[(u32, u32)], ranks: u32, bytes: usize) -> Self {
        let ranks = ranks as usize;
        let call = |is_back: bool| {
            let mut counts = vec![0_u64; ranks * ranks];
            for (one, other) in round {
                let (from, to) = if is_back { (*other, *one) } else { (*one, *other) };
                if let Some(count) = counts.get_mut(from as usize * ranks + to as usize) {
                    *count = bytes as u64;
                }
            }
            Call { counts: Counts::PerPair(Arc::from(counts)), ..Call::bytes(Collective::AllToAll, 0) }
        };
        Self { there: call(false), back: call(true) }
    }
}

struct Found {
    bytes_per_s: f64,
    latency_s: f64,
    wrong_count: u64,
}

impl Visit {
    fn new(round: &[(u32, u32)], ranks: u32, own: Rank, bytes: usize) -> Self {
        let pair = round.iter().map(|(one, other)| (Rank::new(*one), Rank::new(*other)));
        let message = |bytes| Message::new(round, ranks, bytes);
        Self {
            own,
            pair: pair.clone().find(|(one, other)| *one == own || *other == own),
            small: message(SMALL),
            ahead: message((bytes / AHEAD).max(1)),
            whole: message(bytes),
        }
    }

    /// The other one of this rank's pair.
    fn peer(&self) -> Option<Rank> {
        self.pair.map(|(one, other)| if one == self.own { other } else { one })
    }

    /// Whether this rank is the one that begins.
    fn is_one(&self) -> bool {
        self.pair.is_some_and(|(one, _)| one == self.own)
    }

    /// What the pair reaches; of no meaning for a rank without one.
    fn run<T: Transport>(
        &self,
        communicator: &mut Communicator<T>,
        memory: &mut Memory,
    ) -> Result<Found, Fault> {
        let mut trips = Vec::with_capacity(PINGS);
        for _ in 0..PINGS {
            let begun = now();
            memory.play(communicator, &self.small.there)?;
            memory.play(communicator, &self.small.back)?;
            trips.push(begun.elapsed().as_secs_f64());
        }
        // The other one cannot tell when a message was sent that it received.
        let trip_s = self.told(communicator, memory, median(trips.get(1..).unwrap_or_default()))?;
        let there = self.timed(communicator, memory, false, trip_s)?;
        let back = self.timed(communicator, memory, true, trip_s)?;
        let (sent, received) = if self.is_one() { (there, back) } else { (back, there) };
        Ok(Found { bytes_per_s: sent.0, latency_s: trip_s / 2.0, wrong_count: received.1 })
    }

    /// The bytes per second of a message, as its sender sees it: until the receiver has said that it has come, less
    /// what small messages take there and back. The receiver learns how many bytes were wrong.
    fn timed<T: Transport>(
        &self,
        communicator: &mut Communicator<T>,
        memory: &mut Memory,
        is_back: bool,
        trip_s: f64,
    ) -> Result<(f64, u64), Fault> {
        let (ahead, whole) = if is_back {
            (&self.ahead.back, &self.whole.back)
        } else {
            (&self.ahead.there, &self.whole.there)
        };
        let answer = if is_back { &self.small.there } else { &self.small.back };
        let receives = self.pair.is_some() && self.is_one() == is_back;
        if receives {
            memory.received.fill(0);
        }
        memory.play(communicator, ahead)?;
        memory.play(communicator, answer)?;
        let begun = now();
        memory.play(communicator, whole)?;
        memory.play(communicator, answer)?;
        let whole_s = begun.elapsed().as_secs_f64();
        let wrong = self.peer().filter(|_| receives).map_or(0, |from| memory.wrong(from));
        // A trip that was measured long is no reason to take a rate for endless.
        let moving_s = (whole_s - trip_s).max(whole_s / 2.0).max(1e-9);
        Ok((as_float(memory.sent.len()) / moving_s, wrong))
    }

    /// A number that the one tells the other.
    fn told<T: Transport>(
        &self,
        communicator: &mut Communicator<T>,
        memory: &mut Memory,
        number: f64,
    ) -> Result<f64, Fault> {
        memory.sent[..SMALL].copy_from_slice(&number.to_ne_bytes());
        let sent = memory.play(communicator, &self.small.there);
        memory.sent[..SMALL].fill(mark(self.own));
        sent?;
        let mut bytes = [0; SMALL];
        bytes.copy_from_slice(&memory.received[..SMALL]);
        Ok(if self.is_one() { number } else { f64::from_ne_bytes(bytes) })
    }
}

impl Memory {
    fn play<T: Transport>(&mut self, communicator: &mut Communicator<T>, call: &Call) -> Result<(), Fault> {
        let combined = (Element::U8, Reduction::Sum);
        let (input, output) = communicator.lengths(call);
        let (input, output) = (self.sent.get(..input), self.received.get_mut(..output));
        communicator.call(call, combined, input.unwrap_or_default(), output.unwrap_or_default())
    }

    fn wrong(&self, from: Rank) -> u64 {
        self.received.iter().filter(|byte| **byte != mark(from)).count() as u64
    }
}

/// What a rank fills its messages with; never zero, as memory is before.
fn mark(rank: Rank) -> u8 {
    u8::try_from(rank.get() % 251).unwrap_or(0) + 1
}

/// Tells all ranks what each has seen.
fn tell<T: Transport>(communicator: &mut Communicator<T>, seen: &[Seen]) -> Result<PairsMeasured, Fault> {
    let ranks = seen.len();
    let least = |rates: &[f64]| rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
    let row = seen.iter().flat_map(|Seen { rates, latencies, wrong_count }| {
        let wrong = as_float(usize::try_from(*wrong_count).unwrap_or(usize::MAX));
        if rates.is_empty() {
            [f64::NAN; TOLD]
        } else {
            [median(rates), least(rates), most(rates), median(latencies), wrong]
        }
    });
    let row: Vec<f64> = row.collect();
    let mut all = vec![0.0; TOLD * ranks * ranks];
    communicator.all_gather(&row, &mut all)?;
    let cell = |at: usize, told: usize| all.get(TOLD * at + told).copied().unwrap_or(f64::NAN);
    let cells = (0..ranks * ranks).map(|at| {
        let back = at % ranks * ranks + at / ranks;
        let measured = PairMeasured {
            bytes_per_s: cell(at, 0),
            range_bytes_per_s: (cell(at, 1), cell(at, 2)),
            latency_s: cell(at, 3),
            // The receiver has seen it.
            wrong_count: count(cell(back, 4)),
        };
        Some(measured).filter(|measured| measured.bytes_per_s.is_finite())
    });
    Ok(PairsMeasured { ranks, cells: cells.collect() })
}

/// The upper median.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a message stay below 2^53")]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, or no number")]
fn count(number: f64) -> u64 {
    number as u64
}
