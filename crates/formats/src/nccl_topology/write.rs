//! A topology file for NCCL or RCCL, from what was read of one or from any machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weft_base::{Diagnostic, Rate};
use weft_catalogue::{Catalogue, Gpu, LinkFamily, Nic, PciId};
use weft_topology::{NodeId, NodeKind, Topology};

use crate::infer::addresses_of_host;
use crate::writers::{Writer, WriterInput, lacks};

use super::rewrite;

/// The writer.
#[derive(Debug)]
pub struct NcclTopologyWriter;

impl Writer for NcclTopologyWriter {
    fn name(&self) -> &'static str {
        "nccl-topology"
    }

    fn title(&self) -> &'static str {
        "a topology file for NCCL_TOPO_FILE (XML)"
    }

    fn write(&self, input: &WriterInput<'_>, catalogue: &Catalogue) -> Result<String, Diagnostic> {
        if let Some(host) = input.hosts().find(|host| host.format == "nccl-topology") {
            return Ok(rewrite::host(host));
        }
        let Some(machine) = input.machine() else {
            return Err(lacks("the input describes no machine, and so no PCI functions"));
        };
        let mut links: Vec<Option<&str>> = Vec::new();
        for group in &machine.nics {
            links.extend(std::iter::repeat_n(group.link.as_deref(), usize::from(group.count)));
        }
        let listed = input.hosts().find_map(|host| addresses_of_host(host, catalogue)).unwrap_or_default();
        let mut writer = File::new(input.host, catalogue, links);
        writer.number(&listed);
        Ok(writer.text())
    }
}

struct File<'a> {
    topology: &'a Topology,
    catalogue: &'a Catalogue,
    /// Link kind of each NIC where not its fastest.
    nic_links: Vec<Option<&'a str>>,
    addresses: BTreeMap<NodeId, String>,
    is_amd: bool,
    next_bus: u32,
    /// Number of each NIC's first port.
    first_net: BTreeMap<NodeId, u32>,
    out: String,
}

impl<'a> File<'a> {
    fn new(topology: &'a Topology, catalogue: &'a Catalogue, nic_links: Vec<Option<&'a str>>) -> Self {
        let vendor = |node| {
            topology.model(node).and_then(|name| catalogue.gpu(name).ok()).map(|gpu| gpu.vendor.as_str())
        };
        let is_amd = topology.of_kind(NodeKind::Gpu).any(|gpu| vendor(gpu) == Some("amd"));
        let (addresses, out) = (BTreeMap::new(), String::new());
        let ports = |node| {
            let nic = topology.model(node).and_then(|name| catalogue.nic(name).ok());
            nic.map_or(0, |nic| u32::from(nic.ports.value.max(1)))
        };
        let mut next = 0;
        let first_net = topology.of_kind(NodeKind::Nic).map(|node| {
            next += ports(node);
            (node, next - ports(node))
        });
        let first_net = first_net.collect();
        Self { topology, catalogue, nic_links, addresses, is_amd, next_bus: 1, first_net, out }
    }

    /// Gives every function its address: as listed, else made up in the order of the file.
    fn number(&mut self, listed: &(Vec<String>, Vec<String>)) {
        for (kind, known) in [(NodeKind::Gpu, &listed.0), (NodeKind::Nic, &listed.1)] {
            for (node, address) in self.topology.of_kind(kind).zip(known) {
                self.addresses.insert(node, address.clone());
            }
        }
        let cpus: Vec<NodeId> = self.topology.of_kind(NodeKind::Cpu).collect();
        for cpu in cpus {
            for top in self.tops(cpu) {
                self.number_tree(top);
            }
        }
        for switch in self.topology.of_kind(NodeKind::GpuSwitch) {
            self.take(switch);
        }
    }

    fn number_tree(&mut self, node: NodeId) {
        self.take(node);
        for child in self.below(node) {
            self.number_tree(child);
        }
    }

    fn take(&mut self, node: NodeId) {
        let (domain, bus) = (self.next_bus / 0xff, 1 + self.next_bus % 0xff);
        if !self.addresses.contains_key(&node) {
            self.next_bus += 1;
            self.addresses.insert(node, format!("{domain:04x}:{bus:02x}:00.0"));
        }
    }

    fn address(&self, node: NodeId) -> &str {
        self.addresses.get(&node).map_or("", String::as_str)
    }

    /// What hangs off a CPU: below its host bridges, or right at it over a coherent link.
    fn tops(&self, cpu: NodeId) -> Vec<NodeId> {
        let of = |node: NodeId, kind: NodeKind| {
            let links = self.topology.links_from(node);
            links.map(|(_, link)| link.to).filter(move |to| self.topology.node(*to).kind == kind)
        };
        let mut found: Vec<NodeId> = of(cpu, NodeKind::Gpu).collect();
        for bridge in of(cpu, NodeKind::HostBridge) {
            found.extend(self.below(bridge));
        }
        found.sort();
        found.dedup();
        found
    }

