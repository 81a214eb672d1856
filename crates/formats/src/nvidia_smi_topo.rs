//! `nvidia-smi topo -m`: how close GPUs and NICs are, in all the shapes in which it is pasted.

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Catalogue, Grade};
use weft_topology::ReportedClass;

use crate::codes;
use crate::evidence::Evidence;
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::grid::{Found, GPU_LABELS, Grid, GridKind, Row, diagnose_shape, scan};
use crate::matrix::{Cell, End, EndKind, Matrix};
use crate::ranges;
use crate::words::Word;

/// The most NVLinks of any GPU when this was written; a catalogue with newer GPUs raises it.
const NVLINKS_MAX: u16 = 18;

/// The reader.
#[derive(Debug)]
pub struct NvidiaSmiTopo;

impl Format for NvidiaSmiTopo {
    fn name(&self) -> &'static str {
        "nvidia-smi-topo"
    }

    fn title(&self) -> &'static str {
        "matrix of PCIe and NVLink classes"
    }

    fn command(&self) -> Option<&'static str> {
        Some("nvidia-smi topo -m")
    }

    fn is_first_choice(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        GPU_LABELS
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let grids = scan(text.lines);
        let mine = grids.iter().filter(|grid| grid.kind() == GridKind::Classes);
        mine.map(|grid| Claim::yes(grid.range())).collect()
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        let grids = scan(&part.lines);
        let Some(grid) = grids.iter().find(|grid| grid.kind() == GridKind::Classes) else {
            return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        };
        let mut diagnostics = diagnose_shape(grid, part.file, &part.lines);
        let matrix = matrix(grid, part, catalogue, &mut diagnostics);
        diagnostics.extend(asymmetric(&matrix));
        ranges::sort(&mut diagnostics);
        let place = part.start_at(grid.range().start);
        let evidence = vec![Located { value: Evidence::Topology(matrix), place }];
        Read { evidence, diagnostics, unused: ranges::unused(&part.lines, &grid.lines) }
    }
}

fn matrix(
    grid: &Grid<'_>,
    part: &Part<'_>,
    catalogue: &Catalogue,
    diagnostics: &mut Vec<Diagnostic>,
) -> Matrix {
    let sold =
        catalogue.gpus.iter().filter(|gpu| gpu.vendor == "nvidia").filter_map(|gpu| gpu.fabric.as_ref());
    let sold = sold.map(|fabric| &fabric.count).filter(|count| count.grade != Grade::Announced);
    let limit = sold.map(|count| count.value).max().unwrap_or(0).max(NVLINKS_MAX);
    let ends = ends(grid);
    let mut cells = Vec::with_capacity(grid.rows.len() * grid.columns.len());
    for row in &grid.rows {
        let Some(index) = ends.iter().position(|end| end.label == row.label) else { continue };
        for (column, cell) in row.cells.iter().enumerate().filter(|(column, _)| *column != index) {
            let place = cell.map_or_else(|| row.end, |cell| cell.spot).place(part.file, &part.lines);
            let class = match cell {
                Some(cell) => class(cell, limit, &place).unwrap_or_else(|finding| {
                    diagnostics.push(finding);
                    None
                }),
                None => None,
            };
            cells.push(Cell { row: index, column, class, place });
        }
        diagnostics.extend(own_cell(row, index, part));
    }
    Matrix::new(ends, cells, grid.titles.iter().map(|title| title.name.clone()).collect())
}

/// Columns in order, then rows without a column.
fn ends(grid: &Grid<'_>) -> Vec<End> {
    let beyond = grid.rows.iter().filter(|row| grid.column(row.label).is_none());
    let columns = grid.columns.iter().map(|column| (column.label, column.kind));
    let all = columns.chain(beyond.map(|row| (row.label, row.kind)));
    all.map(|(label, kind)| {
        let row = grid.rows.iter().find(|row| row.label == label);
        let named =
            grid.names.iter().find(|(name, _)| *name == label).map(|(_, device)| (*device).to_owned());
        // Old drivers put the device's own name into the header.
        let own = (kind == EndKind::Nic && !label.starts_with("NIC")).then(|| label.to_owned());
        End {
            label: label.to_owned(),
            kind,
            device: named.or(own),
            affinity: row.map(|row| row.affinity.clone()).unwrap_or_default(),
            has_row: row.is_some(),
        }
    })
    .collect()
}

fn class(cell: &Found<'_>, limit: u16, place: &Place) -> Result<Option<ReportedClass>, Diagnostic> {
    match cell.word {
        Some(Word::Class(ReportedClass::Nv(links))) if u16::from(links) > limit => {
            let message = format!("no GPU has {links} NVLinks; the most is {limit}");
            Err(Diagnostic::warning(codes::NVLINK_COUNT, message)
                .hint("a digit may be doubled, or two cells glued; the cell counts as unknown")
                .at(place.clone()))
        }
        Some(Word::Class(class)) => Ok(Some(class)),
        Some(Word::Own) => {
            Err(Diagnostic::warning(codes::CELL_UNKNOWN, "`X` stands off the diagonal").at(place.clone()))
        }
        Some(Word::Access(_)) | None => Err(unknown(cell.text, place)),
    }
}

fn unknown(text: &str, place: &Place) -> Diagnostic {
    Diagnostic::warning(codes::CELL_UNKNOWN, format!("cannot read the cell `{}`", ranges::short(text)))
        .hint("expected NV1 to NV18, PIX, PXB, PHB, NODE or SYS; the cell counts as unknown")
        .at(place.clone())
}

/// The diagonal holds `X`, whatever else may be damaged.
fn own_cell(row: &Row<'_>, index: usize, part: &Part<'_>) -> Option<Diagnostic> {
    let cell = row.cells.get(index).copied().flatten()?;
    if cell.word == Some(Word::Own) {
        return None;
    }
    let message = format!("the cell of {} with itself is `{}`, not `X`", row.label, ranges::short(cell.text));
    let hint = "the row may be shifted by one cell; compare it with the original";
    let place = cell.spot.place(part.file, &part.lines);
    Some(Diagnostic::warning(codes::CELL_UNKNOWN, message).hint(hint).at(place))
}

/// A warning at the second cell of each pair whose cells differ.
fn asymmetric(matrix: &Matrix) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for cell in matrix.cells() {
        let Some(twin) = matrix.cell(cell.column, cell.row) else { continue };
        let second = (twin.place.line, twin.place.column) < (cell.place.line, cell.place.column);
        if let (true, Some(here), Some(there)) = (second, cell.class, twin.class) {
            if here != there {
                let (row, column) = (&matrix.ends()[cell.row].label, &matrix.ends()[cell.column].label);
                let message = format!("{row} to {column} is {here}, but {column} to {row} is {there}");
                let hint = format!(
                    "both are kept; where one answer is needed, {there} (line {}) is used",
                    twin.place.line
                );
                found.push(
                    Diagnostic::warning(codes::PAIR_ASYMMETRIC, message).hint(hint).at(cell.place.clone()),
                );
            }
        }
    }
    found
}
