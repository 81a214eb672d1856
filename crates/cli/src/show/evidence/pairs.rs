//! Figures between pairs of devices: the least, the middle and the most, who has them, and groups that are plain.

use weft_base::Place;
use weft_formats::{Measure, PairCell, PairTable};

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Figures are of two kinds where none lies between and they are this far apart.
const APART_FACTOR: f64 = 1.12;

/// Kinds of figures that are told apart; more are no groups but noise.
const KINDS_MAX: usize = 4;

/// Devices of a table whose groups are looked for.
const GROUPED_MAX: usize = 64;

/// Pairs that are named of a kind.
const PAIRS_MAX: usize = 6;

/// One table; `None` where it has nothing to show.
pub fn section(table: &PairTable, _place: &Place) -> Option<String> {
    let mut cells: Vec<&PairCell> = table.between().collect();
    if cells.is_empty() {
        // One device alone: what it has to itself is all there is.
        cells = table.cells.iter().collect();
    }
    let text = if cells.iter().any(|cell| matches!(cell.measure, Measure::Access(_))) {
        accesses(table, &cells)
    } else if cells.is_empty() {
        devices(table)?
    } else {
        figures(table, cells)
    };
    Some(titled(&title(table), &text))
}

fn title(table: &PairTable) -> String {
    let what = match (&table.test, table.title.is_empty()) {
        (Some(test), true) => test.clone(),
        (Some(test), false) if !table.title.contains(test.as_str()) => format!("{}, {test}", table.title),
        (Some(_) | None, false) => table.title.clone(),
        (None, true) => "Devices".to_owned(),
    };
    format!("{what} ({}, line {})", table.format, table.line)
}

fn devices(table: &PairTable) -> Option<String> {
    let mut lines = Table::default();
    for device in &table.devices {
        let bus = device.bus.as_deref().unwrap_or_default();
        lines.row([
            Cell::new(format!("GPU{}", device.number)).tone(Tone::Faint),
            Cell::new(&device.model),
            Cell::new(bus),
        ]);
    }
    (!lines.is_empty()).then(|| lines.lines())
}

fn accesses(table: &PairTable, cells: &[&PairCell]) -> String {
    let refused: Vec<&&PairCell> =
        cells.iter().filter(|cell| cell.measure == Measure::Access(false)).collect();
    match refused.len() {
        0 => "  all pairs can access each other\n".to_owned(),
        count if count == cells.len() => "  no pair can access each other\n".to_owned(),
        count => format!(
            "  {count} of {} pairs cannot: {}\n",
            cells.len(),
            named(table, refused.into_iter().copied())
        ),
    }
}

/// A figure as a number that can be compared; both kinds are integers of the same order.
fn size(cell: &PairCell) -> u64 {
    match cell.measure {
        Measure::Rate(rate) => rate.get(),
        Measure::Span(span) => span.get(),
        Measure::Access(access) => u64::from(access),
    }
}

fn shown(cell: &PairCell) -> String {
    match cell.measure {
        Measure::Rate(rate) => rate.to_string(),
        Measure::Span(span) => span.to_string(),
        Measure::Access(access) => access.to_string(),
    }
}

fn figures(table: &PairTable, mut cells: Vec<&PairCell>) -> String {
    cells.sort_by_key(|cell| size(cell));
    let mut lines = Table::default();
    let pair =
        |cell: &PairCell| format!("{} to {}", name(&table.rows, cell.row), name(&table.columns, cell.column));
    let mut row = |title: &str, cell: &PairCell, more: String| {
        lines.row([Cell::new(title).tone(Tone::Faint), Cell::number(shown(cell)), Cell::new(more)]);
    };
    if let [only] = cells[..] {
        row("one figure", only, pair(only));
    } else if let [first, .., last] = cells[..] {
        row("least", first, pair(first));
        if cells.len() > 2 {
            row("middle", cells[cells.len() / 2], format!("of {}", cells.len()));
        }
        row("most", last, pair(last));
    }
    let mut text = lines.lines();
    let kinds = if cells.len() > 2 { kinds(&cells) } else { Vec::new() };
    let islands = kinds.iter().find_map(|kind| islands(table, kind)).unwrap_or_default();
    if kinds.len() > 1 {
        for kind in kinds.iter().rev() {
            let (least, most) = (kind[0], kind[kind.len() - 1]);
            let range = if size(least) == size(most) {
                shown(most)
            } else {
                format!("{} to {}", shown(least), shown(most))
            };
            text.extend(["  ", &range, "  ", &members(table, kind, &islands), "\n"]);
        }
    }
    if let Some(sum) = table.sum {
        text.extend(["  sum ", &sum.to_string(), "\n"]);
    }
    if table.both_directions {
        text.push_str("  both directions added up\n");
    }
    text
}

