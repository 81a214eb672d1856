//! Switches by level and blocks, with how many hosts hang under each.

use weft_base::Place;
use weft_formats::{Hierarchy, HierarchyKind, HierarchyNode};

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Names in one row.
const NAMES_MAX: usize = 6;

/// Levels, hosts of each leaf, roots, and what is out of line.
pub fn section(hierarchy: &Hierarchy, place: &Place) -> String {
    let mut table = Table::default();
    let mut row = |name: &str, text: String| {
        table.row([Cell::new(name).tone(Tone::Faint), Cell::new(text).wide()]);
    };
    row("hosts", hierarchy.leaves.len().to_string());
    let (levels, hosts) = (hierarchy.levels(), hierarchy.hosts());
    let nodes = || hierarchy.nodes.iter().zip(levels.iter().zip(&hosts));
    let top = nodes().filter(|(node, _)| !node.is_block).map(|(_, (level, _))| *level).max();
    for level in (0..=top.unwrap_or(0)).rev().filter(|_| top.is_some()) {
        let of_level: Vec<_> = nodes().filter(|(node, (own, _))| !node.is_block && **own == level).collect();
        let names = of_level.iter().map(|(node, _)| node.name.as_str());
        let text = format!("{} {}", of_level.len(), bracketed(names));
        row(&format!("{} of level {level}", places(hierarchy.kind)), text);
    }
    let counts = |is_block: bool| -> Vec<usize> {
        let lowest = nodes().filter(|(node, (level, _))| node.is_block == is_block && **level == 0);
        lowest.map(|(_, (_, hosts))| hosts.len()).collect()
    };
    if top.is_some() {
        row("hosts under each", spread(counts(false)));
        let roots: Vec<&HierarchyNode> = hierarchy.roots().filter(|node| !node.is_block).collect();
        row("without one above", bracketed_count(&roots));
    }
    let blocks: Vec<&HierarchyNode> = hierarchy.nodes.iter().filter(|node| node.is_block).collect();
    if !blocks.is_empty() {
        row("blocks", bracketed_count(&blocks));
        row("hosts in each", spread(counts(true)));
    }
    if !hierarchy.block_sizes.is_empty() {
        let sizes: Vec<String> = hierarchy.block_sizes.iter().map(u32::to_string).collect();
        row("block sizes", sizes.join(", "));
    }
    let odd = odd(hierarchy, &hosts);
    if !odd.is_empty() {
        row("other than most", odd.join(", "));
    }
    let name = hierarchy.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let main = if hierarchy.is_default { ", the cluster's default" } else { "" };
    let title =
        format!("{}: {} topology{name}{main} (line {})", hierarchy.format, hierarchy.kind.word(), place.line);
    titled(&title, &table.lines())
}

/// What the nodes that are no blocks are called.
fn places(kind: HierarchyKind) -> &'static str {
    match kind {
        HierarchyKind::Tree | HierarchyKind::Blocks | HierarchyKind::Flat => "switches",
        HierarchyKind::Rings => "rings",
        HierarchyKind::Torus => "pods",
    }
}

fn bracketed_count(nodes: &[&HierarchyNode]) -> String {
    format!("{} {}", nodes.len(), bracketed(nodes.iter().map(|node| node.name.as_str())))
}

fn bracketed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.collect();
    let left = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    match (names.is_empty(), left) {
        (true, _) => String::new(),
        (false, 0) => format!("({})", names.join(", ")),
        (false, _) => format!("({}, and {left} more)", names.join(", ")),
    }
}

/// `16`, or least, median and most.
fn spread(mut counts: Vec<usize>) -> String {
    counts.sort_unstable();
    match (counts.first(), counts.get(counts.len() / 2), counts.last()) {
        (Some(least), Some(_), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(median), Some(most)) => format!("{least} to {most}, median {median}"),
        _ => "none".to_owned(),
    }
}

/// Leaves and blocks with another count of hosts than most of their kind, where more than half agree.
fn odd(hierarchy: &Hierarchy, hosts: &[Vec<usize>]) -> Vec<String> {
    let mut found = Vec::new();
    for is_block in [false, true] {
        let of_kind = || {
            hierarchy
                .nodes
                .iter()
                .zip(hosts)
                .filter(|(node, hosts)| node.is_block == is_block && !hosts.is_empty())
        };
        let mut counts: Vec<usize> = of_kind().map(|(_, hosts)| hosts.len()).collect();
        counts.sort_unstable();
        let Some(&median) = counts.get(counts.len() / 2) else { continue };
        if counts.iter().filter(|count| **count == median).count() * 2 <= counts.len() {
            continue;
        }
        let odd = of_kind().filter(|(_, hosts)| hosts.len() != median);
        found.extend(odd.map(|(node, hosts)| format!("{} has {}", node.name, hosts.len())));
    }
    let left = found.len().saturating_sub(NAMES_MAX);
    found.truncate(NAMES_MAX);
    if left > 0 {
        found.push(format!("and {left} more"));
    }
    found
}
