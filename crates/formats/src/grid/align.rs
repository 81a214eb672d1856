//! Which cell belongs to which column. By order where the numbers agree; else by the table's own
//! separators; else by the `X` on the diagonal and by where things stand on the screen.

use crate::grid::{Column, Found, Grid, row};
use crate::words::Word;

/// What leaving a cell out costs, in characters of distance: less likely than any shift.
const DROPPED: usize = 1000;
/// Beyond so many pairs of cell and column the order alone decides; no real matrix comes near.
const PAIRS_MAX: usize = 1 << 16;

impl Grid<'_> {
    /// Gives every row its cells by column.
    pub(super) fn align(&mut self) {
        self.complete_columns();
        let positions: Vec<Option<Vec<usize>>> =
            (0..self.rows.len()).map(|row| self.positions(row)).collect();
        for (row, positions) in self.rows.iter_mut().zip(&positions) {
            let own = self.columns.iter().position(|column| column.label == row.label);
            let chosen = assign(&row.found, &self.columns, own, positions.as_deref());
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

    /// Where the cells of a row that is not whole should begin on the screen: as in the nearest whole row
    /// whose label is as long, for labels shift what follows; else as in the header. `None` if the row is
    /// whole, or nothing tells.
    fn positions(&self, row: usize) -> Option<Vec<usize>> {
        let columns = self.columns.len();
        let short = &self.rows[row];
        if short.found.len() == columns {
            return None;
        }
        let alike = |other: &usize| {
            let other = &self.rows[*other];
            other.found.len() == columns && other.label.len() == short.label.len()
        };
        let nearest = (0..self.rows.len()).filter(alike).min_by_key(|other| other.abs_diff(row));
        match nearest {
            Some(other) => Some(self.rows[other].found.iter().map(|found| found.visual).collect()),
            None => self.glued.is_none().then(|| self.columns.iter().map(|column| column.visual).collect()),
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
    positions: Option<&[usize]>,
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
        let (before, after) = (positions.map(|all| &all[..own]), positions.map(|all| &all[own + 1..]));
        let mut chosen = by_distance(&found[..position], own, before, 0);
        chosen.push(Some(position));
        chosen.extend(by_distance(&found[position + 1..], columns.len() - own - 1, after, position + 1));
        return chosen;
    }
    by_distance(found, columns.len(), positions, 0)
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

/// The order-keeping choice with the least total distance on the screen, by the order alone where no
/// positions are known.
fn by_distance(
    found: &[Found<'_>],
    width: usize,
    positions: Option<&[usize]>,
    first: usize,
) -> Vec<Option<usize>> {
    let rows = found.len();
    let positions = positions.filter(|_| rows != width && rows.saturating_mul(width) <= PAIRS_MAX);
    let Some(positions) = positions else {
        return (0..width).map(|index| (index < rows).then_some(first + index)).collect();
    };
    // cost[i][j]: the best for the first i cells and the first j columns.
    let mut cost = vec![vec![0usize; width + 1]; rows + 1];
    for i in 1..=rows {
        cost[i][0] = i * DROPPED;
        for j in 1..=width {
            let distance = found[i - 1].visual.abs_diff(positions[j - 1]).min(DROPPED - 1);
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
