//! Whole outputs; expected values are counted by hand in the texts.

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_topology::{Subnet, SubnetNodeKind};

use crate::evidence::Evidence;
use crate::format::Source;

/// The subnets of a text, and the findings.
fn subnets(text: &str) -> (Vec<Subnet>, Vec<Diagnostic>) {
    let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
    let mut found = Vec::new();
    for evidence in reading.evidence {
        if let Evidence::Subnet(subnet) = evidence.value {
            found.push(*subnet);
        }
    }
    (found, reading.diagnostics)
}

fn codes(findings: &[Diagnostic]) -> Vec<(&str, u32)> {
    findings
        .iter()
        .map(|finding| (finding.code.name, finding.place.as_ref().map_or(0, |place| place.line)))
        .collect()
}

const TWO_TIERS: &str = include_str!("../../../../examples/formats/ibnetdiscover/two-tiers-one-narrow.txt");
const DIRECTOR: &str = include_str!("../../../../examples/formats/ibnetdiscover/director.txt");

#[test]
fn a_narrow_cable_is_found_at_its_line() {
    let (subnets, findings) = subnets(TWO_TIERS);
    let [subnet] = &subnets[..] else { panic!("{}", subnets.len()) };
    // 4 leaves, 2 spines, 7 adapters that are plugged in; 7 + 4 * 2 cables.
    assert_eq!(subnet.of_kind(SubnetNodeKind::Switch).count(), 6);
    assert_eq!(subnet.of_kind(SubnetNodeKind::Adapter).count(), 7);
    assert_eq!(subnet.links.len(), 15);
    assert!(subnet.links.iter().all(|link| link.a.line != 0 && link.b.line != 0));
    let slow = TWO_TIERS.lines().position(|line| line.contains("1xHDR")).unwrap();
    let line = u32::try_from(slow + 1).unwrap();
    // fabric-link-slow
    assert_eq!(codes(&findings), [("fabric-link-slow", line)]);
    let narrow = subnet.links.iter().find(|link| link.a.line == line || link.b.line == line).unwrap();
    // One lane of HDR is 50 Gb/s.
    assert_eq!(narrow.rate.unwrap().get(), 6_250_000_000);
    let leaf = subnet.nodes.iter().find(|node| node.name == "leaf-1").unwrap();
    assert_eq!((leaf.lid, leaf.ports, leaf.vendor, leaf.device), (Some(3), 4, Some(0x2c9), Some(0xd2f0)));
    assert_eq!(subnet.hosts().len(), 4);
}

#[test]
fn directors_have_chassis_sections_and_aggregation_nodes() {
    let (subnets, findings) = subnets(DIRECTOR);
    assert_eq!(findings, []);
    let [subnet] = &subnets[..] else { panic!("{}", subnets.len()) };
    assert_eq!(subnet.nodes.iter().filter(|node| node.is_aggregation()).count(), 1);
    let hosts: Vec<(String, usize)> =
        subnet.hosts().into_iter().map(|host| (host.name, host.adapters.len())).collect();
    assert_eq!(hosts, [("node-1".to_owned(), 1), ("node-2".to_owned(), 2)]);
    // The line card has hosts below it, the spine has only the line card.
    assert_eq!(subnet.tiers()[..2], [Some(1), Some(0)]);
}

#[test]
fn a_port_that_is_down_leaves_an_adapter_alone() {
    let text = include_str!("../../../../examples/formats/ibnetdiscover/port-down.txt");
    let (subnets, findings) = subnets(text);
    assert_eq!(subnets[0].nodes.len(), 1);
    // fabric-port-down
    assert_eq!(codes(&findings), [("fabric-port-down", 10)]);
}

/// Line 27 of the example: leaf-2's port 1 to host-2; the adapter's own record says the same.
#[test]
fn a_cable_that_one_end_does_not_know_is_said() {
    let row = TWO_TIERS.lines().position(|line| line.contains("\"host-2 mlx5_0\" lid")).unwrap();
    let cut: Vec<&str> =
        TWO_TIERS.lines().enumerate().filter(|(at, _)| *at != row).map(|(_, line)| line).collect();
    let (subnets, findings) = subnets(&cut.join("\n"));
    assert_eq!(subnets[0].links.len(), 15);
    // fabric-one-sided
    assert_eq!(findings.iter().filter(|finding| finding.code.name == "fabric-one-sided").count(), 1);
}

