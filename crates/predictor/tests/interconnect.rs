//! Pairs that differ in the interconnect: what was measured to be faster is predicted to be.
#![allow(clippy::print_stdout, reason = "says that it is skipped, and what is out of scope")]

use std::path::Path;

use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::{Request, predict};

/// What a model of collectives can say of a published pair.
enum Scope {
    /// The communication of the first is faster than that of the second.
    Faster(&'static str, &'static str),
    /// Only a model of training steps, or of another library, can answer.
    Out(&'static str),
}

/// The pairs of `compare_interconnect.csv`, by study and the begin of its setup, in its order.
///
/// - IB against TCP: the pages name 8 x 400G NDR and the first Ethernet card of the host, "about 40-50 Gb/s".
/// - EFA early: aws-ofi-nccl issue 19 compares p3dn's one EFA of 100 Gb/s with InfiniBand on the reporter's own
///   machines, whose rate it does not tell; V100 servers of that year have four EDR adapters.
/// - A3 node scaling: one node against 16 with 4 x 200G TCPX; what slows the step is that communication leaves NVLink.
/// - ZeRO-3 on V100: 100 Gb/s of a node are not enough, 200 to 400 are, 800 to 1000 are ideal.
const PAIRS: [(&str, &str, Scope); 10] = [
    (
        "IB vs TCP Ethernet",
        "Qwen2.5-7B",
        Scope::Faster(
            "8 x hgx-h100-8 @ rail-optimized",
            "8 x 8 h100-sxm @ nvswitch3(4) + 1 xl710 @ fat-tree",
        ),
    ),
    (
        "IB vs TCP Ethernet",
        "Mixtral-8x7B",
        Scope::Faster(
            "4 x hgx-h100-8 @ rail-optimized",
            "4 x 8 h100-sxm @ nvswitch3(4) + 1 xl710 @ fat-tree",
        ),
    ),
    (
        "BytePS vs Horovod",
        "V100 x8 nodes",
        Scope::Out("BytePS pushes to parameter servers, which is no collective"),
    ),
    (
        "BytePS vs Horovod",
        "V100, 20 Gb/s",
        Scope::Out("BytePS pushes to parameter servers, which is no collective"),
    ),
    (
        "BytePS vs Horovod",
        "PCIe-only",
        Scope::Out("BytePS pushes to parameter servers, which is no collective"),
    ),
    ("scaling", "BERT-large", Scope::Out("BytePS pushes to parameter servers, which is no collective")),
    ("EFA early", "16/8 machines", Scope::Faster("8 x dgx-1 @ rail-optimized", "8 x aws-p3dn @ fat-tree")),
    (
        "A3 node scaling",
        "Llama2-7B",
        Scope::Faster("gcp-a3-high", "16 x 8 h100-sxm @ nvswitch3(4) + 4 google-gvnic @ rail-optimized"),
    ),
    (
        "async TP",
        "Llama3.1-70B",
        Scope::Out("the same collectives on the same machine; what differs is what overlaps with them"),
    ),
    (
        "ZeRO-3 on V100 64+ GPUs",
        "DeepSpeed ZeRO-3",
        Scope::Faster("8 x dgx-1 @ rail-optimized", "8 x azure-nd-v2 @ fat-tree"),
    ),
];

/// Pairs of published rows that differ in the interconnect alone, the faster first, and where they are from.
const ROWS: [(&str, &str, &str); 9] = [
    // NVIDIA GTC24 s62129 slide 12: 24 GB/s with 200 Gb/s RDMA, 10 with sockets over 100GbE.
    (
        "4 x 8 a100-sxm4-80gb @ nvswitch2(6) + 1 cx6 @ fat-tree",
        "4 x 8 a100-sxm4-80gb @ nvswitch2(6) + 1 100gbe @ fat-tree",
        "RDMA 200G against TCP 100G",
    ),
    // The same slide: 48 with one NIC of 400 Gb/s.
    (
        "4 x 8 h100-sxm @ nvswitch3(4) + 1 cx7 @ fat-tree",
        "4 x 8 h100-sxm @ nvswitch3(4) + 1 cx6 @ fat-tree",
        "400G against 200G",
    ),
    // The same slide: 192 with 8 x 200G; nccl-tests#119: 95.7 with 4 x 200G.
    (
        "4 x dgx-a100 @ rail-optimized",
        "4 x 8 a100-sxm4-80gb @ nvswitch2(6) @ pcie-switch(4) + 4 cx6 @ pcie-switch(4) @ rail-optimized",
        "8 against 4 NICs",
    ),
    // The same slide: 380 of 8 x 400G, 192 of 8 x 200G.
    ("4 x dgx-h100 @ rail-optimized", "4 x dgx-a100 @ rail-optimized", "8 x 400G against 8 x 200G"),
    // The same slide: 480 within a server, 380 across servers.
    ("dgx-h100", "4 x dgx-h100 @ rail-optimized", "NVLink against 8 x 400G"),
    // NVIDIA GTC25 s72583 slide 12: 232, 370 to 480, 700 for the three generations of NVLink.
    ("hgx-h100-8", "hgx-a100-8", "NVLink 4 against 3"),
    ("hgx-b200-8", "hgx-h100-8", "NVLink 5 against 4"),
    // nccl-tests#178: 208 GB/s over a bridge, 20 where the ring crosses PCIe.
    ("2 a100-pcie-80gb + 1 nvlink-bridge", "2 a100-pcie-80gb", "NVLink bridge against PCIe 4"),
    // The corpus' GH200 runs: 122 GB/s over Slingshot, 5.4 over sockets of the same cards.
    (
        "2 x 4 gh200-96gb @ mesh(6) + 4 hpe-cassini @ rail-optimized",
        "2 x 4 gh200-96gb @ mesh(6) + 1 25gbe @ fat-tree",
        "Slingshot against sockets",
    ),
];

/// Microseconds of a large all-reduce, as training steps have them.
fn time_us(machine: &str, collective: Collective) -> f64 {
    let catalogue = Catalogue::embedded();
    let parsed = weft_topology::oneliner::parse(machine, catalogue).expect(machine);
    let topology = weft_topology::build(&parsed, catalogue).expect("a graph").topology;
    let request = Request { sizes: vec![Bytes::new(1 << 30)], ..Request::new(collective) };
    let prediction = predict(&topology, catalogue, &request).expect(machine);
    prediction.rows[0].time.as_microseconds()
}

fn assert_faster(fast: &str, slow: &str, what: &str) {
    for collective in [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter] {
        let (quick_us, slow_us) = (time_us(fast, collective), time_us(slow, collective));
        let name = collective.name();
        assert!(quick_us < slow_us, "{what}, {name}: {quick_us:.0} us on {fast}, {slow_us:.0} us on {slow}");
    }
}

#[test]
fn published_pairs_come_out_in_the_measured_order() {
    for (study, setup, scope) in &PAIRS {
        match scope {
            Scope::Faster(fast, slow) => assert_faster(fast, slow, &format!("{study} {setup}")),
            Scope::Out(why) => println!("out of scope: {study}, {setup}: {why}"),
        }
    }
}

#[test]
fn rows_that_differ_in_the_interconnect_come_out_in_the_measured_order() {
    for (fast, slow, what) in ROWS {
        assert_faster(fast, slow, what);
    }
}

#[test]
fn a_network_against_sockets_differs_by_what_its_rates_say() {
    // Both pages report steps 26 to 57 times as long over 40 Gb/s as over 8 x 400 Gb/s: an 80th of the rate, where
    // compute hides a part. The communication alone is slower than the steps are.
    let ib = time_us("8 x hgx-h100-8 @ rail-optimized", Collective::AllGather);
    let tcp = time_us("8 x 8 h100-sxm @ nvswitch3(4) + 1 xl710 @ fat-tree", Collective::AllGather);
    assert!((26.0..160.0).contains(&(tcp / ib)), "{:.1}", tcp / ib);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its inputs")]
fn every_pair_of_the_folder_is_in_the_table() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/measured/compare_interconnect.csv");
    let Ok(text) = std::fs::read_to_string(file) else {
        println!("skipped: ../shared/measured is absent");
        return;
    };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), PAIRS.len());
    for (row, (study, setup, _)) in rows.iter().zip(&PAIRS) {
        assert!(row[0] == **study && row[1].starts_with(setup), "{row:?} is not {study}, {setup}");
    }
}
