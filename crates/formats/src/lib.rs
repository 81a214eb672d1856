//! What other tools print, read: one file per format. A paste is split into parts, each part is read by
//! one reader, and the parts are joined into a case. Nothing is dropped silently: a line that no reader
//! used is named in a diagnostic.

mod all_reduce_bench;
mod amd_smi_topology;
mod bandwidth_table;
mod bandwidth_test;
mod block;
mod bonding;
mod chakra;
mod codes;
mod dcgmi;
mod deepep;
mod document;
mod ethtool;
mod ethtool_statistics;
mod evidence;
mod fabric_check;
mod find;
mod format;
mod forwarding_table;
mod gpu_names;
mod grid;
mod hierarchy;
mod host_guids;
mod host_names;
mod hwloc;
mod ibdev2netdev;
mod iblinkinfo;
mod ibnetdiscover;
mod ibnodes;
mod ibqueryerrors;
mod ibsim;
mod ibstat;
mod ibstatus;
mod ibv_devinfo;
mod infer;
mod infragraph;
mod instance_topology;
mod ip_link;
mod join;
mod kernel_command_line;
mod kernel_log;
mod kubernetes_nodes;
mod llama_bench;
mod lldp;
mod lscpu;
mod lsmod;
mod lspci;
mod machine_file;
mod marks;
mod matrix;
mod measured_codes;
mod measured_grid;
mod measured_unit;
mod mlnx_qos;
mod mlxlink;
mod mlxreg;
pub mod msccl;
mod nccl_graph;
mod nccl_lint;
mod nccl_log;
mod nccl_settings;
mod nccl_tests;
mod nccl_topology;
mod netq;
mod numactl;
mod nvbandwidth;
mod nvidia_smi;
mod nvidia_smi_list;
mod nvidia_smi_nvlink;
mod nvidia_smi_p2p;
mod nvidia_smi_q;
mod nvidia_smi_query;
mod nvidia_smi_topo;
mod ofed_info;
mod one_liner;
mod p2p_bandwidth;
mod pair_csv;
mod pair_list;
mod pci;
mod pcie_error_counters;
mod peer_memory;
mod perfquery;
mod perftest;
mod port_report;
mod prefix;
mod ranges;
mod refuse;
mod rocm_bandwidth;
mod rocm_smi_partition;
mod rocm_smi_topology;
mod show_gids;
mod slurm_topology_conf;
mod slurm_topology_yaml;
mod slurm_writers;
mod sminfo;
mod split;
mod systemctl;
mod text;
mod topograph_model;
pub mod traces;
mod transferbench_topology;
mod vllm_log;
mod weight_tables;
mod words;
mod wrapping;
mod writers;
mod xpu_smi_topology;

use weft_base::{Diagnostic, Severity, nearest};
use weft_catalogue::Catalogue;

pub use amd_smi_topology::AmdSmiTopology;
pub use bandwidth_table::BandwidthTable;
pub use bandwidth_test::BandwidthTest;
pub use chakra::{Chakra, ExecutionNode, ExecutionTrace, TRACE_COLLECTIVE, execution_trace, rank_groups};
pub use codes::CODES;
pub use evidence::*;
pub use format::{Claim, Fit, Format, Line, LineRange, Located, Origin, Part, Read, Source, Text};
pub use forwarding_table::ForwardingTables;
pub use host_names::host_names;
pub use hwloc::{HwlocXml, LstopoText};
pub use iblinkinfo::Iblinkinfo;
pub use ibnetdiscover::{Ibnetdiscover, IbnetdiscoverPorts};
pub use ibnodes::Ibnodes;
pub use ibsim::{IbsimNet, IbsimWriter, ibsim_net};
pub use infer::{Inferred, InferredHost, infer, machine_of, machine_of_host};
pub use infragraph::InfraGraph;
pub use instance_topology::InstanceTopology;
pub use join::{Case, CaseGraph, Observation, Overrides, Port, Seen, Tie, join};
pub use kubernetes_nodes::KubernetesNodes;
pub use lspci::Lspci;
pub use machine_file::{MachineFile, SCHEMA};
pub use matrix::{Affinity, Cell, End, EndKind, Matrix};
pub use msccl::{MscclAlgorithm, MscclFile, MscclProof, MscclVerdict};
pub use nccl_graph::NcclGraphFile;
pub use nccl_lint::as_the_tool_would;
pub use nccl_log::NcclDebugLog;
pub use nccl_tests::NcclTests;
pub use nccl_topology::{NcclTopology, NcclTopologyWriter};
pub use netq::NetQ;
pub use nvbandwidth::NvBandwidth;
pub use nvidia_smi_p2p::{Access, NvidiaSmiP2p, PeerCell, PeerMatrix, PeerMode};
pub use nvidia_smi_topo::NvidiaSmiTopo;
pub use one_liner::OneLiner;
pub use p2p_bandwidth::P2pBandwidthLatencyTest;
pub use pair_csv::PairCsv;
pub use pair_list::PairList;
pub use pci::{PciAddress, arrange, read_config, settle_links};
pub use perftest::Perftest;
pub use rocm_bandwidth::RocmBandwidthTest;
pub use rocm_smi_topology::RocmSmiTopology;
pub use slurm_topology_conf::SlurmTopologyConf;
pub use slurm_topology_yaml::SlurmTopologyYaml;
pub use split::{Piece, format};
pub use text::lines;
pub use topograph_model::TopographModel;
pub use transferbench_topology::TransferBenchTopology;
pub use writers::{WRITERS, Writer, WriterInput, writer};
pub use xpu_smi_topology::XpuSmiTopology;

