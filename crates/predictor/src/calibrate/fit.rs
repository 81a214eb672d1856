//! The parameters of a machine from rows of benchmarks: least squares of the logarithms of ratios, with what is
//! taken before anything is measured, and rows that lie far off counting less.

use std::collections::BTreeMap;

use weft_catalogue::Catalogue;
use weft_collective::Collective;

use super::curve;
use super::growth::Growth;
use super::matrix::Cholesky;
use super::pairs::PairEvidence;
use super::{Calibration, Fitted, Parts, Regime};
use crate::PredictError;
use crate::nccl::constants::{Column, Constants};

/// The catalogue's entry of what is taken before anything is measured.
pub(super) const LIBRARY: &str = "calibration";
/// Rows of its table of priors, in the order of [`Parameters`].
const NAMES: [&str; COUNT] =
    ["launch-us", "step-scale", "ramp-scale", "intra-efficiency", "inter-efficiency"];
const COUNT: usize = 5;
/// Where nothing moves any more; far below what any row can tell.
const ROUNDS: usize = 40;
/// Rows beyond so many deviations count by their distance, not by its square (Huber).
const FAR: f64 = 1.5;

/// A measured time, and what is predicted of it without a calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// What was measured.
    pub regime: Regime,
    /// Where the predicted time goes.
    pub parts: Parts,
    /// Measured.
    pub measured_us: f64,
}

/// Fits a machine. Rows without a time are left out; without any row the calibration changes nothing but what
/// `pairs` tell of the links. The order of the rows does not matter beyond rounding, and nothing is random.
pub fn fit(
    observations: &[Observation],
    pairs: &[PairEvidence],
    catalogue: &Catalogue,
) -> Result<Calibration, PredictError> {
    let usable: Vec<Observation> = observations
        .iter()
        .copied()
        .filter(|it| it.measured_us > 0.0 && it.measured_us.is_finite() && it.parts.total_us() > 0.0)
        .collect();
    let constants = Constants::of(catalogue, LIBRARY)?;
    let priors = Priors::new(constants, pairs)?;
    let (parameters, spreads) = priors.fit(&usable);
    let fitted =
        |index: usize| Fitted { value: libm::exp(parameters[index]), standard_error: spreads[index] };
    let mut calibration = Calibration {
        launch_us: Fitted { value: parameters[0], standard_error: spreads[0] },
        step_scale: fitted(1),
        ramp_scale: fitted(2),
        intra_efficiency: fitted(3),
        inter_efficiency: fitted(4),
        ..Calibration::default()
    };
    let mut by_collective: BTreeMap<Collective, Vec<(f64, f64)>> = BTreeMap::new();
    for row in &usable {
        let left = libm::log(row.measured_us / calibration.scaled_us(&row.parts));
        by_collective.entry(row.regime.collective).or_default().push((row.parts.bytes, left));
    }
    calibration.growths =
        by_collective.iter().map(|(collective, rows)| Growth::fitted(*collective, rows)).collect();
    calibration.corrections = curve::corrections(&usable, &calibration, constants)?;
    Ok(calibration)
}

/// The launch in microseconds, and the logarithms of the factors.
type Parameters = [f64; COUNT];

struct Priors {
    means: Parameters,
    deviations: Parameters,
    /// Of one row's logarithm.
    noise: f64,
}

impl Priors {
    fn new(constants: Constants<'_>, pairs: &[PairEvidence]) -> Result<Self, PredictError> {
        let (mut means, mut deviations) = ([0.0; COUNT], [0.0; COUNT]);
        for (index, name) in NAMES.into_iter().enumerate() {
            means[index] = constants.value("prior", name, Column::First)?;
            deviations[index] = constants.value("prior", name, Column::Second)?;
        }
        // What copies between pairs tell of the links is one more observation of the efficiency inside a host.
        for pair in pairs.iter().filter(|pair| pair.share > 0.0) {
            let own = constants.only("copy-engine", "pairs")?;
            let (weight, other) = (deviations[3].powi(-2), own.powi(-2));
            means[3] = (means[3] * weight + libm::log(pair.share) * other) / (weight + other);
            deviations[3] = (weight + other).sqrt().recip();
        }
        Ok(Self { means, deviations, noise: constants.only("row", "parameters")? })
    }

