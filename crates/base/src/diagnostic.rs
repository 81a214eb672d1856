//! A finding about an input: what, where, and what to do about it.

use std::fmt;
use std::ops::Range;

use crate::Code;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing: an assumption, a line that carries nothing for us.
    Note,
    /// Something could not be read or looks wrong; the rest was used.
    Warning,
    /// The input cannot be used, or contradicts the hardware.
    Error,
}

impl Severity {
    /// The word used in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Where in an input something stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The source's name as the user gave it (`topo.txt`, `-`, or the one-liner itself).
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Length in characters of what is meant; 0 where only the point is known.
    pub length: u32,
}

impl Place {
    /// A place in `file`; `line` and `column` count from 1, `length` in characters.
    pub fn new(file: impl Into<String>, line: u32, column: u32, length: u32) -> Self {
        Self { file: file.into(), line, column, length }
    }

    /// The place of a range of bytes of `text`, which is what `file` holds; of several lines the first is meant.
    pub fn in_text(file: impl Into<String>, text: &str, range: &Range<usize>) -> Self {
        let before = text.get(..range.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let marked = text.get(range.clone()).and_then(|marked| marked.lines().next()).unwrap_or_default();
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self::new(file, small(line), small(column), small(marked.chars().count()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One finding. Built by the core, shown only by `cli`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of finding this is.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// What is the matter, as one sentence without a full stop.
    pub message: String,
    /// What to do, as one sentence; absent where there is nothing to do.
    pub hint: Option<String>,
    /// Where in the input; absent for findings about the whole.
    pub place: Option<Place>,
}

impl Diagnostic {
    /// A finding of the given severity, without hint or place.
    pub fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Self { code, severity, message: message.into(), hint: None, place: None }
    }

    /// A finding of severity error.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A finding of severity warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// A finding of severity note.
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// The same finding with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same finding with a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}[{}]: {}", self.severity.word(), self.code.name, self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " (hint: {hint})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_prints_place_severity_code_message_and_hint() {
        let code = Code { name: "cell-unknown", explanation: "" };
        let diagnostic = Diagnostic::warning(code, "cannot read the cell `NVX`")
            .hint("expected NV1 to NV18, PIX, PXB, PHB, NODE or SYS")
            .at(Place::new("topo.txt", 3, 9, 3));
        assert_eq!(
            diagnostic.to_string(),
            "topo.txt:3:9: warning[cell-unknown]: cannot read the cell `NVX` \
             (hint: expected NV1 to NV18, PIX, PXB, PHB, NODE or SYS)"
        );
    }

    #[test]
    fn a_range_of_bytes_has_a_line_and_a_column() {
        // `wer` in the second line, behind three characters of which one takes two bytes.
        let place = Place::in_text("t", "a = 1\nb=äwer\n", &(10..13));
        assert_eq!(place, Place::new("t", 2, 4, 3));
        assert_eq!(Place::in_text("t", "a\nb", &(0..3)), Place::new("t", 1, 1, 1));
    }

    #[test]
    fn severities_are_ordered_by_weight() {
        assert!(Severity::Note < Severity::Warning && Severity::Warning < Severity::Error);
    }
}
