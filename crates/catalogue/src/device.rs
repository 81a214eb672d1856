//! Devices: GPUs and other accelerators, NICs, switches, CPUs.

use serde::Deserialize;
use weft_base::{Bytes, ComputeRate, Power, Rate, Span};

use crate::{CpuId, Fact, PciId};

/// How an accelerator is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A mezzanine module on an NVIDIA baseboard.
    Sxm,
    /// An OCP accelerator module.
    Oam,
    /// A PCIe card.
    Card,
    /// Soldered with a CPU on one board: GH200, GB200, GB10.
    Superchip,
    /// A chip of a TPU board.
    Tpu,
}

/// A number of lanes or links of one kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// A link kind of the catalogue.
    pub link: String,
    /// Lanes (PCIe) or links (all others) of one device.
    pub count: Fact<u16>,
}

/// A bridge that joins two or more cards.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    /// A link kind: `nvlink3`, `sli-hb`, `crossfire`.
    pub link: String,
    /// Links between each pair of joined cards.
    pub links: u16,
    /// The most cards that one bridge or mode joins.
    pub cards: u16,
    /// The cards must be of one model (SLI) rather than of one family (CrossFire).
    pub same_model: bool,
    /// True where rendering and compute may both use it; false for frames only.
    pub carries_data: bool,
    /// Whether the mode needs no physical bridge (CrossFire XDMA runs over PCIe).
    #[serde(default)]
    pub bridgeless: bool,
    /// That this bridge exists and joins so many.
    pub rule: Fact<String>,
}

/// Whether a GPU's driver lets peers read and write its memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerToPeer {
    /// Over PCIe with the vendor's stock driver.
    pub pcie: Fact<bool>,
}

/// Dense arithmetic rates; absent where the type does not exist or no source was found.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compute {
    /// Single precision outside matrix units.
    pub fp32: Option<Fact<ComputeRate>>,
    /// 16-bit matrix rate (fp16 or bf16), dense.
    pub fp16: Option<Fact<ComputeRate>>,
    /// 8-bit floating-point matrix rate, dense.
    pub fp8: Option<Fact<ComputeRate>>,
    /// 4-bit floating-point matrix rate, dense.
    pub fp4: Option<Fact<ComputeRate>>,
}

/// A GPU or another accelerator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The file's name: `a100-sxm4-80gb`.
    pub name: String,
    /// As the vendor writes it.
    pub title: String,
    /// `nvidia`, `amd`, `google`, `intel`.
    pub vendor: String,
    /// Other spellings, and what `nvidia-smi -L` prints.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Product line: `GeForce RTX 30`, `Tesla`, `Instinct MI300`.
    pub family: String,
    /// `ampere`, `hopper`, `cdna3`.
    pub architecture: String,
    /// NVIDIA's compute capability times ten (`8.6` is 86); absent for others.
    #[serde(default)]
    pub compute_capability: Option<u16>,
    /// How it is built in.
    pub form: Form,
    /// First year on sale, or expected.
    #[serde(default)]
    pub year: Option<u16>,
    /// By what its PCI function names itself; absent where unknown.
    #[serde(default)]
    pub pci_ids: Option<Fact<Vec<PciId>>>,
    /// Capacity of its own memory.
    pub memory: Fact<Bytes>,
    /// Rate of its own memory.
    pub memory_rate: Fact<Rate>,
    /// Board or module power.
    #[serde(default)]
    pub board_power: Option<Fact<Power>>,
    /// Its PCIe port; absent for chips without one.
    #[serde(default)]
    pub pcie: Option<Attachment>,
    /// Links to other GPUs or to GPU switches; absent where there are none (T4, L4, RTX 4090).
    #[serde(default)]
    pub fabric: Option<Attachment>,
    /// Coherent link to its CPU.
    #[serde(default)]
    pub coherent: Option<Attachment>,
    /// Bridges that it takes.
    #[serde(default)]
    pub bridges: Vec<Bridge>,
    /// Peer access between like GPUs.
    #[serde(default)]
    pub peer_to_peer: Option<PeerToPeer>,
    /// Arithmetic rates.
    #[serde(default)]
    pub compute: Compute,
    /// What it can be cut into (NVIDIA's MIG); absent where it cannot, or where no source was found.
    #[serde(default)]
    pub partitions: Option<Fact<Vec<Partition>>>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// A part into which a GPU can be cut.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// As the driver writes it: `3g.40gb`.
    pub name: String,
    /// Slices of compute that it has; the largest partition has all of them.
    pub compute: u8,
    /// Slices of memory that it has, of at most eight.
    pub memory: u8,
    /// Slices of memory at which it may begin.
    pub starts: Vec<u8>,
}

