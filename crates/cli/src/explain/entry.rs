use std::fmt::{Display, Write as _};

use weft_catalogue::{Catalogue, Fact, Grade};

use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// A value as it is shown.
#[derive(Debug)]
struct Row<'c> {
    what: String,
    value: String,
    grade: Option<Grade>,
    source: Option<&'c str>,
    at: Option<&'c str>,
    note: Option<&'c str>,
}

/// An entry of the catalogue.
#[derive(Debug)]
pub struct Entry<'c> {
    name: &'c str,
    title: &'c str,
    kind: String,
    aliases: &'c [String],
    note: Option<&'c str>,
    rows: Vec<Row<'c>>,
}

impl<'c> Entry<'c> {
    /// An entry without facts so far. `kind` says what it is: `GPU, Ampere`.
    pub fn new(name: &'c str, title: &'c str, kind: impl Into<String>, aliases: &'c [String]) -> Self {
        Self { name, title, kind: kind.into(), aliases, note: None, rows: Vec::new() }
    }

    /// The same with what a reader should know.
    #[must_use]
    pub fn note(mut self, note: Option<&'c String>) -> Self {
        self.note = note.map(String::as_str);
        self
    }

    /// Adds a sourced value.
    #[must_use]
    pub fn fact<T: Display>(self, what: impl Into<String>, fact: &'c Fact<T>) -> Self {
        let value = fact.value.to_string();
        self.valued(what, value, fact)
    }

    /// Adds a sourced value if it is known.
    #[must_use]
    pub fn fact_if<T: Display>(self, what: &str, fact: Option<&'c Fact<T>>) -> Self {
        match fact {
            Some(fact) => self.fact(what, fact),
            None => self,
        }
    }

    /// Adds a sourced value, shown as `value`.
    #[must_use]
    pub fn valued<T>(mut self, what: impl Into<String>, value: impl Into<String>, fact: &'c Fact<T>) -> Self {
        self.rows.push(Row {
            what: what.into(),
            value: value.into(),
            grade: Some(fact.grade),
            source: Some(&fact.source),
            at: fact.at.as_deref(),
            note: fact.note.as_deref(),
        });
        self
    }

    /// Adds a value that follows from others, or from the entry's own source.
    #[must_use]
    pub fn plain(mut self, what: impl Into<String>, value: impl Into<String>) -> Self {
        let (what, value) = (what.into(), value.into());
        self.rows.push(Row { what, value, grade: None, source: None, at: None, note: None });
        self
    }

    /// Adds a value with the source of a whole structure or table.
    #[must_use]
    pub fn sourced(
        mut self,
        what: impl Into<String>,
        value: impl Into<String>,
        grade: Option<Grade>,
        (source, at): (Option<&'c str>, Option<&'c str>),
    ) -> Self {
        self.rows.push(Row { what: what.into(), value: value.into(), grade, source, at, note: None });
        self
    }

    /// The entry for a reader; sources are numbered and listed below.
    pub fn text(&self, catalogue: &Catalogue) -> String {
        let mut sources: Vec<&str> = Vec::new();
        let mut table = Table::default();
        for row in &self.rows {
            let number = row.source.map(|source| number_of(&mut sources, source));
            let from = match (number, row.at) {
                (Some(number), Some(at)) => format!("[{number}] {at}"),
                (Some(number), None) => format!("[{number}]"),
                (None, _) => String::new(),
            };
            let grade = row.grade.map_or("", Grade::word);
            table.row([
                Cell::new(&row.what),
                Cell::new(&row.value).tone(Tone::Heading),
                Cell::new(grade),
                Cell::new(from).tone(Tone::Faint),
            ]);
            if let Some(note) = row.note {
                table.row([Cell::default(), Cell::new(note).tone(Tone::Faint)].map(Cell::wide));
            }
        }
        let mut text =
            format!("{}  {}\n", heading(self.title), faint(format_args!("{}, `{}`", self.kind, self.name)));
        text.push_str(&table.lines());
        self.end(&mut text, &sources, catalogue);
        text
    }

    fn end(&self, text: &mut String, sources: &[&str], catalogue: &Catalogue) {
        if !self.aliases.is_empty() {
            let _ = writeln!(text, "  also called {}", faint(self.aliases.join(", ")));
        }
        if let Some(note) = self.note {
            let _ = writeln!(text, "  note: {note}");
        }
        let mut table = Table::default();
        for (index, key) in sources.iter().enumerate() {
            let number = Cell::new(format!("[{}]", index + 1));
            let Some(source) = catalogue.sources.get(*key) else { continue };
            let version = source.version.as_ref().map_or_else(String::new, |version| format!(", {version}"));
            let unread = if source.unread { " (quoted from general knowledge)" } else { "" };
            table.row([
                number,
                Cell::new(format!("{} ({}{version}){unread}", source.title, source.publisher)),
            ]);
            table.row([Cell::default(), Cell::new(&source.address).tone(Tone::Faint)]);
        }
        if !table.is_empty() {
            let _ = write!(text, "{}\n{}", heading("Sources"), table.lines());
        }
    }
}

/// The number of a source, from 1, in order of first use.
fn number_of<'c>(sources: &mut Vec<&'c str>, source: &'c str) -> usize {
    let known = sources.iter().position(|known| *known == source);
    let index = known.unwrap_or_else(|| {
        sources.push(source);
        sources.len() - 1
    });
    index + 1
}
