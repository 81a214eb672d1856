//! How the tools of AMD and Intel describe the links between GPUs.

use weft_base::Rate;

/// Weights, hops and kinds of links between GPUs. Square tables, row by row; a table that the text does not have
/// is empty, and so is a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WeightMatrix {
    /// The name of the format: `rocm-smi-topology`.
    pub format: &'static str,
    /// Names of the GPUs: `GPU0`, or `GPU0/1` for a tile.
    pub gpus: Vec<String>,
    /// PCI addresses of the GPUs, in lower case: `0000:0c:00.0`.
    pub addresses: Vec<Option<String>>,
    /// Weights as the driver counts them: 15 is one xGMI link, 20 each PCIe link, more where sockets are crossed;
    /// `None` where the cell holds no number.
    pub weights: Vec<Option<u32>>,
    /// Hops; 1 for any pair with xGMI, whatever way the data takes.
    pub hops: Vec<Option<u32>>,
    /// `XGMI`, `PCIE`, or a word of Intel's matrix (`MDF`, `XL16`, `PIX`, `SYS`).
    pub links: Vec<Option<String>>,
    /// Whether one GPU may access the other.
    pub access: Vec<Option<bool>>,
    /// What the driver says that the link carries in one direction; `None` where it says nothing or 0.
    pub rates: Vec<Option<Rate>>,
    /// NUMA node of each GPU.
    pub numa: Vec<Option<u32>>,
    /// CPUs near each GPU: `0-23,48-71`.
    pub cpus: Vec<Option<String>>,
    /// Architecture of each GPU: `gfx942`.
    pub arch: Vec<Option<String>>,
    /// NUMA node whose CPUs are near each GPU (`Numa Affinity`).
    pub affinity: Vec<Option<u32>>,
}

impl WeightMatrix {
    /// The cell of a table between two GPUs: that of row `a`, else that of row `b`; `None` where neither is known.
    pub fn between<'t, T>(&self, table: &'t [Option<T>], a: usize, b: usize) -> Option<&'t T> {
        let at = |row: usize, column: usize| table.get(row * self.gpus.len() + column)?.as_ref();
        at(a, b).or_else(|| at(b, a))
    }
}
