//! How long `synthesised` takes to make a plan, how long the proof takes, and how near to the limit its trees come:
//! `cargo run --release -p weft-collective --example synthesised`.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "a measurement")]
#![allow(clippy::cast_precision_loss, reason = "a share to be printed")]

use std::time::Instant;

use weft_collective::algorithms::Synthesised;
use weft_collective::limit::limit;
use weft_collective::{Algorithm, Call, Collective, Edge, Level, Switch, Terrain, Vertex, verify};

/// Hosts of 8 GPUs as in a DGX H100: four NVSwitches (MB/s of 4 and 5 links), a PCIe switch with a NIC for each GPU,
/// and four of those below each of two CPUs; a leaf for each rail, and spines above them where there are any.
fn rails(hosts: u32, spines: u32) -> Terrain {
    let ranks = hosts * 8;
    let (mut edges, mut next) = (Vec::new(), ranks);
    let mut switch = || {
        next += 1;
        next - 1
    };
    let leaves: Vec<u32> = (0..8).map(|_| switch()).collect();
    let mut join = |one: u32, other: u32, capacity: u64| {
        let edge = |from, to| Edge { from: Vertex(from), to: Vertex(to), capacity };
        edges.extend([edge(one, other), edge(other, one)]);
    };
    for _ in 0..spines {
        let spine = switch();
        for leaf in &leaves {
            join(*leaf, spine, 50_000 * u64::from(hosts) / u64::from(spines));
        }
    }
    for host in 0..hosts {
        let nvswitches: Vec<u32> = (0..4).map(|_| switch()).collect();
        let cpus = [switch(), switch()];
        join(cpus[0], cpus[1], 64_000);
        for place in 0..8 {
            let gpu = host * 8 + place;
            for (nvswitch, capacity) in nvswitches.iter().zip([100_000, 100_000, 125_000, 125_000]) {
                join(gpu, *nvswitch, capacity);
            }
            let (pcie, nic) = (switch(), switch());
            join(gpu, pcie, 63_015);
            join(pcie, nic, 63_015);
            join(pcie, cpus[place as usize / 4], 63_015);
            join(nic, leaves[place as usize], 50_000);
        }
    }
    let host_of = (0..ranks).map(|rank| rank / 8).collect();
    let hosts = Level { name: "host", group_of: host_of };
    Terrain::flat(ranks).with_level(hosts).with_graph(vec![Switch::default(); (next - ranks) as usize], edges)
}

fn main() {
    println!("terrain         ranks  collective      plan s  threads  proof s  of the limit  in a row");
    let most: u32 = std::env::args().nth(1).map_or(16, |text| text.parse().unwrap());
    for hosts in [2_u32, 4, 8, 16, 32].into_iter().filter(|hosts| *hosts <= most) {
        let switched = Terrain::switched(hosts, 8, (Switch::default(), 9), (Switch::default(), 1));
        for (name, terrain) in
            [("two switches", switched), ("rails", rails(hosts, 0)), ("rails, spines", rails(hosts, 4))]
        {
            for collective in [Collective::AllGather, Collective::AllReduce, Collective::Broadcast] {
                row(name, &terrain, collective);
            }
        }
    }
}

fn row(name: &str, terrain: &Terrain, collective: Collective) {
    let call = Call::message(collective, 1 << 20, terrain.ranks());
    if let Err(reason) = Synthesised.suits(&call, terrain) {
        println!("{name:14}  {:5}  {:14}  {reason}", terrain.ranks(), collective.name());
        return;
    }
    let begun = Instant::now();
    let plan = Synthesised.plan(&call, terrain);
    let planned = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let proof = verify(&plan, &call).unwrap();
    let proved = begun.elapsed().as_secs_f64();
    let forest = Synthesised.spreading(&call, terrain).unwrap();
    // All trees together carry the message; busbw counts it as nccl-tests does.
    let message = forest.tree_rate_in_units.value() * forest.trees.len() as f64;
    let halves = if collective == Collective::AllReduce { 2.0 } else { 1.0 };
    let busbw = message / halves * collective.bus_factor(terrain.ranks() as usize);
    let share = busbw / limit(terrain, collective).unwrap().busbw_in_units.value();
    println!(
        "{name:14}  {:5}  {:14}  {planned:6.2}  {:7}  {proved:7.2}  {:10.1} %  {:8}",
        terrain.ranks(),
        collective.name(),
        plan.threads.len(),
        100.0 * share,
        proof.chain
    );
}