/// A network adapter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// The file's name: `connectx-7-ndr`.
    pub name: String,
    /// As the vendor writes it.
    pub title: String,
    /// `nvidia`, `broadcom`, `intel`, `aws`, `hpe`.
    pub vendor: String,
    /// Other spellings (`cx7`).
    #[serde(default)]
    pub aliases: Vec<String>,
    /// First year on sale.
    #[serde(default)]
    pub year: Option<u16>,
    /// By what its PCI function names itself; absent where unknown.
    #[serde(default)]
    pub pci_ids: Option<Fact<Vec<PciId>>>,
    /// Link kinds that a port can run, the fastest first (`infiniband-ndr`, `ethernet-400g`).
    pub links: Vec<String>,
    /// Ports at the fastest kind.
    pub ports: Fact<u16>,
    /// Its PCIe port.
    pub pcie: Attachment,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// What a switch switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchKind {
    /// GPU fabric: NVSwitch, UALink switches.
    GpuFabric,
    /// PCI Express.
    Pcie,
    /// Network: InfiniBand, Ethernet, Omni-Path, Slingshot.
    Network,
}

/// A switch chip or box.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// The file's name: `nvswitch3`, `pex88096`, `quantum-2-qm9700`.
    pub name: String,
    /// As the vendor writes it.
    pub title: String,
    /// Who makes it.
    pub vendor: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What it switches.
    pub kind: SwitchKind,
    /// First year on sale.
    #[serde(default)]
    pub year: Option<u16>,
    /// Link kind of its ports.
    pub link: String,
    /// Ports of that link; lanes for PCIe.
    pub ports: Fact<u16>,
    /// Port to port.
    #[serde(default)]
    pub latency: Option<Fact<Span>>,
    /// Power of the box itself, without what is plugged into its cages.
    #[serde(default)]
    pub power: Option<Fact<Power>>,
    /// Whether it reduces in the switch (SHARP, NVLS).
    #[serde(default)]
    pub reduces: Option<Fact<bool>>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// A CPU as the root of PCIe and the way between sockets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// The file's name: `epyc-rome`, `xeon-sapphire-rapids`, `grace`.
    pub name: String,
    /// As the vendor writes it.
    pub title: String,
    /// `intel`, `amd`, `nvidia`, `ibm`.
    pub vendor: String,
    /// Other spellings, product numbers among them.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// `x86-64`, `aarch64`, `ppc64le`.
    pub instruction_set: String,
    /// First year on sale.
    #[serde(default)]
    pub year: Option<u16>,
    /// By what it names itself; absent where unknown.
    #[serde(default)]
    pub cpu_ids: Option<Fact<Vec<CpuId>>>,
    /// PCIe lanes of one socket.
    pub pcie: Attachment,
    /// Links to the other socket; absent for CPUs that stand alone.
    #[serde(default)]
    pub socket: Option<Attachment>,
    /// Memory rate of one socket.
    pub memory_rate: Fact<Rate>,
    /// What a stream between two GPUs through this root complex reaches, one direction; absent where unknown.
    #[serde(default)]
    pub peer_rate: Option<Fact<Rate>>,
    /// The same between a GPU and a NIC (GPUDirect RDMA), where that was found to be slower.
    #[serde(default)]
    pub nic_peer_rate: Option<Fact<Rate>>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}
