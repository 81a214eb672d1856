//! Switches that add and copy on the way.

use super::{knows, lane, phase};
use crate::movements::{
    Gather, Scatter, SwitchCollect, SwitchFollow, SwitchGather, SwitchScatter, SwitchSpread,
};
use crate::{Algorithm, Call, Collective, Groups, Plan, Shape, Terrain, Unsuitable, Window};

/// Each rank has switches add its part of all others, and copy it to all others: each byte crosses each link once.
#[derive(Debug, Clone, Copy)]
pub struct InSwitch {
    /// Whether switches add up along a tree of them; else one switch must join all ranks.
    pub tree: bool,
}

impl InSwitch {
    /// NVLink SHARP.
    pub const NVLS: Self = Self { tree: false };
    /// SHARP in the network.
    pub const SHARP: Self = Self { tree: true };
}

impl Algorithm for InSwitch {
    fn name(&self) -> &'static str {
        if self.tree { "sharp" } else { "nvls" }
    }

    fn title(&self) -> &'static str {
        if self.tree {
            "a tree of network switches adds and copies (Graham et al., COMHPC 2016)"
        } else {
            "one NVSwitch adds and copies (NCCL 2.17, 2023; Klenk et al., ISCA 2020)"
        }
    }

    fn collectives(&self) -> &'static [Collective] {
        &[
            Collective::AllReduce,
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::Broadcast,
            Collective::Reduce,
        ]
    }

    fn needs(&self) -> &'static str {
        if self.tree {
            "network switches that add and copy between all ranks"
        } else {
            "a switch that adds and copies, and that joins all ranks"
        }
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        let (algorithm, all) = (self.name(), Groups::all(terrain.ranks()));
        let (adds, copies) = match call.collective {
            Collective::AllReduce => (true, true),
            Collective::ReduceScatter | Collective::Reduce => (true, false),
            Collective::AllGather
            | Collective::Broadcast
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => (false, true),
        };
        let joined = if self.tree {
            (!adds || terrain.reduces_within(&all)) && (!copies || terrain.multicasts_within(&all))
        } else {
            terrain.joined_by_one(adds, copies)
        };
        match (joined, self.tree) {
            (true, _) => Ok(()),
            (false, true) => Err(Unsuitable::Terrain {
                algorithm,
                needs: "network switches that add and copy between all ranks",
            }),
            (false, false) => Err(Unsuitable::Terrain {
                algorithm,
                needs: "a switch that adds and copies, and that joins all ranks",
            }),
        }
    }

    /// As others, but each rank's piece of a turn is 32 KiB or more: a turn costs every rank a message to each other.
    fn shape(&self, call: &Call, terrain: &Terrain) -> Shape {
        let shape = Shape::of(call);
        let turns = shape.pipeline * SHARERS / terrain.ranks().max(SHARERS);
        Shape { pipeline: turns.max(1), ..shape }
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let mut plan = Plan::empty(ranks);
        let (in_place, root) = (call.in_place, call.root.get());
        for channel in 0..shape.channels {
            let (window, pieces) = lane(call.collective, ranks, shape.channels, channel);
            let whole = || Window::at(u32::from(channel), 1);
            let (phases, pieces) = match call.collective {
                Collective::ReduceScatter => {
                    let scatter = SwitchScatter { data: Scatter::part(in_place), turns: 1 };
                    (vec![phase(ranks, channel, window, scatter)], pieces)
                }
                Collective::AllGather => {
                    let gather = SwitchGather { data: Gather::part(in_place) };
                    (vec![phase(ranks, channel, window, gather)], pieces)
                }
                Collective::Broadcast => {
                    let spread = SwitchSpread { root, in_place };
                    (vec![phase(ranks, channel, whole(), spread)], u32::from(shape.channels))
                }
                Collective::Reduce => {
                    let collect = SwitchCollect { root, in_place };
                    (vec![phase(ranks, channel, whole(), collect)], u32::from(shape.channels))
                }
                Collective::AllReduce | Collective::AllToAll | Collective::SendRecv | Collective::Barrier => {
                    let turns = if ranks > 1 { shape.pipeline.max(1) } else { 1 };
                    let (window, pieces) =
                        (Window::at(u32::from(channel) * ranks * turns, 1), pieces * turns);
                    let scatter = SwitchScatter { data: Scatter::all_reduce(in_place), turns };
                    let first = phase(ranks, channel, window.clone(), scatter);
                    if turns == 1 {
                        let gather = SwitchGather { data: Gather::Placed };
                        (vec![first, phase(ranks, channel, window, gather)], pieces)
                    } else {
                        // Adding keeps one direction of the links busy, copying the other.
                        let thread = u16::try_from(plan.threads.len()).unwrap_or(u16::MAX);
                        plan.threads.push(vec![first]);
                        (vec![phase(ranks, channel, window, SwitchFollow { thread, turns })], pieces)
                    }
                }
            };
            plan.pieces = pieces;
            plan.threads.push(phases);
        }
        plan
    }
}

/// Ranks among which a chunk of 256 KiB gives pieces of 32 KiB.
const SHARERS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::{traffic, verified};
    use crate::{Edge, Switch, Vertex};

    const ABLE: Switch = Switch { reduces: true, multicasts: true };

    #[test]
    fn an_all_reduce_sends_the_data_once() {
        // 7/8 of 8,000 bytes as contributions, then an eighth that the switch copies: two steps.
        let terrain = Terrain::switched(1, 8, (ABLE, 1), (Switch::default(), 1));
        let call = Call::bytes(Collective::AllReduce, 8000);
        let traffic = traffic(&InSwitch::NVLS.plan(&call, &terrain), &call);
        assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes, rank.messages) == (2, 8000, 8)));
    }

    #[test]
    fn sharp_needs_a_tree_where_nvls_needs_one_switch() {
        // Two leaves below a spine.
        let edges = [(0, 2), (1, 3), (2, 4), (3, 4)].into_iter();
        let edge = |(from, to)| Edge { from: Vertex(from), to: Vertex(to), capacity: 1 };
        let edges = edges.flat_map(|(low, high)| [edge((low, high)), edge((high, low))]).collect();
        let terrain = Terrain::hosts(2, 1).with_graph(vec![ABLE; 3], edges);
        let call = Call::bytes(Collective::AllReduce, 8);
        assert!(InSwitch::SHARP.suits(&call, &terrain).is_ok());
        let refused = InSwitch::NVLS.suits(&call, &terrain).unwrap_err();
        assert_eq!(refused.to_string(), "nvls needs a switch that adds and copies, and that joins all ranks");
        assert!(InSwitch::SHARP.suits(&call, &Terrain::flat(2)).is_err());
    }

    #[test]
    fn channels_are_right() {
        assert!(verified(&InSwitch::NVLS, &[1, 2, 4], Some(Shape { channels: 2, pipeline: 1 })) > 20);
        assert!(verified(&InSwitch::NVLS, &[1, 2, 3, 4, 8], Some(Shape { channels: 2, pipeline: 3 })) > 20);
    }
}
