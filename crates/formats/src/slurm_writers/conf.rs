use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use super::{Topology, lists, topologies};
use crate::evidence::HierarchyKind;
use crate::writers::{Writer, WriterInput, lacks};

/// Writes `topology.conf`.
#[derive(Debug)]
pub struct SlurmTopologyConfWriter;

impl Writer for SlurmTopologyConfWriter {
    fn name(&self) -> &'static str {
        "slurm-topology-conf"
    }

    fn title(&self) -> &'static str {
        "Slurm's topology.conf: a tree of switches, or blocks"
    }

    fn write(&self, input: &WriterInput<'_>, catalogue: &Catalogue) -> Result<String, Diagnostic> {
        let all = topologies(input, catalogue)?;
        let is_possible =
            |one: &&Topology| matches!(one.hierarchy.kind, HierarchyKind::Tree | HierarchyKind::Blocks);
        let Some(chosen) = all.iter().find(is_possible) else {
            let hint = "`--to slurm-topology-yaml` writes the others";
            return Err(lacks("topology.conf holds switches or blocks, and the input has neither").hint(hint));
        };
        Ok(write(chosen, all.len() - 1))
    }
}

fn write(topology: &Topology, others: usize) -> String {
    let Topology { hierarchy, notes } = topology;
    let is_block = hierarchy.kind == HierarchyKind::Blocks;
    let plugin = hierarchy.kind.word();
    let mut lines = vec![format!("# For TopologyPlugin=topology/{plugin} in slurm.conf.")];
    lines.extend(notes.iter().map(|note| format!("# {note}")));
    if others > 0 {
        lines.push(format!("# The input holds {others} more; topology.yaml can hold all."));
    }
    for (node, (hosts, children)) in hierarchy.nodes.iter().zip(lists(hierarchy)) {
        if hosts.is_empty() && children.is_empty() {
            lines.push(format!("# {} has nothing below it.", node.name));
            continue;
        }
        lines.extend(node.alias.as_ref().map(|alias| format!("# {}={alias}", node.name)));
        let mut line = format!("{}={}", if is_block { "BlockName" } else { "SwitchName" }, node.name);
        for (key, list) in [("Switches", children), ("Nodes", hosts)] {
            if !list.is_empty() {
                line = format!("{line} {key}={list}");
            }
        }
        if let Some(speed) = node.link_speed {
            line = format!("{line} LinkSpeed={speed}");
        }
        lines.push(line);
    }
    if is_block && !hierarchy.block_sizes.is_empty() {
        let sizes: Vec<String> = hierarchy.block_sizes.iter().map(u32::to_string).collect();
        lines.push(format!("BlockSizes={}", sizes.join(",")));
    }
    lines.push(String::new());
    lines.join("\n")
}
