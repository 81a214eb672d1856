//! What a format is. Adding one is one file and one line in [`FORMATS`](crate::FORMATS).

use std::borrow::Cow;
use std::ops::Range;

use weft_base::{Diagnostic, Place};
use weft_catalogue::Catalogue;

use crate::evidence::Evidence;
use crate::prefix::{Body, body};
use crate::text;

/// How a source came to us; decides what an unreadable one is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A file or standard input.
    Text,
    /// The argument itself: a one-liner or the name of a system.
    Argument,
}

/// What the user gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file's name, `-` for standard input, or the one-liner itself.
    pub name: String,
    /// Its text; terminal escapes and carriage returns are still in it.
    pub text: String,
    /// Its bytes where they are no UTF-8 text; else empty.
    pub bytes: Vec<u8>,
    /// Where it came from.
    pub origin: Origin,
}

impl Source {
    /// The text of a file called `name`, or of standard input (`-`).
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), bytes: Vec::new(), origin: Origin::Text }
    }

    /// A one-liner or a system's name, as given on the command line.
    pub fn argument(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { name: text.clone(), text, bytes: Vec::new(), origin: Origin::Argument }
    }
}

/// One line of a source, without terminal escapes, with where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// From 1.
    pub number: u32,
    /// The text, escapes and line end removed; tabs kept.
    pub text: Cow<'a, str>,
    /// The line as it stands in the source.
    pub(crate) raw: &'a str,
    /// What a collector of logs had put into it.
    pub(crate) cut: Cut,
}

/// A stretch of a line that is not in its text any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The character before which it stood.
    pub(crate) at: usize,
    /// Characters.
    pub(crate) length: usize,
}

impl Line<'_> {
    /// Whether nothing stands on it.
    pub fn is_blank(&self) -> bool {
        self.text.trim_start().is_empty()
    }

    /// Whether it holds no statement: blanks, what a launcher puts before each line, the fences of Markdown, `^C`.
    pub fn says_nothing(&self) -> bool {
        let line = self.text.trim();
        let is_fence = line.strip_prefix("```").is_some_and(|kind| !kind.contains([' ', '`']));
        if line.is_empty() || is_fence || line == "^C" {
            return true;
        }
        let Body { label, text, .. } = body(line);
        // A word before a colon may be a heading; numbers and names of streams are a launcher's.
        let number = label.trim_end_matches(':');
        let is_launcher = number.bytes().all(|byte| byte.is_ascii_digit() || b"[],.".contains(&byte));
        text.is_empty() && (is_launcher || label.ends_with("<stdout>:") || label.ends_with("<stderr>:"))
    }

    /// Bytes of blanks before its text.
    pub fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }

    /// The column in the source of the character at byte `offset` of `text`.
    pub fn column(&self, offset: usize) -> u32 {
        let index =
            self.text.get(..offset).map_or(self.text.chars().count(), |before| before.chars().count());
        let index = if index < self.cut.at { index } else { index + self.cut.length };
        if matches!(self.text, Cow::Borrowed(_)) {
            return u32::try_from(index + 1).unwrap_or(u32::MAX);
        }
        // Places are asked for rarely, so that the columns of a mangled line are worked out anew.
        let columns = text::columns(self.raw);
        columns.get(index).or(columns.last()).copied().unwrap_or(1)
    }
}

/// A whole source, as readers see it when they look for what is theirs.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// Where it came from.
    pub origin: Origin,
    /// All its lines.
    pub lines: &'a [Line<'a>],
}

/// The lines that one reader may understand; they need not follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The source's name.
    pub file: &'a str,
    /// The lines, in order.
    pub lines: Cow<'a, [Line<'a>]>,
}

impl Part<'_> {
    /// The place of `length` characters at byte `offset` of `line`.
    pub fn place(&self, line: &Line<'_>, offset: usize, length: u32) -> Place {
        Place::new(self.file, line.number, line.column(offset), length)
    }

    /// The place of its first line that is not blank.
    pub fn start(&self) -> Place {
        let line = self.lines.iter().find(|line| !line.is_blank()).or(self.lines.first());
        line.map_or_else(|| Place::new(self.file, 1, 1, 0), |line| self.place(line, line.indent(), 0))
    }

    /// The place where the line at `index` begins.
    pub fn start_at(&self, index: usize) -> Place {
        self.lines.get(index).map_or_else(|| self.start(), |line| self.place(line, line.indent(), 0))
    }

    /// The lines joined again, for readers of whole documents (TOML, XML).
    pub fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [&line.text, "\n"]).collect()
    }

    /// The place of `span`, bytes of [`Part::text`].
    pub fn place_in_text(&self, span: &Range<usize>) -> Place {
        let mut start = 0;
        for line in self.lines.iter() {
            let end = start + line.text.len();
            if span.start <= end {
                let inside = span.start - start..span.end.clamp(span.start, end) - start;
                let length = line.text.get(inside.clone()).map_or(0, |text| text.chars().count());
                return self.place(line, inside.start, u32::try_from(length).unwrap_or(0));
            }
            start = end + 1;
        }
        self.lines.last().map_or_else(|| self.start(), |line| self.place(line, line.text.len(), 0))
    }
}

