//! A machine, given what was measured of it: the logarithms of its times are taken for a Gaussian process.
//!
//! Far from any row, in size, by collective and choice, or in what a time consists of, the process is what is known of
//! such machines in general; near rows it is what they say.

use std::collections::BTreeMap;

use super::matrix::Cholesky;
use super::model::{Model, Parameter, Place, Values};

/// What is taken before anything is measured counts like so many rows.
const ENOUGH: f64 = 6.0;
/// Half of a normal distribution lies within so many deviations.
const HALF: f64 = 0.6745;
/// Deviations are never thought to be more than so many times too small.
const WIDER_MAX: f64 = 3.0;

/// A row as the process takes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Given {
    pub place: Place,
    /// The logarithm of measured over expected by the parameters.
    pub left: f64,
    /// Variance of it for itself.
    pub noise: f64,
}

/// The process, given rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Process {
    model: Model,
    factors: Values,
    given: Vec<Given>,
    triangle: Cholesky,
    weights: Vec<f64>,
    /// The logarithm of how likely the rows are, but for what is the same of any process of so many rows.
    pub evidence: f64,
}

impl Process {
    /// `None` where rows contradict each other beyond what can be computed.
    pub fn of(model: Model, factors: Values, given: Vec<Given>) -> Option<Self> {
        let covariance: Vec<Vec<f64>> = given
            .iter()
            .enumerate()
            .map(|(index, row)| {
                let others = given.iter().map(|other| model.covariance(&row.place, &other.place));
                let mut line: Vec<f64> = others.collect();
                line[index] += row.noise;
                line
            })
            .collect();
        let triangle = Cholesky::of(&covariance)?;
        let right: Vec<f64> = given.iter().map(|row| row.left + moved(&row.place, &factors)).collect();
        let weights = triangle.solve(&right);
        let fit: f64 = right.iter().zip(&weights).map(|(right, weight)| right * weight).sum();
        let evidence = -0.5 * (fit + triangle.log_determinant());
        Some(Self { model, factors, given, triangle, weights, evidence })
    }

    /// The most likely logarithms of the factors.
    pub fn most_likely(&self) -> Values {
        Parameter::ALL.map(|parameter| {
            let (_, with) = self.varies(parameter);
            with.iter().zip(&self.weights).map(|(with, weight)| with * weight).sum()
        })
    }

    /// The deviation of each of them.
    pub fn deviations(&self) -> Values {
        Parameter::ALL.map(|parameter| {
            let (variance, with) = self.varies(parameter);
            (variance - self.told(&with)).max(0.0).sqrt()
        })
    }

    /// The variance of a parameter, and how much each row varies with it; of bandwidths as they are for the number of
    /// GPUs that was measured most.
    fn varies(&self, parameter: Parameter) -> (f64, Vec<f64>) {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for row in &self.given {
            *counts.entry(row.place.ranks).or_default() += 1;
        }
        let usual = counts.into_iter().max_by_key(|(_, count)| *count).map(|(ranks, _)| ranks);
        let (shared, by_ranks) =
            (self.model.shared_variance(parameter), self.model.shared_by_ranks(parameter));
        let with = |row: &Given| {
            let own = if Some(row.place.ranks) == usual { by_ranks } else { 0.0 };
            row.place.slopes[parameter as usize] * (shared + own)
        };
        (shared + by_ranks, self.given.iter().map(with).collect())
    }

    /// How many deviations each row is from what the others say of it.
    pub fn errors(&self) -> Vec<f64> {
        // Left out, a row is missed by weight / inverse, with a variance of 1 / inverse.
        let inverse = self.triangle.inverse_diagonal();
        self.weights.iter().zip(inverse).map(|(weight, inverse)| weight / inverse.sqrt()).collect()
    }

    /// By how much deviations must be larger than thought to be those of the rows: from their middle, so that a few
    /// that lie far off do not count.
    pub fn wider(&self) -> f64 {
        let mut errors: Vec<f64> = self.errors().into_iter().map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        let last = errors.len().saturating_sub(1);
        let Some((low, high)) = errors.get(last / 2).zip(errors.get(errors.len() / 2)) else { return 1.0 };
        let middle = (f64::midpoint(*low, *high) / HALF).min(WIDER_MAX);
        let count = f64::from(u32::try_from(errors.len()).unwrap_or(u32::MAX));
        ((count * middle * middle + ENOUGH) / (count + ENOUGH)).sqrt()
    }

    /// The logarithm of the expected time at a place.
    pub fn log_us(&self, place: &Place) -> f64 {
        let near = self.given.iter().zip(&self.weights);
        let told: f64 = near.map(|(row, weight)| weight * self.model.covariance(&row.place, place)).sum();
        place.log_us - moved(place, &self.factors) + told
    }

    /// The deviation of a measurement at a place.
    pub fn deviation(&self, place: &Place) -> f64 {
        let near: Vec<f64> = self.given.iter().map(|row| self.model.covariance(&row.place, place)).collect();
        let alone = self.model.covariance(place, place);
        let noise = self.model.noise;
        self.model.wider * ((alone - self.told(&near)).max(0.0) + noise * noise).sqrt()
    }

    /// What the rows take of the variance of something that varies with them so much.
    fn told(&self, with: &[f64]) -> f64 {
        with.iter().zip(self.triangle.solve(with)).map(|(with, solved)| with * solved).sum()
    }
}

/// By how much the parameters have moved the logarithm of a time from what is predicted.
fn moved(place: &Place, factors: &Values) -> f64 {
    place.slopes.iter().zip(factors).map(|(slope, factor)| slope * factor).sum()
}
