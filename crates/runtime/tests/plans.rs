//! Every algorithm with real data: by the player over a network that misbehaves, by the reference, and by definition.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests may fail")]

mod common;

use std::collections::BTreeSet;

use common::network::{Behaviour, Ended, played};
use common::{Buffers, Draws, calls, expected::expected, filled, reference};
use weft_collective::{ALGORITHMS, Algorithm, Call, Plan, Rank, Terrain};
use weft_runtime::{Element, Reduction};

/// Flat, and hosts of every size that divides the ranks.
fn terrains(ranks: u32) -> Vec<Terrain> {
    let able = weft_collective::Switch { reduces: false, multicasts: false };
    let sizes = (1..=ranks).filter(|size| ranks.is_multiple_of(*size));
    let hosts = sizes.map(|size| Terrain::switched(ranks / size, size, (able, 9), (able, 1)));
    std::iter::once(Terrain::flat(ranks)).chain(hosts).collect()
}

/// All plans of an algorithm on so many ranks.
fn plans(algorithm: &dyn Algorithm, ranks: u32, element: Element) -> Vec<(Plan, Call)> {
    let mut plans = Vec::new();
    for terrain in terrains(ranks) {
        for collective in algorithm.collectives() {
            for call in calls(*collective, ranks, element) {
                let suits = |terrain: &Terrain| algorithm.suits(&call, terrain).is_ok();
                // What needs no hosts has the same plan with them.
                if suits(&terrain) && (terrain.levels().is_empty() || !suits(&Terrain::flat(ranks))) {
                    plans.push((algorithm.plan(&call, &terrain), call));
                }
            }
        }
    }
    plans
}

fn add_singles(first: &[u8], second: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| f32::from_ne_bytes(bytes.try_into().unwrap());
    (number(first) + number(second)).to_ne_bytes().to_vec()
}

fn add_integers(first: &[u8], second: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().unwrap());
    number(first).wrapping_add(number(second)).to_ne_bytes().to_vec()
}

fn whole(ended: Ended, what: &str) -> Vec<Buffers> {
    match ended {
        Ended::Whole(buffers) => buffers,
        Ended::Stuck(waits) => panic!("{what}: stuck, {waits:?}"),
    }
}

/// The bytes of ranks whose result is defined.
fn defined(plan: &Plan, call: &Call, before: &[Buffers], after: &[Buffers]) -> Vec<Vec<u8>> {
    let of = |rank: u32| {
        let ranges = expected(plan, call, before, Rank::new(rank));
        let output = &after[rank as usize].output;
        ranges.iter().flat_map(|(at, bytes)| output[*at..*at + bytes.len()].to_vec()).collect()
    };
    (0..plan.ranks).map(of).collect()
}

fn behaviours() -> [Behaviour; 4] {
    let plain = Behaviour { room: 1 << 20, delay: 0, part: 1 << 20, death: None };
    [
        plain,
        // Nothing is under way that nobody asks for: no plan may count on being buffered.
        Behaviour { room: 0, delay: 3, ..plain },
        Behaviour { room: 64, delay: 9, part: 24, death: None },
        Behaviour { room: 4096, delay: 100, part: 700, death: None },
    ]
}

