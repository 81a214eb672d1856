//! What would explain a low bandwidth: the same machine with one thing wrong, predicted again.

use weft_base::Rate;
use weft_catalogue::{Catalogue, LinkFamily};
use weft_topology::{Health, Link, NcclPath, NodeId, NodeKind, Overlay, Topology};

use super::measured::Point;
use super::verdict::Verdict;
use crate::{Algorithm, PeerAccess, PredictError, Request, predict};

/// What is as slow as the measurement is told up to this distance.
const NEAR: f64 = 0.2;
/// Causes that are told.
const TOLD_MAX: usize = 3;

/// One thing that would make the machine as slow.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// What, in words, to follow "as if".
    pub text: &'static str,
    /// What shows whether it is so.
    pub look: &'static str,
    /// What would then be expected at the largest size.
    pub busbw: Rate,
}

/// The causes that come near the largest size that is low.
pub(super) fn of(
    points: &[Point],
    topology: &Topology,
    catalogue: &Catalogue,
    request: &Request,
) -> Result<Vec<Cause>, PredictError> {
    let Some(point) = points.last().filter(|point| point.verdict == Verdict::Low) else {
        return Ok(Vec::new());
    };
    let request = Request { sizes: vec![point.bytes], ..request.clone() };
    let distance = |rate: Rate| libm::log(rate.as_gigabytes() / point.busbw.as_gigabytes()).abs();
    let mut found: Vec<(f64, Cause)> = Vec::new();
    for Doubt { text, look, topology, request } in doubts(topology, &request) {
        let predicted = match predict(&topology, catalogue, &request) {
            Ok(prediction) => prediction.rows.first().map(|row| row.busbw),
            // With that wrong nothing could run: no explanation of a slow run.
            Err(PredictError::NoPath { .. }) => None,
            Err(error) => return Err(error),
        };
        let Some(busbw) = predicted.filter(|busbw| *busbw > Rate::ZERO) else { continue };
        let is_other = busbw.as_gigabytes() < 0.95 * point.expected.busbw.as_gigabytes();
        if is_other && distance(busbw) <= NEAR {
            found.push((distance(busbw), Cause { text, look, busbw }));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(found.into_iter().take(TOLD_MAX).map(|(_, cause)| cause).collect())
}

/// The machine or the request with one thing wrong.
struct Doubt {
    text: &'static str,
    look: &'static str,
    topology: Topology,
    request: Request,
}

fn doubts(topology: &Topology, request: &Request) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut asked = |text, look, change: &dyn Fn(&mut Request)| {
        let mut request = request.clone();
        change(&mut request);
        doubts.push(Doubt { text, look, topology: topology.clone(), request });
    };
    let gpus: Vec<NodeId> = request.gpus.clone().unwrap_or_else(|| topology.of_kind(NodeKind::Gpu).collect());
    let refused: Vec<(NodeId, NodeId)> =
        gpus.iter().flat_map(|from| gpus.iter().map(move |to| (*from, *to))).collect();
    asked(
        "GPUs could not access each other over PCIe, so that data is copied through host memory",
        "`nvidia-smi topo -p2p r`, access control of the PCIe bridges (ACS), NCCL_P2P_DISABLE and NCCL_P2P_LEVEL",
        &|request| request.access = PeerAccess::Refused(refused.clone()),
    );
    asked("NVSwitches did not add (no NVLS)", "NCCL_NVLS_ENABLE, the fabric manager", &|request| {
        request.settings.without_nvls = true;
    });
    asked("only trees were used", "NCCL_ALGO", &|request| {
        request.settings = request.settings.clone().only(Algorithm::Tree);
    });
    asked(
        "the network went over TCP sockets",
        "`NET/` lines of NCCL_DEBUG=INFO, NCCL_IB_DISABLE, the network's plugin",
        &|request| {
            request.settings.sockets_only = true;
        },
    );
    asked(
        "adapters did not reach the GPUs' memory by themselves (no GPUDirect RDMA)",
        "GDRDMA in NCCL_DEBUG=INFO, `lsmod` (nvidia_peermem), NCCL_NET_GDR_LEVEL",
        &|request| request.settings.gdr_level = Some(NcclPath::Loc),
    );
    for (text, look, family, share) in DEGRADED {
        let overlay = degraded(topology, *family, *share);
        doubts.push(Doubt { text, look, topology: overlay.applied(topology), request: request.clone() });
    }
    doubts.extend(without_fabric(topology).map(|topology| Doubt {
        text: "NVLink were not used at all",
        look: "`nvidia-smi nvlink -s`, the fabric manager, NCCL_P2P_DISABLE",
        topology,
        request: request.clone(),
    }));
    doubts
}

/// Links that run with a part of their lanes.
const DEGRADED: &[(&str, &str, LinkFamily, (u16, u16))] = &[
    (
        "PCIe ran with half of its lanes or one generation lower",
        "`nvidia-smi -q` (link width and generation under load), `lspci -vv` (LnkSta)",
        LinkFamily::Pcie,
        (1, 2),
    ),
    ("PCIe ran with a quarter of its lanes", "`lspci -vv` (LnkSta)", LinkFamily::Pcie, (1, 4)),
    ("half of the NVLinks were down", "`nvidia-smi nvlink -s`, Xid 74", LinkFamily::GpuFabric, (1, 2)),
    ("a third of the NVLinks were down", "`nvidia-smi nvlink -s`, Xid 74", LinkFamily::GpuFabric, (2, 3)),
    ("half of the network's links were down", "`ibstat`, NCCL_IB_HCA", LinkFamily::Network, (1, 2)),
];

fn degraded(topology: &Topology, family: LinkFamily, (part, whole): (u16, u16)) -> Overlay {
    let mut overlay = Overlay::default();
    let of_family = |link: &Link| topology.family(link) == family;
    let to_switch = |link: &Link| topology.node(link.to).kind == NodeKind::GpuSwitch;
    for (id, link) in topology.links().filter(|(_, link)| of_family(link)) {
        overlay.set(id, Health::up((link.count * part / whole).max(1)));
    }
    // A GPU has few links to each of many switches: so many of all of them are down.
    for gpu in topology.of_kind(NodeKind::Gpu) {
        let links = || topology.links_from(gpu).filter(|(_, link)| of_family(link) && to_switch(link));
        let all: u16 = links().map(|(_, link)| link.count).sum();
        let mut left = all * part / whole;
        for (id, link) in links() {
            let up = link.count.min(left);
            left -= up;
            overlay.set_both(topology, id, Health::up(up));
        }
    }
    overlay
}

/// The machine without its GPU fabric; `None` where it has none.
fn without_fabric(topology: &Topology) -> Option<Topology> {
    let mut overlay = Overlay::default();
    let mut any = false;
    for (id, link) in topology.links() {
        if topology.family(link) == LinkFamily::GpuFabric {
            overlay.set(id, Health::up(0));
            any = true;
        }
    }
    any.then(|| overlay.applied(topology))
}
