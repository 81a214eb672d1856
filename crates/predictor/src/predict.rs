//! A collective on a machine: one row per size, the bound, and how both come about.

use weft_base::{Bytes, Diagnostic, Rate, Span};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NodeId, NodeKind, Topology};

use crate::bound::{self, Bound};
use crate::calibrate::{Calibration, Parts};
use crate::contention::{Between, Fabric, Routing};
use crate::limit::GraphLimit;
use crate::nccl::choice::{Algorithm, Choice, Protocol};
use crate::nccl::cluster::Cluster;
use crate::nccl::constants::Constants;
use crate::nccl::system::{PeerAccess, Scene, library};
use crate::nccl::tuning::Tuning;
use crate::settings::Settings;
use crate::step::Step;
use crate::time::{self, Launch, Pricing};
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
    /// What the operating system calls the NICs of a host, by their number, where that is known: `NCCL_IB_HCA`
    /// names them so.
    pub nic_names: Vec<Option<String>>,
    /// How switches choose among equal ways; `None` for what is usual on the kind of network.
    pub routing: Option<Routing>,
    /// The network between hosts as it was discovered; `None` for that of the machine.
    pub fabric: Option<Fabric>,
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
            nic_names: Vec::new(),
            routing: None,
            fabric: None,
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
    /// On how many nodes in the library's sense: hosts, or NVLink domains of several hosts.
    pub nodes: u32,
    /// The library and the version whose constants were used: `NCCL 2.30`.
    pub library: String,
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

/// A row of the library's own model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The protocol.
    pub protocol: Protocol,
    /// Channels of the search.
    pub channels: u16,
    /// What each carries within a node.
    pub intra_gbps: f64,
    /// What each carries to and from the network.
    pub inter_gbps: f64,
    /// Before the first byte counts.
    pub latency_us: f64,
    /// Message bytes over time, beyond the latency.
    pub algbw_gbps: f64,
}

impl Price {
    fn of(choice: &Choice) -> Self {
        let Choice { algorithm, protocol, channels, intra_gbps, inter_gbps, latency_us, .. } = *choice;
        Self { algorithm, protocol, channels, intra_gbps, inter_gbps, latency_us, algbw_gbps: choice.algbw }
    }
}

/// The collectives that can be predicted.
pub const PREDICTED: [Collective; 7] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::Broadcast,
    Collective::Reduce,
    Collective::AllToAll,
    Collective::SendRecv,
];

/// Predicts a collective with NCCL, or with RCCL where the GPUs are AMD's.
pub fn predict(
    topology: &Topology,
    catalogue: &Catalogue,
    request: &Request,
) -> Result<Prediction, PredictError> {
    Predictor::new(topology, catalogue, request)?.predict(request.collective, &request.sizes)
}

/// A machine that was looked at once, ready for any number of questions.
pub struct Predictor<'a> {
    topology: &'a Topology,
    catalogue: &'a Catalogue,
    settings: Settings,
    constants: Constants<'a>,
    gpus: Vec<NodeId>,
    cluster: Cluster,
    narrow: Option<(String, f64)>,
    calibration: Option<Calibration>,
    launch: Option<Launch>,
    between: Option<Between<'a>>,
    /// The network in the input, where it is not that of the machine's hosts.
    foreign: Option<Diagnostic>,
}

impl<'a> Predictor<'a> {
    /// Finds the channels for the GPUs, settings and access of `request`; its sizes do not matter here, and of its
    /// collective only whether it is send/recv, which takes two GPUs.
    pub fn new(
        topology: &'a Topology,
        catalogue: &'a Catalogue,
        request: &Request,
    ) -> Result<Self, PredictError> {
        let gpus = participants(topology, request)?;
        let settings = request.settings.clone();
        let library = library(topology, catalogue, &gpus, &settings)?;
        let constants = Constants::of_version(catalogue, library, settings.version)?;
        let (access, nic_names) = (&request.access, request.nic_names.as_slice());
        let scene = Scene { topology, catalogue, constants, access, settings: &settings, nic_names };
        let cluster = Cluster::new(scene, &gpus, library)?;
        let narrow = explain::narrowest(topology, &cluster);
        let (calibration, launch) = (request.calibration.clone(), request.launch);
        let network = (request.routing, request.fabric.as_ref());
        let between = Between::new(topology, &cluster, &gpus, network);
        let foreign = match (&between, &request.fabric) {
            (None, Some(fabric)) => findings::foreign(fabric, cluster.nodes),
            (_, _) => None,
        };
        Ok(Self {
            topology,
            catalogue,
            settings,
            constants,
            gpus,
            cluster,
            narrow,
            calibration,
            launch,
            between,
            foreign,
        })
    }

