//! A recorded training step.

/// An execution trace of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workload {
    /// The name of the format: `chakra`.
    pub format: &'static str,
    /// `version` of the trace.
    pub version: String,
}
