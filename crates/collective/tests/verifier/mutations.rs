//! Programs that differ from a right one by a single mistake.

use weft_collective::{Buffer, Op, Program, Rank, Ranks, Slice};

/// Where an operation is: rank, thread, step, operation.
pub type At = (usize, usize, usize, usize);

/// A kind of mistake, and every way of making it at an operation.
pub struct Mutation {
    pub name: &'static str,
    pub apply: fn(&Program, At) -> Vec<Program>,
}

pub const MUTATIONS: &[Mutation] = &[
    Mutation { name: "dropped", apply: dropped },
    Mutation { name: "doubled", apply: doubled },
    Mutation { name: "redirected", apply: redirected },
    Mutation { name: "reordered", apply: reordered },
    Mutation { name: "shifted", apply: shifted },
    Mutation { name: "changed in kind", apply: changed },
    Mutation { name: "lost with its message", apply: lost },
];

/// Every operation of a program.
pub fn places(program: &Program) -> Vec<At> {
    let mut places = Vec::new();
    for (rank, threads) in program.ranks.iter().enumerate() {
        for (thread, known) in threads.iter().enumerate() {
            for (step, ops) in known.steps.iter().enumerate() {
                places.extend((0..ops.len()).map(|op| (rank, thread, step, op)));
            }
        }
    }
    places
}

pub fn op(program: &Program, at: At) -> Op {
    program.ranks[at.0][at.1].steps[at.2][at.3]
}

fn steps(program: &mut Program, at: At) -> &mut Vec<Vec<Op>> {
    &mut program.ranks[at.0][at.1].steps
}

fn with(program: &Program, at: At, op: Op) -> Program {
    let mut program = program.clone();
    steps(&mut program, at)[at.2][at.3] = op;
    program
}

fn dropped(program: &Program, at: At) -> Vec<Program> {
    let mut program = program.clone();
    steps(&mut program, at)[at.2].remove(at.3);
    vec![program]
}

/// Once more in the same step, and once more in a step of its own.
fn doubled(program: &Program, at: At) -> Vec<Program> {
    let op = op(program, at);
    let (mut beside, mut after) = (program.clone(), program.clone());
    steps(&mut beside, at)[at.2].insert(at.3 + 1, op);
    steps(&mut after, at).insert(at.2 + 1, vec![op]);
    vec![beside, after]
}

/// To or from any other rank; waiting for another thread or for less.
fn redirected(program: &Program, at: At) -> Vec<Program> {
    let ranks = u32::try_from(program.ranks.len()).unwrap();
    let others = || (0..ranks).map(Rank::new);
    let groups = |of: Ranks| {
        let shorter = Ranks { count: of.count.saturating_sub(1), ..of };
        let later = Ranks { first: Rank::new(of.first.get() + 1), ..of };
        [shorter, later].into_iter()
    };
    let ops: Vec<Op> = match op(program, at) {
        Op::Send { from, .. } => others().map(|to| Op::Send { to, from }).collect(),
        Op::Contribute { from, .. } => others().map(|to| Op::Contribute { to, from }).collect(),
        Op::Recv { into, .. } => others().map(|from| Op::Recv { from, into }).collect(),
        Op::RecvReduce { local, into, .. } => {
            others().map(|from| Op::RecvReduce { from, local, into }).collect()
        }
        Op::Multicast { to, from } => groups(to).map(|to| Op::Multicast { to, from }).collect(),
        Op::SwitchReduce { of, local, into } => {
            groups(of).map(|of| Op::SwitchReduce { of, local, into }).collect()
        }
        Op::Await { thread, steps } => {
            let other = Op::Await { thread: thread ^ 1, steps };
            let less = Op::Await { thread, steps: steps.saturating_sub(1) };
            vec![other, less]
        }
        Op::Copy { .. } | Op::Reduce { .. } => Vec::new(),
    };
    ops.into_iter().map(|op| with(program, at, op)).collect()
}

/// Swapped with each operation of the next step, and moved to the step before.
fn reordered(program: &Program, at: At) -> Vec<Program> {
    let mut all = Vec::new();
    let here = op(program, at);
    let next = program.ranks[at.0][at.1].steps.get(at.2 + 1).map_or(0, Vec::len);
    for other in 0..next {
        let mut swapped = program.clone();
        let steps = steps(&mut swapped, at);
        steps[at.2][at.3] = steps[at.2 + 1][other];
        steps[at.2 + 1][other] = here;
        all.push(swapped);
    }
    if at.2 > 0 {
        let mut moved = program.clone();
        let steps = steps(&mut moved, at);
        steps[at.2].remove(at.3);
        steps[at.2 - 1].push(here);
        all.push(moved);
    }
    all
}

