//! What a choice of NCCL's really reaches, where its model is known to differ.

use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_collective::Collective;

use super::{LIBRARY, LaunchCost, Time};
use crate::PredictError;
use crate::bound::Bound;
use crate::nccl::choice::{Algorithm, Choice, Protocol, generation};
use crate::nccl::constants::{Column, Constants};
use crate::nccl::system::System;
use crate::step::Cite;

/// A choice with the bandwidth and the latencies that it is expected to have.
#[derive(Debug, Clone)]
pub(crate) struct Expected<'c> {
    pub choice: Choice,
    /// Message bytes per second in GB/s at large sizes.
    pub algbw: f64,
    /// To start and end the kernel.
    pub kernel_us: f64,
    /// Hops, one after the other.
    pub steps_us: f64,
    /// The part of the ideal time to fill the pipeline that is seen.
    pub filling_share: f64,
    /// Why it differs from NCCL's price; empty where it does not.
    pub reasons: Vec<Reason<'c>>,
    /// What carries no more than this, where the wires end before the model does.
    pub wire: Option<String>,
}

/// A correction to NCCL's price, as a clause, and where it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Reason<'c> {
    pub text: String,
    pub cites: Vec<Cite<'c>>,
}

/// Prices `choice` by what was measured of such choices.
pub(crate) fn expect<'c>(
    choice: Choice,
    system: &System,
    bus_factor: f64,
    bound: &Bound,
    constants: Constants<'c>,
    catalogue: &'c Catalogue,
) -> Result<Expected<'c>, PredictError> {
    let achieved = Constants::of(catalogue, LIBRARY)?;
    let mut expected = Expected {
        algbw: choice.algbw,
        kernel_us: choice.base_us,
        steps_us: choice.depth_us,
        filling_share: achieved.only("filling-share", "share")?,
        choice,
        reasons: Vec::new(),
        wire: None,
    };
    let reduces = expected.choice.collective == Collective::AllReduce;
    if let (Algorithm::Nvls, Some(rate), true) = (expected.choice.algorithm, system.reducing, reduces) {
        multicast(&mut expected, system, rate, constants, achieved)?;
    }
    if expected.choice.protocol == Protocol::Ll {
        small_stores(&mut expected, system, bus_factor, achieved)?;
    }
    if expected.choice.staged && expected.choice.protocol == Protocol::Simple {
        staged(&mut expected, system, bus_factor, achieved)?;
    }
    keep_within(&mut expected, bus_factor, bound);
    Ok(expected)
}

/// Expected time of a message, in parts.
///
/// Chunks pass a pipeline of depth D one after the other. Cut into the best number of chunks, a message that
/// takes W on the wire takes (sqrt W + sqrt D)^2, so 2 sqrt(W D) more than W + D. NCCL cuts finer for small
/// messages up to a largest chunk; from there on the extra time stays. LL passes single stores on: it has no chunks.
pub(crate) fn time(
    expected: &Expected<'_>,
    launch: LaunchCost,
    bytes: Bytes,
    full_bytes: f64,
    correction: f64,
) -> Time {
    let wire_us = |bytes: f64| bytes / (1000.0 * expected.algbw * correction);
    let filling_us = match expected.choice.protocol {
        Protocol::Ll => 0.0,
        Protocol::Ll128 | Protocol::Simple => {
            let wire_us = wire_us(bytes.as_f64().min(full_bytes));
            expected.filling_share * 2.0 * libm::sqrt(wire_us * expected.steps_us)
        }
    };
    Time {
        bytes,
        host_us: launch.host_us,
        call_us: launch.call_us,
        kernel_us: expected.kernel_us,
        steps_us: expected.steps_us,
        filling_us,
        wire_us: wire_us(bytes.as_f64()),
    }
}

/// In-switch reduction moves every byte once up and once down on each GPU, and the head's share once more:
/// (heads + 1) / heads of the message per direction. NCCL rounds that to its list of speeds; wires do not.
fn multicast<'c>(
    expected: &mut Expected<'c>,
    system: &System,
    rate: f64,
    constants: Constants<'c>,
    achieved: Constants<'c>,
) -> Result<(), PredictError> {
    let efficiency = achieved.only("multicast-share", generation(system.capability))?;
    let heads = f64::from(expected.choice.channels);
    expected.algbw = rate * efficiency * heads / (heads + 1.0);
    expected.steps_us = achieved.only("nvls-step", "step")?;
    expected.kernel_us = constants.value("base-latency", "ring", Column::Third)?;
    expected.filling_share = 1.0;
    let text = format!(
        "each GPU moves {heads:.0} + 1 of {heads:.0} parts per direction at {efficiency} of {rate:.1} GB/s"
    );
    let cites = achieved.cite("multicast-share").into_iter().chain(achieved.cite("nvls-step")).collect();
    expected.reasons.push(Reason { text, cites });
    Ok(())
}

/// A hop of LL takes longer than NCCL counts on some generations, and its stores carry less.
fn small_stores<'c>(
    expected: &mut Expected<'c>,
    system: &System,
    bus_factor: f64,
    achieved: Constants<'c>,
) -> Result<(), PredictError> {
    let generation = generation(system.capability);
    expected.steps_us *= achieved.only("ll-step-factor", generation)?;
    let share = achieved.only("ll-share", generation)?;
    if share < 1.0 {
        expected.algbw *= share;
        let text = format!("LL carries {share} of what NCCL counts: {:.1} GB/s", expected.algbw * bus_factor);
        expected.reasons.push(Reason { text, cites: achieved.cite("ll-share").into_iter().collect() });
    }
    Ok(())
}

/// No choice carries more than the wires allow, whatever was measured of other machines.
fn keep_within(expected: &mut Expected<'_>, bus_factor: f64, bound: &Bound) {
    let most = bound.busbw.as_gigabytes() / bus_factor;
    if expected.algbw > most {
        expected.algbw = most;
        let text = format!("no more than the bound: {}", bound.limit);
        expected.reasons = vec![Reason { text, cites: Vec::new() }];
        expected.wire = Some(bound.limit.clone());
    }
}

/// Through host memory a ring reaches a share of the PCIe ports, whatever NCCL counts for the sockets' link.
fn staged<'c>(
    expected: &mut Expected<'c>,
    system: &System,
    bus_factor: f64,
    achieved: Constants<'c>,
) -> Result<(), PredictError> {
    let Some(port) = system.pcie_port else { return Ok(()) };
    let share = achieved.only("staged-share", "share")?;
    expected.algbw = share * port / bus_factor;
    let text = format!(
        "data is copied through host memory (no peer access on this way): {share} of the {port:.1} GB/s that NCCL counts \
         for a PCIe port was measured"
    );
    expected.reasons.push(Reason { text, cites: achieved.cite("staged-share").into_iter().collect() });
    Ok(())
}
