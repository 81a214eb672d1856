//! A table by the names of its columns.

use weft_base::{Diagnostic, Place};

use super::Left;
use crate::validate::NOT_A_NUMBER;

/// A table with a header.
pub(super) struct Table {
    columns: Vec<String>,
    pub rows: Vec<Row>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Fields of a line by column.
pub(super) struct Row {
    pub line: u64,
    fields: Vec<(String, String)>,
}

impl Table {
    /// Reads CSV; lines that are none become diagnostics.
    pub fn read(file: &str, text: &str) -> Self {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let columns: Vec<String> =
            reader.headers().map(|header| header.iter().map(str::to_owned).collect()).unwrap_or_default();
        let (mut rows, mut diagnostics) = (Vec::new(), Vec::new());
        for record in reader.records() {
            match record {
                Ok(record) => {
                    // Lines as the reader counts them are one less where they end in `\r\n`.
                    let line = record.position().map_or(0, |position| position.record() + 1);
                    let values = record.iter().map(|value| value.trim().to_owned());
                    rows.push(Row { line, fields: columns.iter().cloned().zip(values).collect() });
                }
                Err(error) => {
                    let message = format!("cannot read the row: {error}");
                    let line = error.position().map_or(1, csv::Position::line);
                    let place = Place::new(file, u32::try_from(line).unwrap_or(u32::MAX), 1, 0);
                    diagnostics.push(Diagnostic::warning(NOT_A_NUMBER, message).at(place));
                }
            }
        }
        Self { columns, rows, diagnostics }
    }

    /// Whether it has the column.
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }
}

impl Row {
    /// The field, empty where the table has none.
    pub fn text(&self, column: &str) -> &str {
        self.fields.iter().find(|(name, _)| name == column).map_or("", |(_, value)| value.as_str())
    }

    /// The field in small letters.
    pub fn lower(&self, column: &str) -> String {
        self.text(column).to_lowercase()
    }

    /// The field as a number; `None` where it is empty, `NA`, `n/a` or `-`.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.text(column).parse().ok().filter(|value: &f64| value.is_finite())
    }

    /// The field as a whole number above 0.
    pub fn whole(&self, column: &str) -> Option<u32> {
        self.text(column).parse().ok().filter(|value| *value > 0)
    }

    /// A size of a group, 1 where it is not printed.
    pub fn size(&self, column: &str) -> u32 {
        self.whole(column).unwrap_or(1)
    }

    /// A whole number that a prediction cannot do without.
    pub fn needed(&self, column: &str) -> Result<u32, Left> {
        self.whole(column).ok_or_else(|| Left::unread(format!("{column} is `{}`", self.text(column))))
    }

    /// A number above 0 that a prediction cannot do without.
    pub fn positive(&self, column: &str) -> Result<f64, Left> {
        let value = self.number(column).filter(|value| *value > 0.0);
        value.ok_or_else(|| Left::unread(format!("{column} is `{}`", self.text(column))))
    }
}
