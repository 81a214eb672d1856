//! The matrix of `nvidia-smi topo -m`, as read: nothing guessed, unknown cells kept unknown.

use weft_base::Place;
use weft_topology::ReportedClass;

/// What a row or column of the matrix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndKind {
    /// `GPU0`.
    Gpu,
    /// `NIC0`, `mlx5_0`, `mlx4_0`.
    Nic,
}

/// A device of the matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The label in the input: `GPU0`, `NIC3`, `mlx5_0`.
    pub label: String,
    /// GPU or NIC.
    pub kind: EndKind,
    /// The NIC's device name from the legend (`mlx5_0`).
    pub device: Option<String>,
    /// The affinity cells of its row.
    pub affinity: Affinity,
    /// Whether the matrix has a row for it (truncated pastes do not).
    pub has_row: bool,
}

/// What a GPU's row says of CPUs and NUMA nodes, as printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affinity {
    /// `0-31,64-95`.
    pub cpus: Option<String>,
    /// `0`, `0-1`, `N/A`.
    pub numa: Option<String>,
    /// NUMA node that is the GPU's own memory (Grace systems).
    pub gpu_numa: Option<String>,
}

/// One cell off the diagonal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Index into [`Matrix::ends`] of the row.
    pub row: usize,
    /// Index into [`Matrix::ends`] of the column.
    pub column: usize,
    /// `None` where the text could not be understood.
    pub class: Option<ReportedClass>,
    /// Where it stands.
    pub place: Place,
}

/// A topology matrix. Immutable, so that the lookup by pair stays true.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matrix {
    ends: Vec<End>,
    cells: Vec<Cell>,
    columns: Vec<String>,
    /// Position in `cells` plus one of each (row, column), row by row; 0 where there is none.
    index: Vec<u32>,
}

impl Matrix {
    /// A matrix of `cells` between `ends`, with the titles of the columns behind the devices. Cells
    /// that name no end are left out, and so is the second of two cells of one pair.
    pub fn new(ends: Vec<End>, cells: Vec<Cell>, columns: Vec<String>) -> Self {
        let mut matrix = Self {
            index: vec![0; ends.len() * ends.len()],
            ends,
            cells: Vec::with_capacity(cells.len()),
            columns,
        };
        for cell in cells {
            let inside = cell.row < matrix.ends.len() && cell.column < matrix.ends.len();
            let slot = cell.row * matrix.ends.len() + cell.column;
            let next = u32::try_from(matrix.cells.len() + 1).ok();
            if let (true, Some(0), Some(next)) = (inside, matrix.index.get(slot), next) {
                matrix.index[slot] = next;
                matrix.cells.push(cell);
            }
        }
        matrix
    }

    /// The devices: columns in order, then rows that have no column.
    pub fn ends(&self) -> &[End] {
        &self.ends
    }

    /// The cells that were in the input, row by row.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Titles of the columns behind the devices: `CPU Affinity`, `NUMA Affinity`, `GPU NUMA ID`.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Indices of the ends of one kind.
    pub fn of_kind(&self, kind: EndKind) -> impl Iterator<Item = usize> {
        self.ends.iter().enumerate().filter(move |(_, end)| end.kind == kind).map(|(index, _)| index)
    }

    /// The cell of that row and column, if the input has it.
    pub fn cell(&self, row: usize, column: usize) -> Option<&Cell> {
        if row >= self.ends.len() || column >= self.ends.len() {
            return None;
        }
        let slot = usize::try_from(self.index[row * self.ends.len() + column]).ok()?;
        self.cells.get(slot.checked_sub(1)?)
    }

    /// The class between two ends: the cell (a, b), else the cell (b, a), else unknown.
    pub fn class(&self, a: usize, b: usize) -> Option<ReportedClass> {
        let at = |row, column| self.cell(row, column).and_then(|cell| cell.class);
        at(a, b).or_else(|| at(b, a))
    }

    /// Whether both say the same of the same devices, wherever they stand.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let cells = |matrix: &Self| -> Vec<(usize, usize, Option<ReportedClass>)> {
            matrix.cells.iter().map(|cell| (cell.row, cell.column, cell.class)).collect()
        };
        self.ends == other.ends && cells(self) == cells(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(label: &str) -> End {
        End {
            label: label.to_owned(),
            kind: EndKind::Gpu,
            device: None,
            affinity: Affinity::default(),
            has_row: true,
        }
    }

    fn cell(row: usize, column: usize, class: Option<ReportedClass>) -> Cell {
        Cell { row, column, class, place: Place::new("t", 1, 1, 0) }
    }

    #[test]
    fn the_class_of_a_pair_comes_from_either_cell() {
        let cells = vec![cell(0, 1, None), cell(1, 0, Some(ReportedClass::Pix)), cell(7, 0, None)];
        let matrix = Matrix::new(vec![end("GPU0"), end("GPU1")], cells, Vec::new());
        assert_eq!(matrix.class(0, 1), Some(ReportedClass::Pix));
        assert_eq!(matrix.class(1, 0), Some(ReportedClass::Pix));
        assert_eq!((matrix.class(0, 0), matrix.class(0, 9)), (None, None));
        assert_eq!(matrix.cells().len(), 2);
    }

    #[test]
    fn the_first_of_two_cells_of_a_pair_counts() {
        let cells = vec![cell(0, 1, Some(ReportedClass::Pix)), cell(0, 1, Some(ReportedClass::Sys))];
        let matrix = Matrix::new(vec![end("GPU0"), end("GPU1")], cells, Vec::new());
        assert_eq!(matrix.class(0, 1), Some(ReportedClass::Pix));
    }
}