/// All formats. Help, reference, tests and fuzz targets iterate over this list; where two readers are
/// equally sure of the same lines, the earlier one gets them.
pub const FORMATS: &[&dyn Format] = &[
    &RocmSmiTopology,
    &rocm_smi_partition::ROCM_SMI_PARTITION,
    &AmdSmiTopology,
    &TransferBenchTopology,
    &XpuSmiTopology,
    &Iblinkinfo,
    &Ibnodes,
    &ibstat::IBSTAT,
    &ibstatus::IBSTATUS,
    &ibv_devinfo::IBV_DEVINFO,
    &ibdev2netdev::IBDEV2NETDEV,
    &ibqueryerrors::IBQUERYERRORS,
    &perfquery::PERFQUERY,
    &sminfo::SMINFO,
    &show_gids::SHOW_GIDS,
    &mlxlink::MLXLINK,
    &NvidiaSmiTopo,
    &NvidiaSmiP2p,
    &nvidia_smi_q::NVIDIA_SMI_Q,
    &nvidia_smi_nvlink::NVIDIA_SMI_NVLINK_STATUS,
    &nvidia_smi_nvlink::NVIDIA_SMI_NVLINK_ERRORS,
    &nvidia_smi_nvlink::NVIDIA_SMI_NVLINK_REMOTE,
    &nvidia_smi_list::NVIDIA_SMI_LIST,
    &nvidia_smi::NVIDIA_SMI,
    &nvidia_smi_query::NVIDIA_SMI_QUERY,
    &kernel_command_line::KERNEL_COMMAND_LINE,
    &kernel_log::KernelLog,
    &NcclTests,
    &P2pBandwidthLatencyTest,
    &RocmBandwidthTest,
    &NvBandwidth,
    &BandwidthTest,
    &Perftest,
    &NcclDebugLog,
    &SlurmTopologyConf,
    &SlurmTopologyYaml,
    &TopographModel,
    &InstanceTopology,
    &NetQ,
    &lldp::LLDP,
    &lsmod::LSMOD,
    &peer_memory::PEER_MEMORY,
    &ofed_info::OFED_INFO,
    &mlnx_qos::MLNX_QOS,
    &mlxreg::MLXREG,
    &ethtool_statistics::ETHTOOL_STATISTICS,
    &pcie_error_counters::PCIE_ERROR_COUNTERS,
    &ethtool::ETHTOOL,
    &ip_link::IP_LINK_STATISTICS,
    &bonding::BONDING,
    &systemctl::SYSTEMCTL_STATUS,
    &dcgmi::DCGMI_DIAG,
    &dcgmi::DcgmiDiagJson,
    &dcgmi::DCGMI_HEALTH,
    &numactl::NUMACTL_HARDWARE,
    &lscpu::LSCPU,
    &KubernetesNodes,
    &InfraGraph,
    &Chakra,
    &nccl_settings::NcclSettings,
    &all_reduce_bench::AllReduceBench,
    &deepep::DEEPEP,
    &llama_bench::LLAMA_BENCH,
    &vllm_log::VllmLog,
    &host_guids::HostGuids,
    &MachineFile,
    &OneLiner,
    &Lspci,
    &HwlocXml,
    &LstopoText,
    &Ibnetdiscover,
    &IbnetdiscoverPorts,
    &IbsimNet,
    &ForwardingTables,
    &NcclTopology,
    &NcclGraphFile,
    &MscclFile,
    &BandwidthTable,
    &PairCsv,
    &PairList,
];

/// Places of unused lines that are named one by one.
const UNUSED_MAX: usize = 64;

/// All that could be read of a source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// What was recovered, in order of the text.
    pub evidence: Vec<Located<Evidence>>,
    /// What is wrong, and which lines were not used.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether a format that is no text took the bytes as they are.
    pub is_binary: bool,
}

