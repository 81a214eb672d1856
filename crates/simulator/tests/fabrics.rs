//! What tells networks apart: hash collisions, rails, slow NICs, oversubscription.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::collections::BTreeMap;

use common::net::{ends_s, gpus, machine, plain, row, settings, topology};
use weft_base::{Bytes, Rate, Span};
use weft_collective::{Algorithm, Call, Collective, Rank, Terrain, algorithms::Ring};
use weft_simulator::machine::{Carriage, Choice, Machine, add_links};
use weft_simulator::network::network_model;
use weft_simulator::{Engine, Job, ResourceId, Router, Session, Stage};
use weft_topology::{NodeId, NodeKind, Topology};

/// 16 MiB.
const MESSAGE: Bytes = Bytes::new(16 << 20);
/// What it takes over 50 GB/s.
const ALONE_S: f64 = 16_777_216.0 / 50e9;

/// For k from 0 to n the chance that n balls thrown into m bins leave none with more than k:
/// n!/m^n times the coefficient of x^n in (1 + x + x^2/2! + ... + x^k/k!)^m.
fn fullest_bin(balls: usize, bins: u32) -> Vec<f64> {
    let factorial = |n: usize| (1..=n).map(|i| f64::from(u32::try_from(i).unwrap())).product::<f64>();
    let chance = |most: usize| {
        let mut product = vec![1.0];
        for _ in 0..bins {
            let mut next = vec![0.0; balls + 1];
            for (i, a) in product.iter().enumerate() {
                for k in 0..=most.min(balls - i) {
                    next[i + k] += a / factorial(k);
                }
            }
            product = next;
        }
        product[balls] * factorial(balls) / f64::from(bins).powi(i32::try_from(balls).unwrap())
    };
    (0..=balls).map(chance).collect()
}

/// The mean of the largest of so many independent numbers.
fn mean_of_largest(at_most: &[f64], of: i32) -> f64 {
    at_most.iter().map(|chance| 1.0 - chance.powi(of)).sum()
}

/// For each resource of a cluster the switch from which it leads to another switch.
fn between_switches(cluster: &Topology) -> Vec<Option<NodeId>> {
    let mut engine = Engine::new();
    let (machine, _) = machine(cluster, &plain(Choice::Adaptive), &mut engine);
    let is_switch = |node: NodeId| cluster.node(node).kind == NodeKind::NetworkSwitch;
    let from = |index| {
        let link = cluster.link(machine.link(ResourceId::new(index))?);
        (is_switch(link.from) && is_switch(link.to)).then_some(link.from)
    };
    (0..engine.resources()).map(from).collect()
}

/// The most flows on one link out of each switch, for those pairs under a hash with each of some seeds.
fn fullest_ports(cluster: &Topology, seeds: u64, pairs: &[(u32, u32)]) -> Vec<BTreeMap<NodeId, u32>> {
    let switches = between_switches(cluster);
    let mut engine = Engine::new();
    let (mut machine, _) = machine(cluster, &plain(Choice::Adaptive), &mut engine);
    let fullest = |seed| {
        machine.choose(Choice::Hash { seed });
        of_a_hash(&mut machine, &mut engine, &switches, pairs)
    };
    (0..seeds).map(fullest).collect()
}

fn of_a_hash(
    machine: &mut Machine<'_>,
    engine: &mut Engine,
    switches: &[Option<NodeId>],
    pairs: &[(u32, u32)],
) -> BTreeMap<NodeId, u32> {
    let mut flows: BTreeMap<ResourceId, u32> = BTreeMap::new();
    for (from, to) in pairs {
        let path = machine.path(engine, Rank::new(*from), Rank::new(*to), 0).unwrap();
        for used in engine.uses(path) {
            // Bundles carry as much as all their links; it is these that fill.
            let single = engine.capacity(used.resource) == Rate::bytes_per_second(50_000_000_000);
            if single && switches[used.resource.index()].is_some() {
                *flows.entry(used.resource).or_default() += 1;
            }
        }
    }
    let mut fullest = BTreeMap::new();
    for (resource, count) in flows {
        let most = fullest.entry(switches[resource.index()].unwrap()).or_insert(0);
        *most = count.max(*most);
    }
    fullest
}

