//! Cuts a source into parts, each with the one reader that takes it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::slice;

use crate::FORMATS;
use crate::format::{Claim, Format, Line, Part, Source, Text};
use crate::marks;
use crate::wrapping;

/// A part of a source and the reader that claims it.
pub struct Piece<'a> {
    /// The lines.
    pub part: Part<'a>,
    /// Its reader; `None` for what no format claims.
    pub format: Option<&'static dyn Format>,
}

/// Cuts `source`, whose lines are `lines`, into parts. Every line is in exactly one of them; the
/// parts are in the order of their first lines.
pub(crate) fn pieces<'a>(source: &'a Source, lines: &'a [Line<'a>]) -> Vec<Piece<'a>> {
    pieces_for(FORMATS, source, lines)
}

fn pieces_for<'a>(
    formats: &[&'static dyn Format],
    source: &'a Source,
    lines: &'a [Line<'a>],
) -> Vec<Piece<'a>> {
    let text = Text { origin: source.origin, lines };
    let mut claims: Vec<(Claim, &'static dyn Format)> = Vec::new();
    let escaped = lines.iter().any(wrapping::is_escaped);
    let unescaped = || lines.iter().flat_map(|line| [&line.text, "\n"]).collect::<String>();
    let marked = if escaped { Cow::Owned(unescaped()) } else { Cow::Borrowed(source.text.as_str()) };
    for format in possible(formats, &marked) {
        claims.extend(format.find(&text).into_iter().map(|claim| (claim, format)));
    }
    let free = settle(claims, lines.len());
    let piece = |runs: &[Range<usize>], format| Piece {
        part: Part { file: &source.name, lines: selected(lines, runs) },
        format,
    };
    let mut pieces: Vec<(usize, Piece<'a>)> = Vec::new();
    for (runs, format) in free.taken {
        pieces.extend(runs.first().map(|first| (first.start, piece(&runs, Some(format)))));
    }
    for run in free.left {
        pieces.push((run.start, piece(&[run], None)));
    }
    pieces.sort_by_key(|(start, _)| *start);
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

/// What the format itself finds, or all lines if it finds nothing: the user knows better.
pub(crate) fn forced<'a>(
    source: &'a Source,
    lines: &'a [Line<'a>],
    format: &'static dyn Format,
) -> Vec<Piece<'a>> {
    let found = pieces_for(&[format], source, lines);
    if found.iter().any(|piece| piece.format.is_some()) {
        return found;
    }
    vec![Piece { part: Part { file: &source.name, lines: Cow::Borrowed(lines) }, format: Some(format) }]
}

/// The formats of `formats` of which a mark stands in `text`, and those that have none.
fn possible(formats: &[&'static dyn Format], text: &str) -> Vec<&'static dyn Format> {
    let marks: Vec<&[&str]> = formats.iter().map(|format| format.marks()).collect();
    let seen = marks::seen(text.as_bytes(), &marks);
    formats.iter().zip(seen).filter(|(_, seen)| *seen).map(|(format, _)| *format).collect()
}

/// Which lines each claim got, and which nobody.
struct Settled {
    taken: Vec<(Vec<Range<usize>>, &'static dyn Format)>,
    left: Vec<Range<usize>>,
}

/// The surest claims first; among equals those that do not yield, then the order of `FORMATS`. A claim that
/// yields or is made piecemeal keeps what is still free, any other must be wholly free.
fn settle(mut claims: Vec<(Claim, &'static dyn Format)>, count: usize) -> Settled {
    // The sort is stable, so that the order of the list decides between equals.
    claims.sort_by_key(|(claim, _)| (Reverse(claim.fit), claim.yields));
    let mut owned = vec![false; count];
    let mut taken = Vec::new();
    for (claim, format) in claims {
        if claim.runs.iter().any(|run| run.is_empty() || run.end > count) {
            continue;
        }
        let runs = if claim.yields || claim.piecemeal { free_runs(&claim.runs, &owned) } else { claim.runs };
        let is_free = runs.iter().all(|run| owned[run.clone()].iter().all(|owned| !owned));
        if is_free && !runs.is_empty() {
            for run in &runs {
                owned[run.clone()].fill(true);
            }
            taken.push((runs, format));
        }
    }
    Settled { taken, left: free_runs(slice::from_ref(&(0..count)), &owned) }
}

fn free_runs(runs: &[Range<usize>], owned: &[bool]) -> Vec<Range<usize>> {
    let mut free: Vec<Range<usize>> = Vec::new();
    for run in runs {
        let mut open = false;
        for index in run.clone() {
            match free.last_mut() {
                Some(last) if open && !owned[index] => last.end = index + 1,
                Some(_) | None if !owned[index] => free.push(index..index + 1),
                Some(_) | None => {}
            }
            open = !owned[index];
        }
    }
    free
}

/// Borrowed where the lines follow each other.
fn selected<'a>(lines: &'a [Line<'a>], runs: &[Range<usize>]) -> Cow<'a, [Line<'a>]> {
    match runs {
        [run] => Cow::Borrowed(&lines[run.clone()]),
        _ => Cow::Owned(runs.iter().flat_map(|run| lines[run.clone()].iter().cloned()).collect()),
    }
}

/// The format of that name.
pub fn format(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}
