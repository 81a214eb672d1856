//! One search for channels: given a speed, worst path types and a pattern, how many fit at once.
//!
//! A depth-first search over orders of the GPUs, the nearest first, that takes a channel's speed from
//! everything it crosses. Between nodes a channel begins at a NIC and leaves by one.

use weft_topology::NcclPath;

use super::system::{Path, System};

/// Steps that one search may take; NCCL bounds its own in the same way.
const BUDGET: u32 = 1 << 12;
/// At most so many channels from one search (`max-channels-per-search` of the rules).
pub(crate) const CHANNELS_MAX: u16 = 32;

/// What a channel joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// All GPUs in a circle; between nodes the circle goes through the network.
    Ring,
    /// A chain; between nodes the first two GPUs share a NIC.
    BalancedTree,
    /// A chain; between nodes its first GPU has the NIC.
    Tree,
}

/// What a search may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub pattern: Pattern,
    /// GB/s of a channel between GPUs.
    pub intra: f64,
    /// GB/s of a channel to and from the network.
    pub inter: f64,
    pub kind_intra: NcclPath,
    pub kind_inter: NcclPath,
    /// Whether a channel may leave by another NIC than it came by.
    pub cross: bool,
    /// Whether all channels take the GPUs in the same order.
    pub same: bool,
    /// Enough channels.
    pub most: usize,
}

/// One channel: GPUs in order, and the NICs by which it comes and leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Channel {
    pub order: Vec<usize>,
    pub nics: Option<(usize, usize)>,
}

/// The most channels that fit, as many as `limits.most` at best.
pub(crate) fn search(system: &System, limits: Limits) -> Vec<Channel> {
    if system.gpus.is_empty() || !is_connected(system, &limits) {
        return Vec::new();
    }
    let mut walk = Walk {
        system,
        limits,
        remaining: system.capacity.clone(),
        budget: BUDGET,
        channels: Vec::new(),
        best: Vec::new(),
    };
    walk.next_channel();
    walk.best
}

/// Whether paths no worse than the limit that carry the speed reach every GPU; without that nothing closes.
fn is_connected(system: &System, limits: &Limits) -> bool {
    let count = system.gpus.len();
    let mut reached = vec![false; count];
    let mut open = vec![0];
    while let Some(from) = open.pop() {
        if std::mem::replace(&mut reached[from], true) {
            continue;
        }
        let joins = |to: &usize| {
            let fits = |path: &Path| path.kind <= limits.kind_intra && path.rate + 1e-9 >= limits.intra;
            system.path(from, *to).is_some_and(fits)
        };
        open.extend((0..count).filter(|to| !reached[*to]).filter(joins));
    }
    reached.into_iter().all(|reached| reached)
}

struct Walk<'a> {
    system: &'a System,
    limits: Limits,
    remaining: Vec<f64>,
    budget: u32,
    channels: Vec<Channel>,
    best: Vec<Channel>,
}

impl<'a> Walk<'a> {
    fn is_done(&self) -> bool {
        self.budget == 0 || self.best.len() >= self.limits.most
    }

    /// Adds one more channel and whatever fits beside it.
    fn next_channel(&mut self) {
        if self.is_done() {
            return;
        }
        let first = self.channels.first().filter(|_| self.limits.same).cloned();
        if self.system.nics.is_empty() {
            match first {
                Some(first) => self.repeat(&first.order),
                None => self.extend(&mut vec![0], None),
            }
            return;
        }
        let (nics, begin) = (self.system.nics.len(), self.channels.len());
        // NICs take turns, so that channels spread over them.
        for nic in (0..nics).map(|turn| (begin + turn) % nics) {
            match &first {
                Some(first) => self.replay(&first.order, nic),
                None => self.enter(nic),
            }
            if self.is_done() {
                return;
            }
        }
    }

    /// Begins a channel at a NIC, at the GPU that has it first, then at others as near.
    fn enter(&mut self, nic: usize) {
        if !self.can_leave(nic) {
            return;
        }
        let system = self.system;
        let end = &system.nics[nic];
        let near = |gpu: usize| end.into[gpu].as_ref().map(|path| path.kind);
        let others = (0..system.gpus.len()).filter(|gpu| *gpu != end.local && near(*gpu) == near(end.local));
        for gpu in std::iter::once(end.local).chain(others) {
            let Some(path) = self.network(end.into[gpu].as_ref()) else { continue };
            if self.take(path, self.limits.inter) {
                self.open(&mut vec![gpu], nic);
                self.give(path, self.limits.inter);
            }
            if self.is_done() {
                return;
            }
        }
    }

