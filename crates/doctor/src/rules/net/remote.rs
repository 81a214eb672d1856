//! Adapters on another socket than the GPUs that use them.

use std::collections::BTreeSet;

use weft_base::Severity;
use weft_topology::{NcclPath, NodeId, NodeKind, ReportedClass, Topology, reported_class};

use super::lookup;
use super::ports;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed_to;

/// An adapter across the sockets.
pub const NIC_REMOTE_SOCKET: Cause = Cause {
    code: "D047",
    word: "nic-remote-socket",
    title: "GPUs use an adapter of another socket",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "What goes from a GPU to an adapter of the other socket crosses the link between the sockets (SYS in `nvidia-smi \
        topo -m`): GPUDirect RDMA is off by default at that distance, each byte goes through host memory, and all such traffic \
        shares the link. Two things lead there. Either an adapter on the GPUs' own socket is there and is not used, since \
        NCCL_IB_HCA names the other one or a container shows only that: name the near one, or choose GPUs by CUDA_VISIBLE_DEVICES \
        that are near the adapter. Or all adapters are on one socket: move one to a slot of the other socket, and until then run \
        small jobs on the GPUs of the adapters' socket. NCCL_NET_GDR_LEVEL=SYS forces GPUDirect RDMA over the sockets and is \
        mostly slower.",
};

/// The rule.
#[derive(Debug)]
pub struct Remote;

impl Rule for Remote {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&NIC_REMOTE_SOCKET]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let Some(ways) = Ways::of(chart) else { return Vec::new() };
        finding(chart, &ways).into_iter().collect()
    }
}

/// Whether each GPU of the job has to cross sockets though an adapter of its own is there.
pub(super) fn explains(chart: &Chart<'_>) -> bool {
    Ways::of(chart).is_some_and(|ways| ways.near.is_empty() && !ways.spared.is_empty())
}

/// Whether that adapter is on another socket than each GPU of the job.
pub(super) fn is_far_from_all(chart: &Chart<'_>, name: &str) -> bool {
    let Some((nic, _)) = nics(chart).into_iter().find(|(_, own)| own == name) else { return false };
    let gpus = gpus(chart);
    !gpus.is_empty() && gpus.iter().all(|gpu| is_near(chart.host, *gpu, nic) == Some(false))
}

/// GPUs of the job and how they reach the adapters of the job, by names of the first host.
struct Ways {
    /// GPUs that reach one on their own socket.
    near: Vec<String>,
    /// GPUs that do not.
    far: Vec<String>,
    /// Adapters that are used.
    used: Vec<String>,
    /// Adapters on the socket of a GPU of `far` that are not used, and are not known to be down.
    spared: Vec<String>,
    /// Whether those are known to be up.
    is_up: bool,
}

impl Ways {
    fn of(chart: &Chart<'_>) -> Option<Self> {
        if chart.host_count() < 2 {
            return None;
        }
        let host = chart.host;
        let nics: Vec<(NodeId, String)> = nics(chart);
        let listed: BTreeSet<String> = ports::used(chart).into_iter().map(|(name, ..)| name).collect();
        // Where nothing names the adapters of the tree, as many as it has are all of them.
        let are_all = listed.is_empty() || listed.len() == nics.len();
        let is_used = |name: &String| are_all || listed.contains(name);
        let used: Vec<&(NodeId, String)> = nics.iter().filter(|(_, name)| is_used(name)).collect();
        // Adapters that the machine is not known to have say nothing of where they are.
        let is_known = |name: &String| are_all || nics.iter().any(|(_, own)| own == name);
        if used.is_empty() || !listed.iter().all(is_known) {
            return None;
        }
        let states = ports::ports(chart);
        let mut ways = Self {
            near: Vec::new(),
            far: Vec::new(),
            used: used.iter().map(|it| it.1.clone()).collect(),
            spared: Vec::new(),
            is_up: true,
        };
        for gpu in gpus(chart) {
            let is_near = |nic: NodeId| is_near(host, gpu, nic);
            if used.iter().any(|(nic, _)| is_near(*nic) != Some(false)) {
                ways.near.push(host.name(gpu));
                continue;
            }
            ways.far.push(host.name(gpu));
            for (_, name) in nics.iter().filter(|(nic, name)| !is_used(name) && is_near(*nic) == Some(true)) {
                let is_up = states.get(name).and_then(|port| port.is_up);
                if is_up != Some(false) && !ways.spared.contains(name) {
                    ways.is_up &= is_up == Some(true);
                    ways.spared.push(name.clone());
                }
            }
        }
        (!ways.far.is_empty()).then_some(ways)
    }
}

/// Adapters of the host by the names that the operating system has for them, else the graph's.
fn nics(chart: &Chart<'_>) -> Vec<(NodeId, String)> {
    let names = chart.case.nic_names();
    let all = chart.host.of_kind(NodeKind::Nic).enumerate();
    all.map(|(index, nic)| (nic, names.get(index).cloned().flatten().unwrap_or_else(|| chart.host.name(nic))))
        .collect()
}

