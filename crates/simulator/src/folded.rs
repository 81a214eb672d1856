//! Plans whose ranks do the same around a circle and do not share anything: their times without playing each message.
//!
//! In such a phase step s of the rank at position i is over at T(s, i) = max(T(s-1, i) + d(i), T(s-1, i-1) + d(i-1)),
//! where d(i) is what the message of position i takes: its own is under way for d(i), and so is the one that it waits
//! for. Written out, T(S, i) is a maximum over walks around the circle: begin at some k <= i, go on to i in i - k
//! steps, and spend the S - (i - k) others at the slowest place on the way. With few different d this takes a time
//! linear in the ranks, however many steps there are.

use std::collections::VecDeque;

use weft_base::{Bytes, Span, Time};
use weft_collective::{Call, Layout, Op, Phase, Plan, Rank, Symmetry};

use crate::engine::{Engine, PathId};
use crate::router::Router;

/// Different durations up to which a phase is worth folding.
const MOST_DURATIONS: usize = 64;

/// When each rank is done with the plan, if all begin at `begin` and nothing else is under way; `None` where the plan
/// cannot be folded: ranks that share a resource, parts of different size, threads side by side, work within ranks
/// that takes time.
pub fn fold(
    engine: &mut Engine,
    router: &mut dyn Router,
    plan: &Plan,
    call: &Call,
    begin: Time,
) -> Option<Vec<Time>> {
    let layout = Layout::new(call, plan.ranks, plan.pieces);
    let [phases] = plan.threads.as_slice() else { return None };
    if !layout.is_even() {
        return None;
    }
    let mut owners = Owners(vec![u32::MAX; engine.resources()]);
    let mut times = vec![begin; plan.ranks as usize];
    for phase in phases {
        for run in runs(phase, &layout, router.local(engine, Rank::new(0)).is_some())? {
            owners.run(engine, router, phase, &run, &mut times)?;
        }
    }
    Some(times)
}

/// Steps in a row that send as much as far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    distance: u32,
    bytes: Bytes,
    steps: u32,
}

/// What position 0 of the first group does, which all positions of all groups do alike.
fn runs(phase: &Phase, layout: &Layout<'_>, local_takes_time: bool) -> Option<Vec<Run>> {
    if phase.movement.symmetry() != Symmetry::Rotation {
        return None;
    }
    let at = phase.at(phase.groups.member(0, 0)?)?;
    let (mut runs, mut ops) = (Vec::<Run>::new(), Vec::new());
    for step in 0..phase.movement.steps(&at) {
        ops.clear();
        phase.movement.ops(&at, step, &mut ops);
        let (mut sent, mut taken) = (None, None);
        for op in &ops {
            match *op {
                Op::Send { to, from } if sent.is_none() => {
                    let distance = phase.groups.seat(to)?.position;
                    sent = Some((distance, Bytes::new(layout.slice_bytes(at.rank, &from))));
                }
                Op::Recv { from, .. } | Op::RecvReduce { from, .. } if taken.is_none() => {
                    taken = Some(at.seat.size - phase.groups.seat(from)?.position);
                }
                Op::Copy { .. } | Op::Reduce { .. } if !local_takes_time => {}
                Op::Send { .. }
                | Op::Recv { .. }
                | Op::RecvReduce { .. }
                | Op::Copy { .. }
                | Op::Reduce { .. }
                | Op::Multicast { .. }
                | Op::Contribute { .. }
                | Op::SwitchReduce { .. }
                | Op::Await { .. } => return None,
            }
        }
        let Some((distance, bytes)) = sent else {
            if taken.is_some() {
                return None;
            }
            continue;
        };
        if taken != Some(distance) {
            return None;
        }
        match runs.last_mut() {
            Some(last) if last.distance == distance && last.bytes == bytes => last.steps += 1,
            _ => runs.push(Run { distance, bytes, steps: 1 }),
        }
    }
    Some(runs)
}

/// Which rank sends over each resource. A resource of two ranks could make one wait for the other.
struct Owners(Vec<u32>);

