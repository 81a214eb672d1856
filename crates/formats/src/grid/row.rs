//! A row: a label, its cells, then what stands in the columns behind the devices.

use weft_base::{Diagnostic, Place};

use crate::codes;
use crate::format::Line;
use crate::grid::{DEVICES_MAX, Found, Grid, Row, Spot};
use crate::matrix::{Affinity, EndKind};
use crate::ranges::listed;
use crate::words::{
    Title, TitleKind, Token, Word, cells, is_affinity, label, leading_cells, leading_label, tokens,
};

/// Cells, affinities and noise of one line.
const TOKENS_MAX: usize = 2 * DEVICES_MAX;

/// Reads `text` as a row of `grid`, or as one without a grid.
pub(super) fn parse<'a>(text: &'a str, line: usize, grid: Option<&Grid<'a>>) -> Option<Row<'a>> {
    let all = tokens(text);
    if all.len() < 2 && !all.first().is_some_and(|token| token.text.ends_with('X')) || all.len() > TOKENS_MAX
    {
        return None;
    }
    let (index, found) = find_label(&all, grid)?;
    let mut rest: Vec<Token<'a>> = Vec::with_capacity(all.len());
    rest.extend(found.glued);
    rest.extend(&all[index + 1..]);
    let mut row = read_cells(&rest, line, grid.map_or(0, |grid| grid.columns.len()));
    if grid.is_some_and(|grid| grid.titles_first) {
        // What stands before the label is no noise then.
        let before = all[..index].iter().filter(|token| is_affinity(token.text));
        row.tail.splice(0..0, before.copied());
    }
    row.label = found.name;
    row.kind = found.kind;
    row.spot = Spot { line, offset: found.offset, length: length(found.name) };
    row.end = Spot { line, offset: text.trim_end().len(), length: 0 };
    is_row(&row).then_some(row)
}

/// Reads `text` as the rest of a row that a terminal wrapped: cells and affinities, no label.
pub(super) fn parse_rest(text: &str, line: usize) -> Option<Row<'_>> {
    let all = tokens(text);
    let fits = |token: &Token<'_>| cells(token.text).is_some() || is_affinity(token.text);
    if all.is_empty() || all.len() > TOKENS_MAX || !all.iter().all(fits) {
        return None;
    }
    let mut row = read_cells(&all, line, all.len());
    row.end = Spot { line, offset: text.trim_end().len(), length: 0 };
    Some(row)
}

impl<'a> Row<'a> {
    /// Adds the wrapped rest of this row.
    pub(super) fn extend(&mut self, rest: Row<'a>) {
        self.found.extend(rest.found);
        self.fused.extend(rest.fused);
        self.tail.extend(rest.tail);
        self.end = rest.end;
    }

    /// How many cells were found, read or not.
    pub(super) fn width(&self) -> usize {
        self.found.len()
    }

    /// Whether `X` is among the cells.
    pub(super) fn has_own(&self) -> bool {
        self.found.iter().any(|found| found.word == Some(Word::Own))
    }

    /// The position of the only `X`.
    pub(super) fn own_position(&self) -> Option<usize> {
        let mut own = self.found.iter().enumerate().filter(|(_, found)| found.word == Some(Word::Own));
        let (position, _) = own.next()?;
        own.next().is_none().then_some(position)
    }

    /// Whether a class is among the cells.
    pub(super) fn has_class(&self) -> bool {
        self.found.iter().any(|found| matches!(found.word, Some(Word::Class(_))))
    }
}

struct Label<'a> {
    name: &'a str,
    kind: EndKind,
    offset: usize,
    /// Cells that stand in the same token.
    glued: Option<Token<'a>>,
}

/// The label of the row: one that the header knows, wherever it stands; else anything shaped like one.
fn find_label<'a>(all: &[Token<'a>], grid: Option<&Grid<'a>>) -> Option<(usize, Label<'a>)> {
    let known = |token: &Token<'a>| {
        let grid = grid?;
        // Noise is short: a label far into the line is part of something else.
        let column = grid.columns.iter().find(|column| column.label == bare_label(token.text))?;
        Some(plain(token, column.label, column.kind))
    };
    let noise_max = 8;
    let early = || all.iter().take(noise_max).enumerate();
    early()
        .find_map(|(index, token)| Some((index, known(token)?)))
        .or_else(|| early().find_map(|(index, token)| Some((index, shaped(token)?))))
        .or_else(|| {
            early().find_map(|(index, token)| {
                let followed = all.get(index + 1).is_some_and(|next| cells(next.text).is_some());
                let kind = label(bare_label(token.text)).filter(|_| followed)?;
                Some((index, plain(token, bare_label(token.text), kind)))
            })
        })
}

/// The label without the noise that a prefix glued to it: `[0]GPU0`, `pod-x:GPU0`, `GPU0:`.
fn bare_label(text: &str) -> &str {
    let text = text.strip_suffix(':').unwrap_or(text);
    text.rfind([']', '>', ':', ')']).map_or(text, |at| &text[at + 1..])
}

