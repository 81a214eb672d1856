//! `weft/show/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_formats::EndKind;
use weft_topology::{Assumption, NodeId, NodeKind, ReportedClass, Topology};

use super::DiagnosticJson;
use super::evidence::EvidenceJson;
use super::ties::TieJson;
use crate::load::Loaded;
use crate::pairs::{Cell, Pairs, Routes, only_peers};

/// The version of this document.
pub const SCHEMA: &str = "weft/show/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct ShowJson {
    schema: &'static str,
    devices: Vec<DeviceJson>,
    pairs: Vec<PairJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ties: Vec<TieJson>,
    // Only ever written, so that flattening spoils no message.
    #[serde(flatten)]
    evidence: EvidenceJson,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct DeviceJson {
    id: String,
    kind: &'static str,
    name: String,
    model: Option<String>,
    assumed: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PairJson {
    a: String,
    b: String,
    class: Option<String>,
    nccl_path: Option<&'static str>,
    rate_bytes_per_s: Option<u64>,
}

/// The document of a machine.
pub fn document(loaded: &Loaded) -> ShowJson {
    let peers = only_peers(loaded).map(|peers| {
        let pair = |cell: &weft_formats::PeerCell| PairJson {
            a: peers.ends[cell.row].clone(),
            b: peers.ends[cell.column].clone(),
            class: cell.access.map(|access| access.word().to_owned()),
            nccl_path: None,
            rate_bytes_per_s: None,
        };
        peers.cells.iter().map(pair).collect()
    });
    ShowJson {
        schema: SCHEMA,
        devices: devices(loaded),
        pairs: peers.unwrap_or_else(|| pairs(loaded)),
        ties: loaded.case.ties.iter().map(|tie| TieJson::new(tie, &loaded.case.nic_labels)).collect(),
        evidence: EvidenceJson::new(&loaded.case.evidence),
        diagnostics: super::all(&loaded.diagnostics),
    }
}

/// The document of an input that holds no machine.
pub fn failed(diagnostics: &[Diagnostic]) -> ShowJson {
    ShowJson {
        schema: SCHEMA,
        devices: Vec::new(),
        pairs: Vec::new(),
        ties: Vec::new(),
        evidence: EvidenceJson::default(),
        diagnostics: super::all(diagnostics),
    }
}

/// GPUs and NICs first, in the order of the input, then what joins them.
fn devices(loaded: &Loaded) -> Vec<DeviceJson> {
    let topology = &loaded.graph.topology;
    let order = [
        NodeKind::Gpu,
        NodeKind::Nic,
        NodeKind::Cpu,
        NodeKind::GpuSwitch,
        NodeKind::PcieSwitch,
        NodeKind::HostBridge,
        NodeKind::Memory,
        NodeKind::NetworkSwitch,
    ];
    let of = |kind| topology.of_kind(kind).enumerate().map(move |(index, node)| (kind, index, node));
    let device = |(kind, index, node): (NodeKind, usize, NodeId)| {
        let id = topology.name(node);
        DeviceJson {
            name: name_in_legend(loaded, kind, index).unwrap_or_else(|| id.clone()),
            assumed: assumed_of(&loaded.graph.assumed, topology, node, &id),
            kind: kind.word(),
            model: topology.model(node).map(str::to_owned),
            id,
        }
    };
    order.into_iter().flat_map(of).map(device).collect()
}

/// `mlx5_0` for `NIC0`.
fn name_in_legend(loaded: &Loaded, kind: NodeKind, index: usize) -> Option<String> {
    let matrix = &loaded.case.matrix.as_ref()?.value;
    let end = matrix.of_kind(EndKind::Nic).nth(index).filter(|_| kind == NodeKind::Nic)?;
    matrix.ends()[end].device.clone()
}

/// What was assumed of a device by its name, or of all devices of its kind.
fn assumed_of(assumed: &[Assumption], topology: &Topology, node: NodeId, id: &str) -> Vec<String> {
    let kind = match topology.node(node).kind {
        NodeKind::Gpu => "GPU",
        NodeKind::Nic => "NIC",
        NodeKind::Cpu => "CPU",
        NodeKind::PcieSwitch => "PCIe switch",
        NodeKind::GpuSwitch => "NVSwitch",
        NodeKind::Memory | NodeKind::HostBridge | NodeKind::NetworkSwitch => "",
    };
    let about = |one: &&Assumption| one.subject == id || (!kind.is_empty() && one.subject == kind);
    let sentence = |one: &Assumption| format!("{} {}: {}", one.what, one.value, one.why);
    assumed.iter().filter(about).map(sentence).collect()
}

/// One entry per cell of the input; without a matrix, all of one host's GPUs to its GPUs and NICs.
fn pairs(loaded: &Loaded) -> Vec<PairJson> {
    let pairs = Pairs::new(loaded);
    let mut routes = Routes::new(&loaded.graph.host);
    let mut found = Vec::new();
    for row in 0..pairs.ends.len() {
        if !pairs.reported() && pairs.ends[row].kind == EndKind::Nic {
            continue;
        }
        for column in 0..pairs.ends.len() {
            let class = match pairs.cell(row, column) {
                Cell::Same | Cell::Absent => continue,
                Cell::Unknown => None,
                Cell::Class(class) => Some(class),
            };
            let (a, b) = (&pairs.ends[row], &pairs.ends[column]);
            // Where the graph has another class, its ways are not those of the machine.
            let agrees = class.is_some_and(|class| pairs.agrees(row, column, class));
            let path = |class: ReportedClass| if agrees { pairs.path(row, column) } else { class.into() };
            found.push(PairJson {
                a: a.label.clone(),
                b: b.label.clone(),
                class: class.map(|class| class.to_string()),
                nccl_path: class.map(|class| path(class).word()),
                rate_bytes_per_s: agrees
                    .then(|| routes.rate(a.node, b.node))
                    .flatten()
                    .map(weft_base::Rate::get),
            });
        }
    }
    found
}
