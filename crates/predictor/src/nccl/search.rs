//! The channel search: how many rings of which speed fit into the machine at once.
//!
//! A depth-first search over orders of the GPUs, the nearest first, that takes a ring's speed from every
//! link it crosses; speeds are tried from a list, and path types relaxed, in NCCL's order.

use weft_topology::NcclPath;

use super::constants::Constants;
use super::system::System;
use crate::PredictError;

/// Channels of one pattern: how many, how fast, over what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Channels {
    /// How many run at once.
    pub count: u16,
    /// Of each, GB/s in one direction.
    pub rate: f64,
    /// The worst path type on the way.
    pub kind: NcclPath,
    /// GPUs in the order of the first ring.
    pub order: Vec<usize>,
    /// Whether some hop is copied through host memory.
    pub staged: bool,
}

/// Steps that one search may take; NCCL bounds its own in the same way.
const BUDGET: u32 = 1 << 12;
/// A slower speed is tried only above this share of the one that worked: a little less than half, so that
/// twice the channels at half the speed are still found.
const SLOWER_SHARE: f64 = 0.49;
/// At most so many channels from one search (`max-channels-per-search` of the rules).
const CHANNELS_MAX: u16 = 32;

/// The best rings, duplicated as NCCL does; `None` where no ring passes all GPUs.
pub(crate) fn rings(system: &System, constants: Constants<'_>) -> Result<Option<Channels>, PredictError> {
    let speeds = constants.row("speeds-intra", speeds_row(system.capability))?;
    let Some(found) = first_pass(system, speeds) else { return Ok(fallback(system)) };
    let raised = second_pass(system, speeds, found);
    duplicate(raised, system.capability, constants).map(Some)
}

/// One channel in the order of the GPUs, as slow as its slowest hop: what NCCL falls back to where even the
/// slowest speed of its list does not fit (Blackwell cards across AMD sockets). `None` where a hop has no path.
fn fallback(system: &System) -> Option<Channels> {
    let order: Vec<usize> = (0..system.gpus.len()).collect();
    let paths: Vec<_> = hops(&order).map(|(from, to)| system.path(from, to)).collect::<Option<_>>()?;
    Some(Channels {
        count: 1,
        rate: paths.iter().map(|path| path.rate).fold(f64::INFINITY, f64::min),
        kind: paths.iter().map(|path| path.kind).max()?,
        staged: paths.iter().any(|path| path.staged),
        order,
    })
}

/// Channels through switches that reduce: one per GPU, the head sending twice; `None` where there are none.
pub(crate) fn multicasts(
    system: &System,
    constants: Constants<'_>,
) -> Result<Option<Channels>, PredictError> {
    let Some(rate) = system.reducing.filter(|_| system.capability >= 90) else { return Ok(None) };
    let speeds = constants.row("speeds-intra", speeds_row(system.capability))?;
    let heads = u16::try_from(system.gpus.len()).unwrap_or(CHANNELS_MAX).min(CHANNELS_MAX);
    // Each GPU's links carry every channel once, and the one that it heads twice.
    let fits = |speed: &&f64| **speed * f64::from(heads + 1) <= rate + 1e-9;
    let channels = speeds.iter().find(fits).map(|speed| Channels {
        count: heads,
        rate: *speed,
        kind: NcclPath::Nvl,
        order: (0..system.gpus.len()).collect(),
        staged: false,
    });
    Ok(channels)
}

fn speeds_row(capability: u16) -> &'static str {
    match capability {
        100.. => "sm100",
        90..100 => "sm90",
        0..90 => "before-sm90",
    }
}

const KINDS: [NcclPath; 7] =
    [NcclPath::Nvl, NcclPath::Nvb, NcclPath::C2c, NcclPath::Pix, NcclPath::Pxb, NcclPath::Phb, NcclPath::Sys];

