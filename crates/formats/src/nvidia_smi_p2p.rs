//! `nvidia-smi topo -p2p`: which GPU may read, write, or work atomically on which. It has the shape of
//! `topo -m` and says nothing about distances.

use weft_base::{Diagnostic, Place};
use weft_catalogue::Catalogue;

use crate::codes;
use crate::evidence::Evidence;
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::grid::{Command, GPU_LABELS, Grid, GridKind, diagnose_shape, scan};
use crate::ranges;
use crate::words::Word;

/// What the driver says of one GPU's access to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// `OK`: it works.
    Ok,
    /// `CNS`: the chipset does not support it.
    ChipsetNotSupported,
    /// `GNS`: the GPU does not support it.
    GpuNotSupported,
    /// `TNS`: not over this topology.
    TopologyNotSupported,
    /// `NS`: not supported.
    NotSupported,
    /// `DR`: switched off by a registry key.
    DisabledByRegkey,
    /// `U`: the driver does not know.
    Unknown,
}

const ACCESSES: [Access; 7] = [
    Access::Ok,
    Access::ChipsetNotSupported,
    Access::GpuNotSupported,
    Access::TopologyNotSupported,
    Access::NotSupported,
    Access::DisabledByRegkey,
    Access::Unknown,
];

impl Access {
    /// As printed: `OK`, `CNS`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::ChipsetNotSupported => "CNS",
            Self::GpuNotSupported => "GNS",
            Self::TopologyNotSupported => "TNS",
            Self::NotSupported => "NS",
            Self::DisabledByRegkey => "DR",
            Self::Unknown => "U",
        }
    }

    /// The access whose word `text` begins with.
    pub(crate) fn leading(text: &str) -> Option<(Self, &'static str)> {
        let found = ACCESSES.into_iter().find(|access| text.starts_with(access.word()))?;
        Some((found, found.word()))
    }
}

/// What the matrix was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerMode {
    /// `-p2p r`: reads.
    Read,
    /// `-p2p w`: writes.
    Write,
    /// `-p2p n`: over NVLink.
    NvLink,
    /// `-p2p a`: atomics.
    Atomics,
    /// `-p2p p`: over PCIe.
    Pcie,
}

impl PeerMode {
    fn from_letter(letter: char) -> Option<Self> {
        match letter {
            'r' => Some(Self::Read),
            'w' => Some(Self::Write),
            'n' => Some(Self::NvLink),
            'a' => Some(Self::Atomics),
            'p' => Some(Self::Pcie),
            _ => None,
        }
    }

    /// In words: "reads".
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::NvLink => "NVLink",
            Self::Atomics => "atomics",
            Self::Pcie => "PCIe",
        }
    }
}

/// One cell off the diagonal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCell {
    /// Index into [`PeerMatrix::ends`] of the row.
    pub row: usize,
    /// Index into [`PeerMatrix::ends`] of the column.
    pub column: usize,
    /// `None` where the text could not be understood.
    pub access: Option<Access>,
    /// Where it stands.
    pub place: Place,
}

/// Who may access whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerMatrix {
    /// Labels of the GPUs: columns in order, then rows that have no column.
    pub ends: Vec<String>,
    /// The cells that were in the input, row by row.
    pub cells: Vec<PeerCell>,
    /// What was asked for, where the command stands above the matrix.
    pub mode: Option<PeerMode>,
}

/// The reader.
#[derive(Debug)]
pub struct NvidiaSmiP2p;

impl Format for NvidiaSmiP2p {
    fn name(&self) -> &'static str {
        "nvidia-smi-p2p"
    }

    fn title(&self) -> &'static str {
        "matrix of peer-to-peer access"
    }

    fn command(&self) -> Option<&'static str> {
        Some("nvidia-smi topo -p2p r")
    }

    fn is_first_choice(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        GPU_LABELS
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let grids = scan(text.lines);
        let mine = grids.iter().filter(|grid| grid.kind() == GridKind::Accesses);
        mine.map(|grid| Claim::yes(grid.range())).collect()
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let grids = scan(&part.lines);
        let Some(grid) = grids.iter().find(|grid| grid.kind() == GridKind::Accesses) else {
            return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        };
        let mut diagnostics = diagnose_shape(grid, part.file, &part.lines);
        let matrix = matrix(grid, part, &mut diagnostics);
        ranges::sort(&mut diagnostics);
        let place = part.start_at(grid.range().start);
        let evidence = vec![Located { value: Evidence::Peers(matrix), place }];
        Read { evidence, diagnostics, unused: ranges::unused(&part.lines, &grid.lines) }
    }
}

fn matrix(grid: &Grid<'_>, part: &Part<'_>, diagnostics: &mut Vec<Diagnostic>) -> PeerMatrix {
    let beyond = grid.rows.iter().map(|row| row.label).filter(|label| grid.column(label).is_none());
    let labels: Vec<&str> = grid.columns.iter().map(|column| column.label).chain(beyond).collect();
    let mut cells = Vec::new();
    for row in &grid.rows {
        let Some(index) = labels.iter().position(|label| *label == row.label) else { continue };
        for (column, cell) in row.cells.iter().enumerate().filter(|(column, _)| *column != index) {
            let place = cell.map_or(row.end, |cell| cell.spot).place(part.file, &part.lines);
            let access = match cell.map(|cell| (cell.word, cell.text)) {
                Some((Some(Word::Access(access)), _)) => Some(access),
                Some((Some(Word::Own | Word::Class(_)) | None, text)) => {
                    diagnostics.push(unknown(text, &place));
                    None
                }
                None => None,
            };
            cells.push(PeerCell { row: index, column, access, place });
        }
    }
    let mode = match grid.command {
        Some(Command::Peers(letter)) => letter.and_then(PeerMode::from_letter),
        Some(Command::Matrix) | None => None,
    };
    PeerMatrix { ends: labels.into_iter().map(str::to_owned).collect(), cells, mode }
}

fn unknown(text: &str, place: &Place) -> Diagnostic {
    Diagnostic::warning(codes::CELL_UNKNOWN, format!("cannot read the cell `{}`", ranges::short(text)))
        .hint("expected OK, CNS, GNS, TNS, NS, DR or U; the cell counts as unknown")
        .at(place.clone())
}
