//! A machine as people describe it: what a catalogue system, a one-liner, a machine file and a pasted
//! matrix all become before a graph is built of it.

use serde::{Deserialize, Serialize};
use weft_base::Ratio;

use crate::Grade;

/// A server, or a cluster of like servers. Devices are numbered from 0 in the order of their groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    /// The file's name in the catalogue; what the user calls it elsewhere.
    pub name: String,
    /// As the vendor writes it.
    pub title: String,
    /// Other spellings.
    pub aliases: Vec<String>,
    /// First year on sale.
    pub year: Option<u16>,
    /// Where the structure comes from: a key of `sources.toml`. Required in the catalogue.
    pub source: Option<String>,
    /// Page, section or table in the source.
    pub at: Option<String>,
    /// How far the structure can be trusted. Required in the catalogue.
    pub grade: Option<Grade>,
    /// What a reader should know.
    pub note: Option<String>,
    /// The server itself.
    pub host: Host,
    /// GPUs, in groups of like ones.
    pub gpus: Vec<GpuGroup>,
    /// NICs, in groups of like ones.
    pub nics: Vec<NicGroup>,
    /// How devices hang off the CPUs. A device named in no branch hangs off a root port of its own.
    pub pcie: Vec<Branch>,
    /// How GPUs are tied to each other besides PCIe.
    pub fabric: Option<Fabric>,
    /// Bridges between cards.
    pub bridges: Vec<BridgeUse>,
    /// The network that joins the hosts; absent for one server.
    pub network: Option<Network>,
}

/// The server: its CPUs, and how many like servers there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// A CPU of the catalogue; absent where unknown.
    pub cpu: Option<String>,
    /// CPU sockets (or NUMA nodes, where a matrix shows only those) of one server.
    pub sockets: u16,
    /// Like servers.
    pub count: u32,
}

impl Default for Host {
    fn default() -> Self {
        Self { cpu: None, sockets: 1, count: 1 }
    }
}

/// Like GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuGroup {
    /// A GPU of the catalogue; absent where unknown.
    #[serde(default)]
    pub model: Option<String>,
    /// How many in one server.
    pub count: u16,
}

/// Like NICs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NicGroup {
    /// A NIC of the catalogue; absent where unknown.
    #[serde(default)]
    pub model: Option<String>,
    /// How many in one server.
    pub count: u16,
    /// The link kind that its ports run here, where not the fastest.
    #[serde(default)]
    pub link: Option<String>,
}

/// Devices that share a root port, with or without a PCIe switch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Branch {
    /// What other branches call it in `under`.
    pub name: Option<String>,
    /// A PCIe switch of the catalogue, or `any` where only its existence is known.
    /// Absent: each device has a root port of its own, all of one host bridge.
    pub switch: Option<String>,
    /// The socket whose root complex it hangs off.
    pub socket: u16,
    /// The switch that it hangs off instead, by the `name` of its branch.
    pub under: Option<String>,
    /// Host bridge within the socket: devices of different bridges are NODE to each other.
    pub host_bridge: u16,
    /// Link kind of the uplink (`pcie4`), where not that of the fastest device.
    pub link: Option<String>,
    /// Lanes of the uplink; 16 where not given.
    pub lanes: Option<u16>,
    /// Link kind of the devices' ports where slower than their own (`pcie3` slot).
    pub device_link: Option<String>,
    /// Lanes of the devices' ports where fewer than their own (`x8` slot).
    pub device_lanes: Option<u16>,
    /// GPUs below, by number.
    pub gpus: Vec<u16>,
    /// NICs below, by number.
    pub nics: Vec<u16>,
    /// What the signal crosses between the root port and each device.
    pub channel: Vec<ChannelUse>,
}

/// A piece of channel and how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelUse {
    /// A channel part of the catalogue (`trace-mid-loss`), or a retimer, which starts a new budget.
    pub part: String,
    /// How much, in the part's own unit (inches, metres, pieces): `"10.5"`.
    pub amount: Ratio,
}

