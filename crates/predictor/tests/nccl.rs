//! NCCL's model against what NCCL itself printed, and the channels that its search finds.

#![allow(clippy::print_stdout, clippy::panic, reason = "a skipped test says so, a failing one what of")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::topology;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::{Algorithm, Predictor, Price, Protocol, Request, Settings};
use weft_topology::{NodeKind, Topology};

/// A request for the first `each` GPUs of every host, with a version's constants.
fn request(topology: &Topology, each: u32, version: &str) -> Request {
    let gpus = topology.of_kind(NodeKind::Gpu).filter(|gpu| topology.node(*gpu).number < each).collect();
    let settings = Settings::of_version(version.parse().expect("a version"));
    Request { gpus: Some(gpus), settings, ..Request::new(Collective::AllReduce) }
}

/// DGX H100: eight GPUs, NVSwitches, a NIC of 400 Gb/s for each GPU, Intel CPUs.
fn dgx_h100(nodes: u32) -> Topology {
    topology(&format!("{nodes} x dgx-h100 @ rail-optimized(leaf 64x400G)"))
}

/// One pair that NCCL printed.
#[derive(Debug)]
struct Printed {
    nodes: u32,
    each: u32,
    collective: Collective,
    algorithm: Algorithm,
    protocol: Protocol,
    latency_us: f64,
    algbw_gbps: f64,
}

fn read(text: &str) -> Vec<Printed> {
    let mut printed = Vec::new();
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [nodes, each, collectives, algorithm, protocol, latency, bandwidth] = fields[..] else {
            panic!("{line}")
        };
        for collective in collectives.split('|') {
            printed.push(Printed {
                nodes: nodes.parse().expect(line),
                each: each.parse().expect(line),
                collective: Collective::from_name(collective).expect(line),
                algorithm: Algorithm::from_name(&algorithm.replace('_', "")).expect(line),
                protocol: Protocol::from_name(protocol).expect(line),
                latency_us: latency.parse().expect(line),
                algbw_gbps: bandwidth.parse().expect(line),
            });
        }
    }
    printed
}

/// Every pair to the digit that is printed. Nodes are alike, so that two of them are looked at for all.
fn agree(printed: &[Printed]) {
    let topology = dgx_h100(2);
    let mut prices: BTreeMap<(u32, u32, &str), Vec<Price>> = BTreeMap::new();
    for row in printed {
        let key = (row.nodes, row.each, row.collective.name());
        let known = prices.entry(key).or_insert_with(|| {
            let request = request(&topology, row.each, "2.27.5");
            let predictor = Predictor::new(&topology, Catalogue::embedded(), &request).expect("channels");
            let predictor = predictor.with_nodes(row.nodes).expect("several nodes stay several");
            predictor.prices(row.collective).expect("prices")
        });
        let is_it = |price: &&Price| price.algorithm == row.algorithm && price.protocol == row.protocol;
        let price = known.iter().find(is_it).unwrap_or_else(|| panic!("no {row:?} in {known:?}"));
        let ours = (format!("{:.1}", price.latency_us), format!("{:.1}", price.algbw_gbps));
        let theirs = (format!("{:.1}", row.latency_us), format!("{:.1}", row.algbw_gbps));
        assert_eq!(ours, theirs, "{row:?} by {price:?}");
    }
}

/// All pairs that NCCL 2.27.5 printed on clusters of DGX H100 (meta-pytorch/autoparallel, `nccl_cost_model.py`).
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its inputs")]
fn every_price_that_nccl_printed_comes_out() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/facts/nccl_golden_2.27.5.csv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no prices at {}", path.display());
        return;
    };
    assert_eq!(text.lines().count(), 191, "a heading and 190 pairs");
    agree(&read(&text));
}

/// A dozen of them, for whoever has no such file.
#[test]
fn a_dozen_of_the_prices_that_nccl_printed_come_out() {
    agree(&read(
        "nodes,gpus_per_node,collective,algorithm,protocol,latency_us,bandwidth_GBps
2,1,all_gather|reduce_scatter,ring,LL,11.6,48.0
2,8,all_gather|reduce_scatter,ring,LL128,44.6,313.2
4,4,all_gather|reduce_scatter,ring,Simple,91.2,204.8
32,8,all_gather|reduce_scatter,ring,Simple,1204.0,385.5
4,2,all_reduce,ring,LL,30.8,11.7
16,8,all_reduce,ring,LL128,559.6,148.0
8,1,all_reduce,ring,Simple,204.4,27.4
2,2,all_reduce,tree,LL,18.0,16.6
4,8,all_reduce,tree,LL128,65.5,98.6
16,4,all_reduce,tree,Simple,144.4,75.1
2,8,all_reduce,nvls_tree,Simple,53.0,266.7
8,4,all_reduce,nvls_tree,Simple,109.0,80.0
",
    ));
}

