//! Rates, latencies or accesses measured between pairs of devices.

use weft_base::{Bytes, Rate, Span};

/// One matrix, or one list of pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairTable {
    /// The name of the format: `p2p-bandwidth-latency-test`, `nvbandwidth`.
    pub format: &'static str,
    /// What the tool calls it, as printed.
    pub title: String,
    /// The name of the test, where the tool has one: `device_to_device_memcpy_read_ce`.
    pub test: Option<String>,
    /// Whether both directions ran at once and the figure is their sum.
    pub both_directions: bool,
    /// Whether GPUs access each other directly, as the title says (`P2P=Enabled`) and nothing above it refuses;
    /// `None` where nothing is said.
    pub is_direct: Option<bool>,
    /// Names of the rows: `0`, `node001`.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// What was measured, in the order of rows and columns; cells without a figure are left out.
    pub cells: Vec<PairCell>,
    /// What one transfer moved, where the text says so.
    pub bytes: Option<Bytes>,
    /// The sum that the tool prints below.
    pub sum: Option<Rate>,
    /// The devices that the text lists, each with number and model.
    pub devices: Vec<PairDevice>,
    /// Line of the title, from 1.
    pub line: u32,
}

/// One figure and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairCell {
    /// Index into [`PairTable::rows`].
    pub row: usize,
    /// Index into [`PairTable::columns`].
    pub column: usize,
    /// The figure.
    pub measure: Measure,
    /// Line, from 1.
    pub line: u32,
}

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes per second.
    Rate(Rate),
    /// A latency.
    Span(Span),
    /// Whether the row may access the column.
    Access(bool),
}

/// A device that a tool lists above its tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairDevice {
    /// The device's number.
    pub number: u32,
    /// Its model, as printed.
    pub model: String,
    /// Its PCI address, as printed: `00000009:01:00`.
    pub bus: Option<String>,
    /// The host it is in, where the text says so.
    pub host: Option<String>,
}

impl PairTable {
    /// The cell of a row and a column.
    pub fn cell(&self, row: usize, column: usize) -> Option<&PairCell> {
        let found = self.cells.binary_search_by_key(&(row, column), |cell| (cell.row, cell.column));
        found.ok().and_then(|at| self.cells.get(at))
    }

    /// The cells of two different devices: all but those whose row and column have one name.
    pub fn between(&self) -> impl Iterator<Item = &PairCell> {
        self.cells.iter().filter(|cell| self.rows.get(cell.row) != self.columns.get(cell.column))
    }
}
