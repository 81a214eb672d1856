//! What a choice of NCCL's really reaches, where its model is known to differ.

use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::NcclPath;

use super::network;
use super::{LIBRARY, LaunchCost, Time};
use crate::PredictError;
use crate::bound::Bound;
use crate::calibrate::Wire;
use crate::nccl::choice::{Algorithm, Choice, Protocol, generation};
use crate::nccl::constants::{Column, Constants};
use crate::nccl::tuning::Tuning;
use crate::step::Cite;

/// A choice with the bandwidth and the latencies that it is expected to have.
#[derive(Debug, Clone)]
pub(crate) struct Expected<'c> {
    pub choice: Choice,
    /// Message bytes per second in GB/s at large sizes.
    pub algbw: f64,
    /// The same of what fills the pipeline within a node.
    pub within: f64,
    /// To start and end the kernel.
    pub kernel_us: f64,
    /// Hops within a node, one after the other.
    pub intra_us: f64,
    /// Hops between nodes, one after the other.
    pub inter_us: f64,
    /// Peers to which a rank sends by itself; 0 where a channel passes everything on.
    pub sends: f64,
    /// What starting one of them costs.
    pub send_us: f64,
    /// The part of the ideal time to fill the pipeline within a node that is seen.
    pub filling_share: f64,
    /// The message that keeps every rank and channel busy with chunks of full size.
    pub full_bytes: f64,
    /// What the network is filled with.
    pub chunks: Chunks,
    /// Whether the narrow links are those between nodes.
    pub between: bool,
    /// Why it differs from NCCL's price; empty where it does not.
    pub reasons: Vec<Reason<'c>>,
    /// What carries no more than this, where the wires end before the model does.
    pub wire: Option<String>,
    /// Where flows meet in the network by chance: the least and the most of the bandwidth, over what is expected.
    pub crowded: Option<[f64; 2]>,
}

/// The chunks that fill the hops between nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Chunks {
    /// Hops that are filled one after the other.
    pub hops: f64,
    /// The largest chunk.
    pub most_bytes: f64,
    /// So many of which a message is cut into at least.
    pub least_count: f64,
    /// What one of them passes at, GB/s.
    pub rate: f64,
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
    tuning: &Tuning<'c>,
    bus_factor: f64,
    bound: &Bound,
    catalogue: &'c Catalogue,
) -> Result<Expected<'c>, PredictError> {
    let achieved = Constants::of(catalogue, LIBRARY)?;
    let mut expected = Expected {
        algbw: choice.algbw,
        within: choice.algbw,
        kernel_us: choice.base_us,
        intra_us: f64::from(choice.steps_intra) * choice.intra_us,
        inter_us: 0.0,
        sends: 0.0,
        send_us: 0.0,
        filling_share: achieved.only("filling-share", "share")?,
        full_bytes: tuning.full_bytes(&choice)?,
        chunks: Chunks::default(),
        between: choice.nodes > 1 && network::is_narrow(tuning.system, &choice),
        choice,
        reasons: Vec::new(),
        wire: None,
        crowded: None,
    };
    let multicasts = matches!(expected.choice.algorithm, Algorithm::Nvls | Algorithm::NvlsTree);
    if let (true, false) = (tuning.system.bridged, multicasts) {
        bridged(&mut expected, tuning, achieved)?;
    }
    if let (true, Some(rate), Collective::AllReduce) =
        (multicasts, tuning.system.reducing, expected.choice.collective)
    {
        multicast(&mut expected, tuning, rate, achieved)?;
    }
    if expected.choice.protocol == Protocol::Ll {
        small_stores(&mut expected, tuning, bus_factor, achieved)?;
    }
    if expected.choice.staged {
        expected.intra_us = f64::from(expected.choice.steps_intra)
            * achieved.only("staged-step", "step")?.max(expected.choice.intra_us);
    }
    if expected.choice.nodes > 1 {
        network::between(&mut expected, tuning, achieved)?;
    }
    if expected.choice.algorithm == Algorithm::Direct {
        direct(&mut expected, achieved)?;
    }
    if expected.choice.staged && expected.choice.protocol == Protocol::Simple && !expected.between {
        staged(&mut expected, tuning, bus_factor, achieved)?;
    }
    keep_within(&mut expected, bus_factor, bound);
    Ok(expected)
}

