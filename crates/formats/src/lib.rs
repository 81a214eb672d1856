//! What other tools print, read: one file per format. A paste is split into parts, each part is read by
//! one reader, and the parts are joined into a case. Nothing is dropped silently: a line that no reader
//! used is named in a diagnostic.

mod codes;
mod format;
mod grid;
mod infer;
mod join;
mod machine_file;
mod matrix;
mod nvidia_smi_p2p;
mod nvidia_smi_topo;
mod one_liner;
mod ranges;
mod refuse;
mod text;
mod words;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weft_base::{Diagnostic, Severity, nearest};
use weft_catalogue::Catalogue;

pub use codes::CODES;
pub use format::{Claim, Evidence, Fit, Format, Line, LineRange, Located, Origin, Part, Read, Source, Text};
pub use infer::{Inferred, infer};
pub use join::{Case, Overrides, join};
pub use machine_file::{MachineFile, SCHEMA};
pub use matrix::{Affinity, Cell, End, EndKind, Matrix};
pub use nvidia_smi_p2p::{Access, NvidiaSmiP2p, PeerCell, PeerMatrix, PeerMode};
pub use nvidia_smi_topo::NvidiaSmiTopo;
pub use one_liner::OneLiner;
pub use text::lines;

/// All formats. Help, reference, tests and fuzz targets iterate over this list; where two readers are
/// equally sure of the same lines, the earlier one gets them.
pub const FORMATS: &[&dyn Format] = &[&NvidiaSmiTopo, &NvidiaSmiP2p, &MachineFile, &OneLiner];

/// A part of a source and the reader that claims it.
pub struct Piece<'a> {
    /// The lines.
    pub part: Part<'a>,
    /// Its reader; `None` for what no format claims.
    pub format: Option<&'static dyn Format>,
}

/// All that could be read of a source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// What was recovered, in order of the text.
    pub evidence: Vec<Located<Evidence>>,
    /// What is wrong, and which lines were not used.
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// Whether nothing could be recovered: exit code 3.
    pub fn failed(&self) -> bool {
        self.evidence.is_empty() || self.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// The format of that name.
pub fn format(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// Cuts `source` into parts. Every line is in exactly one of them.
pub fn split(source: &Source) -> Vec<Piece<'_>> {
    pieces(source, &text::lines(source), FORMATS)
}

/// Reads all of `source`: by the format called `forced`, else each part by the format that fits it best.
pub fn read(source: &Source, catalogue: &Catalogue, forced: Option<&str>) -> Reading {
    if let Some(finding) = refuse::unreadable(source) {
        return Reading { evidence: Vec::new(), diagnostics: vec![finding] };
    }
    let lines = text::lines(source);
    let pieces = match forced.map(|name| format(name).ok_or(name)) {
        None => pieces(source, &lines, FORMATS),
        Some(Ok(format)) => forced_pieces(source, &lines, format),
        Some(Err(name)) => return Reading { evidence: Vec::new(), diagnostics: vec![unknown_format(name)] },
    };
    let mut reading = Reading::default();
    let mut left = Vec::new();
    for piece in &pieces {
        match piece.format {
            Some(format) => {
                let read = format.read(&piece.part, catalogue);
                reading.evidence.extend(read.evidence);
                reading.diagnostics.extend(read.diagnostics);
                left.extend(read.unused);
            }
            None => left.extend(ranges::unused(&piece.part.lines, &[])),
        }
    }
    if reading.evidence.is_empty() {
        // One reason is enough; a list of all lines would bury it.
        if reading.diagnostics.iter().all(|finding| finding.severity != Severity::Error) {
            reading.diagnostics.push(refuse::no_device(&source.name, &lines));
        }
        return reading;
    }
    let unused = ranges::joined(left, &lines);
    reading.diagnostics.extend(unused.into_iter().map(|range| unused_finding(range, &source.name, &lines)));
    reading
}

fn pieces<'a>(source: &'a Source, lines: &[Line], formats: &'static [&'static dyn Format]) -> Vec<Piece<'a>> {
    let text = Text { origin: source.origin, lines };
    let mut claims: Vec<(Claim, &'static dyn Format)> = Vec::new();
    for format in formats {
        claims.extend(format.find(&text).into_iter().map(|claim| (claim, *format)));
    }
    // The surest first; the order of the list decides between equals, since the sort is stable.
    claims.sort_by_key(|(claim, _)| Reverse(claim.fit));
    // By first line. Those chosen do not overlap, so that only the last one that begins before a claim's
    // end can reach into it.
    let mut chosen: BTreeMap<usize, (Claim, &'static dyn Format)> = BTreeMap::new();
    for (claim, format) in claims {
        let before = chosen.range(..claim.lines.end).next_back();
        let free = before.is_none_or(|(_, (other, _))| other.lines.end <= claim.lines.start);
        if !claim.lines.is_empty() && claim.lines.end <= lines.len() && free {
            chosen.insert(claim.lines.start, (claim, format));
        }
    }
    let piece = |range: std::ops::Range<usize>, format| Piece {
        part: Part { file: &source.name, lines: lines[range].to_vec() },
        format,
    };
    let mut pieces = Vec::new();
    let mut next = 0;
    for (claim, format) in chosen.into_values() {
        if next < claim.lines.start {
            pieces.push(piece(next..claim.lines.start, None));
        }
        next = claim.lines.end;
        pieces.push(piece(claim.lines, Some(format)));
    }
    if next < lines.len() {
        pieces.push(piece(next..lines.len(), None));
    }
    pieces
}

/// What the format itself finds, or all lines if it finds nothing: the user knows better.
fn forced_pieces<'a>(source: &'a Source, lines: &[Line], format: &'static dyn Format) -> Vec<Piece<'a>> {
    let index = FORMATS.iter().position(|known| known.name() == format.name()).unwrap_or(0);
    let found = pieces(source, lines, &FORMATS[index..=index]);
    if found.iter().any(|piece| piece.format.is_some()) {
        return found;
    }
    vec![Piece { part: Part { file: &source.name, lines: lines.to_vec() }, format: Some(format) }]
}

fn unknown_format(name: &str) -> Diagnostic {
    let known = || FORMATS.iter().map(|format| format.name());
    let near = nearest(name, known(), 1);
    let hint = match near.first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the formats are {}", known().collect::<Vec<_>>().join(", ")),
    };
    Diagnostic::error(codes::UNKNOWN_FORMAT, format!("there is no format `{name}`")).hint(hint)
}

fn unused_finding(range: LineRange, file: &str, lines: &[Line]) -> Diagnostic {
    // Line n is the one at index n - 1.
    let first = lines.get(range.first.saturating_sub(1) as usize);
    let text = first.map_or("", |line| line.text.trim());
    let message = if range.first == range.last {
        format!("line {} was not used: `{}`", range.first, ranges::short(text))
    } else {
        format!(
            "lines {} to {} were not used; they begin with `{}`",
            range.first,
            range.last,
            ranges::short(text)
        )
    };
    let place = first.map(|line| {
        let length = u32::try_from(text.chars().count()).unwrap_or(0);
        weft_base::Place::new(file, line.number, line.column(line.indent()), length)
    });
    let finding = Diagnostic::note(codes::LINES_UNUSED, message);
    match place {
        Some(place) => finding.at(place),
        None => finding,
    }
}
