//! What clouds and topograph's graph engine say of placed instances: each with the switches above it.

use weft_catalogue::Catalogue;

use crate::document::{Node, documents, finished, json_with};
use crate::evidence::{Evidence, HierarchyKind};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::hierarchy::{At, Builder, Named, Placed, declare};

/// The reader.
#[derive(Debug)]
pub struct InstanceTopology;

/// How one service writes it.
struct Shape {
    /// Key of the list.
    list: &'static str,
    /// Key of an instance's name.
    name: &'static str,
    /// Key of its switches.
    path: &'static str,
    /// Whether the switch nearest to it comes last.
    is_root_first: bool,
    /// Keys of its block, outermost first.
    block: &'static [&'static str],
}

/// `aws ec2 describe-instance-topology`, topograph's graph engine, Lambda and Nscale.
const SHAPES: [Shape; 4] = [
    Shape {
        list: "Instances",
        name: "InstanceId",
        path: "NetworkNodes",
        is_root_first: true,
        block: &["CapacityBlockId"],
    },
    Shape {
        list: "instances",
        name: "id",
        path: "network_layers",
        is_root_first: false,
        block: &["labels", "accelerator.topograph.run/domain"],
    },
    Shape {
        list: "data",
        name: "id",
        path: "networkPath",
        is_root_first: false,
        block: &["nvlink", "domain_id"],
    },
    Shape {
        list: "results",
        name: "instance_id",
        path: "network_node_path",
        is_root_first: true,
        block: &["block_id"],
    },
];

impl Format for InstanceTopology {
    fn name(&self) -> &'static str {
        "instance-topology"
    }

    fn title(&self) -> &'static str {
        "instances of a cloud with the switches above each, and topograph's graph"
    }

    fn command(&self) -> Option<&'static str> {
        Some("aws ec2 describe-instance-topology")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["\"NetworkNodes\"", "\"network_layers\"", "\"networkPath\"", "\"network_node_path\""]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        json_with(text.lines, self.marks())
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let text = part.text();
        let (documents, fault) = documents(&text);
        let mut builder = Builder::new(part);
        let mut placed = Vec::new();
        for document in &documents {
            for shape in &SHAPES {
                let instances = document.get(shape.list).map_or(&[][..], Node::items);
                placed.extend(instances.iter().filter_map(|instance| place(instance, shape)));
            }
        }
        declare(placed, &mut builder);
        let mut read = Read::default();
        if !builder.is_empty() {
            let hierarchy = builder.finish(self.name(), HierarchyKind::Tree);
            let value = Evidence::Hierarchy(Box::new(hierarchy));
            read.evidence.push(Located { value, place: part.start() });
        }
        read.diagnostics = builder.diagnostics;
        finished(read, part, fault.as_ref(), "this JSON document")
    }
}

fn place(instance: &Node<'_>, shape: &Shape) -> Option<Placed> {
    let named = |node: &Node<'_>| Some(Named { name: node.text()?.to_owned(), at: At::of(node) });
    let host = instance.get(shape.name).and_then(named)?;
    let hops = instance.get(shape.path)?.items();
    let mut names: Vec<Named> =
        hops.iter().filter_map(|hop| named(hop).or_else(|| hop.get("id").and_then(named))).collect();
    if shape.is_root_first {
        names.reverse();
    }
    let path = names.into_iter().enumerate().map(|(tier, name)| (format!("tier-{tier}"), name)).collect();
    Some(Placed { host, path, block: instance.at(shape.block).and_then(named) })
}
