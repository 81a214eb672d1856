//! What the parameters leave: a smooth correction by time, with how sure it is.
//!
//! The logarithms of what is left are taken for a Gaussian process over the logarithm of the time: what all choices
//! of a collective share and what each has by itself, both losing their hold with distance, so that far from any
//! row the parameters alone count. It is a correction, not physics: it says by how much, not why.

use std::collections::{BTreeMap, BTreeSet};

use weft_collective::Collective;

use super::fit::Observation;
use super::matrix::Cholesky;
use super::{Calibration, Correction, Knot, Regime};
use crate::PredictError;
use crate::nccl::constants::{Column, Constants};
use crate::{Algorithm, Protocol};

/// Rows of times closer than this share of each other become one knot.
const CLOSE: f64 = 0.05;
/// A correction may fall by this power of the time at most, so that the corrected time still grows.
const FALL_MAX: f64 = 0.9;
/// How often rows that lie far off are given less weight.
const ROUNDS: usize = 4;
/// What is taken before anything is measured counts like so many rows.
const ENOUGH: f64 = 4.0;
/// Beyond so many deviations a row counts less.
const FAR: f64 = 2.0;

type Choice = (Algorithm, Protocol);

/// One knot's worth of rows of one choice.
#[derive(Debug, Clone, Copy)]
struct Point {
    choice: Choice,
    /// Logarithm of the time before the correction.
    place: f64,
    /// Logarithm of measured by expected.
    left: f64,
    /// Rows in it.
    rows: f64,
    /// The sum of the squares of what they differ by.
    squares: f64,
}

/// The corrections of all collectives that were measured.
pub(super) fn corrections(
    rows: &[Observation],
    calibration: &Calibration,
    constants: Constants<'_>,
) -> Result<Vec<Correction>, PredictError> {
    let kernel = Kernel {
        shared: constants.value("curve", "correction", Column::First)?,
        own: constants.value("curve", "correction", Column::Second)?,
        length: constants.value("curve", "correction", Column::Third)?,
        noise: constants.only("row", "repeats")?,
    };
    let mut by_collective: BTreeMap<Collective, Vec<(Regime, f64, f64)>> = BTreeMap::new();
    for row in rows {
        let expected_us = calibration.grown_us(row.regime.collective, &row.parts);
        if expected_us > 0.0 {
            let left = libm::log(row.measured_us / expected_us);
            by_collective.entry(row.regime.collective).or_default().push((
                row.regime,
                libm::log(expected_us),
                left,
            ));
        }
    }
    let of = |(collective, rows)| {
        let points = merged(rows);
        kernel.as_noisy_as(&points).curves(collective, &points)
    };
    Ok(by_collective.into_iter().flat_map(of).collect())
}

/// Rows of one choice at like times as one.
fn merged(mut rows: Vec<(Regime, f64, f64)>) -> Vec<Point> {
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    let mut points: Vec<Point> = Vec::new();
    for (regime, place, left) in rows {
        let choice = (regime.algorithm, regime.protocol);
        match points.last_mut() {
            Some(last) if last.choice == choice && place - last.place <= CLOSE => {
                let (rows, apart) = (last.rows + 1.0, left - last.left);
                last.place += (place - last.place) / rows;
                last.left += apart / rows;
                last.squares += apart * (left - last.left);
                last.rows = rows;
            }
            Some(_) | None => points.push(Point { choice, place, left, rows: 1.0, squares: 0.0 }),
        }
    }
    points
}

#[derive(Debug, Clone, Copy)]
struct Kernel {
    shared: f64,
    own: f64,
    length: f64,
    noise: f64,
}

/// The process, given the points.
struct Process<'p> {
    kernel: &'p Kernel,
    points: &'p [Point],
    triangle: Cholesky,
    weights: Vec<f64>,
}

impl Kernel {
    fn between(&self, a: (Option<Choice>, f64), b: (Option<Choice>, f64)) -> f64 {
        let near = libm::exp(-(a.1 - b.1).abs() / self.length);
        let own = if a.0.is_some() && a.0 == b.0 { self.own * self.own } else { 0.0 };
        near * (self.shared * self.shared + own)
    }

    /// With the noise that rows of like times show, where that is more than what rows usually do.
    fn as_noisy_as(self, points: &[Point]) -> Self {
        let squares: f64 = points.iter().map(|point| point.squares).sum();
        let freedom: f64 = points.iter().map(|point| point.rows - 1.0).sum();
        // As if the usual noise had been seen in a few rows more.
        let variance = (squares + ENOUGH * self.noise * self.noise) / (freedom + ENOUGH);
        Self { noise: variance.sqrt().max(self.noise), ..self }
    }

    /// The variance of `points` as they are measured.
    fn noise(&self, points: &[Point]) -> Vec<f64> {
        points.iter().map(|point| self.noise * self.noise / point.rows).collect()
    }

