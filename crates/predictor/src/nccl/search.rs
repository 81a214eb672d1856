//! The channel search: how many channels of which speed fit into a node at once, for each pattern.
//!
//! Speeds are tried from a list, and path types relaxed, in NCCL's order; what one such try finds is in [`walk`].

use weft_topology::NcclPath;

use super::constants::Constants;
use super::nics::NicEnd;
use super::system::System;
use super::walk::{self, CHANNELS_MAX, Channel, Limits, Pattern};
use crate::PredictError;
use crate::settings::{CrossNic, Library, Settings};

/// Channels of one pattern: how many, how fast, over what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Channels {
    /// How many run at once.
    pub count: u16,
    /// Of each between GPUs, GB/s in one direction.
    pub intra: f64,
    /// Of each to and from the network, GB/s in one direction; as `intra` where there is none.
    pub inter: f64,
    /// The worst path type between GPUs.
    pub kind: NcclPath,
    /// The worst path type to and from NICs; of the device itself where there are none.
    pub kind_inter: NcclPath,
    /// GPUs in the order of the first channel.
    pub order: Vec<usize>,
    /// Whether some hop between GPUs is copied through host memory.
    pub staged: bool,
    /// Whether all channels take the GPUs in the same order.
    pub same: bool,
    /// Whether a tree is of the plain pattern, in which one GPU has all of a NIC's traffic.
    pub plain: bool,
}

/// What the searches of one node found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Graphs {
    pub ring: Channels,
    pub tree: Channels,
    /// One channel for each GPU that heads one in the NVSwitches; `None` where switches do not reduce.
    pub nvls: Option<Channels>,
}

/// A slower speed is tried only above this share of the one that worked: a little less than half, so that
/// twice the channels at half the speed are still found.
const SLOWER_SHARE: f64 = 0.49;

/// Path types within a machine, from the best.
pub(crate) const KINDS: [NcclPath; 10] = [
    NcclPath::Loc,
    NcclPath::Nvl,
    NcclPath::Nvb,
    NcclPath::C2c,
    NcclPath::Pix,
    NcclPath::Pxb,
    NcclPath::P2c,
    NcclPath::Pxn,
    NcclPath::Phb,
    NcclPath::Sys,
];

impl Graphs {
    /// The channels of a node; `None` where no ring passes all its GPUs.
    pub fn find(
        system: &System,
        library: Library,
        settings: &Settings,
        constants: Constants<'_>,
    ) -> Result<Option<Self>, PredictError> {
        let row = speeds_row(library, system.capability);
        let table = if system.nics.is_empty() { "speeds-intra" } else { "speeds-inter" };
        let speeds = constants.row(table, row)?;
        let searcher = Searcher { system, speeds, settings, constants };
        let Some(ring) = searcher.rings()? else { return Ok(None) };
        let tree = searcher.trees(&ring)?;
        let nvls = if library == Library::Nccl { searcher.multicasts() } else { None };
        Ok(Some(Self { ring, tree, nvls }))
    }

    /// What runs where nodes differ: NCCL takes the least of each.
    pub fn least(&mut self, other: &Self) {
        self.ring.least(&other.ring);
        self.tree.least(&other.tree);
        self.nvls = match (self.nvls.take(), &other.nvls) {
            (Some(mut own), Some(other)) => {
                own.least(other);
                Some(own)
            }
            (Some(_) | None, _) => None,
        };
    }
}

impl Channels {
    fn least(&mut self, other: &Self) {
        self.count = self.count.min(other.count);
        self.intra = self.intra.min(other.intra);
        self.inter = self.inter.min(other.inter);
        self.kind = self.kind.max(other.kind);
        self.kind_inter = self.kind_inter.max(other.kind_inter);
        self.staged |= other.staged;
        self.same &= other.same;
        self.plain |= other.plain;
    }

    /// All channels together between GPUs, GB/s.
    pub fn throughput(&self) -> f64 {
        f64::from(self.count) * self.intra
    }
}

fn speeds_row(library: Library, capability: u16) -> &'static str {
    match (library, capability) {
        (Library::Rccl, _) => "amd",
        (Library::Nccl, 100..) => "sm100",
        (Library::Nccl, 90..100) => "sm90",
        (Library::Nccl, 0..90) => "before-sm90",
    }
}

