//! Linear programs, small and dense, by the simplex method with Bland's rule, which never goes in circles.

/// A coefficient smaller than this is rounding.
const NOTHING: f64 = 1e-11;

/// The x >= 0 at which `objective` times x is largest, where each row times x is at most its bound, which is not
/// negative; `None` if there is no largest.
pub fn maximum(objective: &[f64], rows: &[(Vec<f64>, f64)]) -> Option<Vec<f64>> {
    let (variables, count) = (objective.len(), rows.len());
    let width = variables + count + 1;
    let row = |(at, (row, bound)): (usize, &(Vec<f64>, f64))| {
        let mut slack = vec![0.0; count];
        slack[at] = 1.0;
        [row.as_slice(), &slack, &[*bound]].concat()
    };
    let mut table: Vec<Vec<f64>> = rows.iter().enumerate().map(row).collect();
    let mut gains: Vec<f64> = objective.to_vec();
    gains.resize(width, 0.0);
    // Which variable each row says; at first its slack.
    let mut says: Vec<usize> = (variables..variables + count).collect();
    while let Some(enters) = gains[..width - 1].iter().position(|gain| *gain > NOTHING) {
        let room = |at: usize| table[at][width - 1] / table[at][enters];
        let bounding = (0..count).filter(|at| table[*at][enters] > NOTHING);
        let leaves = bounding.min_by(|a, b| room(*a).total_cmp(&room(*b)).then(says[*a].cmp(&says[*b])))?;
        let scale = table[leaves][enters];
        table[leaves].iter_mut().for_each(|entry| *entry /= scale);
        let pivot = table[leaves].clone();
        for row in table.iter_mut().enumerate().filter(|(at, _)| *at != leaves).map(|(_, row)| row) {
            eliminate(row, &pivot, enters);
        }
        eliminate(&mut gains, &pivot, enters);
        says[leaves] = enters;
    }
    let mut found = vec![0.0; variables];
    for (row, variable) in table.iter().zip(&says).filter(|(_, variable)| **variable < variables) {
        found[*variable] = row[width - 1];
    }
    Some(found)
}

fn eliminate(row: &mut [f64], pivot: &[f64], column: usize) {
    let factor = row[column];
    for (entry, other) in row.iter_mut().zip(pivot) {
        *entry -= factor * other;
    }
}