#[test]
fn hash_collisions_cost_what_balls_in_bins_say_and_adaptive_routing_recovers_it() {
    // Two groups of 16 hosts; in each a leaf for each rail with 16 NICs below and 16 links to 8 spines.
    let cluster = topology("32 x dgx-h100 @ rail-optimized(leaf 32x400G)");
    // Each GPU to the one of its rail in the other group: each leaf throws 16 flows at 16 links.
    let pairs: Vec<(u32, u32)> = (0..256).map(|gpu| (gpu, (gpu + 128) % 256)).collect();
    let at_most = fullest_bin(16, 16);
    let (mut of_leaves, mut of_all) = (Vec::new(), Vec::new());
    for fullest in fullest_ports(&cluster, 400, &pairs) {
        let leaf = |switch: &NodeId| {
            cluster.links_from(*switch).any(|(_, link)| cluster.node(link.to).kind == NodeKind::Nic)
        };
        of_leaves.extend(fullest.iter().filter(|(switch, _)| leaf(switch)).map(|(_, most)| f64::from(*most)));
        of_all.push(f64::from(*fullest.values().max().unwrap()));
    }
    assert_eq!(of_leaves.len(), 16 * 400);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap());
    let (one, all) = (mean_of_largest(&at_most, 1), mean_of_largest(&at_most, 32));
    println!("fullest link of a leaf: {:.3} of 1, theory {one:.3}", mean(&of_leaves));
    // The whole is over when the fullest of 16 leaves' links up and 16 leaves' links down is.
    println!("permutation over ECMP: {:.3} times as long, theory {all:.3}", mean(&of_all));
    // 6,400 leaves with a spread of 0.7 each: three standard errors are 0.03.
    assert!((mean(&of_leaves) - one).abs() < 0.03, "{} not {one}", mean(&of_leaves));
    // 400 permutations with a spread of 0.6: three standard errors are 0.09.
    assert!((mean(&of_all) - all).abs() < 0.09, "{} not {all}", mean(&of_all));
    // Played, the permutation takes as long as its fullest link says; over all ways at once it takes what it must.
    for seed in [1, 2] {
        let ends = ends_s(&cluster, &plain(Choice::Hash { seed }), &pairs, MESSAGE);
        let last = ends.iter().copied().fold(0.0, f64::max);
        let fullest = of_all[usize::try_from(seed).unwrap()];
        let latency = last - fullest * ALONE_S;
        assert!((0.0..5e-6).contains(&latency), "{last} for {fullest}");
    }
    let adaptive = ends_s(&cluster, &plain(Choice::Adaptive), &pairs, MESSAGE);
    assert!(adaptive.iter().all(|end| (end - ALONE_S).abs() < 5e-6), "{adaptive:?}");
}

#[test]
fn an_all_to_all_takes_what_its_fullest_link_says() {
    // A leaf for each host, with 8 NICs below and 8 links up.
    let cluster = topology("4 x dgx-h100 @ fat-tree(leaf 16x400G)");
    let hosts = |gpu: u32| gpu / 8;
    let pairs: Vec<(u32, u32)> = (0..32)
        .flat_map(|from| (0..32).map(move |to| (from, to)))
        .filter(|(from, to)| hosts(*from) != hosts(*to))
        .collect();
    let bytes = Bytes::new(1 << 20);
    let last = |choice| ends_s(&cluster, &plain(choice), &pairs, bytes).into_iter().fold(0.0, f64::max);
    let alone_s = bytes.as_f64() / 50e9;
    // Each NIC has 24 messages to send.
    let adaptive = last(Choice::Adaptive) / alone_s;
    assert!((24.0..24.4).contains(&adaptive), "{adaptive}");
    for (seed, fullest) in (0..).zip(fullest_ports(&cluster, 2, &pairs)) {
        let fullest = *fullest.values().max().unwrap();
        let hashed = last(Choice::Hash { seed }) / alone_s;
        println!("all-to-all over ECMP: {:.3} times as long", hashed / adaptive);
        assert!((0.0..0.4).contains(&(hashed - f64::from(fullest))), "{hashed} not {fullest}");
    }
}

