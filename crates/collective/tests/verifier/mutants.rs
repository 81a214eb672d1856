//! Plans that are wrong by one operation are rejected. A mutant that is not is right: it is played in many random
//! orders by an interpreter that shares nothing with the verifier, and counted by why it may be right.

use std::collections::BTreeMap;

use weft_collective::{
    ALGORITHMS, Algorithm, Call, Collective, DataType, Layout, Op, Program, Rank, Slice, Terrain, verify,
};

use crate::cases::terrains;
use crate::interpreter::{Random, play};
use crate::mutations::{At, MUTATIONS, op, places};

/// Random orders in which a mutant is played.
const PLAYS: u64 = 16;
/// Operations of a plan at which mistakes are made.
const SAMPLE: usize = 16;

/// Why a mutant is as right as its original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Equivalence {
    /// The operation moves no byte, and its message still matches.
    NoByte,
    /// Each output is the same sum, added in the same order.
    SameFlow,
    /// Each output is the same sum, added in another order.
    OtherOrder,
}

#[derive(Debug, Default)]
struct Tally {
    rejected: u32,
    equivalent: BTreeMap<Equivalence, u32>,
}

fn slices(op: Op) -> Vec<Slice> {
    match op {
        Op::Send { from, .. } | Op::Multicast { from, .. } | Op::Contribute { from, .. } => vec![from],
        Op::Recv { into, .. } => vec![into],
        Op::Copy { from, into } | Op::Reduce { from, into } => vec![from, into],
        Op::RecvReduce { local, into, .. } | Op::SwitchReduce { local, into, .. } => vec![local, into],
        Op::Await { .. } => Vec::new(),
    }
}

/// Whether an operation moves no byte.
fn no_byte(program: &Program, call: &Call, at: At) -> bool {
    let ranks = u32::try_from(program.ranks.len()).unwrap();
    let layout = Layout::new(call, ranks, program.pieces);
    let rank = Rank::new(u32::try_from(at.0).unwrap());
    // A second mistake may be at an operation that the original does not have.
    let here = places(program).contains(&at).then(|| slices(op(program, at)));
    let all = here.unwrap_or_default();
    !all.is_empty() && all.iter().all(|slice| layout.slice_bytes(rank, slice) == 0)
}

fn judge(name: &str, program: &Program, mutant: &Program, call: &Call, at: At, tally: &mut Tally) {
    if mutant == program {
        return;
    }
    if verify(&mutant.clone().into_plan(), call).is_err() {
        tally.rejected += 1;
        return;
    }
    let original = play(program, call, 0).unwrap();
    let mut same = true;
    for seed in 0..PLAYS {
        let end = play(mutant, call, seed);
        let right = end.as_ref().is_some_and(|end| end.right);
        assert!(
            right,
            "{name} at {at:?} is accepted, but wrong in order {seed}: {:#?}",
            mutant.ranks.get(at.0)
        );
        same &= end.is_some_and(|end| end.order == original.order);
    }
    let why = match (no_byte(program, call, at), same) {
        (true, _) => Equivalence::NoByte,
        (false, true) => Equivalence::SameFlow,
        (false, false) => Equivalence::OtherOrder,
    };
    *tally.equivalent.entry(why).or_default() += 1;
    // An operation that can go altogether is one too many.
    let gone = name.ends_with(" dropped") || name.ends_with(" lost with its message");
    if gone && why != Equivalence::NoByte {
        let spare = may_be_spared(name, call, at, program);
        assert!(spare, "{name} at {at:?} is needed by nobody: {:?}", op(program, at));
    }
}

/// Operations that nobody needs, and yet are there: one wait of several that order the same, a message of a barrier
/// whose ranks are no power of two, and what a broadcast over levels brings back to those who have it.
fn may_be_spared(name: &str, call: &Call, at: At, program: &Program) -> bool {
    let over_levels = ["level", "nvls", "rails"].iter().any(|word| name.contains(word));
    match call.collective {
        Collective::Barrier => true,
        Collective::Broadcast => over_levels,
        Collective::AllReduce
        | Collective::AllGather
        | Collective::ReduceScatter
        | Collective::Reduce
        | Collective::AllToAll
        | Collective::SendRecv => matches!(op(program, at), Op::Await { .. }),
    }
}

/// Calls whose mutants are tried: with blocks that all have bytes, and with some that have none.
fn calls(collective: Collective, ranks: u32) -> Vec<Call> {
    let full = Call { data_type: DataType::Half, ..Call::bytes(collective, 4096 + u64::from(ranks) * 7) };
    match ranks {
        4 => vec![full.clone(), Call::bytes(collective, 2), Call { in_place: true, ..full }],
        5 => vec![Call { in_place: true, ..full }],
        _ => vec![full],
    }
}