fn plain<'a>(token: &Token<'a>, name: &'a str, kind: EndKind) -> Label<'a> {
    let offset = token.offset + token.text.find(name).unwrap_or(0);
    Label { name, kind, offset, glued: None }
}

/// `GPU0`, `NIC3`, `mlx5_0`, alone or with cells glued to it: `GPU0X`.
fn shaped<'a>(token: &Token<'a>) -> Option<Label<'a>> {
    let text = bare_label(token.text);
    let (length, kind) = leading_label(text)?;
    let mut found = plain(token, &text[..length], kind);
    if length < text.len() {
        cells(&text[length..])?;
        let skipped = found.offset - token.offset + length;
        found.glued = Some(Token {
            text: &text[length..],
            offset: token.offset + skipped,
            visual: token.visual + skipped,
            field: token.field,
        });
    }
    Some(found)
}

/// Tells cells from affinities among the tokens behind a label.
fn read_cells<'a>(rest: &[Token<'a>], line: usize, columns: usize) -> Row<'a> {
    let mut row = Row {
        label: "",
        kind: EndKind::Gpu,
        spot: Spot { line, offset: 0, length: 0 },
        cells: Vec::new(),
        extra: Vec::new(),
        fused: Vec::new(),
        affinity: Affinity::default(),
        end: Spot { line, offset: 0, length: 0 },
        found: Vec::new(),
        tail: Vec::new(),
    };
    let parsed: Vec<(Vec<(usize, Word)>, usize)> =
        rest.iter().map(|token| leading_cells(token.text)).collect();
    let first = parsed.iter().position(|(words, _)| !words.is_empty()).unwrap_or(rest.len());
    let last = parsed.iter().rposition(|(words, _)| !words.is_empty()).unwrap_or(0);
    for (index, (token, (words, read))) in rest.iter().zip(&parsed).enumerate() {
        for (offset, word) in words {
            row.found.push(found(token, line, *offset, Some(*word)));
        }
        if words.len() > 1 {
            row.fused.push(found(token, line, 0, None));
        }
        if !words.is_empty() {
            row.tail.extend(remainder(token, *read));
        } else if (first..last).contains(&index) || !is_affinity(token.text) && row.found.len() < columns {
            // Between cells everything is a cell; behind them, what no affinity column may hold.
            row.found.push(found(token, line, 0, None));
        } else {
            row.tail.push(*token);
        }
    }
    row
}

fn found<'a>(token: &Token<'a>, line: usize, offset: usize, word: Option<Word>) -> Found<'a> {
    let spot = Spot { line, offset: token.offset + offset, length: token.length() };
    Found { text: token.text, word, spot, visual: token.visual + offset, field: token.field }
}

fn remainder<'a>(token: &Token<'a>, read: usize) -> Option<Token<'a>> {
    let text = token.text.get(read..).filter(|rest| !rest.is_empty())?;
    Some(Token { text, offset: token.offset + read, visual: token.visual + read, field: token.field })
}

/// Prose that names a GPU is no row: most of its words are no cells, or they are in small letters.
fn is_row(row: &Row<'_>) -> bool {
    let read = row.found.iter().filter(|found| found.word.is_some()).count();
    let unread = row.found.len() - read;
    let small =
        row.found.iter().any(|found| found.word.is_none() && found.text.chars().any(char::is_lowercase));
    read > 0 && unread <= read && (!small || read >= 2 * unread + 2)
}