/// Expected time of a message, in parts.
///
/// Chunks pass a pipeline of depth D one after the other. Cut into the best number of chunks, a message that
/// takes W on the wire takes (sqrt W + sqrt D)^2, so 2 sqrt(W D) more than W + D. NCCL cuts finer for small
/// messages up to a largest chunk; from there on the extra time stays. LL passes single stores on: it has no chunks.
/// Between nodes every hop waits for one chunk of NCCL's size.
pub(crate) fn time(expected: &Expected<'_>, launch: LaunchCost, bytes: Bytes, correction: f64) -> Time {
    let wire_us = |bytes: f64| bytes / (1000.0 * expected.algbw * correction);
    let filling_us = match expected.choice.protocol {
        Protocol::Ll => 0.0,
        Protocol::Ll128 | Protocol::Simple => {
            let wire_us = bytes.as_f64().min(expected.full_bytes) / (1000.0 * expected.within * correction);
            let within = expected.filling_share * 2.0 * libm::sqrt(wire_us * expected.intra_us);
            within + expected.chunks.filling_us(bytes)
        }
    };
    Time {
        bytes,
        host_us: launch.host_us + launch.in_turn * expected.sends * expected.send_us,
        call_us: launch.call_us,
        kernel_us: expected.kernel_us,
        steps_us: expected.intra_us + expected.inter_us,
        filling_us,
        wire_us: wire_us(bytes.as_f64()),
        wire: wire(expected),
    }
}

/// What the bytes pass.
fn wire(expected: &Expected<'_>) -> Wire {
    let choice = &expected.choice;
    if choice.staged && !expected.between {
        return Wire::Staged;
    }
    if choice.protocol == Protocol::Ll {
        return Wire::Stores;
    }
    if expected.between {
        return Wire::Network;
    }
    match choice.kind {
        NcclPath::Loc | NcclPath::Nvl | NcclPath::Nvb | NcclPath::C2c => Wire::Fabric,
        NcclPath::Pix
        | NcclPath::Pxb
        | NcclPath::P2c
        | NcclPath::Pxn
        | NcclPath::Phb
        | NcclPath::Sys
        | NcclPath::Net
        | NcclPath::Dis => Wire::Pcie,
    }
}

impl Chunks {
    fn filling_us(&self, bytes: Bytes) -> f64 {
        if self.hops == 0.0 {
            return 0.0;
        }
        let chunk = self.most_bytes.min(bytes.as_f64() / self.least_count);
        self.hops * chunk / (1000.0 * self.rate)
    }
}

/// In-switch reduction moves every byte once up and once down on each GPU, and the head's share once more:
/// (n + 1) / n of the message per direction. NCCL rounds that to its list of speeds; wires do not.
fn multicast<'c>(
    expected: &mut Expected<'c>,
    tuning: &Tuning<'c>,
    rate: f64,
    achieved: Constants<'c>,
) -> Result<(), PredictError> {
    let system = tuning.system;
    // Where an NVLink domain spans hosts, so many GPUs share the switches that each reaches less.
    let row = if expected.choice.ranks_per_node > SERVER {
        "blackwell-domain"
    } else {
        generation(system.capability)
    };
    let efficiency = achieved.only("multicast-share", row)?;
    let heads = expected.choice.ranks_per_node;
    let within = rate * efficiency * heads / (heads + 1.0);
    if expected.choice.nodes == 1 || within < expected.algbw {
        expected.algbw = within;
        expected.between = false;
        let text = format!(
            "each GPU moves {heads:.0} + 1 of {heads:.0} parts per direction at {efficiency} of {rate:.1} GB/s"
        );
        let cites = achieved.cite("multicast-share").into_iter().chain(achieved.cite("nvls-step")).collect();
        expected.reasons.push(Reason { text, cites });
    }
    expected.within = within;
    expected.intra_us = heads * achieved.only("nvls-step", "step-per-gpu")?;
    expected.kernel_us = tuning.constants.value("base-latency", "ring", Column::Third)?;
    expected.filling_share = 1.0;
    Ok(())
}

