//! The health overlay: narrower and dead links, set beside the whole graph.

mod common;

use common::{node, rate, topology};
use weft_topology::{
    Health, LinkId, NcclPath, Overlay, ReportedClass, Topology, nccl_path, reported_class, route,
};

/// The half-link from one node to another.
fn link(topology: &Topology, from: &str, to: &str) -> LinkId {
    let (from, to) = (node(topology, from), node(topology, to));
    topology.links_from(from).find(|(_, link)| link.to == to).map(|(id, _)| id).expect("a link")
}

#[test]
fn a_half_seated_bridge_carries_its_links_that_are_up() {
    // 3 of 4 links of 14.0625 GB/s: NV3, 42.1875 GB/s.
    let whole = topology("2 rtx-3090 @ pcie4x16 + nvlink-bridge");
    let (a, b) = (node(&whole, "GPU0"), node(&whole, "GPU1"));
    let mut overlay = Overlay::default();
    overlay.set_both(&whole, link(&whole, "GPU0", "GPU1"), Health::up(3));
    let now = overlay.applied(&whole);
    assert_eq!(reported_class(&whole, a, b), Some(ReportedClass::Nv(4)));
    assert_eq!(reported_class(&now, a, b), Some(ReportedClass::Nv(3)));
    assert_eq!(route(&now, a, b).map(|route| route.rate), Some(rate("42.1875 GB/s")));
}

#[test]
fn a_dead_bridge_leaves_pcie() {
    let whole = topology("2 rtx-3090 @ pcie4x16 + nvlink-bridge");
    let (a, b) = (node(&whole, "GPU0"), node(&whole, "GPU1"));
    let mut overlay = Overlay::default();
    overlay.set(link(&whole, "GPU1", "GPU0"), Health::up(0));
    let now = overlay.applied(&whole);
    assert_eq!(nccl_path(&now, a, b), NcclPath::Phb, "one dead direction takes the link down");
    assert_eq!(now.links().len(), whole.links().len() - 2);
    assert_eq!(now.nodes().len(), whole.nodes().len());
}

#[test]
fn an_observed_rate_counts_before_the_lanes() {
    // A slot of 16 lanes that trained at 8 and was measured at 12 GB/s.
    let whole = topology("2 rtx-4090 @ pcie4x16");
    let slot = link(&whole, "GPU0", "RC0");
    let mut overlay = Overlay::default();
    overlay.set(slot, Health::up(8));
    let built = whole.link(slot).capacity;
    assert_eq!(overlay.capacity(&whole, slot).get(), built.get() / 2, "8 of 16 lanes are half");
    overlay.set(slot, Health { observed: Some(rate("12 GB/s")), ..Health::up(8) });
    assert_eq!(overlay.capacity(&whole, slot), rate("12 GB/s"));
    assert_eq!(overlay.health(slot).map(|health| health.up), Some(8));
    let now = overlay.applied(&whole);
    let (a, b) = (node(&now, "GPU0"), node(&now, "GPU1"));
    assert_eq!(route(&now, a, b).map(|route| route.rate), Some(rate("12 GB/s")));
    assert_eq!(route(&now, b, a).map(|route| route.rate), Some(built), "the other way is whole");
}

#[test]
fn an_empty_overlay_changes_nothing() {
    let whole = topology("dgx-a100");
    let now = Overlay::default().applied(&whole);
    assert!(whole.links().eq(now.links()));
    assert!(whole.nodes().eq(now.nodes()));
    for (id, link) in now.links() {
        assert_eq!(now.link(link.twin).twin, id);
    }
}
