//! The devices of one host, as a tree of PCI functions with what hangs on them. Nothing is guessed: what a
//! tool does not say is `None`.

use weft_base::{Bytes, Guid, Rate, Span, TransferRate};

use super::pci::PciDetails;

/// The devices of one host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// The name of the format it came from: `nccl-topology`, `hwloc`, `lspci`, `local`.
    pub format: &'static str,
    /// The version of the file's form, as written.
    pub version: Option<String>,
    /// The host's name, where the text says so.
    pub name: Option<String>,
    /// CPU sockets, in the order of the text; empty where the tool shows none.
    pub packages: Vec<Package>,
    /// CPUs by NUMA node, in the order of the text.
    pub numa: Vec<NumaNode>,
    /// PCI functions, parents before their children.
    pub devices: Vec<Device>,
    /// Links of GPUs to each other or to switches, besides PCIe.
    pub gpu_links: Vec<GpuLink>,
    /// Network interfaces that are on no PCI bus: bridges and virtual ones.
    pub virtual_adapters: Vec<VirtualAdapter>,
    /// What the operating system and libraries call its devices, in the order of the text: `eth0`, `cuda0`.
    pub os_devices: Vec<OsDevice>,
}

/// A CPU socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// The socket's number.
    pub number: Option<u32>,
    /// `GenuineIntel`, `AuthenticAMD`.
    pub vendor: Option<String>,
    /// The CPU's model in words.
    pub model: Option<String>,
}

/// A device as the operating system or a library calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsDevice {
    /// `eth0`, `mlx5_0`, `cuda0`, `nvme0n1`.
    pub name: String,
    /// What it is used for.
    pub kind: OsDeviceKind,
    /// Index into [`Host::devices`] of the PCI function that it is; `None` for what is on no PCI bus.
    pub device: Option<usize>,
    /// Line, from 1; 0 where there is no text.
    pub line: u32,
}

/// What an [`OsDevice`] is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OsDeviceKind {
    /// A disk or other storage.
    Storage,
    /// A screen, or a GPU as the library that drives screens sees it.
    Display,
    /// A network interface.
    Network,
    /// An RDMA device.
    Rdma,
    /// A DMA engine.
    Dma,
    /// A GPU or another accelerator.
    Coprocessor,
    /// Memory on a bus of its own.
    Memory,
    /// Anything else.
    Other,
}

/// A NUMA node, or a socket where the tool shows only those.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// The node's number; `None` where the tool gives none (`-1`).
    pub number: Option<u32>,
    /// The socket that it is in.
    pub socket: Option<u32>,
    /// `x86_64`, `arm64`, `ppc64`.
    pub arch: Option<String>,
    /// `GenuineIntel`, `AuthenticAMD`.
    pub vendor: Option<String>,
    /// The CPU's model in words, or family and model numbers as `family 143 model 1`.
    pub model: Option<String>,
    /// The CPU's family number, where the tool gives numbers.
    pub cpu_family: Option<u32>,
    /// The CPU's model number within its family.
    pub cpu_model: Option<u32>,
    /// Its CPUs, as a list or mask in the tool's own writing.
    pub cpus: Option<String>,
    /// Its memory.
    pub memory: Option<Bytes>,
}

/// A PCI function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Device {
    /// `0000:1b:00.0`, in lower case, domain always given; empty where the tool prints none, as `lstopo` for bridges.
    pub address: String,
    /// Index into [`Host::devices`] of the bridge above it; `None` for what hangs off a root complex.
    pub parent: Option<usize>,
    /// Index into [`Host::numa`] of the node it is near.
    pub numa: Option<usize>,
    /// Base class and subclass: `0x0302` is a 3D controller, `0x0604` a PCI bridge.
    pub class: Option<u16>,
    /// Vendor: `0x10de`.
    pub vendor: Option<u16>,
    /// Device.
    pub device: Option<u16>,
    /// Vendor of the board.
    pub subsystem_vendor: Option<u16>,
    /// The board.
    pub subsystem: Option<u16>,
    /// The name in words, as the tool prints it.
    pub name: Option<String>,
    /// The link to what is above it, as it runs.
    pub link: PcieState,
    /// Speed of that link, as printed: `16.0 GT/s PCIe`; empty where the tool prints it empty.
    pub speed_text: Option<String>,
    /// Width of that link, as printed.
    pub width_text: Option<String>,
    /// The link to what is above it, as the device could run it.
    pub link_capability: PcieState,
    /// Flags of access control (`SrcValid+ ReqRedir+ …`), as printed.
    pub acs: Option<String>,
    /// What its capability registers and the operating system say beyond that.
    pub details: PciDetails,
    /// What the operating system or a library sees in it.
    pub roles: Vec<DeviceRole>,
    /// Line, from 1; 0 where there is no text.
    pub line: u32,
}

