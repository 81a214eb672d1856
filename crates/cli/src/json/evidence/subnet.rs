use serde::Serialize;
use weft_base::{Guid, Place};
use weft_topology::{ForwardingTable, Subnet, SubnetEnd, SubnetLink, SubnetNode, SubnetNodeKind};

/// One network.
#[derive(Debug, Serialize)]
pub struct SubnetJson {
    file: String,
    line: u32,
    rails: Option<usize>,
    nodes: Vec<NodeJson>,
    links: Vec<LinkJson>,
    down: Vec<PortJson>,
}

#[derive(Debug, Serialize)]
struct NodeJson {
    kind: &'static str,
    name: String,
    guid: String,
    system_guid: Option<String>,
    host: Option<String>,
    tier: Option<u8>,
    ports: u16,
    lid: Option<u16>,
    line: Option<u32>,
}

#[derive(Debug, Serialize)]
struct LinkJson {
    a: EndJson,
    b: EndJson,
    lanes: Option<u8>,
    generation: Option<&'static str>,
    rate_bytes_per_s: Option<u64>,
}

/// `node` is an index into the nodes, so that a network of 300,000 cables stays printable.
#[derive(Debug, Serialize)]
struct EndJson {
    node: u32,
    port: u16,
    lid: Option<u16>,
    line: Option<u32>,
}

#[derive(Debug, Serialize)]
struct PortJson {
    node: u32,
    port: u16,
    line: Option<u32>,
}

/// One table.
#[derive(Debug, Serialize)]
pub struct ForwardingJson {
    file: String,
    line: u32,
    switch: String,
    name: String,
    lid: Option<u16>,
    entries: usize,
    dropped: usize,
}

impl SubnetJson {
    pub fn new(subnet: &Subnet, place: &Place) -> Self {
        let tiers = subnet.tiers();
        let mut hosts: Vec<Option<String>> = vec![None; subnet.nodes.len()];
        for host in subnet.hosts() {
            for adapter in host.adapters {
                hosts[adapter as usize] = Some(host.name.clone());
            }
        }
        let nodes = subnet.nodes.iter().zip(tiers).zip(hosts);
        Self {
            file: place.file.clone(),
            line: place.line,
            rails: subnet.rails(),
            nodes: nodes.map(|((one, tier), host)| node(one, tier, host)).collect(),
            links: subnet.links.iter().map(link).collect(),
            down: subnet
                .down
                .iter()
                .map(|end| PortJson { node: end.node, port: end.port, line: known(end.line) })
                .collect(),
        }
    }
}

fn node(node: &SubnetNode, tier: Option<u8>, host: Option<String>) -> NodeJson {
    let kind = match node.kind {
        SubnetNodeKind::Adapter if node.is_aggregation() => "aggregation-node",
        SubnetNodeKind::Adapter | SubnetNodeKind::Switch | SubnetNodeKind::Router => node.kind.word(),
    };
    NodeJson {
        kind,
        name: node.name.clone(),
        guid: node.guid.to_string(),
        system_guid: node.system_guid.map(|guid: Guid| guid.to_string()),
        host,
        tier,
        ports: node.ports,
        lid: node.lid,
        line: known(node.line),
    }
}

fn link(link: &SubnetLink) -> LinkJson {
    LinkJson {
        a: end(&link.a),
        b: end(&link.b),
        lanes: link.signalling.map(|signalling| signalling.lanes),
        generation: link.signalling.map(|signalling| signalling.generation.word()),
        rate_bytes_per_s: link.rate.map(weft_base::Rate::get),
    }
}

fn end(end: &SubnetEnd) -> EndJson {
    EndJson { node: end.node, port: end.port, lid: end.lid, line: known(end.line) }
}

fn known(line: u32) -> Option<u32> {
    Some(line).filter(|line| *line != 0)
}

impl ForwardingJson {
    pub fn new(table: &ForwardingTable, place: &Place) -> Self {
        Self {
            file: place.file.clone(),
            line: place.line,
            switch: table.switch.to_string(),
            name: table.name.clone(),
            lid: table.lid,
            entries: table.ports.len(),
            dropped: table.ports.iter().filter(|(lid, _)| table.port(*lid).is_none()).count(),
        }
    }
}
