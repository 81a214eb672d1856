//! Plays a scenario.

use super::{Pace, Scenario};
use crate::book::Book;
use crate::contention::Contention;
use crate::planner::Planner;
use crate::strategies::Strategy;
use crate::world::{ByLevel, Ideal, Record, Setup, Speed, Stories, World};

/// Points of a plot over time.
const SAMPLES: usize = 400;

impl Scenario {
    /// Plays it under a policy, and keeps the stories of the jobs that are asked for.
    pub fn play(&self, strategy: &'static Strategy, stories: Stories) -> Record {
        let book = Book::new(self.cluster.clone(), self.queues.clone());
        let speed: Box<dyn Speed> = match self.pace {
            Pace::Full => Box::new(Ideal),
            Pace::ByLevel(table) => Box::new(ByLevel::of(table)),
            Pace::Uplinks(uplinks) => Box::new(Contention::new(uplinks)),
        };
        let setup = Setup {
            loads: self.loads.clone(),
            faults: self.faults.clone(),
            latencies: self.latencies,
            chances: self.chances,
            speed,
            enforces_limits: self.kills_at_limit,
            stories,
            sample_count: SAMPLES,
            until: self.until,
            seed: self.seed,
            ..Setup::default()
        };
        World::new(book, Box::new(Planner::new(strategy, self.seed)), setup).run()
    }

    /// The row from which a job comes: its name without the number that several of one row have.
    pub fn row_of<'j>(&self, job: &'j str) -> &'j str {
        let stem = job.rsplit_once('-').map(|(stem, _)| stem);
        stem.filter(|stem| self.several.iter().any(|name| name == stem)).unwrap_or(job)
    }

    /// The group of nodes to which a node belongs.
    pub fn group_of<'n>(&self, node: &'n str) -> &'n str {
        node.rsplit_once('-').map_or(node, |(group, _)| group)
    }
}