/// Sends to all peers go on in rounds that are in step: where some rounds pass something narrow, the others wait for
/// it, so that all bytes pass at its rate. Where all rounds pass alike it is copies that cost.
fn direct<'c>(expected: &mut Expected<'c>, achieved: Constants<'c>) -> Result<(), PredictError> {
    let choice = &expected.choice;
    expected.sends = f64::from(choice.ranks) - 1.0;
    let send_us = achieved.only("direct-send", "send")?;
    expected.send_us = send_us;
    let hops = if choice.nodes > 1 { expected.inter_us / f64::from(choice.steps_inter.max(1)) } else { 0.0 };
    (expected.intra_us, expected.inter_us) = (choice.intra_us + expected.sends * send_us, hops);
    let text = if choice.rounds_per_narrow > 1.0 {
        expected.algbw /= choice.rounds_per_narrow;
        format!(
            "every round of sends waits as long as those that pass it, {:.2} for each",
            choice.rounds_per_narrow
        )
    } else {
        let share = achieved.only("direct-share", "share")?;
        expected.algbw *= share;
        format!("sends to all peers at once reach {share} of that")
    };
    let cites = achieved.cite("direct-share").into_iter().chain(achieved.cite("direct-send")).collect();
    expected.reasons.push(Reason { text, cites });
    Ok(())
}

/// GPUs of the largest server; more share switches only in a rack.
const SERVER: f64 = 16.0;

/// Cards on a bridge reach less of their NVLinks than modules do: they have fewer processors at a lower clock.
fn bridged<'c>(
    expected: &mut Expected<'c>,
    tuning: &Tuning<'c>,
    achieved: Constants<'c>,
) -> Result<(), PredictError> {
    // The data-center chip of its generation has twelve links, the others four.
    let row = match tuning.system.capability {
        80 => "ampere-data-center",
        other => generation(other),
    };
    let share = achieved.only("bridged-share", row)?;
    if share < 1.0 {
        expected.algbw *= share;
        let text = format!("cards on a bridge were measured at {share} of what the search counts");
        expected.reasons.push(Reason { text, cites: achieved.cite("bridged-share").into_iter().collect() });
    }
    Ok(())
}

/// A hop of LL takes longer than NCCL counts on some generations, and its stores carry less.
fn small_stores<'c>(
    expected: &mut Expected<'c>,
    tuning: &Tuning<'c>,
    bus_factor: f64,
    achieved: Constants<'c>,
) -> Result<(), PredictError> {
    let row = generation(tuning.system.capability);
    expected.intra_us *= achieved.only("ll-step-factor", row)?;
    let share = achieved.only("ll-share", row)?;
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

/// Through host memory a ring reaches a share of the PCIe ports, whatever NCCL counts for the sockets' link: processors
/// of a GPU that read the host's memory have only so many reads under way. Uplinks that several hops pass carry them all.
fn staged<'c>(
    expected: &mut Expected<'c>,
    tuning: &Tuning<'c>,
    bus_factor: f64,
    achieved: Constants<'c>,
) -> Result<(), PredictError> {
    let Some(port) = tuning.system.pcie_port else { return Ok(()) };
    let share = achieved.only("staged-share", "share")?;
    let of_ports = share * port;
    let (of_uplinks, hops) = tuning.system.narrowest_pcie(&tuning.graphs.ring.order);
    let text = if of_uplinks < of_ports {
        format!(
            "data is copied through host memory (no peer access on this way): {hops} hops of the ring share one PCIe link, \
             which leaves {of_uplinks:.1} GB/s to each"
        )
    } else {
        format!(
            "data is copied through host memory (no peer access on this way): {share} of the {port:.1} GB/s that NCCL counts \
             for a PCIe port was measured"
        )
    };
    expected.algbw = of_ports.min(of_uplinks) / bus_factor;
    expected.reasons.push(Reason { text, cites: achieved.cite("staged-share").into_iter().collect() });
    Ok(())
}
