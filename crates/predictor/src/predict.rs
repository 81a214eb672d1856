//! A collective on a machine: one row per size, the bound, and how both come about.

use std::borrow::Cow;
use std::sync::Arc;

use weft_base::{Bytes, Diagnostic, Rate, Span};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NodeId, Topology};

use crate::bound::{self, Bound};
use crate::calibrate::{Calibration, Parts};
use crate::contention::{Fabric, Routing};
use crate::found::{Found, Search};
use crate::limit::GraphLimit;
use crate::nccl::choice::{Algorithm, Choice, Protocol};
use crate::nccl::cluster::Cluster;
use crate::nccl::constants::Constants;
use crate::nccl::system::{PeerAccess, System, library};
use crate::nccl::tuning::Tuning;
use crate::settings::Settings;
use crate::step::Step;
use crate::time::{self, Launch, Pricing};
use crate::{PredictError, explain, findings};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
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
    pub fabric: Option<Arc<Fabric>>,
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
    calibration: Option<Calibration>,
    launch: Option<Launch>,
    found: Cow<'a, Found>,
}

impl<'a> Predictor<'a> {
    /// Finds the channels for the GPUs, settings and access of `request`; its sizes do not matter here, and of its
    /// collective only whether it is send/recv, which takes two GPUs.
    pub fn new(
        topology: &'a Topology,
        catalogue: &'a Catalogue,
        request: &Request,
    ) -> Result<Self, PredictError> {
        let search = Search::of(topology, request)?;
        let library = library(topology, catalogue, &search.gpus, &request.settings)?;
        let constants = Constants::of_version(catalogue, library, request.settings.version)?;
        let found = Cow::Owned(search.run(topology, catalogue, (library, constants))?);
        Ok(Self::with((topology, catalogue), request, constants, found))
    }

    /// From what was found for the request before.
    pub(crate) fn known(
        topology: &'a Topology,
        catalogue: &'a Catalogue,
        request: &Request,
        found: &'a Found,
    ) -> Result<Self, PredictError> {
        let constants = Constants::of_version(catalogue, found.cluster.library, request.settings.version)?;
        Ok(Self::with((topology, catalogue), request, constants, Cow::Borrowed(found)))
    }

    /// What was found, for [`Predictor::known`].
    pub(crate) fn into_found(self) -> Found {
        self.found.into_owned()
    }

    fn with(
        (topology, catalogue): (&'a Topology, &'a Catalogue),
        request: &Request,
        constants: Constants<'a>,
        found: Cow<'a, Found>,
    ) -> Self {
        let (settings, launch) = (request.settings.clone(), request.launch);
        let calibration = request.calibration.clone();
        Self { topology, catalogue, settings, constants, calibration, launch, found }
    }

    /// The same nodes, but so many of them. On one node nothing goes over the network, so that a machine of one
    /// node cannot be made several, nor several be made one.
    #[must_use]
    pub fn with_nodes(mut self, nodes: u32) -> Option<Self> {
        let cluster = &self.found.cluster;
        let each = cluster.ranks / cluster.nodes;
        if (nodes < 2) != (cluster.nodes < 2) || nodes == 0 {
            return None;
        }
        let ranks = each.checked_mul(nodes)?;
        let found = self.found.to_mut();
        (found.cluster.nodes, found.cluster.ranks) = (nodes, ranks);
        // Where the others would be in the network is not known.
        found.between = None;
        Some(self)
    }

    fn tuning(&self) -> Tuning<'_> {
        let Cluster { library, system, graphs, nodes, ranks, .. } = &self.found.cluster;
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
        let narrow = self.found.narrow.as_ref();
        let derivation =
            explain::steps(chosen, narrow, self.constants, self.catalogue, &time, pricing.bus_factor);
        let mut diagnostics =
            findings::of(self.topology, self.catalogue, &self.found.gpus, &tuning, collective);
        diagnostics.extend(findings::unlike(self.found.cluster.kinds));
        diagnostics.extend(time::notes(&tuning));
        diagnostics.extend(self.found.foreign.clone());
        diagnostics.extend(pricing.crowded(largest).map(findings::contended));
        let limit = (self.found.cluster.nodes == 1)
            .then(|| GraphLimit::of_gpus(self.topology, self.catalogue, &self.found.gpus, collective))
            .flatten();
        let ranks = usize::try_from(self.found.cluster.ranks).unwrap_or(usize::MAX);
        let (nodes, library) = (self.found.cluster.nodes, self.constants.title().to_owned());
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
        if let Some(between) = &self.found.between {
            pricing.share_network(between, self.topology)?;
        }
        Ok(pricing)
    }

    fn rows_of(&self, pricing: &Pricing<'_>, sizes: &[Bytes]) -> Result<Vec<Row>, PredictError> {
        let largest = sizes.iter().max().copied().unwrap_or_default();
        let peaks = pricing.peaks(largest.get())?;
        sizes.iter().map(|bytes| pricing.row(*bytes, &peaks, self.found.narrow.as_ref())).collect()
    }

    /// The node as the library sees it.
    pub(crate) fn system(&self) -> &System {
        &self.found.cluster.system
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.found.cluster.nodes
    }

    pub(crate) fn bound(&self, collective: Collective) -> Result<Bound, PredictError> {
        if !PREDICTED.contains(&collective) {
            return Err(PredictError::Collective { collective });
        }
        let none = PredictError::NoPath { gpus: self.found.gpus.len() };
        bound::bound(self.topology, &self.found.cluster, collective, self.catalogue).ok_or(none)
    }
}
