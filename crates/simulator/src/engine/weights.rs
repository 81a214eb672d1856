//! The weights of uses, by the place of each use in a list.

/// Nothing is stored as long as all are one, as they are in most networks.
#[derive(Default)]
pub(super) struct Weights {
    stored: Vec<f64>,
}

impl Weights {
    pub fn get(&self, at: usize) -> f64 {
        self.stored.get(at).copied().unwrap_or(1.0)
    }

    /// Whether the weights of these places are one.
    pub fn are_one(&self, mut places: std::ops::Range<usize>) -> bool {
        self.stored.is_empty() || places.all(|at| is_one(self.get(at)))
    }

    pub fn set(&mut self, at: usize, weight: f64) {
        if self.stored.len() <= at {
            if is_one(weight) {
                return;
            }
            self.stored.resize(at + 1, 1.0);
        }
        self.stored[at] = weight;
    }
}

#[expect(clippy::float_cmp, reason = "equality is meant: any other weight takes the general way")]
fn is_one(weight: f64) -> bool {
    weight == 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_set_is_one_and_ones_take_no_memory() {
        let mut weights = Weights::default();
        weights.set(7, 1.0);
        assert_eq!(weights.stored.capacity(), 0);
        weights.set(2, 0.5);
        assert_eq!([1, 2, 3, 7].map(|at| weights.get(at).to_bits()), [1.0, 0.5, 1.0, 1.0].map(f64::to_bits));
        assert!(weights.are_one(3..9) && !weights.are_one(1..3));
        weights.set(2, 1.0);
        assert!(weights.are_one(0..9));
    }
}