    /// The most likely parameters, and the deviation of each.
    fn fit(&self, rows: &[Observation]) -> (Parameters, Parameters) {
        let mut best = self.means;
        let mut least = self.loss(rows, &best);
        let mut spreads = self.deviations;
        for _ in 0..ROUNDS {
            let (normal, right) = self.equations(rows, &best);
            let Some(triangle) = Cholesky::of(&normal) else { break };
            let step = triangle.solve(&right);
            for (spread, variance) in spreads.iter_mut().zip(triangle.inverse_diagonal()) {
                *spread = variance.sqrt();
            }
            // Half the step as long as it would lead uphill.
            let tried = (0..12).map(|halvings| {
                let part = libm::ldexp(1.0, -halvings);
                let mut next = best;
                for (value, change) in next.iter_mut().zip(&step) {
                    *value += part * change;
                }
                next
            });
            let found = tried.map(|next| (self.loss(rows, &next), next)).find(|(loss, _)| *loss < least);
            let Some((loss, next)) = found else { break };
            (least, best) = (loss, next);
        }
        (best, spreads)
    }

    fn loss(&self, rows: &[Observation], parameters: &Parameters) -> f64 {
        let huber = |distance: f64| {
            if distance <= FAR { 0.5 * distance * distance } else { FAR * (distance - 0.5 * FAR) }
        };
        let rows: f64 = rows.iter().map(|row| huber(self.distance(row, parameters).abs())).sum();
        let own = parameters.iter().zip(&self.means).zip(&self.deviations);
        let own: f64 = own.map(|((value, mean), deviation)| 0.5 * ((value - mean) / deviation).powi(2)).sum();
        rows + own
    }

    /// How many deviations a row is above what is expected.
    fn distance(&self, row: &Observation, parameters: &Parameters) -> f64 {
        libm::log(row.measured_us / scaled(&row.parts, parameters).1) / self.noise
    }

    /// The linear equations of the next step (Gauss-Newton).
    fn equations(&self, rows: &[Observation], parameters: &Parameters) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut normal = vec![vec![0.0; COUNT]; COUNT];
        let mut right = vec![0.0; COUNT];
        for (index, deviation) in self.deviations.iter().enumerate() {
            normal[index][index] = deviation.powi(-2);
            right[index] = (self.means[index] - parameters[index]) * deviation.powi(-2);
        }
        for row in rows {
            let (slopes, _) = scaled(&row.parts, parameters);
            let distance = self.distance(row, parameters);
            let weight = if distance.abs() <= FAR { 1.0 } else { FAR / distance.abs() };
            for (first, slope) in slopes.iter().enumerate() {
                let slope = slope / self.noise;
                right[first] += weight * slope * distance;
                for (second, other) in slopes.iter().enumerate() {
                    normal[first][second] += weight * slope * other / self.noise;
                }
            }
        }
        (normal, right)
    }
}

/// How the logarithm of a time changes with each parameter, and the time.
fn scaled(parts: &Parts, parameters: &Parameters) -> (Parameters, f64) {
    let factor = |index: usize| libm::exp(parameters[index]);
    let launch = (parts.launch_us + parameters[0]).max(0.0);
    let own = [
        parts.steps_us * factor(1),
        parts.ramp_us * factor(2),
        parts.intra_us / factor(3),
        parts.inter_us / factor(4),
    ];
    // A launch that is fitted away altogether leaves a time all the same.
    let total = (launch + own.iter().sum::<f64>()).max(0.01 * parts.total_us());
    let launch_slope = if launch > 0.0 { 1.0 / total } else { 0.0 };
    ([launch_slope, own[0] / total, own[1] / total, -own[2] / total, -own[3] / total], total)
}
