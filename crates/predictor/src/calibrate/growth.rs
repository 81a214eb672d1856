//! How a machine's times grow with the message beyond what is predicted: a factor that never falls.
//!
//! Small messages take the same time in a prediction over many sizes, and a little more from one to the next on
//! machines. A correction by time alone cannot tell such sizes apart.

use std::collections::BTreeMap;

use weft_collective::Collective;

/// A logarithm that is further than this from the median of it and its neighbours is an outlier.
const FAR: f64 = 0.3;

/// A factor on the times of a collective, by message size; between two sizes the logarithms are interpolated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Growth {
    pub collective: Collective,
    /// Bytes ascending, factors not falling.
    pub knots: Vec<(f64, f64)>,
}

impl Growth {
    /// The factor of a size; as at the first and the last knot beyond them.
    pub fn at(&self, bytes: f64) -> f64 {
        let after = self.knots.partition_point(|(size, _)| *size <= bytes);
        match (after.checked_sub(1).and_then(|before| self.knots.get(before)), self.knots.get(after)) {
            (Some((size, factor)), Some((next_size, next))) => {
                let share = libm::log(bytes / size) / libm::log(next_size / size);
                factor * libm::pow(next / factor, share)
            }
            (Some((_, only)), None) | (None, Some((_, only))) => *only,
            (None, None) => 1.0,
        }
    }

    /// Of logarithms of measured by expected at sizes: the nearest that never falls, about their mean.
    pub(super) fn fitted(collective: Collective, rows: &[(f64, f64)]) -> Self {
        // Sizes are whole numbers of bytes, which order like their bits.
        let mut sizes: BTreeMap<u64, (f64, f64, f64)> = BTreeMap::new();
        for (bytes, left) in rows.iter().filter(|(bytes, _)| *bytes > 0.0) {
            let size = sizes.entry(bytes.to_bits()).or_insert((*bytes, 0.0, 0.0));
            size.1 += left;
            size.2 += 1.0;
        }
        let sizes = without_outliers(&sizes.into_values().collect::<Vec<_>>());
        // Neighbours that fall are one block with their mean (pool adjacent violators).
        let mut blocks: Vec<(f64, f64, Vec<f64>)> = Vec::new();
        for (bytes, sum, count) in sizes {
            blocks.push((sum, count, vec![bytes]));
            while let [.., before, last] = blocks.as_slice() {
                if before.0 / before.1 <= last.0 / last.1 {
                    break;
                }
                let Some(mut last) = blocks.pop() else { break };
                if let Some(before) = blocks.last_mut() {
                    before.0 += last.0;
                    before.1 += last.1;
                    before.2.append(&mut last.2);
                }
            }
        }
        let (sum, count) =
            blocks.iter().fold((0.0, 0.0), |(sum, count), block| (sum + block.0, count + block.1));
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        let of = |(sum, count, sizes): &(f64, f64, Vec<f64>)| {
            let factor = libm::exp(sum / count - mean);
            // The ends of a block are enough: it is level.
            let ends = [sizes.first().copied(), sizes.last().copied().filter(|_| sizes.len() > 1)];
            ends.into_iter().flatten().map(|size| (size, factor)).collect::<Vec<_>>()
        };
        Self { collective, knots: blocks.iter().flat_map(of).collect() }
    }
}

/// Sizes with their sums and counts, those that lie far from both neighbours at the median of the three.
fn without_outliers(sizes: &[(f64, f64, f64)]) -> Vec<(f64, f64, f64)> {
    let mean = |index: usize| sizes.get(index).map(|(_, sum, count)| sum / count);
    let of = |(index, size): (usize, &(f64, f64, f64))| {
        // The first and the last have two neighbours on one side.
        let first = index.saturating_sub(1).min(sizes.len().saturating_sub(3));
        let mut three: Vec<f64> = (first..first + 3).filter_map(mean).collect();
        three.sort_by(f64::total_cmp);
        let (bytes, sum, count) = *size;
        match three.get(1) {
            Some(middle) if three.len() == 3 && (sum / count - middle).abs() > FAR => {
                (bytes, middle * count, count)
            }
            Some(_) | None => (bytes, sum, count),
        }
    };
    sizes.iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::Growth;
    use weft_collective::Collective;

    #[test]
    fn what_falls_is_levelled_and_what_grows_is_kept() {
        // 0, 0.4, 0.2, 0.6 about their mean 0.3: the two in the middle are level at 0.3.
        let rows = [(8.0, 0.0), (16.0, 0.4), (32.0, 0.2), (64.0, 0.6)];
        let growth = Growth::fitted(Collective::AllReduce, &rows);
        let logarithms: Vec<f64> = growth.knots.iter().map(|(_, factor)| libm::log(*factor)).collect();
        let close = logarithms.iter().zip([-0.3, 0.0, 0.0, 0.3]).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close && logarithms.len() == 4, "{growth:?}");
        // Half-way between two sizes by their ratio, the mean of the logarithms; beyond the ends as at them.
        let at = |bytes: f64| libm::log(growth.at(bytes));
        assert!((at(8.0 * std::f64::consts::SQRT_2) + 0.15).abs() < 1e-9);
        assert!((at(1.0) + 0.3).abs() < 1e-12 && (at(1e9) - 0.3).abs() < 1e-12);
        assert!((Growth::fitted(Collective::AllReduce, &[]).at(8.0) - 1.0).abs() < 1e-12);
    }
}
