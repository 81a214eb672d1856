//! What the capability registers of a PCI function and the operating system say of it, beyond its place and link.

use weft_base::{Bytes, Rate};

use super::host::PcieState;

/// More about one PCI function. What a tool does not say is `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PciDetails {
    /// The driver in use: `nvidia`, `mlx5_core`, `vfio-pci`.
    pub driver: Option<String>,
    /// The slot's label on the board or its number, as printed.
    pub slot: Option<String>,
    /// The IOMMU group; devices of one group reach each other without translation.
    pub iommu_group: Option<u32>,
    /// Buses behind a bridge.
    pub buses: Option<BusRange>,
    /// `Endpoint`, `Root Port`, `Upstream Port`, `Downstream Port`; as printed.
    pub port_kind: Option<String>,
    /// The link below a root port or a downstream port, as it runs.
    pub link_below: PcieState,
    /// The link below a root port or a downstream port, as the port could run it.
    pub link_below_capability: PcieState,
    /// What its link carries in one direction, where a tool says that instead of speed and width. It is the link
    /// above, for a root port or a downstream port the one below.
    pub link_rate: Option<Rate>,
    /// The largest payload of a packet that is set.
    pub max_payload: Option<Bytes>,
    /// The largest read request that is set.
    pub max_read_request: Option<Bytes>,
    /// Whether the function may use relaxed ordering.
    pub relaxed_ordering: Option<bool>,
    /// Whether address translation services are on.
    pub ats: Option<bool>,
    /// Error bits that are set, with their register: `DevSta CorrErr`, `UESta ACSViol`.
    pub errors: Vec<String>,
    /// Windows into its memory.
    pub regions: Vec<Region>,
    /// Virtual functions of a physical one (SR-IOV).
    pub virtual_functions: Option<VirtualFunctions>,
    /// Address of the physical function, for a virtual one.
    pub physical_function: Option<String>,
}

/// Buses behind a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusRange {
    /// The bus directly behind it.
    pub secondary: u8,
    /// The highest bus behind it.
    pub subordinate: u8,
}

/// A window into a function's memory (BAR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Its number, from 0; `None` where the tool gives none.
    pub number: Option<u8>,
    /// Its size; `None` where it is not assigned.
    pub size: Option<Bytes>,
    /// The largest size it can be given (resizable BAR).
    pub largest: Option<Bytes>,
}

/// Virtual functions of a physical one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VirtualFunctions {
    /// How many are on.
    pub enabled: u16,
    /// How many it can have.
    pub total: u16,
}