/// For each speed, from fast to slow: relax the path types until rings close; keep the best product.
fn first_pass(system: &System, speeds: &[f64]) -> Option<Channels> {
    let worst = system.worst_kind();
    let mut best: Option<Channels> = None;
    let fast = speeds.iter().copied().filter(|speed| *speed <= system.best_rate() + 1e-9);
    for speed in fast {
        // Far slower channels cannot beat what is found already.
        if best.as_ref().is_some_and(|best| speed / best.rate <= SLOWER_SHARE) {
            break;
        }
        for kind in KINDS.into_iter().filter(|kind| *kind <= worst) {
            let limit = best.as_ref().map_or(NcclPath::Sys, |best| best.kind);
            if best.is_some() && kind > limit {
                break;
            }
            let found = alike_or_mixed(system, speed, kind);
            let Some(found) = found else { continue };
            if best.as_ref().is_none_or(|best| throughput(&found) > throughput(best) + 1e-9) {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| throughput(best) >= system.total - 1e-9) {
                return best;
            }
        }
    }
    best
}

/// Rings all in one order, or in several where those carry more.
fn alike_or_mixed(system: &System, speed: f64, kind: NcclPath) -> Option<Channels> {
    let alike = search(system, speed, kind, true)?;
    if usize::from(alike.count) >= most_rings(system, speed) {
        return Some(alike);
    }
    search(system, speed, kind, false).filter(|mixed| mixed.count > alike.count).or(Some(alike))
}

/// Whether paths no worse than `limit` that carry `speed` reach every GPU; without that no ring closes.
fn is_connected(system: &System, speed: f64, limit: NcclPath) -> bool {
    let mut reached = vec![false; system.gpus.len()];
    let mut open = vec![0];
    while let Some(from) = open.pop() {
        if std::mem::replace(&mut reached[from], true) {
            continue;
        }
        let joins = |to: &usize| {
            system.path(from, *to).is_some_and(|path| path.kind <= limit && path.rate + 1e-9 >= speed)
        };
        open.extend((0..system.gpus.len()).filter(|to| !reached[*to]).filter(joins));
    }
    reached.into_iter().all(|reached| reached)
}

/// The same number of channels at the next higher speeds, as long as they fit.
fn second_pass(system: &System, speeds: &[f64], found: Channels) -> Channels {
    let mut best = found;
    for speed in speeds.iter().rev().copied().filter(|speed| *speed > best.rate).collect::<Vec<_>>() {
        match search(system, speed, best.kind, true) {
            Some(raised) if raised.count >= best.count => best = raised,
            Some(_) | None => break,
        }
    }
    best
}

/// Twice the channels at half the speed, where a channel is fast enough to be split.
fn duplicate(
    channels: Channels,
    capability: u16,
    constants: Constants<'_>,
) -> Result<Channels, PredictError> {
    let rule = |name| constants.only("rules", name);
    let many = capability > 80
        && channels.rate < rule("duplicate-above-sm80-below-intra-gbps")?
        && f64::from(channels.count) > rule("duplicate-above-sm80-channels")?;
    if many || channels.rate < rule("duplicate-below-intra-gbps")? {
        return Ok(channels);
    }
    let count = (2 * channels.count).min(CHANNELS_MAX);
    Ok(Channels { count, rate: throughput(&channels) / f64::from(count), ..channels })
}

fn throughput(channels: &Channels) -> f64 {
    f64::from(channels.count) * channels.rate
}

/// Rings of `speed` over paths no worse than `limit`; with `same`, all in the order of the first.
fn search(system: &System, speed: f64, limit: NcclPath, same: bool) -> Option<Channels> {
    if system.gpus.len() < 2 || !is_connected(system, speed, limit) {
        return None;
    }
    let mut state = Search {
        system,
        speed,
        limit,
        same,
        remaining: system.capacity.clone(),
        budget: BUDGET,
        rings: Vec::new(),
        best: Vec::new(),
        most: most_rings(system, speed),
    };
    state.next_ring();
    let order = state.best.first()?.clone();
    let hops = state.best.iter().flat_map(|ring| hops(ring));
    let paths: Vec<_> = hops.filter_map(|(from, to)| system.path(from, to)).collect();
    Some(Channels {
        count: u16::try_from(state.best.len()).unwrap_or(CHANNELS_MAX),
        rate: speed,
        kind: paths.iter().map(|path| path.kind).max().unwrap_or(NcclPath::Dis),
        staged: paths.iter().any(|path| path.staged),
        order,
    })
}