    /// The same nodes, but so many of them. On one node nothing goes over the network, so that a machine of one
    /// node cannot be made several, nor several be made one.
    #[must_use]
    pub fn with_nodes(mut self, nodes: u32) -> Option<Self> {
        let each = self.cluster.ranks / self.cluster.nodes;
        if (nodes < 2) != (self.cluster.nodes < 2) || nodes == 0 {
            return None;
        }
        (self.cluster.nodes, self.cluster.ranks) = (nodes, each.checked_mul(nodes)?);
        // Where the others would be in the network is not known.
        self.between = None;
        Some(self)
    }

    fn tuning(&self) -> Tuning<'_> {
        let Cluster { library, system, graphs, nodes, ranks, .. } = &self.cluster;
        Tuning {
            constants: self.constants,
            library: *library,
            settings: &self.settings,
            system,
            graphs,
            ranks: *ranks,
            nodes: *nodes,
        }
    }

    /// Predicts one collective for several sizes.
    pub fn predict(&self, collective: Collective, sizes: &[Bytes]) -> Result<Prediction, PredictError> {
        let (tuning, bound) = (self.tuning(), self.bound(collective)?);
        let pricing = self.pricing(&tuning, &bound, collective)?;
        let rows = self.rows_of(&pricing, sizes)?;
        let largest = sizes.iter().max().copied().unwrap_or_default();
        let (chosen, time) = (pricing.choose(largest)?, pricing.time(largest)?);
        let narrow = self.narrow.as_ref();
        let derivation =
            explain::steps(chosen, narrow, self.constants, self.catalogue, &time, pricing.bus_factor);
        let mut diagnostics = findings::of(self.topology, self.catalogue, &self.gpus, &tuning, collective);
        diagnostics.extend(findings::unlike(self.cluster.kinds));
        diagnostics.extend(time::notes(&tuning));
        diagnostics.extend(self.foreign.clone());
        diagnostics.extend(pricing.crowded(largest).map(findings::contended));
        let limit = (self.cluster.nodes == 1)
            .then(|| GraphLimit::of_gpus(self.topology, self.catalogue, &self.gpus, collective))
            .flatten();
        let ranks = usize::try_from(self.cluster.ranks).unwrap_or(usize::MAX);
        let (nodes, library) = (self.cluster.nodes, self.constants.title().to_owned());
        Ok(Prediction { collective, ranks, nodes, library, rows, bound, limit, derivation, diagnostics })
    }

    /// What the library's own model says of each algorithm and protocol that it has for `collective`, allowed by
    /// the settings or not, as its log of the tuning does.
    pub fn prices(&self, collective: Collective) -> Result<Vec<Price>, PredictError> {
        let choices = self.tuning().choices(collective)?;
        Ok(choices.iter().map(Price::of).collect())
    }

    /// Only the rows of a prediction.
    pub fn rows(&self, collective: Collective, sizes: &[Bytes]) -> Result<Vec<Row>, PredictError> {
        let (tuning, bound) = (self.tuning(), self.bound(collective)?);
        let pricing = self.pricing(&tuning, &bound, collective)?;
        self.rows_of(&pricing, sizes)
    }

    fn pricing<'t>(
        &'t self,
        tuning: &'t Tuning<'t>,
        bound: &Bound,
        collective: Collective,
    ) -> Result<Pricing<'t>, PredictError> {
        let known = (self.launch, self.calibration.as_ref());
        let mut pricing = Pricing::new(tuning, bound, self.catalogue, collective, known)?;
        if let Some(between) = &self.between {
            pricing.share_network(between)?;
        }
        Ok(pricing)
    }

    fn rows_of(&self, pricing: &Pricing<'_>, sizes: &[Bytes]) -> Result<Vec<Row>, PredictError> {
        let largest = sizes.iter().max().copied().unwrap_or_default();
        let peaks = pricing.peaks(largest.get())?;
        sizes.iter().map(|bytes| pricing.row(*bytes, &peaks, self.narrow.as_ref())).collect()
    }

    fn bound(&self, collective: Collective) -> Result<Bound, PredictError> {
        if !PREDICTED.contains(&collective) {
            return Err(PredictError::Collective { collective });
        }
        let none = PredictError::NoPath { gpus: self.gpus.len() };
        bound::bound(self.topology, &self.cluster, collective, self.catalogue).ok_or(none)
    }
}

fn participants(topology: &Topology, request: &Request) -> Result<Vec<NodeId>, PredictError> {
    let mut gpus = request.gpus.clone().unwrap_or_else(|| topology.of_kind(NodeKind::Gpu).collect());
    if request.collective == Collective::SendRecv {
        gpus.truncate(2);
    }
    if gpus.len() < 2 {
        return Err(PredictError::TooFewGpus { gpus: gpus.len() });
    }
    Ok(gpus)
}
