//! Builds a cluster and prints its size, how long that took and what it held in memory:
//! `cargo run --release -p weft-topology --example scale`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement to run by hand")]

use std::time::Instant;

use weft_catalogue::{Catalogue, LinkFamily};
use weft_topology::{NodeKind, Topology, build, oneliner};

const USUAL: &str = "16384 x dgx-h100 @ rail-optimized(leaf 128x400G)";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = std::env::args().nth(1).unwrap_or_else(|| USUAL.to_owned());
    let catalogue = Catalogue::embedded();
    let machine = oneliner::parse(&line, catalogue).map_err(|finding| finding.to_string())?;
    let start = Instant::now();
    let topology = build(&machine, catalogue)?.topology;
    let taken = start.elapsed();
    println!("{line}");
    println!("hosts         {:>10}", topology.hosts());
    println!("GPUs          {:>10}", topology.of_kind(NodeKind::Gpu).count());
    println!("nodes         {:>10}", topology.nodes().len());
    println!("half-links    {:>10}", topology.links().len());
    let network = topology.links().filter(|(_, link)| topology.family(link) == LinkFamily::Network).count();
    println!("  of networks {network:>10}");
    println!("hash    {:016x}", hash(&topology));
    println!("built in      {:>7} ms", taken.as_millis());
    println!("peak memory   {:>7} MiB", peak_kibibytes() / 1024);
    Ok(())
}

/// FNV-1a over all links, so that two builds can be compared at a glance.
fn hash(topology: &Topology) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |value: u64| hash = (hash ^ value).wrapping_mul(0x0100_0000_01b3);
    for (_, link) in topology.links() {
        add(link.from.index() as u64);
        add(link.to.index() as u64);
        add(link.capacity.get());
        add(u64::from(link.count));
        add(link.twin.index() as u64);
    }
    hash
}

/// The most memory that the process held, as Linux counts it; 0 elsewhere.
fn peak_kibibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
