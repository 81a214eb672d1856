//! What would explain a low bandwidth: the same machine with one thing wrong, predicted again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use weft_base::{Bytes, Rate, Span};
use weft_catalogue::LinkFamily;
use weft_topology::{Health, Link, NcclPath, NodeId, NodeKind, Overlay, Topology};

use super::asked::Asked;
use super::measured::Point;
use super::verdict::Verdict;
use crate::nccl::constants::Constants;
use crate::validate::Kind;
use crate::{Algorithm, KnownMachine, PeerAccess, PredictError, Predictor, Request, Row};

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
    /// What would then be expected at the largest size that is low.
    pub busbw: Rate,
    /// Which of the bands that are low it explains.
    pub explains: Vec<Kind>,
}

/// A cause, and how well it fits: low bands that it explains, bands that speak against it, and how far it is from what
/// was measured.
struct Fit {
    cause: Cause,
    against: usize,
    distance: f64,
}

/// The causes that come near what was measured, band by band: those first that explain the most.
pub(super) fn of(points: &[Point], asked: &Asked<'_>) -> Result<Vec<Cause>, PredictError> {
    let mut found: Vec<Fit> = Vec::new();
    if points.iter().all(|point| point.verdict != Verdict::Low) {
        return Ok(Vec::new());
    }
    let sizes: Vec<Bytes> = points.iter().map(|point| point.bytes).collect();
    for doubt in asked.doubts() {
        match doubt.expected(&sizes) {
            Ok(expected) => found.extend(fit(doubt, points, &expected)),
            // With that wrong nothing could run: no explanation of a slow run.
            Err(PredictError::NoPath { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_by(|a, b| {
        let explained = b.cause.explains.len().cmp(&a.cause.explains.len());
        a.against.cmp(&b.against).then(explained).then(a.distance.total_cmp(&b.distance))
    });
    Ok(found.into_iter().take(TOLD_MAX).map(|fit| fit.cause).collect())
}

/// How far a time is from those between two others, as a logarithm.
fn distance(measured_us: f64, (quick_us, slow_us): (f64, f64)) -> f64 {
    if measured_us < quick_us {
        libm::log(quick_us / measured_us)
    } else {
        libm::log(measured_us / slow_us).max(0.0)
    }
}

fn fit(doubt: &Doubt<'_>, points: &[Point], expected: &Expected) -> Option<Fit> {
    let us = |span: Span| span.as_seconds() * 1e6;
    let both = points.iter().zip(&expected.rows).zip(&expected.slowest_us);
    let pairs: Vec<(&Point, &Row, f64)> = both.map(|((point, row), slow)| (point, row, *slow)).collect();
    let mut fit = Fit {
        cause: Cause { text: doubt.text, look: doubt.look, busbw: Rate::ZERO, explains: Vec::new() },
        against: 0,
        distance: f64::MAX,
    };
    for kind in [Kind::Latency, Kind::Between, Kind::Bandwidth] {
        let own: Vec<_> = pairs.iter().filter(|(point, ..)| Kind::of(Some(point.bytes)) == kind).collect();
        let is_most = |count: usize| 2 * count > own.len();
        let low: Vec<_> = own.iter().filter(|(point, ..)| point.verdict == Verdict::Low).collect();
        // What a band that is as expected would not be if it were so.
        let slower = own.iter().filter(|(point, row, _)| us(point.time) < us(row.low));
        fit.against += usize::from(is_most(slower.count()));
        let Some((largest, row, slow_us)) =
            low.last().filter(|_| is_most(low.len()) || kind == Kind::Bandwidth)
        else {
            continue;
        };
        let near = low.iter().filter(|(point, row, slow_us)| {
            // Of large messages bandwidths are sure; small ones vary as hosts do.
            let range = match kind {
                Kind::Bandwidth => (us(row.time), slow_us.max(us(row.time))),
                Kind::Latency | Kind::Between => (us(row.low), slow_us.max(us(row.high))),
            };
            let is_other = slow_us.max(us(row.time)) > us(point.expected.time) / 0.95;
            is_other && distance(us(point.time), range) <= NEAR
        });
        if 2 * near.count() > low.len() {
            fit.cause.explains.push(kind);
            let far = distance(us(largest.time), (us(row.time), slow_us.max(us(row.time))));
            // What may be anything between two rates says less than what is one.
            fit.distance = far + if *slow_us > us(row.time) { NEAR / 2.0 } else { 0.0 };
            fit.cause.busbw = rate_between(largest, row, *slow_us);
        }
    }
    (!fit.cause.explains.is_empty()).then_some(fit)
}

/// What would be expected of a size, the nearest to what was measured where it may be anything between two rates.
fn rate_between(point: &Point, row: &Row, slow_us: f64) -> Rate {
    let (measured_us, quick_us) = (point.time.as_seconds() * 1e6, row.time.as_seconds() * 1e6);
    let time_us = measured_us.clamp(quick_us, slow_us.max(quick_us));
    Rate::from_gigabytes(row.busbw.as_gigabytes() * quick_us / time_us)
}

/// What each size takes at most if it is so; the expected time where that is sure.
fn slowest_us(doubt: &Doubt<'_>, predictor: &Predictor<'_>, rows: &[Row]) -> Result<Vec<f64>, PredictError> {
    let us = |row: &Row| row.time.as_seconds() * 1e6;
    if !doubt.by_sockets || predictor.nodes() < 2 {
        return Ok(rows.iter().map(us).collect());
    }
    let (topology, catalogue) = (doubt.machine.topology(), doubt.machine.catalogue());
    // The processor's cores move all bytes: sockets of a host were measured to reach no more than this.
    let least = Constants::of(catalogue, "network-models")?.only("tcp-host-least-gigabytes", "constant")?;
    let gpu = topology.of_kind(NodeKind::Gpu).next();
    let host = gpu.and_then(|gpu| topology.node(gpu).host);
    let nics = topology.of_kind(NodeKind::Nic).filter(|nic| topology.node(*nic).host == host);
    let is_cable = |link: &Link| topology.family(link) == LinkFamily::Network;
    let cables = nics.flat_map(|nic| topology.links_from(nic).map(|(_, link)| *link)).filter(is_cable);
    let carried: Rate = cables.map(|link| link.capacity).sum();
    if carried == Rate::ZERO {
        return Ok(rows.iter().map(us).collect());
    }
    let most = predictor.bound(doubt.request.collective)?.busbw;
    let bound = most.as_gigabytes() * least / carried.as_gigabytes();
    let busy = |row: &Row| us(row) * row.busbw.as_gigabytes() / bound;
    Ok(rows.iter().map(|row| us(row).max(busy(row))).collect())
}

/// The machine or the request with one thing wrong.
#[derive(Debug)]
pub(super) struct Doubt<'c> {
    text: &'static str,
    look: &'static str,
    machine: KnownMachine<'c>,
    request: Request,
    /// Whether cores move what passes between hosts, so that it may be much slower.
    by_sockets: bool,
    /// By the sizes.
    known: RefCell<BTreeMap<Vec<Bytes>, Answer>>,
}

type Answer = Result<Rc<Expected>, PredictError>;

/// What is expected if it is so.
#[derive(Debug)]
struct Expected {
    rows: Vec<Row>,
    /// What each size takes at most.
    slowest_us: Vec<f64>,
}

impl<'c> Doubt<'c> {
    pub fn all(machine: &KnownMachine<'c>, request: &Request) -> Vec<Self> {
        let mut doubts = of_request(machine, request);
        let of_machine = DEGRADED.iter().filter_map(|(text, look, family, share)| {
            let degraded = |topology: &Topology| Some(degraded(topology, *family, *share).applied(topology));
            Some(Self::new(text, look, machine.variant(text, degraded)?, request.clone()))
        });
        doubts.extend(of_machine);
        let text = "NVLink were not used at all";
        let look = "`nvidia-smi nvlink -s`, the fabric manager, NCCL_P2P_DISABLE";
        let without = machine.variant(text, without_fabric);
        doubts.extend(without.map(|machine| Self::new(text, look, machine, request.clone())));
        doubts
    }

    fn new(text: &'static str, look: &'static str, machine: KnownMachine<'c>, request: Request) -> Self {
        Self { text, look, machine, request, by_sockets: false, known: RefCell::default() }
    }

    fn expected(&self, sizes: &[Bytes]) -> Answer {
        if let Some(known) = self.known.borrow().get(sizes) {
            return known.clone();
        }
        let expected = self.machine.ask(&self.request, |predictor| {
            let rows = predictor.rows(self.request.collective, sizes)?;
            Ok(Rc::new(Expected { slowest_us: slowest_us(self, predictor, &rows)?, rows }))
        });
        self.known.borrow_mut().insert(sizes.to_vec(), expected.clone());
        expected
    }
}

fn of_request<'c>(machine: &KnownMachine<'c>, request: &Request) -> Vec<Doubt<'c>> {
    let mut doubts = Vec::new();
    let mut asked = |text, look, change: &dyn Fn(&mut Request)| {
        let mut request = request.clone();
        change(&mut request);
        let by_sockets = request.settings.sockets_only;
        doubts.push(Doubt { by_sockets, ..Doubt::new(text, look, machine.clone(), request) });
    };
    let topology = machine.topology();
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
