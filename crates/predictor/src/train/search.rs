//! The best layouts of a run: every one that fits is priced, unless what it computes alone already takes longer than
//! those that were found.

use weft_workload::{Layout, Memory, Space};

use super::{Pricer, StepTime, TrainError};

/// A layout with what it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The layout.
    pub layout: Layout,
    /// Its step.
    pub time: StepTime,
    /// What one GPU keeps.
    pub memory: Memory,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The best, first the fastest.
    pub best: Vec<Candidate>,
    /// Layouts that were looked at.
    pub layout_count: u64,
    /// Those that fit in memory.
    pub fitting_count: u64,
    /// Those of them that were priced to the end.
    pub priced_count: u64,
    /// Those of them that the network cannot carry.
    pub cut_count: u64,
    /// Why, of the first of these.
    pub cut: Option<String>,
    /// The one that needs least memory, where none fits.
    pub nearest: Option<(Layout, Memory)>,
}

/// How a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// How many of the best are kept.
    pub keep: usize,
    /// Whether layouts are given up early; the best are the same either way.
    pub prune: bool,
}

impl Search {
    /// Looks through `space`; `notice` hears of each layout's number from time to time.
    pub fn run(
        self,
        pricer: &Pricer<'_>,
        space: &Space<'_>,
        mut notice: impl FnMut(u64),
    ) -> Result<Found, TrainError> {
        let capacity = pricer.site().gpu_bytes();
        let mut found = Found::default();
        for layout in space.layouts() {
            found.layout_count += 1;
            if found.layout_count.is_multiple_of(1 << 12) {
                notice(found.layout_count);
            }
            let memory = Memory::of(&pricer.training(&layout));
            if memory.total() > capacity {
                found.note_nearest(layout, memory);
                continue;
            }
            found.fitting_count += 1;
            let worst = found.worst(self.keep).filter(|_| self.prune);
            match priced(pricer, &layout, worst) {
                Ok(None) => {}
                Ok(Some(time)) => {
                    found.priced_count += 1;
                    found.keep(Candidate { layout, time, memory }, self.keep);
                }
                Err(error @ TrainError::CrossesRails { .. }) => {
                    found.cut_count += 1;
                    found.cut.get_or_insert_with(|| error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

/// The step of a layout; nothing where it takes more than `worst` in any case.
fn priced(pricer: &Pricer<'_>, layout: &Layout, worst: Option<f64>) -> Result<Option<StepTime>, TrainError> {
    if let Some(worst) = worst
        && pricer.at_least_s(layout)? > worst
    {
        return Ok(None);
    }
    pricer.step(layout).map(Some)
}

impl Found {
    fn note_nearest(&mut self, layout: Layout, memory: Memory) {
        if self.nearest.as_ref().is_none_or(|(_, least)| memory.total() < least.total()) {
            self.nearest = Some((layout, memory));
        }
    }

    /// The time that a layout must stay below to be kept.
    fn worst(&self, keep: usize) -> Option<f64> {
        (self.best.len() >= keep).then(|| self.best.last().map(|last| last.time.seconds)).flatten()
    }

    /// In order of time; among equals the first in the order of layouts.
    fn keep(&mut self, candidate: Candidate, keep: usize) {
        let at = self.best.partition_point(|known| known.time.seconds <= candidate.time.seconds);
        if at < keep {
            self.best.insert(at, candidate);
            self.best.truncate(keep);
        }
    }
}
