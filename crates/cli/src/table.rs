//! Aligned columns: text to the left, numbers to the right, two blanks between, nothing behind the last.

use crate::style::{Tone, paint};

/// One cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    tone: Tone,
    right: bool,
    wide: bool,
}

impl Cell {
    /// Text, to the left.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A number with its unit, to the right.
    pub fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), right: true, ..Self::default() }
    }

    /// The same, but its width does not widen the column: the last cell of its row.
    #[must_use]
    pub fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    /// The same in that tone.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// Rows of cells; rows may be of different lengths.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows as lines that begin with two blanks.
    pub fn lines(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.wide);
            cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |index| index + 1);
            for (index, cell) in row.iter().take(last).enumerate() {
                let pad = " ".repeat(widths[index].saturating_sub(cell.text.chars().count()));
                let painted = paint(&cell.text, cell.tone);
                text.push_str("  ");
                match (cell.right, index + 1 == last) {
                    (true, _) => text.extend([pad.as_str(), painted.as_str()]),
                    (false, true) => text.push_str(&painted),
                    (false, false) => text.extend([painted.as_str(), pad.as_str()]),
                }
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_left_and_numbers_right_and_no_line_ends_with_blanks() {
        let mut table = Table::default();
        table.row([Cell::new("size"), Cell::number("time"), Cell::new("why")]);
        table.row([Cell::new("8 B"), Cell::number("12.5 us"), Cell::new("")]);
        assert_eq!(table.lines(), "  size     time  why\n  8 B   12.5 us\n");
    }

    #[test]
    fn styles_do_not_count_as_width() {
        let mut table = Table::default();
        table.row([Cell::new("a").tone(Tone::Heading), Cell::new("b")]);
        table.row([Cell::new("long"), Cell::new("c")]);
        assert!(table.lines().contains("   b\n"));
    }
}
