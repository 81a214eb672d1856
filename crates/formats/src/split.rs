//! Cuts a source into parts, each with the one reader that takes it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::iter::repeat;
use std::ops::Range;
use std::slice;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::FORMATS;
use crate::format::{Claim, Format, Line, Part, Source, Text};

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
    pieces_for(&ALL, source, lines)
}

fn pieces_for<'a>(searcher: &Searcher, source: &'a Source, lines: &'a [Line<'a>]) -> Vec<Piece<'a>> {
    let text = Text { origin: source.origin, lines };
    let mut claims: Vec<(Claim, &'static dyn Format)> = Vec::new();
    for format in searcher.possible(&source.text) {
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
    let found = pieces_for(&Searcher::new(&[format], None), source, lines);
    if found.iter().any(|piece| piece.format.is_some()) {
        return found;
    }
    vec![Piece { part: Part { file: &source.name, lines: Cow::Borrowed(lines) }, format: Some(format) }]
}

/// The first piece of a text that is searched for marks; each further one is twice as long.
const FIRST_SEARCHED: usize = 1 << 16;

/// Pieces from this length on are searched by the quickest automaton.
const DFA_FROM: usize = 1 << 20;

/// Looks for the marks of some formats in one pass.
struct Searcher {
    formats: Vec<&'static dyn Format>,
    /// Index into `formats` by pattern.
    owners: Vec<usize>,
    /// `None` where there are too many marks for one pass; then everyone is asked.
    patterns: Option<AhoCorasick>,
    /// Length of the longest mark.
    longest: usize,
}

/// For the whole list, which is what nearly every source is looked at for.
/// The kind that is quickest to make: most sources are a few kilobytes, and this is made in every run.
static ALL: LazyLock<Searcher> =
    LazyLock::new(|| Searcher::new(FORMATS, Some(AhoCorasickKind::NoncontiguousNFA)));

impl Searcher {
    fn new(formats: &[&'static dyn Format], kind: Option<AhoCorasickKind>) -> Self {
        let marks =
            || formats.iter().zip(0..).flat_map(|(format, index)| format.marks().iter().zip(repeat(index)));
        Self {
            formats: formats.to_vec(),
            owners: marks().map(|(_, index)| index).collect(),
            patterns: AhoCorasick::builder().kind(kind).build(marks().map(|(mark, _)| mark)).ok(),
            longest: marks().map(|(mark, _)| mark.len()).max().unwrap_or(0),
        }
    }

    /// Those of which a mark stands in `text`, and those that have none. Marks of formats that were seen are
    /// looked for no more behind the first piece: some stand in every line of a log.
    fn possible(&self, text: &str) -> Vec<&'static dyn Format> {
        let mut seen = self.seen(piece(text, 0, FIRST_SEARCHED + self.longest));
        let (mut start, mut length) = (FIRST_SEARCHED, 2 * FIRST_SEARCHED);
        while start < text.len() {
            let open: Vec<usize> = (0..seen.len()).filter(|index| !seen[*index]).collect();
            let formats: Vec<&'static dyn Format> = open.iter().map(|index| self.formats[*index]).collect();
            if formats.is_empty() {
                break;
            }
            // Costs more to make, and is worth it only where much is searched.
            let kind = (length >= DFA_FROM).then_some(AhoCorasickKind::DFA);
            let found = Self::new(&formats, kind).seen(piece(text, start, length + self.longest));
            for (index, found) in open.into_iter().zip(found) {
                seen[index] = found;
            }
            start += length;
            length *= 2;
        }
        self.formats.iter().zip(seen).filter(|(_, seen)| *seen).map(|(format, _)| *format).collect()
    }

    /// Of which a mark stands in `piece`, or which have none.
    fn seen(&self, piece: &[u8]) -> Vec<bool> {
        let Some(patterns) = &self.patterns else { return vec![true; self.formats.len()] };
        let mut seen: Vec<bool> = self.formats.iter().map(|format| format.marks().is_empty()).collect();
        let mut missing = seen.iter().filter(|seen| !**seen).count();
        for found in patterns.find_overlapping_iter(piece) {
            let format = self.owners[found.pattern().as_usize()];
            missing -= usize::from(!seen[format]);
            seen[format] = true;
            if missing == 0 {
                break;
            }
        }
        seen
    }
}

/// Pieces overlap by the longest mark, so that one across a border is in one of them.
fn piece(text: &str, start: usize, length: usize) -> &[u8] {
    &text.as_bytes()[start..(start + length).min(text.len())]
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
