//! Drawing: a picture for a slide (SVG), a tree for a terminal (text), and Graphviz DOT for all else.
//!
//! All three show the same model: hosts as trees that hang off their CPUs (`layout`), what ties GPUs
//! besides PCIe (`fabric`), and the tiers of the network (`network`).

mod dot;
mod fabric;
mod layout;
mod network;
mod svg;
mod text;

use weft_catalogue::{Catalogue, LinkFamily};

use crate::graph::{Kind, NodeId, NodeKind, Topology};

pub use dot::dot;
pub use svg::{dark_style, escaped, svg};
pub use text::text;

/// What a drawing is called, and where it finds the full names of models.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The machine's title; empty for a drawing without one.
    pub title: &'a str,
    /// Says how models are called; without it they keep their catalogue names.
    pub catalogue: Option<&'a Catalogue>,
}

impl Options<'_> {
    /// The full name of a node's model: `NVIDIA A100 SXM4 80GB`.
    fn model(&self, topology: &Topology, node: NodeId) -> Option<String> {
        let name = topology.model(node)?;
        let known = self.catalogue.and_then(|catalogue| {
            let title = match topology.node(node).kind {
                NodeKind::Gpu => catalogue.gpu(name).map(|gpu| &gpu.title),
                NodeKind::Nic => catalogue.nic(name).map(|nic| &nic.title),
                NodeKind::Cpu => catalogue.cpu(name).map(|cpu| &cpu.title),
                NodeKind::PcieSwitch | NodeKind::GpuSwitch | NodeKind::NetworkSwitch => {
                    catalogue.switch(name).map(|switch| &switch.title)
                }
                NodeKind::Memory | NodeKind::HostBridge => return None,
            };
            title.ok().cloned()
        });
        Some(known.unwrap_or_else(|| name.to_owned()))
    }

    /// The same without the vendor and what follows a comma: `A100 SXM4 80GB`.
    fn short_model(&self, topology: &Topology, node: NodeId) -> Option<String> {
        let model = self.model(topology, node)?;
        let mut short = model.split(',').next().unwrap_or_default().trim();
        for prefix in ["NVIDIA ", "AMD ", "Intel ", "Google ", "(Mellanox) ", "GeForce ", "Broadcom "] {
            short = short.strip_prefix(prefix).unwrap_or(short);
        }
        Some(short.to_owned())
    }

    /// `8 x NVIDIA A100 SXM4 80GB` for each model of one kind, in order of first appearance.
    fn inventory(&self, topology: &Topology, kind: NodeKind) -> Vec<String> {
        let mut counts: Vec<(Option<&str>, NodeId, usize)> = Vec::new();
        for node in topology.of_kind(kind) {
            let model = topology.model(node);
            match counts.iter_mut().find(|(known, _, _)| *known == model) {
                Some((_, _, count)) => *count += 1,
                None => counts.push((model, node, 1)),
            }
        }
        let named = counts.into_iter().map(|(_, node, count)| {
            let model = self.model(topology, node).unwrap_or_else(|| unknown(kind).to_owned());
            format!("{} × {model}", thousands(count))
        });
        named.collect()
    }
}

fn unknown(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Gpu => "unknown GPU",
        NodeKind::Nic => "unknown NIC",
        NodeKind::Cpu => "unknown CPU",
        NodeKind::Memory => "memory",
        NodeKind::HostBridge => "host bridge",
        NodeKind::PcieSwitch => "PCIe switch",
        NodeKind::GpuSwitch => "GPU switch",
        NodeKind::NetworkSwitch => "network switch",
    }
}

/// What a node is called within its host: `GPU0`, not `host3/GPU0`.
fn local_name(topology: &Topology, node: NodeId) -> String {
    let name = topology.name(node);
    let own = name.split_once('/').filter(|(host, _)| host.starts_with("host")).map(|(_, own)| own);
    own.map_or(name.clone(), str::to_owned)
}

/// A bundle of lanes or links in words: `PCIe 4.0 x16`, `12 × NVLink 3`; the number 1 is left out.
fn bundle(kind: &Kind, count: u32) -> String {
    if count == 1 && kind.family != LinkFamily::Pcie || kind.family == LinkFamily::DisplayBridge {
        return kind.title.clone();
    }
    let words = kind.family.bundle(&kind.title, count);
    words.replacen(&format!("{count} x "), &format!("{} × ", thousands(count as usize)), 1)
}

/// `1 leaf`, `8 leaves`.
fn counted(count: usize, what: &str) -> String {
    let word = match (count, what) {
        (1, what) => what.to_owned(),
        (_, "leaf") => "leaves".to_owned(),
        (_, "switch") => "switches".to_owned(),
        (_, what) => format!("{what}s"),
    };
    format!("{} {word}", thousands(count))
}

/// `a torus of 4 × 4 × 4`.
fn torus(sizes: &[u16]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u16::to_string).collect();
    format!("a torus of {}", sizes.join(" × "))
}

/// `131,072`.
pub(crate) fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three_digits() {
        let grouped: Vec<String> = [0, 999, 1000, 131_072, 1_000_000].into_iter().map(thousands).collect();
        assert_eq!(grouped, ["0", "999", "1,000", "131,072", "1,000,000"]);
    }
}
