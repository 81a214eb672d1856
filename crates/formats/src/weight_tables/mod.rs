//! The square tables between GPUs that AMD's tools print one below the other: found anywhere in a text, and made
//! into one matrix.

mod assemble;
mod barred;
mod scan;
#[cfg(test)]
mod tests;

pub(crate) use assemble::{Square, address, assemble};
pub(crate) use barred::{Barred, barred};
pub(crate) use scan::scan;

/// Which command printed the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `rocm-smi --showtopo` and its parts.
    RocmSmi,
    /// `amd-smi topology`.
    AmdSmi,
}

impl Tool {
    /// The name of the format.
    pub fn format(self) -> &'static str {
        match self {
            Self::RocmSmi => "rocm-smi-topology",
            Self::AmdSmi => "amd-smi-topology",
        }
    }
}

/// What the cells of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Weight,
    Hops,
    Link,
    Access,
    Rate,
    /// A table of which nothing is kept, such as which atomics work.
    Other,
}

/// The tables of one run of a command, by index of the lines.
#[derive(Debug, Clone)]
pub(crate) struct Output<'a> {
    pub tool: Tool,
    pub tables: Vec<Table<'a>>,
    /// `GPU[0] : (Topology) Numa Node: 0`: first and last GPU, node, affinity.
    pub numa: Vec<Numa>,
    /// Lines on which the tool says that it could not read something.
    pub refusals: Vec<usize>,
    /// All lines that belong to it, ascending.
    pub lines: Vec<usize>,
}

impl Output<'_> {
    /// Nothing yet.
    fn new(tool: Tool) -> Self {
        Self { tool, tables: Vec::new(), numa: Vec::new(), refusals: Vec::new(), lines: Vec::new() }
    }
}

/// One table.
#[derive(Debug, Clone)]
pub(crate) struct Table<'a> {
    /// By its title, unless its cells say otherwise.
    pub quantity: Option<Quantity>,
    pub columns: Vec<&'a str>,
    pub rows: Vec<Row<'a>>,
    /// The line of its header.
    pub header: usize,
}

/// One row of a table.
#[derive(Debug, Clone)]
pub(crate) struct Row<'a> {
    pub label: &'a str,
    pub line: usize,
    /// Each cell with its offset in the line.
    pub cells: Vec<(usize, &'a str)>,
    /// Where the line ends.
    pub end: usize,
}

/// What a line of the list of NUMA nodes says of some GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numa {
    pub first: usize,
    pub last: usize,
    pub node: Option<u32>,
    pub affinity: Option<u32>,
}
