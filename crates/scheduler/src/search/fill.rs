//! Puts members on nodes of a scope.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::index::COUNT_MOST;
use super::{EVERYWHERE, Scope, Searcher, Trial};
use crate::cluster::{LEVELS, Level, NodeId};
use crate::job::{Ask, Group, Need, Within};
use crate::policy::Member;

/// A score with a total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Score(f32);

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Searcher {
    /// Room for members like this in each domain of a level in a scope.
    pub(super) fn rooms(
        &mut self,
        trial: &Trial<'_>,
        ask: &Ask,
        level: Level,
        scope: Scope,
    ) -> Vec<(u64, u32)> {
        self.rooms_of(trial, ask, level, scope, 0)
    }

    /// The same of domains with room for at least so many.
    pub(super) fn rooms_of(
        &mut self,
        trial: &Trial<'_>,
        ask: &Ask,
        level: Level,
        scope: Scope,
        least_count: u64,
    ) -> Vec<(u64, u32)> {
        let book = trial.book();
        let within = (scope != EVERYWHERE).then(|| self.domains.within(book.cluster(), level, scope));
        let known = self.index.known(book, ask);
        let sums = &known.sums[level as usize];
        let mut changes: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for node in trial.changed() {
            let change = changes.entry(book.cluster().domain(node, level)).or_default();
            change.0 += u64::from(trial.count(node, ask).min(COUNT_MOST));
            change.1 += u64::from(known.counts[node.at()]);
        }
        let room = |domain: u32| {
            let (more, less) = changes.get(&domain).copied().unwrap_or_default();
            (sums[domain as usize] + more - less, domain)
        };
        let is_enough = |(room, _): &(u64, u32)| *room >= least_count;
        let all = || 0..u32::try_from(sums.len()).unwrap_or(u32::MAX);
        match within {
            Some(domains) => domains.into_iter().map(room).filter(is_enough).collect(),
            None if changes.is_empty() => {
                all().zip(sums).map(|(domain, room)| (*room, domain)).filter(is_enough).collect()
            }
            None => all().map(room).filter(is_enough).collect(),
        }
    }

    /// All groups in a scope, or nothing; the trial is as before then.
    pub(super) fn fill_all(
        &mut self,
        trial: &mut Trial<'_>,
        need: &Need,
        asks: &[Ask],
        scope: Scope,
    ) -> Option<Vec<Member>> {
        let mut order: Vec<usize> = (0..need.groups.len()).collect();
        if let [_] = need.groups.as_slice() {
            return self.fill_in_order(trial, need, asks, scope, &order);
        }
        // What is hardest to place goes first: sets, what has to be together, what is large, what fits in few places.
        order.sort_by_cached_key(|at| {
            let (group, pod) = (&need.groups[*at], &asks[*at].pod);
            let sets = group.sets.map_or(0, |(size, _)| size);
            let is_tied = group.within.is_some_and(|within| within.level < scope.level);
            let size = (Reverse(pod.asked_milli()), Reverse(pod.cpu_milli));
            (Reverse(sets), Reverse(is_tied), size, self.total(trial, &asks[*at]), *at)
        });
        let found = self.fill_in_order(trial, need, asks, scope, &order);
        if found.is_some() {
            return found;
        }
        // A large member may have taken the node where it costs many of the others their places
        // (kubernetes-sigs/kueue#7446): then the many go first.
        let before = order.clone();
        order.sort_by_key(|at| Reverse(need.groups[*at].most_count));
        if order == before { None } else { self.fill_in_order(trial, need, asks, scope, &order) }
    }

    fn fill_in_order(
        &mut self,
        trial: &mut Trial<'_>,
        need: &Need,
        asks: &[Ask],
        scope: Scope,
        order: &[usize],
    ) -> Option<Vec<Member>> {
        let mut placed: BTreeMap<usize, Vec<Member>> = BTreeMap::new();
        for at in order {
            let found = self.fill_group(trial, (*at, &need.groups[*at]), &asks[*at], scope);
            let is_done = found.is_some();
            placed.extend(found.map(|members| (*at, members)));
            if !is_done {
                break;
            }
        }
        for (at, members) in &placed {
            for member in members {
                trial.give(&asks[*at], member);
            }
        }
        (placed.len() == order.len()).then(|| placed.into_values().flatten().collect())
    }

    fn fill_group(
        &mut self,
        trial: &mut Trial<'_>,
        (number, group): (usize, &Group),
        ask: &Ask,
        scope: Scope,
    ) -> Option<Vec<Member>> {
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        let Some(Within { level, required }) = group.within.filter(|within| within.level < scope.level)
        else {
            return self.fill_count(trial, number, group, ask, scope);
        };
        // Where it only would like to be together, the next coarser level does too.
        let coarsest = if required { level } else { scope.level };
        for level in LEVELS.into_iter().filter(|other| (level..=coarsest).contains(other)) {
            let mut rooms = self.rooms(trial, ask, level, scope);
            rooms.retain(|(room, _)| *room >= u64::from(group.least_count));
            rooms.sort_unstable();
            let mut scopes = rooms.into_iter().map(|(_, domain)| Scope { level, domain });
            let found = scopes.find_map(|scope| self.fill_count(trial, number, group, ask, scope));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// As many members as are wanted, or as many as there is room for if those are enough.
    fn fill_count(
        &mut self,
        trial: &mut Trial<'_>,
        number: u16,
        group: &Group,
        ask: &Ask,
        scope: Scope,
    ) -> Option<Vec<Member>> {
        let size = group.sets.map_or(1, |(size, _)| size.max(1));
        let mut wanted = group.most_count;
        if group.least_count < group.most_count {
            let level = group.sets.map_or(Level::Node, |(_, within)| within.level);
            let rooms = self.rooms(trial, ask, level, scope);
            let sets: u64 = rooms.iter().map(|(room, _)| room / u64::from(size)).sum();
            let room = u32::try_from(sets).unwrap_or(u32::MAX).saturating_mul(size);
            wanted = wanted.min(room);
            if wanted < group.least_count {
                return None;
            }
        }
        if self.is_near && scope.level > Level::Leaf {
            return self.fill_leaves(trial, number, group, ask, wanted, scope);
        }
        self.fill_in(trial, number, group, ask, wanted, scope)
    }

    fn fill_in(
        &mut self,
        trial: &mut Trial<'_>,
        number: u16,
        group: &Group,
        ask: &Ask,
        wanted: u32,
        scope: Scope,
    ) -> Option<Vec<Member>> {
        if let Some(sets) = group.sets {
            return self.fill_sets(trial, number, sets, wanted, ask, scope);
        }
        let mut members = self.fill(trial, number, ask, wanted, scope)?;
        // Ranks that follow each other stand near each other.
        let cluster = trial.book().cluster();
        members.sort_by_key(|member| {
            let site = cluster.nodes[member.node.at()].site;
            (site.spine, site.leaf, site.rack, site.domain, member.node, member.gpus)
        });
        Some(members)
    }

    /// Over as few leaves as possible, those with quiet uplinks first where that matters.
    fn fill_leaves(
        &mut self,
        trial: &mut Trial<'_>,
        number: u16,
        group: &Group,
        ask: &Ask,
        wanted: u32,
        scope: Scope,
    ) -> Option<Vec<Member>> {
        let mut rooms = self.leaf_rooms(trial, group, ask, scope);
        let (mut members, mut left) = (Vec::new(), wanted);
        while left > 0 {
            let load = |leaf: u32| self.loads.get(leaf as usize).copied().unwrap_or(0.0);
            let tight = rooms.iter().filter(|(room, _)| *room >= left);
            let tight = tight.min_by_key(|(room, leaf)| (*room, Reverse(worth(1, load(*leaf))), *leaf));
            let wide =
                || rooms.iter().max_by_key(|(room, leaf)| (*room, worth(1, load(*leaf)), Reverse(*leaf)));
            let next = tight.or_else(wide).copied().filter(|(room, _)| *room > 0);
            let Some((room, leaf)) = next else { break };
            rooms.retain(|(_, other)| *other != leaf);
            let take = room.min(left);
            let scope = Scope { level: Level::Leaf, domain: leaf };
            let Some(found) = self.fill_in(trial, number, group, ask, take, scope) else { continue };
            members.extend(found);
            left -= take;
        }
        if left == 0 {
            return Some(members);
        }
        for member in &members {
            trial.give(ask, member);
        }
        // Sets that only go together over leaves.
        self.fill_in(trial, number, group, ask, wanted, scope)
    }

    /// Members that fit under each leaf of a scope, in whole sets.
    fn leaf_rooms(&mut self, trial: &Trial<'_>, group: &Group, ask: &Ask, scope: Scope) -> Vec<(u32, u32)> {
        let small = |room: u64| u32::try_from(room).unwrap_or(u32::MAX);
        let leaves = self.rooms_of(trial, ask, Level::Leaf, scope, 1);
        let Some((size, within)) = group.sets.filter(|(_, within)| within.level < Level::Leaf) else {
            return leaves.into_iter().map(|(room, leaf)| (small(room), leaf)).collect();
        };
        let size = u64::from(size.max(1));
        let of = |(room, leaf): (u64, u32)| {
            let scope = Scope { level: Level::Leaf, domain: leaf };
            let sets = self.rooms_of(trial, ask, within.level, scope, size);
            let whole = sets.into_iter().map(|(room, _)| room / size * size).sum::<u64>();
            (small(if within.required { whole } else { room }), leaf)
        };
        leaves.into_iter().map(of).collect()
    }

    /// Sets of members that stay together, over as few domains as possible.
    fn fill_sets(
        &mut self,
        trial: &mut Trial<'_>,
        number: u16,
        (size, within): (u32, Within),
        wanted: u32,
        ask: &Ask,
        scope: Scope,
    ) -> Option<Vec<Member>> {
        let size = size.clamp(1, wanted.max(1));
        let (sets, last) = (wanted / size, wanted % size);
        let mut members = Vec::new();
        let mut left = sets;
        let level = within.level.min(scope.level);
        let mut rooms = self.rooms(trial, ask, level, scope);
        while left > 0 {
            let full = |room: u64| u32::try_from(room / u64::from(size)).unwrap_or(u32::MAX);
            // The tightest of those that hold all that is left; else the one that holds most.
            let tight = rooms.iter().filter(|(room, _)| full(*room) >= left).min();
            let next =
                tight.or_else(|| rooms.iter().max_by_key(|(room, domain)| (full(*room), Reverse(*domain))));
            let Some((room, domain)) = next.copied().filter(|(room, _)| full(*room) > 0) else { break };
            let take = full(room).min(left);
            let scope = Scope { level, domain };
            let Some(found) = self.fill(trial, number, ask, take * size, scope) else { break };
            members.extend(found);
            left -= take;
            rooms.retain(|(_, other)| *other != domain);
        }
        let mut is_done = left == 0;
        if is_done && last > 0 {
            let mut rooms = self.rooms(trial, ask, level, scope);
            rooms.sort_unstable();
            let fits = rooms.into_iter().find(|(room, _)| *room >= u64::from(last));
            let rest =
                fits.and_then(|(_, domain)| self.fill(trial, number, ask, last, Scope { level, domain }));
            is_done = rest.is_some();
            members.extend(rest.into_iter().flatten());
        }
        if !is_done && !within.required {
            for member in &members {
                trial.give(ask, member);
            }
            return self.fill(trial, number, ask, wanted, scope);
        }
        if !is_done {
            for member in &members {
                trial.give(ask, member);
            }
            return None;
        }
        Some(members)
    }

    /// That many members, one after the other where the placing likes it best; or nothing.
    pub(super) fn fill(
        &mut self,
        trial: &mut Trial<'_>,
        number: u16,
        ask: &Ask,
        wanted: u32,
        scope: Scope,
    ) -> Option<Vec<Member>> {
        if wanted == 1 {
            let node = self.best(trial, ask, scope)?;
            return self.put(trial, number, ask, node).map(|member| vec![member]);
        }
        let mut heap = self.heap(trial, ask, scope);
        let mut members = Vec::with_capacity(wanted as usize);
        while members.len() < wanted as usize {
            let Some(node) = self.next(&mut heap) else { break };
            let Some(member) = self.put(trial, number, ask, node) else { continue };
            members.push(member);
            if trial.count(node, ask) > 0 {
                let score = self.index.score(trial.book(), ask, node, trial.stand(node));
                heap.push((Score(score), Reverse(node)));
            }
        }
        if members.len() == wanted as usize {
            return Some(members);
        }
        for member in &members {
            trial.give(ask, member);
        }
        None
    }

    fn put(&mut self, trial: &mut Trial<'_>, number: u16, ask: &Ask, node: NodeId) -> Option<Member> {
        let member = self.index.member(trial.book(), ask, number, node, trial.stand(node))?;
        trial.take(ask, &member);
        Some(member)
    }

    /// Nodes of a scope with room, by how much the placing likes them.
    fn heap(&mut self, trial: &Trial<'_>, ask: &Ask, scope: Scope) -> BinaryHeap<(Score, Reverse<NodeId>)> {
        let book = trial.book();
        let known = self.index.known(book, ask);
        let nodes = self.domains.nodes(scope);
        let with_room = nodes.iter().filter(|node| known.counts[node.at()] > 0);
        let mut found: Vec<(Score, Reverse<NodeId>)> =
            with_room.map(|node| (Score(known.scores[node.at()]), Reverse(*node))).collect();
        let changed: Vec<NodeId> = trial
            .changed()
            .filter(|node| {
                scope.level == Level::Cluster || book.cluster().domain(*node, scope.level) == scope.domain
            })
            .collect();
        if !changed.is_empty() {
            let mut sorted = changed;
            sorted.sort_unstable();
            found.retain(|(_, Reverse(node))| sorted.binary_search(node).is_err());
            for node in sorted.into_iter().filter(|node| trial.count(*node, ask) > 0) {
                let score = self.index.score(book, ask, node, trial.stand(node));
                found.push((Score(score), Reverse(node)));
            }
        }
        BinaryHeap::from(found)
    }

    /// The best node, or a random one if the placing does not care.
    fn next(&mut self, heap: &mut BinaryHeap<(Score, Reverse<NodeId>)>) -> Option<NodeId> {
        if !self.index.is_random() || heap.is_empty() {
            return heap.pop().map(|(_, Reverse(node))| node);
        }
        let mut all = std::mem::take(heap).into_vec();
        let drawn = self.index.draw(all.len());
        let (_, Reverse(node)) = all.swap_remove(drawn);
        *heap = BinaryHeap::from(all);
        Some(node)
    }

    /// The best node for one member.
    fn best(&mut self, trial: &Trial<'_>, ask: &Ask, scope: Scope) -> Option<NodeId> {
        if trial.changed().next().is_some() || self.index.is_random() {
            let mut heap = self.heap(trial, ask, scope);
            return self.next(&mut heap);
        }
        let known = self.index.known(trial.book(), ask);
        let mut best = (f32::NEG_INFINITY, None);
        for node in self.domains.nodes(scope) {
            let score = known.scores[node.at()];
            if score > best.0 {
                best = (score, Some(*node));
            }
        }
        best.1
    }
}

/// How good a leaf is for part of a job: by its room, and less the more its uplinks carry.
fn worth(room: u32, load: f64) -> Score {
    #[expect(clippy::cast_possible_truncation, reason = "only compared")]
    let worth = (f64::from(room) / (1.0 + load.max(0.0))) as f32;
    Score(worth)
}