/// GPUs of the first host that take part: by the addresses that a log or a table names, else all.
fn gpus(chart: &Chart<'_>) -> Vec<NodeId> {
    let host = chart.host;
    let run = chart.runs.iter().find(|run| run.topology().is_some());
    let of_run = run.and_then(|run| {
        let topology = run.topology()?;
        let first = |gpu: &NodeId| topology.node(*gpu).host.unwrap_or(0) == 0;
        let names: BTreeSet<u32> =
            run.gpus().iter().filter(|gpu| first(gpu)).map(|gpu| topology.node(*gpu).number).collect();
        Some(names)
    });
    let all = host.of_kind(NodeKind::Gpu);
    match of_run {
        Some(numbers) if !numbers.is_empty() => {
            all.filter(|gpu| numbers.contains(&host.node(*gpu).number)).collect()
        }
        Some(_) | None => all.collect(),
    }
}

/// Whether they are on one socket; `None` where the input does not tell.
fn is_near(host: &Topology, gpu: NodeId, nic: NodeId) -> Option<bool> {
    Some(!matches!(reported_class(host, gpu, nic)?, ReportedClass::Sys))
}

fn finding(chart: &Chart<'_>, ways: &Ways) -> Option<Finding> {
    let is_whole = ways.near.is_empty();
    // Where some GPUs are near it is told by whoever counts adapters; and NVLink takes the others' data to those.
    let is_joined = chart.gpus().iter().any(|gpu| gpu.fabric.is_some()) || chart.pairs_by_link().1;
    if !is_whole && (!ways.spared.is_empty() || is_joined) {
        return None;
    }
    let (gpus, used) = (listed_to(&ways.far, 4), listed_to(&ways.used, 4));
    let what = if ways.spared.is_empty() {
        format!("{gpus} reach adapters of another socket only ({used}): their own has none")
    } else {
        format!("{gpus} use {used} of another socket and not {} of their own", listed_to(&ways.spared, 4))
    };
    // Where no adapter is nearer, a setting that forces the far way is what can be mended.
    let is_forced = ways.spared.is_empty()
        && ["NCCL_NET_GDR_LEVEL", "NCCL_IB_GDR_LEVEL"].iter().any(|name| chart.setting(name).is_some())
        && chart.settings.gdr_level.is_some_and(|level| level >= NcclPath::Phb);
    let confidence = match (
        is_whole && !is_forced,
        ways.is_up && !ways.spared.is_empty() || chart.shortfall().is_some(),
    ) {
        (true, true) => Confidence::Likely,
        (true, false) | (false, _) => Confidence::Possible,
    };
    let mut found = Finding::new(&NIC_REMOTE_SOCKET, confidence, what);
    if !is_whole {
        found = found.severity(Severity::Note);
    }
    if let Some(stated) = chart.setting("NCCL_IB_HCA").filter(|_| !ways.spared.is_empty()) {
        found = found.at(stated.place, format!("NCCL_IB_HCA={}", stated.value));
    }
    if let Some((_, _, place)) = ports::used(chart).first() {
        found = found.at(place.clone(), format!("NET/IB uses {used}"));
    }
    found = match chart.case.matrix.as_ref() {
        Some(matrix) => found.at(matrix.place.clone(), format!("SYS between {gpus} and {used}")),
        None => {
            found.without(format!("{gpus} and {used} are of different sockets, by the devices' own nodes"))
        }
    };
    let off = chart.logs().find_map(|(log, place)| {
        let fact = log.gdr.iter().find(|fact| !fact.enabled && fact.subject.starts_with("GPU"))?;
        Some((
            at(place, fact.line),
            format!("GPUDirect RDMA off: {}", fact.detail.clone().unwrap_or_default()),
        ))
    });
    if let Some((place, says)) = off {
        found = found.at(place, says);
    }
    let gain = lookup::otherwise(chart, |request| request.settings.hca = None);
    let share = gain.map(|(all, own)| 1.0 - own.as_gigabytes() / all.as_gigabytes().max(1e-9));
    let share = share.filter(|share| *share > 0.1).unwrap_or(if is_whole { 0.5 } else { 0.2 });
    Some(
        found
            .costs(share, "host memory and the link between the sockets carry each byte")
            .fix(mending(ways))
            .check("`nvidia-smi topo -m` shows PIX, PXB or NODE between GPU and the adapter used; GDRDMA in the log")
            .settle("`nvidia-smi topo -m`, `ibstat` and NCCL_DEBUG=INFO of the job"),
    )
}

fn mending(ways: &Ways) -> String {
    if ways.spared.is_empty() {
        return "move an adapter to a slot of the GPUs' socket (or run on GPUs of the adapters' socket: \
                CUDA_VISIBLE_DEVICES); no setting makes the way shorter"
            .to_owned();
    }
    let near = ways.spared.join(",");
    format!("NCCL_IB_HCA={near} (for the job, on all hosts), or unset it; or choose GPUs of the other socket")
}
