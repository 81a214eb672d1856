//! Dragonfly+: groups of leaves and spines, and links from the spines of each group to those of every other
//! (Shpiner et al., "Dragonfly+: Low Cost Topology for Scaling Datacenters", HiPINEB 2017).

use std::collections::BTreeMap;

use weft_catalogue::Network;

use super::clos::down_ports;
use super::{Switches, Unfit, even_spread, join, spread, whole_leaves};
use crate::build::Wire;
use crate::graph::NodeId;

/// Sizes of a dragonfly+, in switches and links.
pub(super) struct DragonflyPlus {
    /// Leaves of all groups together; groups differ by one at most.
    pub leaves: usize,
    /// Whether the number of leaves was asked for, rather than as few as hold the NICs.
    pub leaves_are_given: bool,
    /// Ports of a leaf that face spines.
    up: usize,
    groups: usize,
    spines_per_group: usize,
    /// Links between each two groups.
    links_per_pair: usize,
}

impl DragonflyPlus {
    pub fn new(design: &Network, hosts: usize, rails: usize, down: usize) -> Result<Self, Unfit> {
        let radix = usize::from(design.radix);
        let up = radix - down;
        let most_down = down_ports("spine-oversubscription", radix, design.spine_oversubscription)?;
        let needed = whole_leaves(hosts, rails, down);
        let (groups, leaves) = match (design.groups.map(usize::from), design.leaves.map(usize::from)) {
            (None, None) => (needed.div_ceil(most_down), needed),
            (Some(groups), None) => (groups, needed),
            (None, Some(leaves)) => (needed.div_ceil(leaves.max(1)), needed),
            (Some(groups), Some(leaves)) => (groups, groups * leaves),
        };
        let leaves_are_given = design.groups.is_some() && design.leaves.is_some();
        if leaves < needed {
            let reason = format!("{leaves} leaves hold too few NICs: {hosts} hosts need {needed}");
            return Err(Unfit::new("leaves", reason));
        }
        if groups == 0 || groups > leaves {
            let reason = format!("{groups} groups, but {hosts} hosts fill no more than {needed} leaves");
            return Err(Unfit::new("groups", reason).hint("name `leaves` too for leaves that are not full"));
        }
        if leaves_are_given && leaves > hosts {
            let reason = format!("{leaves} leaves, but only {hosts} hosts to put at them");
            return Err(Unfit::new("leaves", reason).hint("each leaf has at least one host"));
        }
        let largest = leaves.div_ceil(groups);
        let spines = design.spines.map_or_else(|| even_spread(largest, up, most_down), usize::from);
        if spines == 0 || spines > up {
            let reason = format!("{spines} spines in a group, but a leaf has {up} ports for them");
            return Err(Unfit::new("spines", reason));
        }
        let spine_down = largest * up.div_ceil(spines);
        let global = radix.saturating_sub(spine_down) * spines;
        if spine_down > radix {
            let reason =
                format!("a spine of {radix} ports cannot hold {spine_down} links of its {largest} leaves");
            let option = if design.spines.is_some() { "spines" } else { "leaves" };
            return Err(Unfit::new(option, reason).hint("more spines or fewer leaves in each group"));
        }
        let links_per_pair = if groups > 1 { global / (groups - 1) } else { 0 };
        if groups > 1 && links_per_pair == 0 {
            let reason = format!(
                "each of {groups} groups needs {} links to the others, but its {spines} spines have {global} ports left",
                groups - 1
            );
            return Err(
                Unfit::new("", reason).hint("name switches of more ports, or fewer and larger groups")
            );
        }
        Ok(Self { leaves, leaves_are_given, up, groups, spines_per_group: spines, links_per_pair })
    }

    /// Switches of both tiers, leaves first.
    pub fn switches(&self) -> Vec<usize> {
        vec![self.leaves, self.spines_per_group * self.groups]
    }

    /// Links from leaves to spines, and between the groups.
    pub fn links(&self) -> Vec<usize> {
        let pairs = self.groups * self.groups.saturating_sub(1) / 2;
        vec![self.leaves * self.up, pairs * self.links_per_pair]
    }

    /// Adds the spines above `leaves`, and the links between groups.
    pub fn lay(&self, switches: &mut Switches<'_, '_>, leaves: &[NodeId], wire: Wire) {
        let spines = switches.add(self.spines_per_group * self.groups);
        let spines: Vec<&[NodeId]> = spines.chunks(self.spines_per_group).collect();
        for (leaves, spines) in spread(leaves, self.groups).zip(&spines) {
            join(switches, leaves, spines, self.up, 0, wire);
        }
        for a in 0..self.groups {
            for b in a + 1..self.groups {
                for ((from, to), links) in self.between(a, b) {
                    switches.bundle(spines[a][from], spines[b][to], links, wire);
                }
            }
        }
    }

    /// How many links join which spine of group `a` to which of group `b`.
    ///
    /// Each group numbers its global links by the groups that they lead to, from the next one on, and deals them out
    /// to its spines in turn: so no spine has more than one above its share.
    fn between(&self, a: usize, b: usize) -> BTreeMap<(usize, usize), usize> {
        let first =
            |from: usize, to: usize| (to + self.groups - from - 1) % self.groups * self.links_per_pair;
        let mut bundles = BTreeMap::new();
        for link in 0..self.links_per_pair {
            let ends =
                ((first(a, b) + link) % self.spines_per_group, (first(b, a) + link) % self.spines_per_group);
            *bundles.entry(ends).or_insert(0) += 1;
        }
        bundles
    }
}
