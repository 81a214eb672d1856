//! What a choice of NCCL's really reaches, where its model is known to differ.

use weft_base::Bytes;
use weft_catalogue::Catalogue;

use crate::PredictError;
use crate::bound::Bound;
use crate::calibrate::Parts;
use crate::nccl::constants::{Column, Constants};
use crate::nccl::system::System;
use crate::nccl::tuning::{Algorithm, Choice, Protocol};
use crate::step::Cite;

/// The catalogue's measured corrections to NCCL's model.
const LIBRARY: &str = "nccl-achieved";

/// A choice with the bandwidth that it is expected to reach.
#[derive(Debug, Clone)]
pub(crate) struct Expected<'c> {
    pub choice: Choice,
    /// Message bytes per second in GB/s at large sizes.
    pub algbw: f64,
    /// Microseconds before the first byte counts.
    pub latency_us: f64,
    /// The part of it that is steps, one after the other.
    pub depth_us: f64,
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
    let mut expected = Expected {
        algbw: choice.algbw,
        latency_us: choice.latency_us,
        depth_us: choice.depth_us,
        choice,
        reasons: Vec::new(),
        wire: None,
    };
    match (expected.choice.algorithm, system.reducing) {
        (Algorithm::Nvls, Some(rate)) => multicast(&mut expected, system, rate, constants, catalogue)?,
        (
            Algorithm::Ring
            | Algorithm::Tree
            | Algorithm::CollnetDirect
            | Algorithm::CollnetChain
            | Algorithm::Nvls
            | Algorithm::NvlsTree
            | Algorithm::Pat,
            _,
        ) => {}
    }
    if expected.choice.staged && expected.choice.protocol == Protocol::Simple {
        staged(&mut expected, system, bus_factor, catalogue)?;
    }
    keep_within(&mut expected, bus_factor, bound);
    Ok(expected)
}

/// Expected microseconds for one message, in parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time {
    /// The message.
    pub bytes: Bytes,
    /// Before the first byte counts.
    pub start_us: f64,
    /// The part of it that is steps.
    pub steps_us: f64,
    /// All bytes at the expected bandwidth.
    pub wire_us: f64,
    /// What filling the pipeline adds.
    pub filling_us: f64,
}

impl Time {
    pub fn total_us(&self) -> f64 {
        self.start_us + self.wire_us + self.filling_us
    }

    /// As a calibration scales it.
    pub fn parts(&self) -> Parts {
        Parts {
            launch_us: self.start_us - self.steps_us,
            steps_us: self.steps_us,
            ramp_us: self.filling_us,
            intra_us: self.wire_us,
            inter_us: 0.0,
        }
    }
}

/// Expected time of a message: latency, bytes over bandwidth, and filling the pipeline.
///
/// Chunks pass a pipeline of depth D one after the other. Cut into the best number of chunks, a message that
/// takes W on the wire takes (sqrt W + sqrt D)^2, so 2 sqrt(W D) more than W + D. NCCL cuts finer for small
/// messages up to a largest chunk; from there on the extra time stays. LL passes single stores on: it has no chunks.
pub(crate) fn time(expected: &Expected<'_>, bytes: Bytes, full_bytes: f64, correction: f64) -> Time {
    let wire_us = |bytes: f64| bytes / (1000.0 * expected.algbw * correction);
    let filling_us = match expected.choice.protocol {
        Protocol::Ll => 0.0,
        Protocol::Ll128 | Protocol::Simple => {
            2.0 * libm::sqrt(wire_us(bytes.as_f64().min(full_bytes)) * expected.depth_us)
        }
    };
    let (start_us, steps_us) = (expected.latency_us, expected.depth_us.min(expected.latency_us));
    Time { bytes, start_us, steps_us, wire_us: wire_us(bytes.as_f64()), filling_us }
}

/// In-switch reduction moves every byte once up and once down on each GPU, and the head's share once more:
/// (heads + 1) / heads of the message per direction. NCCL rounds that to its list of speeds; wires do not.
fn multicast<'c>(
    expected: &mut Expected<'c>,
    system: &System,
    rate: f64,
    constants: Constants<'c>,
    catalogue: &'c Catalogue,
) -> Result<(), PredictError> {
    let generation = if system.capability >= 100 { "blackwell" } else { "hopper" };
    let efficiency = constants.only("nvls-efficiency", generation)?;
    let heads = f64::from(expected.choice.channels);
    expected.algbw = rate * efficiency * heads / (heads + 1.0);
    let achieved = Constants::of(catalogue, LIBRARY)?;
    expected.depth_us = achieved.only("nvls-step", "step")?;
    expected.latency_us = constants.value("base-latency", "ring", Column::Third)? + expected.depth_us;
    let text = format!(
        "each GPU moves {heads:.0} + 1 of {heads:.0} parts per direction at {efficiency} of {rate:.1} GB/s"
    );
    let cites = constants.cite("nvls-efficiency").into_iter().chain(achieved.cite("nvls-step")).collect();
    expected.reasons.push(Reason { text, cites });
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
    catalogue: &'c Catalogue,
) -> Result<(), PredictError> {
    let Some(port) = system.pcie_port else { return Ok(()) };
    let achieved = Constants::of(catalogue, LIBRARY)?;
    let share = achieved.only("staged-share", "share")?;
    expected.algbw = share * port / bus_factor;
    let text = format!(
        "data is copied through host memory (no peer access on this way): {share} of the {port:.1} GB/s that NCCL counts \
         for a PCIe port was measured"
    );
    expected.reasons.push(Reason { text, cites: achieved.cite("staged-share").into_iter().collect() });
    Ok(())
}
