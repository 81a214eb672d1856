//! Small symmetric systems of equations.

/// A lower triangle whose product with its transpose is a symmetric matrix that is positive definite.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// `None` where the matrix is not positive definite.
    pub(super) fn of(matrix: &[Vec<f64>]) -> Option<Self> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
        for (index, line) in matrix.iter().enumerate() {
            let mut row = vec![0.0; index + 1];
            for column in 0..=index {
                let other = if column < index { &rows[column] } else { &row };
                let product: f64 = row[..column].iter().zip(&other[..column]).map(|(a, b)| a * b).sum();
                let rest = line[column] - product;
                row[column] = if column == index {
                    if rest <= 0.0 || !rest.is_finite() {
                        return None;
                    }
                    rest.sqrt()
                } else {
                    rest / rows[column][column]
                };
            }
            rows.push(row);
        }
        Some(Self { rows })
    }

    /// What the matrix takes to `right`.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut half = Vec::with_capacity(right.len());
        for (row, value) in self.rows.iter().zip(right) {
            let product: f64 = row.iter().zip(&half).map(|(a, b)| a * b).sum();
            half.push((value - product) / row[half.len()]);
        }
        for index in (0..half.len()).rev() {
            half[index] /= self.rows[index][index];
            let (below, solved) = half.split_at_mut(index);
            for (value, share) in below.iter_mut().zip(&self.rows[index]) {
                *value -= share * solved[0];
            }
        }
        half
    }

    /// The diagonal of the inverse.
    pub(super) fn inverse_diagonal(&self) -> Vec<f64> {
        let count = self.rows.len();
        let mut diagonal = vec![0.0; count];
        for column in 0..count {
            // The column of the triangle's own inverse; above it there is nothing.
            let mut inverse = Vec::with_capacity(count - column);
            for (index, row) in self.rows.iter().enumerate().skip(column) {
                let before = row[column..index].iter().zip(&inverse).map(|(a, b): (&f64, &f64)| a * b);
                let unit = if index == column { 1.0 } else { 0.0 };
                inverse.push((unit - before.sum::<f64>()) / row[index]);
            }
            diagonal[column] = inverse.iter().map(|value| value * value).sum();
        }
        diagonal
    }

    /// The logarithm of the determinant of the matrix.
    pub(super) fn log_determinant(&self) -> f64 {
        let ends = self.rows.iter().filter_map(|row| row.last());
        2.0 * ends.map(|value| libm::log(*value)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::Cholesky;

    #[test]
    fn a_system_of_two_is_solved_as_by_hand() {
        // 4x + 2y = 10, 2x + 3y = 9: x = 1.5, y = 2. The determinant is 8, so the inverse has 3/8 and 4/8.
        let triangle = Cholesky::of(&[vec![4.0, 2.0], vec![2.0, 3.0]]).unwrap();
        let close =
            |found: &[f64], wanted: &[f64]| found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(&triangle.solve(&[10.0, 9.0]), &[1.5, 2.0]));
        assert!(close(&triangle.inverse_diagonal(), &[0.375, 0.5]));
        assert!((triangle.log_determinant() - libm::log(8.0)).abs() < 1e-12);
        assert!(Cholesky::of(&[vec![1.0, 2.0], vec![2.0, 1.0]]).is_none());
    }
}
