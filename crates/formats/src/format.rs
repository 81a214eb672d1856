//! What a format is. Adding one is one file and one line in [`FORMATS`](crate::FORMATS).

use std::ops::Range;

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Catalogue, Machine};

use crate::matrix::Matrix;

/// How a source came to us; decides what an unreadable one is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A file or standard input.
    Text,
    /// The argument itself: a one-liner or the name of a system.
    Argument,
}

/// Text as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file's name, `-` for standard input, or the one-liner itself.
    pub name: String,
    /// Its text; terminal escapes and carriage returns are still in it.
    pub text: String,
    /// Where it came from.
    pub origin: Origin,
}

impl Source {
    /// The text of a file called `name`, or of standard input (`-`).
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), origin: Origin::Text }
    }

    /// A one-liner or a system's name, as given on the command line.
    pub fn argument(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { name: text.clone(), text, origin: Origin::Argument }
    }
}

/// One line of a source, without terminal escapes, with where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: u32,
    /// The text, escapes and line end removed; tabs kept.
    pub text: String,
    /// Column in the source of each character of `text`, from 1, and of its end.
    pub columns: Vec<u32>,
}

impl Line {
    /// Whether nothing stands on it.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Bytes of blanks before its text.
    pub fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }

    /// The column in the source of the character at byte `offset` of `text`.
    pub fn column(&self, offset: usize) -> u32 {
        let index =
            self.text.get(..offset).map_or(self.text.chars().count(), |before| before.chars().count());
        self.columns.get(index).or(self.columns.last()).copied().unwrap_or(1)
    }
}

/// A whole source, as readers see it when they look for what is theirs.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// Where it came from.
    pub origin: Origin,
    /// All its lines.
    pub lines: &'a [Line],
}

/// A run of lines that one reader may understand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The source's name.
    pub file: &'a str,
    /// The lines, in order.
    pub lines: Vec<Line>,
}

impl Part<'_> {
    /// The place of `length` characters at byte `offset` of `line`.
    pub fn place(&self, line: &Line, offset: usize, length: u32) -> Place {
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
        self.lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect()
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
    /// Indices into the lines of the source.
    pub lines: Range<usize>,
    /// How sure it is.
    pub fit: Fit,
}

/// A fact or a set of facts that a reader recovered.
#[derive(Debug, Clone, PartialEq)]
pub enum Evidence {
    /// `nvidia-smi topo -m`.
    Topology(Matrix),
    /// `nvidia-smi topo -p2p`: who may access whom.
    Peers(crate::nvidia_smi_p2p::PeerMatrix),
    /// A whole machine: one-liner, machine file or catalogue system.
    Machine(Box<Machine>),
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
    /// The runs of lines in `text` that are in this format, in order; each becomes a part.
    fn find(&self, text: &Text<'_>) -> Vec<Claim>;
    /// Reads `part`; must not panic on any text.
    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read;
}
