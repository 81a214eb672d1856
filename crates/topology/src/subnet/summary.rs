//! What an engineer asks of a network first: leaves with what goes down and up, and rails.

use weft_base::Rate;

use super::{Subnet, SubnetNodeKind};

/// A switch with hosts below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubnetLeaf {
    /// Index into [`Subnet::nodes`].
    pub node: u32,
    /// Cables to hosts.
    pub down: u32,
    /// Cables to other switches.
    pub up: u32,
    /// What all cables to hosts carry in one direction.
    pub down_rate: Rate,
    /// What all cables to other switches carry in one direction.
    pub up_rate: Rate,
}

impl SubnetLeaf {
    /// Down by up, as 1.5 for 3:2; `None` where nothing goes up or rates are not known.
    pub fn oversubscription(&self) -> Option<f64> {
        (self.up_rate > Rate::ZERO).then(|| self.down_rate.as_gigabytes() / self.up_rate.as_gigabytes())
    }
}

impl Subnet {
    /// The leaves, in order of the nodes.
    pub fn leaves(&self) -> Vec<SubnetLeaf> {
        let cables = self.cables();
        let mut leaves = Vec::new();
        for (node, _) in self.of_kind(SubnetNodeKind::Switch) {
            let mut leaf = SubnetLeaf { node, down: 0, up: 0, down_rate: Rate::ZERO, up_rate: Rate::ZERO };
            for link in cables.of(node) {
                let link = &self.links[*link as usize];
                let far = self.node(if link.a.node == node { &link.b } else { &link.a });
                let rate = link.rate.unwrap_or(Rate::ZERO);
                if far.is_aggregation() {
                    continue;
                }
                if far.kind == SubnetNodeKind::Adapter {
                    (leaf.down, leaf.down_rate) = (leaf.down + 1, leaf.down_rate + rate);
                } else {
                    (leaf.up, leaf.up_rate) = (leaf.up + 1, leaf.up_rate + rate);
                }
            }
            leaves.extend((leaf.down > 0).then_some(leaf));
        }
        leaves
    }

    /// How many rails there are: adapter n of every host is on leaves of its own. `None` where adapters of different
    /// numbers share a leaf, or hosts have one.
    pub fn rails(&self) -> Option<usize> {
        let mut rail_of = vec![None; self.nodes.len()];
        let mut rails = 0;
        for host in self.hosts() {
            let mut adapters = host.adapters;
            adapters.sort_by_key(|adapter| number_at_end(&self.nodes[*adapter as usize].name));
            rails = rails.max(adapters.len());
            for (adapter, rail) in adapters.into_iter().zip(0usize..) {
                rail_of[adapter as usize] = Some(rail);
            }
        }
        let mut leaf_rail: Vec<Option<usize>> = vec![None; self.nodes.len()];
        for link in &self.links {
            for (leaf, adapter) in link.directions() {
                let (leaf, Some(rail)) = (leaf.node as usize, rail_of[adapter.node as usize]) else {
                    continue;
                };
                if *leaf_rail[leaf].get_or_insert(rail) != rail {
                    return None;
                }
            }
        }
        (rails > 1).then_some(rails)
    }
}

/// 7 of `host-1 mlx5_7`; names without a number come first.
fn number_at_end(name: &str) -> Option<u64> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name[stem.len()..].parse().ok()
}