struct Searcher<'a> {
    system: &'a System,
    speeds: &'a [f64],
    settings: &'a Settings,
    constants: Constants<'a>,
}

impl Searcher<'_> {
    /// The best rings, duplicated as NCCL does.
    fn rings(&self) -> Result<Option<Channels>, PredictError> {
        if let Some(meshed) = self.meshed() {
            return Ok(Some(meshed));
        }
        let Some(found) = self.first_pass(Pattern::Ring, None) else { return Ok(self.fallback()) };
        let doubled = self.duplicate(found)?;
        Ok(Some(self.faster_rings(doubled)))
    }

    /// Between AMD's modules that are all joined directly RCCL lays rings from a table, so that each link has one in
    /// each direction: as many circles as a GPU has neighbours, or as many chains from NIC to NIC as there are GPUs.
    fn meshed(&self) -> Option<Channels> {
        let system = self.system;
        let count = system.gpus.len();
        let intra = system.paths().map(|path| path.rate).fold(f64::INFINITY, f64::min);
        // So many chains cover all links only of an even number of GPUs.
        let alone = system.nics.is_empty();
        if system.suffix.is_empty() || !system.full_mesh || count < 2 || !alone && !count.is_multiple_of(2) {
            return None;
        }
        let ends = system.nics.iter().filter_map(|nic| nic.out[nic.local].as_ref());
        let slowest = ends.clone().map(|path| path.rate).fold(intra, f64::min);
        let inter = self.speeds.iter().copied().find(|speed| *speed <= slowest + 1e-9)?;
        let rings = if alone { count - 1 } else { count.min(system.nics.len()) };
        Some(Channels {
            count: u16::try_from(rings).unwrap_or(CHANNELS_MAX),
            intra: if alone { intra } else { inter },
            inter: if alone { intra } else { inter },
            kind: NcclPath::Nvl,
            kind_inter: ends.map(|path| path.kind).max().unwrap_or(NcclPath::Loc),
            order: (0..count).collect(),
            staged: false,
            same: false,
            plain: false,
        })
    }

    /// One channel in the order of the GPUs, as slow as its slowest hop: what NCCL falls back to where even the
    /// slowest speed of its list does not fit (Blackwell cards across AMD sockets). `None` where a hop has no path.
    fn fallback(&self) -> Option<Channels> {
        let system = self.system;
        let count = system.gpus.len();
        let hops = (0..count).map(|from| (from, (from + 1) % count)).filter(|(from, to)| from != to);
        let paths: Vec<_> = hops.map(|(from, to)| system.path(from, to)).collect::<Option<_>>()?;
        let ends = || system.nics.iter().flat_map(|nic| nic.out.iter().chain(&nic.into).flatten());
        let inter = ends().map(|path| path.rate).fold(f64::INFINITY, f64::min);
        let intra = paths.iter().map(|path| path.rate).fold(f64::INFINITY, f64::min).min(inter);
        Some(Channels {
            count: 1,
            intra,
            inter: intra.min(inter),
            kind: NcclPath::Sys,
            kind_inter: if system.nics.is_empty() { NcclPath::Loc } else { NcclPath::Sys },
            staged: paths.iter().any(|path| path.staged),
            order: (0..count).collect(),
            same: true,
            plain: true,
        })
    }

    /// Trees with as many channels as there are rings, as fast as that allows, then with twice the rate within the
    /// node if it fits: on two nodes the rate within counts.
    fn trees(&self, ring: &Channels) -> Result<Channels, PredictError> {
        let system = self.system;
        let alone = system.gpus.len() == 1;
        let pattern = if alone { Pattern::Tree } else { Pattern::BalancedTree };
        let Some(mut tree) = self.first_pass(pattern, Some(ring.count)) else {
            let none = self.constants.only("rules", "unfound-gbps")?;
            return Ok(Channels { count: 1, intra: none, inter: none, plain: true, ..ring.clone() });
        };
        let limit = self.constants.only("rules", "tree-intra-over-inter-limit").unwrap_or(1.0);
        let shape = if tree.plain { Pattern::Tree } else { Pattern::BalancedTree };
        let faster: Vec<f64> =
            self.speeds.iter().rev().copied().filter(|speed| *speed > tree.intra).collect();
        for speed in faster {
            if tree.intra >= limit * tree.inter {
                break;
            }
            if !self.feeds_within(ring.count, shape, speed) {
                break;
            }
            let limits = Limits { intra: speed, ..self.limits_of(&tree, shape) };
            let found = walk::search(system, limits);
            if found.len() < usize::from(ring.count) {
                break;
            }
            tree.intra = speed;
        }
        Ok(tree)
    }

    /// Channels through switches that reduce: one per GPU, or per GPU that has a NIC, each head sending twice.
    fn multicasts(&self) -> Option<Channels> {
        let system = self.system;
        let rate = system.reducing.filter(|_| system.capability >= 90)?;
        let mut best: Option<Channels> = None;
        for kind in self.network_kinds() {
            let own = |nic: &NicEnd| nic.out[nic.local].as_ref().map(|path| (path.kind, path.rate));
            let near: Vec<(usize, f64)> = system
                .nics
                .iter()
                .filter_map(|nic| Some((nic.local, own(nic).filter(|(own, _)| *own <= kind)?.1)))
                .collect();
            let Some(found) = self.multicast(rate, &near, kind) else { continue };
            // Heads pull from the switches: the more the better.
            if best.as_ref().is_none_or(|best| found.count > best.count) {
                best = Some(found);
            }
        }
        best
    }

    /// The fastest channels with a head for each GPU of `near`, of which each has a rate to its NIC.
    fn multicast(&self, rate: f64, near: &[(usize, f64)], kind_inter: NcclPath) -> Option<Channels> {
        let system = self.system;
        let mut heads: Vec<usize> = near.iter().map(|(gpu, _)| *gpu).collect();
        heads.sort_unstable();
        heads.dedup();
        let heads = if system.nics.is_empty() { system.gpus.len() } else { heads.len() };
        let heads = u16::try_from(heads).unwrap_or(CHANNELS_MAX).min(CHANNELS_MAX);
        let slowest = near.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
        // Each GPU's links carry every channel once, and the one that it heads twice.
        let fits = |speed: &&f64| **speed * f64::from(heads + 1) <= rate + 1e-9 && **speed <= slowest + 1e-9;
        let intra = *self.speeds.iter().find(fits).filter(|_| heads > 0)?;
        let limit = self.constants.only("rules", "nvls-inter-over-intra-limit").unwrap_or(1.0);
        let fits = |speed: &&f64| **speed <= slowest + 1e-9 && **speed <= limit * intra + 1e-9;
        let inter = self.speeds.iter().find(fits).copied().unwrap_or(intra);
        Some(Channels {
            count: heads,
            intra,
            inter,
            kind: NcclPath::Nvl,
            kind_inter,
            order: (0..system.gpus.len()).collect(),
            staged: false,
            same: false,
            plain: false,
        })
    }

    /// For each speed, from fast to slow: relax the path types until channels are found; keep the best product.
    fn first_pass(&self, pattern: Pattern, count: Option<u16>) -> Option<Channels> {
        let system = self.system;
        let (nearest, farthest) = system.kinds();
        let mut best: Option<Channels> = None;
        let fast = self.speeds.iter().copied().filter(|speed| *speed <= system.best_rate().max(1e-9) + 1e-9);
        for speed in fast {
            // Far slower channels cannot beat what is found already.
            if best.as_ref().is_some_and(|best| speed / best.intra <= SLOWER_SHARE) {
                break;
            }
            // What cannot be fed is not searched for: such a search would spend its whole budget.
            if count.is_some_and(|count| !self.feeds(count, pattern, speed)) {
                continue;
            }
            let most = count.map_or_else(|| self.most(pattern, speed), usize::from);
            for kind_inter in self.network_kinds() {
                let limit_inter =
                    best.as_ref().map_or(NcclPath::Sys, |best| best.kind_inter.max(NcclPath::Pxn));
                if best.is_some() && kind_inter > limit_inter {
                    break;
                }
                let farthest =
                    if system.nics.is_empty() { farthest } else { farthest.min(kind_inter.max(nearest)) };
                for kind in KINDS.into_iter().filter(|kind| (nearest..=farthest).contains(kind)) {
                    let limit = best.as_ref().map_or(NcclPath::Sys, |best| best.kind);
                    if best.is_some() && kind > limit {
                        break;
                    }
                    let worth = |best: &Channels| {
                        #[expect(clippy::cast_precision_loss, reason = "at most 32 channels")]
                        let bound = most as f64 * speed;
                        bound > best.throughput() + 1e-9
                    };
                    if !best.as_ref().is_none_or(worth) {
                        continue;
                    }
                    let base = self.plain(pattern, speed, kind);
                    for cross in self.crossings(pattern) {
                        let limits = Limits { kind_inter, cross, most, ..base };
                        let Some(found) = self.best_of(limits, count) else { continue };
                        if best.as_ref().is_none_or(|best| found.throughput() > best.throughput() + 1e-9) {
                            best = Some(found);
                        }
                        if best.as_ref().is_some_and(|best| self.is_enough(best)) {
                            return best;
                        }
                    }
                }
            }
        }
        best
    }

    fn is_enough(&self, found: &Channels) -> bool {
        f64::from(found.count) * found.inter >= self.system.total - 1e-9
    }

    /// Path types to NICs, from the best that there is.
    fn network_kinds(&self) -> Vec<NcclPath> {
        let paths = || self.system.nics.iter().flat_map(|nic| nic.out.iter().flatten());
        let ends = |paths: &mut dyn Iterator<Item = NcclPath>| {
            let all: Vec<NcclPath> = paths.collect();
            (all.iter().min().copied(), all.iter().max().copied())
        };
        match ends(&mut paths().map(|path| path.kind)) {
            (Some(best), Some(worst)) => {
                KINDS.into_iter().filter(|kind| (best..=worst).contains(kind)).collect()
            }
            (_, _) => vec![NcclPath::Loc],
        }
    }

    /// Whether channels may leave by another NIC than they came by: as the user says, first not.
    fn crossings(&self, pattern: Pattern) -> Vec<bool> {
        let may = self.system.nics.len() > 1 && pattern == Pattern::Ring;
        match self.settings.cross_nic {
            CrossNic::Never => vec![false],
            CrossNic::Always => vec![may],
            CrossNic::IfFaster if may => vec![false, true],
            CrossNic::IfFaster => vec![false],
        }
    }

    /// Channels all in one order, or in several where those carry more; for trees the simpler pattern where the
    /// balanced one does not fit.
    fn best_of(&self, limits: Limits, count: Option<u16>) -> Option<Channels> {
        let enough = |found: &[Channel]| count.is_none_or(|count| found.len() >= usize::from(count));
        let mut patterns = vec![limits.pattern];
        if limits.pattern == Pattern::BalancedTree && self.system.capability >= 90 {
            patterns.push(Pattern::Tree);
        }
        for pattern in patterns {
            let mut best: Vec<Channel> = Vec::new();
            let mut is_same = true;
            for same in [true, false] {
                let found = walk::search(self.system, Limits { pattern, same, ..limits });
                if found.len() > best.len() {
                    (best, is_same) = (found, same);
                }
                if best.len() >= limits.most {
                    break;
                }
            }
            if !best.is_empty() && enough(&best) {
                let found = self.channels(&best, Limits { pattern, ..limits });
                return Some(Channels { same: is_same, ..found });
            }
        }
        None
    }

    fn plain(&self, pattern: Pattern, speed: f64, kind: NcclPath) -> Limits {
        Limits {
            pattern,
            intra: speed,
            inter: speed,
            kind_intra: kind,
            kind_inter: NcclPath::Sys,
            cross: false,
            same: true,
            most: self.most(pattern, speed),
        }
    }

    fn limits_of(&self, found: &Channels, pattern: Pattern) -> Limits {
        Limits {
            pattern,
            intra: found.intra,
            inter: found.inter,
            kind_intra: found.kind,
            kind_inter: found.kind_inter,
            cross: self.settings.cross_nic != CrossNic::Never && pattern == Pattern::Ring,
            same: found.same,
            most: usize::from(found.count),
        }
    }

    /// Whether GPUs and NICs can feed so many channels at a speed.
    fn feeds(&self, count: u16, pattern: Pattern, speed: f64) -> bool {
        self.feeds_within(count, pattern, speed) && f64::from(count) <= self.by_nics(speed)
    }

    /// Whether the GPUs can.
    fn feeds_within(&self, count: u16, pattern: Pattern, speed: f64) -> bool {
        f64::from(count) <= self.by_gpus(pattern, speed)
    }

    /// No more channels than GPUs and NICs can feed at this speed: a search that reaches it may stop.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by 32 just before")]
    fn most(&self, pattern: Pattern, speed: f64) -> usize {
        let fed = self.by_gpus(pattern, speed).min(self.by_nics(speed));
        fed.floor().clamp(1.0, f64::from(CHANNELS_MAX)) as usize
    }

    #[expect(clippy::cast_precision_loss, reason = "GPUs of one node")]
    fn by_gpus(&self, pattern: Pattern, speed: f64) -> f64 {
        let system = self.system;
        let count = system.gpus.len() as f64;
        // A chain, or a circle through the network, passes one hop fewer than it has GPUs.
        let opens = pattern != Pattern::Ring || !system.nics.is_empty();
        let share = if opens && count > 1.0 { count / (count - 1.0) } else { 1.0 };
        if system.gpus.len() == 1 { f64::INFINITY } else { system.total * share / speed + 1e-9 }
    }

    fn by_nics(&self, speed: f64) -> f64 {
        let system = self.system;
        if system.nics.is_empty() {
            return f64::INFINITY;
        }
        system.nics.iter().map(|nic| (nic.rate / speed + 1e-9).floor()).sum()
    }

    /// The channels as found: their worst paths.
    fn channels(&self, found: &[Channel], limits: Limits) -> Channels {
        let system = self.system;
        let closes = limits.pattern == Pattern::Ring && system.nics.is_empty();
        let hops = found.iter().flat_map(|channel| {
            let order = &channel.order;
            let length = if closes { order.len() } else { order.len().saturating_sub(1) };
            order.iter().zip(order.iter().cycle().skip(1)).take(length)
        });
        let paths: Vec<_> = hops.filter_map(|(from, to)| system.path(*from, *to)).collect();
        let ends = found.iter().filter_map(|channel| {
            let (into, out) = channel.nics?;
            let (first, last) = (*channel.order.first()?, *channel.order.last()?);
            let left = if limits.pattern == Pattern::Ring { last } else { first };
            let kinds = [system.nics[into].into[first].as_ref(), system.nics[out].out[left].as_ref()];
            kinds.into_iter().flatten().map(|path| path.kind).max()
        });
        Channels {
            count: u16::try_from(found.len()).unwrap_or(CHANNELS_MAX),
            intra: limits.intra,
            inter: limits.inter,
            kind: paths.iter().map(|path| path.kind).max().unwrap_or(NcclPath::Loc),
            kind_inter: ends.max().unwrap_or(NcclPath::Loc),
            staged: paths.iter().any(|path| path.staged),
            order: found.first().map(|channel| channel.order.clone()).unwrap_or_default(),
            same: limits.same,
            plain: limits.pattern == Pattern::Tree,
        }
    }

    /// Twice the channels at half the speed, where a channel is fast enough to be split.
    fn duplicate(&self, channels: Channels) -> Result<Channels, PredictError> {
        let rule = |name| self.constants.only("rules", name);
        let many = self.system.capability > 80
            && channels.intra < rule("duplicate-above-sm80-below-intra-gbps")?
            && f64::from(channels.count) > rule("duplicate-above-sm80-channels")?;
        if many || channels.intra < rule("duplicate-below-intra-gbps")? {
            return Ok(channels);
        }
        let count = (2 * channels.count).min(CHANNELS_MAX);
        let share = f64::from(count.div_ceil(channels.count));
        Ok(Channels { count, intra: channels.intra / share, inter: channels.inter / share, ..channels })
    }

    /// The same number of rings at the next higher speeds, as long as they fit.
    fn faster_rings(&self, found: Channels) -> Channels {
        let mut best = found;
        let faster: Vec<f64> =
            self.speeds.iter().rev().copied().filter(|speed| *speed > best.intra).collect();
        for speed in faster {
            if !self.feeds(best.count, Pattern::Ring, speed) {
                break;
            }
            let limits = Limits { intra: speed, inter: speed, ..self.limits_of(&best, Pattern::Ring) };
            let raised = walk::search(self.system, limits);
            if raised.len() < usize::from(best.count) {
                break;
            }
            best = Channels { same: best.same, ..self.channels(&raised, limits) };
        }
        best
    }
}
