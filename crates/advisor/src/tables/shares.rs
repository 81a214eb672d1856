//! Counts and their percentages of the sum.

use weft_base::Diagnostic;

use super::{Column, Row, SHARE_WRONG, Table};

/// Whether a table has counts and percentages.
pub fn fits(table: &Table) -> bool {
    table.index(Column::Count).is_some() && table.index(Column::Share).is_some()
}

/// Percentages that are not those of the counts, where most are.
pub fn check(table: &Table) -> Vec<Diagnostic> {
    let shares: Vec<(&Row, f64, f64, f64)> = table.rows.iter().filter_map(|row| share(table, row)).collect();
    let sum: f64 = shares.iter().map(|(_, count, _, _)| count).sum();
    if sum <= 0.0 {
        return Vec::new();
    }
    let right =
        |(_, count, told, step): &(&Row, f64, f64, f64)| (100.0 * count / sum - told).abs() <= 0.75 * step;
    let wrong: Vec<_> = shares.iter().filter(|share| !right(share)).collect();
    if wrong.is_empty() || 2 * wrong.len() >= shares.len() {
        return whole(table, &wrong);
    }
    let one = |(row, count, told, step): &&(&Row, f64, f64, f64)| {
        let cell = table.cell(row, Column::Share)?;
        let places = usize::from(*step < 1.0);
        let message =
            format!("{count} of {sum} are {:.places$} %, not {told:.places$} %", 100.0 * count / sum);
        let hint =
            format!("the counts add up to {sum}, of which the other percentages are those of their rows");
        Some(Diagnostic::error(SHARE_WRONG, message).hint(hint).at(table.place(cell)))
    };
    wrong.iter().filter_map(one).collect()
}

/// Most percentages are those of another whole: one finding for all.
fn whole(table: &Table, wrong: &[&(&Row, f64, f64, f64)]) -> Vec<Diagnostic> {
    let Some(cell) = wrong.first().and_then(|(row, ..)| table.cell(row, Column::Share)) else {
        return Vec::new();
    };
    let message = format!("{} percentages are not those of the counts in this table", wrong.len());
    let hint = "they may be shares of another whole: say which";
    vec![Diagnostic::warning(SHARE_WRONG, message).hint(hint).at(table.place(cell))]
}

/// The row's count and percentage, and the percentage's last digit.
fn share<'t>(table: &Table, row: &'t Row) -> Option<(&'t Row, f64, f64, f64)> {
    let count = table.cell(row, Column::Count)?.number()?;
    let told = table.cell(row, Column::Share)?;
    let places = told
        .text
        .split_once('.')
        .map_or(0, |(_, rest)| rest.chars().take_while(char::is_ascii_digit).count());
    let step = (0..places).fold(1.0, |step, _| step / 10.0);
    Some((row, count, told.number()?, step))
}
