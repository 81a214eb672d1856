//! What each rank tells all others of itself: that it lives, for whom it waits, what it does, why it gave up.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::time::Duration;

use weft_collective::Rank;

use super::layout::{FAULT, Layout, PAGE};
use super::mapping::Mapping;
use super::system;
use crate::Fault;

/// Where things are in a rank's block, of which only that rank writes all but the bell.
const STATE: usize = 0;
const PROCESS: usize = 4;
const START: usize = 8;
const PROBE: usize = 16;
const BELL: usize = 64;
/// The processor on which the rank was last seen, plus one; in a line that nobody reads who need not wait.
const PROCESSOR: usize = 128;
const WAITS: usize = 192;
const CALLS: usize = 512;
const CALL_BYTES: usize = 608;
const REASON: usize = 2944;
/// Processors that the rank may use, a bit for each.
const PROCESSORS: usize = 3872;
const PROCESSORS_MOST: usize = 1024;
/// Far from the bell: peers read that at every step and this is written at every step, and what lies near a line that
/// is read may be fetched along with it.
const BEATS: usize = 4032;
/// Calls that are remembered, so that a rank that is ahead can still be compared.
const REMEMBERED: u64 = 4;
/// For how many others a rank says that it waits; more than these would not help to find the one to blame.
const WAITS_MOST: usize = 60;

/// How far a rank has come. The order is that of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Absent = 0,
    Claimed = 1,
    Joined = 2,
    Ready = 3,
    Left = 4,
}

const ASLEEP: u32 = 1;

/// A call as a rank announced it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) signature: u64,
    pub(super) text: String,
}

/// The first pages of the file.
pub(super) struct Board {
    pub(super) memory: Mapping,
    pub(super) layout: Layout,
}

impl Board {
    pub(super) fn new(memory: Mapping, layout: Layout) -> Self {
        Self { memory, layout }
    }

    pub(super) fn ranks(&self) -> usize {
        self.layout.ranks
    }

    fn at(&self, rank: usize, offset: usize) -> usize {
        self.layout.block(rank) + offset
    }

    /// Takes a rank's place; whether it was free.
    pub(super) fn claim(&self, rank: usize) -> bool {
        let state = self.memory.half(self.at(rank, STATE));
        state.compare_exchange(State::Absent as u32, State::Claimed as u32, AcqRel, Acquire).is_ok()
    }

    pub(super) fn enter(&self, rank: usize, state: State) {
        self.memory.half(self.at(rank, STATE)).store(state as u32, Release);
    }

    pub(super) fn state(&self, rank: usize) -> State {
        match self.memory.half(self.at(rank, STATE)).load(Acquire) {
            0 => State::Absent,
            1 => State::Claimed,
            2 => State::Joined,
            3 => State::Ready,
            _ => State::Left,
        }
    }

    /// Says which process a rank is, and where in it lies the number by which it is tried whether others can read it.
    pub(super) fn introduce(&self, rank: usize, process: u32, start: u64, probe: u64) {
        self.memory.half(self.at(rank, PROCESS)).store(process, Relaxed);
        self.memory.word(self.at(rank, START)).store(start, Relaxed);
        self.memory.word(self.at(rank, PROBE)).store(probe, Relaxed);
    }

    pub(super) fn process(&self, rank: usize) -> u32 {
        self.memory.half(self.at(rank, PROCESS)).load(Relaxed)
    }

    pub(super) fn start(&self, rank: usize) -> u64 {
        self.memory.word(self.at(rank, START)).load(Relaxed)
    }

    pub(super) fn probe(&self, rank: usize) -> u64 {
        self.memory.word(self.at(rank, PROBE)).load(Relaxed)
    }

    /// Says which processors a rank may use.
    pub(super) fn set_processors(&self, rank: usize, may_use: impl Fn(usize) -> bool) {
        for word in 0..PROCESSORS_MOST / 64 {
            let bits =
                (0..64).filter(|bit| may_use(word * 64 + bit)).fold(0, |bits, bit| bits | 1_u64 << bit);
            self.memory.word(self.at(rank, PROCESSORS + word * 8)).store(bits, Relaxed);
        }
    }

    /// Says on which processor a rank runs.
    pub(super) fn set_processor(&self, rank: usize, processor: u32) {
        self.memory.half(self.at(rank, PROCESSOR)).store(processor.wrapping_add(1), Relaxed);
    }

    /// On which processor a rank ran when it last said so.
    pub(super) fn processor(&self, rank: usize) -> Option<u32> {
        self.memory.half(self.at(rank, PROCESSOR)).load(Relaxed).checked_sub(1)
    }

