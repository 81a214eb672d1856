//! Two ways to name how close two devices are: what `nvidia-smi topo -m` and `amd-smi` print, and what NCCL
//! computes.

use std::fmt;
use std::str::FromStr;

/// What `nvidia-smi topo -m` (or, between AMD GPUs, `amd-smi`) prints between two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportedClass {
    /// So many NVLinks, direct or through NVSwitches.
    Nv(u8),
    /// Links between AMD GPUs; `amd-smi` does not print how many.
    Xgmi,
    /// At most one PCIe bridge (one switch).
    Pix,
    /// Several PCIe bridges, no host bridge.
    Pxb,
    /// A PCIe host bridge: through the CPU.
    Phb,
    /// Several host bridges of one NUMA node.
    Node,
    /// The link between sockets. Printed as `SOC` by drivers before 384.
    Sys,
}

impl fmt::Display for ReportedClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nv(links) => f.pad(&format!("NV{links}")),
            Self::Xgmi => f.pad("XGMI"),
            Self::Pix => f.pad("PIX"),
            Self::Pxb => f.pad("PXB"),
            Self::Phb => f.pad("PHB"),
            Self::Node => f.pad("NODE"),
            Self::Sys => f.pad("SYS"),
        }
    }
}

/// The text is not a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAClass;

impl FromStr for ReportedClass {
    type Err = NotAClass;
    fn from_str(text: &str) -> Result<Self, NotAClass> {
        match text {
            "XGMI" => Ok(Self::Xgmi),
            "PIX" => Ok(Self::Pix),
            "PXB" => Ok(Self::Pxb),
            "PHB" => Ok(Self::Phb),
            "NODE" => Ok(Self::Node),
            "SYS" | "SOC" => Ok(Self::Sys),
            _ => match text.strip_prefix("NV").map(str::parse::<u8>) {
                Some(Ok(links)) if links > 0 => Ok(Self::Nv(links)),
                Some(Ok(_) | Err(_)) | None => Err(NotAClass),
            },
        }
    }
}

/// NCCL's path types, best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NcclPath {
    /// The device itself.
    Loc,
    /// NVLink, direct or through NVSwitches.
    Nvl,
    /// NVLink through another GPU.
    Nvb,
    /// The coherent link of a superchip.
    C2c,
    /// One PCIe switch.
    Pix,
    /// Several PCIe switches, no CPU.
    Pxb,
    /// Coherent link, then PCIe, to a NIC.
    P2c,
    /// To a NIC through a peer GPU's NVLink.
    Pxn,
    /// Through a CPU.
    Phb,
    /// Across sockets.
    Sys,
    /// The network.
    Net,
    /// No path.
    Dis,
}

impl NcclPath {
    /// NCCL's own name of the type.
    pub fn word(self) -> &'static str {
        match self {
            Self::Loc => "LOC",
            Self::Nvl => "NVL",
            Self::Nvb => "NVB",
            Self::C2c => "C2C",
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::P2c => "P2C",
            Self::Pxn => "PXN",
            Self::Phb => "PHB",
            Self::Sys => "SYS",
            Self::Net => "NET",
            Self::Dis => "DIS",
        }
    }
}

impl From<ReportedClass> for NcclPath {
    /// NCCL attaches every host bridge to its NUMA node's CPU, so NODE is PHB to it.
    fn from(class: ReportedClass) -> Self {
        match class {
            ReportedClass::Nv(_) | ReportedClass::Xgmi => Self::Nvl,
            ReportedClass::Pix => Self::Pix,
            ReportedClass::Pxb => Self::Pxb,
            ReportedClass::Phb | ReportedClass::Node => Self::Phb,
            ReportedClass::Sys => Self::Sys,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_driver_is_read_and_printed() {
        for word in ["NV1", "NV18", "XGMI", "PIX", "PXB", "PHB", "NODE", "SYS"] {
            assert_eq!(word.parse::<ReportedClass>().unwrap().to_string(), word);
        }
        assert_eq!("SOC".parse(), Ok(ReportedClass::Sys));
        for word in ["NV", "NV0", "NV#", "NODENODE", "X", "", "OK"] {
            assert_eq!(word.parse::<ReportedClass>(), Err(NotAClass), "{word}");
        }
    }

    #[test]
    fn the_drivers_order_is_nccls_order() {
        use ReportedClass::{Node, Nv, Phb, Pix, Pxb, Sys};
        let classes = [Nv(12), Pix, Pxb, Phb, Node, Sys];
        let paths: Vec<NcclPath> = classes.into_iter().map(NcclPath::from).collect();
        assert!(paths.is_sorted());
        assert_eq!(paths[3..5], [NcclPath::Phb, NcclPath::Phb]);
    }
}