#[test]
fn so_many_nodes_are_priced_as_if_each_were_looked_at() {
    let (two, four) = (dgx_h100(2), dgx_h100(4));
    let predictor = |topology| {
        let request = Request::new(Collective::AllReduce);
        Predictor::new(topology, Catalogue::embedded(), &request).expect("channels")
    };
    let grown = predictor(&two).with_nodes(4).expect("several nodes stay several");
    let prices = |predictor: Predictor<'_>| predictor.prices(Collective::AllReduce).expect("prices");
    assert_eq!(prices(grown), prices(predictor(&four)));
    assert!(predictor(&two).with_nodes(1).is_none() && predictor(&two).with_nodes(0).is_none());
}

/// Channels and their rates within a node and to the network.
fn found(text: &str, each: u32, collective: Collective, algorithm: Algorithm) -> (u16, f64, f64) {
    let topology = topology(text);
    let request = request(&topology, each, "2.30");
    let predictor = Predictor::new(&topology, Catalogue::embedded(), &request).expect("channels");
    let prices = predictor.prices(collective).expect("prices");
    let price = prices.iter().find(|price| price.algorithm == algorithm).expect("the algorithm");
    (price.channels, price.intra_gbps, price.inter_gbps)
}

#[test]
fn the_search_finds_the_channels_that_nccl_prints() {
    let reduce = Collective::AllReduce;
    let ring = |text, each| found(text, each, reduce, Algorithm::Ring);
    // One node: 12 links x 20 = 240 as 6 rings of 40, split; 18 x 20.6 = 370.8 as 6 of 60; 18 x 40.1 as 8 of 90.
    assert_eq!(ring("dgx-a100", 8), (12, 20.0, 20.0));
    assert_eq!(ring("dgx-h100", 8), (12, 30.0, 30.0));
    assert_eq!(ring("dgx-b200", 8), (16, 45.0, 45.0));
    assert_eq!(found("dgx-h100", 8, reduce, Algorithm::Tree), (12, 30.0, 30.0));
    // In the switches: nine times 40 are 360 of 370.8, nine times 80 are 720 of 721.8.
    assert_eq!(found("dgx-h100", 8, reduce, Algorithm::Nvls), (8, 40.0, 60.0));
    assert_eq!(found("dgx-b200", 8, reduce, Algorithm::Nvls), (8, 80.0, 90.0));
    // A NIC of 400 Gb/s is 50 GB/s to NCCL, of which the list has 48; up to four of them are split.
    let several = "2 x dgx-h100 @ rail-optimized(leaf 64x400G)";
    assert_eq!(ring(several, 1), (2, 24.0, 24.0));
    assert_eq!(ring(several, 2), (4, 24.0, 24.0));
    assert_eq!(ring(several, 4), (8, 24.0, 24.0));
    assert_eq!(ring(several, 8), (8, 48.0, 48.0));
    // Two nodes price a tree by what it carries within: up to twice what goes to the network.
    assert_eq!(found(several, 4, reduce, Algorithm::Tree), (8, 48.0, 24.0));
    assert_eq!(found(several, 8, reduce, Algorithm::NvlsTree), (8, 40.0, 48.0));
    assert_eq!(found(several, 4, reduce, Algorithm::NvlsTree), (4, 48.0, 48.0));
}

/// All channels of the rings together, GB/s within the node.
fn rings(text: &str, each: u32) -> f64 {
    let (channels, intra, _) = found(text, each, Collective::AllGather, Algorithm::Ring);
    f64::from(channels) * intra
}

fn close(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() <= share * expected, "{found}, not {expected}");
}

/// DeepEP#16, DeepSeek-V3#28: an H800 has 400 GB/s of NVLink on paper, 200 in one direction, and 160 were measured.
/// Eight links of 20.6 hold four rings of 40.
#[test]
fn h800_gives_160_of_200() {
    close(rings("hgx-h800-8", 8), 160.0, 1e-9);
}

/// nccl-tests#149: an A100 has 600 GB/s on paper, 300 in one direction; 20 of 25 per link are effective, and about
/// 230 in all come out.
#[test]
fn a100_gives_230_of_600() {
    close(rings("dgx-a100", 8), 240.0, 1e-9);
    let row = common::prediction("dgx-a100", Collective::AllReduce).rows.pop().expect("default sizes");
    close(row.busbw.as_gigabytes(), 230.0, 0.05);
}

/// Machine Learning Engineering Open Book (network), rccl#1210: of k MI300X each has k - 1 links of 48 GB/s; 47.7 were
/// measured of two and 312.9 of eight.
#[test]
fn mi300x_is_best_alone_or_with_all_eight() {
    close(rings("mi300x-8", 2), 48.0, 1e-9);
    close(rings("mi300x-8", 8), 336.0, 1e-9);
    close(rings("mi300x-8", 2), 47.7, 0.08);
    close(rings("mi300x-8", 8), 312.9, 0.08);
}