    /// What hangs off a host bridge or a switch.
    fn below(&self, node: NodeId) -> Vec<NodeId> {
        let own = self.topology.node(node);
        if !matches!(own.kind, NodeKind::HostBridge | NodeKind::PcieSwitch) {
            return Vec::new();
        }
        let is_below = |other: NodeId| {
            let next = self.topology.node(other);
            match next.kind {
                NodeKind::Gpu | NodeKind::Nic => true,
                NodeKind::PcieSwitch => own.kind == NodeKind::HostBridge || next.number > own.number,
                NodeKind::Cpu
                | NodeKind::Memory
                | NodeKind::HostBridge
                | NodeKind::GpuSwitch
                | NodeKind::NetworkSwitch => false,
            }
        };
        let links = self.topology.links_from(node);
        let pcie = links.filter(|(_, link)| self.topology.family(link) == LinkFamily::Pcie);
        let mut found: Vec<NodeId> = pcie.map(|(_, link)| link.to).filter(|to| is_below(*to)).collect();
        found.sort();
        found.dedup();
        found
    }

    fn text(mut self) -> String {
        let version = if self.is_amd { 2 } else { 1 };
        let _ = writeln!(self.out, "<system version=\"{version}\">");
        let cpus: Vec<NodeId> = self.topology.of_kind(NodeKind::Cpu).collect();
        for (number, cpu) in cpus.into_iter().enumerate() {
            let tops = self.tops(cpu);
            let attributes = self.cpu(cpu);
            let _ = writeln!(self.out, "  <cpu numaid=\"{number}\"{attributes}>");
            for top in tops {
                self.function(top, 4);
            }
            self.out.push_str("  </cpu>\n");
        }
        self.out.push_str("</system>\n");
        self.out
    }

    fn cpu(&self, node: NodeId) -> String {
        let Some(cpu) = self.topology.model(node).and_then(|name| self.catalogue.cpu(name).ok()) else {
            return String::new();
        };
        let arch = match cpu.instruction_set.as_str() {
            "aarch64" => "arm64",
            "ppc64le" => "ppc64",
            _ => "x86_64",
        };
        let mut text = format!(" arch=\"{arch}\"");
        if let Some(id) = cpu.cpu_ids.as_ref().and_then(|ids| ids.value.first()) {
            // NCCL shifts AMD's extended family before it adds it.
            let is_shifted = id.vendor == "AuthenticAMD" && id.family > 15;
            let family = if is_shifted { 15 + (id.family - 15) * 16 } else { id.family };
            let _ = write!(text, " vendor=\"{}\" familyid=\"{family}\" modelid=\"{}\"", id.vendor, id.model);
        }
        text
    }

    /// Speed and width of the link above a node.
    fn port(&self, node: NodeId) -> String {
        let kind = self.topology.node(node).kind;
        let above = self.topology.links_from(node).find(|(_, link)| {
            let to = self.topology.node(link.to);
            let is_up = match to.kind {
                NodeKind::HostBridge => true,
                NodeKind::PcieSwitch => {
                    kind != NodeKind::PcieSwitch || to.number < self.topology.node(node).number
                }
                NodeKind::Gpu
                | NodeKind::Nic
                | NodeKind::Cpu
                | NodeKind::Memory
                | NodeKind::GpuSwitch
                | NodeKind::NetworkSwitch => false,
            };
            is_up && self.topology.family(link) == LinkFamily::Pcie
        });
        let Some((_, link)) = above else { return String::new() };
        let lane = self.catalogue.link(&self.topology.kind(link.kind).name).ok();
        let tenths = lane.map_or(0, |lane| lane.lane.value.bits_per_second() / 100_000_000);
        let (whole, part) = (tenths / 10, tenths % 10);
        format!(" link_speed=\"{whole}.{part} GT/s PCIe\" link_width=\"{}\"", link.count)
    }

    fn function(&mut self, node: NodeId, indent: usize) {
        let pad = " ".repeat(indent);
        let (address, port) = (self.address(node).to_owned(), self.port(node));
        let kind = self.topology.node(node).kind;
        let (class, id, inside) = if kind == NodeKind::Gpu {
            let (id, inside) = self.gpu(node, indent + 2);
            let class = if self.is_amd { "0x120000" } else { "0x030200" };
            (class, id, inside)
        } else if kind == NodeKind::Nic {
            self.nic(node, indent + 2)
        } else {
            ("0x060400", None, String::new())
        };
        let id = id.map_or_else(String::new, |id| {
            format!(" vendor=\"0x{:04x}\" device=\"0x{:04x}\"", id.vendor, id.device)
        });
        let below = self.below(node);
        let tag = format!("{pad}<pci busid=\"{address}\" class=\"{class}\"{id}{port}");
        if below.is_empty() && inside.is_empty() {
            let _ = writeln!(self.out, "{tag}/>");
            return;
        }
        let _ = writeln!(self.out, "{tag}>");
        self.out.push_str(&inside);
        for child in below {
            self.function(child, indent + 2);
        }
        let _ = writeln!(self.out, "{pad}</pci>");
    }