/// Speed and width of a PCIe link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PcieState {
    /// Transfers per second of a lane.
    pub speed: Option<TransferRate>,
    /// Lanes.
    pub lanes: Option<u16>,
}

/// What a PCI function is to its users.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceRole {
    /// A GPU.
    Gpu(Gpu),
    /// A network interface or an RDMA port.
    Adapter(Adapter),
    /// A switch of the GPU fabric.
    GpuSwitch,
}

/// A GPU as a library numbers it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gpu {
    /// The device number (CUDA, HIP or NVML, whichever the tool uses).
    pub number: Option<u32>,
    /// The rank that ran on it.
    pub rank: Option<u32>,
    /// Compute capability times ten (`90`), NVIDIA only.
    pub sm: Option<u32>,
    /// `gfx90a` or `910`; as printed, AMD only.
    pub gcn: Option<String>,
    /// AMD's number of the architecture, as printed.
    pub arch: Option<String>,
    /// Whether GPUDirect RDMA works for it.
    pub gdr: Option<bool>,
    /// Model in words, as the tool prints it.
    pub model: Option<String>,
    /// UUID, as printed.
    pub uuid: Option<String>,
}

/// A network interface or an RDMA port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adapter {
    /// `mlx5_0`, `eth0`, `rdmap79s0`.
    pub name: String,
    /// The number that a library gives it.
    pub number: Option<u32>,
    /// Port, from 1.
    pub port: Option<u32>,
    /// Node or port GUID.
    pub guid: Option<Guid>,
    /// What its port carries in one direction.
    pub rate: Option<Rate>,
    /// Whether GPUDirect RDMA works on it.
    pub gdr: Option<bool>,
    /// What a library adds for it to the time of a message.
    pub latency: Option<Span>,
    /// Connections that it can have at once.
    pub connections: Option<u32>,
    /// Whether it takes part in collectives (SHARP).
    pub collectives: Option<bool>,
    /// `InfiniBand`, `Ethernet`; as printed.
    pub link_layer: Option<String>,
    /// `ACTIVE`, `DOWN`; as printed.
    pub state: Option<String>,
}

/// A network interface that is on no PCI bus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VirtualAdapter {
    /// The interface.
    pub adapter: Adapter,
    /// Index into [`Host::numa`] of the node that the tool counts it to.
    pub numa: Option<usize>,
    /// Line, from 1; 0 where there is no text.
    pub line: u32,
}

/// Links of one GPU to one other end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuLink {
    /// Index into [`Host::devices`] of the GPU.
    pub gpu: usize,
    /// The other end.
    pub to: GpuLinkEnd,
    /// The other end's address, where the tool prints one: `0000:c7:00.0`.
    pub target: Option<String>,
    /// The other end's PCI class, as printed: `0x068000`.
    pub target_class: Option<String>,
    /// Links between the two; 0 where the tool says only what they carry together, which `rate` then is.
    pub count: u16,
    /// `nvlink`, `xgmi`, `c2c`.
    pub family: &'static str,
    /// What one link carries in one direction, where the tool says so.
    pub rate: Option<Rate>,
    /// Line, from 1; 0 where there is no text.
    pub line: u32,
}

/// The far end of a GPU's link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GpuLinkEnd {
    /// Index into [`Host::devices`].
    Device(usize),
    /// A CPU: index into [`Host::numa`], where known.
    Cpu(Option<usize>),
    /// A switch of the GPU fabric that is not among the devices.
    #[default]
    Switch,
    /// An address that is not among the devices.
    Address(String),
}
