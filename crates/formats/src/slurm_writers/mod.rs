//! Topologies for Slurm, of what was read of a cluster: `topology.conf` and `topology.yaml`.

mod conf;
mod yaml;

use std::collections::BTreeSet;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Hierarchy, HierarchyKind};
use crate::hierarchy::{grouped, of_fabrics, of_subnet};
use crate::writers::{WriterInput, lacks};

pub use conf::SlurmTopologyConfWriter;
pub use yaml::SlurmTopologyYamlWriter;

/// A topology that Slurm can have, and what has to be said of it.
struct Topology {
    hierarchy: Hierarchy,
    notes: Vec<String>,
}

impl Topology {
    fn name(&self) -> String {
        self.hierarchy.name.clone().unwrap_or_else(|| self.hierarchy.kind.word().to_owned())
    }
}

/// All topologies of the input, the cluster's own first.
fn topologies(input: &WriterInput<'_>, catalogue: &Catalogue) -> Result<Vec<Topology>, Diagnostic> {
    let mut found = Vec::new();
    for evidence in &input.case.evidence {
        if let Evidence::Hierarchy(hierarchy) = &evidence.value {
            found.extend(split(hierarchy));
        }
    }
    if found.is_empty() {
        if let Some(subnet) = input.subnet(catalogue) {
            found.push(tree(&of_subnet(&subnet), true));
        }
        found.extend(of_fabrics(input.topology).map(|hierarchy| Topology { hierarchy, notes: Vec::new() }));
        found.retain(|one| !one.hierarchy.leaves.is_empty());
    }
    if found.is_empty() {
        let hint = "give a topology file, the output of `ibnetdiscover`, or servers with a network: `32 x dgx-h100 @ fat-tree`";
        return Err(lacks("the input says nothing of how hosts hang under switches or in blocks").hint(hint));
    }
    found.sort_by_key(|one| !one.hierarchy.is_default);
    if let Some(first) = found.first_mut() {
        first.hierarchy.is_default = true;
    }
    for one in &mut found {
        clean(&mut one.hierarchy);
    }
    Ok(found)
}

/// A hierarchy as a tree of its switches and as its blocks, since Slurm has either.
fn split(hierarchy: &Hierarchy) -> Vec<Topology> {
    let has = |is_block: bool| hierarchy.nodes.iter().any(|node| node.is_block == is_block);
    if !(has(true) && has(false)) {
        return vec![tree(hierarchy, false)];
    }
    let only_blocks = Hierarchy { kind: HierarchyKind::Blocks, is_default: false, ..only(hierarchy, true) };
    let notes = vec!["Blocks of the same hosts as the switches.".to_owned()];
    vec![tree(&only(hierarchy, false), false), Topology { hierarchy: only_blocks, notes }]
}

/// The blocks alone, or the switches alone, each with the hosts that are under one.
fn only(given: &Hierarchy, is_block: bool) -> Hierarchy {
    let mut index = vec![None; given.nodes.len()];
    let mut made = Hierarchy { nodes: Vec::new(), leaves: Vec::new(), ..given.clone() };
    for (node, own) in given.nodes.iter().enumerate().filter(|(_, node)| node.is_block == is_block) {
        index[node] = Some(made.nodes.len());
        made.nodes.push(own.clone());
    }
    let moved =
        |under: &[usize]| under.iter().filter_map(|node| index.get(*node).copied().flatten()).collect();
    for node in &mut made.nodes {
        node.under = moved(&node.under);
    }
    for leaf in &given.leaves {
        let under: Vec<usize> = moved(&leaf.under);
        if !under.is_empty() {
            made.leaves.push(crate::evidence::HierarchyLeaf { name: leaf.name.clone(), under });
        }
    }
    if !is_block {
        made.block_sizes.clear();
    }
    made
}

/// Groups of switches where a host hangs under several, which Slurm cannot say; always, if `is_network`.
fn tree(hierarchy: &Hierarchy, is_network: bool) -> Topology {
    let mut notes = Vec::new();
    let is_doubled =
        hierarchy.kind == HierarchyKind::Tree && hierarchy.leaves.iter().any(|leaf| leaf.under.len() > 1);
    let mut made = hierarchy.clone();
    if is_doubled || is_network {
        let groups;
        (made, groups) = grouped(hierarchy);
        if is_doubled {
            notes.push(
                "Hosts have ports on several leaves, each on its rail; a tree cannot say that.".to_owned(),
            );
        }
        if groups > 0 {
            notes.push("Switches that serve the same hosts or switches are one, named as its first; the comment above".to_owned());
            notes.push("it names all.".to_owned());
        }
    }
    let lone = made.leaves.iter().filter(|leaf| leaf.under.is_empty());
    let lone: Vec<&str> = lone.map(|leaf| leaf.name.as_str()).collect();
    if !lone.is_empty() && !made.nodes.is_empty() {
        notes.push(format!("Under no switch: {}", crate::hierarchy::compress(lone)));
    }
    Topology { hierarchy: made, notes }
}

/// Names without characters that mean something in a host list, each once.
fn clean(hierarchy: &mut Hierarchy) {
    let mut seen = BTreeSet::new();
    for name in hierarchy.nodes.iter_mut().map(|node| &mut node.name) {
        *name = cleaned(name, &mut seen);
    }
    let mut seen = BTreeSet::new();
    for name in hierarchy.leaves.iter_mut().map(|leaf| &mut leaf.name) {
        *name = cleaned(name, &mut seen);
    }
}

fn cleaned(name: &str, seen: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let base: String = name.trim().chars().map(plain).collect();
    let base = if base.is_empty() { "unnamed".to_owned() } else { base };
    let mut name = base.clone();
    let mut number = 2;
    while seen.contains(&name) {
        name = format!("{base}-{number}");
        number += 1;
    }
    seen.insert(name.clone());
    name
}

/// Host list of what is right under each node: hosts, then nodes.
fn lists(hierarchy: &Hierarchy) -> Vec<(String, String)> {
    let compress = |names: Vec<&str>| crate::hierarchy::compress(names);
    let (hosts, children) = (hierarchy.hosts(), hierarchy.children());
    let list = |(hosts, children): (&Vec<usize>, &Vec<usize>)| {
        let hosts = hosts.iter().map(|host| hierarchy.leaves[*host].name.as_str()).collect();
        let children = children.iter().map(|node| hierarchy.nodes[*node].name.as_str()).collect();
        (compress(hosts), compress(children))
    };
    hosts.iter().zip(&children).map(list).collect()
}