/// The sorted figures, cut where a gap is wide; one kind where they would fall into many.
fn kinds<'c>(cells: &[&'c PairCell]) -> Vec<Vec<&'c PairCell>> {
    let mut kinds: Vec<Vec<&PairCell>> = Vec::new();
    for cell in cells {
        #[expect(clippy::cast_precision_loss, reason = "only compared within a tenth")]
        let is_apart = |last: &&PairCell| size(cell) as f64 > size(last) as f64 * APART_FACTOR;
        match kinds.last_mut() {
            Some(kind) if !kind.last().is_some_and(is_apart) => kind.push(cell),
            Some(_) | None => kinds.push(vec![cell]),
        }
    }
    if kinds.len() > KINDS_MAX { Vec::new() } else { kinds }
}

/// The groups of devices within which all these pairs are, and no other of the table; `None` where they are not so.
fn islands(table: &PairTable, kind: &[&PairCell]) -> Option<Vec<Vec<usize>>> {
    if table.rows != table.columns || table.rows.len() > GROUPED_MAX {
        return None;
    }
    let groups = groups(table, kind);
    let pairs: usize = groups.iter().map(|group| group.len() * (group.len() - 1)).sum();
    let is_all = groups.iter().map(Vec::len).sum::<usize>() == table.rows.len();
    (pairs == kind.len() && groups.len() > 1 && is_all).then_some(groups)
}

/// `within GPU0, GPU1, GPU2 / within GPU3, GPU4, GPU5`, `across` where others are within; else the pairs.
fn members(table: &PairTable, kind: &[&PairCell], others: &[Vec<usize>]) -> String {
    if let Some(groups) = islands(table, kind) {
        let named = |group: &Vec<usize>| {
            let names: Vec<&str> = group.iter().map(|at| name(&table.rows, *at)).collect();
            format!("within {}", names.join(", "))
        };
        return groups.iter().map(named).collect::<Vec<_>>().join(" / ");
    }
    let is_within = |cell: &&PairCell| {
        others.iter().any(|group| group.contains(&cell.row) && group.contains(&cell.column))
    };
    if !others.is_empty() && !kind.iter().any(is_within) {
        return "across these groups".to_owned();
    }
    let pairs = if kind.len() == 1 { "1 pair".to_owned() } else { format!("{} pairs", kind.len()) };
    format!("{pairs}: {}", named(table, kind.iter().copied()))
}

/// Devices that the pairs tie together.
fn groups(table: &PairTable, kind: &[&PairCell]) -> Vec<Vec<usize>> {
    let mut group_of: Vec<usize> = (0..table.rows.len()).collect();
    for cell in kind {
        let (Some(&a), Some(&b)) = (group_of.get(cell.row), group_of.get(cell.column)) else { continue };
        if a != b {
            group_of.iter_mut().filter(|group| **group == b).for_each(|group| *group = a);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for first in 0..group_of.len() {
        let members: Vec<usize> = (0..group_of.len()).filter(|at| group_of[*at] == first).collect();
        if members.len() > 1 {
            groups.push(members);
        }
    }
    groups.sort();
    groups
}

fn name(names: &[String], at: usize) -> &str {
    names.get(at).map_or("?", String::as_str)
}

fn named<'c>(table: &PairTable, cells: impl Iterator<Item = &'c PairCell>) -> String {
    let mut cells: Vec<&PairCell> = cells.collect();
    cells.sort_by_key(|cell| (cell.row, cell.column));
    let pair = |cell: &&PairCell| {
        format!("{} to {}", name(&table.rows, cell.row), name(&table.columns, cell.column))
    };
    let shown: Vec<String> = cells.iter().take(PAIRS_MAX).map(pair).collect();
    let more = cells.len().saturating_sub(PAIRS_MAX);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}