fn try_all(algorithm: &dyn Algorithm, ranks: u32, tallies: &mut BTreeMap<&'static str, Tally>) {
    for collective in algorithm.collectives() {
        for call in calls(*collective, ranks) {
            let suited =
                terrains(ranks).into_iter().filter(|terrain| algorithm.suits(&call, terrain).is_ok());
            // The last terrain is the one with most structure.
            let Some(terrain) = suited.last() else { continue };
            mutate(algorithm, &call, &terrain, tallies);
        }
    }
}

fn mutate(
    algorithm: &dyn Algorithm,
    call: &Call,
    terrain: &Terrain,
    tallies: &mut BTreeMap<&'static str, Tally>,
) {
    let program = Program::of(&algorithm.plan(call, terrain));
    for seed in 0..3 {
        let end = play(&program, call, seed);
        assert!(end.is_some_and(|end| end.right), "{} is wrong", algorithm.name());
    }
    let mut places = places(&program);
    let mut random = Random(u64::from(terrain.ranks()));
    while places.len() > SAMPLE {
        places.swap_remove(random.below(places.len()));
    }
    for at in places {
        for mutation in MUTATIONS {
            let tally = tallies.entry(mutation.name).or_default();
            let place = if call.in_place { "in place" } else { "out of place" };
            let name = format!(
                "{} {} {place} of {} ranks, {}",
                algorithm.name(),
                call.collective.name(),
                terrain.ranks(),
                mutation.name
            );
            for mutant in (mutation.apply)(&program, at) {
                judge(&name, &program, &mutant, call, at, tally);
            }
        }
    }
}

/// Two mistakes one after the other may cancel; then the plan must really be right.
#[test]
fn two_mistakes_are_rejected_unless_they_cancel() {
    let mut tally = Tally::default();
    let mut random = Random(7);
    for algorithm in ALGORITHMS {
        for collective in algorithm.collectives() {
            let call = Call::bytes(*collective, 4096);
            let suited = terrains(4).into_iter().filter(|terrain| algorithm.suits(&call, terrain).is_ok());
            let Some(terrain) = suited.last() else { continue };
            let program = Program::of(&algorithm.plan(&call, &terrain));
            for _ in 0..150 {
                let mut mutant = program.clone();
                let mut last = (0, 0, 0, 0);
                for _ in 0..2 {
                    let all = places(&mutant);
                    // A send-recv has two operations, and the first mistake may leave none.
                    if all.is_empty() {
                        break;
                    }
                    last = all[random.below(all.len())];
                    let ways = (MUTATIONS[random.below(MUTATIONS.len())].apply)(&mutant, last);
                    if !ways.is_empty() {
                        mutant = ways[random.below(ways.len())].clone();
                    }
                }
                let name = format!("{} {} with two mistakes", algorithm.name(), collective.name());
                judge(&name, &program, &mutant, &call, last, &mut tally);
            }
        }
    }
    println!("two mistakes: {} rejected, as right as the original: {:?}", tally.rejected, tally.equivalent);
    assert!(tally.rejected >= 300);
}

#[test]
fn plans_that_are_wrong_by_one_operation_are_rejected() {
    let mut all: BTreeMap<&str, Tally> = BTreeMap::new();
    for algorithm in ALGORITHMS {
        let mut tallies = BTreeMap::new();
        for ranks in [2, 3, 4, 5, 8] {
            try_all(*algorithm, ranks, &mut tallies);
        }
        let rejected: u32 = tallies.values().map(|tally| tally.rejected).sum();
        println!("{}: {rejected} rejected", algorithm.name());
        assert!(rejected >= 100, "{} has only {rejected} mutants rejected", algorithm.name());
        for (name, tally) in tallies {
            let sum = all.entry(name).or_default();
            sum.rejected += tally.rejected;
            for (why, count) in tally.equivalent {
                *sum.equivalent.entry(why).or_default() += count;
            }
        }
    }
    for (name, tally) in &all {
        println!("{name}: {} rejected, as right as the original: {:?}", tally.rejected, tally.equivalent);
    }
    let equivalent = |name: &str, why| all[name].equivalent.get(&why).copied().unwrap_or(0);
    // A message that moves bytes is needed by someone, and goes to the right one.
    for name in ["dropped", "redirected", "shifted", "changed in kind", "lost with its message"] {
        assert_eq!(equivalent(name, Equivalence::OtherOrder), 0, "{name}");
    }
}
