//! How much a rank does, counted from its own operations.

use weft_base::Bytes;

use crate::{Call, Layout, Op, Plan, Rank};

/// What one rank does in a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Steps of its longest thread.
    pub step_count: u64,
    /// Operations of all threads.
    pub operation_count: u64,
    /// Messages that it sends; a multicast is one, and so is what it gives to a sum in switches.
    pub message_count: u64,
    /// Their bytes.
    pub sent: Bytes,
}

impl Plan {
    /// What a rank does, at the cost of its own operations.
    pub fn work(&self, call: &Call, rank: Rank) -> Work {
        let layout = Layout::new(call, self.ranks, self.pieces);
        let (mut work, mut sent, mut ops) = (Work::default(), 0_u64, Vec::new());
        let threads = u16::try_from(self.threads.len()).unwrap_or(u16::MAX);
        for thread in 0..threads {
            let (mut walk, mut steps) = (self.steps(rank, thread), 0);
            while walk.next_into(&mut ops).is_some() {
                steps += 1;
                work.operation_count += ops.len() as u64;
                for op in ops.drain(..) {
                    let from = match op {
                        Op::Send { from, .. } | Op::Multicast { from, .. } | Op::Contribute { from, .. } => {
                            from
                        }
                        Op::Recv { .. }
                        | Op::RecvReduce { .. }
                        | Op::Copy { .. }
                        | Op::Reduce { .. }
                        | Op::SwitchReduce { .. }
                        | Op::Await { .. } => continue,
                    };
                    work.message_count += 1;
                    sent = sent.saturating_add(layout.slice_bytes(rank, &from));
                }
            }
            work.step_count = work.step_count.max(steps);
        }
        Work { sent: Bytes::new(sent), ..work }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ALGORITHMS, Collective, Switch, Terrain, algorithm, verify};

    #[test]
    fn a_ring_sends_two_rounds_of_chunks() {
        let call = Call::bytes(Collective::AllReduce, 800);
        let plan = algorithm("ring").unwrap().plan(&call, &Terrain::flat(8));
        // 7 steps to add and 7 to hand out, in each a chunk of 100 bytes is sent and one received.
        let work = Work { step_count: 14, operation_count: 28, message_count: 14, sent: Bytes::new(1400) };
        assert_eq!(plan.work(&call, Rank::new(3)), work);
    }

    #[test]
    fn what_ranks_send_is_what_the_proof_counts() {
        let able = Switch { reduces: true, multicasts: true };
        let terrain = Terrain::switched(2, 4, (able, 9), (able, 1));
        let mut compared = 0;
        for algorithm in ALGORITHMS {
            for collective in algorithm.collectives() {
                let call = Call::message(*collective, 4099, 8);
                if algorithm.suits(&call, &terrain).is_err() {
                    continue;
                }
                let plan = algorithm.plan(&call, &terrain);
                let proof = verify(&plan, &call).unwrap();
                let works: Vec<Work> = (0..8).map(|rank| plan.work(&call, Rank::new(rank))).collect();
                let name = (algorithm.name(), collective.name());
                assert_eq!(works.iter().map(|work| work.sent).max(), Some(proof.sent.most), "{name:?}");
                let total: u64 = works.iter().map(|work| work.sent.get()).sum();
                assert_eq!(total, proof.sent.total.get(), "{name:?}");
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared}");
    }
}
