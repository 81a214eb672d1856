//! Topologies as networks: which links messages use, and what they reach.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use weft_base::{Rate, Span};
use weft_collective::{Rank, Ranks};
use weft_simulator::machine::{Carriage, Choice, Facts, Machine, add_links};
use weft_simulator::{Engine, Router};
use weft_testkit::Catalogue;
use weft_topology::{LinkFamily, NodeKind, Topology, build, oneliner};

/// Switches without latency; those of NVLink add and copy.
struct Plain;

impl Facts for Plain {
    fn switch_latency(&self, _model: &str) -> Span {
        Span::ZERO
    }
    fn reduces(&self, model: &str) -> bool {
        model.starts_with("nvswitch")
    }
}

fn topology(line: &str) -> Topology {
    let machine = oneliner::parse(line, Catalogue::embedded()).unwrap();
    build(&machine, Catalogue::embedded()).unwrap().topology
}

fn machine<'t>(topology: &'t Topology, choice: Choice, engine: &mut Engine) -> Machine<'t> {
    let gpus = topology.of_kind(NodeKind::Gpu).collect();
    let first = add_links(engine, topology);
    Machine::new(topology, &Plain, first, gpus, (choice, Carriage::BARE))
}

/// What one message alone reaches, in GB/s, and the network links that it uses with its share on each.
fn alone(topology: &Topology, choice: Choice, (from, to): (u32, u32)) -> (f64, Vec<f64>) {
    let mut engine = Engine::new();
    let mut machine = machine(topology, choice, &mut engine);
    let path = machine.path(&mut engine, Rank::new(from), Rank::new(to), 0).unwrap();
    let on_network = |resource| {
        let link = topology.link(machine.link(resource).unwrap());
        topology.family(link) == LinkFamily::Network
    };
    let shares: Vec<f64> =
        engine.uses(path).iter().filter(|used| on_network(used.resource)).map(|used| used.weight).collect();
    let rates =
        engine.uses(path).into_iter().map(|used| engine.capacity(used.resource).as_gigabytes() / used.weight);
    (rates.fold(f64::INFINITY, f64::min), shares)
}

#[test]
fn nvlink_within_a_host_and_the_rail_between_hosts() {
    let cluster = topology("4 x dgx-h100 @ rail-optimized(leaf 64x400G)");
    // NVLink 4: 18 links of 25 GB/s each way, spread over 4 NVSwitches.
    assert_eq!(alone(&cluster, Choice::ByDestination, (0, 5)), (450.0, vec![]));
    // 400 Gb/s = 50 GB/s; out of NIC 0 of host 0, in at NIC 0 of host 1.
    assert_eq!(alone(&cluster, Choice::ByDestination, (0, 8)), (50.0, vec![1.0, 1.0]));
}

#[test]
fn leaves_and_spines_are_crossed_on_one_way_or_on_all() {
    // 64 hosts: 2 groups of 32 on 8 leaves each, 32 uplinks of a leaf spread over 8 spines, 4 to each.
    let cluster = topology("64 x dgx-h100 @ rail-optimized(leaf 64x400G)");
    let far = (0, 32 * 8);
    // 4 links, of which the middle two are bundles of 4 and one link of each.
    assert_eq!(alone(&cluster, Choice::ByDestination, far), (50.0, vec![1.0; 6]));
    assert_eq!(alone(&cluster, Choice::Hash { seed: 1 }, far).1, vec![1.0; 6]);
    let (rate, mut shares) = alone(&cluster, Choice::Spray, far);
    shares.sort_by(f64::total_cmp);
    // 8 up and 8 down with an eighth each, and the two NIC links.
    assert_eq!((rate, shares.len(), shares[0], shares[17]), (50.0, 18, 0.125, 1.0));
}

#[test]
fn rails_that_no_switch_joins_give_no_path_and_switches_that_add_give_one() {
    let host = topology("dgx-h100");
    let mut engine = Engine::new();
    let mut machine = machine(&host, Choice::Spray, &mut engine);
    let all = Ranks { first: Rank::new(0), stride: 1, count: 8 };
    let path = machine.multicast(&mut engine, Rank::new(3), all).unwrap();
    // One GPU's links up to 4 switches, seven GPUs' down.
    assert_eq!(engine.uses(path).len(), 32);
    assert!(engine.alone(path, weft_base::Bytes::new(450_000)).unwrap() >= Span::picoseconds(1_000_000));
    let loose = topology("2 x dgx-h100");
    let mut engine = Engine::new();
    let mut machine = self::machine(&loose, Choice::Spray, &mut engine);
    assert_eq!(machine.path(&mut engine, Rank::new(0), Rank::new(8), 0), None);
    assert!(engine.capacity(machine.resource(loose.links().next().unwrap().0)) > Rate::ZERO);
}
