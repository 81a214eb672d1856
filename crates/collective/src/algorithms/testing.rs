//! What tests of algorithms share: what each rank sends, and proof for many numbers of ranks.

use std::collections::BTreeSet;

use crate::{
    Algorithm, Call, Collective, Counts, Layout, Level, Op, Plan, Rank, Shape, Slice, Switch, Terrain, verify,
};

/// What a rank does in all of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Steps of its longest thread.
    pub steps: u32,
    /// Steps, of all threads, in which it sends or receives.
    pub exchanges: u32,
    /// Messages that it sends.
    pub messages: u32,
    /// Bytes in them.
    pub sent_bytes: u64,
    /// To how many others.
    pub peers: usize,
}

/// What an operation sends, and to whom if it is one.
pub fn sent(op: &Op) -> Option<(Slice, Option<Rank>)> {
    match *op {
        Op::Send { to, from } | Op::Contribute { to, from } => Some((from, Some(to))),
        Op::Multicast { from, .. } => Some((from, None)),
        Op::Recv { .. }
        | Op::RecvReduce { .. }
        | Op::Copy { .. }
        | Op::Reduce { .. }
        | Op::SwitchReduce { .. }
        | Op::Await { .. } => None,
    }
}

/// The traffic of each rank.
pub fn traffic(plan: &Plan, call: &Call) -> Vec<Traffic> {
    let layout = Layout::new(call, plan.ranks, plan.pieces);
    let threads = u16::try_from(plan.threads.len()).unwrap();
    let of = |rank| {
        let mut traffic = Traffic { steps: 0, exchanges: 0, messages: 0, sent_bytes: 0, peers: 0 };
        let mut peers = BTreeSet::new();
        for thread in 0..threads {
            let (mut walk, mut ops, mut steps) = (plan.steps(rank, thread), Vec::new(), 0);
            while walk.next_into(&mut ops).is_some() {
                steps += 1;
                let local = |op: &Op| matches!(op, Op::Copy { .. } | Op::Reduce { .. } | Op::Await { .. });
                traffic.exchanges += u32::from(!ops.iter().all(local));
                for op in ops.drain(..) {
                    let Some((from, to)) = sent(&op) else { continue };
                    traffic.messages += 1;
                    traffic.sent_bytes += layout.slice_bytes(rank, &from);
                    peers.extend(to);
                }
            }
            traffic.steps = traffic.steps.max(steps);
        }
        Traffic { peers: peers.len(), ..traffic }
    };
    (0..plan.ranks).map(|rank| of(Rank::new(rank))).collect()
}

/// Every pair of ranks that a plan sends messages between.
pub fn pairs(plan: &Plan) -> BTreeSet<(u32, u32)> {
    let mut pairs = BTreeSet::new();
    let threads = u16::try_from(plan.threads.len()).unwrap();
    for (rank, thread) in (0..plan.ranks).flat_map(|rank| (0..threads).map(move |thread| (rank, thread))) {
        let (mut walk, mut ops) = (plan.steps(Rank::new(rank), thread), Vec::new());
        while walk.next_into(&mut ops).is_some() {}
        let to = ops.iter().filter_map(|op| sent(op)?.1);
        pairs.extend(to.map(|to| (rank, to.get())));
    }
    pairs
}

/// Terrains of so many ranks, each with a simpler one: what suits that is not tried on it again. Flat; hosts of every
/// size that divides the ranks, with able switches in them and across; those with one more level of every size.
pub fn terrains(ranks: u32) -> Vec<(Terrain, Option<Terrain>)> {
    let able = Switch { reduces: true, multicasts: true };
    let flat = Terrain::flat(ranks);
    let mut terrains = vec![(flat.clone(), None)];
    for per_host in (1..=ranks).filter(|size| ranks.is_multiple_of(*size)) {
        let hosts = ranks / per_host;
        let terrain = Terrain::switched(hosts, per_host, (able, 9), (able, 1));
        for rack in (1..=hosts).filter(|rack| hosts.is_multiple_of(*rack)) {
            let group_of = (0..ranks).map(|rank| rank / (per_host * rack)).collect();
            let level = Level { name: "rack", group_of };
            terrains.push((terrain.clone().with_level(level), Some(terrain.clone())));
        }
        terrains.push((terrain, Some(flat.clone())));
    }
    terrains
}

