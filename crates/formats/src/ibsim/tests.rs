use weft_catalogue::Catalogue;
use weft_topology::{Subnet, SubnetNodeKind};

use super::*;
use crate::evidence::Evidence;
use crate::format::Source;

fn subnet(text: &str, forced: Option<&str>) -> Subnet {
    let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), forced);
    match reading.evidence.into_iter().next().map(|evidence| evidence.value) {
        Some(Evidence::Subnet(subnet)) => *subnet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_and_numbers_are_as_ibsim_gives_them() {
    let subnet = subnet(include_str!("../../../../examples/formats/ibsim/two-switches.txt"), None);
    let nodes: Vec<_> = subnet.nodes.iter().map(|node| (node.name.as_str(), node.guid.get())).collect();
    // ibsim counts switches from 0x200000, and adapters from 0x100000 in steps of their ports and one.
    let wanted = [
        ("lab#edge-1", 0x20_0000),
        ("lab#edge-2", 0x20_0001),
        ("lab#node-1", 0x10_0000),
        ("lab#node-2", 0x10_0003),
        ("lab#node-3", 0x10_0006),
    ];
    assert_eq!(nodes, wanted);
    assert_eq!(subnet.links.len(), 5);
    assert_eq!(subnet.links[0].signalling, "4xQDR".parse().ok());
    assert_eq!(subnet.links[1].signalling, "4xQDR".parse().ok());
    assert_eq!(subnet.links[2].signalling, None);
    assert_eq!(subnet.of_kind(SubnetNodeKind::Adapter).count(), 3);
}

#[test]
fn what_is_written_is_read_again() {
    let text = include_str!("../../../../examples/formats/ibnetdiscover/director.txt");
    let before = subnet(text, None);
    let written = ibsim_net(&before).unwrap();
    for forced in [None, Some("ibsim"), Some("ibnetdiscover")] {
        assert_eq!(bare(subnet(&written, forced)), bare(before.clone()), "{forced:?}");
    }
}

/// Without lines, which differ.
fn bare(mut subnet: Subnet) -> Subnet {
    subnet.nodes.iter_mut().for_each(|node| node.line = 0);
    subnet.links.iter_mut().for_each(|link| (link.a.line, link.b.line) = (0, 0));
    subnet
}

#[test]
fn what_ibsim_does_not_know_is_refused() {
    let xdr =
        "Switch 4 \"S-0002c90300000120\" # \"leaf\"\n[1] \"H-0002c90300000a10\"[1] # \"node\" lid 4 4xXDR\n";
    // cannot-write
    let refused = ibsim_net(&subnet(xdr, None)).unwrap_err();
    assert_eq!(refused.code.name, "cannot-write");
    assert!(refused.message.contains("XDR"), "{refused}");
}

mod properties {
    use proptest::prelude::*;
    use weft_topology::{build, oneliner};

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Two and three tiers, rails or not, one to six generations.
        #[test]
        fn generated_networks_are_written_and_read_again(
            hosts in 1u32..40,
            adapters in 1u16..5,
            radix in 4u16..24,
            design in prop::sample::select(vec!["fat-tree", "rail-optimized"]),
            nic in prop::sample::select(vec!["cx6", "cx7", "connectx-5-edr", "connectx-6-hdr100"]),
        ) {
            let line = format!("{hosts} x 1 h100-pcie + {adapters} {nic} @ {design}(leaf {radix})");
            let catalogue = Catalogue::embedded();
            // Some sizes need more than three tiers, which is said when the line is read.
            let Ok(machine) = oneliner::parse(&line, catalogue) else { return Ok(()) };
            let built = build(&machine, catalogue).unwrap();
            let before = Subnet::of(&built.topology, catalogue);
            let text = ibsim_net(&before).unwrap();
            let reading = crate::read(&Source::file("t", &*text), catalogue, None);
            prop_assert!(reading.diagnostics.is_empty(), "{line}: {:?}", reading.diagnostics.first());
            prop_assert_eq!(bare(subnet(&text, None)), before, "{}", line);
        }
    }
}