/// Bytes that a ring all-reduce puts on links between switches.
fn over_spines(cluster: &Topology, order: Vec<NodeId>) -> f64 {
    let mut engine = Engine::new();
    let first = add_links(&mut engine, cluster);
    let carried = (Choice::ByDestination, Carriage::BARE);
    let machine = Machine::new(cluster, &common::net::Plain, first, order, carried);
    let switches = between_switches(cluster);
    assert!(switches.iter().any(Option::is_some), "it has spines");
    let call = Call::bytes(Collective::AllReduce, 32 << 20);
    let plan = Ring.plan(&call, &Terrain::flat(32));
    let mut session = Session::new(engine);
    let stages = vec![Stage::Play(&plan, &call)];
    let router = Box::new(machine);
    session.add(Job { ranks: 32, stages, start: Span::ZERO, router, recorded: false });
    session.run().unwrap();
    let carried = session.engine().carried_bytes();
    carried.iter().zip(switches).filter(|(_, switch)| switch.is_some()).map(|(bytes, _)| bytes).sum()
}

#[test]
fn a_ring_along_rails_crosses_no_spine() {
    let cluster = topology("4 x dgx-h100 @ rail-optimized(leaf 16x400G)");
    let plain: Vec<NodeId> = gpus(&cluster);
    // NCCL's rings leave a host and enter the next at the same rail: every other host backwards.
    let along: Vec<NodeId> = (0..4_usize)
        .flat_map(|host| (0..8_usize).map(move |gpu| 8 * host + if host % 2 == 0 { gpu } else { 7 - gpu }))
        .map(|index| plain[index])
        .collect();
    assert!(over_spines(&cluster, along).abs() < f64::EPSILON);
    // From GPU 7 to the next host's GPU 0 is another rail: 4 times 62 messages of 1 MiB, up and down.
    let across = over_spines(&cluster, plain);
    assert!(across >= 2.0 * 4.0 * 62.0 * 1_048_576.0 - 1.0, "{across}");
}

#[test]
fn rings_of_a_cluster_use_all_nics_and_cross_no_spine() {
    // 4 hosts on a leaf for each rail, and spines above them; 3 hosts need a third rail for each ring.
    for hosts in [4_u32, 3] {
        let cluster = topology(&format!("{hosts} x dgx-h100 @ rail-optimized(leaf 16x400G)"));
        let mut engine = Engine::new();
        let (machine, first) = machine(&cluster, &plain(Choice::ByDestination), &mut engine);
        let terrain = weft_simulator::machine::terrain(&cluster, &common::net::Plain, &gpus(&cluster));
        let bytes = 256_u64 << 20;
        let call = Call::bytes(Collective::AllReduce, bytes);
        let plan = Ring.plan(&call, &terrain);
        assert_eq!(plan.threads.len(), 8);
        let mut session = Session::new(engine);
        let ranks = hosts * 8;
        let stages = vec![Stage::Play(&plan, &call)];
        let router = Box::new(machine);
        let job = session.add(Job { ranks, stages, start: Span::ZERO, router, recorded: false });
        session.run().unwrap();
        let carried = session.engine().carried_bytes();
        // Each channel carries an eighth, 2 (p - 1) of its p-th parts over each step of its ring, and enters and leaves
        // each host by one NIC of its own.
        let p = f64::from(ranks);
        let of_nic = 2.0 * (p - 1.0) / p * Bytes::new(bytes).as_f64() / 8.0;
        let mut nics = 0;
        for (id, link) in cluster.links() {
            let moved = carried[first.index() + id.index()];
            let switches = [link.from, link.to].map(|end| cluster.node(end).kind == NodeKind::NetworkSwitch);
            match switches {
                [true, true] => assert!(moved.abs() < 1.0, "{moved} over a spine"),
                [true, false] | [false, true] if moved > 0.0 => {
                    nics += 1;
                    assert!((moved / of_nic - 1.0).abs() < 1e-6, "{moved} not {of_nic}");
                }
                _ => {}
            }
        }
        // Eight NICs of each host, in both directions.
        assert_eq!(nics, 2 * 8 * hosts);
        // 2 (p - 1)/p of the bytes in the time: each NIC moves an eighth at 50 GB/s, and NVLink keeps up, so that what
        // it reaches is 8 x 50 GB/s but for the latencies.
        let busbw = of_nic * 8.0 / session.took(job).unwrap().as_seconds();
        assert!((0.9 * 400e9..400e9).contains(&busbw), "{busbw}");
    }
}

