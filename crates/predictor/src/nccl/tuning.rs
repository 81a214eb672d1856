//! NCCL's prices: for each algorithm and protocol a latency and a bandwidth, of which it takes the cheapest.

use weft_base::Bytes;
use weft_collective::Collective;
use weft_topology::NcclPath;

use super::constants::{Column, Constants};
use super::search::Channels;
use super::system::System;
use crate::PredictError;

/// How data is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// Each rank to the next.
    Ring,
    /// Up and down two trees; within one server a chain.
    Tree,
    /// Added by the network's switches, each GPU sending its part to the heads of its host.
    CollnetDirect,
    /// Added by the network's switches, the GPUs of a host in a chain.
    CollnetChain,
    /// Added and copied by the NVSwitches.
    Nvls,
    /// NVSwitches within a host, a tree between hosts.
    NvlsTree,
    /// Trees of all ranks at once, for all-gather and reduce-scatter with one GPU per host.
    Pat,
}

impl Algorithm {
    /// All of them, in NCCL's order.
    pub const ALL: [Self; 7] = [
        Self::Tree,
        Self::Ring,
        Self::CollnetDirect,
        Self::CollnetChain,
        Self::Nvls,
        Self::NvlsTree,
        Self::Pat,
    ];

    /// NCCL's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "Ring",
            Self::Tree => "Tree",
            Self::CollnetDirect => "CollnetDirect",
            Self::CollnetChain => "CollnetChain",
            Self::Nvls => "NVLS",
            Self::NvlsTree => "NVLSTree",
            Self::Pat => "PAT",
        }
    }

    /// The algorithm of that name, whatever its case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }
}

/// How data is synchronised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// A flag with every 4 bytes.
    Ll,
    /// A flag with every 120 bytes; needs NVLink.
    Ll128,
    /// A flag with every chunk.
    Simple,
}

impl Protocol {
    /// All of them, in NCCL's order.
    pub const ALL: [Self; 3] = [Self::Ll, Self::Ll128, Self::Simple];

    /// The protocol of that name, whatever its case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }

    /// NCCL's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ll => "LL",
            Self::Ll128 => "LL128",
            Self::Simple => "Simple",
        }
    }

    fn column(self) -> Column {
        match self {
            Self::Ll => Column::First,
            Self::Ll128 => Column::Second,
            Self::Simple => Column::Third,
        }
    }
}

/// One algorithm with one protocol, priced.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub algorithm: Algorithm,
    pub protocol: Protocol,
    pub channels: u16,
    /// GB/s of each channel.
    pub channel_rate: f64,
    /// Microseconds to start and end the kernel.
    pub base_us: f64,
    /// Microseconds before the first byte counts, as NCCL prices it.
    pub latency_us: f64,
    /// The part of the latency that is steps, one after the other: the depth of the pipeline.
    pub depth_us: f64,
    /// Message bytes per second in GB/s, as NCCL prices it.
    pub algbw: f64,
    /// The worst path type on the way.
    pub kind: NcclPath,
    /// Whether some hop is copied through host memory.
    pub staged: bool,
}

/// The row of tables by generation of GPUs with that compute capability, times ten.
pub(crate) fn generation(capability: u16) -> &'static str {
    match capability {
        100.. => "blackwell",
        90..100 => "hopper",
        80..90 => "ampere",
        0..80 => "volta",
    }
}

/// The machine as the tuning model sees it.
pub(crate) struct Tuning<'c> {
    pub constants: Constants<'c>,
    pub ranks: usize,
    pub capability: u16,
    pub rings: Channels,
    pub multicasts: Option<Channels>,
}

impl<'c> Tuning<'c> {
    pub fn new(
        system: &System,
        rings: Channels,
        multicasts: Option<Channels>,
        constants: Constants<'c>,
    ) -> Self {
        Self { constants, ranks: system.gpus.len(), capability: system.capability, rings, multicasts }
    }

    /// Everything that NCCL could choose for `collective`.
    pub fn choices(&self, collective: Collective) -> Result<Vec<Choice>, PredictError> {
        let mut choices = Vec::new();
        for protocol in Protocol::ALL {
            if protocol == Protocol::Ll128 && !self.has_ll128() {
                continue;
            }
            choices.push(self.ring(collective, protocol)?);
            if collective == Collective::AllReduce {
                choices.push(self.tree(protocol)?);
            }
        }
        if collective == Collective::AllReduce
            && let Some(channels) = &self.multicasts
        {
            choices.extend(self.nvls(channels)?);
        }
        Ok(choices)
    }

    /// LL128 relies on 128-byte stores staying whole: Volta or newer, NVLink all the way.
    fn has_ll128(&self) -> bool {
        self.capability >= 70 && self.rings.kind <= NcclPath::Nvb
    }