    fn given<'p>(&'p self, points: &'p [Point], noise: &[f64]) -> Option<Process<'p>> {
        let at = |point: &Point| (Some(point.choice), point.place);
        let mut matrix: Vec<Vec<f64>> =
            points.iter().map(|a| points.iter().map(|b| self.between(at(a), at(b))).collect()).collect();
        for (index, noise) in noise.iter().enumerate() {
            matrix[index][index] += noise;
        }
        let triangle = Cholesky::of(&matrix)?;
        let left: Vec<f64> = points.iter().map(|point| point.left).collect();
        let weights = triangle.solve(&left);
        Some(Process { kernel: self, points, triangle, weights })
    }

    /// A curve of each choice that was measured, and one of the others.
    fn curves(&self, collective: Collective, points: &[Point]) -> Vec<Correction> {
        let mut noise = self.noise(points);
        let Some(mut process) = self.given(points, &noise) else { return Vec::new() };
        for _ in 0..ROUNDS {
            for (index, error) in process.errors().into_iter().enumerate() {
                let plain = self.noise * self.noise / points[index].rows;
                noise[index] = plain * (error.abs() / FAR).max(1.0).powi(2);
            }
            let Some(next) = self.given(points, &noise) else { break };
            process = next;
        }
        let wider = process.widening();
        let choices: BTreeSet<Option<Choice>> =
            points.iter().map(|point| Some(point.choice)).chain([None]).collect();
        let curve = |choice| Correction { collective, choice, knots: process.knots(choice, wider) };
        choices.into_iter().map(curve).collect()
    }
}

impl Process<'_> {
    /// How many deviations each point is from what the others say of it.
    fn errors(&self) -> Vec<f64> {
        let inverse = self.triangle.inverse_diagonal();
        // Left out, a point is missed by weight / inverse, with a variance of 1 / inverse.
        self.weights.iter().zip(inverse).map(|(weight, inverse)| weight / inverse.sqrt()).collect()
    }

    /// By how much deviations must be larger than thought to be those of the points: from their middle, so that
    /// a few that lie far off do not count.
    fn widening(&self) -> f64 {
        let mut errors: Vec<f64> = self.errors().into_iter().map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        // Half of a normal distribution lies within 0.6745 deviations. Few points tell little.
        let middle = errors.get(errors.len() / 2).map_or(1.0, |middle| middle / 0.6745);
        let count = f64::from(u32::try_from(errors.len()).unwrap_or(u32::MAX));
        ((count * middle * middle + ENOUGH) / (count + ENOUGH)).sqrt()
    }

    /// Mean and deviation of what is left at a place.
    fn at(&self, choice: Option<Choice>, place: f64) -> (f64, f64) {
        let near: Vec<f64> = self
            .points
            .iter()
            .map(|point| self.kernel.between((Some(point.choice), point.place), (choice, place)))
            .collect();
        let mean = near.iter().zip(&self.weights).map(|(near, weight)| near * weight).sum();
        let told: f64 = near.iter().zip(self.triangle.solve(&near)).map(|(near, solved)| near * solved).sum();
        let Kernel { shared, own, .. } = self.kernel;
        // A choice that was not measured may differ from the others by as much as they do.
        let alone = shared * shared + own * own;
        (mean, (alone - told).max(0.0).sqrt())
    }

    /// The curve of one choice: at its points, and on beyond them until nothing is left of it.
    fn knots(&self, choice: Option<Choice>, wider: f64) -> Vec<Knot> {
        let mine = self.points.iter().filter(|point| choice.is_none_or(|choice| choice == point.choice));
        let mut places: Vec<f64> = mine.map(|point| point.place).collect();
        places.sort_by(f64::total_cmp);
        places.dedup_by(|b, a| *b - *a <= CLOSE);
        let (Some(first), Some(last)) = (places.first().copied(), places.last().copied()) else {
            return Vec::new();
        };
        let beyond = [0.5, 1.0, 2.0].map(|times| times * self.kernel.length);
        places.extend(beyond.map(|way| last + way));
        places.extend(beyond.map(|way| first - way));
        let halves: Vec<f64> = places.windows(2).map(|two| f64::midpoint(two[0], two[1])).collect();
        places.extend(halves.into_iter().filter(|half| *half > first && *half < last));
        places.sort_by(f64::total_cmp);
        places.dedup_by(|b, a| *b - *a <= CLOSE);
        let noise = self.kernel.noise;
        let mut knots: Vec<(f64, f64, f64)> = places
            .into_iter()
            .map(|place| {
                let (mean, deviation) = self.at(choice, place);
                (place, mean, wider * deviation.hypot(noise))
            })
            .collect();
        for index in 1..knots.len() {
            let least = knots[index - 1].1 - FALL_MAX * (knots[index].0 - knots[index - 1].0);
            knots[index].1 = knots[index].1.max(least);
        }
        let knot =
            |(place, mean, spread)| Knot { time_us: libm::exp(place), factor: libm::exp(mean), spread };
        knots.into_iter().map(knot).collect()
    }
}
