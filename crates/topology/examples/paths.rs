//! Asks for ways through the network of a cluster and prints how long that takes and what it holds in memory:
//! `cargo run --release -p weft-topology --example paths`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement to run by hand")]

use std::time::Instant;

use weft_catalogue::{Catalogue, LinkFamily};
use weft_topology::{NetworkPaths, NodeId, NodeKind, Pick, build, oneliner};

const USUAL: &str = "16384 x dgx-h100 @ rail-optimized(leaf 128x400G)";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = std::env::args().nth(1).unwrap_or_else(|| USUAL.to_owned());
    let catalogue = Catalogue::embedded();
    let machine = oneliner::parse(&line, catalogue).map_err(|finding| finding.to_string())?;
    let start = Instant::now();
    let topology = build(&machine, catalogue)?.topology;
    println!("{line}");
    println!("built in        {:>8} ms", start.elapsed().as_millis());
    let before = held_kibibytes();
    let start = Instant::now();
    let mut paths = NetworkPaths::new(&topology);
    println!("looked over in  {:>8} ms", start.elapsed().as_millis());
    let joined = |nic: &NodeId| {
        topology.links_from(*nic).any(|(_, link)| topology.family(link) == LinkFamily::Network)
    };
    let nics: Vec<NodeId> = topology.of_kind(NodeKind::Nic).filter(joined).collect();
    println!("NICs            {:>8}", nics.len());
    // Far and scattered, on the same rail of up to eight.
    let stride = nics.len() / 2 + 12_344;
    for (what, pick) in [("by destination", Pick::Destination), ("by hash", Pick::Hash { flow_seed: 1 })] {
        let start = Instant::now();
        let mut steps = 0;
        for (index, from) in nics.iter().enumerate() {
            let to = nics[(index * 9 + stride) % nics.len()];
            steps += paths.path(*from, to, pick).map_or(0, |path| path.len());
        }
        let each = start.elapsed().as_nanos() / nics.len().max(1) as u128;
        println!("{what:15} {each:>8} ns a way, {steps} steps");
    }
    let (from, to) = (nics[0], nics[nics.len() - 1]);
    println!("first to last   {:>8} ways", paths.count(from, to));
    println!("held more       {:>8} KiB", held_kibibytes().saturating_sub(before));
    Ok(())
}

/// What the process holds in memory, as Linux counts it; 0 elsewhere.
fn held_kibibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
