//! `ibnodes`, `ibhosts`, `ibswitches`: one line for each node of an InfiniBand subnet, without cables.

use weft_base::Guid;
use weft_catalogue::Catalogue;
use weft_topology::{Subnet, SubnetNode, SubnetNodeKind};

use crate::block::is_prefix;
use crate::evidence::Evidence;
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct Ibnodes;

impl Format for Ibnodes {
    fn name(&self) -> &'static str {
        "ibnodes"
    }

    fn title(&self) -> &'static str {
        "adapters and switches of an InfiniBand subnet: ibnodes, ibhosts, ibswitches"
    }

    fn command(&self) -> Option<&'static str> {
        Some("ibnodes")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[" ports "]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let lines = text.lines.iter().enumerate().filter(|(_, line)| node(&line.text, 0).is_some());
        let indices: Vec<usize> = lines.map(|(index, _)| index).collect();
        if indices.is_empty() { Vec::new() } else { vec![Claim::lines(indices)] }
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let mut subnet = Subnet::default();
        let mut used = Vec::new();
        for (index, line) in part.lines.iter().enumerate() {
            if let Some(node) = node(&line.text, line.number) {
                used.push(index);
                subnet.nodes.push(node);
            }
        }
        let unused = ranges::unused(&part.lines, &used);
        if subnet.nodes.is_empty() {
            return Read { unused, ..Read::default() };
        }
        let evidence = vec![Located { value: Evidence::Subnet(Box::new(subnet)), place: part.start() }];
        Read { evidence, diagnostics: Vec::new(), unused }
    }
}

/// `Ca : 0x… ports 2 "host-1 HCA-1"`, `Switch : 0x… ports 36 "leaf-1" enhanced port 0 lid 5 lmc 0`.
fn node(text: &str, line: u32) -> Option<SubnetNode> {
    let at = text.find(" ports ")?;
    let (head, guid) = text[..at].rsplit_once(char::is_whitespace)?;
    let guid: Guid = guid.strip_prefix("0x")?.parse().ok()?;
    let head = head.trim_end().strip_suffix(':')?.trim_end();
    let kinds = [
        ("Ca", SubnetNodeKind::Adapter),
        ("Switch", SubnetNodeKind::Switch),
        ("Rt", SubnetNodeKind::Router),
        ("Router", SubnetNodeKind::Router),
    ];
    let of = |(word, kind): (&str, SubnetNodeKind)| is_prefix(head.strip_suffix(word)?).then_some(kind);
    let kind = kinds.into_iter().find_map(of)?;
    let rest = &text[at + " ports ".len()..];
    let (count, rest) = rest.trim_start().split_once(' ').unwrap_or((rest.trim(), ""));
    let ports = count.trim().parse().ok()?;
    let (from, to) = (rest.find('"'), rest.rfind('"'));
    let (name, behind) = match (from, to) {
        (Some(from), Some(to)) if from < to => (&rest[from + 1..to], &rest[to + 1..]),
        (_, _) => ("", rest),
    };
    let mut words = behind.split_whitespace();
    let mut number = |name: &str| {
        words.find(|word| *word == name)?;
        words.next()?.parse::<u16>().ok()
    };
    let lid = number("lid").filter(|lid| *lid != 0);
    let lmc = number("lmc").and_then(|lmc| u8::try_from(lmc).ok()).filter(|lmc| *lmc < 8);
    Some(SubnetNode { lid, lmc: lmc.unwrap_or(0), line, ..SubnetNode::new(kind, guid, name, ports) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_node() {
        let found = node("Ca\t: 0x0c42a10300a1b2c3 ports 2 \"node-1 HCA-1\"", 4).unwrap();
        assert_eq!(
            (found.kind, found.ports, found.name.as_str()),
            (SubnetNodeKind::Adapter, 2, "node-1 HCA-1")
        );
        assert_eq!((found.guid, found.line), (Guid::new(0x0c42_a103_00a1_b2c3), 4));
        let text = "> Switch: 0x0002c90200400001 ports 36 \"leaf \"a\"\" enhanced port 0 lid 5 lmc 1";
        let found = node(text, 1).unwrap();
        assert_eq!((found.lid, found.lmc, found.name.as_str()), (Some(5), 1, "leaf \"a\""));
        for text in
            ["the switch has 36 ports in all", "Ca : ports 2", "Cable : 0x12 ports 2 \"x\"", " ports "]
        {
            assert_eq!(node(text, 1), None, "{text}");
        }
    }
}
