//! A planner that is checked while it works: what it decides is what one would decide that knows only the book.

use weft_base::{Moment, Period};
use weft_scheduler::book::Book;
use weft_scheduler::job::JobId;
use weft_scheduler::planner::Planner;
use weft_scheduler::policy::{Budget, Change, Policy, Reason};
use weft_scheduler::strategies::Strategy;

pub struct Planned {
    planner: Planner,
    strategy: &'static Strategy,
    seed: u64,
    asked_count: u64,
    /// Whether it must never be refused, and decide as if it was made anew.
    is_strict: bool,
}

impl Planned {
    pub fn new(strategy: &'static Strategy, seed: u64, is_strict: bool) -> Self {
        Self { planner: Planner::new(strategy, seed), strategy, seed, asked_count: 0, is_strict }
    }
}

impl Policy for Planned {
    fn observe(&mut self, book: &Book, change: Change) {
        self.planner.observe(book, change);
    }

    fn decide(&mut self, book: &mut Book, now: Moment, budget: Budget) {
        self.asked_count += 1;
        // Lots fall otherwise for one that has drawn none yet.
        let is_checked =
            self.is_strict && self.asked_count % 5 == self.seed % 5 && self.strategy.name != "random";
        let mut other = is_checked.then(|| book.clone());
        if let Some(other) = &mut other {
            let mut rebuilt = Planner::rebuilt(self.strategy, self.seed, other);
            rebuilt.decide(other, now, budget);
        }
        self.planner.decide(book, now, budget);
        let is_right = !self.is_strict || self.planner.refused().is_empty();
        assert!(is_right, "the book refused {:?}", self.planner.refused());
        if let Err(unbalanced) = book.audit() {
            panic!("after decisions: {unbalanced}");
        }
        if let Some(other) = other {
            for ((job, entry), (_, known)) in book.jobs().zip(other.jobs()) {
                assert_eq!(entry, known, "{job:?}: one that is made anew decides otherwise");
            }
        }
    }

    fn why(&mut self, book: &Book, job: JobId) -> Vec<Reason> {
        self.planner.why(book, job)
    }

    fn again(&self) -> Option<Period> {
        self.planner.again()
    }
}
