use serde::Serialize;
use weft_base::Place;
use weft_formats::Hierarchy;

/// One topology of a cluster.
#[derive(Debug, Serialize)]
pub struct HierarchyJson {
    format: &'static str,
    file: String,
    line: u32,
    name: Option<String>,
    kind: &'static str,
    default: bool,
    hosts: Vec<HostJson>,
    nodes: Vec<NodeJson>,
    block_sizes: Vec<u32>,
}

#[derive(Debug, Serialize)]
struct HostJson {
    name: String,
    under: Vec<String>,
}

#[derive(Debug, Serialize)]
struct NodeJson {
    name: String,
    alias: Option<String>,
    kind: &'static str,
    level: usize,
    under: Vec<String>,
    hosts: usize,
    link_speed: Option<u32>,
    line: u32,
}

impl HierarchyJson {
    pub fn new(hierarchy: &Hierarchy, place: &Place) -> Self {
        let names = |under: &[usize]| {
            under.iter().filter_map(|node| Some(hierarchy.nodes.get(*node)?.name.clone())).collect()
        };
        let (levels, hosts) = (hierarchy.levels(), hierarchy.hosts());
        let nodes = hierarchy.nodes.iter().zip(levels.iter().zip(&hosts));
        let node = |(node, (level, hosts)): (&weft_formats::HierarchyNode, (&usize, &Vec<usize>))| NodeJson {
            name: node.name.clone(),
            alias: node.alias.clone(),
            kind: if node.is_block { "block" } else { "switch" },
            level: *level,
            under: names(&node.under),
            hosts: hosts.len(),
            link_speed: node.link_speed,
            line: node.line,
        };
        Self {
            format: hierarchy.format,
            file: place.file.clone(),
            line: place.line,
            name: hierarchy.name.clone(),
            kind: hierarchy.kind.word(),
            default: hierarchy.is_default,
            hosts: hierarchy
                .leaves
                .iter()
                .map(|leaf| HostJson { name: leaf.name.clone(), under: names(&leaf.under) })
                .collect(),
            nodes: nodes.map(node).collect(),
            block_sizes: hierarchy.block_sizes.clone(),
        }
    }
}
