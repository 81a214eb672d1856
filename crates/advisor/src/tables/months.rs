//! Counts by month of one table against counts by day of another.

use std::collections::BTreeMap;

use weft_base::Diagnostic;

use super::{Column, Row, SUM_WRONG, Table};

/// Whether a table has counts by month or by day.
pub fn fits(table: &Table) -> bool {
    let by_time = table.index(Column::Month).is_some() || table.index(Column::Day).is_some();
    by_time && table.index(Column::Count).is_some()
}

/// Months that are not the sum of their days, in whichever table the days are.
pub fn check(tables: &[Table]) -> Vec<Diagnostic> {
    let mut days: BTreeMap<String, u64> = BTreeMap::new();
    for table in tables.iter().filter(|table| fits(table) && table.index(Column::Day).is_some()) {
        for row in &table.rows {
            if let (Some(day), Some(count)) = (table.cell(row, Column::Day), table.count(row, Column::Count))
            {
                *days.entry(month_of(&day.text)).or_default() += count;
            }
        }
    }
    let mut found = Vec::new();
    for table in tables.iter().filter(|table| fits(table) && table.index(Column::Month).is_some()) {
        let compared: Vec<(&Row, u64, u64)> =
            table.rows.iter().filter_map(|row| pair(table, row, &days)).collect();
        let right = compared.iter().filter(|(_, told, sum)| told == sum).count();
        for (row, told, sum) in compared.iter().filter(|(_, told, sum)| told != sum) {
            let Some(cell) = table.cell(row, Column::Count) else { continue };
            let month = table.cell(row, Column::Month).map_or("", |cell| cell.text.as_str());
            let message = format!("the days of {month} add up to {sum}, not {told}");
            let hint = format!("{right} of {} months are the sums of their days", compared.len());
            found.push(Diagnostic::error(SUM_WRONG, message).hint(hint).at(table.place(cell)));
        }
    }
    found
}

/// What the table says of a month, and the sum of its days.
fn pair<'t>(table: &Table, row: &'t Row, days: &BTreeMap<String, u64>) -> Option<(&'t Row, u64, u64)> {
    let month = month_of(&table.cell(row, Column::Month)?.text);
    Some((row, table.count(row, Column::Count)?, *days.get(&month)?))
}

/// `2023-10-08` and `2023/10` are of `2023-10`.
fn month_of(date: &str) -> String {
    date.replace('/', "-").chars().take(7).collect()
}
