//! The shape that `nvidia-smi topo -m` and `topo -p2p` share: a header of devices, a row for each, a
//! legend. Found anywhere in a text, however pasted; what the cells mean is left to the readers.

mod align;
mod header;
mod legend;
mod row;
mod scan;
#[cfg(test)]
mod tests;

use std::ops::Range;

use weft_base::{Diagnostic, Place};

use crate::format::Line;
use crate::matrix::{Affinity, EndKind};
use crate::words::{Title, Word};

pub(crate) use scan::scan;

/// No matrix is larger: the widest met has 50 devices. Beyond it text is something else, and would only cost time.
pub(crate) const DEVICES_MAX: usize = 256;

/// What every matrix holds: the label of a GPU. `GPU` alone stands in all logs.
pub(crate) const GPU_LABELS: &[&str] =
    &["GPU0", "GPU1", "GPU2", "GPU3", "GPU4", "GPU5", "GPU6", "GPU7", "GPU8", "GPU9"];

/// A matrix as found, its lines given by index into what was scanned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid<'a> {
    /// Devices of the header, in order.
    pub columns: Vec<Column<'a>>,
    /// The line of the header; absent where the paste lost it.
    pub header: Option<usize>,
    /// Whether labels of the header stood without a blank between them.
    pub glued: Option<Spot>,
    /// Titles of the other columns, in order.
    pub titles: Vec<Title>,
    /// Whether those stand before the devices.
    pub titles_first: bool,
    /// The rows, in order.
    pub rows: Vec<Row<'a>>,
    /// Names from the NIC legend.
    pub names: Vec<(&'a str, &'a str)>,
    /// What followed `-p2p` in the command above it, or nothing for `-m`.
    pub command: Option<Command>,
    /// Lines that repeat a row.
    pub repeated: Vec<Spot>,
    /// Lines that belong to it, in order.
    pub lines: Vec<usize>,
}

/// The command that printed a grid, as seen above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// `topo -m`.
    Matrix,
    /// `topo -p2p` and its letter.
    Peers(Option<char>),
}

/// Some characters of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub line: usize,
    pub offset: usize,
    pub length: u32,
}

/// A device of the header, or of a row where the header lacks it.
#[derive(Debug, Clone)]
pub(crate) struct Column<'a> {
    pub label: &'a str,
    pub kind: EndKind,
    /// Where it begins on a screen.
    pub visual: usize,
    /// How many separators stand before it.
    pub field: usize,
}

/// A row of a grid.
#[derive(Debug, Clone)]
pub(crate) struct Row<'a> {
    pub label: &'a str,
    pub kind: EndKind,
    pub spot: Spot,
    /// The cells of the columns, in order; filled by [`Grid::align`].
    pub cells: Vec<Option<Found<'a>>>,
    /// Cells beyond the columns.
    pub extra: Vec<Found<'a>>,
    /// Tokens that held several cells.
    pub fused: Vec<Found<'a>>,
    /// What stands behind the cells.
    pub affinity: Affinity,
    /// Where the line ends, for cells that are missing there.
    pub end: Spot,
    found: Vec<Found<'a>>,
    tail: Vec<crate::words::Token<'a>>,
}

/// A cell as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    /// The token that it stands in.
    pub text: &'a str,
    /// What it says; `None` if that is no word of any matrix.
    pub word: Option<Word>,
    pub spot: Spot,
    visual: usize,
    field: usize,
}

/// Which of the two formats a grid is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GridKind {
    /// How close devices are.
    Classes,
    /// What devices may do with each other.
    Accesses,
}

impl Grid<'_> {
    /// What its cells are; the command above it decides where they do not tell.
    pub fn kind(&self) -> GridKind {
        let words = || self.rows.iter().flat_map(|row| &row.found).filter_map(|found| found.word);
        let classes = words().filter(|word| matches!(word, Word::Class(_))).count();
        let accesses = words().filter(|word| matches!(word, Word::Access(_))).count();
        let asked_for_peers = matches!(self.command, Some(Command::Peers(_)));
        if accesses > classes || (accesses == classes && asked_for_peers) {
            GridKind::Accesses
        } else {
            GridKind::Classes
        }
    }

    /// From its first line to its last.
    pub fn range(&self) -> Range<usize> {
        let first = self.lines.first().copied().unwrap_or(0);
        first..self.lines.last().map_or(first, |last| last + 1)
    }

    /// Index of the column with that label.
    pub fn column(&self, label: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.label == label)
    }
}

impl Spot {
    /// The place in the source.
    pub fn place(self, file: &str, lines: &[Line<'_>]) -> Place {
        let line = &lines[self.line.min(lines.len() - 1)];
        Place::new(file, line.number, line.column(self.offset), self.length)
    }
}

/// What both readers report about a grid's shape: glued headers, fused, missing and surplus cells, rows.
pub(crate) fn diagnose_shape(grid: &Grid<'_>, file: &str, lines: &[Line<'_>]) -> Vec<Diagnostic> {
    row::diagnose(grid, file, lines)
}
