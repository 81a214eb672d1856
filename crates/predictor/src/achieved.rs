//! What a choice of NCCL's really reaches, where its model is known to differ.

use weft_catalogue::Catalogue;

use crate::PredictError;
use crate::nccl::constants::{Column, Constants};
use crate::nccl::system::System;
use crate::nccl::tuning::{Algorithm, Choice, Protocol};

/// The catalogue's measured corrections to NCCL's model.
const LIBRARY: &str = "nccl-achieved";

/// A choice with the bandwidth that it is expected to reach.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub choice: Choice,
    /// Message bytes per second in GB/s at large sizes.
    pub algbw: f64,
    /// Why it differs from NCCL's price, as clauses; empty where it does not.
    pub why: Vec<String>,
}

/// Prices `choice` by what was measured of such choices.
pub(crate) fn expect(
    choice: Choice,
    system: &System,
    bus_factor: f64,
    constants: Constants<'_>,
    catalogue: &Catalogue,
) -> Result<Expected, PredictError> {
    let mut expected = Expected { algbw: choice.algbw, choice, why: Vec::new() };
    match (expected.choice.algorithm, system.reducing) {
        (Algorithm::Nvls, Some(rate)) => multicast(&mut expected, system, rate, constants)?,
        (Algorithm::Nvls | Algorithm::Ring | Algorithm::Tree, _) => {}
    }
    if expected.choice.staged && expected.choice.protocol == Protocol::Simple {
        staged(&mut expected, system, bus_factor, catalogue)?;
    }
    Ok(expected)
}

/// In-switch reduction moves every byte once up and once down on each GPU, and the head's share once more:
/// (heads + 1) / heads of the message per direction. NCCL rounds that to its list of speeds; wires do not.
fn multicast(
    expected: &mut Expected,
    system: &System,
    rate: f64,
    constants: Constants<'_>,
) -> Result<(), PredictError> {
    let generation = if system.capability >= 100 { "blackwell" } else { "hopper" };
    let efficiency = constants.only("nvls-efficiency", generation)?;
    let heads = f64::from(expected.choice.channels);
    expected.algbw = rate * efficiency * heads / (heads + 1.0);
    expected.why.push(format!(
        "each GPU moves {heads:.0} + 1 of {heads:.0} parts per direction at {efficiency} of {rate:.1} GB/s"
    ));
    Ok(())
}

/// Through host memory a ring reaches a share of the PCIe ports, whatever NCCL counts for the sockets' link.
fn staged(
    expected: &mut Expected,
    system: &System,
    bus_factor: f64,
    catalogue: &Catalogue,
) -> Result<(), PredictError> {
    let Some(port) = system.pcie_port else { return Ok(()) };
    let share = Constants::of(catalogue, LIBRARY)?.value("staged-share", "share", Column::First)?;
    expected.algbw = share * port / bus_factor;
    expected.why.push(format!(
        "data is copied through host memory (no peer access on this way): {share} of the {port:.1} GB/s that NCCL counts \
         for a PCIe port was measured"
    ));
    Ok(())
}
