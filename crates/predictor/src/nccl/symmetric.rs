//! Kernels for buffers that are registered as symmetric windows: NCCL has a second model for them.
//!
//! time = base + softplus(bytes on the bus / rate - 1); the rate grows with the SMs up to a peak, and NCCL takes the
//! fewest SMs that come near the best.

use weft_base::Bytes;
use weft_collective::Collective;
use weft_topology::NcclPath;

use super::choice::{Algorithm, Choice, Protocol};
use super::constants::Column;
use super::tuning::{Price, Tuning};
use crate::PredictError;

/// A kernel: whether it stores flags beside the data, and whether switches copy or add.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    ll: bool,
    multicast: bool,
}

/// Time and SMs of a kernel.
type Run = (f64, u16);

/// The kernels of a collective, where all GPUs reach each other over NVLink; none else.
pub(super) fn choices(tuning: &Tuning<'_>, collective: Collective) -> Result<Vec<Choice>, PredictError> {
    let has = matches!(collective, Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter);
    let by_nvlink = tuning.system.kinds().1 == NcclPath::Nvl && tuning.system.capability >= 70;
    if !has || !by_nvlink || tuning.constants.only("rules", "symmetric-kernels")? <= 0.0 {
        return Ok(Vec::new());
    }
    let graph = &tuning.graphs.ring;
    let mut choices = Vec::new();
    for protocol in [Protocol::Ll, Protocol::Simple] {
        let base_us = base_us(tuning, collective, protocol == Protocol::Ll)?;
        // So large that the base does not count.
        let large = Bytes::new(1 << 40);
        let (time_us, _) = best(tuning, collective, protocol, large)?;
        let algbw = large.as_f64() / (time_us - base_us) / 1000.0;
        let price = Price { base_us, counted_us: 0.0, algbw, steps: (1, 0), step_us: (0.0, 0.0) };
        choices.push(tuning.complete(collective, Algorithm::Symmetric, protocol, graph, price));
    }
    Ok(choices)
}

/// Time with a penalty for each SM, as NCCL compares kernels.
pub(super) fn price(tuning: &Tuning<'_>, choice: &Choice, bytes: Bytes) -> Result<f64, PredictError> {
    let (time_us, processors) = best(tuning, choice.collective, choice.protocol, bytes)?;
    let penalty = tuning.constants.only("symmetric-rules", "near-best")? - 1.0;
    Ok(time_us * (1.0 + penalty * f64::from(processors)))
}

/// SMs that the kernel takes.
pub(super) fn processors(tuning: &Tuning<'_>, choice: &Choice, bytes: Bytes) -> Result<u16, PredictError> {
    best(tuning, choice.collective, choice.protocol, bytes).map(|(_, processors)| processors)
}

fn best(
    tuning: &Tuning<'_>,
    collective: Collective,
    protocol: Protocol,
    bytes: Bytes,
) -> Result<Run, PredictError> {
    let ll = protocol == Protocol::Ll;
    let copies = tuning.system.reducing.is_some() && !tuning.settings.without_nvls;
    // There is no reduction of flagged data in switches.
    let may = copies && !(ll && collective == Collective::ReduceScatter);
    let mut best = run(tuning, collective, Kernel { ll, multicast: false }, bytes)?;
    if may {
        let other = run(tuning, collective, Kernel { ll, multicast: true }, bytes)?;
        if other.0 < best.0 {
            best = other;
        }
    }
    Ok(best)
}

fn generation(tuning: &Tuning<'_>) -> &'static str {
    if tuning.system.capability >= 100 { "blackwell" } else { "hopper" }
}

fn base_us(tuning: &Tuning<'_>, collective: Collective, ll: bool) -> Result<f64, PredictError> {
    let index = match (ll, collective) {
        (true, Collective::AllGather) => 1,
        (true, _) => 0,
        (false, Collective::AllReduce) => 3,
        (false, _) => 2,
    };
    tuning.constants.at("symmetric-base", generation(tuning), index)
}

/// The fewest SMs whose time is near that of all.
fn run(
    tuning: &Tuning<'_>,
    collective: Collective,
    kernel: Kernel,
    bytes: Bytes,
) -> Result<Run, PredictError> {
    let rule = |name| tuning.constants.only("symmetric-rules", name);
    let rate = |index| tuning.constants.at("symmetric-rate", generation(tuning), index);
    let ranks = f64::from(tuning.ranks);
    let reduces = collective == Collective::AllReduce;
    // What each rank brings; nccl-tests counts all ranks' parts of a gather.
    let own = if reduces { bytes.as_f64() } else { bytes.as_f64() / ranks };
    let bus_bytes = match (kernel.ll, reduces, kernel.multicast) {
        (true, _, _) => ranks * own * rule("ll-bytes")?,
        (false, true, false) => 2.0 * own * (ranks - 1.0) / ranks,
        (false, true, true) => own / ranks + own,
        (false, false, _) => (ranks - 1.0) * own,
    };
    let multiplier = match (kernel.multicast, kernel.ll, reduces) {
        (false, _, _) => 1.0,
        (true, true, _) => rule("multicast-ll")?,
        (true, false, true) => ranks * rule("multicast-all-reduce-per-rank")?,
        (true, false, false) => ranks * rule("multicast-gather-per-rank")?,
    };
    // GiB/s in bytes per microsecond.
    let unit = f64::from(1u32 << 30) / 1e6;
    let each = rate(usize::from(!reduces))? * unit;
    let peak = rate(if reduces && kernel.multicast && !kernel.ll { 3 } else { 2 })? * unit;
    let base_us = base_us(tuning, collective, kernel.ll)?;
    let time = |processors: u16| {
        let rate = soft_least(f64::from(processors) * each * multiplier, peak, each);
        base_us + soft_positive(bus_bytes / rate - 1.0)
    };
    let most =
        if kernel.multicast && !kernel.ll { multicast_processors(tuning)? } else { all_processors(tuning)? };
    let near = rule("near-best")? * time(most);
    let fewest = (1..most).find(|processors| time(*processors) <= near).unwrap_or(most);
    Ok((time(fewest), fewest))
}

fn all_processors(tuning: &Tuning<'_>) -> Result<u16, PredictError> {
    count(tuning.constants.value("symmetric-processors", "all", Column::First)?)
}

/// Kernels that add or copy in the switches share few SMs over all ranks.
fn multicast_processors(tuning: &Tuning<'_>) -> Result<u16, PredictError> {
    let shared = tuning.constants.value("symmetric-processors", generation(tuning), Column::First)?;
    count((shared / f64::from(tuning.ranks)).ceil())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1 to 1024")]
#[expect(clippy::unnecessary_wraps, reason = "stands at the end of what may fail")]
fn count(processors: f64) -> Result<u16, PredictError> {
    Ok(processors.clamp(1.0, 1024.0) as u16)
}

/// Nearly the lesser of two, without an edge.
fn soft_least(x: f64, ceiling: f64, softness: f64) -> f64 {
    let above = libm::exp(ceiling / softness) - 1.0;
    ceiling - softness * libm::log1p(above * libm::exp(-x / softness))
}

/// Nearly the value where it is positive, else nearly nothing.
fn soft_positive(x: f64) -> f64 {
    // Beyond this the difference is lost in rounding, and the power would overflow.
    if x > 50.0 { x } else { libm::log1p(libm::exp(x)) }
}
