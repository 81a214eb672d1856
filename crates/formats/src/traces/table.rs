//! Rows under named columns, as `csv` reads them, with the place of every cell.

use std::str::FromStr;

use csv::StringRecord;
use weft_base::{Diagnostic, Period, Place, nearest};

use super::TRACE_MALFORMED;

/// A thousand years: beyond it a number is no time of a job.
const SECONDS_MOST: f64 = 1000.0 * 365.25 * 86_400.0;

/// A table: a head, and rows that are as long.
#[derive(Debug)]
pub struct Table<'t> {
    file: &'t str,
    text: &'t str,
    head: StringRecord,
    rows: Vec<StringRecord>,
    ragged: Vec<Diagnostic>,
}

impl<'t> Table<'t> {
    /// Reads a table with commas.
    ///
    /// # Errors
    ///
    /// It has no head.
    pub fn read(file: &'t str, text: &'t str) -> Result<Self, Diagnostic> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
        let head = reader.headers().cloned().unwrap_or_default();
        if head.iter().all(str::is_empty) {
            return Err(Diagnostic::error(TRACE_MALFORMED, "the table has no head")
                .at(Place::new(file, 1, 1, 1))
                .hint("the first line names the columns, with commas between them"));
        }
        let mut table = Self { file, text, head, rows: Vec::new(), ragged: Vec::new() };
        // What is read is text already, so that the library finds no fault in it.
        for row in reader.records().map_while(Result::ok) {
            if row.len() == table.head.len() {
                table.rows.push(row);
            } else {
                let why = table.ragged_row(&row);
                table.ragged.push(why);
            }
        }
        Ok(table)
    }

    /// The table, if all of its rows are as long as its head.
    ///
    /// # Errors
    ///
    /// The first row that is not.
    pub fn whole(self) -> Result<Self, Diagnostic> {
        match self.ragged.first() {
            Some(why) => Err(why.clone()),
            None => Ok(self),
        }
    }

    /// The file's name.
    pub fn file(&self) -> &'t str {
        self.file
    }

    /// The rows that are as long as the head.
    pub fn rows(&self) -> &[StringRecord] {
        &self.rows
    }

    /// What is wrong with the others.
    pub fn ragged(&self) -> &[Diagnostic] {
        &self.ragged
    }

    /// Names of the columns.
    pub fn head(&self) -> impl Iterator<Item = &str> {
        self.head.iter()
    }

    /// The same, as the library has them.
    pub(super) fn record(&self) -> &StringRecord {
        &self.head
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.head.iter().position(|head| head == name)
    }

    /// Columns that must be there.
    ///
    /// # Errors
    ///
    /// The first that is not.
    pub fn columns<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], Diagnostic> {
        let Some(missing) = names.iter().find(|name| self.column(name).is_none()) else {
            return Ok(names.map(|name| self.column(name).unwrap_or_default()));
        };
        let near = nearest(missing, self.head.iter().filter(|head| !names.contains(head)), 1);
        let hint = match near.first() {
            Some(near) => format!("is it the column `{near}`?"),
            None => format!("the table needs {}", names.join(", ")),
        };
        Err(Diagnostic::error(TRACE_MALFORMED, format!("there is no column `{missing}`"))
            .at(Place::new(self.file, 1, 1, 1))
            .hint(hint))
    }

    /// Columns that no reader knows are errors, so that a misspelt one is not passed over.
    ///
    /// # Errors
    ///
    /// The first column that is not among `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), Diagnostic> {
        let Some(at) = self.head.iter().position(|head| !known.contains(&head)) else { return Ok(()) };
        let name = self.head.get(at).unwrap_or_default();
        let hint = match nearest(name, known.iter().copied(), 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("columns are {}", known.join(", ")),
        };
        let length = small(name.chars().count().max(1));
        let column = self.column_in_line(&self.head, at);
        Err(Diagnostic::error(TRACE_MALFORMED, format!("the column `{name}` is not known"))
            .at(Place::new(self.file, 1, column, length))
            .hint(hint))
    }

    /// A whole number in a cell.
    ///
    /// # Errors
    ///
    /// The cell holds something else, or more than fits.
    pub fn number<T: FromStr>(&self, row: &StringRecord, at: usize) -> Result<T, Diagnostic> {
        let text = row.get(at).unwrap_or_default();
        text.parse()
            .map_err(|_| self.wrong(row, at, "it must be a whole number, 0 or more, and not as large"))
    }

    /// A time in seconds, as traces count it: `66.0`, no more than a thousand years.
    ///
    /// # Errors
    ///
    /// The cell holds no such number.
    pub fn seconds(&self, row: &StringRecord, at: usize) -> Result<Period, Diagnostic> {
        let seconds: Option<f64> = row.get(at).and_then(|text| text.parse().ok());
        let is_time = |seconds: &f64| (0.0..=SECONDS_MOST).contains(seconds);
        match seconds.filter(is_time) {
            Some(seconds) => Ok(Period::from_hours(seconds / 3600.0)),
            None => Err(self.wrong(row, at, "it must be a number of seconds, 0 or more")),
        }
    }

    /// What is wrong with a cell, with its place; `why` is what to write there.
    pub fn wrong(&self, row: &StringRecord, at: usize, why: &str) -> Diagnostic {
        let (name, text) = (self.head.get(at).unwrap_or_default(), row.get(at).unwrap_or_default());
        Diagnostic::error(TRACE_MALFORMED, format!("`{name}` is `{text}`")).at(self.place(row, at)).hint(why)
    }

    /// The line of a row.
    pub fn line(&self, row: &StringRecord) -> u32 {
        self.text_from(row).1
    }

    /// Where a cell stands.
    pub fn place(&self, row: &StringRecord, at: usize) -> Place {
        let length = row.get(at).unwrap_or_default().chars().count().max(1);
        Place::new(self.file, self.line(row), self.column_in_line(row, at), small(length))
    }

    /// The text from the row on, and its line. The library gives where the row before ended, so that empty lines may lie
    /// between.
    fn text_from(&self, row: &StringRecord) -> (&'t str, u32) {
        let (start, line) = row.position().map_or((0, 1), |place| (place.byte(), place.line()));
        let rest = usize::try_from(start).ok().and_then(|start| self.text.get(start..)).unwrap_or_default();
        let own = rest.trim_start_matches(['\r', '\n', '\u{feff}']);
        let skipped = rest[..rest.len() - own.len()].matches('\n').count();
        (own, u32::try_from(line).unwrap_or(u32::MAX).saturating_add(small(skipped)))
    }

    /// The character at which a cell begins, blanks and quotes before it counted.
    fn column_in_line(&self, row: &StringRecord, at: usize) -> u32 {
        let (raw, _) = self.text_from(row);
        // A quote opens only at the very beginning of a cell, as the library has it.
        let (mut cell, mut is_first, mut is_quoted) = (0, true, false);
        for (index, c) in raw.chars().enumerate() {
            let opens = c == '"' && is_first;
            match c {
                _ if cell == at && !opens && c != ' ' && c != '\t' => return small(index + 1),
                '"' => is_quoted = opens,
                ',' if !is_quoted => cell += 1,
                '\n' if !is_quoted => break,
                _ => {}
            }
            is_first = c == ',' && !is_quoted;
        }
        1
    }

    fn ragged_row(&self, row: &StringRecord) -> Diagnostic {
        let (found, wanted) = (row.len(), self.head.len());
        Diagnostic::error(TRACE_MALFORMED, format!("the row has {found} cells and the head {wanted}"))
            .at(Place::new(self.file, self.line(row), 1, 1))
            .hint("every row has as many cells as the head")
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Table;

    const TEXT: &str = "a, b ,c\n1,2,3\n\n\"x, y\",\"zz\" ,4\n5,6\n7,8,9,10\n";

    #[test]
    fn cells_know_where_they_stand() {
        let table = Table::read("t.csv", TEXT).unwrap();
        assert_eq!(table.rows().len(), 2);
        let place = |row: usize, at: usize| {
            let place = table.place(&table.rows()[row], at);
            (place.line, place.column, place.length)
        };
        assert_eq!((place(0, 0), place(0, 2)), ((2, 1, 1), (2, 5, 1)));
        // `"x, y","zz" ,4`: the second cell's text begins after its quote.
        assert_eq!((place(1, 1), place(1, 2)), ((4, 9, 2), (4, 14, 1)));
    }

    #[test]
    fn rows_of_another_length_are_named() {
        let table = Table::read("t.csv", TEXT).unwrap();
        let lines: Vec<u32> =
            table.ragged().iter().filter_map(|why| why.place.as_ref()).map(|place| place.line).collect();
        assert_eq!(lines, [5, 6]);
        let why = table.whole().unwrap_err();
        assert!(why.message.contains("2 cells and the head 3"), "{}", why.message);
    }

    #[test]
    fn columns_that_are_misspelt_are_named() {
        let table = Table::read("t.csv", "job,num_gpu\nx,1\n").unwrap();
        let why = table.columns(["job", "num_gpus"]).unwrap_err();
        assert_eq!(why.hint.as_deref(), Some("is it the column `num_gpu`?"));
        let why = table.only(&["job", "num_gpus"]).unwrap_err();
        assert_eq!(why.hint.as_deref(), Some("did you mean `num_gpus`?"));
        assert_eq!(why.place.map(|place| (place.column, place.length)), Some((5, 7)));
        assert_eq!(Table::read("t.csv", "\n").unwrap_err().code.name, "trace-malformed");
    }
}