/// How sure a reader is that a part is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Could be, if nothing else claims it.
    Maybe,
    /// Has this format's marks.
    Yes,
}

/// Lines that a reader believes to be its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Runs of indices into the lines of the source, ascending, not empty, not overlapping.
    pub runs: Vec<Range<usize>>,
    /// How sure it is.
    pub fit: Fit,
    /// Whether others that are as sure may take lines out of it, as log lines between the rows of a table.
    pub yields: bool,
    /// Whether it is content with what others that came first have left of it.
    pub piecemeal: bool,
}

impl Claim {
    /// The lines `range`, surely.
    pub fn yes(range: Range<usize>) -> Self {
        Self { runs: vec![range], fit: Fit::Yes, yields: false, piecemeal: false }
    }

    /// The lines `range`, if nothing else claims them.
    pub fn maybe(range: Range<usize>) -> Self {
        Self { runs: vec![range], fit: Fit::Maybe, yields: false, piecemeal: false }
    }

    /// The lines at `indices` (ascending), surely; they make one part.
    pub fn lines(indices: impl IntoIterator<Item = usize>) -> Self {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for index in indices {
            match runs.last_mut() {
                Some(run) if run.end == index => run.end += 1,
                Some(_) | None => runs.push(index..index + 1),
            }
        }
        Self { runs, fit: Fit::Yes, yields: false, piecemeal: false }
    }

    /// The same claim, which each line of it makes by itself: lines that an earlier format has do not spoil it.
    #[must_use]
    pub fn piecemeal(self) -> Self {
        Self { piecemeal: true, ..self }
    }

    /// The same claim, out of which others may take lines.
    #[must_use]
    pub fn yielding(self) -> Self {
        Self { yields: true, ..self }
    }
}

/// A value with the place it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it begins.
    pub place: Place,
}

/// Lines from `first` to `last`, both included, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The first line.
    pub first: u32,
    /// The last line.
    pub last: u32,
}

/// What a reader made of a part. Never an error: what could be read is read, the rest is diagnosed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Read {
    /// What was recovered.
    pub evidence: Vec<Located<Evidence>>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// Lines that carry nothing for this reader; the caller reports them.
    pub unused: Vec<LineRange>,
}

/// A reader of one format.
pub trait Format: Sync {
    /// What `--as` calls it: `nvidia-smi-topo`.
    fn name(&self) -> &'static str;
    /// In words, for `--help` and the reference.
    fn title(&self) -> &'static str;
    /// The command whose output this is, for the list of commands worth pasting; `None` if there is none.
    fn command(&self) -> Option<&'static str>;
    /// Whether it is one of the few that a stranger is told of, because they say most of a machine.
    fn is_first_choice(&self) -> bool {
        false
    }
    /// Texts of which at least one stands, as written, in everything of this format: the reader is asked only
    /// about sources that hold one. Empty where there is no such text; then it is always asked.
    fn marks(&self) -> &'static [&'static str];
    /// The lines in `text` that are in this format, in order; each claim becomes a part. Must take time in
    /// proportion to the text.
    fn find(&self, text: &Text<'_>) -> Vec<Claim>;
    /// Reads `part`; must not panic on any text.
    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read;
    /// Reads a file that is no text; `None` if it is not of this format. Must not panic on any bytes.
    fn read_bytes(&self, _file: &str, _bytes: &[u8]) -> Option<Read> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says_nothing(text: &str) -> bool {
        Line { number: 1, text: Cow::Borrowed(text), raw: text, cut: Cut::default() }.says_nothing()
    }

    #[test]
    fn what_launchers_put_before_nothing_is_no_statement() {
        for line in
            ["", " \t", "0: ", "[1,0]<stdout>:", "2023-09-26T09:41:21.5Z", "```", "```text", "^C", "> "]
        {
            assert!(says_nothing(line), "{line:?}");
        }
        for line in ["Links:", "0: x", "## Topology", "``` and more", "7"] {
            assert!(!says_nothing(line), "{line:?}");
        }
    }
}
