//! A collective on a machine: one row per size, the bound, and how both come about.

use weft_base::{Bytes, Diagnostic, Rate, Span};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NodeId, NodeKind, Topology};

use crate::achieved::{self, Expected, Time};
use crate::bound::{self, Bound};
use crate::calibrate::{Calibration, Parts, Regime};
use crate::limit::GraphLimit;
use crate::nccl::constants::Constants;
use crate::nccl::search;
use crate::nccl::system::{PeerAccess, System};
use crate::nccl::tuning::{Algorithm, Choice, Protocol, Tuning};
use crate::settings::{Library, Settings};
use crate::step::Step;
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

/// The choices of one request, priced by NCCL and by what is expected.
struct Pricing<'a> {
    tuning: &'a Tuning<'a>,
    choices: Vec<Expected<'a>>,
    bus_factor: f64,
    collective: Collective,
    calibration: Option<&'a Calibration>,
}

impl<'a> Pricing<'a> {
    fn new(
        tuning: &'a Tuning<'a>,
        system: &System,
        bound: &Bound,
        catalogue: &'a Catalogue,
        request: &'a Request,
    ) -> Result<Self, PredictError> {
        let all = tuning.choices(request.collective)?;
        let wanted = |choice: &Choice| {
            let Settings { algorithms, protocols, without_nvls, .. } = &request.settings;
            algorithms.allows(request.collective, choice.algorithm)
                && protocols.allows(request.collective, choice.protocol)
                && !(*without_nvls && choice.algorithm == Algorithm::Nvls)
        };
        let any = all.iter().any(wanted);
        let bus_factor = request.collective.bus_factor(tuning.ranks);
        let choices = all
            .into_iter()
            .filter(|choice| !any || wanted(choice))
            .map(|choice| achieved::expect(choice, system, bus_factor, bound, tuning.constants, catalogue))
            .collect::<Result<_, _>>()?;
        let (collective, calibration) = (request.collective, request.calibration.as_ref());
        Ok(Self { tuning, choices, bus_factor, collective, calibration })
    }

    /// Index of what NCCL finds cheapest.
    fn cheapest(&self, bytes: Bytes) -> Result<usize, PredictError> {
        let mut best: Option<(f64, usize)> = None;
        for (index, expected) in self.choices.iter().enumerate() {
            let price = self.tuning.price(&expected.choice, bytes)?;
            if best.is_none_or(|(least, _)| price < least) {
                best = Some((price, index));
            }
        }
        best.map(|(_, index)| index).ok_or(PredictError::NoPath { gpus: self.tuning.ranks })
    }

    /// What NCCL finds cheapest.
    fn choose(&self, bytes: Bytes) -> Result<&Expected<'a>, PredictError> {
        self.cheapest(bytes).map(|index| &self.choices[index])
    }

    /// Expected time of NCCL's choice.
    fn time(&self, bytes: Bytes) -> Result<Time, PredictError> {
        let expected = self.choose(bytes)?;
        let full = self.tuning.full_bytes(&expected.choice)?;
        let correction = self.tuning.correction(&expected.choice, bytes)?;
        Ok(achieved::time(expected, bytes, full, correction))
    }

    /// Microseconds as expected of this machine.
    fn expected_us(&self, bytes: Bytes) -> Result<f64, PredictError> {
        let (time, choice) = (self.time(bytes)?, &self.choose(bytes)?.choice);
        let parts = time.parts();
        let regime =
            Regime { collective: self.collective, algorithm: choice.algorithm, protocol: choice.protocol };
        Ok(self.calibration.map_or(parts.total_us(), |calibration| calibration.time_us(regime, &parts)))
    }

    /// What prices a size: the choice, and the row of the table of trees.
    fn key(&self, bytes: u64) -> Result<(usize, u32), PredictError> {
        let index = self.cheapest(Bytes::new(bytes))?;
        let is_tree = self.choices[index].choice.algorithm == Algorithm::Tree;
        Ok((index, if is_tree { bytes.ilog2() } else { 0 }))
    }

    /// Sizes below `bytes` after which something else prices, each with its time.
    ///
    /// Within one choice time grows with size; at a change it may fall, since NCCL compares other prices than
    /// those expected here, and its table of trees has steps. A larger message is never sooner done.
    fn peaks(&self, bytes: u64) -> Result<Vec<(u64, f64)>, PredictError> {
        let mut peaks = Vec::new();
        let mut start = 1;
        while start < bytes {
            let key = self.key(start)?;
            let mut last = start;
            let mut step = start;
            // Doubles the step while the key stays, then halves it down to the last byte of this key.
            while last.saturating_add(step) < bytes && self.key(last + step)? == key {
                last += step;
                step = step.saturating_mul(2);
            }
            while step > 0 {
                if last.saturating_add(step) < bytes && self.key(last + step)? == key {
                    last += step;
                }
                step /= 2;
            }
            peaks.push((last, self.expected_us(Bytes::new(last))?));
            start = last + 1;
        }
        Ok(peaks)
    }

    fn row(
        &self,
        bytes: Bytes,
        peaks: &[(u64, f64)],
        narrow: Option<&(String, f64)>,
    ) -> Result<Row, PredictError> {
        let expected = self.choose(bytes)?;
        let before = peaks.iter().filter(|(last, _)| *last < bytes.get()).map(|(_, time_us)| *time_us);
        let time_us = before.fold(self.expected_us(bytes)?, f64::max);
        let algbw = bytes.as_f64() / time_us / 1000.0;
        let choice = &expected.choice;
        let bound_by = if expected.latency_us >= 0.5 * time_us {
            format!("latency of {} {}", choice.algorithm.name(), choice.protocol.name())
        } else {
            limit(expected, narrow)
        };
        Ok(Row {
            bytes,
            time: Span::from_microseconds(time_us),
            algbw: Rate::from_gigabytes(algbw),
            busbw: Rate::from_gigabytes(algbw * self.bus_factor),
            algorithm: choice.algorithm,
            protocol: choice.protocol,
            channels: self.tuning.channels_used(choice, bytes)?,
            bound_by,
            parts: self.time(bytes)?.parts(),
        })
    }
}

/// What limits a size at which bandwidth counts.
fn limit(expected: &Expected<'_>, narrow: Option<&(String, f64)>) -> String {
    if let Some(wire) = &expected.wire {
        return wire.clone();
    }
    let choice = &expected.choice;
    match (choice.algorithm, choice.protocol) {
        (Algorithm::Ring | Algorithm::Tree, Protocol::Ll | Protocol::Ll128) => {
            format!("flags of protocol {}", choice.protocol.name())
        }
        (Algorithm::Ring | Algorithm::Tree, _) if choice.staged => {
            "copies through host memory, over the PCIe ports".to_owned()
        }
        (
            Algorithm::Ring
            | Algorithm::Tree
            | Algorithm::CollnetDirect
            | Algorithm::CollnetChain
            | Algorithm::Nvls
            | Algorithm::NvlsTree
            | Algorithm::Pat,
            _,
        ) => narrow.map_or("the narrowest link", |(name, _)| name.as_str()).to_owned(),
    }
}
