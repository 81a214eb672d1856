//! Two binary trees, each over half of the data.

use super::{knows, phase};
use crate::movements::{Reached, Tree, TreeDown, TreeUp};
use crate::{Algorithm, Call, Collective, Plan, Shape, Terrain, Unsuitable, Window};

/// The double binary tree: nobody passes data on in both trees, so that both together use all links in both
/// directions; latency is logarithmic.
#[derive(Debug, Clone, Copy)]
pub struct DoubleTree;

/// Both trees.
pub(super) const TREES: [Tree; 2] = [Tree::First, Tree::Second];

impl Algorithm for DoubleTree {
    fn name(&self) -> &'static str {
        "double-binary-tree"
    }

    fn title(&self) -> &'static str {
        "two binary trees over half of the data each, in chunks (Sanders, Speck and Träff, 2009; NCCL 2.4, 2019)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllReduce, Collective::Broadcast, Collective::Reduce]
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let mut plan = Plan::empty(ranks);
        let (chunks, in_place) = (shape.pipeline, call.in_place);
        let lanes = (0..shape.channels).flat_map(|channel| TREES.map(|tree| (channel, tree)));
        for (lane, (channel, tree)) in (0..).zip(lanes) {
            let window = Window::at(lane * chunks, 1);
            let thread = u16::try_from(plan.threads.len()).unwrap_or(u16::MAX);
            if call.collective == Collective::AllReduce {
                // Roots of different channels are different ranks: a root is in no tree, and works less.
                let root = u32::from(channel) % ranks.max(1);
                let up = TreeUp::reduce(tree, root, chunks, in_place);
                let reached = Reached::Awaits { thread, after: 0, in_place };
                let down = TreeDown { tree, root, chunks, reached };
                plan.threads.push(vec![phase(ranks, thread, window.clone(), up)]);
                plan.threads.push(vec![phase(ranks, thread + 1, window, down)]);
                continue;
            }
            let root = call.root.get();
            plan.threads.push(vec![if call.collective == Collective::Reduce {
                phase(ranks, thread, window, TreeUp::reduce(tree, root, chunks, in_place))
            } else {
                let reached = Reached::input(in_place);
                phase(ranks, thread, window, TreeDown { tree, root, chunks, reached })
            }]);
        }
        plan.scratch = u16::from(call.collective.reduces());
        plan.pieces = 2 * u32::from(shape.channels) * chunks;
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::{traffic, verified};
    use crate::{Rank, verify};

    #[test]
    fn nobody_sends_more_than_the_data_up_and_down() {
        // All-reduce of 1,000 bytes over 8: rank 0 is above both trees: half of the data to each of two below it.
        // Others are leaves in one tree (half up) and have two, or one, below them in the other (half up, as much
        // down to each).
        let call = Call::bytes(Collective::AllReduce, 1000);
        let traffic = traffic(&DoubleTree.plan(&call, &Terrain::flat(8)), &call);
        assert_eq!((traffic[0].sent_bytes, traffic[0].peers), (1000, 2));
        assert!(traffic.iter().all(|rank| rank.sent_bytes <= 2000));
        // 7 messages up and 7 down in each tree, of 500 bytes.
        assert_eq!(traffic.iter().map(|rank| rank.sent_bytes).sum::<u64>(), 2 * 2 * 7 * 500);
    }

    #[test]
    fn a_chunk_takes_log2_messages_up_and_down() {
        // 64 ranks: 63 below the root are a full tree of 6 levels. In one chunk: 6 messages up, 6 down.
        let call = Call::bytes(Collective::AllReduce, 64);
        let proof = verify(&DoubleTree.plan(&call, &Terrain::flat(64)), &call).unwrap();
        assert_eq!(proof.chain, 2 * 6);
        // In 5 chunks a broadcast takes 4 more.
        let call = Call { root: Rank::new(9), ..Call::bytes(Collective::Broadcast, 64) };
        let shape = Shape { channels: 1, pipeline: 5 };
        let proof = verify(&DoubleTree.plan_with(&call, &Terrain::flat(64), shape), &call).unwrap();
        assert_eq!(proof.chain, 6 + 4);
    }

    #[test]
    fn channels_and_chunks_are_right() {
        for (channels, pipeline) in [(1, 2), (2, 3)] {
            assert!(verified(&DoubleTree, &[1, 2, 3, 8, 11], Some(Shape { channels, pipeline })) > 100);
        }
    }
}
