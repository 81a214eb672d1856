//! What a plan takes where every message takes a latency, and its bytes their time at the sender.

use std::collections::{BTreeMap, VecDeque};

use weft_collective::{Algorithm, Call, Rank, Terrain};

use super::Speeds;
use crate::script::Kind;
use crate::{Port, Script};

/// Plans with more actions are not priced: that would take longer than what they do.
const ACTIONS_MAX: usize = 400_000;

/// The seconds until the last rank is done; `None` for what cannot be played, or not priced.
pub(super) fn seconds(
    algorithm: &dyn Algorithm,
    call: &Call,
    terrain: &Terrain,
    speeds: Speeds,
) -> Option<f64> {
    let plan = algorithm.plan(call, terrain);
    let (mut scripts, mut actions) = (Vec::new(), 0);
    for rank in 0..plan.ranks {
        let script = Script::new(&plan, call, Rank::new(rank)).ok()?;
        actions += script.actions.len();
        if actions > ACTIONS_MAX {
            return None;
        }
        scripts.push(script);
    }
    Clock::new(&scripts, speeds).run()
}

/// Where a thread of a rank is.
#[derive(Debug, Default)]
struct Hand {
    step: usize,
    /// When each of its steps was over, in seconds.
    ends: Vec<f64>,
}

/// All ranks, as far as they have come.
struct Clock<'s> {
    scripts: &'s [Script],
    latency_s: f64,
    seconds_per_byte: f64,
    hands: Vec<Vec<Hand>>,
    /// When each rank's port is free to send again.
    free: Vec<f64>,
    /// When the messages of each stream that nobody has taken arrive.
    arrivals: BTreeMap<(Rank, Port), VecDeque<f64>>,
}

impl<'s> Clock<'s> {
    fn new(scripts: &'s [Script], speeds: Speeds) -> Self {
        let hands = |script: &Script| script.threads.iter().map(|_| Hand::default()).collect();
        Self {
            scripts,
            latency_s: speeds.latency.as_seconds(),
            seconds_per_byte: 1.0 / speeds.bytes_per_s,
            hands: scripts.iter().map(hands).collect(),
            free: vec![0.0; scripts.len()],
            arrivals: BTreeMap::new(),
        }
    }

    /// Goes on with whoever can, until nobody can; when the last was done, if all are.
    fn run(mut self) -> Option<f64> {
        let mut sent: Vec<Vec<bool>> = self.hands.iter().map(|hands| vec![false; hands.len()]).collect();
        loop {
            let mut moved = false;
            for rank in 0..self.scripts.len() {
                for (thread, sent) in sent[rank].iter_mut().enumerate() {
                    while let Some((first, end)) = self.actions(rank, thread) {
                        if !std::mem::replace(sent, true) {
                            self.send(rank, thread, first..end);
                            moved = true;
                        }
                        let Some(over) = self.over(rank, thread, first..end) else { break };
                        let hand = &mut self.hands[rank][thread];
                        hand.ends.push(over);
                        hand.step += 1;
                        (*sent, moved) = (false, true);
                    }
                }
            }
            if !moved {
                break;
            }
        }
        let mut hands = self.hands.iter().zip(self.scripts);
        let all = hands.all(|(hands, script)| {
            hands.iter().zip(&script.threads).all(|(hand, thread)| hand.step == thread.ends.len())
        });
        let ends = self.hands.iter().flatten().filter_map(|hand| hand.ends.last());
        all.then(|| ends.copied().fold(0.0, f64::max))
    }

    /// The actions of the present step.
    fn actions(&self, rank: usize, thread: usize) -> Option<(usize, usize)> {
        let (steps, step) = (&self.scripts[rank].threads[thread], self.hands[rank][thread].step);
        let end = *steps.ends.get(step)?;
        let first = if step == 0 { steps.first } else { steps.ends[step - 1] };
        Some((first as usize, end as usize))
    }

    fn begun(&self, rank: usize, thread: usize) -> f64 {
        self.hands[rank][thread].ends.last().copied().unwrap_or(0.0)
    }

    /// Sends what the present step sends, one message after the other.
    fn send(&mut self, rank: usize, thread: usize, actions: std::ops::Range<usize>) {
        let begun = self.begun(rank, thread);
        let script = &self.scripts[rank];
        let own = name(rank);
        for action in &script.actions[actions] {
            if let Kind::Send { port, .. } = action.kind {
                let moving = precise(script.bytes(action.kind)) * self.seconds_per_byte;
                self.free[rank] = self.free[rank].max(begun) + moving;
                let stream = (port.peer, Port { peer: own, channel: port.channel });
                self.arrivals.entry(stream).or_default().push_back(self.free[rank] + self.latency_s);
            }
        }
    }

    /// When the present step is over, if all that it waits for is known; then its messages are taken.
    fn over(&mut self, rank: usize, thread: usize, actions: std::ops::Range<usize>) -> Option<f64> {
        let (own, script) = (name(rank), &self.scripts[rank]);
        let mut over = self.begun(rank, thread);
        let mut taken: BTreeMap<Port, usize> = BTreeMap::new();
        for action in &script.actions[actions] {
            match action.kind {
                Kind::Receive { port, .. } | Kind::ReceiveReduce { port, .. } => {
                    let place = taken.entry(port).or_default();
                    over = over.max(*self.arrivals.get(&(own, port))?.get(*place)?);
                    *place += 1;
                }
                Kind::Copy { .. } | Kind::Reduce { .. } => {
                    over += precise(script.bytes(action.kind)) * self.seconds_per_byte;
                }
                Kind::Await { thread, steps } => {
                    let ends = &self.hands[rank][usize::from(thread)].ends;
                    let last = (steps as usize).checked_sub(1);
                    over = over.max(last.map_or(Some(0.0), |last| ends.get(last).copied())?);
                }
                // A step does not wait for its sends.
                Kind::Send { .. } => {}
            }
        }
        for (port, count) in taken {
            if let Some(arrivals) = self.arrivals.get_mut(&(own, port)) {
                arrivals.drain(..count);
            }
        }
        Some(over)
    }
}

fn name(rank: usize) -> Rank {
    Rank::new(u32::try_from(rank).unwrap_or(u32::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "bytes in memory stay below 2^53")]
fn precise(bytes: usize) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use weft_base::Span;
    use weft_collective::{Collective, algorithm};

    use super::*;

    /// 1 us, and 1 GB/s: a byte takes a nanosecond.
    fn microseconds(name: &str, collective: Collective, bytes: u64, ranks: u32) -> f64 {
        let speeds = Speeds { latency: Span::picoseconds(1_000_000), bytes_per_s: 1e9 };
        let call = Call { in_place: true, ..Call::bytes(collective, bytes) };
        let entry = algorithm(name).unwrap();
        seconds(entry, &call, &Terrain::flat(ranks), speeds).unwrap() * 1e6
    }

    #[test]
    fn plans_take_what_their_closed_forms_say() {
        let close =
            |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-6 * wanted, "{found} {wanted}");
        // 2 (n - 1) steps of a latency and an n-th of 8,000 ns.
        close(microseconds("ring", Collective::AllReduce, 8000, 4), 6.0 * (1.0 + 2.0));
        // log2 n steps of everything.
        close(microseconds("recursive-doubling", Collective::AllReduce, 8000, 8), 3.0 * (1.0 + 8.0));
        // Up and down: a thread that waits for another one is not free to go on.
        assert!(microseconds("double-binary-tree", Collective::AllReduce, 8, 2) > 2.0);
    }
}
