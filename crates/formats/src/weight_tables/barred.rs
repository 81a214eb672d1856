//! Tables with a bar or a comma between cells, and further columns behind the GPUs.

use weft_base::Diagnostic;

use super::assemble::Square;
use crate::codes;
use crate::format::{Line, Part};
use crate::ranges::short;

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Barred<'a> {
    /// Titles of the columns: `GPU 00`, `PCIe Bus ID`.
    pub titles: Vec<&'a str>,
    /// Each row: its line, its label, its cells by column.
    pub rows: Vec<(usize, &'a str, Vec<&'a str>)>,
    /// The line above the header, if it has as many cells: architectures.
    pub above: Option<Vec<&'a str>>,
    /// All its lines, ascending.
    pub lines: Vec<usize>,
}

/// The tables whose header has a column called `title`.
pub(crate) fn barred<'a>(lines: &'a [Line<'a>], title: &str) -> Vec<Barred<'a>> {
    let mut found: Vec<Barred<'a>> = Vec::new();
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        index += 1;
        if !line.text.contains(title) || !line.text.contains("GPU ") {
            continue;
        }
        let Some(table) = table(lines, index - 1, title) else { continue };
        index = table.lines.last().map_or(index, |last| last + 1);
        found.push(table);
    }
    found
}

fn table<'a>(lines: &'a [Line<'a>], header: usize, title: &str) -> Option<Barred<'a>> {
    let text = lines[header].text.as_ref();
    let separator = if text.contains('|') { '|' } else { ',' };
    let mut titles = fields(text, separator);
    // The column of the labels has no title, or none that says anything.
    if titles.first().is_some_and(|first| first.is_empty() || *first == "GPU") {
        titles.remove(0);
    }
    let gpus = titles.iter().take_while(|title| number(title).is_some()).count();
    if gpus == 0 || gpus > 256 || !titles[gpus..].contains(&title) {
        return None;
    }
    let mut table = Barred { titles, rows: Vec::new(), above: None, lines: vec![header] };
    if let Some(line) = header.checked_sub(1).and_then(|above| lines.get(above)) {
        let cells: Vec<&str> =
            fields(&line.text, separator).into_iter().filter(|cell| !cell.is_empty()).collect();
        if cells.len() == gpus && cells.iter().all(|cell| cell.starts_with("gfx")) {
            table.above = Some(cells);
            table.lines.insert(0, header - 1);
        }
    }
    for (index, line) in lines.iter().enumerate().skip(header + 1) {
        let text = line.text.as_ref();
        let cells = fields(text, separator);
        let rule = text.contains("--") && text.chars().all(|c| matches!(c, '-' | '+' | '|' | ' '));
        match cells.split_first() {
            Some((label, cells)) if number(label).is_some() => {
                let keeps = table.titles.len().min(cells.len());
                table.rows.push((index, label, cells[..keeps].to_vec()));
            }
            Some(_) | None if !rule => break,
            Some(_) | None => {}
        }
        table.lines.push(index);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn fields(text: &str, separator: char) -> Vec<&str> {
    text.split(separator).map(str::trim).collect()
}

/// `GPU 00`, `GPU 0/1`: how evidence calls it, `GPU0` or `GPU0/1`.
fn number(label: &str) -> Option<String> {
    let rest = label.strip_prefix("GPU ")?;
    let (card, tile) = rest.split_once('/').map_or((rest, None), |(card, tile)| (card, Some(tile)));
    let card: u32 = card.parse().ok()?;
    match tile {
        Some(tile) => Some(format!("GPU{card}/{}", tile.parse::<u32>().ok()?)),
        None => Some(format!("GPU{card}")),
    }
}

impl Barred<'_> {
    /// How many columns are GPUs.
    pub fn gpus(&self) -> usize {
        self.titles.iter().take_while(|title| number(title).is_some()).count()
    }

    /// An empty matrix of its GPUs.
    pub fn square(&self) -> Square {
        Square::new(self.titles.iter().filter_map(|title| number(title)).collect())
    }

    /// The cells between GPUs: row, column, text. Cells that `is_word` does not know are reported.
    pub fn cells(
        &self,
        part: &Part<'_>,
        is_word: impl Fn(&str) -> bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<(usize, usize, &str)> {
        let mut found = Vec::new();
        let gpus = self.gpus();
        for (line, label, cells) in &self.rows {
            let row = self.titles.iter().position(|title| number(title) == number(label));
            for (column, text) in cells.iter().take(gpus).enumerate() {
                let Some(row) = row.filter(|row| *row != column) else { continue };
                if is_word(text) {
                    found.push((row, column, *text));
                } else if *text != "N/A" {
                    let message = format!("cannot read the cell `{}` of {label}", short(text));
                    let finding =
                        Diagnostic::warning(codes::CELL_UNKNOWN, message).hint("it counts as unknown");
                    diagnostics.push(finding.at(part.start_at(*line)));
                }
            }
            if cells.len() < gpus {
                let message =
                    format!("the row of {label} ends before the cells of {} GPUs", gpus - cells.len());
                let hint = "the line was cut; paste the whole output";
                diagnostics
                    .push(Diagnostic::warning(codes::ROW_CUT, message).hint(hint).at(part.start_at(*line)));
            }
        }
        found
    }

    /// For each GPU the cell of a column behind the GPUs.
    pub fn column(&self, title: &str) -> Vec<Option<&str>> {
        let column = self.titles.iter().position(|known| *known == title);
        let of = |title: &&str| {
            let (_, _, cells) = self.rows.iter().find(|(_, label, _)| number(label) == number(title))?;
            cells.get(column?).copied().filter(|cell| !cell.is_empty())
        };
        self.titles.iter().take(self.gpus()).map(of).collect()
    }
}
