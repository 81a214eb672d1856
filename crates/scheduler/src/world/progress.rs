//! How far a job is: what is done, what of it is saved, when it will be finished. Exact, so that it does not matter into
//! how many pieces time is cut.

use weft_base::Period;

use super::setup::Saves;

/// Full speed, in parts per million.
pub const FULL_SPEED: u64 = 1_000_000;

/// Work in millionths of a millisecond at full speed with all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    total: u64,
    /// Done and saved.
    saved: u64,
    /// Done since the last checkpoint.
    fresh: u64,
    /// Done and lost, ever.
    lost: u64,
    saves: Option<Saves>,
    /// Time since the last checkpoint: work first, then the next checkpoint.
    at: u64,
}

/// What a time went into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    /// Work.
    pub worked: Period,
    /// Checkpoints.
    pub saving: Period,
}

impl Progress {
    pub fn new(work: Period, saves: Option<Saves>) -> Self {
        let total = work.get().saturating_mul(FULL_SPEED);
        let saves = saves.filter(|saves| saves.interval > Period::ZERO);
        Self { total, saved: 0, fresh: 0, lost: 0, saves, at: 0 }
    }

    /// Goes on for that time at that speed, in parts per million.
    pub fn advance(&mut self, time: Period, speed_ppm: u64) -> Step {
        let Some(saves) = self.saves else {
            self.gain(time.get(), speed_ppm);
            return Step { worked: time, saving: Period::ZERO };
        };
        let (interval, cycle) = (saves.interval.get(), (saves.interval + saves.cost).get());
        let mut left = time.get();
        let mut worked = 0;
        // To the end of this interval and its checkpoint at most, through whole ones, and into the last.
        let end = cycle.min(self.at + left);
        worked += self.work_until(end, interval, speed_ppm);
        left -= end - self.at;
        self.at = end;
        if self.at == cycle {
            self.save();
            let whole = left / cycle;
            worked += whole * interval;
            self.gain(whole * interval, speed_ppm);
            self.save();
            worked += self.work_until(left % cycle, interval, speed_ppm);
            self.at = left % cycle;
        }
        Step { worked: Period::milliseconds(worked), saving: Period::milliseconds(time.get() - worked) }
    }

    fn work_until(&mut self, end: u64, interval: u64, speed_ppm: u64) -> u64 {
        let worked = end.min(interval) - self.at.min(interval);
        self.gain(worked, speed_ppm);
        worked
    }

    fn gain(&mut self, time: u64, speed_ppm: u64) {
        self.fresh = self.fresh.saturating_add(time.saturating_mul(speed_ppm)).min(self.total - self.saved);
    }

    /// How long it still takes at that speed, checkpoints included; never, at none.
    pub fn remaining(&self, speed_ppm: u64) -> Option<Period> {
        let left = self.total - self.saved - self.fresh;
        if left == 0 {
            return Some(Period::ZERO);
        }
        let work = left.checked_add(speed_ppm.checked_sub(1)?)?.checked_div(speed_ppm)?;
        let Some(saves) = self.saves else { return Some(Period::milliseconds(work)) };
        let (interval, cost) = (saves.interval.get(), saves.cost.get());
        let with_saves = |work: u64| work + (work - 1) / interval * cost;
        let before = interval.saturating_sub(self.at);
        let time = if before == 0 {
            interval + cost - self.at + with_saves(work)
        } else if work <= before {
            work
        } else {
            before + cost + with_saves(work - before)
        };
        Some(Period::milliseconds(time))
    }

    /// Saves what is done.
    pub fn save(&mut self) {
        self.saved += self.fresh;
        (self.fresh, self.at) = (0, 0);
    }

    /// Falls back to the last checkpoint; gives what is lost.
    pub fn fall_back(&mut self) -> Period {
        self.lost += self.fresh;
        let lost = Period::milliseconds(self.fresh / FULL_SPEED);
        (self.fresh, self.at) = (0, 0);
        lost
    }

    /// What was done and not lost, in millionths of a millisecond.
    pub fn kept(&self) -> u64 {
        self.saved + self.fresh
    }

    /// What was lost, in millionths of a millisecond.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The share of the work that need not be done again.
    #[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
    pub fn saved_share(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.saved as f64 / self.total as f64 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(count: u64) -> Period {
        Period::milliseconds(count)
    }

    fn saves(interval: u64, cost: u64) -> Saves {
        Saves { interval: ms(interval), cost: ms(cost) }
    }

    #[test]
    fn checkpoints_add_to_the_time_and_limit_what_is_lost() {
        // 250 ms of work, a checkpoint of 10 ms after 100 and after 200: 270 ms.
        let mut progress = Progress::new(ms(250), Some(saves(100, 10)));
        assert_eq!(progress.remaining(FULL_SPEED), Some(ms(270)));
        // At half speed 500 ms of work and four checkpoints.
        assert_eq!(progress.remaining(FULL_SPEED / 2), Some(ms(540)));
        // After 105 ms: 100 are done, and the checkpoint is not finished, so all would be lost.
        assert_eq!(progress.advance(ms(105), FULL_SPEED), Step { worked: ms(100), saving: ms(5) });
        assert_eq!(progress.clone().fall_back(), ms(100));
        // After 130: 100 saved, 20 on top.
        progress.advance(ms(25), FULL_SPEED);
        assert_eq!(progress.remaining(FULL_SPEED), Some(ms(140)));
        assert_eq!(progress.fall_back(), ms(20));
        // 150 left, one checkpoint on the way.
        assert_eq!(progress.remaining(FULL_SPEED), Some(ms(160)));
    }

    #[test]
    fn work_that_ends_with_an_interval_needs_no_further_checkpoint() {
        assert_eq!(Progress::new(ms(200), Some(saves(100, 10))).remaining(FULL_SPEED), Some(ms(210)));
        assert_eq!(Progress::new(ms(0), Some(saves(100, 10))).remaining(FULL_SPEED), Some(ms(0)));
        assert_eq!(Progress::new(ms(5), None).remaining(0), None);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_time_is_cut(
            work in 1..5000_u64, interval in 1..400_u64, cost in 0..50_u64, speed in 1..=FULL_SPEED,
            cuts in prop::collection::vec(1..700_u64, 1..9),
        ) {
            let mut pieces = Progress::new(ms(work), Some(saves(interval, cost)));
            let mut whole = pieces;
            let time = cuts.iter().sum::<u64>().min(pieces.remaining(speed).unwrap().get());
            let mut left = time;
            let mut steps = (0, 0);
            for cut in cuts {
                let cut = cut.min(left);
                left -= cut;
                let step = pieces.advance(ms(cut), speed);
                steps = (steps.0 + step.worked.get(), steps.1 + step.saving.get());
            }
            let step = whole.advance(ms(time), speed);
            prop_assert_eq!((steps.0, steps.1), (step.worked.get(), step.saving.get()));
            prop_assert_eq!(pieces, whole);
            prop_assert_eq!(steps.0 + steps.1, time);
            // What remains is over when it says so, and not earlier.
            let rest = whole.remaining(speed).unwrap();
            if rest > Period::ZERO {
                let mut almost = whole;
                almost.advance(rest - ms(1), speed);
                prop_assert!(almost.remaining(speed).unwrap() > Period::ZERO);
            }
            whole.advance(rest, speed);
            prop_assert_eq!(whole.remaining(speed), Some(Period::ZERO));
            prop_assert_eq!(whole.kept(), work * FULL_SPEED);
        }
    }
}
