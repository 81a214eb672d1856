//! What a machine does differently, from rows of benchmarks: the most likely parameters and what they leave, with
//! rows that lie far off counting less, for each of a few things that a machine may be.

use weft_catalogue::Catalogue;

use super::model::{COUNT, LIBRARY, Model, Parameter, Values};
use super::pairs::PairEvidence;
use super::process::{Given, Process};
use super::{Calibration, Parts, Regime, Wire};
use crate::PredictError;
use crate::nccl::constants::Constants;

/// Where nothing moves any more; far below what any row can tell.
const ROUNDS: usize = 10;
/// Rounds after which rows that lie far off count less.
const SETTLED: usize = 2;
/// Of each step so much is taken: times are no straight lines of their parameters.
const STEP: f64 = 0.7;
/// Logarithms of factors stay within what a machine may do that still runs.
const FARTHEST: f64 = 3.0;
/// Where a start of kernels is less likely than this it is left out of account.
const UNLIKELY: f64 = 0.05;
/// Rows of one regime whose messages are closer than this share of each other become one.
const CLOSE: f64 = 0.01;

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

/// Like observations as one, as a calibration keeps them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Kept {
    pub row: Observation,
    /// How many they were.
    pub count: f64,
    /// What it counts beside others, from 0 to 1: less where it lies far from what they say.
    pub weight: f64,
}

/// Rates of copies as one more row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Copies {
    pub evidence: PairEvidence,
    /// Variance of what it tells of the bandwidth of collectives.
    pub noise: f64,
}

/// Fits a machine. Rows without a time are left out; without any row the calibration changes nothing but what
/// `pairs` tell of the links. The order of the rows does not matter beyond rounding, and nothing is random.
pub fn fit(
    observations: &[Observation],
    pairs: &[PairEvidence],
    catalogue: &Catalogue,
) -> Result<Calibration, PredictError> {
    let constants = Constants::of(catalogue, LIBRARY)?;
    let kept = merged(observations);
    let model = Model::of(catalogue, innermost(&kept))?;
    let own = constants.only("copy-engine", "pairs")?;
    let pairs = pairs.iter().filter(|pair| pair.share > 0.0);
    let copies: Vec<Copies> =
        pairs.map(|evidence| Copies { evidence: *evidence, noise: own * own }).collect();
    if kept.is_empty() && copies.is_empty() {
        return Ok(Calibration::default());
    }
    let quick = Constants::of(catalogue, "nccl-achieved")?.only("process-per-gpu", "share")?;
    let freedom = constants.only("row", "freedom")?;
    let (odd, wider) = (constants.only("odd", "share")?, constants.only("odd", "wider")?);
    let differs = kept.iter().any(|kept| kept.row.parts.least_host_us < kept.row.parts.host_us);
    let starts: &[bool] = if differs { &[false, true] } else { &[false] };
    let mut found: Vec<(f64, bool, Fit)> = Vec::new();
    for least_host in starts.iter().copied() {
        let start = libm::log(if least_host { quick } else { 1.0 - quick });
        for (share, scale) in [(1.0 - odd, 1.0), (odd, wider)] {
            let mut model = model;
            for parameter in [Parameter::Intra, Parameter::Inter] {
                model.deviations[parameter as usize] *= scale;
            }
            let fit = Fit { model, least_host, factors: [0.0; COUNT], kept: kept.clone() };
            if let Some((fit, evidence)) = fit.settled(&copies, freedom) {
                found.push((evidence + start + libm::log(share), least_host, fit));
            }
        }
    }
    let Some((most, _, _)) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Ok(Calibration::default());
    };
    let weigh = |evidence: f64| libm::exp(evidence - most);
    let all: f64 = found.iter().map(|(evidence, ..)| weigh(*evidence)).sum();
    let quick = found.iter().filter(|(_, least_host, _)| *least_host);
    // An empty sum of numbers is -0.
    let least_host_share = quick.map(|it| weigh(it.0)).fold(0.0, |sum, one| sum + one) / all;
    let wanted = least_host_share > 0.5;
    let of_start = found.into_iter().filter(|(_, least_host, _)| *least_host == wanted);
    let best = of_start.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, _, fit)| fit);
    let unsure = (UNLIKELY..=1.0 - UNLIKELY).contains(&least_host_share);
    let best = match best {
        Some(fit) if unsure => fit.unsure_of_start(least_host_share, &copies, freedom),
        best => best,
    };
    Ok(best.and_then(|fit| fit.calibration(copies, least_host_share)).unwrap_or_default())
}

