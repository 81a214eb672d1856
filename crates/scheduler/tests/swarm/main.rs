//! Worlds from seeds: random clusters, jobs, faults and slow answers, under a policy that means no good and under the real
//! ones. After every event the books have to balance, and no job may be forgotten.
//!
//! More of them than a test run has time for: `cargo test -p weft-scheduler --test swarm -- --ignored`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail a test")]

mod hostile;
mod make;
mod planned;

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use weft_base::Moment;
use weft_scheduler::book::Book;
use weft_scheduler::policy::{Act, End, Policy};
use weft_scheduler::strategies::STRATEGIES;
use weft_scheduler::world::{Fate, GpuTime, Record, World};

use hostile::{Hostile, fitting};
use planned::Planned;

/// Seeds that failed once: number, and what it was.
const KEPT: &str = include_str!("../swarm_seeds.txt");

/// Worlds that are always played.
const WORLDS: u64 = 10_000;

/// Steps after which a small world that is not over has lost its way.
const STEPS_MOST: usize = 200_000;

fn audit(book: &Book) {
    if let Err(unbalanced) = book.audit() {
        panic!("{unbalanced}");
    }
}

/// How much is asked of a policy beyond that nothing is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// Nothing.
    None,
    /// Whoever still waits at the end has a reason.
    Reasons,
    /// The same, and it could not start either.
    Starts,
}

/// Plays one world under a policy.
fn play(seed: u64, policy: Box<dyn Policy>, demand: Demand) -> (Vec<&'static str>, Record) {
    let made = make::world(seed);
    let mut setup = made.setup;
    setup.after_event = Some(audit);
    let count = setup.loads.len();
    let mut world = World::new(made.book.keeping_decisions(), policy, setup);
    let mut steps = 0;
    while world.step().is_some() {
        if let Err(why) = world.check() {
            panic!("{why}");
        }
        steps += 1;
        assert!(steps < STEPS_MOST, "the world does not come to an end");
    }
    audit(world.book());
    let acts = world.book().decisions().iter().map(|decision| word(&decision.act)).collect();
    let waiting: Vec<_> = world.book().jobs().map(|(id, _)| fitting(world.book(), id)).collect();
    let record = world.finish();
    assert_eq!(record.jobs.len(), count, "jobs are lost");
    judge(&record);
    for (job, fits) in record.jobs.iter().zip(waiting) {
        if let Fate::Waits(why) = &job.fate {
            assert!(!why.is_empty() || demand == Demand::None, "{} waits for no reason ({fits:?})", job.name);
            assert!(
                fits.is_none() || demand != Demand::Starts,
                "{} waits though it fits: {fits:?}",
                job.name
            );
        }
    }
    (acts, record)
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

/// What happened in many worlds, so that it is seen if nothing did.
#[derive(Debug, Default)]
struct Counts {
    acts: BTreeMap<&'static str, usize>,
    done: usize,
    put_out: u32,
    broken: u32,
    refused: u32,
    crossed: usize,
    lost: GpuTime,
}

impl Counts {
    fn add(&mut self, acts: &[&'static str], record: &Record) {
        for act in acts {
            *self.acts.entry(act).or_default() += 1;
        }
        let totals = &record.totals;
        self.done += totals.done_count;
        self.put_out += totals.put_out_count;
        self.broken += totals.broken_count;
        self.refused += totals.conflict_count;
        self.crossed += totals.cross_leaf_count;
        self.lost += totals.spent.lost;
    }
}

fn word(act: &Act) -> &'static str {
    match act {
        Act::Start(..) => "start",
        Act::Transact { .. } => "transact",
        Act::Replace(..) => "replace",
        Act::Shrink(_) => "shrink",
        Act::Grow(..) => "grow",
        Act::Requeue(_) => "requeue",
        Act::Reserve(_) | Act::Unreserve => "reserve",
        Act::Drain(_) => "drain",
    }
}

/// Plays many under the hostile policy, and names those that failed.
fn swarm(seeds: impl Iterator<Item = u64>) -> Counts {
    let mut counts = Counts::default();
    let failed: Vec<u64> = seeds
        .filter(|seed| {
            let played = || play(*seed, Box::new(Hostile::new(*seed)), Demand::Starts);
            let result = catch_unwind(played);
            if let Ok((acts, record)) = &result {
                counts.add(acts, record);
            }
            result.is_err()
        })
        .collect();
    assert!(failed.is_empty(), "seeds that failed, to be kept in tests/swarm_seeds.txt: {failed:?}");
    counts
}

/// Plays many under strategies in turn.
fn planned(seeds: impl Iterator<Item = u64>, is_strict: bool) {
    let demand = if is_strict { Demand::Reasons } else { Demand::None };
    let fails = |seed: &u64| {
        let strategy = &STRATEGIES[usize::try_from(*seed).unwrap() % STRATEGIES.len()];
        catch_unwind(|| play(*seed, Box::new(Planned::new(strategy, *seed, is_strict)), demand)).is_err()
    };
    let failed: Vec<u64> = seeds.filter(fails).collect();
    assert!(failed.is_empty(), "seeds that failed, to be kept in tests/swarm_seeds.txt: {failed:?}");
}

#[test]
fn books_balance_in_worlds_that_failed_once() {
    let kept = || KEPT.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
    swarm(kept());
    planned(kept(), false);
}

#[test]
fn books_balance_in_small_worlds() {
    let counts = swarm(0..WORLDS);
    println!("{counts:?}");
    // A swarm to which nothing happens finds nothing.
    for (act, least) in
        [("transact", 2), ("replace", 4), ("shrink", 50), ("grow", 4), ("requeue", 4), ("drain", 10)]
    {
        let count = counts.acts.get(act).copied().unwrap_or_default();
        assert!(count > usize::try_from(WORLDS).unwrap() / least, "{act}: only {count}");
    }
    assert!(counts.put_out > 5_000 && counts.broken > 5_000 && counts.refused > 5_000, "{counts:?}");
    assert!(counts.lost.as_hours() > 1_000.0 && counts.crossed > 1_000, "{counts:?}");
}

#[test]
fn nothing_is_lost_under_any_strategy() {
    planned(0..WORLDS, false);
}

#[test]
#[ignore = "issue 9: planners are sometimes refused, wait without a reason, or decide otherwise when made anew"]
fn strategies_are_never_refused_and_depend_on_the_book_alone() {
    planned(0..WORLDS, true);
}

#[test]
#[ignore = "takes as long as it is let"]
fn books_balance_in_many_more_worlds() {
    swarm(WORLDS..20 * WORLDS);
    planned(WORLDS..20 * WORLDS, false);
}
