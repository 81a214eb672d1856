//! Worlds from seeds: random clusters, jobs, faults and slow answers, under a policy that means no good and under the real
//! ones. After every event the books have to balance, and no job may be forgotten.
//!
//! More of them than a test run has time for: `cargo test -p weft-scheduler --test swarm -- --ignored`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail a test")]

mod hostile;
mod make;

use std::panic::catch_unwind;

use weft_base::Moment;
use weft_scheduler::book::Book;
use weft_scheduler::policy::End;
use weft_scheduler::world::{Fate, GpuTime, Record, World};

use hostile::{Hostile, fitting};

/// Seeds that failed once: number, and what it was.
const KEPT: &str = include_str!("../swarm_seeds.txt");

/// Steps after which a small world that is not over has lost its way.
const STEPS_MOST: usize = 200_000;

fn audit(book: &Book) {
    if let Err(unbalanced) = book.audit() {
        panic!("{unbalanced}");
    }
}

/// Plays one world under the hostile policy.
fn play(seed: u64) {
    let made = make::world(seed);
    let mut setup = made.setup;
    setup.after_event = Some(audit);
    let works: Vec<_> = setup.loads.iter().map(|load| (load.job.submitted, load.work)).collect();
    let mut world = World::new(made.book, Box::new(Hostile::new(seed)), setup);
    let mut steps = 0;
    while world.step().is_some() {
        if let Err(why) = world.check() {
            panic!("{why}");
        }
        steps += 1;
        assert!(steps < STEPS_MOST, "the world does not come to an end");
    }
    audit(world.book());
    let waiting: Vec<_> = world.book().jobs().map(|(id, _)| fitting(world.book(), id)).collect();
    let record = world.finish();
    assert_eq!(record.jobs.len(), works.len(), "jobs are lost");
    judge(&record);
    for (job, fits) in record.jobs.iter().zip(waiting) {
        if let Fate::Waits(why) = &job.fate {
            assert!(!why.is_empty(), "{} waits for no reason", job.name);
            assert!(fits.is_none(), "{} waits though it fits: {fits:?}", job.name);
        }
    }
}

/// What must hold of every run.
fn judge(record: &Record) {
    let held: GpuTime = record.jobs.iter().map(|job| job.spent.held()).sum();
    assert_eq!(held, record.totals.areas.allocated, "GPU time is lost");
    for job in &record.jobs {
        assert_ne!(job.fate, Fate::On, "{} never ended", job.name);
        if job.fate == Fate::Ended(End::Done) {
            assert_eq!(
                job.spent.kept,
                GpuTime::of(job.gpu_milli, job.work),
                "{} did not do its work",
                job.name
            );
            assert!(job.start_count > 0 && job.started.is_some());
        }
        let whole = job.ended.unwrap_or(record.ended) - job.submitted;
        assert!(job.waiting + job.running <= whole, "{} has more time than there was", job.name);
        let stays = job.stays.windows(2).all(|pair| pair[0].until <= pair[1].from);
        assert!(
            stays && job.stays.iter().all(|stay| stay.from <= stay.until),
            "{} is in two places",
            job.name
        );
    }
    let times: Vec<Moment> = record.samples.iter().map(|sample| sample.at).collect();
    assert!(times.is_sorted());
}

/// Plays many; gives those that failed, with what they said.
fn swarm(seeds: impl Iterator<Item = u64>) {
    let failed: Vec<u64> = seeds.filter(|seed| catch_unwind(|| play(*seed)).is_err()).collect();
    assert!(failed.is_empty(), "seeds that failed, to be kept in tests/swarm_seeds.txt: {failed:?}");
}

#[test]
fn books_balance_in_worlds_that_failed_once() {
    let kept = KEPT.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
    swarm(kept);
}

#[test]
fn books_balance_in_small_worlds() {
    swarm(0..3_000);
}

#[test]
#[ignore = "takes as long as it is let"]
fn books_balance_in_many_more_worlds() {
    swarm(10_000..200_000);
}
