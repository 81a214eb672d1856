//! Which cell belongs to which column. By order where the numbers agree; else by the table's own
//! separators; else by the `X` on the diagonal and by where things stand on the screen.

use crate::grid::{Column, Found, Grid, row};
use crate::words::Word;

/// What leaving a cell out costs, in characters of distance: less likely than any shift.
const DROPPED: usize = 1000;
/// Beyond so many pairs of cell and column the order alone decides; no real matrix comes near.
const PAIRS_MAX: usize = 1 << 20;

impl Grid<'_> {
    /// Gives every row its cells by column.
    pub(super) fn align(&mut self) {
        self.complete_columns();
        let glued = self.glued.is_some();
        for row in &mut self.rows {
            let own = self.columns.iter().position(|column| column.label == row.label);
            let chosen = assign(&row.found, &self.columns, own, glued);
            row.cells = chosen.iter().map(|index| index.map(|index| row.found[index])).collect();
            let used = |index: usize| chosen.contains(&Some(index));
            // When the numbers agree, which is nearly always, nothing can be left over.
            row.extra = if row.found.len() <= chosen.iter().flatten().count() {
                Vec::new()
            } else {
                (0..row.found.len()).filter(|index| !used(*index)).map(|index| row.found[index]).collect()
            };
            row.affinity = row::affinity(&row.tail, &self.titles);
        }
    }

    /// A header that is missing, or was cut, is restored from the rows if every row is as long as there
    /// are rows and has its `X` in its own place.
    fn complete_columns(&mut self) {
        let restorable = self.rows.len() > self.columns.len()
            && self
                .rows
                .iter()
                .enumerate()
                .all(|(index, row)| row.width() == self.rows.len() && row.own_position() == Some(index))
            && self.columns.iter().zip(&self.rows).all(|(column, row)| column.label == row.label);
        let missing =
            if restorable || self.header.is_none() { self.columns.len()..self.rows.len() } else { 0..0 };
        for index in missing {
            let row = &self.rows[index];
            let seen = self.rows[0].found.get(index);
            self.columns.push(Column {
                label: row.label,
                kind: row.kind,
                visual: seen.map_or(0, |found| found.visual),
                field: seen.map_or(0, |found| found.field),
            });
        }
    }
}

/// For each column the index of its cell.
fn assign(
    found: &[Found<'_>],
    columns: &[Column<'_>],
    own: Option<usize>,
    glued: bool,
) -> Vec<Option<usize>> {
    if found.len() == columns.len() {
        return (0..columns.len()).map(Some).collect();
    }
    if let Some(chosen) = by_field(found, columns, own) {
        return chosen;
    }
    let position = found.iter().position(|found| found.word == Some(Word::Own));
    if let (Some(own), Some(position)) = (own, position) {
        // The diagonal splits the row into two smaller questions.
        let mut chosen = by_distance(&found[..position], &columns[..own], 0, glued);
        chosen.push(Some(position));
        chosen.extend(by_distance(&found[position + 1..], &columns[own + 1..], position + 1, glued));
        return chosen;
    }
    by_distance(found, columns, 0, glued)
}

/// By tabs or bars, if header and row use them alike and the `X` confirms it.
fn by_field(found: &[Found<'_>], columns: &[Column<'_>], own: Option<usize>) -> Option<Vec<Option<usize>>> {
    let ascending = |fields: &mut dyn Iterator<Item = usize>| {
        let fields: Vec<usize> = fields.collect();
        fields.windows(2).all(|pair| pair[0] < pair[1])
    };
    let separated = ascending(&mut columns.iter().map(|column| column.field))
        && ascending(&mut found.iter().map(|found| found.field));
    let own = &columns[own?];
    let confirmed = found.iter().any(|found| found.word == Some(Word::Own) && found.field == own.field);
    if !separated || !confirmed {
        return None;
    }
    let cell = |column: &Column<'_>| found.iter().position(|found| found.field == column.field);
    Some(columns.iter().map(cell).collect())
}

/// The order-keeping choice with the least total distance on the screen.
fn by_distance(found: &[Found<'_>], columns: &[Column<'_>], first: usize, glued: bool) -> Vec<Option<usize>> {
    let (rows, width) = (found.len(), columns.len());
    if rows == width || glued || rows.saturating_mul(width) > PAIRS_MAX {
        return (0..width).map(|index| (index < rows).then_some(first + index)).collect();
    }
    // cost[i][j]: the best for the first i cells and the first j columns.
    let mut cost = vec![vec![0usize; width + 1]; rows + 1];
    for i in 1..=rows {
        cost[i][0] = i * DROPPED;
        for j in 1..=width {
            let distance = found[i - 1].visual.abs_diff(columns[j - 1].visual).min(DROPPED - 1);
            let matched = cost[i - 1][j - 1] + distance;
            cost[i][j] = matched.min(cost[i][j - 1]).min(cost[i - 1][j] + DROPPED);
        }
    }
    let mut chosen = vec![None; width];
    let (mut i, mut j) = (rows, width);
    while i > 0 && j > 0 {
        // On a tie the column stays empty: a row that was cut lost its last cells.
        if cost[i][j] == cost[i][j - 1] {
            j -= 1;
        } else if cost[i][j] == cost[i - 1][j] + DROPPED {
            i -= 1;
        } else {
            (i, j) = (i - 1, j - 1);
            chosen[j] = Some(first + i);
        }
    }
    chosen
}