#[test]
fn a_switch_alone_names_the_far_ends_of_its_cables() {
    let text = "Switch\t41 \"S-0002c90300000120\" # \"leaf 1\" enhanced port 0 lid 3 lmc 0\n\
                [1]\t\"H-0002c90300000a10\"[1](2c90300000a11) # \"node-1 mlx5_0\" lid 4 4xHDR\n";
    let (subnets, findings) = subnets(text);
    // fabric-partial
    assert_eq!(codes(&findings), [("fabric-partial", 1)]);
    let far = &subnets[0].nodes[1];
    assert_eq!((far.name.as_str(), far.guid.get(), far.line), ("node-1 mlx5_0", 0x2_c903_0000_0a10, 0));
    assert_eq!(subnets[0].links[0].b.lid, Some(4));
}

#[test]
fn ends_that_differ_and_doubled_ports_and_nodes_are_said() {
    let node = |guid: &str, rows: &str| {
        format!("Switch 41 \"S-{guid}\" # \"{guid}\" base port 0 lid 0 lmc 0\n{rows}\n")
    };
    let (a, b, c) = ("0002c90300000001", "0002c90300000002", "0002c90300000003");
    let text =
        node(a, &format!("[1] \"S-{b}\"[1] # \"b\" lid 0 4xHDR\n[1] \"S-{c}\"[1] # \"c\" lid 0 4xHDR"))
            + &node(b, &format!("[1] \"S-{a}\"[1] # \"a\" lid 0 1xHDR"))
            + &node(c, &format!("[1] \"S-{a}\"[1] # \"a\" lid 0 4xHDR"));
    // fabric-port-twice, fabric-ends-differ, fabric-guid-twice
    assert_eq!(codes(&subnets(&text).1), [("fabric-ends-differ", 2), ("fabric-port-twice", 3)]);
    let again = text.clone() + &node(a, "").replace(&format!("# \"{a}\""), "# \"other\"");
    assert!(codes(&subnets(&again).1).contains(&("fabric-guid-twice", 8)), "{:?}", subnets(&again).1);
}

#[test]
fn prose_around_and_two_outputs_in_one_text_are_told_apart() {
    let text = format!("$ ibnetdiscover\n{TWO_TIERS}\nand the other:\n{DIRECTOR}\nthanks\n");
    let (subnets, findings) = subnets(&text);
    assert_eq!(subnets.iter().map(|subnet| subnet.nodes.len()).collect::<Vec<_>>(), [13, 6]);
    let unused = findings.iter().filter(|finding| finding.code.name == "lines-unused").count();
    assert_eq!(unused, 3, "{findings:?}");
}

#[test]
fn ports_one_a_line_give_the_same_cables() {
    let text = include_str!("../../../../examples/formats/ibnetdiscover-ports/two-tiers.txt");
    let ((ports, findings), (whole, _)) = (subnets(text), subnets(TWO_TIERS));
    assert_eq!(findings.iter().map(|finding| finding.code.name).collect::<Vec<_>>(), ["fabric-link-slow"]);
    let cables = |subnet: &Subnet| {
        let mut cables: Vec<_> = subnet
            .links
            .iter()
            .map(|link| {
                let mut ends = [link.a, link.b].map(|end| (subnet.label(end.node), end.port, end.lid));
                ends.sort();
                (ends, link.signalling.map(|runs| runs.to_string()))
            })
            .collect();
        cables.sort();
        cables
    };
    assert_eq!(cables(&ports[0]), cables(&whole[0]));
}

#[test]
fn a_port_of_the_list_without_a_far_end_is_down() {
    let text = "SW     7  5 0x0002c90300000120 4x SDR                                      'leaf-3'\n";
    let (subnets, _) = subnets(text);
    let down = &subnets[0].down[0];
    assert_eq!((down.port, subnets[0].node(down).name.as_str(), down.line), (5, "leaf-3", 1));
}
