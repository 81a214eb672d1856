//! Path classes of machines made by hand: the expectation first, then the graph.

mod common;

use common::{graph, node, topology};
use weft_catalogue::{Branch, GpuGroup, Host, Machine, NicGroup};
use weft_topology::{NcclPath, ReportedClass, Topology, nccl_path, reported_class};

/// Two sockets; socket 0: bridge 0 has switch `top` with GPU 0 and 1 and a switch below it with GPU 2 and
/// NIC 0, bridge 1 has GPU 3 and GPU 4 on ports of their own; socket 1: GPU 5 and NIC 1.
fn by_hand() -> Topology {
    let branch = |socket, host_bridge, gpus: &[u16], nics: &[u16]| Branch {
        socket,
        host_bridge,
        gpus: gpus.to_vec(),
        nics: nics.to_vec(),
        ..Branch::default()
    };
    let any = |branch| Branch { switch: Some("any".into()), ..branch };
    graph(&Machine {
        name: "by hand".into(),
        host: Host { sockets: 2, ..Host::default() },
        gpus: vec![GpuGroup { model: Some("a40".into()), count: 6 }],
        nics: vec![NicGroup { model: Some("connectx-6-hdr".into()), count: 2, link: None }],
        pcie: vec![
            Branch { name: Some("top".into()), ..any(branch(0, 0, &[0, 1], &[])) },
            Branch { under: Some("top".into()), ..any(branch(0, 0, &[2], &[0])) },
            branch(0, 1, &[3, 4], &[]),
            branch(1, 0, &[5], &[1]),
        ],
        ..Machine::default()
    })
}

#[test]
fn what_the_driver_would_print_follows_from_what_is_shared() {
    let topology = by_hand();
    let expected = [
        // One switch and nothing else between them.
        ("GPU0", "GPU1", ReportedClass::Pix),
        ("GPU2", "NIC0", ReportedClass::Pix),
        // Two switches, no host bridge.
        ("GPU0", "GPU2", ReportedClass::Pxb),
        ("GPU1", "NIC0", ReportedClass::Pxb),
        // Two ports of one host bridge.
        ("GPU3", "GPU4", ReportedClass::Phb),
        // Two host bridges of one socket.
        ("GPU0", "GPU3", ReportedClass::Node),
        ("GPU4", "NIC0", ReportedClass::Node),
        // Two sockets.
        ("GPU0", "GPU5", ReportedClass::Sys),
        ("NIC0", "NIC1", ReportedClass::Sys),
        ("GPU5", "NIC1", ReportedClass::Phb),
    ];
    for (a, b, class) in expected {
        let (x, y) = (node(&topology, a), node(&topology, b));
        assert_eq!(reported_class(&topology, x, y), Some(class), "{a} {b}");
        assert_eq!(reported_class(&topology, y, x), Some(class), "{b} {a}");
        // NCCL sees the same path by its own name, NODE being PHB to it.
        assert_eq!(nccl_path(&topology, x, y), NcclPath::from(class), "{a} {b}");
    }
    let own = node(&topology, "GPU0");
    assert_eq!((reported_class(&topology, own, own), nccl_path(&topology, own, own)), (None, NcclPath::Loc));
}

#[test]
fn reported_classes_map_to_nccls_paths_and_keep_their_order() {
    let pairs = [
        ("NV12", NcclPath::Nvl),
        ("PIX", NcclPath::Pix),
        ("PXB", NcclPath::Pxb),
        ("PHB", NcclPath::Phb),
        ("NODE", NcclPath::Phb),
        ("SYS", NcclPath::Sys),
        ("SOC", NcclPath::Sys),
    ];
    for (word, path) in pairs {
        let class: ReportedClass = word.parse().expect("a class");
        assert_eq!(NcclPath::from(class), path, "{word}");
    }
    let words: Vec<&str> = pairs.iter().map(|(_, path)| path.word()).collect();
    assert_eq!(words, ["NVL", "PIX", "PXB", "PHB", "PHB", "SYS", "SYS"]);
}

#[test]
fn in_a_dgx_1_gpus_without_a_link_meet_through_a_neighbour() {
    // Hybrid cube mesh: GPU0 is tied to 1, 2, 3 and 4. GPU5, 6 and 7 are neighbours of a neighbour: NVB.
    let topology = topology("dgx-1");
    let gpu0 = node(&topology, "GPU0");
    let expected = [
        ("GPU1", "NV1", NcclPath::Nvl),
        ("GPU2", "NV1", NcclPath::Nvl),
        ("GPU3", "NV2", NcclPath::Nvl),
        ("GPU4", "NV2", NcclPath::Nvl),
        ("GPU5", "SYS", NcclPath::Nvb),
        ("GPU6", "SYS", NcclPath::Nvb),
        ("GPU7", "SYS", NcclPath::Nvb),
        ("NIC0", "PIX", NcclPath::Pix),
        ("NIC1", "PHB", NcclPath::Phb),
        ("NIC3", "SYS", NcclPath::Sys),
    ];
    for (other, class, path) in expected {
        let other_id = node(&topology, other);
        assert_eq!(reported_class(&topology, gpu0, other_id).unwrap().to_string(), class, "{other}");
        assert_eq!(nccl_path(&topology, gpu0, other_id), path, "{other}");
    }
}

#[test]
fn a_superchip_reaches_its_cpu_and_its_nics_over_the_coherent_link() {
    let topology = topology("gb200-nvl72");
    let path = |a: &str, b: &str| nccl_path(&topology, node(&topology, a), node(&topology, b));
    assert_eq!(path("host0/GPU0", "host0/CPU0"), NcclPath::C2c);
    assert_eq!(path("host0/GPU0", "host0/NIC0"), NcclPath::P2c);
    assert_eq!(path("host0/NIC0", "host0/GPU0"), NcclPath::P2c);
    assert_eq!(path("host0/GPU0", "host0/NIC2"), NcclPath::Sys);
    assert_eq!(path("host0/GPU0", "host17/GPU3"), NcclPath::Nvl);
    assert_eq!(path("host0/GPU0", "host1/NIC0"), NcclPath::Net);
}
