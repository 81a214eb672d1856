//! Grids of figures between numbered devices: a line of column numbers, then rows that begin with their number.

use weft_base::{Diagnostic, Rate, Span};

use crate::codes;
use crate::evidence::{Measure, PairCell};
use crate::format::{Line, Part};
use crate::prefix::body;
use crate::ranges;

/// More devices than any such grid has; a longer line is no header.
const COLUMNS_MAX: usize = 4096;

/// What the figures of a grid are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// GB/s.
    Gigabytes,
    /// µs.
    Microseconds,
    /// ns.
    Nanoseconds,
    /// 1 or 0: whether the row may access the column.
    Access,
}

impl Unit {
    /// From a title such as `… (GB/s)`.
    pub fn in_title(title: &str) -> Option<Self> {
        let known = [("GB/s", Self::Gigabytes), ("(us)", Self::Microseconds), ("(ns)", Self::Nanoseconds)];
        known.into_iter().find(|(text, _)| title.contains(text)).map(|(_, unit)| unit)
    }

    /// A figure in this unit; `None` for what is none (`N/A`).
    pub fn measure(self, word: &str) -> Option<Measure> {
        let number: f64 = word.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)?;
        Some(match self {
            Self::Gigabytes => Measure::Rate(Rate::from_gigabytes(number)),
            Self::Microseconds => Measure::Span(Span::from_microseconds(number)),
            Self::Nanoseconds => Measure::Span(Span::from_microseconds(number / 1e3)),
            Self::Access => Measure::Access(number > 0.0),
        })
    }
}

/// A line of a grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GridLine<'a> {
    /// Numbers of the columns, and the word before them: `D\D`, `GPU`, `CPU`.
    Header(Option<&'a str>, Vec<&'a str>),
    /// A row's number and its words.
    Row(&'a str, Vec<&'a str>),
}

/// What `text` is in a grid; the first line of numbers after a title is its header, whatever its indent.
pub(crate) fn grid_line(text: &str, is_header_due: bool) -> Option<GridLine<'_>> {
    let text = body(text).text;
    let first = *text.as_bytes().first()?;
    let mut words = text.split_ascii_whitespace();
    let is_count = |word: &&str| word.len() <= 5 && word.bytes().all(|byte| byte.is_ascii_digit());
    if !first.is_ascii_digit() {
        let corner = words.next().filter(|word| matches!(*word, "D\\D" | "GPU" | "CPU" | "D/D"))?;
        let columns: Vec<&str> = words.take(COLUMNS_MAX).collect();
        return columns.iter().all(is_count).then_some(GridLine::Header(Some(corner), columns));
    }
    let words: Vec<&str> = words.take(COLUMNS_MAX).collect();
    let rises = words.windows(2).all(|pair| pair[0].parse::<u32>().ok() < pair[1].parse::<u32>().ok());
    if is_header_due && words.iter().all(is_count) && rises {
        return Some(GridLine::Header(None, words));
    }
    let is_figure = |word: &&str| *word == "N/A" || word.parse::<f64>().is_ok_and(|number| number >= 0.0);
    let (label, figures) = words.split_first()?;
    (is_count(label) && figures.iter().all(is_figure)).then(|| GridLine::Row(label, figures.to_vec()))
}

/// A grid while its lines come in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    /// Numbers of the columns.
    pub columns: Vec<String>,
    /// Numbers of the rows.
    pub rows: Vec<String>,
    /// The figures, row by row.
    pub cells: Vec<PairCell>,
    /// Where the first row is that ends early, and how many do.
    cut: Option<(usize, usize)>,
}

impl Grid {
    /// Takes the header.
    pub fn header(&mut self, columns: &[&str]) {
        self.columns = columns.iter().map(|column| (*column).to_owned()).collect();
    }

    /// Takes a row; `index` is that of its line in the part.
    pub fn row(&mut self, label: &str, figures: &[&str], unit: Unit, line: &Line<'_>, index: usize) {
        if self.columns.is_empty() {
            self.columns = (0..figures.len()).map(|column| column.to_string()).collect();
        }
        if figures.len() < self.columns.len() {
            self.cut = Some(self.cut.map_or((index, 1), |(first, count)| (first, count + 1)));
        }
        let row = self.rows.len();
        self.rows.push(label.to_owned());
        for (column, word) in figures.iter().enumerate().take(self.columns.len()) {
            self.cells.extend(unit.measure(word).map(|measure| PairCell {
                row,
                column,
                measure,
                line: line.number,
            }));
        }
    }

    /// Old tools print 0.00 where nothing was measured: between a GPU and itself.
    pub fn drop_empty_diagonal(&mut self) {
        let same = |cell: &PairCell| self.rows.get(cell.row) == self.columns.get(cell.column);
        let is_zero = |cell: &PairCell| cell.measure == Measure::Rate(Rate::ZERO);
        let kept: Vec<PairCell> =
            self.cells.iter().filter(|cell| !(same(cell) && is_zero(cell))).cloned().collect();
        self.cells = kept;
    }

    /// Rows that end early; and rows that are not there though their column is, where both are of one `kind`.
    pub fn damage(&self, part: &Part<'_>, title: usize, kind: Option<&str>) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        if let Some((index, count)) = self.cut {
            let more = if count > 1 { format!("; so do {} more", count - 1) } else { String::new() };
            let message = format!("this row has fewer figures than the header has columns{more}");
            found.push(Diagnostic::warning(codes::ROW_CUT, message).at(part.start_at(index)));
        }
        let Some(kind) = kind else { return found };
        let missing: Vec<String> =
            self.columns.iter().filter(|column| !self.rows.contains(column)).cloned().collect();
        if !missing.is_empty() {
            let names = Self::named(&missing, kind);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let message =
                format!("the header names {} that have no row: the paste is cut", ranges::listed(&names));
            found.push(Diagnostic::warning(codes::ROWS_MISSING, message).at(part.start_at(title)));
        }
        found
    }

    /// Names of devices for numbers: `GPU0`.
    pub fn named(numbers: &[String], kind: &str) -> Vec<String> {
        numbers.iter().map(|number| format!("{kind}{number}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_rows_are_told_apart() {
        let header = GridLine::Header(None, vec!["0", "1"]);
        assert_eq!(grid_line("0         1", true), Some(header));
        assert_eq!(grid_line("0         1", false), Some(GridLine::Row("0", vec!["1"])));
        assert_eq!(grid_line(" 1    26.34       N/A", true), Some(GridLine::Row("1", vec!["26.34", "N/A"])));
        assert_eq!(
            grid_line("   D\\D     0      1 ", false),
            Some(GridLine::Header(Some("D\\D"), vec!["0", "1"]))
        );
        assert_eq!(grid_line("n1:    GPU     0", false), Some(GridLine::Header(Some("GPU"), vec!["0"])));
        assert_eq!(grid_line("GPU is slow", false), None);
        assert_eq!(grid_line("SUM x 1.0", true), None);
        assert_eq!(grid_line("", true), None);
    }

    #[test]
    fn figures_have_their_unit() {
        assert_eq!(
            Unit::Gigabytes.measure("1.5"),
            Some(Measure::Rate(Rate::bytes_per_second(1_500_000_000)))
        );
        assert_eq!(Unit::Nanoseconds.measure("1500"), Some(Measure::Span(Span::picoseconds(1_500_000))));
        assert_eq!((Unit::Gigabytes.measure("N/A"), Unit::Gigabytes.measure("-1")), (None, None));
    }
}
