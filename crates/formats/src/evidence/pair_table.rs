//! Rates or latencies measured between pairs of devices.

use weft_base::{Rate, Span};

/// One matrix.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairTable {
    /// The name of the format: `p2p-bandwidth-latency-test`, `nvbandwidth`.
    pub format: &'static str,
    /// What the tool calls it.
    pub title: String,
    /// Whether both directions ran at once and the figure is their sum.
    pub both_directions: bool,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Row by row; `None` where nothing was measured.
    pub values: Vec<Option<Measure>>,
}

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes per second.
    Rate(Rate),
    /// A latency.
    Span(Span),
}
