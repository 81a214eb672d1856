//! A collective on a machine: one row per size, the bound, and how both come about.

use weft_base::{Bytes, Diagnostic, Rate, Span};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NodeId, NodeKind, Topology};

use crate::bound::{self, Bound};
use crate::calibrate::{Calibration, Parts};
use crate::limit::GraphLimit;
use crate::nccl::constants::Constants;
use crate::nccl::search;
use crate::nccl::system::{PeerAccess, System};
use crate::nccl::tuning::{Algorithm, Protocol, Tuning};
use crate::settings::{Library, Settings};
use crate::step::Step;
use crate::time::{Launch, Pricing};
use crate::{PredictError, explain, findings};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The collective.
    pub collective: Collective,
    /// Message sizes as nccl-tests counts them (the whole buffer).
    pub sizes: Vec<Bytes>,
    /// The GPUs that take part; `None` for all (the first two for send/recv).
    pub gpus: Option<Vec<NodeId>>,
    /// The library's version, and what its user sets.
    pub settings: Settings,
    /// Who may access whose memory over PCIe.
    pub access: PeerAccess,
    /// What the machine does differently from its kind.
    pub calibration: Option<Calibration>,
    /// Who starts the kernels; `None` where that is not known.
    pub launch: Option<Launch>,
}

impl Request {
    /// All GPUs, sizes from 8 B to 8 GiB.
    pub fn new(collective: Collective) -> Self {
        Self {
            collective,
            sizes: default_sizes(),
            gpus: None,
            settings: Settings::default(),
            access: PeerAccess::AsUsual,
            calibration: None,
            launch: None,
        }
    }
}

/// Powers of two from 8 B to 8 GiB.
pub fn default_sizes() -> Vec<Bytes> {
    (3..=33).map(|power| Bytes::new(1 << power)).collect()
}

/// The prediction for one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Message size.
    pub bytes: Bytes,
    /// Expected time of one operation.
    pub time: Span,
    /// Begin of the interval in which 90 % of measurements are expected.
    pub low: Span,
    /// End of that interval.
    pub high: Span,
    /// Message bytes over time.
    pub algbw: Rate,
    /// algbw times the collective's bus factor.
    pub busbw: Rate,
    /// What NCCL would choose.
    pub algorithm: Algorithm,
    /// What NCCL would choose.
    pub protocol: Protocol,
    /// Channels that NCCL would start.
    pub channels: u16,
    /// What limits this size, in words.
    pub bound_by: String,
    /// Where the time goes, before a calibration. Where a smaller message takes longer, `time` is that one's.
    pub parts: Parts,
}

/// What was asked, answered.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The collective.
    pub collective: Collective,
    /// How many GPUs take part.
    pub ranks: usize,
    /// One per size, in the order asked.
    pub rows: Vec<Row>,
    /// What the wires allow.
    pub bound: Bound,
    /// What the graph of all links allows, whatever the algorithm.
    pub limit: Option<GraphLimit>,
    /// How the bandwidth at the largest size comes about.
    pub derivation: Vec<Step>,
    /// Limits of the answer.
    pub diagnostics: Vec<Diagnostic>,
}

/// The collectives that can be predicted.
pub const PREDICTED: [Collective; 5] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::Broadcast,
    Collective::SendRecv,
];

/// Predicts a collective on one server with NCCL.
pub fn predict(
    topology: &Topology,
    catalogue: &Catalogue,
    request: &Request,
) -> Result<Prediction, PredictError> {
    if !PREDICTED.contains(&request.collective) {
        return Err(PredictError::Collective { collective: request.collective });
    }
    let gpus = participants(topology, request)?;
    let constants = Constants::of_version(catalogue, Library::Nccl, request.settings.version)?;
    let system = System::new(topology, &gpus, catalogue, constants, &request.access)?;
    let rings = search::rings(&system, constants)?.ok_or(PredictError::NoPath { gpus: gpus.len() })?;
    let narrow = explain::narrowest(topology, &system, &rings.order);
    let multicasts = search::multicasts(&system, constants)?;
    let tuning = Tuning::new(&system, rings, multicasts, constants);
    let bound = bound::bound(topology, &gpus, request.collective, catalogue)
        .ok_or(PredictError::NoPath { gpus: gpus.len() })?;
    let pricing = Pricing::new(&tuning, &system, &bound, catalogue, request)?;
    let largest = request.sizes.iter().max().copied().unwrap_or_default();
    let peaks = pricing.peaks(largest.get())?;
    let row = |bytes: &Bytes| pricing.row(*bytes, &peaks, narrow.as_ref());
    let rows = request.sizes.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let chosen = pricing.choose(largest)?;
    let time = pricing.time(largest)?;
    let derivation = explain::steps(chosen, narrow.as_ref(), constants, catalogue, &time, pricing.bus_factor);
    let diagnostics = findings::of(topology, catalogue, &gpus, &tuning, request);
    let limit = GraphLimit::of_gpus(topology, catalogue, &gpus, request.collective);
    let (collective, ranks) = (request.collective, gpus.len());
    Ok(Prediction { collective, ranks, rows, bound, limit, derivation, diagnostics })
}

fn participants(topology: &Topology, request: &Request) -> Result<Vec<NodeId>, PredictError> {
    let mut gpus = request.gpus.clone().unwrap_or_else(|| topology.of_kind(NodeKind::Gpu).collect());
    if request.collective == Collective::SendRecv {
        gpus.truncate(2);
    }
    if gpus.len() < 2 {
        return Err(PredictError::TooFewGpus { gpus: gpus.len() });
    }
    let mut hosts: Vec<Option<u32>> = gpus.iter().map(|gpu| topology.node(*gpu).host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    if hosts.len() > 1 && !bound::tied_by_fabric(topology, &gpus) {
        return Err(PredictError::SeveralHosts { hosts: hosts.len() });
    }
    Ok(gpus)
}
