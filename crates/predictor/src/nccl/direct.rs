//! All-to-all: NCCL has no price for it. Each rank sends to each peer by itself; what is given here is the load that
//! this lays on everything that is shared, so that time can be told from it.

use weft_base::Bytes;
use weft_collective::Collective;

use super::choice::{Algorithm, Choice, Protocol};
use super::system::{Path, System};
use super::tuning::{Price, Tuning};
use crate::PredictError;

/// LL for small messages, Simple for the others.
pub(super) fn choices(tuning: &Tuning<'_>) -> Result<Vec<Choice>, PredictError> {
    let (heaviest, rounds_per_narrow) = heaviest_load(tuning.system, f64::from(tuning.ranks));
    let algbw = 1.0 / heaviest;
    let mut choices = Vec::new();
    for protocol in [Protocol::Ll, Protocol::Simple] {
        let graph = &tuning.graphs.ring;
        let one = tuning.latency(Collective::SendRecv, Algorithm::Ring, protocol, graph)?;
        let share = if protocol == Protocol::Ll {
            tuning.constants.only("rules", "ring-ll-efficiency").unwrap_or(0.5)
        } else {
            1.0
        };
        let within = tuning.ranks / tuning.nodes.max(1);
        let steps = (within.saturating_sub(1), tuning.ranks - within);
        let price = Price { algbw: algbw * share, steps, ..one };
        let channels = per_peer(tuning)?;
        let direct = tuning.complete(Collective::AllToAll, Algorithm::Direct, protocol, graph, price);
        choices.push(Choice { channels, rounds_per_narrow, ..direct });
    }
    Ok(choices)
}

/// The price by which LL and Simple are told apart: LL up to a number of bytes for each peer.
pub(super) fn price(tuning: &Tuning<'_>, choice: &Choice, bytes: Bytes) -> Result<f64, PredictError> {
    let each = bytes.as_f64() / f64::from(tuning.ranks);
    let small = each <= tuning.constants.only("rules", "p2p-ll-threshold-bytes")?;
    if small != (choice.protocol == Protocol::Ll) {
        return Ok(f64::INFINITY);
    }
    Ok(choice.latency_us + bytes.as_f64() / (1000.0 * choice.algbw))
}

/// Channels for one peer: over the network as many as its rate needs, each carrying so much.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1 to 32")]
fn per_peer(tuning: &Tuning<'_>) -> Result<u16, PredictError> {
    let each = tuning.constants.only("rules", "p2p-net-channel-gbps")?;
    let system = tuning.system;
    let rate = if tuning.nodes > 1 {
        system.nics.iter().map(|nic| nic.rate).fold(0.0, f64::max)
    } else {
        system.paths().map(|path| path.rate).fold(0.0, f64::max)
    };
    let needed = (rate / each).ceil().clamp(1.0, 32.0) as u16;
    Ok(needed.next_power_of_two())
}

/// Bytes over the most loaded resource per byte of message, over what it carries: nanoseconds per byte. And all peers
/// of a rank over those whose way passes that resource.
fn heaviest_load(system: &System, ranks: f64) -> (f64, f64) {
    let count = system.gpus.len();
    let mut load = vec![0.0; system.capacity.len()];
    let mut add = |path: &Path, share: f64| {
        for (index, weight) in &path.uses {
            load[*index] += weight * share;
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "GPUs of one node")]
    let away = (ranks - count as f64) / ranks;
    for gpu in 0..count {
        peers(system, gpu).for_each(|path| add(path, 1.0 / ranks));
        let nics = nearest(system, gpu);
        #[expect(clippy::cast_precision_loss, reason = "NICs of one node")]
        let share = away / nics.len().max(1) as f64;
        for nic in nics {
            ways(system, nic, gpu).for_each(|path| add(path, share));
        }
    }
    let busiest = load.iter().zip(&system.capacity).map(|(load, capacity)| load / capacity).enumerate();
    let (narrow, heaviest) = busiest.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::MIN_POSITIVE));
    let passes = |path: &&Path| path.uses.iter().any(|(index, _)| *index == narrow);
    #[expect(clippy::cast_precision_loss, reason = "GPUs of one node")]
    let passing = |gpu: usize| {
        let inside = peers(system, gpu).filter(passes).count() as f64;
        let leaves =
            nearest(system, gpu).into_iter().any(|nic| ways(system, nic, gpu).any(|path| passes(&path)));
        inside + if leaves { away * ranks } else { 0.0 }
    };
    let most = (0..count).map(passing).fold(1.0, f64::max);
    (heaviest.max(f64::MIN_POSITIVE), (ranks - 1.0) / most)
}

/// From a GPU to the others of its node.
fn peers(system: &System, gpu: usize) -> impl Iterator<Item = &Path> {
    (0..system.gpus.len()).filter(move |to| *to != gpu).filter_map(move |to| system.path(gpu, to))
}

/// From a GPU to a NIC and back.
fn ways(system: &System, nic: usize, gpu: usize) -> impl Iterator<Item = &Path> {
    let end = &system.nics[nic];
    end.out[gpu].iter().chain(end.into[gpu].iter())
}

/// The NICs that a GPU sends by: its own, else the nearest.
fn nearest(system: &System, gpu: usize) -> Vec<usize> {
    let own: Vec<usize> = (0..system.nics.len()).filter(|nic| system.nics[*nic].local == gpu).collect();
    if !own.is_empty() {
        return own;
    }
    let kind = |nic: usize| system.nics[nic].into[gpu].as_ref().map(|path| path.kind);
    let best = (0..system.nics.len()).filter_map(kind).min();
    (0..system.nics.len()).filter(|nic| kind(*nic) == best).collect()
}