/// Calls of a collective: empty, smaller than the ranks, odd, and of parts that differ, in place and not, and from
/// roots in the middle and at the end.
pub fn calls(collective: Collective, ranks: u32) -> Vec<Call> {
    let part = |index: u32| u64::from((index * 7 + 3) % 5);
    let mut counts: Vec<Counts> = [0, 1, 37, 1 << 20].map(Counts::Even).into();
    match collective {
        Collective::AllGather | Collective::ReduceScatter => {
            counts.push(Counts::PerRank((0..ranks).map(part).collect()));
        }
        Collective::AllToAll => counts.push(Counts::PerPair((0..ranks * ranks).map(part).collect())),
        Collective::AllReduce
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::SendRecv
        | Collective::Barrier => {}
    }
    let rooted = matches!(collective, Collective::Broadcast | Collective::Reduce | Collective::SendRecv);
    let roots = if rooted { vec![0, ranks / 2, ranks - 1] } else { vec![0] };
    let mut calls = Vec::new();
    for (counts, root) in counts.iter().flat_map(|counts| roots.iter().map(move |root| (counts, *root))) {
        for in_place in [false, true] {
            let peer = Rank::new((root + 1) % ranks);
            let call = Call {
                counts: counts.clone(),
                root: Rank::new(root),
                peer,
                in_place,
                ..Call::bytes(collective, 0)
            };
            calls.push(call);
        }
    }
    calls
}

/// Proves all plans of an algorithm over some numbers of ranks and says how many there are: in a given shape, or in
/// its own.
pub fn verified(algorithm: &dyn Algorithm, ranks: &[u32], shape: Option<Shape>) -> usize {
    let mut proved = 0;
    let all =
        ranks.iter().flat_map(|ranks| terrains(*ranks).into_iter().map(move |terrain| (*ranks, terrain)));
    for (ranks, (terrain, simpler)) in all {
        for call in algorithm.collectives().iter().flat_map(|collective| calls(*collective, ranks)) {
            let again = simpler.as_ref().is_some_and(|simpler| algorithm.suits(&call, simpler).is_ok());
            // Sizes make no difference to what is done; a few are enough where there are many terrains.
            let alike = simpler.is_some() && matches!(call.counts, Counts::Even(0 | 1 | 0x10_0000));
            if again || alike || algorithm.suits(&call, &terrain).is_err() {
                continue;
            }
            let plan = match shape {
                Some(shape) => algorithm.plan_with(&call, &terrain, shape),
                None => algorithm.plan(&call, &terrain),
            };
            if let Err(violation) = verify(&plan, &call) {
                let (name, levels) = (algorithm.name(), terrain.levels().len());
                panic!("{name} over {ranks} ranks on {levels} levels, {shape:?}, {call:?}: {violation}");
            }
            proved += 1;
        }
    }
    proved
}

/// How many operations a rank has in all of a plan.
pub fn operations(plan: &Plan, rank: Rank) -> usize {
    let mut ops = Vec::new();
    for thread in 0..u16::try_from(plan.threads.len()).unwrap() {
        let mut walk = plan.steps(rank, thread);
        while walk.next_into(&mut ops).is_some() {}
    }
    ops.len()
}

/// How many steps a plan says are as the ones before them; fails where one is not.
pub fn alike_steps(plan: &Plan) -> u32 {
    let mut count = 0;
    for (rank, thread) in
        (0..plan.ranks).flat_map(|rank| (0..plan.threads.len()).map(move |thread| (rank, thread)))
    {
        let mut walk = plan.steps(Rank::new(rank), u16::try_from(thread).unwrap());
        let mut first = Vec::new();
        while let Some(channel) = walk.next_into(&mut first) {
            let mut skipped = walk.clone();
            for _ in 0..walk.alike() {
                let mut ops = Vec::new();
                assert_eq!(walk.next_into(&mut ops), Some(channel));
                assert!(ops.iter().map(outline).eq(first.iter().map(outline)), "{first:?} and {ops:?}");
                count += 1;
            }
            skipped.skip_alike(u32::MAX);
            first.clear();
            // Passing over them leads to the same place.
            let mut after = Vec::new();
            walk.clone().next_into(&mut after);
            skipped.next_into(&mut first);
            assert_eq!(first, after);
            first.clear();
        }
    }
    count
}

/// What an operation has in common with those that differ in their blocks only.
fn outline(op: &Op) -> (u8, Option<Rank>, u32) {
    match *op {
        Op::Send { to, from } => (0, Some(to), from.blocks()),
        Op::Recv { from, into } => (1, Some(from), into.blocks()),
        Op::RecvReduce { from, into, .. } => (2, Some(from), into.blocks()),
        Op::Copy { from, .. } => (3, None, from.blocks()),
        Op::Reduce { from, .. } => (4, None, from.blocks()),
        Op::Multicast { from, to } => (5, Some(to.first), from.blocks()),
        Op::Contribute { to, from } => (6, Some(to), from.blocks()),
        Op::SwitchReduce { of, into, .. } => (7, Some(of.first), into.blocks()),
        Op::Await { thread, steps } => (8, Some(Rank::new(steps)), u32::from(thread)),
    }
}
