//! The objects of a topology, whichever way they were written down.

use weft_base::Bytes;

use crate::evidence::{BusRange, OsDeviceKind};

/// An object with its parent; parents stand before their children.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub kind: Kind,
    /// `GPUMemory`, `CUDA`, `Disk`.
    pub subtype: Option<String>,
    pub name: Option<String>,
    /// The operating system's number.
    pub number: Option<u32>,
    /// The number by which matrices refer to it.
    pub id: Option<u64>,
    pub parent: Option<usize>,
    pub cpus: Option<String>,
    /// Memory of a NUMA node.
    pub memory: Option<Bytes>,
    pub pci: Option<Pci>,
    /// Further statements: `CPUModel`, `NodeGUID`.
    pub infos: Vec<(String, String)>,
    pub line: u32,
}

/// What an object is, as far as it matters here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Machine,
    Package,
    Numa,
    /// From the host to PCI; no function of its own.
    HostBridge,
    /// A PCI function, bridges included.
    Pci,
    Os(OsDeviceKind),
    /// Caches, cores and whatever else carries nothing here.
    #[default]
    Other,
}

/// A PCI function.
#[derive(Debug, Default)]
pub(super) struct Pci {
    /// Empty where it is not said.
    pub address: String,
    pub class: Option<u16>,
    pub vendor: Option<u16>,
    pub device: Option<u16>,
    pub subsystem_vendor: Option<u16>,
    pub subsystem: Option<u16>,
    /// Gigabytes per second of its link in one direction.
    pub link_gigabytes: Option<f64>,
    pub buses: Option<BusRange>,
}

impl Object {
    /// The statement of that name.
    pub fn info(&self, name: &str) -> Option<&str> {
        let found = self.infos.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
        found.filter(|value| !value.is_empty())
    }

    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind
    }
}

/// The objects above the one at `index`, nearest first.
pub(super) fn above(objects: &[Object], index: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(objects.get(index).and_then(|object| object.parent), |up| objects[*up].parent)
}

/// `[10de:1db1]` or `10de:1db1`.
pub(super) fn ids(text: &str) -> (Option<u16>, Option<u16>) {
    let inside = text.trim_matches(['[', ']']);
    let number = |digits: &str| u16::from_str_radix(digits, 16).ok();
    let (vendor, device) = inside.split_once(':').map_or((None, None), |(a, b)| (number(a), number(b)));
    // Virtual machines and anonymous files have zeros there.
    if vendor == Some(0) && device == Some(0) { (None, None) } else { (vendor, device) }
}

/// `0000:[2c-3b]`.
pub(super) fn buses(text: &str) -> Option<BusRange> {
    let (_, range) = text.rsplit_once('[')?;
    let (first, last) = range.trim_end_matches(']').split_once('-')?;
    let bus = |digits: &str| u8::from_str_radix(digits, 16).ok();
    Some(BusRange { secondary: bus(first)?, subordinate: bus(last)? })
}
