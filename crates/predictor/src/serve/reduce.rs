//! Seconds of the all-reduces of a tensor-parallel group: the library's, or those of the engine's own kernel, in which each
//! GPU reads what its peers have.

use weft_catalogue::{Catalogue, Engine};
use weft_workload::{Axis, Reach, Transfer};

use crate::nccl::constants::{Column, Constants};
use crate::train::{Network, TrainError};

const MIB: f64 = 1_048_576.0;

/// The engine's own kernel on a group.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OneShot {
    /// Seconds of the smallest.
    least_s: f64,
    /// Bytes/s that each GPU reads.
    rate: f64,
    /// Bytes that each GPU reads for each byte of the buffer.
    reads: f64,
    /// The largest buffer.
    largest_bytes: f64,
}

/// How a tensor-parallel group sums.
#[derive(Clone, Copy)]
pub(super) struct Reduce<'s> {
    network: Network<'s>,
    own: Option<OneShot>,
}

impl<'s> Reduce<'s> {
    /// For the group of `tensor` GPUs next to each other.
    pub fn new(
        network: Network<'s>,
        tensor: u32,
        engine: &Engine,
        catalogue: &Catalogue,
    ) -> Result<Self, TrainError> {
        let own = if engine.one_shot.value { own(&network, tensor, catalogue)? } else { None };
        Ok(Self { network, own })
    }

    /// Seconds of all of a transfer.
    pub fn seconds(&self, transfer: &Transfer) -> Result<f64, TrainError> {
        let library = self.network.transfer(transfer)?;
        Ok(self.own_seconds(transfer).map_or(library, |own| own.min(library)))
    }

    /// Whether the engine's own kernel does it.
    pub fn is_own(&self, transfer: &Transfer) -> Result<bool, TrainError> {
        let library = self.network.transfer(transfer)?;
        Ok(self.own_seconds(transfer).is_some_and(|own| own < library))
    }

    fn own_seconds(&self, transfer: &Transfer) -> Option<f64> {
        let is_sum = transfer.axis == Axis::Tensor && transfer.is_needed();
        let own = self.own.filter(|own| is_sum && transfer.bytes <= own.largest_bytes)?;
        Some(transfer.repeat_count * (own.least_s + own.reads * transfer.bytes / own.rate))
    }
}

fn own(network: &Network<'_>, tensor: u32, catalogue: &Catalogue) -> Result<Option<OneShot>, TrainError> {
    let constants = Constants::of(catalogue, "serve-time")?;
    let Some(row) =
        ["2", "4", "8"].into_iter().find(|row| row.parse::<u32>().is_ok_and(|gpus| tensor <= gpus))
    else {
        return Ok(None);
    };
    let Some(peers) = network.peers(Reach { gpus: tensor, stride: 1 })? else { return Ok(None) };
    if !peers.fabric && f64::from(tensor) > constants.only("one-shot-use", "pcie-gpus")? {
        return Ok(None);
    }
    let flags_us = if peers.fabric { 0.0 } else { constants.only("one-shot-pcie", "flags")? };
    let rate = constants.value("one-shot", row, Column::Second)?.min(peers.rate_gbps);
    let ranks = f64::from(tensor);
    Ok(Some(OneShot {
        least_s: 1e-6 * (constants.value("one-shot", row, Column::First)? + flags_us),
        rate: 1e9 * rate,
        // Two GPUs read each other's buffer whole; more of them sum a part each and gather.
        reads: if tensor == 2 { 1.0 } else { 2.0 * (ranks - 1.0) / ranks },
        largest_bytes: MIB * constants.only("one-shot-use", "largest")?,
    }))
}
