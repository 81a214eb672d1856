//! What NCCL or RCCL said while it started.

/// One job's log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NcclLog {
    /// Versions in order of appearance, as printed: `2.18.3+cuda12.2`.
    pub versions: Vec<String>,
}