/// Rows of one regime and like messages as one; those that cannot be times left out.
fn merged(observations: &[Observation]) -> Vec<Kept> {
    let usable = |row: &&Observation| {
        row.measured_us > 0.0 && row.measured_us.is_finite() && row.parts.total_us() > 0.0
    };
    let mut rows: Vec<Observation> = observations.iter().filter(usable).copied().collect();
    let key = |row: &Observation| (row.parts.bytes, row.parts.total_us(), row.measured_us);
    rows.sort_by(|a, b| {
        let (a_key, b_key) = (key(a), key(b));
        let numbers =
            a_key.0.total_cmp(&b_key.0).then(a_key.1.total_cmp(&b_key.1)).then(a_key.2.total_cmp(&b_key.2));
        (a.regime, a.parts.ranks).cmp(&(b.regime, b.parts.ranks)).then(numbers)
    });
    let mut kept: Vec<Kept> = Vec::new();
    for row in rows {
        let like = |last: &Kept| {
            let near = |a: f64, b: f64| (a / b - 1.0).abs() <= CLOSE;
            let (last, own) = (&last.row, &row);
            last.regime == own.regime
                && last.parts.ranks == own.parts.ranks
                && near(last.parts.bytes, own.parts.bytes)
                && near(last.parts.total_us(), own.parts.total_us())
        };
        match kept.last_mut().filter(|last| like(last)) {
            Some(last) => {
                last.count += 1.0;
                // The mean of the logarithms so far.
                let share = 1.0 / last.count;
                last.row.measured_us =
                    libm::pow(last.row.measured_us, 1.0 - share) * libm::pow(row.measured_us, share);
            }
            None => kept.push(Kept { row, count: 1.0, weight: 1.0 }),
        }
    }
    kept
}

/// What the bytes inside a host pass; of several kinds the one that is known worst.
fn innermost(kept: &[Kept]) -> Wire {
    let inside = kept.iter().map(|kept| kept.row.parts.wire);
    let inside = inside.filter(|wire| matches!(wire, Wire::Fabric | Wire::Pcie | Wire::Staged));
    inside.max().unwrap_or(Wire::Fabric)
}

/// A machine while it is being fitted.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub model: Model,
    pub least_host: bool,
    pub factors: Values,
    pub kept: Vec<Kept>,
}

impl Fit {
    /// The process about the parameters so far.
    pub fn process(&self, copies: &[Copies]) -> Option<Process> {
        let noise = self.model.noise * self.model.noise;
        let rows = self.kept.iter().map(|kept| {
            let Observation { regime, parts, measured_us } = kept.row;
            let place = self.model.place(Some(regime), &parts, &self.factors, self.least_host);
            let left = libm::log(measured_us) - place.log_us;
            Given { place, left, noise: noise / (kept.count * kept.weight) }
        });
        let copies = copies.iter().map(|copies| {
            let place = Model::copies(&self.factors);
            // A link of half the rate takes twice the time.
            Given { place, left: -libm::log(copies.evidence.share) - place.log_us, noise: copies.noise }
        });
        Process::of(self.model, self.factors, rows.chain(copies).collect())
    }

    /// The most likely parameters, and how likely all of it is.
    fn settled(mut self, copies: &[Copies], freedom: f64) -> Option<(Self, f64)> {
        let mut process = self.process(copies)?;
        for round in 0..ROUNDS {
            let step = if round == 0 { 1.0 } else { STEP };
            for (factor, likely) in self.factors.iter_mut().zip(process.most_likely()) {
                *factor = (*factor + step * (likely - *factor)).clamp(-FARTHEST, FARTHEST);
            }
            if round >= SETTLED {
                for (kept, error) in self.kept.iter_mut().zip(process.errors()) {
                    // As if what rows differ by had heavy tails (Student's distribution).
                    kept.weight = ((freedom + 1.0) / (freedom + error * error)).min(1.0);
                }
            }
            process = self.process(copies)?;
        }
        self.model.wider = process.wider();
        // What it takes to hold rows for outliers.
        let weights = self.kept.iter().map(|kept| libm::log(kept.weight) - kept.weight + 1.0);
        let evidence = process.evidence + 0.5 * freedom * weights.sum::<f64>();
        Some((self, evidence))
    }

    /// Where the rows do not tell who starts the kernels, the host's time may be that of either way, which rows near
    /// by would show.
    fn unsure_of_start(mut self, share: f64, copies: &[Copies], freedom: f64) -> Option<Self> {
        let ratio = |kept: &Kept| kept.row.parts.host_us / kept.row.parts.least_host_us;
        let ratios = self.kept.iter().map(ratio).filter(|ratio| *ratio > 1.0 && ratio.is_finite());
        let most = libm::log(ratios.fold(1.0, f64::max));
        // Of two values with these shares.
        let apart = (share * (1.0 - share)).sqrt() * most;
        let host = &mut self.model.deviations[Parameter::Host as usize];
        *host = host.hypot(apart);
        self.settled(copies, freedom).map(|(fit, _)| fit)
    }

    fn calibration(self, copies: Vec<Copies>, least_host_share: f64) -> Option<Calibration> {
        let process = self.process(&copies)?;
        Some(Calibration {
            factors: self.factors,
            deviations: process.deviations(),
            model: Some(self.model),
            rows: self.kept,
            copies,
            least_host_share,
            process: Some(process),
            ..Calibration::default()
        })
    }
}
