//! Copies of a whole model on several GPUs: the time of the fewest is given, and what summing gradients adds is predicted.
//!
//! The programs of the published tables sum them behind the backward pass.

use std::collections::BTreeMap;

use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_workload::{Axis, Reach, Transfer};

use super::network::Network;
use super::published::PublishedRate;
use super::score::{Ratio, Sites};
use super::{Site, TrainError};
use crate::nccl::constants::Constants;

/// Scaling of all rows against that of the fewest GPUs with the same key.
pub(super) fn ratios<'c>(
    rates: &[PublishedRate],
    sites: &mut Sites<'c>,
    catalogue: &'c Catalogue,
) -> Vec<Ratio> {
    let mut alike: BTreeMap<&str, Vec<&PublishedRate>> = BTreeMap::new();
    for rate in rates {
        alike.entry(&rate.key).or_default().push(rate);
    }
    let mut all = Vec::new();
    for group in alike.values() {
        let Some(fewest) = group.iter().min_by_key(|rate| rate.gpus) else { continue };
        for rate in group.iter().filter(|rate| rate.gpus > fewest.gpus) {
            let per_gpu = |rate: &PublishedRate, step_s: f64| rate.rate_per_second() * rate.step_s / step_s;
            let each = |rate: &PublishedRate, step_s: f64| per_gpu(rate, step_s) / f64::from(rate.gpus);
            let predicted = predict(fewest, rate, sites, catalogue).ok();
            let base = each(fewest, fewest.step_s);
            all.push(Ratio {
                file: rate.file.clone(),
                lines: (fewest.line, rate.line),
                measured_ratio: each(rate, rate.step_s) / base,
                predicted_ratio: predicted.map(|step_s| each(rate, step_s) / base),
            });
        }
    }
    all
}

/// Seconds of a step of `more`, from those that were measured of the fewest.
fn predict<'c>(
    fewest: &PublishedRate,
    more: &PublishedRate,
    sites: &mut Sites<'c>,
    catalogue: &'c Catalogue,
) -> Result<f64, String> {
    let straggler = Constants::of(catalogue, "step-time")
        .and_then(|constants| constants.only("scale", "straggler-per-doubling"))
        .map_err(|error| error.to_string())?;
    let slower = |rate: &PublishedRate| 1.0 + straggler * libm::log2(f64::from(rate.gpus));
    let mut summed = |rate: &PublishedRate| {
        let site = sites.of(&rate.machine, catalogue)?;
        summed_s(site, rate).map_err(|error| error.to_string())
    };
    let alone_s = fewest.step_s / slower(fewest) - summed(fewest)?;
    Ok((alone_s + summed(more)?) * slower(more))
}

/// Seconds of the all-reduce of a copy's gradients.
fn summed_s(site: &Site<'_>, rate: &PublishedRate) -> Result<f64, TrainError> {
    let reach = Reach { gpus: rate.gpus, stride: 1 };
    let transfer = Transfer::once(Axis::Data, Collective::AllReduce, reach, rate.gradient_bytes);
    Network::new(site, site.domain_of(rate.gpus)).transfer(&transfer)
}
