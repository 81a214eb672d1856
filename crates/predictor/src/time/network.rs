//! What passes between nodes: hops of the network, and the chunks that fill them.

use super::achieved::{Chunks, Expected};
use crate::PredictError;
use crate::nccl::choice::{Algorithm, Choice, Protocol};
use crate::nccl::constants::Constants;
use crate::nccl::nics::Net;
use crate::nccl::system::System;
use crate::nccl::tuning::Tuning;

/// Whether a channel's way into the network carries less than its way inside.
pub(super) fn is_narrow(system: &System, choice: &Choice) -> bool {
    !system.nics.is_empty() && choice.inter_gbps <= choice.intra_gbps
}

/// Adds the hops between nodes and the chunks that fill them.
pub(super) fn between<'c>(
    expected: &mut Expected<'c>,
    tuning: &Tuning<'c>,
    achieved: Constants<'c>,
) -> Result<(), PredictError> {
    let choice = &expected.choice;
    let hops = f64::from(choice.steps_inter);
    let step_us = step_us(choice, achieved)? + family_us(tuning.system, achieved)?;
    expected.inter_us = hops * step_us;
    if matches!(choice.algorithm, Algorithm::Ring | Algorithm::Direct) {
        // Every rank of a ring sends all the time: what its steps take is the time on the wire.
        expected.filling_share = if expected.between { 0.0 } else { expected.filling_share };
    } else if choice.protocol == Protocol::Simple {
        let most_bytes = tuning.chunk_bytes()?;
        let channels = f64::from(started(tuning, choice)?);
        let rate = choice.inter_gbps * f64::from(choice.channels) / channels;
        expected.chunks = Chunks { hops, most_bytes, least_count: 2.0 * channels, rate };
    }
    Ok(())
}

/// Channels that a large message is spread over.
fn started(tuning: &Tuning<'_>, choice: &Choice) -> Result<u16, PredictError> {
    let large = weft_base::Bytes::new(1 << 33);
    Ok(tuning.channels_used(choice, large)?.max(choice.channels).max(1))
}

/// One hop of the network with adapters that access the GPUs' memory, as measured.
fn step_us(choice: &Choice, achieved: Constants<'_>) -> Result<f64, PredictError> {
    let row = match choice.algorithm {
        Algorithm::Ring | Algorithm::Direct | Algorithm::Symmetric => "ring",
        Algorithm::Tree
        | Algorithm::Nvls
        | Algorithm::CollnetDirect
        | Algorithm::CollnetChain
        | Algorithm::Pat => "tree",
        Algorithm::NvlsTree => "nvls-tree",
    };
    achieved.value("network-step", row, choice.protocol.column())
}

/// What a hop takes longer over this kind of network.
fn family_us(system: &System, achieved: Constants<'_>) -> Result<f64, PredictError> {
    let Some(nic) = system.nics.first() else { return Ok(0.0) };
    let first_efa = nic.model.as_deref() == Some("aws-efa-v1");
    let row = match nic.net {
        Net::InfiniBand => "infiniband",
        Net::Roce => "roce",
        Net::Tcp => "tcp",
        Net::Efa if first_efa => "efa-v1",
        Net::Efa => "efa",
        Net::Slingshot => "slingshot",
        Net::OmniPath => "omni-path",
    };
    achieved.only("network-step-more", row)
}