    /// Whether some GPU that may end a ring which came by `nic` reaches a NIC; it would be searched for in vain.
    fn can_leave(&self, nic: usize) -> bool {
        let system = self.system;
        if self.limits.pattern != Pattern::Ring || system.gpus.len() < 2 {
            return true;
        }
        let exits = (0..system.nics.len()).filter(|exit| self.limits.cross || *exit == nic);
        let fits = |path: &Path| path.kind <= self.limits.kind_inter && path.rate + 1e-9 >= self.limits.inter;
        let local = system.nics[nic].local;
        let near = |gpu: usize| system.nics[nic].into[gpu].as_ref().map(|path| path.kind);
        let is_only = (0..system.gpus.len()).filter(|gpu| near(*gpu) == near(local)).count() == 1;
        exits.into_iter().any(|exit| {
            let reach = |gpu: &usize| system.nics[exit].out[*gpu].as_ref().is_some_and(fits);
            (0..system.gpus.len()).filter(reach).any(|gpu| !(is_only && gpu == local))
        })
    }

    fn network<'p>(&self, path: Option<&'p Path>) -> Option<&'p Path> {
        path.filter(|path| path.kind <= self.limits.kind_inter)
    }

    /// What follows the first GPU: a tree goes back to its NIC at once, a ring only from the last GPU.
    fn open(&mut self, order: &mut Vec<usize>, nic: usize) {
        let system = self.system;
        match self.limits.pattern {
            Pattern::Ring => self.extend(order, Some(nic)),
            Pattern::Tree => {
                let Some(back) = self.network(system.nics[nic].out[order[0]].as_ref()) else { return };
                if self.take(back, self.limits.inter) {
                    self.extend(order, Some(nic));
                    self.give(back, self.limits.inter);
                }
            }
            Pattern::BalancedTree => {
                let Some(back) = self.network(system.nics[nic].out[order[0]].as_ref()) else { return };
                if self.take(back, self.limits.inter / 2.0) {
                    self.extend(order, Some(nic));
                    self.give(back, self.limits.inter / 2.0);
                }
            }
        }
    }

    /// As many copies of `order` as fit, without NICs.
    fn repeat(&mut self, order: &[usize]) {
        let mut added = 0;
        while self.channels.len() < usize::from(CHANNELS_MAX) && self.take_all(order) {
            self.channels.push(Channel { order: order.to_vec(), nics: None });
            added += 1;
        }
        self.keep_best();
        for _ in 0..added {
            self.channels.pop();
            self.give_all(order);
        }
    }

    /// The same order of GPUs once more, by another NIC.
    fn replay(&mut self, order: &[usize], nic: usize) {
        let system = self.system;
        self.budget = self.budget.saturating_sub(1);
        let Some(into) = self.network(system.nics[nic].into[order[0]].as_ref()) else { return };
        if !self.take(into, self.limits.inter) {
            return;
        }
        if self.take_all(order) {
            self.leave(order, nic);
            self.give_all(order);
        }
        self.give(into, self.limits.inter);
    }

    /// The hops between GPUs of a whole channel: in a circle only where it closes without a NIC.
    fn hops(&self, order: &[usize]) -> Vec<(usize, usize)> {
        let closes = self.limits.pattern == Pattern::Ring && self.system.nics.is_empty();
        let next = order.iter().copied().cycle().skip(1);
        let length = if closes { order.len() } else { order.len().saturating_sub(1) };
        order.iter().copied().zip(next).take(length).collect()
    }

    fn take_all(&mut self, order: &[usize]) -> bool {
        let all = self.hops(order);
        for (done, (from, to)) in all.iter().enumerate() {
            let taken = self.between(*from, *to).is_some_and(|path| self.take(path, self.limits.intra));
            if !taken {
                for (from, to) in &all[..done] {
                    self.give_hop(*from, *to);
                }
                return false;
            }
        }
        true
    }

    fn give_all(&mut self, order: &[usize]) {
        for (from, to) in self.hops(order) {
            self.give_hop(from, to);
        }
    }

    fn extend(&mut self, order: &mut Vec<usize>, nic: Option<usize>) {
        if self.is_done() {
            return;
        }
        self.budget -= 1;
        let last = order[order.len() - 1];
        if order.len() == self.system.gpus.len() {
            match nic {
                Some(nic) => self.leave(order, nic),
                None => self.close(order),
            }
            return;
        }
        for next in self.candidates(order, nic) {
            let Some(path) = self.between(last, next) else { continue };
            let second = self.second_back(order, next, nic);
            let Ok(second) = second else { continue };
            if self.take(path, self.limits.intra) {
                let half = self.limits.inter / 2.0;
                if second.is_none_or(|back| self.take(back, half)) {
                    order.push(next);
                    self.extend(order, nic);
                    order.pop();
                    if let Some(back) = second {
                        self.give(back, half);
                    }
                }
                self.give(path, self.limits.intra);
            }
            if self.is_done() {
                return;
            }
        }
    }

    /// The second GPU of a balanced tree has half of the NIC's traffic; an error where it does not reach it.
    fn second_back(&self, order: &[usize], next: usize, nic: Option<usize>) -> Result<Option<&'a Path>, ()> {
        let is_second = order.len() == 1 && self.limits.pattern == Pattern::BalancedTree;
        let Some(nic) = nic.filter(|_| is_second) else { return Ok(None) };
        let system = self.system;
        let both = self.network(system.nics[nic].into[next].as_ref()).is_some();
        let back = self.network(system.nics[nic].out[next].as_ref()).filter(|_| both);
        back.map(Some).ok_or(())
    }

    /// From the last GPU to the network.
    fn leave(&mut self, order: &[usize], nic: usize) {
        if self.limits.pattern != Pattern::Ring {
            self.add(order, Some((nic, nic)));
            return;
        }
        let system = self.system;
        let last = order[order.len() - 1];
        let mut exits: Vec<(NcclPath, usize)> = (0..system.nics.len())
            .filter(|exit| self.limits.cross || *exit == nic)
            .filter_map(|exit| Some((self.network(system.nics[exit].out[last].as_ref())?.kind, exit)))
            .collect();
        exits.sort_unstable();
        for (_, exit) in exits {
            let Some(path) = system.nics[exit].out[last].as_ref() else { continue };
            if self.take(path, self.limits.inter) {
                self.add(order, Some((nic, exit)));
                self.give(path, self.limits.inter);
            }
            if self.is_done() {
                return;
            }
        }
    }

    /// Back to the first GPU, or just the end of a chain.
    fn close(&mut self, order: &[usize]) {
        if self.limits.pattern != Pattern::Ring || order.len() < 2 {
            self.add(order, None);
            return;
        }
        let (last, first) = (order[order.len() - 1], order[0]);
        let Some(path) = self.between(last, first) else { return };
        if self.take(path, self.limits.intra) {
            self.add(order, None);
            self.give(path, self.limits.intra);
        }
    }

    fn add(&mut self, order: &[usize], nics: Option<(usize, usize)>) {
        self.channels.push(Channel { order: order.to_vec(), nics });
        self.keep_best();
        if self.channels.len() < usize::from(CHANNELS_MAX) {
            self.next_channel();
        }
        self.channels.pop();
    }

    /// GPUs not in `order`, the best path first: type, free rate, length, then the next number. The last of a
    /// ring that leaves by a NIC is best one that has a NIC.
    fn candidates(&self, order: &[usize], nic: Option<usize>) -> Vec<usize> {
        let (count, last) = (self.system.gpus.len(), order[order.len() - 1]);
        let is_exit = nic.is_some() && order.len() + 1 == count && self.limits.pattern == Pattern::Ring;
        let mut found: Vec<(NcclPath, NcclPath, f64, usize, usize, usize)> = (0..count)
            .filter(|next| !order.contains(next))
            .filter_map(|next| {
                let path = self.between(last, next)?;
                let free =
                    path.uses.iter().map(|(index, _)| self.remaining[*index]).fold(f64::INFINITY, f64::min);
                let exit = if is_exit { self.nearest_exit(next) } else { NcclPath::Loc };
                Some((exit, path.kind, free, path.uses.len(), (next + count - last) % count, next))
            })
            .collect();
        found.sort_by(|a, b| {
            a.0.cmp(&b.0)
                .then(a.1.cmp(&b.1))
                .then(b.2.total_cmp(&a.2))
                .then(a.3.cmp(&b.3))
                .then(a.4.cmp(&b.4))
        });
        found.into_iter().map(|candidate| candidate.5).collect()
    }

    fn nearest_exit(&self, gpu: usize) -> NcclPath {
        let kinds = self.system.nics.iter().filter_map(|nic| nic.out[gpu].as_ref().map(|path| path.kind));
        kinds.min().unwrap_or(NcclPath::Dis)
    }

    fn between(&self, from: usize, to: usize) -> Option<&'a Path> {
        self.system.path(from, to).filter(|path| path.kind <= self.limits.kind_intra)
    }

    fn take(&mut self, path: &Path, speed: f64) -> bool {
        let fits = |(index, weight): &(usize, f64)| self.remaining[*index] + 1e-9 >= speed * weight;
        if !path.uses.iter().all(fits) {
            return false;
        }
        for (index, weight) in &path.uses {
            self.remaining[*index] -= speed * weight;
        }
        true
    }

    fn give(&mut self, path: &Path, speed: f64) {
        for (index, weight) in &path.uses {
            self.remaining[*index] += speed * weight;
        }
    }

    fn give_hop(&mut self, from: usize, to: usize) {
        if let Some(path) = self.system.path(from, to) {
            for (index, weight) in &path.uses {
                self.remaining[*index] += self.limits.intra * weight;
            }
        }
    }

    fn keep_best(&mut self) {
        if self.channels.len() > self.best.len() {
            self.best.clone_from(&self.channels);
        }
    }
}
