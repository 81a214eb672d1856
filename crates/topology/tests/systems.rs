//! Every system of the catalogue is a machine, and the graph says of it what its makers say.

mod common;

use common::{all, rate, topology};
use weft_catalogue::Catalogue;
use weft_topology::{NodeKind, islands, reported_class, route};

#[test]
fn every_system_builds_with_the_devices_that_it_names() {
    let catalogue = Catalogue::embedded();
    assert!(catalogue.systems.len() > 40);
    for system in &catalogue.systems {
        let topology = topology(&system.name);
        let hosts = u64::from(system.host.count);
        let gpus: u64 = system.gpus.iter().map(|group| u64::from(group.count)).sum();
        let nics: u64 = system.nics.iter().map(|group| u64::from(group.count)).sum();
        assert_eq!(all(&topology, NodeKind::Gpu).len() as u64, hosts * gpus, "{}", system.name);
        assert_eq!(all(&topology, NodeKind::Nic).len() as u64, hosts * nics, "{}", system.name);
        for nic in topology.of_kind(NodeKind::Nic) {
            assert!(topology.links_from(nic).len() > 0, "{} {}", system.name, topology.name(nic));
        }
    }
}

#[test]
fn in_a_dgx_a100_any_two_gpus_reach_300_gigabytes_per_second_each_way() {
    // 12 NVLink 3 of 25 GB/s each, 2 to each of 6 switches: NV12, 300 GB/s, two hops of six links.
    let topology = topology("dgx-a100");
    let gpus = all(&topology, NodeKind::Gpu);
    for a in &gpus {
        for b in gpus.iter().filter(|b| *b != a) {
            let route = route(&topology, *a, *b).unwrap();
            assert_eq!((route.rate, route.hops.len()), (rate("300 GB/s"), 2));
            assert!(route.hops.iter().all(|hop| hop.links.len() == 6));
            assert_eq!(reported_class(&topology, *a, *b).unwrap().to_string(), "NV12");
        }
    }
    assert_eq!(islands(&topology).fabric, [gpus]);
}

#[test]
fn a_rack_is_one_fabric_and_two_racks_are_two() {
    for (line, racks) in [("gb200-nvl72", 1), ("2 x gb200-nvl72", 2)] {
        let topology = topology(line);
        let fabric = islands(&topology).fabric;
        assert_eq!(fabric.iter().map(Vec::len).collect::<Vec<_>>(), vec![72; racks], "{line}");
        assert_eq!(all(&topology, NodeKind::GpuSwitch).len(), 18 * racks, "{line}");
        let (first, last) = (fabric[0][0], fabric[0][71]);
        // 18 NVLink 5 of 50 GB/s, one to each switch chip; the two GPUs are in different hosts.
        assert_eq!(route(&topology, first, last).unwrap().rate, rate("900 GB/s"));
        assert_eq!(reported_class(&topology, first, last).unwrap().to_string(), "NV18");
        if racks == 2 {
            assert_eq!(reported_class(&topology, first, fabric[1][0]), None);
        }
    }
}

#[test]
fn both_boards_of_a_dgx_2_are_one_fabric() {
    let topology = topology("dgx-2");
    let gpus = all(&topology, NodeKind::Gpu);
    // 6 links of 25 GB/s from each GPU; across the boards each switch has 8 links to its twin.
    let across = route(&topology, gpus[0], gpus[15]).unwrap();
    assert_eq!((across.rate, across.hops.len(), across.bottleneck), (rate("150 GB/s"), 3, 0));
    assert_eq!(across.hops[1].rate, rate("1200 GB/s"));
    assert_eq!(reported_class(&topology, gpus[0], gpus[15]).unwrap().to_string(), "NV6");
    assert_eq!(islands(&topology).fabric, [gpus]);
}

#[test]
fn islands_say_which_gpus_and_nics_belong_together() {
    // DGX A100: two GPUs and two NICs behind each of four switches, storage NICs behind none.
    let a100 = topology("dgx-a100");
    let names = |members: &[weft_topology::NodeId]| -> Vec<String> {
        members.iter().map(|node| a100.name(*node)).collect()
    };
    let found = islands(&a100);
    let behind: Vec<Vec<String>> = found.pcie.iter().map(|(_, members)| names(members)).collect();
    assert_eq!(behind[0], ["GPU0", "GPU1", "NIC0", "NIC1"]);
    assert_eq!(behind[3], ["GPU6", "GPU7", "NIC6", "NIC7"]);
    let (gpu, class, nics) = &found.nics[5];
    assert_eq!(
        (a100.name(*gpu), class.to_string(), names(nics)),
        ("GPU5".to_owned(), "PIX".to_owned(), vec!["NIC4".to_owned(), "NIC5".to_owned()])
    );
    // Four cards with two bridges are two islands; cards without are none.
    let bridged = topology("4 rtx-a6000 + 2 nvlink-bridge");
    let sizes: Vec<usize> = islands(&bridged).fabric.iter().map(Vec::len).collect();
    assert_eq!(sizes, [2, 2]);
    assert!(islands(&topology("4 rtx-4090")).fabric.is_empty());
    // An SLI bridge carries frames, not data: no island.
    assert!(islands(&topology("2 gtx-1080 + sli-hb")).fabric.is_empty());
}
