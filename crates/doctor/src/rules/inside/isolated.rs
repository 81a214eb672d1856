//! Processes of one machine that each see one GPU: containers of one GPU each.

use std::collections::BTreeSet;

use weft_formats::{Communicator, LogRank, NcclLog, TransportKind};

use super::peers::without_peers;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed;

/// One GPU for each container.
pub const ISOLATED_CONTAINERS: Cause = Cause {
    code: "D034",
    word: "isolated-containers",
    title: "each container has one GPU, and there is no peer-to-peer between containers",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "A container that was given one GPU sees no other, so that CUDA can open no peer's memory: neither NVLink nor \
        PCIe peer-to-peer is used between the containers of one machine. In NCCL's log each rank has cudaDev 0 and another \
        bus address, and the channels go via SHM, or via NET where each container has a host name of its own and NCCL takes \
        it for a machine. Give one container all GPUs of the machine (a pod that asks for nvidia.com/gpu: 8, one process for \
        each GPU in it), or let all containers see all GPUs (NVIDIA_VISIBLE_DEVICES=all, the same host name and IPC and PID \
        namespaces) and choose with cudaSetDevice. \
        Known from NVIDIA/k8s-device-plugin#347.",
};

/// The rule.
#[derive(Debug)]
pub struct Isolated;

impl Rule for Isolated {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&ISOLATED_CONTAINERS]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let models = chart.models();
        let is_off = chart.setting("NCCL_P2P_DISABLE").is_some_and(|stated| stated.value.trim() != "0")
            || chart.peers_allowed().is_some_and(|told| !told.fact);
        // What has no peers loses nothing.
        let linked = chart.pairs_by_link().1;
        if is_off || (without_peers(&models) && !linked) {
            return Vec::new();
        }
        let found = chart.logs().find_map(|(log, place)| {
            let it = log.communicators.iter().find_map(|it| alone(log, it))?;
            Some(finding(log, &it, (place, linked)))
        });
        found.into_iter().collect()
    }
}

/// Ranks that each see one GPU of the same machine.
struct Alone<'l> {
    members: Vec<&'l LogRank>,
    /// Whether each says another host name.
    is_named_apart: bool,
}

/// Whether the ranks of a communicator are first devices at different addresses, and none reaches another directly.
fn alone<'l>(log: &NcclLog, communicator: &'l Communicator) -> Option<Alone<'l>> {
    let members: Vec<&LogRank> = communicator.members.iter().collect();
    let direct = log.transports.iter().any(|it| it.kind == TransportKind::PeerToPeer);
    let addresses: BTreeSet<&str> = members.iter().filter_map(|rank| rank.address.as_deref()).collect();
    let first_only = members.iter().all(|rank| rank.device == Some(0));
    let hosts: BTreeSet<usize> = members.iter().filter_map(|rank| rank.host).collect();
    let is_named_apart = hosts.len() == members.len();
    // Like machines of one GPU have it at like addresses; two may differ by chance.
    let is_enough = if is_named_apart { members.len() > 2 } else { hosts.len() == 1 && members.len() > 1 };
    let is_so = first_only && is_enough && !direct && addresses.len() == members.len();
    (is_so && !log.transports.is_empty()).then_some(Alone { members, is_named_apart })
}

fn finding(log: &NcclLog, alone: &Alone<'_>, (place, linked): (&weft_base::Place, bool)) -> Finding {
    let count = alone.members.len();
    let what = format!("{count} processes of one machine see one GPU each, and reach no other directly");
    // A list of one machine's GPUs beside it leaves little else.
    let confidence = if alone.is_named_apart && !linked { Confidence::Possible } else { Confidence::Likely };
    let mut found = Finding::new(&ISOLATED_CONTAINERS, confidence, what);
    let addresses: Vec<&str> = alone.members.iter().filter_map(|rank| rank.address.as_deref()).collect();
    if let Some(first) = alone.members.first() {
        let says = format!("each rank is cudaDev 0, at {}", listed(&addresses));
        found = found.at(at(place, first.line), says);
    }
    if let Some(it) = log.transports.first() {
        found = found.at(at(place, it.line), format!("channels between them go via {}", it.name));
    }
    if alone.is_named_apart {
        let names: Vec<&str> = log.hosts.iter().map(String::as_str).collect();
        found = found.at(place.clone(), format!("{} name themselves as hosts", listed(&names)));
    }
    let over = if linked { "NVLink, which the matrix shows, is not used" } else { "no peer-to-peer" };
    found
        .costs(0.8, format!("{over}: copies between GPUs pass through host memory or the network"))
        .fix(
            "one pod or container for all GPUs of the machine (resources: limits: nvidia.com/gpu: <all>; docker run \
             --gpus all --ipc=host), with one process for each GPU in it",
        )
        .check("NCCL_DEBUG=INFO shows `via P2P` and cudaDev 0, 1, 2, …; nvidia-smi -L in the container lists all GPUs")
        .settle("nvidia-smi -L in each container and on the machine; kubectl get pods -o wide")
}
