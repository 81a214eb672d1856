//! The header: labels of devices, then titles, with whatever noise a paste puts before them.

use crate::grid::{Column, DEVICES_MAX, Grid, Spot};
use crate::words::{Title, TitleKind, Token, cells, labels, take_titles, tokens};

/// A header line, or the second line of one that a terminal wrapped.
#[derive(Debug, Clone, Default)]
pub(super) struct Header<'a> {
    pub columns: Vec<Column<'a>>,
    pub titles: Vec<Title>,
    pub glued: Option<(usize, u32)>,
    /// Nothing but blanks, bars and marks stands before the first label or title.
    pub bare: bool,
    /// Every column is a device or a title of the driver.
    pub sure: bool,
    /// Titles stand before the devices, as in tables that someone rearranged.
    pub titles_first: bool,
}

/// Reads `text` as a header; `None` if it cannot be one. At least one GPU must be in it, unless it is
/// the `continued` part of a wrapped one.
pub(super) fn parse(text: &str, continued: bool) -> Option<Header<'_>> {
    // Prose rarely holds a label, so most lines end here.
    if !continued && !text.contains("GPU") {
        return None;
    }
    let (rest, mut titles) = take_titles(text);
    let all = tokens(text);
    if all.len() > DEVICES_MAX {
        return None;
    }
    let free: Vec<&Token<'_>> = all.iter().filter(|token| is_free(token, &rest)).collect();
    let begins = free.iter().position(|token| labels(token.text).is_some());
    let first_label = begins.map_or(text.len(), |index| free[index].offset);
    let first_title = titles.first().map_or(text.len(), |(offset, _)| *offset);
    let first = first_label.min(first_title);
    let mut header = Header {
        bare: is_bare(&text[..first], continued),
        sure: true,
        titles_first: first_title < first_label,
        ..Header::default()
    };
    for token in free.into_iter().filter(|token| token.offset + token.text.len() > first) {
        read_token(token, &rest, &mut header, &mut titles)?;
    }
    titles.sort_by_key(|(offset, _)| *offset);
    header.titles = titles.into_iter().map(|(_, title)| title).collect();
    let gpus = header.columns.iter().any(|column| column.label.starts_with("GPU"));
    let anything = !header.columns.is_empty() || !header.titles.is_empty();
    let few_others = header.titles.iter().filter(|title| title.kind == TitleKind::Other).count()
        <= header.columns.len().min(3);
    (few_others && if continued { anything && header.bare } else { gpus }).then_some(header)
}

/// Whether some of the token is left when the titles are taken out.
fn is_free(token: &Token<'_>, rest: &str) -> bool {
    !rest[token.offset..token.offset + token.text.len()].trim().is_empty()
}

fn is_bare(before: &str, continued: bool) -> bool {
    before.chars().all(|c| !c.is_alphanumeric()) || (!continued && before.trim().is_empty())
}

fn read_token<'a>(
    token: &Token<'a>,
    rest: &str,
    header: &mut Header<'a>,
    titles: &mut Vec<(usize, Title)>,
) -> Option<()> {
    // A title may be glued to the last label; only what is left of the token counts.
    let left = rest[token.offset..token.offset + token.text.len()].trim();
    let at = token.text.find(left)?;
    let text = &token.text[at..at + left.len()];
    if let Some(found) = labels(text) {
        if header.columns.len() + found.len() > DEVICES_MAX {
            return None;
        }
        if found.len() > 1 {
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            header.glued.get_or_insert((token.offset + at, length));
        }
        header.columns.extend(found.into_iter().map(|(offset, label, kind)| Column {
            label,
            kind,
            visual: token.visual + at + offset,
            field: token.field,
        }));
        return Some(());
    }
    let wordy = text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '(' | ')'))
        && text.len() <= 16;
    // A class in it makes it a row.
    if !wordy || cells(text).is_some() {
        return None;
    }
    let kind = if text == "NUMA" { TitleKind::Numa } else { TitleKind::Other };
    header.sure &= kind != TitleKind::Other;
    titles.push((token.offset + at, Title { kind, name: text.to_owned() }));
    Some(())
}

impl<'a> Grid<'a> {
    /// A grid that begins with `header` at `line`.
    pub(super) fn begin(header: Header<'a>, line: usize) -> Self {
        let mut grid = Self { header: Some(line), lines: vec![line], ..Self::default() };
        grid.extend(header, line);
        grid
    }

    /// Adds the wrapped part of a header.
    pub(super) fn extend(&mut self, header: Header<'a>, line: usize) {
        if let Some((offset, length)) = header.glued {
            self.glued.get_or_insert(Spot { line, offset, length });
        }
        for column in header.columns {
            if self.column(column.label).is_none() {
                self.columns.push(column);
            }
        }
        self.titles_first |= header.titles_first && self.titles.is_empty();
        self.titles.extend(header.titles);
    }
}