    /// How many processors all ranks together may use.
    pub(super) fn processors(&self) -> usize {
        let word = |rank, word: usize| self.memory.word(self.at(rank, PROCESSORS + word * 8)).load(Relaxed);
        let any = |index| (0..self.layout.ranks).fold(0, |bits, rank| bits | word(rank, index));
        (0..PROCESSORS_MOST / 64).map(|index| any(index).count_ones() as usize).sum()
    }

    /// Whether the process of a rank that has joined lives.
    pub(super) fn life(&self, rank: usize) -> system::Life {
        system::life(self.process(rank), self.start(rank))
    }

    /// Says that `reader` can read the memory of `peer` itself.
    pub(super) fn set_reads(&self, reader: usize, peer: usize, reads: bool) {
        self.memory.word(self.at(reader, PAGE + peer * 8)).store(u64::from(reads), Release);
    }

    pub(super) fn reads(&self, reader: usize, peer: usize) -> bool {
        self.memory.word(self.at(reader, PAGE + peer * 8)).load(Acquire) != 0
    }

    fn bell(&self, rank: usize) -> &AtomicU32 {
        self.memory.half(self.at(rank, BELL))
    }

    /// Wakes a rank if it sleeps.
    #[inline]
    pub(super) fn ring(&self, rank: usize) {
        let bell = self.bell(rank);
        if bell.load(Relaxed) == ASLEEP && bell.swap(0, AcqRel) == ASLEEP {
            system::wake(bell);
        }
    }

    pub(super) fn ring_all(&self) {
        (0..self.layout.ranks).for_each(|rank| self.ring(rank));
    }

    /// Sleeps until somebody rings, at most so long, unless `ready`.
    ///
    /// Who rings does not wait for what it wrote to be seen before it looks whether somebody sleeps, as that would
    /// cost each message its time. So who goes to sleep looks again for longer than a write stays unseen; if that
    /// should ever not be enough, it wakes by the clock.
    pub(super) fn sleep(&self, rank: usize, at_most: Duration, mut ready: impl FnMut() -> bool) {
        let bell = self.bell(rank);
        bell.store(ASLEEP, SeqCst);
        for _look in 0..4 {
            if ready() {
                bell.store(0, Relaxed);
                return;
            }
            rustix::thread::sched_yield();
        }
        system::sleep(bell, ASLEEP, at_most);
        bell.store(0, Relaxed);
    }

    /// Shows that a rank lives.
    #[inline]
    pub(super) fn set_beats(&self, rank: usize, beats: u64) {
        self.memory.word(self.at(rank, BEATS)).store(beats, Relaxed);
    }

    pub(super) fn beats(&self, rank: usize) -> u64 {
        self.memory.word(self.at(rank, BEATS)).load(Relaxed)
    }

    /// Says for whom a rank waits.
    pub(super) fn set_waits(&self, rank: usize, on: impl Iterator<Item = usize>) {
        let mut count = 0;
        for peer in on.take(WAITS_MOST) {
            count += 1;
            let number = u32::try_from(peer).unwrap_or(0);
            self.memory.half(self.at(rank, WAITS) + 4 * count).store(number, Relaxed);
        }
        self.memory.half(self.at(rank, WAITS)).store(u32::try_from(count).unwrap_or(0), Release);
    }

    pub(super) fn waits(&self, rank: usize) -> Vec<usize> {
        let count = self.memory.half(self.at(rank, WAITS)).load(Acquire) as usize;
        let peer = |index| self.memory.half(self.at(rank, WAITS) + 4 * index).load(Relaxed) as usize;
        (1..=count.min(WAITS_MOST)).map(peer).filter(|peer| *peer < self.layout.ranks).collect()
    }

    fn call(&self, rank: usize, sequence: u64) -> usize {
        let index = usize::try_from(sequence % REMEMBERED).unwrap_or(0);
        self.at(rank, CALLS + index * CALL_BYTES)
    }

    /// Says what a rank begins as its call of that number, which is at least 1.
    pub(super) fn announce(&self, rank: usize, sequence: u64, signature: u64, text: &str) {
        let at = self.call(rank, sequence);
        let same = self.memory.word(at + 8).load(Relaxed) == signature;
        self.memory.word(at).store(0, Release);
        if !same {
            self.memory.word(at + 8).store(signature, Relaxed);
            self.write_text(at + 16, CALL_BYTES - 16, text);
        }
        self.memory.word(at).store(sequence, Release);
    }

