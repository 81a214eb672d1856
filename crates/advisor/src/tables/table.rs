//! Comma-separated values with the place of each cell.

use weft_base::Place;

use super::Column;

/// A cell and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Its text without quotes and outer blanks.
    pub text: String,
    /// Line of the file, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Characters in the file.
    pub length: u32,
}

impl Cell {
    /// The number at its start: `9,216 (128 racks)` is 9216.
    pub fn number(&self) -> Option<f64> {
        let end = self.text.find(|c: char| !(c.is_ascii_digit() || ",._".contains(c)));
        let digits = &self.text[..end.unwrap_or(self.text.len())];
        digits.replace([',', '_'], "").trim_end_matches('.').parse().ok()
    }

    /// The number, where it is whole.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole and small"
    )]
    pub fn count(&self) -> Option<u64> {
        let number = self.number()?;
        (number.fract() == 0.0 && number < 1e15).then_some(number as u64)
    }
}

/// A row of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its cells; there may be fewer than heads.
    pub cells: Vec<Cell>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Where it is from.
    pub file: String,
    /// The names of the columns.
    pub head: Vec<Cell>,
    /// All below.
    pub rows: Vec<Row>,
}

impl Table {
    /// Reads a table with a head of at least two columns and a row below; lines that begin with `#` are left out.
    pub fn read(file: &str, text: &str) -> Option<Self> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| {
            let line: &str = line;
            !line.trim().is_empty() && !line.starts_with('#')
        });
        let (number, head) = lines.next()?;
        let head = cells(number, head);
        if head.len() < 2 || head.iter().any(|cell| cell.text.len() > 80) {
            return None;
        }
        let rows: Vec<Row> = lines.map(|(number, line)| Row { cells: cells(number, line) }).collect();
        (!rows.is_empty()).then(|| Self { file: file.to_owned(), head, rows })
    }

    /// Where a column stands, if the table has it.
    pub fn index(&self, column: Column) -> Option<usize> {
        self.head.iter().position(|cell| Column::of(&cell.text) == Some(column))
    }

    /// A row's cell of that column.
    pub fn cell<'r>(&self, row: &'r Row, column: Column) -> Option<&'r Cell> {
        row.cells.get(self.index(column)?)
    }

    /// A row's count of that column.
    pub fn count(&self, row: &Row, column: Column) -> Option<u64> {
        self.cell(row, column)?.count()
    }

    /// A cell's place in its file.
    pub fn place(&self, cell: &Cell) -> Place {
        Place::new(&self.file, cell.line, cell.column, cell.length)
    }
}

/// The cells of one line; a quote may stand around a comma, and is doubled inside quotes.
fn cells(line: u32, text: &str) -> Vec<Cell> {
    let (mut cells, mut quoted, mut start, mut raw) = (Vec::new(), false, 1_u32, String::new());
    let mut finish = |start: u32, raw: &str| {
        let lead = raw.chars().take_while(|c| c.is_whitespace()).count();
        let trimmed = raw.trim();
        let inner = trimmed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(trimmed);
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        cells.push(Cell {
            text: inner.replace("\"\"", "\"").trim().to_owned(),
            line,
            column: start.saturating_add(count(lead)),
            length: count(trimmed.chars().count()),
        });
    };
    let mut place = 1_u32;
    for letter in text.chars() {
        place = place.saturating_add(1);
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => {
                finish(start, &raw);
                raw.clear();
                start = place;
                continue;
            }
            _ => {}
        }
        raw.push(letter);
    }
    finish(start, &raw);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_know_their_places() {
        let table =
            Table::read("f.csv", "# of a paper\nnodes,\"GPUs, all\"\n 31 ,\"1,016 (4 units)\"\n").unwrap();
        assert_eq!(table.head[1].text, "GPUs, all");
        let row = &table.rows[0];
        assert_eq!((row.cells[0].count(), row.cells[0].line, row.cells[0].column), (Some(31), 3, 2));
        assert_eq!((row.cells[1].count(), row.cells[1].column, row.cells[1].length), (Some(1016), 6, 17));
        assert_eq!(table.index(Column::Nodes), Some(0));
        assert!(Table::read("f", "one column\n1\n").is_none() && Table::read("f", "a,b\n").is_none());
    }
}