    fn gpu(&self, node: NodeId, indent: usize) -> (Option<PciId>, String) {
        let model = self.topology.model(node).and_then(|name| self.catalogue.gpu(name).ok());
        let id = model.and_then(|gpu| gpu.pci_ids.as_ref()).and_then(|ids| ids.value.first().copied());
        let number = self.topology.node(node).number;
        let pad = " ".repeat(indent);
        let shown = model.map_or_else(String::new, architecture);
        let tag = format!("{pad}<gpu dev=\"{number}\"{shown} rank=\"{number}\" gdr=\"1\"");
        let links = self.gpu_links(node, indent + 2);
        let inside =
            if links.is_empty() { format!("{tag}/>\n") } else { format!("{tag}>\n{links}{pad}</gpu>\n") };
        (id, inside)
    }

    fn gpu_links(&self, node: NodeId, indent: usize) -> String {
        let mut text = String::new();
        let pad = " ".repeat(indent);
        let mut counts: BTreeMap<NodeId, u16> = BTreeMap::new();
        let ties = self.topology.links_from(node);
        for (_, link) in ties.filter(|(_, link)| self.topology.family(link) == LinkFamily::GpuFabric) {
            *counts.entry(link.to).or_default() += link.count;
        }
        for (to, count) in counts {
            let name = if self.is_amd { "xgmi" } else { "nvlink" };
            let class = match (self.topology.node(to).kind, self.is_amd) {
                (NodeKind::Gpu, true) => "0x120000",
                (NodeKind::Gpu, false) => "0x030200",
                _ => "0x068000",
            };
            let address = self.address(to);
            let _ =
                writeln!(text, "{pad}<{name} target=\"{address}\" count=\"{count}\" tclass=\"{class}\"/>");
        }
        text
    }

    fn nic(&self, node: NodeId, indent: usize) -> (&'static str, Option<PciId>, String) {
        let Some(nic) = self.topology.model(node).and_then(|name| self.catalogue.nic(name).ok()) else {
            return ("0x020000", None, String::new());
        };
        let given = self.nic_links.get(self.topology.node(node).number as usize).copied().flatten();
        let link = given.or_else(|| nic.links.first().map(String::as_str));
        let class =
            if link.is_some_and(|link| link.starts_with("infiniband")) { "0x020700" } else { "0x020000" };
        let id = nic.pci_ids.as_ref().and_then(|ids| ids.value.first().copied());
        let rate = link.and_then(|link| self.catalogue.link(link).ok()).map(|link| link.rate(1));
        let inside = rate.map_or_else(String::new, |rate| self.nets(node, nic, rate, indent));
        (class, id, inside)
    }

    fn nets(&self, node: NodeId, nic: &Nic, rate: Rate, indent: usize) -> String {
        let pad = " ".repeat(indent);
        let mut text = format!("{pad}<nic>\n");
        let label = self.topology.name(node);
        let names: Vec<&str> = label.split('+').filter(|name| !name.starts_with("NIC")).collect();
        let guid = 0x0200_0000_0000_0000_u64 + u64::from(self.topology.node(node).number) * 16;
        let first = self.first_net.get(&node).copied().unwrap_or(0);
        for port in 0..u32::from(nic.ports.value.max(1)) {
            let dev = first + port;
            let name =
                names.get(port as usize).map_or_else(|| format!("net{dev}"), |name| (*name).to_owned());
            // Rounded to 100 Mb/s, as adapters print it.
            let speed = (rate.get() / 125_000 + 50) / 100 * 100;
            let _ = writeln!(
                text,
                "{pad}  <net name=\"{name}\" dev=\"{dev}\" speed=\"{speed}\" port=\"{}\" latency=\"0.000000\" \
                 guid=\"0x{guid:x}\" maxconn=\"131072\" gdr=\"1\"/>",
                port + 1
            );
        }
        let _ = writeln!(text, "{pad}</nic>");
        text
    }
}

/// What NCCL or RCCL asks of a GPU's architecture.
fn architecture(gpu: &Gpu) -> String {
    if let Some(capability) = gpu.compute_capability {
        return format!(" sm=\"{capability}\"");
    }
    let gcn = match gpu.architecture.as_str() {
        "gcn5" => "gfx906",
        "cdna1" => "gfx908",
        "cdna2" => "gfx90a",
        "cdna3" => "gfx942",
        "cdna4" => "gfx950",
        _ => return String::new(),
    };
    format!(" gcn=\"{gcn}\"")
}