impl Owners {
    /// The times after a run, from those before it.
    fn run(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        phase: &Phase,
        run: &Run,
        times: &mut [Time],
    ) -> Option<()> {
        let mut done = vec![false; times.len()];
        for first in (0..u32::try_from(times.len()).ok()?).map(Rank::new) {
            if done[first.index()] || phase.at(first).is_none() {
                continue;
            }
            let circle = circle(phase, first, run.distance)?;
            let mut spans = Vec::with_capacity(circle.len());
            for (index, from) in circle.iter().enumerate() {
                done[from.index()] = true;
                let to = circle[(index + 1) % circle.len()];
                let path = router.path(engine, *from, to, phase.channel_of(*from))?;
                spans.push(self.alone(engine, path, *from, run.bytes)?);
            }
            let begun: Vec<Time> = circle.iter().map(|rank| times[rank.index()]).collect();
            for (rank, time) in circle.iter().zip(around(&begun, &spans, run.steps)?) {
                times[rank.index()] = time;
            }
        }
        Some(())
    }

    /// What a message takes that shares nothing; `None` where it shares something.
    fn alone(&mut self, engine: &Engine, path: PathId, from: Rank, bytes: Bytes) -> Option<Span> {
        for used in engine.uses(path) {
            let owner = self.0.get_mut(used.resource.index())?;
            if *owner != u32::MAX && *owner != from.get() {
                return None;
            }
            *owner = from.get();
        }
        engine.alone(path, bytes)
    }
}

/// The ranks that a message passes when it goes on by `distance` positions each time.
fn circle(phase: &Phase, first: Rank, distance: u32) -> Option<Vec<Rank>> {
    let mut circle = vec![first];
    loop {
        let at = phase.at(*circle.last()?)?;
        let next = at.peer(i64::from(distance));
        if next == first {
            return Some(circle);
        }
        if circle.len() >= at.seat.size as usize {
            return None;
        }
        circle.push(next);
    }
}

/// T(steps, i) of the circle, from T(0, i) and d(i).
fn around(begun: &[Time], spans: &[Span], steps: u32) -> Option<Vec<Time>> {
    let ranks = begun.len();
    let mut different: Vec<Span> = spans.to_vec();
    different.sort_unstable();
    different.dedup();
    if different.len() > MOST_DURATIONS {
        return None;
    }
    // A walk of a whole lap sees the slowest place, so that none needs two.
    let reach = (steps as usize).min(2 * ranks - 1);
    let laps = 3 * ranks;
    let mut until = Vec::with_capacity(laps + 1);
    until.push(0i128);
    for index in 0..laps {
        until.push(until[index] + i128::from(spans[index % ranks].get()));
    }
    let mut best = vec![0i128; ranks];
    for slowest in different {
        let held = i128::from(slowest.get());
        // What a walk that begins at k has when all its other steps take `held`.
        let worth =
            |k: usize| i128::from(begun[k % ranks].get()) - until[k] + i128::try_from(k).unwrap_or(0) * held;
        let mut window: VecDeque<(usize, i128)> = VecDeque::new();
        let mut entered = 0;
        for index in 0..laps {
            if spans[index % ranks] == slowest {
                for k in entered..=index {
                    let value = worth(k);
                    while window.back().is_some_and(|(_, worse)| *worse <= value) {
                        window.pop_back();
                    }
                    window.push_back((k, value));
                }
                entered = index + 1;
            }
            while window.front().is_some_and(|(k, _)| k + reach < index) {
                window.pop_front();
            }
            if index >= 2 * ranks
                && let Some((_, value)) = window.front()
            {
                let left = i128::from(steps) - i128::try_from(index).unwrap_or(0);
                let time = value + until[index] + left * held;
                best[index % ranks] = best[index % ranks].max(time);
            }
        }
    }
    best.into_iter().map(|time| u64::try_from(time).ok().map(Span::picoseconds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recurrence of the module's text, step by step.
    fn step_by_step(begun: &[Time], spans: &[Span], steps: u32) -> Vec<Time> {
        let ranks = begun.len();
        let mut times = begun.to_vec();
        for _ in 0..steps {
            let last = times.clone();
            for index in 0..ranks {
                let before = (index + ranks - 1) % ranks;
                times[index] = (last[index] + spans[index]).max(last[before] + spans[before]);
            }
        }
        times
    }

    proptest::proptest! {
        #[test]
        fn walks_give_what_steps_give(
            ranks in proptest::collection::vec((0u64..50, 1u64..6), 1..12),
            steps in 0u32..40,
        ) {
            let begun: Vec<Time> = ranks.iter().map(|(begun, _)| Span::picoseconds(*begun)).collect();
            let spans: Vec<Span> = ranks.iter().map(|(_, span)| Span::picoseconds(*span)).collect();
            proptest::prop_assert_eq!(around(&begun, &spans, steps), Some(step_by_step(&begun, &spans, steps)));
        }
    }
}