/// Each slice one chunk and one block further on, and in the other buffer.
fn shifted(program: &Program, at: At) -> Vec<Program> {
    let variants = |slice: Slice| {
        let chunk = Slice { first: slice.first + 1, ..slice };
        let block = Slice { base: slice.base + 1, ..slice };
        let buffer = match slice.buffer {
            Buffer::Input => Buffer::Output,
            Buffer::Output | Buffer::Scratch(_) => Buffer::Input,
        };
        let same = |other: &Slice| {
            other.buffer != slice.buffer
                || other.ranges().collect::<Vec<_>>() != slice.ranges().collect::<Vec<_>>()
        };
        [chunk, block, slice.of(buffer)].into_iter().filter(same).collect::<Vec<_>>()
    };
    let ops: Vec<Op> = match op(program, at) {
        Op::Send { to, from } => variants(from).into_iter().map(|from| Op::Send { to, from }).collect(),
        Op::Multicast { to, from } => {
            variants(from).into_iter().map(|from| Op::Multicast { to, from }).collect()
        }
        Op::Contribute { to, from } => {
            variants(from).into_iter().map(|from| Op::Contribute { to, from }).collect()
        }
        Op::Recv { from, into } => variants(into).into_iter().map(|into| Op::Recv { from, into }).collect(),
        Op::Copy { from, into } => {
            let reads = variants(from).into_iter().map(|from| Op::Copy { from, into });
            reads.chain(variants(into).into_iter().map(|into| Op::Copy { from, into })).collect()
        }
        Op::Reduce { from, into } => {
            let reads = variants(from).into_iter().map(|from| Op::Reduce { from, into });
            reads.chain(variants(into).into_iter().map(|into| Op::Reduce { from, into })).collect()
        }
        Op::RecvReduce { from, local, into } => {
            let reads = variants(local).into_iter().map(|local| Op::RecvReduce { from, local, into });
            reads.chain(variants(into).into_iter().map(|into| Op::RecvReduce { from, local, into })).collect()
        }
        Op::SwitchReduce { of, local, into } => {
            let reads = variants(local).into_iter().map(|local| Op::SwitchReduce { of, local, into });
            reads.chain(variants(into).into_iter().map(|into| Op::SwitchReduce { of, local, into })).collect()
        }
        Op::Await { .. } => Vec::new(),
    };
    ops.into_iter().map(|op| with(program, at, op)).collect()
}

/// What adds does not, and what does not adds; what goes to one goes through a switch.
fn changed(program: &Program, at: At) -> Vec<Program> {
    let ops = match op(program, at) {
        Op::Recv { from, into } => vec![Op::RecvReduce { from, local: into, into }],
        Op::RecvReduce { from, into, .. } => vec![Op::Recv { from, into }],
        Op::Copy { from, into } => vec![Op::Reduce { from, into }],
        Op::Reduce { from, into } => vec![Op::Copy { from, into }],
        Op::Send { to, from } => vec![Op::Contribute { to, from }],
        Op::Contribute { to, from } => vec![Op::Send { to, from }],
        Op::SwitchReduce { local, into, .. } => vec![Op::Copy { from: local, into }],
        Op::Multicast { .. } | Op::Await { .. } => Vec::new(),
    };
    ops.into_iter().map(|op| with(program, at, op)).collect()
}

/// A send is dropped together with the receive that would have taken it, so that all messages still match.
fn lost(program: &Program, at: At) -> Vec<Program> {
    let Op::Send { to, .. } = op(program, at) else { return Vec::new() };
    let channel = program.ranks[at.0][at.1].channel;
    let sends = |other: &At| {
        other.0 == at.0
            && program.ranks[other.0][other.1].channel == channel
            && matches!(op(program, *other), Op::Send { to: known, .. } if known == to)
    };
    let takes = |other: &At| {
        other.0 == to.index()
            && program.ranks[other.0][other.1].channel == channel
            && matches!(op(program, *other), Op::Recv { from, .. } | Op::RecvReduce { from, .. } if from.index() == at.0)
    };
    // In the order of threads, which is that of messages where one thread uses the channel.
    let number = places(program).into_iter().filter(sends).position(|other| other == at);
    let taker = number.and_then(|number| places(program).into_iter().filter(takes).nth(number));
    let Some(taker) = taker else { return Vec::new() };
    let mut program = program.clone();
    steps(&mut program, taker)[taker.2].remove(taker.3);
    steps(&mut program, at)[at.2].remove(at.3);
    vec![program]
}
