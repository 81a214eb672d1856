//! `ibnetdiscover -p`: one line per port.

use std::collections::BTreeMap;

use weft_base::Guid;
use weft_catalogue::Catalogue;
use weft_topology::{Generation, Rates, Signalling, Subnet, SubnetEnd, SubnetNode, SubnetNodeKind};

use crate::evidence::Evidence;
use crate::fabric_check::{Statement, diagnose, join};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct IbnetdiscoverPorts;

impl Format for IbnetdiscoverPorts {
    fn name(&self) -> &'static str {
        "ibnetdiscover-ports"
    }

    fn title(&self) -> &'static str {
        "ports of an InfiniBand subnet, one a line"
    }

    fn command(&self) -> Option<&'static str> {
        Some("ibnetdiscover -p")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["SW ", "CA ", "RT "]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mine = |index: &usize| row(&text.lines[*index].text).is_some();
        let claim = Claim::lines((0..text.lines.len()).filter(mine));
        if claim.runs.is_empty() { Vec::new() } else { vec![claim] }
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        let (mut subnet, mut nodes) = (Subnet::default(), BTreeMap::new());
        let (mut statements, mut used) = (Vec::new(), Vec::new());
        for (index, line) in part.lines.iter().enumerate() {
            let Some(row) = row(&line.text) else { continue };
            used.push(index);
            let own = end(&mut subnet, &mut nodes, &row.own, line.number);
            let from = SubnetEnd { signalling: row.signalling, line: line.number, ..own };
            let node = &mut subnet.nodes[own.node as usize];
            node.line = if node.line == 0 { line.number } else { node.line };
            match &row.far {
                Some(far) => {
                    let to = end(&mut subnet, &mut nodes, far, 0);
                    statements.push(Statement { from, to });
                }
                None => subnet.down.push(SubnetEnd { signalling: None, ..from }),
            }
        }
        let unused = ranges::unused(&part.lines, &used);
        if subnet.nodes.is_empty() {
            return Read { unused, ..Read::default() };
        }
        join(&mut subnet, statements, &Rates::new(catalogue));
        let diagnostics = diagnose(&subnet, part);
        let evidence = vec![Located { value: Evidence::Subnet(Box::new(subnet)), place: part.start() }];
        Read { evidence, diagnostics, unused }
    }
}

struct Row<'a> {
    own: PortAt<'a>,
    far: Option<PortAt<'a>>,
    signalling: Option<Signalling>,
}

struct PortAt<'a> {
    kind: SubnetNodeKind,
    lid: Option<u16>,
    port: u16,
    guid: Guid,
    name: &'a str,
}

/// `SW 7 2 0x… 4x HDR - CA 14 1 0x… ( 'leaf-3' - 'host-3 mlx5_1' )`.
fn row(text: &str) -> Option<Row<'_>> {
    let text = text.trim();
    if !["SW", "CA", "RT"].iter().any(|word| text.starts_with(word)) {
        return None;
    }
    let mut words = text.split_whitespace();
    let mut own = port_at(&mut words)?;
    let lanes = words.next()?.strip_suffix('x')?.parse().ok()?;
    let generation = Generation::of_word(words.next()?);
    let signalling = generation.map(|generation| Signalling::new(lanes, generation));
    let names = text.find('\'').map(|at| text[at..].trim_end_matches([' ', ')']));
    let names = names.and_then(|names| names.strip_prefix('\'')?.strip_suffix('\'')).unwrap_or("");
    if words.next() != Some("-") {
        own.name = names;
        return Some(Row { own, far: None, signalling });
    }
    let mut far = port_at(&mut words)?;
    (own.name, far.name) = names.split_once("' - '").unwrap_or((names, ""));
    Some(Row { own, far: Some(far), signalling })
}

fn port_at<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<PortAt<'a>> {
    let kind = match words.next()? {
        "CA" => SubnetNodeKind::Adapter,
        "SW" => SubnetNodeKind::Switch,
        "RT" => SubnetNodeKind::Router,
        _ => return None,
    };
    let lid = words.next()?.parse().ok().filter(|lid| *lid != 0);
    let port = words.next()?.parse().ok().filter(|port| *port != 0)?;
    let guid = words.next().filter(|word| word.starts_with("0x"))?.parse().ok()?;
    Some(PortAt { kind, lid, port, guid, name: "" })
}

/// The end at a port. Adapters are known by the GUIDs of their ports, which are all that is printed.
fn end(
    subnet: &mut Subnet,
    nodes: &mut BTreeMap<(SubnetNodeKind, Guid), u32>,
    at: &PortAt<'_>,
    line: u32,
) -> SubnetEnd {
    let is_switch = at.kind == SubnetNodeKind::Switch;
    let next = u32::try_from(subnet.nodes.len()).unwrap_or(u32::MAX);
    let node = *nodes.entry((at.kind, at.guid)).or_insert(next);
    if node == next {
        let lid = at.lid.filter(|_| is_switch);
        subnet.nodes.push(SubnetNode { lid, line, ..SubnetNode::new(at.kind, at.guid, at.name, at.port) });
    }
    let known = &mut subnet.nodes[node as usize];
    known.ports = known.ports.max(at.port);
    SubnetEnd { lid: at.lid, guid: Some(at.guid).filter(|_| !is_switch), ..SubnetEnd::new(node, at.port) }
}
