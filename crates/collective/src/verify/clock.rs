//! What must have happened before what: vector clocks over the steps of all threads.
//!
//! A clock has a number for each thread: 2 s for "its first s steps are over", 2 s + 1 for "and the next one has
//! begun". One access is before another exactly if the clock at the start of the second one's step says that the
//! first one's step is over, with one exception: a send is over when it has arrived, so where it is the only
//! operation of its step, its message tells that the step is over.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::place::{Block, Place};
use super::space::Space;
use super::survey::Key;
use super::violation::Violation;
use crate::Rank;

#[derive(Debug, Clone, Default)]
struct Cell {
    write: Option<Place>,
    /// The last read of each thread since the last write.
    reads: Vec<Place>,
}

/// The clocks of all threads, and who was last at each block and each queue.
#[derive(Debug)]
pub(super) struct Clocks<'s> {
    space: &'s Space<'s>,
    threads: Vec<Known>,
    /// Clocks at the ends of steps for which others wait, and how often they still will.
    ends: BTreeMap<(usize, u32), Awaited>,
    cells: Vec<Cell>,
    queues: BTreeMap<(Key, bool), Place>,
}

/// A clock, and how often it will still be asked for.
type Awaited = (Rc<[u32]>, u32);

#[derive(Debug)]
struct Known {
    /// At the start of the current step.
    start: Rc<[u32]>,
    /// What the messages of the current step tell.
    told: Rc<[u32]>,
    /// At its end, as far as it is known.
    end: Vec<u32>,
}

impl<'s> Clocks<'s> {
    pub fn new(space: &'s Space<'s>, cells: bool) -> Self {
        let zero: Rc<[u32]> = vec![0; space.walkers()].into();
        let known = || Known { start: zero.clone(), told: zero.clone(), end: zero.to_vec() };
        let cells = if cells { space.cells() * space.ranks as usize } else { 0 };
        Self {
            space,
            threads: std::iter::repeat_with(known).take(space.walkers()).collect(),
            ends: BTreeMap::new(),
            cells: vec![Cell::default(); cells],
            queues: BTreeMap::new(),
        }
    }

    /// A thread begins a step, of one operation or of several.
    pub fn begin(&mut self, walker: usize, step: u32, alone: bool) {
        let Some(known) = self.threads.get_mut(walker) else { return };
        set(&mut known.end, walker, 2 * step + 1);
        known.start = Rc::from(known.end.as_slice());
        known.told = known.start.clone();
        if alone {
            set(&mut known.end, walker, 2 * step + 2);
            known.told = Rc::from(known.end.as_slice());
        }
    }

    /// A thread has ended so many steps, for which others wait so often.
    pub fn end(&mut self, walker: usize, steps: u32, awaited: u32) {
        let Some(known) = self.threads.get_mut(walker) else { return };
        set(&mut known.end, walker, 2 * steps);
        if awaited > 0 {
            self.ends.insert((walker, steps), (Rc::from(known.end.as_slice()), awaited));
        }
    }

    /// What a message of the current step tells.
    pub fn given(&self, walker: usize) -> Option<Rc<[u32]>> {
        self.threads.get(walker).map(|known| known.told.clone())
    }

    /// A thread hears of something before its current step is over.
    pub fn hear(&mut self, walker: usize, clock: &[u32]) {
        let Some(known) = self.threads.get_mut(walker) else { return };
        for (known, heard) in known.end.iter_mut().zip(clock) {
            *known = (*known).max(*heard);
        }
    }

    /// A thread has waited for so many steps of another one.
    pub fn awaited(&mut self, walker: usize, watched: usize, steps: u32) {
        let Some((clock, waits)) = self.ends.get_mut(&(watched, steps)) else { return };
        let clock = clock.clone();
        *waits -= 1;
        if *waits == 0 {
            self.ends.remove(&(watched, steps));
        }
        self.hear(walker, &clock);
    }

    /// Whether the step of `first` is over before that of `second`, the current one of its thread, begins.
    fn ordered(&self, first: Place, second: Place) -> bool {
        let walker = |at: Place| at.rank.index() * usize::from(self.space.threads) + usize::from(at.thread);
        let known = self.threads.get(walker(second)).and_then(|known| known.start.get(walker(first)));
        walker(first) == walker(second) || known.is_some_and(|known| *known >= 2 * first.step + 2)
    }

    /// An operation reads or writes a cell.
    pub fn touch(&mut self, at: Place, index: usize, block: Block, writes: bool) -> Result<(), Violation> {
        let Some(cell) = self.cells.get(index) else { return Ok(()) };
        let reads = if writes { cell.reads.as_slice() } else { &[] };
        let first = cell.write.iter().chain(reads).find(|first| !self.ordered(**first, at));
        if let Some(first) = first {
            return Err(Violation::Race { first: *first, second: at, block });
        }
        if let Some(cell) = self.cells.get_mut(index) {
            if writes {
                *cell = Cell { write: Some(at), reads: Vec::new() };
            } else {
                cell.reads.retain(|read| read.thread != at.thread);
                cell.reads.push(at);
            }
        }
        Ok(())
    }

    /// An operation uses one end of a queue.
    pub fn order(&mut self, key: Key, takes: bool, at: Place) -> Result<(), Violation> {
        match self.queues.insert((key, takes), at) {
            Some(first) if !self.ordered(first, at) => Err(Violation::Ambiguous { first, second: at }),
            Some(_) | None => Ok(()),
        }
    }

    /// A rank of which `rank` has not heard when it is through.
    pub fn unheard(&self, rank: Rank) -> Option<Rank> {
        let threads = usize::from(self.space.threads);
        let own = |rank: Rank| rank.index() * threads..(rank.index() + 1) * threads;
        let knows = |of: Rank| {
            self.threads
                .get(own(rank))
                .into_iter()
                .flatten()
                .any(|known| known.end.get(own(of)).into_iter().flatten().any(|known| *known > 0))
        };
        (0..self.space.ranks).map(Rank::new).find(|of| *of != rank && !knows(*of))
    }
}

fn set(clock: &mut [u32], walker: usize, to: u32) {
    if let Some(own) = clock.get_mut(walker) {
        *own = to;
    }
}
