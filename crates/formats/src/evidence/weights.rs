//! How AMD's tools describe the links between GPUs.

/// Weights, hops and kinds of links between GPUs. Square tables, row by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WeightMatrix {
    /// The name of the format: `rocm-smi-topology`.
    pub format: &'static str,
    /// Names of the GPUs: `GPU0`.
    pub gpus: Vec<String>,
    /// Weights; `None` where the cell holds no number. Empty where the table is missing.
    pub weights: Vec<Option<u32>>,
    /// Hops. Empty where the table is missing.
    pub hops: Vec<Option<u32>>,
    /// `XGMI`, `PCIE`. Empty where the table is missing.
    pub links: Vec<Option<String>>,
    /// NUMA node of each GPU. Empty where the list is missing.
    pub numa: Vec<Option<u32>>,
}