    fn generation(&self) -> &'static str {
        generation(self.capability)
    }

    fn hardware_table(&self) -> &'static str {
        if self.rings.kind <= NcclPath::C2c { "hw-latency-nvlink" } else { "hw-latency-pcie" }
    }

    fn bus(&self) -> f64 {
        f64::from(self.rings.count) * self.rings.rate
    }

    fn choice(
        &self,
        algorithm: Algorithm,
        protocol: Protocol,
        base_us: f64,
        depth_us: f64,
        algbw: f64,
    ) -> Choice {
        Choice {
            algorithm,
            protocol,
            channels: self.rings.count,
            channel_rate: self.rings.rate,
            base_us,
            latency_us: base_us + depth_us,
            depth_us,
            algbw,
            kind: self.rings.kind,
            staged: self.rings.staged,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
    fn ring(&self, collective: Collective, protocol: Protocol) -> Result<Choice, PredictError> {
        let (constants, bus, channels) = (self.constants, self.bus(), f64::from(self.rings.count));
        let busbw = match protocol {
            Protocol::Ll => {
                let efficiency = constants.only("rules", "ring-ll-efficiency")?;
                constants.only("ll-max", self.generation())?.min(efficiency * bus)
            }
            Protocol::Ll128 => {
                let cap = constants.only("ring-ll128-per-channel", self.generation())?;
                (constants.only("rules", "ring-ll128-efficiency")? * bus).min(channels * cap)
            }
            Protocol::Simple => bus,
        };
        let steps = collective.ring_steps(self.ranks) as f64;
        let base = constants.value("base-latency", "ring", protocol.column())?;
        let hop = constants.value(self.hardware_table(), "ring", protocol.column())?;
        let algbw = busbw / collective.bus_factor(self.ranks);
        let mut choice = self.choice(Algorithm::Ring, protocol, base, steps * hop, algbw);
        if collective == Collective::Broadcast {
            // NCCL counts one hop of a broadcast's ring; its pipeline is as deep as all hops.
            choice.latency_us = base + hop;
        }
        Ok(choice)
    }

    #[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
    fn tree(&self, protocol: Protocol) -> Result<Choice, PredictError> {
        let (constants, channels) = (self.constants, f64::from(self.rings.count));
        let cap = constants.only("tree-per-channel", self.generation())?;
        let bus = (constants.only("rules", "tree-efficiency")? * self.bus()).min(channels * cap);
        let busbw = match protocol {
            Protocol::Ll => {
                let divisor = constants.only("rules", "tree-ll-divisor")?;
                (bus / divisor).min(constants.only("ll-max", self.generation())?)
            }
            Protocol::Ll128 => {
                let cap = constants.only("tree-ll128-per-channel", self.generation())?;
                (bus * constants.only("rules", "tree-ll128-intra")?).min(channels * cap)
            }
            Protocol::Simple => bus,
        };
        let base = constants.value("base-latency", "tree", protocol.column())?;
        let hop = constants.value(self.hardware_table(), "tree", protocol.column())?;
        let depth = 2.0 * (self.ranks as f64 - 1.0) * hop;
        // Up the tree and down again: each byte of message crosses a link twice.
        Ok(self.choice(Algorithm::Tree, protocol, base, depth, busbw / 2.0))
    }

    #[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
    fn nvls(&self, channels: &Channels) -> Result<Option<Choice>, PredictError> {
        let efficiency = self.constants.only("nvls-efficiency", self.generation())?;
        let least = self.constants.only("rules", "nvls-min-channels")?;
        if f64::from(channels.count) < least || efficiency <= 0.0 {
            return Ok(None);
        }
        let heads = f64::from(channels.count);
        // All-reduce passes a channel's data up and down at once, hence the 2.
        let per_channel = channels.rate * efficiency * (heads - 1.0) / heads * 2.0;
        let algbw =
            per_channel * heads * self.ranks as f64 / Collective::AllReduce.ring_steps(self.ranks) as f64;
        let latency_us = self.constants.value("hw-latency-nvlink", "nvls", Column::Third)?;
        Ok(Some(Choice {
            algorithm: Algorithm::Nvls,
            protocol: Protocol::Simple,
            channels: channels.count,
            channel_rate: channels.rate,
            base_us: 0.0,
            latency_us,
            depth_us: latency_us,
            algbw,
            kind: NcclPath::Nvl,
            staged: false,
        }))
    }

    /// NCCL's price of `choice` for a message, in microseconds.
    pub fn price(&self, choice: &Choice, bytes: Bytes) -> Result<f64, PredictError> {
        Ok(choice.latency_us + bytes.as_f64() / (1000.0 * choice.algbw * self.correction(choice, bytes)?))
    }

    /// The message that keeps every rank and channel busy with chunks of full size.
    pub fn full_bytes(&self, choice: &Choice) -> Result<f64, PredictError> {
        let rule = |name| self.constants.only("rules", name);
        let chunk = rule("simple-buffer-bytes")? / rule("simple-buffer-steps")?;
        Ok(f64::from(u32::try_from(self.ranks).unwrap_or(u32::MAX)) * f64::from(choice.channels) * chunk)
    }

    /// NCCL's factor on the bandwidth of trees, by size.
    pub fn correction(&self, choice: &Choice, bytes: Bytes) -> Result<f64, PredictError> {
        let index = usize::try_from(bytes.get().checked_div(64).and_then(u64::checked_ilog2).unwrap_or(0))
            .unwrap_or(0);
        if choice.algorithm != Algorithm::Tree || index >= 23 {
            return Ok(1.0);
        }
        self.constants.at("tree-correction", choice.protocol.name(), index)
    }

    /// Channels that NCCL really starts for a message: fewer while each would get too little.
    pub fn channels_used(&self, choice: &Choice, bytes: Bytes) -> Result<u16, PredictError> {
        let name = choice.protocol.name().to_lowercase();
        let rule = |what: &str| self.constants.only("rules", &format!("{what}-{name}"));
        let mut per_channel =
            rule("max-threads")? * self.constants.only("rules", &format!("thread-threshold-{name}-bytes"))?;
        if choice.algorithm == Algorithm::Ring && choice.protocol == Protocol::Ll {
            per_channel *= f64::from(u32::try_from(self.ranks).unwrap_or(u32::MAX));
        }
        let mut channels = choice.channels;
        while channels > 1 && bytes.as_f64() < f64::from(channels) * per_channel {
            channels -= 1;
        }
        Ok(channels)
    }
}