impl Reading {
    /// Whether nothing could be recovered: exit code 3.
    pub fn failed(&self) -> bool {
        self.evidence.is_empty() || self.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// Cuts `source`, whose lines are `lines`, into parts. Every line is in exactly one of them.
pub fn split<'a>(source: &'a Source, lines: &'a [Line<'a>]) -> Vec<Piece<'a>> {
    split::pieces(source, lines)
}

/// Reads all of `source`: by the format called `forced`, else each part by the format that fits it best.
pub fn read(source: &Source, catalogue: &Catalogue, forced: Option<&str>) -> Reading {
    if let Some(reading) = (!source.bytes.is_empty()).then(|| read_bytes(source, forced)).flatten() {
        return reading;
    }
    if let Some(finding) = refuse::unreadable(source) {
        return Reading { diagnostics: vec![finding], ..Reading::default() };
    }
    let lines = text::lines(source);
    let pieces = match forced.map(|name| split::format(name).ok_or(name)) {
        None => split::pieces(source, &lines),
        Some(Ok(format)) => split::forced(source, &lines, format),
        Some(Err(name)) => return Reading { diagnostics: vec![unknown_format(name)], ..Reading::default() },
    };
    let mut reading = Reading::default();
    let mut left = Vec::new();
    for piece in &pieces {
        match piece.format {
            Some(format) => {
                let read = format.read(&piece.part, catalogue);
                reading.evidence.extend(read.evidence);
                reading.diagnostics.extend(read.diagnostics);
                left.extend(read.unused);
            }
            None => left.extend(ranges::unused(&piece.part.lines, &[])),
        }
    }
    if reading.evidence.is_empty() {
        // One reason is enough; a list of all lines would bury it.
        if reading.diagnostics.iter().all(|finding| finding.severity != Severity::Error) {
            reading.diagnostics.push(refuse::no_device(&source.name, &lines));
        }
        return reading;
    }
    let unused = ranges::joined(left, &lines);
    let (listed, rest) = unused.split_at(unused.len().min(UNUSED_MAX));
    reading.diagnostics.extend(listed.iter().map(|range| unused_finding(*range, &source.name, &lines)));
    reading.diagnostics.extend(unused_rest(rest, &source.name));
    reading
}

/// By the first format that knows these bytes.
fn read_bytes(source: &Source, forced: Option<&str>) -> Option<Reading> {
    let mut asked = FORMATS.iter().filter(|format| forced.is_none_or(|name| name == format.name()));
    let Read { evidence, diagnostics, .. } =
        asked.find_map(|format| format.read_bytes(&source.name, &source.bytes))?;
    Some(Reading { evidence, diagnostics, is_binary: true })
}

fn unknown_format(name: &str) -> Diagnostic {
    let known = || FORMATS.iter().map(|format| format.name());
    let near = nearest(name, known(), 1);
    let hint = match near.first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the formats are {}", known().collect::<Vec<_>>().join(", ")),
    };
    Diagnostic::error(codes::UNKNOWN_FORMAT, format!("there is no format `{name}`")).hint(hint)
}

/// The places beyond [`UNUSED_MAX`], in one finding: an application's lines stand all over a job log.
fn unused_rest(rest: &[LineRange], file: &str) -> Option<Diagnostic> {
    let (first, last) = (rest.first()?, rest.last()?);
    let count: u64 = rest.iter().map(|range| u64::from(range.last - range.first) + 1).sum();
    let message = format!(
        "{count} more lines, in {} places from line {} to {}, were not used",
        rest.len(),
        first.first,
        last.last
    );
    let place = weft_base::Place::new(file, first.first, 1, 0);
    Some(Diagnostic::note(codes::LINES_UNUSED, message).at(place))
}

fn unused_finding(range: LineRange, file: &str, lines: &[Line<'_>]) -> Diagnostic {
    let first = lines.get(lines.partition_point(|line| line.number < range.first));
    let text = first.map_or("", |line| line.text.trim());
    let message = if range.first == range.last {
        format!("line {} was not used: `{}`", range.first, ranges::short(text))
    } else {
        format!(
            "lines {} to {} were not used; they begin with `{}`",
            range.first,
            range.last,
            ranges::short(text)
        )
    };
    let place = first.map(|line| {
        let length = u32::try_from(text.chars().count()).unwrap_or(0);
        weft_base::Place::new(file, line.number, line.column(line.indent()), length)
    });
    let finding = Diagnostic::note(codes::LINES_UNUSED, message);
    match place {
        Some(place) => finding.at(place),
        None => finding,
    }
}