/// nccl-tests#251: 8 V100 on two nodes with two EDR adapters each reached 41.55 of 2 x 7/8 x 25 = 43.75 GB/s.
#[test]
fn two_nodes_may_exceed_the_rate_of_their_nics() {
    let text = "2 x 4 v100-sxm2-16gb @ mesh(1) + 2 connectx-5-edr @ pcie3x16";
    let bound = common::prediction(text, Collective::AllReduce).bound;
    close(bound.busbw.as_gigabytes(), 43.75, 1e-3);
}

/// nccl#412, nccl#452: NICs add up only where GPUs reach each other faster than NICs do. On PCIe 3 a ring passes one
/// port of 12 GB/s, which one adapter of 100 Gb/s feeds already; on NVLink a second one doubles it.
#[test]
fn a_second_nic_that_pcie_cannot_feed_adds_nothing() {
    let to_network = |text: &str| {
        let (channels, _, inter) = found(text, 4, Collective::AllGather, Algorithm::Ring);
        f64::from(channels) * inter
    };
    let by_pcie = |nics: u32| to_network(&format!("2 x 4 t4 @ pcie3x16 + {nics} connectx-5-edr @ pcie3x16"));
    assert!(by_pcie(2) < 1.1 * by_pcie(1), "{} {}", by_pcie(2), by_pcie(1));
    let by_nvlink =
        |nics: u32| to_network(&format!("2 x 4 v100-sxm2-16gb @ mesh(2) + {nics} connectx-5-edr @ pcie3x16"));
    close(by_nvlink(2), 2.0 * by_nvlink(1), 1e-9);
}

/// nccl#1086: cards without access to each other copy through host memory; below one switch both hops of that take the
/// same uplink, so that a pair gets exactly half of what it gets on two root ports.
#[test]
fn without_peer_access_a_pair_below_one_switch_gets_half() {
    let apart = rings("2 rtx-4090 @ pcie4x16", 2);
    let below_one = rings("2 rtx-4090 @ pcie-switch(1)", 2);
    close(below_one, apart / 2.0, 1e-9);
}

/// Each version gives what its own tables say.
#[test]
fn versions_differ_where_their_tables_do() {
    let price = |version: &str, collective, algorithm, protocol| {
        let topology = dgx_h100(2);
        let request = request(&topology, 8, version);
        let predictor = Predictor::new(&topology, Catalogue::embedded(), &request).expect("channels");
        let prices = predictor.prices(collective).expect("prices");
        let is_it = |price: &&Price| price.algorithm == algorithm && price.protocol == protocol;
        prices.iter().find(is_it).copied()
    };
    let (reduce, simple) = (Collective::AllReduce, Protocol::Simple);
    // Up to 2.21 a tree's Simple steps count 28 us: 2 x (7 x 28 + 28).
    close(price("2.21", reduce, Algorithm::Tree, simple).expect("a tree").latency_us, 448.0, 1e-9);
    close(price("2.23", reduce, Algorithm::Tree, simple).expect("a tree").latency_us, 92.4, 1e-9);
    // Rings with LL at 1/4 of 384 up to 2.20, 1/2 from 2.21 on, where the cap of 39 counts: x 16/30.
    let ring = |version| price(version, reduce, Algorithm::Ring, Protocol::Ll).expect("a ring").algbw_gbps;
    close(ring("2.20"), 39.0 * 16.0 / 30.0, 1e-9);
    // NVLSTree from 2.28 on: the least of 2 x 0.85 x 40 x 7/8 = 59.5, 2 x 48 and 57.7; 8 heads, x 16/30.
    let tree = |version| price(version, reduce, Algorithm::NvlsTree, simple).expect("a tree").algbw_gbps;
    close(tree("2.28"), 8.0 * 57.7 * 16.0 / 30.0, 1e-9);
    close(tree("2.27"), 8.0 * 40.0 * 5.0 / 6.0, 1e-9);
    // Older and newer ones take the nearest tables.
    assert_eq!(tree("2.30.99").to_bits(), tree("2.30").to_bits());
    assert_eq!(ring("2.7").to_bits(), ring("2.18").to_bits());
}

/// Hosts without a NIC get one with a warning; nodes of which unlike GPUs take part are of two kinds.
#[test]
fn what_is_assumed_of_nodes_is_said() {
    let codes = |topology: &Topology, request: &Request| -> Vec<&'static str> {
        let prediction =
            weft_predictor::predict(topology, Catalogue::embedded(), request).expect("a prediction");
        prediction.diagnostics.iter().map(|diagnostic| diagnostic.code.name).collect()
    };
    let bare = topology("2 x 4 a40");
    assert!(codes(&bare, &Request::new(Collective::AllReduce)).contains(&"nic-assumed"));
    let two = dgx_h100(2);
    let gpus: Vec<_> = two.of_kind(NodeKind::Gpu).collect();
    let some = |gpus: Vec<_>| Request { gpus: Some(gpus), ..Request::new(Collective::AllReduce) };
    assert!(codes(&two, &some(gpus[..10].to_vec())).contains(&"nodes-differ"));
    assert!(!codes(&two, &some(gpus)).contains(&"nodes-differ"));
}
