//! NCCL's prices: for each algorithm and protocol a latency and a bandwidth, of which it takes the cheapest.

use weft_base::Bytes;
use weft_collective::Collective;
use weft_topology::NcclPath;

use super::choice::{Algorithm, BySize, Choice, Protocol, generation};
use super::constants::{Column, Constants};
use super::search::{Channels, Graphs};
use super::system::System;
use crate::PredictError;
use crate::settings::{Library, Settings};

/// What takes part, as the tuning model sees it.
#[derive(Clone)]
pub(crate) struct Tuning<'a> {
    pub constants: Constants<'a>,
    pub library: Library,
    pub settings: &'a Settings,
    pub system: &'a System,
    pub graphs: &'a Graphs,
    pub ranks: u32,
    /// Hosts, or NVLink domains.
    pub nodes: u32,
}

/// Latency and bandwidth of one choice before it is complete.
#[derive(Clone, Copy)]
pub(super) struct Price {
    pub base_us: f64,
    /// What NCCL counts of the steps, one after the other.
    pub counted_us: f64,
    pub algbw: f64,
    /// Within a node and between nodes.
    pub steps: (u32, u32),
    /// Microseconds of one step within a node and between nodes.
    pub step_us: (f64, f64),
}

impl Tuning<'_> {
    /// Everything that NCCL could choose for `collective`, be it allowed by the settings or not.
    pub fn choices(&self, collective: Collective) -> Result<Vec<Choice>, PredictError> {
        let mut choices = Vec::new();
        if collective == Collective::AllToAll {
            return super::direct::choices(self);
        }
        if self.settings.symmetric && self.nodes == 1 && self.library == Library::Nccl {
            choices.extend(super::symmetric::choices(self, collective)?);
        }
        for protocol in Protocol::ALL {
            for algorithm in Algorithm::ALL {
                if self.exists(collective, algorithm, protocol)? {
                    choices.extend(self.choice(collective, algorithm, protocol)?);
                }
            }
        }
        Ok(choices)
    }

    /// Whether NCCL has this at all, for such a machine.
    fn exists(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
    ) -> Result<bool, PredictError> {
        let graph = self.graph(algorithm);
        let fits = protocol != Protocol::Ll128 || self.has_ll128(collective, graph);
        let simple = protocol == Protocol::Simple;
        let gathers = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
        let reduces = collective == Collective::AllReduce;
        let nccl = self.library == Library::Nccl;
        let rule = |name| self.constants.only("rules", name);
        Ok(match algorithm {
            Algorithm::Ring => fits,
            // RCCL has no tree with Simple within a node of these modules.
            Algorithm::Tree => {
                let left_out = simple && !self.system.suffix.is_empty() && self.nodes == 1;
                reduces && fits && !left_out
            }
            Algorithm::Nvls => {
                let may = nccl && (reduces || gathers && rule("nvls-gathers")? > 0.0);
                let offered = self.nodes == 1 || self.settings.collnet && reduces;
                simple && may && offered && graph.is_some() && !self.settings.without_nvls
            }
            Algorithm::NvlsTree => {
                nccl && simple && reduces && self.nodes > 1 && graph.is_some() && !self.settings.without_nvls
            }
            Algorithm::Pat => {
                nccl && simple && gathers && self.nodes > 1 && self.ranks == self.nodes && rule("pat")? > 0.0
            }
            Algorithm::CollnetDirect | Algorithm::CollnetChain => {
                let switched = algorithm == Algorithm::CollnetChain || self.system.reducing.is_some();
                nccl && simple && reduces && self.nodes > 1 && self.settings.collnet && switched
            }
            Algorithm::Symmetric | Algorithm::Direct => false,
        })
    }

    /// LL128 relies on 128-byte stores staying whole: Volta or newer, NVLink all the way, NICs near. Asked for by
    /// name it runs all the same.
    fn has_ll128(&self, collective: Collective, graph: Option<&Channels>) -> bool {
        if self.library == Library::Rccl {
            return false;
        }
        if self.settings.protocols.names(collective, Protocol::Ll128) {
            return true;
        }
        let farthest = if self.system.capability >= 90 { NcclPath::Pxn } else { NcclPath::Pxb };
        let near = |graph: &Channels| graph.kind <= NcclPath::Nvb && graph.kind_inter <= farthest;
        self.system.capability >= 70 && graph.is_some_and(near)
    }

    /// The channels that an algorithm runs on.
    pub fn graph(&self, algorithm: Algorithm) -> Option<&Channels> {
        match algorithm {
            Algorithm::Ring | Algorithm::Direct | Algorithm::Symmetric => Some(&self.graphs.ring),
            Algorithm::Tree | Algorithm::Pat | Algorithm::CollnetChain => Some(&self.graphs.tree),
            Algorithm::Nvls | Algorithm::NvlsTree => self.graphs.nvls.as_ref(),
            Algorithm::CollnetDirect => self.graphs.nvls.as_ref().or(Some(&self.graphs.tree)),
        }
    }

    fn generation(&self) -> &'static str {
        generation(self.system.capability)
    }

    fn by_nodes(&self) -> Column {
        match self.nodes {
            0 | 1 => Column::First,
            2 => Column::Second,
            3.. => Column::Third,
        }
    }

    /// A cap by generation and number of nodes.
    fn cap(&self, table: &str) -> Result<f64, PredictError> {
        self.constants.value(table, self.generation(), self.by_nodes())
    }

    /// The cap of LL: within a node by GPU, between nodes by CPU.
    fn ll_cap(&self) -> Result<f64, PredictError> {
        let row = match (self.nodes, self.system.amd_cpus) {
            (0 | 1, _) => self.generation(),
            (_, true) => "ampere",
            (_, false) => "volta",
        };
        self.constants.value("ll-max", row, self.by_nodes())
    }

    pub fn ranks_per_node(&self) -> f64 {
        f64::from(self.ranks) / f64::from(self.nodes.max(1))
    }

    /// Doublings from one node to all of them.
    pub fn doublings(&self) -> u32 {
        self.nodes.max(1).ilog2()
    }

    fn choice(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
    ) -> Result<Option<Choice>, PredictError> {
        let Some(graph) = self.graph(algorithm) else { return Ok(None) };
        let busbw = match self.library {
            Library::Nccl => self.busbw(collective, algorithm, protocol, graph)?,
            Library::Rccl => self.rccl_busbw(algorithm, protocol, graph)?,
        };
        if busbw <= 0.0 {
            return Ok(None);
        }
        let algbw = busbw * self.to_algbw(collective, algorithm)?;
        let price = self.latency(collective, algorithm, protocol, graph)?;
        let by_size = self.by_size(collective, algorithm, protocol)?;
        let choice = self.complete(collective, algorithm, protocol, graph, Price { algbw, ..price });
        Ok(Some(Choice { by_size, ..choice }))
    }

    pub(super) fn complete(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
        graph: &Channels,
        price: Price,
    ) -> Choice {
        Choice {
            collective,
            algorithm,
            protocol,
            channels: graph.count,
            intra_gbps: graph.intra,
            inter_gbps: graph.inter,
            base_us: price.base_us,
            intra_us: price.step_us.0,
            inter_us: price.step_us.1,
            latency_us: price.base_us + price.counted_us,
            steps_intra: price.steps.0,
            steps_inter: price.steps.1,
            nodes: self.nodes,
            ranks: self.ranks,
            ranks_per_node: self.ranks_per_node(),
            algbw: price.algbw,
            rounds_per_narrow: 1.0,
            kind: graph.kind,
            kind_inter: graph.kind_inter,
            staged: graph.staged,
            by_size: BySize::default(),
        }
    }

    /// Bus bandwidth of NCCL's model.
    fn busbw(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
        graph: &Channels,
    ) -> Result<f64, PredictError> {
        let rule = |name| self.constants.only("rules", name);
        let channels = f64::from(graph.count);
        let by_two = if self.nodes <= 2 { graph.intra } else { graph.inter };
        let bus = channels * by_two;
        match algorithm {
            Algorithm::Ring => self.ring_busbw(collective, protocol, channels, bus),
            Algorithm::Tree => self.tree_busbw(protocol, graph, bus),
            Algorithm::Pat => Ok(bus * rule("pat")?),
            Algorithm::Nvls | Algorithm::NvlsTree => self.nvls_busbw(collective, algorithm, graph),
            Algorithm::CollnetChain => Ok(channels * graph.intra),
            Algorithm::CollnetDirect => {
                // GPUs per NIC; every GPU with a NIC of its own works at full speed.
                let ratio = self.ranks_per_node() / channels;
                let factor = ratio - (ratio - 1.0) / 2.0;
                let newer = self.system.capability >= 90;
                let share = if newer { rule("collnet-direct-all-reduce-from-sm90")? } else { 1.0 };
                Ok(channels * graph.intra / factor * share)
            }
            Algorithm::Symmetric | Algorithm::Direct => Ok(bus),
        }
    }

    fn ring_busbw(
        &self,
        collective: Collective,
        protocol: Protocol,
        channels: f64,
        bus: f64,
    ) -> Result<f64, PredictError> {
        let rule = |name| self.constants.only("rules", name);
        match protocol {
            Protocol::Ll => {
                let adds = matches!(collective, Collective::AllReduce | Collective::Reduce);
                let name = if self.nodes > 1 || adds {
                    "ring-ll-efficiency"
                } else {
                    "ring-ll-one-node-moving-efficiency"
                };
                Ok(self.ll_cap()?.min(rule(name)? * bus))
            }
            Protocol::Ll128 => {
                let sparse = self.ranks_per_node() < 2.0;
                let name = if sparse { "ring-ll128-one-gpu-efficiency" } else { "ring-ll128-efficiency" };
                Ok((rule(name)? * bus).min(channels * self.cap("ring-ll128-per-channel")?))
            }
            Protocol::Simple => Ok(bus),
        }
    }

    fn tree_busbw(&self, protocol: Protocol, graph: &Channels, bus: f64) -> Result<f64, PredictError> {
        let rule = |name| self.constants.only("rules", name);
        let channels = f64::from(graph.count);
        let tree = (rule("tree-efficiency")? * bus).min(channels * self.cap("tree-per-channel")?);
        let tree = match protocol {
            Protocol::Ll => (tree / rule("tree-ll-divisor")?).min(self.ll_cap()?),
            Protocol::Ll128 => {
                let name = if self.nodes == 1 { "tree-ll128-intra" } else { "tree-ll128-inter" };
                (tree * rule(name)?).min(channels * self.cap("tree-ll128-per-channel")?)
            }
            Protocol::Simple => tree,
        };
        Ok(if graph.plain { tree * rule("plain-tree-fallback")? } else { tree })
    }

    fn nvls_busbw(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        graph: &Channels,
    ) -> Result<f64, PredictError> {
        let rule = |name| self.constants.only("rules", name);
        let channels = f64::from(graph.count);
        let reduces = collective == Collective::AllReduce;
        let by_tree = algorithm == Algorithm::NvlsTree;
        let others = (self.ranks_per_node() - 1.0) / self.ranks_per_node();
        if rule("nvls-ratio")? > 0.0 {
            let inter = match (by_tree, self.nodes) {
                (true, 3..) if rule("nvls-tree-linear")? <= 0.0 => graph.inter / 2.0,
                (true | false, _) => graph.inter,
            };
            let intra = if reduces { graph.intra } else { graph.intra * others };
            return Ok(channels * intra.min(inter));
        }
        let efficiency = self.constants.only("nvls-efficiency", self.generation())?;
        if channels < rule("nvls-min-channels")? {
            return Ok(0.0);
        }
        // All-reduce passes a channel's data up and down at once, hence the 2.
        let share = if reduces { 2.0 } else { others };
        let intra = graph.intra * efficiency * (channels - 1.0) / channels * share;
        let inter = if by_tree && self.nodes <= 2 { 2.0 * graph.inter } else { graph.inter };
        let cap = if by_tree { self.cap("nvls-tree-per-channel")? } else { f64::INFINITY };
        Ok(channels * intra.min(inter).min(cap))
    }

    /// From bus bandwidth to message bytes per second.
    fn to_algbw(&self, collective: Collective, algorithm: Algorithm) -> Result<f64, PredictError> {
        let ranks = usize::try_from(self.ranks).unwrap_or(usize::MAX);
        let gathers = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
        let circle = 1.0 / collective.bus_factor(ranks);
        Ok(match algorithm {
            Algorithm::Ring | Algorithm::Direct | Algorithm::Symmetric => circle,
            Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::Pat | Algorithm::CollnetDirect if gathers => {
                1.0
            }
            Algorithm::Nvls | Algorithm::NvlsTree => {
                let linear = self.constants.only("rules", "nvls-tree-linear")?;
                match self.constants.only("rules", "nvls-ratio")? {
                    ratio if ratio <= 0.0 => circle,
                    _ if linear > 0.0 && algorithm == Algorithm::NvlsTree => {
                        linear * f64::from(self.nodes) / (2.0 * (f64::from(self.nodes) - 1.0))
                    }
                    ratio => ratio,
                }
            }
            // Up the tree and down again: each byte of message crosses a link twice.
            Algorithm::Tree | Algorithm::CollnetDirect | Algorithm::CollnetChain | Algorithm::Pat => 0.5,
        })
    }

    /// Factors on the bandwidth by size, from 64 B on.
    fn corrections(&self, algorithm: Algorithm, protocol: Protocol) -> Result<Vec<f64>, PredictError> {
        let row = format!("{}{}", protocol.name(), self.system.suffix);
        let by_ring = self.library == Library::Rccl && self.nodes > 1 && algorithm == Algorithm::Ring;
        if by_ring {
            return Ok(endless(self.constants.row("ring-correction", &row)?));
        }
        if self.library == Library::Rccl && algorithm == Algorithm::Tree {
            return Ok(endless(self.constants.row("tree-correction", &row)?));
        }
        let from = self.constants.only("rules", "nvls-tree-correction-from-sm").unwrap_or(0.0);
        let newer = from > 0.0 && f64::from(self.system.capability) >= from && self.system.x86_cpus;
        let columns = match algorithm {
            Algorithm::Tree => self.constants.only("rules", "tree-correction-columns")?,
            Algorithm::NvlsTree if newer => f64::INFINITY,
            Algorithm::NvlsTree
            | Algorithm::Ring
            | Algorithm::CollnetDirect
            | Algorithm::CollnetChain
            | Algorithm::Nvls
            | Algorithm::Pat
            | Algorithm::Symmetric
            | Algorithm::Direct => 0.0,
        };
        if columns <= 0.0 {
            return Ok(Vec::new());
        }
        let all = self.constants.row("tree-correction", protocol.name())?;
        #[expect(clippy::cast_precision_loss, reason = "at most 64 columns")]
        let inside = all.iter().enumerate().filter(|(index, _)| (*index as f64) < columns);
        Ok(inside.map(|(_, factor)| *factor).collect())
    }

    /// NCCL's price of `choice` for a message, in microseconds.
    pub fn price(&self, choice: &Choice, bytes: Bytes) -> Result<f64, PredictError> {
        match choice.algorithm {
            Algorithm::Direct => super::direct::price(self, choice, bytes),
            Algorithm::Symmetric => super::symmetric::price(self, choice, bytes),
            Algorithm::Ring
            | Algorithm::Tree
            | Algorithm::CollnetDirect
            | Algorithm::CollnetChain
            | Algorithm::Nvls
            | Algorithm::NvlsTree
            | Algorithm::Pat => Ok(choice.price_us(bytes)),
        }
    }

    /// What the price of a choice depends on besides latency and bandwidth: the latency of an all-reduce's ring
    /// between nodes counts more once each channel has something to do.
    pub(super) fn by_size(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
    ) -> Result<BySize, PredictError> {
        let corrections = self.corrections(algorithm, protocol)?;
        let rings = algorithm == Algorithm::Ring && protocol == Protocol::Simple;
        let reduces = collective == Collective::AllReduce && self.library == Library::Nccl;
        if !rings || !reduces || self.nodes < 2 {
            return Ok(BySize { corrections, ..BySize::default() });
        }
        let rule = |name| self.constants.only("rules", name);
        let each = rule("ring-simple-nodes-latency-bytes")?;
        let plateau = if self.system.capability < 80 {
            rule("ring-simple-nodes-latency-factor-pre-sm80")?
        } else {
            rule("ring-simple-nodes-latency-factor")?
        };
        let plateau_bytes = each * f64::from(self.all_channels()?) * f64::from(self.ranks);
        Ok(BySize { corrections, plateau_bytes, plateau })
    }

    /// The message that keeps every rank and channel busy with chunks of full size.
    pub fn full_bytes(&self, choice: &Choice) -> Result<f64, PredictError> {
        Ok(f64::from(self.ranks) * f64::from(choice.channels) * self.chunk_bytes()?)
    }

    /// The largest chunk of protocol Simple.
    pub fn chunk_bytes(&self) -> Result<f64, PredictError> {
        let rule = |name| self.constants.only("rules", name);
        Ok(rule("simple-buffer-bytes")? / rule("simple-buffer-steps")?)
    }
}

/// A list whose last value goes on for all larger sizes.
fn endless(values: &[f64]) -> Vec<f64> {
    let last = values.last().copied().unwrap_or(1.0);
    (0..64).map(|index| values.get(index).copied().unwrap_or(last)).collect()
}