/// When a ring all-reduce over a star of hosts is over.
fn ring_s(hosts: u32, bytes: u64, slow: bool) -> f64 {
    let star = row(&[hosts], Rate::ZERO, Span::from_microseconds(0.5));
    let mut engine = Engine::new();
    let (machine, first) = machine(&star, &plain(Choice::ByDestination), &mut engine);
    let nic = star.of_kind(NodeKind::Nic).nth(3).unwrap();
    let call = Call::bytes(Collective::AllReduce, bytes);
    let plan = Ring.plan(&call, &Terrain::flat(hosts));
    let mut session = Session::new(engine);
    for (id, link) in star.links().filter(|(_, link)| slow && (link.from == nic || link.to == nic)) {
        // The slot, 64 GB/s, is no narrower than half the NIC.
        if star.node(link.from).kind != NodeKind::Gpu && star.node(link.to).kind != NodeKind::Gpu {
            let resource = ResourceId::new(first.index() + id.index());
            session.set(resource, Rate::bytes_per_second(25_000_000_000));
        }
    }
    let stages = vec![Stage::Play(&plan, &call)];
    let job = session.add(Job {
        ranks: hosts,
        stages,
        start: Span::ZERO,
        router: Box::new(machine),
        recorded: false,
    });
    session.run().unwrap();
    session.took(job).unwrap().as_seconds()
}

#[test]
fn a_nic_of_half_speed_halves_a_ring_though_little_of_that_must_be() {
    for hosts in [8_u32, 16, 32] {
        for bytes in [1_u64 << 20, 1 << 30] {
            // 2(p-1) messages of 1/p, each over two links of 0.5 us.
            let p = f64::from(hosts);
            let chunk = f64::from(u32::try_from(bytes / u64::from(hosts)).unwrap());
            let exact = |rate: f64| 2.0 * (p - 1.0) * (chunk / rate + 1e-6);
            let (whole, half) = (ring_s(hosts, bytes, false), ring_s(hosts, bytes, true));
            assert!((whole / exact(50e9) - 1.0).abs() < 1e-6, "{whole}");
            assert!((half / exact(25e9) - 1.0).abs() < 1e-6, "{half}");
            // The slow rank must at least send all it has and receive all it lacks: 2 S/B, against the 2 S (p-1)/(p B)
            // of whole NICs: p/(p-1). Chen and others (arXiv:2606.01680) give a schedule near it.
            let unavoidable = p / (p - 1.0);
            println!("{hosts} hosts, {bytes} B: ring {:.3}, unavoidable {unavoidable:.3}", half / whole);
            if bytes > 1 << 29 {
                assert!((half / whole - 2.0).abs() < 0.01, "{}", half / whole);
                assert!(half / whole > unavoidable && unavoidable - 1.0 < 1.2 / p);
            }
        }
    }
}

#[test]
fn oversubscription_hurts_what_crosses_it_and_nothing_else() {
    // 7 hosts, 56 NICs, below each of two leaves with 8 links up.
    let cluster = topology("14 x dgx-h100 @ fat-tree(leaf 64x400G, oversubscription 7:1)");
    let behaviour = network_model("infiniband-adaptive").unwrap().behaviour(&settings());
    let alone_s = ALONE_S * 4122.0 / 4096.0;
    let factors = |pairs: &[(u32, u32)]| -> Vec<f64> {
        ends_s(&cluster, &behaviour, pairs, MESSAGE).iter().map(|end| end / alone_s).collect()
    };
    let within: Vec<(u32, u32)> = (0..24).map(|gpu| (gpu, (gpu + 8) % 24)).collect();
    let crossing: Vec<(u32, u32)> = (0..56).map(|gpu| (gpu, gpu + 56)).collect();
    let near = |factors: &[f64], wanted: f64| factors.iter().all(|factor| (factor - wanted).abs() < 0.02);
    assert!(near(&factors(&within), 1.0), "{:?}", factors(&within));
    assert!(near(&factors(&crossing), 7.0), "{:?}", factors(&crossing));
    // Side by side: 32 GPUs cross on 8 links, 24 stay below their leaf and feel nothing.
    let both = [&within[..], &crossing[24..]].concat();
    let (stay, cross) = (&factors(&both)[..24], &factors(&both)[24..]);
    assert!(near(stay, 1.0) && near(cross, 4.0), "{stay:?} {cross:?}");
}