    /// What a rank announced as its call of that number, if it has come so far and not much farther.
    pub(super) fn announced(&self, rank: usize, sequence: u64) -> Option<Call> {
        let at = self.call(rank, sequence);
        if self.memory.word(at).load(Acquire) != sequence {
            return None;
        }
        let signature = self.memory.word(at + 8).load(Relaxed);
        let text = self.read_text(at + 16, CALL_BYTES - 16);
        std::sync::atomic::fence(Acquire);
        (self.memory.word(at).load(Relaxed) == sequence).then_some(Call { signature, text })
    }

    /// Texts are written by words that are atomic, as others may look at any time.
    fn write_text(&self, at: usize, room: usize, text: &str) {
        let mut end = text.len().min(room - 8);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = text.as_bytes().get(..end).unwrap_or_default();
        self.memory.word(at).store(text.len() as u64, Relaxed);
        for (index, part) in text.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.memory.word(at + 8 + index * 8).store(u64::from_ne_bytes(word), Relaxed);
        }
    }

    fn read_text(&self, at: usize, room: usize) -> String {
        let length = usize::try_from(self.memory.word(at).load(Relaxed)).unwrap_or(0).min(room - 8);
        let words = (0..length.div_ceil(8))
            .flat_map(|index| self.memory.word(at + 8 + index * 8).load(Relaxed).to_ne_bytes());
        String::from_utf8_lossy(&words.take(length).collect::<Vec<u8>>()).into_owned()
    }

    /// Says why a rank gives up, and wakes all. Only the first to do so is heard, so that all blame the same.
    pub(super) fn give_up(&self, rank: usize, fault: &Fault) {
        let at = self.at(rank, REASON);
        let mine = u32::try_from(rank).unwrap_or(0) + 1;
        if self.memory.half(FAULT).load(Acquire) != 0 {
            return;
        }
        let (kind, waited, first, second) = parts(fault);
        let blamed = fault.rank().map_or(mine - 1, Rank::get);
        self.memory.half(at).store(kind, Relaxed);
        self.memory.half(at + 4).store(blamed, Relaxed);
        let nanoseconds = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.memory.word(at + 8).store(nanoseconds, Relaxed);
        self.write_text(at + 16, 448, first);
        self.write_text(at + 464, 464, second);
        let _heard = self.memory.half(FAULT).compare_exchange(0, mine, AcqRel, Acquire);
        self.ring_all();
    }

    /// Whether it all ended.
    #[inline]
    pub(super) fn has_fault(&self) -> bool {
        self.memory.half(FAULT).load(Acquire) != 0
    }

    /// Why it all ended, if it did.
    pub(super) fn fault(&self) -> Option<Fault> {
        let teller = self.memory.half(FAULT).load(Acquire).checked_sub(1)?;
        let at = self.at((teller as usize).min(self.layout.ranks - 1), REASON);
        let rank = Rank::new(self.memory.half(at + 4).load(Relaxed));
        let waited = Duration::from_nanos(self.memory.word(at + 8).load(Relaxed));
        let (first, second) = (self.read_text(at + 16, 448), self.read_text(at + 464, 464));
        Some(match self.memory.half(at).load(Relaxed) {
            DEAD => Fault::Dead { rank, how: first },
            SILENT => Fault::Silent { rank, waited, how: first },
            DIFFERS => Fault::Differs { rank, what: "the call", theirs: first, ours: second },
            UNREACHABLE => Fault::Unreachable { rank, how: first },
            _ => Fault::Abandoned { rank, reason: first },
        })
    }
}

const DEAD: u32 = 1;
const SILENT: u32 = 2;
const DIFFERS: u32 = 3;
const UNREACHABLE: u32 = 4;
const ABANDONED: u32 = 5;

/// A fault as it is written down: kind, time and texts. What only concerns the machine of who tells is a reason.
fn parts(fault: &Fault) -> (u32, Duration, &str, &str) {
    match fault {
        Fault::Dead { how, .. } => (DEAD, Duration::ZERO, how, ""),
        Fault::Silent { waited, how, .. } => (SILENT, *waited, how, ""),
        Fault::Differs { theirs, ours, .. } => (DIFFERS, Duration::ZERO, theirs, ours),
        Fault::Unreachable { how, .. } => (UNREACHABLE, Duration::ZERO, how, ""),
        Fault::Lacking { how, .. } => (ABANDONED, Duration::ZERO, how, ""),
        Fault::Abandoned { reason, .. } => (ABANDONED, Duration::ZERO, reason, ""),
        Fault::LeftOut { how, .. } => (ABANDONED, Duration::ZERO, how, ""),
    }
}
