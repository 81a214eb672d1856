//! Every system of the catalogue is a machine, and the graph says of it what its makers say.

use weft_base::Rate;
use weft_catalogue::Catalogue;
use weft_topology::{NodeKind, Topology, build, islands, oneliner, reported_class, route};

fn topology(line: &str) -> Topology {
    let catalogue = Catalogue::embedded();
    let machine = oneliner::parse(line, catalogue).unwrap_or_else(|finding| panic!("{line}: {finding}"));
    build(&machine, catalogue).unwrap_or_else(|error| panic!("{line}: {error}")).topology
}

fn gbps(text: &str) -> Rate {
    text.parse().unwrap()
}

#[test]
fn every_system_builds_with_the_devices_that_it_names() {
    let catalogue = Catalogue::embedded();
    for system in &catalogue.systems {
        let topology = topology(&system.name);
        let hosts = u64::from(system.host.count);
        let gpus: u64 = system.gpus.iter().map(|group| u64::from(group.count)).sum();
        let nics: u64 = system.nics.iter().map(|group| u64::from(group.count)).sum();
        assert_eq!(topology.of_kind(NodeKind::Gpu).count() as u64, hosts * gpus, "{}", system.name);
        assert_eq!(topology.of_kind(NodeKind::Nic).count() as u64, hosts * nics, "{}", system.name);
        // Every device hangs off something, but for accelerators without a port of their own.
        for id in topology.of_kind(NodeKind::Nic) {
            assert!(topology.links_from(id).len() > 0, "{} {}", system.name, topology.name(id));
        }
    }
}

#[test]
fn in_a_dgx_a100_any_two_gpus_reach_300_gigabytes_per_second_each_way() {
    // 12 NVLink 3 of 25 GB/s each, 2 to each of 6 switches: NV12, 300 GB/s, two hops of six links.
    let topology = topology("dgx-a100");
    let gpus: Vec<_> = topology.of_kind(NodeKind::Gpu).collect();
    for a in &gpus {
        for b in gpus.iter().filter(|b| *b != a) {
            let route = route(&topology, *a, *b).unwrap();
            assert_eq!((route.rate, route.hops.len()), (gbps("300 GB/s"), 2));
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
        assert_eq!(topology.of_kind(NodeKind::GpuSwitch).count(), 18 * racks, "{line}");
        let (first, last) = (fabric[0][0], fabric[0][71]);
        // 18 NVLink 5 of 50 GB/s, one to each switch chip; the two GPUs are in different hosts.
        assert_eq!(route(&topology, first, last).unwrap().rate, gbps("900 GB/s"));
        assert_eq!(reported_class(&topology, first, last).unwrap().to_string(), "NV18");
        if racks == 2 {
            assert_eq!(reported_class(&topology, first, fabric[1][0]), None);
        }
    }
}

#[test]
fn both_boards_of_a_dgx_2_are_one_fabric() {
    let topology = topology("dgx-2");
    let gpus: Vec<_> = topology.of_kind(NodeKind::Gpu).collect();
    // 6 links of 25 GB/s from each GPU; across the boards each switch has 8 links to its twin.
    let across = route(&topology, gpus[0], gpus[15]).unwrap();
    assert_eq!((across.rate, across.hops.len(), across.bottleneck), (gbps("150 GB/s"), 3, 0));
    assert_eq!(across.hops[1].rate, gbps("1200 GB/s"));
    assert_eq!(reported_class(&topology, gpus[0], gpus[15]).unwrap().to_string(), "NV6");
    assert_eq!(islands(&topology).fabric, [gpus]);
}