/// How GPUs are tied besides PCIe: through switches, or by direct links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fabric {
    /// A GPU-fabric switch of the catalogue; each GPU's links are spread over all of them.
    pub switch: Option<String>,
    /// Switch chips: of one server, or of the whole rack if `spans_hosts`.
    pub switches: u16,
    /// Link kind where not the GPU's own.
    pub link: Option<String>,
    /// Links of each GPU that are connected, where not all.
    pub links: Option<u16>,
    /// Direct links between pairs.
    pub mesh: Vec<MeshLink>,
    /// Baseboards over which GPUs and switches are split evenly (DGX-2: 2); 0 and 1 mean one.
    pub boards: u16,
    /// Links between each switch of one board and its twin on the next (DGX-2: 8).
    pub trunk_links: u16,
    /// Whether the switches join the GPUs of all hosts (NVL72).
    pub spans_hosts: bool,
}

/// Direct links between two GPUs of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshLink {
    /// One GPU, by number.
    pub a: u16,
    /// The other.
    pub b: u16,
    /// Links between them.
    pub links: u16,
}

/// A bridge on cards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeUse {
    /// A link kind (`sli-hb`, `nvlink3`), or `nvlink-bridge` for the one that the GPU takes.
    pub kind: String,
    /// The joined GPUs, by number.
    pub gpus: Vec<u16>,
    /// Links per pair where not the bridge's own number (a half-seated bridge).
    #[serde(default)]
    pub links: Option<u16>,
}

/// How the hosts' NICs are joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The design.
    pub design: NetworkDesign,
    /// A network switch of the catalogue; absent where only ports and rates are given.
    #[serde(default)]
    pub switch: Option<String>,
    /// Ports of one switch.
    pub radix: u16,
    /// Down-links per up-link at the leaves: 1 is non-blocking.
    #[serde(default = "one")]
    pub oversubscription: u16,
    /// The same at the spines of three tiers, and leaf links per global link at those of a dragonfly+.
    #[serde(default = "one")]
    pub spine_oversubscription: u16,
    /// Like networks side by side that are not joined to each other; each NIC has one port in each.
    #[serde(default = "one")]
    pub planes: u16,
    /// Groups of a dragonfly+; absent where they follow from the number of hosts.
    #[serde(default)]
    pub groups: Option<u16>,
    /// Leaves of a fat tree, or of one group of a dragonfly+; absent where they follow from the switch's ports.
    #[serde(default)]
    pub leaves: Option<u16>,
    /// Spines of a fat tree of two tiers, or of one group of a dragonfly+; absent where they follow from the switch's
    /// ports.
    #[serde(default)]
    pub spines: Option<u16>,
    /// Switches of the third tier of a fat tree or of rails; absent for the fewest that join all spines evenly.
    #[serde(default)]
    pub cores: Option<u16>,
    /// Switches of a torus along each of its two or three dimensions.
    #[serde(default)]
    pub sizes: Vec<u16>,
    /// Links of a torus from a switch to each neighbour; absent for all ports that the hosts leave.
    #[serde(default)]
    pub links: Option<u16>,
}

fn one() -> u16 {
    1
}

impl Network {
    /// A network of `design` and switches of `radix` ports; all else as usual.
    pub fn new(design: NetworkDesign, radix: u16) -> Self {
        Self {
            design,
            switch: None,
            radix,
            oversubscription: 1,
            spine_oversubscription: 1,
            planes: 1,
            groups: None,
            leaves: None,
            spines: None,
            cores: None,
            sizes: Vec::new(),
            links: None,
        }
    }
}

/// Network designs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkDesign {
    /// One switch.
    Single,
    /// Leaves and spines, hosts whole on one leaf.
    FatTree,
    /// NIC i of every host of a group on leaf i of that group.
    RailOptimized,
    /// NIC i of every host on the switches of rail i, and no switch joins two rails.
    RailOnly,
    /// Groups of leaves and spines; spines of each group are linked to those of every other.
    DragonflyPlus,
    /// Switches in a grid whose ends meet, with the same number of hosts at each.
    Torus,
}