fn length(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

/// Gives the tokens behind the cells to the columns that the header names.
pub(super) fn affinity(tail: &[Token<'_>], titles: &[Title]) -> Affinity {
    let mut values: Vec<String> = Vec::new();
    for token in tail {
        match values.last_mut() {
            // A list of CPUs that a blank or a wrap cut behind a comma.
            Some(last) if last.ends_with(',') => last.push_str(token.text),
            Some(_) | None => values.push(token.text.to_owned()),
        }
    }
    let mut affinity = Affinity::default();
    let own_memory_last = titles.last().is_some_and(|title| title.kind == TitleKind::GpuNuma);
    if own_memory_last && values.len() < titles.len() && values.last().is_some_and(|last| last == "N/A") {
        // Boards without NUMA leave the column before it empty.
        affinity.gpu_numa = values.pop();
    }
    for (title, value) in titles.iter().zip(values) {
        match title.kind {
            TitleKind::Cpus => affinity.cpus = Some(value),
            TitleKind::Numa => affinity.numa = Some(value),
            TitleKind::GpuNuma => affinity.gpu_numa = Some(value),
            TitleKind::Other => {}
        }
    }
    affinity
}

/// Reports what is wrong with the shape of the rows.
pub(super) fn diagnose(grid: &Grid<'_>, file: &str, lines: &[Line<'_>]) -> Vec<Diagnostic> {
    let place = |spot: Spot| spot.place(file, lines);
    let mut found = Vec::new();
    if let Some(spot) = grid.glued {
        let message = "labels of the header stand without blanks between them; they were taken apart";
        found.push(Diagnostic::note(codes::HEADER_GLUED, message).at(place(spot)));
    }
    if grid.header.is_none() {
        let spot = grid.rows.first().map_or(Spot { line: 0, offset: 0, length: 0 }, |row| row.spot);
        let message = "the header line is missing; the columns were taken to be in the order of the rows";
        let hint = "paste the output from its first line on";
        found.push(Diagnostic::warning(codes::HEADER_MISSING, message).hint(hint).at(place(spot)));
    }
    for row in &grid.rows {
        found.extend(row.fused.iter().map(|cell| fused(cell, place(cell.spot))));
        found.extend(missing(row, grid, &place));
        if let Some(extra) = row.extra.first() {
            found.push(surplus(row, grid, place(extra.spot)));
        }
    }
    found.extend(grid.repeated.iter().map(|spot| {
        let message = "this row was there before; the first one counts";
        Diagnostic::warning(codes::ROW_REPEATED, message).at(place(*spot))
    }));
    found.extend(missing_rows(grid, &place));
    found.extend(missing_columns(grid, &place));
    found
}

fn fused(cell: &Found<'_>, place: Place) -> Diagnostic {
    let message = format!("`{}` holds several cells; they were taken apart", cell.text);
    Diagnostic::warning(codes::CELLS_FUSED, message).at(place)
}

/// One finding per gap, and one for all cells behind the point where a row was cut.
fn missing(row: &Row<'_>, grid: &Grid<'_>, place: &impl Fn(Spot) -> Place) -> Vec<Diagnostic> {
    let present = row.cells.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let mut found = Vec::new();
    let mut before = Spot { offset: row.spot.offset + row.label.len(), length: 0, ..row.spot };
    for (index, cell) in row.cells[..present].iter().enumerate() {
        if let Some(cell) = cell {
            before = Spot { offset: cell.spot.offset + cell.text.len(), length: 0, ..cell.spot };
        } else {
            let column = grid.columns[index].label;
            let message = format!("the cell of row {} and column {column} is missing", row.label);
            found.push(Diagnostic::warning(codes::CELL_MISSING, message).at(place(before)));
        }
    }
    let cut = &grid.columns[present.min(grid.columns.len())..];
    if let (Some(first), Some(last)) = (cut.first(), cut.last()) {
        let labels = if cut.len() == 1 { vec![first.label] } else { vec![first.label, last.label] };
        let range = labels.join(" to ");
        let message = format!("row {} ends before column {range}", row.label);
        found.push(Diagnostic::warning(codes::ROW_CUT, message).at(place(row.end)));
    }
    found
}

fn surplus(row: &Row<'_>, grid: &Grid<'_>, place: Place) -> Diagnostic {
    let (cells, columns) = (row.found.len(), grid.columns.len());
    let message = format!("row {} has {cells} cells, but the header has {columns} columns", row.label);
    Diagnostic::warning(codes::CELLS_SURPLUS, message)
        .hint("paste the whole header line; it may have been cut or wrapped")
        .at(place)
}

fn missing_rows(grid: &Grid<'_>, place: &impl Fn(Spot) -> Place) -> Vec<Diagnostic> {
    let absent = |kind: EndKind| -> Vec<&str> {
        let columns = grid.columns.iter().filter(|column| column.kind == kind);
        columns
            .map(|column| column.label)
            .filter(|label| grid.rows.iter().all(|row| row.label != *label))
            .collect()
    };
    let Some(line) = grid.header.or(grid.lines.first().copied()) else { return Vec::new() };
    let spot = Spot { line, offset: 0, length: 0 };
    let mut found = Vec::new();
    let (gpus, nics) = (absent(EndKind::Gpu), absent(EndKind::Nic));
    if !gpus.is_empty() {
        let message = format!("the header names {} that have no row: the paste is cut", listed(&gpus));
        let hint = "what is missing stays unknown; paste the whole output";
        found.push(Diagnostic::warning(codes::ROWS_MISSING, message).hint(hint).at(place(spot)));
    }
    if !nics.is_empty() {
        let message =
            format!("there are no rows for {}: how NICs lie to each other is unknown", listed(&nics));
        found.push(Diagnostic::note(codes::NIC_ROWS_MISSING, message).at(place(spot)));
    }
    found
}

fn missing_columns(grid: &Grid<'_>, place: &impl Fn(Spot) -> Place) -> Option<Diagnostic> {
    let line = grid.header?;
    let labels = grid.rows.iter().map(|row| row.label);
    let absent: Vec<&str> = labels.filter(|label| grid.column(label).is_none()).collect();
    if absent.is_empty() {
        return None;
    }
    let message = format!("the header has no column for {}, though there are rows", listed(&absent));
    let hint = "lines were cut at the right, or a column was left out; paste the whole output";
    let spot = Spot { line, offset: 0, length: 0 };
    Some(Diagnostic::warning(codes::COLUMNS_MISSING, message).hint(hint).at(place(spot)))
}
