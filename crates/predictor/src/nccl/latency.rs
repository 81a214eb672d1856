//! Latencies of NCCL's model: base, then steps within a node and between nodes.

use weft_collective::Collective;
use weft_topology::NcclPath;

use super::choice::{Algorithm, Protocol};
use super::constants::Column;
use super::search::Channels;
use super::tuning::{Price, Tuning};
use crate::PredictError;
use crate::settings::Library;

impl Tuning<'_> {
    fn hop(&self, table: &str, row: &str, column: Column) -> Result<f64, PredictError> {
        self.constants.value(table, &format!("{row}{}", self.system.suffix), column)
    }

    /// A step within a node.
    fn intra_us(&self, row: &str, protocol: Protocol, kind: NcclPath) -> Result<f64, PredictError> {
        if kind == NcclPath::Nvl {
            return self.hop("hw-latency-nvlink", row, protocol.column());
        }
        // A tree over POWER's links is priced as a ring, so that it is not kept from being chosen.
        let power = self.system.power_cpus && row == "tree" && protocol == Protocol::Simple;
        self.hop("hw-latency-pcie", if power { "ring" } else { row }, protocol.column())
    }

    /// A step between nodes; with one GPU per node nothing hides behind others, so that a tree's counts.
    fn inter_us(&self, row: &str, protocol: Protocol) -> Result<f64, PredictError> {
        let alone = self.ranks == self.nodes && self.constants.only("rules", "one-gpu-tree-step")? > 0.0;
        self.hop("hw-latency-net", if alone { "tree" } else { row }, protocol.column())
    }

    /// What starting a send over the network costs the host, which a step within a node cannot undercut.
    fn overhead_us(&self, protocol: Protocol) -> Result<f64, PredictError> {
        if self.nodes < 2 {
            return Ok(0.0);
        }
        let rule = |name| self.constants.only("rules", name);
        let usual = if self.system.amd_cpus { "net-overhead-amd-us" } else { "net-overhead-us" };
        let one = match self.settings.net_overhead_ns {
            Some(nanoseconds) => f64::from(nanoseconds) / 1000.0,
            None => rule(usual)?,
        };
        let factor = if protocol == Protocol::Simple { rule("net-overhead-simple-factor")? } else { 1.0 };
        Ok(one * factor)
    }

    pub(super) fn latency(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
        graph: &Channels,
    ) -> Result<Price, PredictError> {
        let row = algorithm.row();
        let base_us = match self.library {
            Library::Nccl => self.constants.value("base-latency", row, protocol.column())?,
            Library::Rccl => self.constants.value("base-latency", row, protocol.column())?,
        };
        if algorithm == Algorithm::Ring {
            return self.ring_latency(collective, protocol, graph, base_us);
        }
        let intra = self.intra_us(row, protocol, graph.kind)?;
        let inter = if self.nodes > 1 { self.inter_us(row, protocol)? } else { 0.0 };
        let rule = |name| self.constants.only("rules", name);
        let others = (self.ranks / self.nodes.max(1)).saturating_sub(1);
        let (doublings, down) = (self.doublings(), f64::from(others));
        let linear = rule("nvls-tree-linear").unwrap_or(0.0) > 0.0;
        let (depth_us, steps) = match algorithm {
            Algorithm::Tree => {
                (2.0 * (down * intra + f64::from(doublings) * inter), (2 * others, 2 * doublings))
            }
            Algorithm::CollnetDirect => {
                let serial = rule("collnet-direct-per-gpu-us")?;
                (2.0 * (down.min(1.0) * intra + down * serial) + inter, (2 * others.min(1), 1))
            }
            Algorithm::CollnetChain => (2.0 * down * intra + inter, (2 * others, 1)),
            Algorithm::Nvls => (intra + inter, (1, u32::from(self.nodes > 1))),
            Algorithm::NvlsTree if linear => {
                let steps = 2 * (self.nodes - 1);
                (f64::from(steps) * inter, (1, steps))
            }
            Algorithm::NvlsTree => (intra + 2.0 * f64::from(doublings) * inter, (1, 2 * doublings)),
            Algorithm::Pat => {
                let (divisor, per_rank) = (rule("pat-inter-divisor")?, rule("pat-per-rank-us")?);
                let steps = f64::from(doublings) * inter / divisor + f64::from(self.ranks) * per_rank;
                (steps, (0, doublings))
            }
            Algorithm::Ring | Algorithm::Symmetric | Algorithm::Direct => (0.0, (0, 0)),
        };
        Ok(Price { base_us, counted_us: depth_us, algbw: 0.0, steps, step_us: (intra, inter) })
    }

    fn ring_latency(
        &self,
        collective: Collective,
        protocol: Protocol,
        graph: &Channels,
        base_us: f64,
    ) -> Result<Price, PredictError> {
        let intra = self.intra_us("ring", protocol, graph.kind)?;
        let inter = if self.nodes > 1 { self.inter_us("ring", protocol)? } else { 0.0 };
        let ranks = usize::try_from(self.ranks).unwrap_or(usize::MAX);
        let steps = u32::try_from(collective.ring_steps(ranks)).unwrap_or(u32::MAX);
        let less = self.constants.only("rules", "ring-all-reduce-inter-steps-less")?;
        let between = match (collective, self.nodes) {
            (_, 0 | 1) => 0.0,
            (Collective::AllReduce, nodes) => 2.0 * f64::from(nodes) - less,
            (Collective::SendRecv, _) => 1.0,
            (_, nodes) => f64::from(nodes) - 1.0,
        };
        let within = (f64::from(steps) - between).max(0.0);
        let depth_us = within * intra.max(self.overhead_us(protocol)?) + between * inter;
        let counted_us = match collective {
            // NCCL counts one hop of rings that are all in one order; their pipeline is as deep as all hops.
            Collective::Broadcast | Collective::Reduce => {
                let table = if self.nodes > 1 { "hw-latency-net" } else { "" };
                let hop = |row: &str| match table {
                    "" => self.intra_us(row, protocol, graph.kind),
                    net => self.hop(net, row, protocol.column()),
                };
                match (graph.same, protocol) {
                    (true, _) => hop("ring")?,
                    (false, Protocol::Simple) => f64::from(steps) * hop("tree")?,
                    (false, Protocol::Ll | Protocol::Ll128) => f64::from(steps) * hop("ring")?,
                }
            }
            Collective::AllReduce
            | Collective::AllGather
            | Collective::ReduceScatter
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => depth_us,
        };
        let hops = match collective {
            Collective::AllReduce | Collective::Barrier => 2 * (self.nodes - 1),
            Collective::SendRecv => u32::from(self.nodes > 1),
            Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::AllToAll => self.nodes - 1,
        };
        let (steps, step_us) = ((steps.saturating_sub(hops), hops), (intra, inter));
        Ok(Price { base_us, counted_us, algbw: 0.0, steps, step_us })
    }
}
