//! GPUs as a user names them.

use weft_base::nearest;
use weft_topology::{NodeId, Topology};

/// The GPUs of a list of numbers, ranges and names of the input with commas between; else what is wrong with it.
pub fn listed(text: &str, all: &[NodeId], topology: &Topology) -> Result<Vec<NodeId>, String> {
    let mut found: Vec<NodeId> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let numbers = match item.split_once('-') {
            Some((first, last)) => first.trim().parse().ok().zip(last.trim().parse().ok()),
            None => item.parse().ok().map(|number: usize| (number, number)),
        };
        let nodes = match numbers {
            Some((first, last)) if first <= last => all.get(first..=last).map(<[NodeId]>::to_vec),
            Some(_) => None,
            None => all.iter().find(|node| topology.name(**node) == item).map(|node| vec![*node]),
        };
        found.extend(nodes.ok_or_else(|| format!("there is no GPU `{item}`{}", near(item, all, topology)))?);
    }
    let mut unique = found.clone();
    unique.sort();
    unique.dedup();
    if unique.len() < found.len() { Err("a GPU is named twice".to_owned()) } else { Ok(found) }
}

fn near(item: &str, all: &[NodeId], topology: &Topology) -> String {
    let names: Vec<String> = all.iter().map(|node| topology.name(*node)).collect();
    let near = nearest(item, names.iter().map(String::as_str), 1);
    near.first().map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
