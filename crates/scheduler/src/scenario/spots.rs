//! Where things of a scenario stand in its text, and what is wrong with it there.

use std::ops::Range;

use weft_base::{Diagnostic, Place, nearest};

use super::SCHEDULE_SCENARIO;

/// What every hint ends at.
const KEYS: &str = "docs/reference/schedule-scenario.md lists all keys";

/// A text and what was found in it.
pub struct Spots<'t> {
    pub file: &'t str,
    pub text: &'t str,
    pub findings: Vec<Diagnostic>,
}

impl<'t> Spots<'t> {
    pub fn new(file: &'t str, text: &'t str) -> Self {
        Self { file, text, findings: Vec::new() }
    }

    /// The value of a key of the table that begins at `table`; the table itself where it has no such key.
    pub fn key(&self, table: &Range<usize>, key: &str) -> Place {
        let rest = self.text.get(table.start..).unwrap_or_default();
        let mut at = table.start;
        for (number, line) in rest.split_inclusive('\n').enumerate() {
            if number > 0 && line.trim_start().starts_with('[') {
                break;
            }
            let value = line
                .trim_start()
                .strip_prefix(key)
                .and_then(|rest| rest.trim_start().strip_prefix('='))
                .map(str::trim_start);
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                let start = at + line.len() - value.len();
                return Place::in_text(self.file, self.text, &(start..start + value.trim_end().len()));
            }
            at += line.len();
        }
        Place::in_text(self.file, self.text, table)
    }

    pub fn wrong(&mut self, place: Place, message: impl Into<String>, hint: impl Into<String>) {
        self.findings.push(Diagnostic::error(SCHEDULE_SCENARIO, message).at(place).hint(hint));
    }

    pub fn odd(&mut self, place: Place, message: impl Into<String>, hint: impl Into<String>) {
        self.findings.push(Diagnostic::warning(SCHEDULE_SCENARIO, message).at(place).hint(hint));
    }

    /// A name that is not among those that there are.
    pub fn unknown(&mut self, place: Place, what: &str, name: &str, known: &[&str]) {
        let hint = match nearest(name, known.iter().copied(), 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => format!("the scenario has no {what}"),
            None => format!("there are {}", known.join(", ")),
        };
        self.wrong(place, format!("there is no {what} `{name}`"), hint);
    }
}

/// What the reader of TOML says, with the key that was probably meant.
pub fn syntax(file: &str, text: &str, error: &toml::de::Error) -> Diagnostic {
    let message = error.message().trim_end();
    let mut names = message.split('`').skip(1).step_by(2);
    let near = match (message.starts_with("unknown field"), names.next()) {
        (true, Some(name)) => nearest(name, names, 1).first().map(|near| format!("did you mean `{near}`?")),
        _ => None,
    };
    // A list of all keys helps nobody who mistyped one of them.
    let short = message.split(", expected").next().unwrap_or(message);
    let shown = if message.starts_with("unknown field") { short } else { message };
    let finding = Diagnostic::error(SCHEDULE_SCENARIO, shown).hint(near.unwrap_or_else(|| KEYS.to_owned()));
    match error.span() {
        Some(span) => finding.at(Place::in_text(file, text, &span)),
        None => finding.at(Place::new(file, 1, 1, 0)),
    }
}
