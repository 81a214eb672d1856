//! Switches that a host or a switch hangs under together, made into one: what a tree can say of a network whose
//! hosts have a port on each of several leaves.

use std::collections::BTreeMap;

use super::host_list::compress;
use crate::evidence::{Hierarchy, HierarchyLeaf, HierarchyNode};

/// The same hosts, each under one switch at most, and each switch under one at most. Blocks are left out. The
/// second value counts the groups of more than one switch.
pub(crate) fn grouped(given: &Hierarchy) -> (Hierarchy, usize) {
    let levels = given.levels();
    let mut sets = Sets::new(given.nodes.len());
    let switches = |under: &[usize]| -> Vec<usize> {
        under
            .iter()
            .copied()
            .filter(|node| given.nodes.get(*node).is_some_and(|node| !node.is_block))
            .collect()
    };
    let lowest = |nodes: &[usize]| nodes.iter().map(|node| levels[*node]).min();
    for leaf in &given.leaves {
        sets.join(&at_level(&switches(&leaf.under), &levels, lowest(&switches(&leaf.under))));
    }
    let top = levels.iter().max().copied().unwrap_or(0);
    let mut parents: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for level in 0..=top {
        let mut above: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, node) in given.nodes.iter().enumerate() {
            if levels[index] == level && !node.is_block {
                above.entry(sets.root(index)).or_default().extend(switches(&node.under));
            }
        }
        for (group, all) in above {
            let near = at_level(&all, &levels, lowest(&all));
            sets.join(&near);
            parents.insert(group, near);
        }
    }
    let mut index: BTreeMap<usize, usize> = BTreeMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (node, _) in given.nodes.iter().enumerate().filter(|(_, node)| !node.is_block) {
        let group = *index.entry(sets.root(node)).or_insert_with(|| {
            members.push(Vec::new());
            members.len() - 1
        });
        members[group].push(node);
    }
    let group_of = |sets: &mut Sets, nodes: &[usize]| -> Vec<usize> {
        nodes.first().and_then(|node| index.get(&sets.root(*node))).copied().into_iter().collect()
    };
    let mut made =
        Hierarchy { nodes: Vec::new(), leaves: Vec::new(), block_sizes: Vec::new(), ..given.clone() };
    for all in &members {
        let first = &given.nodes[all[0]];
        let under = parents.get(&sets.root(all[0])).cloned().unwrap_or_default();
        let names = all.iter().map(|node| given.nodes[*node].name.as_str());
        let alias = if all.len() > 1 { Some(compress(names)) } else { first.alias.clone() };
        made.nodes.push(HierarchyNode { alias, under: group_of(&mut sets, &under), ..first.clone() });
    }
    for leaf in &given.leaves {
        let own = switches(&leaf.under);
        let under = group_of(&mut sets, &at_level(&own, &levels, lowest(&own)));
        made.leaves.push(HierarchyLeaf { name: leaf.name.clone(), under });
    }
    (made, members.iter().filter(|all| all.len() > 1).count())
}

fn at_level(nodes: &[usize], levels: &[usize], level: Option<usize>) -> Vec<usize> {
    nodes.iter().copied().filter(|node| Some(levels[*node]) == level).collect()
}

/// Disjoint sets of nodes; the root of a set is its least member.
struct Sets {
    above: Vec<usize>,
}

impl Sets {
    fn new(count: usize) -> Self {
        Self { above: (0..count).collect() }
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.above[node] != node {
            self.above[node] = self.above[self.above[node]];
            node = self.above[node];
        }
        node
    }

    fn join(&mut self, nodes: &[usize]) {
        let Some(first) = nodes.first() else { return };
        for other in &nodes[1..] {
            let (a, b) = (self.root(*first), self.root(*other));
            self.above[a.max(b)] = a.min(b);
        }
    }
}