/// No more rings than each GPU can feed at this speed: a search that reaches it may stop.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by 32 just after")]
fn most_rings(system: &System, speed: f64) -> usize {
    let fed = (system.total / speed + 1e-9).floor().clamp(1.0, f64::from(CHANNELS_MAX));
    fed as usize
}

fn hops(ring: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1))
}

struct Search<'a> {
    system: &'a System,
    speed: f64,
    limit: NcclPath,
    same: bool,
    remaining: Vec<f64>,
    budget: u32,
    rings: Vec<Vec<usize>>,
    best: Vec<Vec<usize>>,
    most: usize,
}

impl Search<'_> {
    fn is_done(&self) -> bool {
        self.budget == 0 || self.best.len() >= self.most
    }

    /// Adds one more ring and whatever fits beside it.
    fn next_ring(&mut self) {
        if self.is_done() {
            return;
        }
        if self.same
            && let Some(first) = self.rings.first().cloned()
        {
            self.repeat(&first);
            return;
        }
        let mut order = vec![0];
        self.extend(&mut order);
    }

    /// As many copies of `ring` as fit.
    fn repeat(&mut self, ring: &[usize]) {
        let mut added = 0;
        while self.rings.len() < usize::from(CHANNELS_MAX) && self.take_all(ring) {
            self.rings.push(ring.to_vec());
            added += 1;
        }
        self.keep_best();
        for _ in 0..added {
            self.rings.pop();
            for (from, to) in hops(ring).collect::<Vec<_>>() {
                self.give(from, to);
            }
        }
    }

    fn take_all(&mut self, ring: &[usize]) -> bool {
        let all: Vec<(usize, usize)> = hops(ring).collect();
        for (done, (from, to)) in all.iter().enumerate() {
            if !self.take(*from, *to) {
                for (from, to) in &all[..done] {
                    self.give(*from, *to);
                }
                return false;
            }
        }
        true
    }

    fn extend(&mut self, order: &mut Vec<usize>) {
        if self.is_done() {
            return;
        }
        self.budget -= 1;
        let last = order[order.len() - 1];
        if order.len() == self.system.gpus.len() {
            if self.take(last, order[0]) {
                self.rings.push(order.clone());
                self.keep_best();
                if self.rings.len() < usize::from(CHANNELS_MAX) {
                    self.next_ring();
                }
                self.rings.pop();
                self.give(last, order[0]);
            }
            return;
        }
        for next in self.candidates(order) {
            if self.take(last, next) {
                order.push(next);
                self.extend(order);
                order.pop();
                self.give(last, next);
            }
            if self.is_done() {
                return;
            }
        }
    }

    /// GPUs not in `order`, the best path first: type, free rate, length, then the next number.
    fn candidates(&self, order: &[usize]) -> Vec<usize> {
        let (count, last) = (self.system.gpus.len(), order[order.len() - 1]);
        let mut found: Vec<(NcclPath, f64, usize, usize, usize)> = (0..count)
            .filter(|next| !order.contains(next))
            .filter_map(|next| {
                let path = self.system.path(last, next).filter(|path| path.kind <= self.limit)?;
                let free =
                    path.uses.iter().map(|(index, _)| self.remaining[*index]).fold(f64::INFINITY, f64::min);
                Some((path.kind, free, path.uses.len(), (next + count - last) % count, next))
            })
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)).then(a.3.cmp(&b.3)));
        found.into_iter().map(|candidate| candidate.4).collect()
    }

    fn take(&mut self, from: usize, to: usize) -> bool {
        let Some(path) = self.system.path(from, to).filter(|path| path.kind <= self.limit) else {
            return false;
        };
        let fits = |(index, weight): &(usize, f64)| self.remaining[*index] + 1e-9 >= self.speed * weight;
        if !path.uses.iter().all(fits) {
            return false;
        }
        for (index, weight) in &path.uses {
            self.remaining[*index] -= self.speed * weight;
        }
        true
    }

    fn give(&mut self, from: usize, to: usize) {
        if let Some(path) = self.system.path(from, to) {
            for (index, weight) in &path.uses {
                self.remaining[*index] += self.speed * weight;
            }
        }
    }

    fn keep_best(&mut self) {
        if self.rings.len() > self.best.len() {
            self.best.clone_from(&self.rings);
        }
    }
}