#[test]
fn every_algorithm_gives_what_its_plan_says_bit_by_bit_and_what_the_collective_means() {
    let mut draws = Draws(1);
    let mut played_plans = 0;
    for (algorithm, ranks) in ALGORITHMS.iter().flat_map(|entry| (1..=8).map(|ranks| (*entry, ranks))) {
        for (element, add) in
            [(Element::I32, add_integers as fn(&[u8], &[u8]) -> Vec<u8>), (Element::F32, add_singles)]
        {
            for (plan, call) in plans(algorithm, ranks, element) {
                let before = filled(&plan, &call, element, &mut draws);
                let what = format!("{} on {ranks}: {call:?}", algorithm.name());
                let right = reference::played(&plan, &call, before.clone(), add);
                for rank in (0..ranks).map(Rank::new).filter(|_| element == Element::I32) {
                    for (at, bytes) in expected(&plan, &call, &before, rank) {
                        assert_eq!(
                            right[rank.index()].output[at..at + bytes.len()],
                            bytes,
                            "{what}, rank {rank}"
                        );
                    }
                }
                let behaviour = behaviours()[draws.below(4)];
                let seed = draws.next();
                let ended =
                    played(&plan, &call, (element, Reduction::Sum), before.clone(), (behaviour, seed));
                let after = whole(ended, &format!("{what}, {behaviour:?}, seed {seed}"));
                assert_eq!(
                    defined(&plan, &call, &before, &after),
                    defined(&plan, &call, &before, &right),
                    "{what}, {behaviour:?}, seed {seed}"
                );
                played_plans += 1;
            }
        }
    }
    println!("{played_plans} plans played");
    assert!(played_plans > 5000);
}

#[test]
fn no_plan_counts_on_messages_being_buffered() {
    let mut draws = Draws(2);
    let behaviour = behaviours()[1];
    for (algorithm, ranks) in ALGORITHMS.iter().flat_map(|entry| [2, 3, 5, 8].map(|ranks| (*entry, ranks))) {
        for (plan, call) in plans(algorithm, ranks, Element::I32) {
            let before = filled(&plan, &call, Element::I32, &mut draws);
            let what = format!("{} on {ranks}: {call:?}", algorithm.name());
            whole(played(&plan, &call, (Element::I32, Reduction::Sum), before, (behaviour, 7)), &what);
        }
    }
}

#[test]
fn a_thousand_runs_end_right_or_with_the_dead_rank_named() {
    let mut draws = Draws(3);
    let (mut whole_runs, mut named) = (0, 0);
    for run in 0..1000 {
        let algorithm = ALGORITHMS[draws.below(ALGORITHMS.len())];
        let ranks = 2 + u32::try_from(draws.below(7)).unwrap();
        let plans = plans(algorithm, ranks, Element::I32);
        if plans.is_empty() {
            continue;
        }
        let (plan, call) = &plans[draws.below(plans.len())];
        let victim = Rank::new(u32::try_from(draws.below(ranks as usize)).unwrap());
        let death = (run % 2 == 1).then(|| (victim, draws.below(60) as u64));
        let behaviour =
            Behaviour { room: draws.below(2000), delay: draws.below(50), part: 1 + draws.below(900), death };
        let before = filled(plan, call, Element::I32, &mut draws);
        let seed = draws.next();
        let what =
            format!("run {run}: {} on {ranks}: {call:?}, {behaviour:?}, seed {seed}", algorithm.name());
        match played(plan, call, (Element::I32, Reduction::Sum), before.clone(), (behaviour, seed)) {
            Ended::Whole(after) => {
                let dead = |rank: u32| death.is_some_and(|(who, _)| who.get() == rank);
                for rank in (0..ranks).filter(|rank| !dead(*rank)).map(Rank::new) {
                    for (at, bytes) in expected(plan, call, &before, rank) {
                        assert_eq!(
                            after[rank.index()].output[at..at + bytes.len()],
                            bytes,
                            "{what}, rank {rank}"
                        );
                    }
                }
                whole_runs += 1;
            }
            Ended::Stuck(waits) => {
                let (dead, _) = death.expect(&what);
                // Whoever is stuck waits for the dead rank, or for somebody who is stuck.
                let stuck: BTreeSet<Rank> = waits.keys().copied().chain([dead]).collect();
                assert!(waits.values().all(|on| !on.is_empty() && on.is_subset(&stuck)), "{what}: {waits:?}");
                assert!(waits.values().any(|on| on.contains(&dead)), "{what}: {waits:?}");
                named += 1;
            }
        }
    }
    println!("{whole_runs} whole, {named} with a death");
    assert!(whole_runs > 400 && named > 100);
}
