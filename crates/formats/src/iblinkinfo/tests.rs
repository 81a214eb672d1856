//! Ports as they are pasted: whole, one per line, and without headers.

use weft_catalogue::Catalogue;
use weft_topology::{Subnet, SubnetNodeKind};

use crate::evidence::Evidence;
use crate::format::Source;

fn read(text: &str) -> (Subnet, Vec<String>) {
    let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
    let subnet = reading.evidence.into_iter().find_map(|located| {
        let Evidence::Subnet(subnet) = located.value else { return None };
        Some(*subnet)
    });
    let said = |finding: &weft_base::Diagnostic| format!("{} {}", finding.code.name, finding.message);
    (subnet.expect("a subnet"), reading.diagnostics.iter().map(said).collect())
}

const WHOLE: &str = "\
CA: node-2 mlx5_0:
      0x0c42a10300a1b202      3    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       1    2[  ] \"leaf-1\" ( )
CA: node-1 mlx5_0:
      0x0c42a10300a1b201      2    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       1    1[  ] \"leaf-1\" ( )
Switch: 0x0c42a10300a1b100 leaf-1:
           1    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       2    1[  ] \"node-1 mlx5_0\" ( )
           1    2[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       3    1[  ] \"node-2 mlx5_0\" ( )
           1    3[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )
";

/// Nodes by name, cables as `name port - name port rate`.
fn cables(subnet: &Subnet) -> Vec<String> {
    let end = |end: &weft_topology::SubnetEnd| format!("{} {}", subnet.node(end).name, end.port);
    let cable = |link: &weft_topology::SubnetLink| {
        let gigabits = link.rate.map_or(0, |rate| rate.get() * 8 / 1_000_000_000);
        let mut ends = [end(&link.a), end(&link.b)];
        ends.sort();
        format!("{} - {} {gigabits}", ends[0], ends[1])
    };
    let mut found: Vec<String> = subnet.links.iter().map(cable).collect();
    found.sort();
    found
}

#[test]
fn the_two_ends_of_a_cable_find_each_other() {
    let (subnet, said) = read(WHOLE);
    // Four lanes of HDR carry 200 Gb/s.
    assert_eq!(cables(&subnet), ["leaf-1 1 - node-1 mlx5_0 1 200", "leaf-1 2 - node-2 mlx5_0 1 200"]);
    assert_eq!(subnet.nodes.len(), 3);
    let leaf = subnet.nodes.iter().find(|node| node.kind == SubnetNodeKind::Switch).unwrap();
    assert_eq!((leaf.guid.to_string().as_str(), leaf.ports, leaf.lid), ("0x0c42a10300a1b100", 3, Some(1)));
    let adapter = subnet.nodes.iter().find(|node| node.name == "node-2 mlx5_0").unwrap();
    assert_eq!(adapter.guid.to_string(), "0x0c42a10300a1b202");
    assert_eq!(subnet.down.iter().map(|end| end.port).collect::<Vec<_>>(), [3]);
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn without_headers_nodes_are_known_by_lid_and_guid() {
    let up: String = WHOLE.lines().filter(|line| line.contains("Up")).flat_map(|line| [line, "\n"]).collect();
    let (subnet, _) = read(&up);
    assert_eq!(cables(&subnet), ["leaf-1 1 - node-1 mlx5_0 1 200", "leaf-1 2 - node-2 mlx5_0 1 200"]);
    let switches = subnet.nodes.iter().filter(|node| node.kind == SubnetNodeKind::Switch).count();
    assert_eq!((subnet.nodes.len(), switches), (3, 1));
}

#[test]
fn one_line_per_port_says_both_guids() {
    let text = "\
0x0c42a10300a1b201 \"            node-1 mlx5_0\"      0    1[  ] ==( 4X           2.5 Gbps Initialize/  LinkUp)==>  0x0c42a10300a1b100      0    1[  ] \"leaf-1\" (Could be 12X Could be 10.0 Gbps)
0x0c42a10300a1b203 \"            node-3 mlx5_0\"      0    1[  ] ==( 4X          10.0 Gbps Initialize/  LinkUp)==>  0x0c42a10300a1b100      0    2[  ] \"leaf-1\" ( )
0x0c42a10300a1b100 \"                   leaf-1\"      0    1[  ] ==( 4X           2.5 Gbps Initialize/  LinkUp)==>  0x0c42a10300a1b201      0    1[  ] \"node-1 mlx5_0\" (Could be 12X Could be 10.0 Gbps)
0x0c42a10300a1b100 \"                   leaf-1\"      0    2[  ] ==( 4X          10.0 Gbps Initialize/  LinkUp)==>  0x0c42a10300a1b203      0    1[  ] \"node-3 mlx5_0\" ( )
0x0c42a10300a1b100 \"                   leaf-1\"      0    3[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )
";
    let (subnet, said) = read(text);
    // SDR carries 2 Gb/s a lane, QDR 8.
    assert_eq!(cables(&subnet), ["leaf-1 1 - node-1 mlx5_0 1 8", "leaf-1 2 - node-3 mlx5_0 1 32"]);
    assert_eq!(subnet.links[0].capability.map(|could| could.to_string()).as_deref(), Some("12xQDR"));
    assert_eq!(subnet.of_kind(SubnetNodeKind::Switch).count(), 1);
    assert!(said.iter().any(|text| text.starts_with("fabric-link-slow")), "{said:?}");
    assert!(said.iter().any(|text| text.starts_with("port-not-active 4 ports")), "{said:?}");
}

#[test]
fn cut_lines_and_prose_are_told() {
    let text =
        format!("here it is:\n{}\nthat was all\n", WHOLE.replace("==>       1    2[  ] \"leaf-1\" ( )", ""));
    let (subnet, said) = read(&text);
    assert_eq!(subnet.links.len(), 2);
    assert!(said.iter().any(|text| text.starts_with("row-cut 1 lines end")), "{said:?}");
    assert_eq!(said.iter().filter(|text| text.starts_with("lines-unused")).count(), 2, "{said:?}");
}
