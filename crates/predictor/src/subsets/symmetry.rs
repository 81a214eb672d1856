//! Subsets that are alike, as one.
//!
//! GPUs that stand the same way to all others are twins: of a set of twins only how many are taken matters. What is
//! left is folded by the symmetries of the machine that exchange whole sets of twins.

use std::collections::BTreeMap;

use weft_topology::{NodeId, Topology, islands, nccl_path, reported_class, route};

use crate::PeerAccess;

/// Steps after which the search for one symmetry gives up: a symmetry that is missed only shows alike subsets twice.
const STEPS_MAX: usize = 20_000;

/// How many GPUs of each set of twins.
pub(super) type Counts = Vec<u16>;

/// Subsets that are alike.
#[derive(Debug, Clone)]
pub(super) struct Class {
    pub counts: Counts,
    pub subset_count: u64,
}

/// All subsets of a size.
#[derive(Debug)]
pub(super) struct Folded {
    pub count: usize,
    /// Free GPUs that are twins, in the order of the machine.
    twins: Vec<Vec<NodeId>>,
    pub classes: Vec<Class>,
    /// The class of each way to take from the sets of twins.
    pub index: BTreeMap<Counts, usize>,
}

impl Folded {
    /// `None` where there are more than `most` ways that twins do not fold.
    pub fn new(
        topology: &Topology,
        gpus: &[NodeId],
        busy: &[NodeId],
        count: usize,
        access: &PeerAccess,
        most: usize,
    ) -> Option<Self> {
        let labels = Labels::of(topology, gpus, busy, access);
        let sets = labels.twins();
        let free = |set: &Vec<usize>| -> Vec<NodeId> {
            set.iter().map(|gpu| gpus[*gpu]).filter(|gpu| !busy.contains(gpu)).collect()
        };
        let twins: Vec<Vec<NodeId>> = sets.iter().map(free).collect();
        let sizes: Vec<u16> = twins.iter().map(|set| u16::try_from(set.len()).unwrap_or(u16::MAX)).collect();
        let ways = ways(&sizes, count, most)?;
        let symmetries = labels.symmetries(&sets);
        let mut folded = Self { count, twins, classes: Vec::new(), index: BTreeMap::new() };
        folded.fold(ways, &symmetries, &sizes);
        Some(folded)
    }

    /// Gives each way the class of all that symmetries make of it.
    fn fold(&mut self, ways: Vec<Counts>, symmetries: &[Vec<usize>], sizes: &[u16]) {
        for first in ways {
            if self.index.contains_key(&first) {
                continue;
            }
            let class = self.classes.len();
            let mut subset_count = 0_u64;
            let mut open = vec![first.clone()];
            self.index.insert(first.clone(), class);
            while let Some(way) = open.pop() {
                subset_count = subset_count.saturating_add(choices(sizes, &way));
                for symmetry in symmetries {
                    let mut image = way.clone();
                    for (from, to) in symmetry.iter().enumerate() {
                        image[*to] = way[from];
                    }
                    if !self.index.contains_key(&image) {
                        self.index.insert(image.clone(), class);
                        open.push(image);
                    }
                }
            }
            self.classes.push(Class { counts: first, subset_count });
        }
    }

    /// The GPUs of a way: the first ones of each set that are not already taken.
    pub fn members(&self, counts: &Counts, taken: Option<&Counts>) -> Vec<NodeId> {
        let from = |set: usize| taken.map_or(0, |taken| usize::from(taken[set]));
        let of = |(set, gpus): (usize, &Vec<NodeId>)| {
            let (skipped, wanted) = (from(set), usize::from(counts[set]));
            gpus.iter().copied().skip(skipped).take(wanted).collect::<Vec<_>>()
        };
        let mut found: Vec<NodeId> = self.twins.iter().enumerate().flat_map(of).collect();
        found.sort();
        found
    }

    /// What is free once some are taken.
    pub fn rest(&self, taken: &Counts) -> Counts {
        let left = |(set, taken): (&Vec<NodeId>, &u16)| {
            u16::try_from(set.len()).unwrap_or(u16::MAX).saturating_sub(*taken)
        };
        self.twins.iter().zip(taken).map(left).collect()
    }
}

/// How each GPU is and how each two stand to each other, as numbers: equal ones are alike.
struct Labels {
    own: Vec<usize>,
    between: Vec<Vec<usize>>,
}

impl Labels {
    fn of(topology: &Topology, gpus: &[NodeId], busy: &[NodeId], access: &PeerAccess) -> Self {
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut number = |text: String| {
            let next = numbers.len();
            *numbers.entry(text).or_insert(next)
        };
        let near = islands(topology).nics;
        let own = gpus
            .iter()
            .map(|gpu| {
                let nics = near.iter().find(|(own, ..)| own == gpu).map(|(_, class, nics)| {
                    let models: Vec<_> = nics.iter().map(|nic| topology.model(*nic)).collect();
                    let ways: Vec<_> = nics.iter().map(|nic| way(topology, *gpu, *nic)).collect();
                    (class, models, ways)
                });
                // Its links tell what it is part of, even if no other GPU is there.
                let mut links: Vec<String> = topology
                    .links_from(*gpu)
                    .map(|(_, link)| {
                        let kind = topology.node(link.to).kind;
                        format!("{} {} {} {kind:?}", topology.kind(link.kind).name, link.count, link.capacity)
                    })
                    .collect();
                links.sort();
                number(format!("{:?} {nics:?} {links:?} {}", topology.model(*gpu), busy.contains(gpu)))
            })
            .collect();
        let mut between = vec![vec![0; gpus.len()]; gpus.len()];
        for (row, from) in gpus.iter().enumerate() {
            for (column, to) in gpus.iter().enumerate().filter(|(column, _)| *column != row) {
                let refused = match access {
                    PeerAccess::Refused(pairs) => pairs.contains(&(*from, *to)),
                    PeerAccess::AsUsual | PeerAccess::Everywhere => false,
                };
                let class = reported_class(topology, *from, *to);
                let path = nccl_path(topology, *from, *to);
                let text = format!("{class:?} {path:?} {refused} {}", way(topology, *from, *to));
                between[row][column] = number(text);
            }
        }
        Self { own, between }
    }

    /// Whether two GPUs stand the same way to all others, and each to the other.
    fn are_twins(&self, a: usize, b: usize) -> bool {
        let others = (0..self.own.len()).filter(|other| *other != a && *other != b);
        self.own[a] == self.own[b]
            && self.between[a][b] == self.between[b][a]
            && others.into_iter().all(|other| {
                self.between[a][other] == self.between[b][other]
                    && self.between[other][a] == self.between[other][b]
            })
    }

    fn twins(&self) -> Vec<Vec<usize>> {
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for gpu in 0..self.own.len() {
            match sets.iter_mut().find(|set| set.iter().all(|member| self.are_twins(*member, gpu))) {
                Some(set) => set.push(gpu),
                None => sets.push(vec![gpu]),
            }
        }
        sets
    }

    /// Symmetries that make all others: each says where every set of twins goes.
    fn symmetries(&self, sets: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let inner = |set: &Vec<usize>| set.get(1).map_or(usize::MAX, |second| self.between[set[0]][*second]);
        let own: Vec<(usize, usize, usize)> =
            sets.iter().map(|set| (self.own[set[0]], set.len(), inner(set))).collect();
        let between = |a: usize, b: usize| self.between[sets[a][0]][sets[b][0]];
        let fits = |map: &[usize], from: usize, to: usize| {
            own[from] == own[to]
                && map.iter().enumerate().all(|(earlier, image)| {
                    *image != to
                        && between(earlier, from) == between(*image, to)
                        && between(from, earlier) == between(to, *image)
                })
        };
        let mut found: Vec<Vec<usize>> = Vec::new();
        // Those that keep the sets before `first` in place, from the last on: what is found then does for the rest.
        for first in (0..sets.len()).rev() {
            let mut reached = vec![first];
            for other in first + 1..sets.len() {
                orbit(&mut reached, &found);
                if reached.contains(&other) {
                    continue;
                }
                let mut map: Vec<usize> = (0..first).collect();
                if fits(&map, first, other) {
                    map.push(other);
                    let mut steps = 0;
                    if extend(&mut map, sets.len(), &fits, &mut steps) {
                        found.push(map);
                    }
                }
            }
        }
        found
    }
}

/// Adds all that symmetries make of what is already there.
fn orbit(reached: &mut Vec<usize>, symmetries: &[Vec<usize>]) {
    let mut next = 0;
    while let Some(set) = reached.get(next).copied() {
        next += 1;
        for image in symmetries.iter().map(|symmetry| symmetry[set]) {
            if !reached.contains(&image) {
                reached.push(image);
            }
        }
    }
}

/// Completes a symmetry of `size` sets, of which `map` has the first ones.
fn extend(
    map: &mut Vec<usize>,
    size: usize,
    fits: &impl Fn(&[usize], usize, usize) -> bool,
    steps: &mut usize,
) -> bool {
    let from = map.len();
    if from == size {
        return true;
    }
    for to in 0..size {
        *steps += 1;
        if *steps > STEPS_MAX {
            return false;
        }
        if fits(map, from, to) {
            map.push(to);
            if extend(map, size, fits, steps) {
                return true;
            }
            map.pop();
        }
    }
    false
}

/// The links of a way, without the names of what they join.
fn way(topology: &Topology, from: NodeId, to: NodeId) -> String {
    let Some(route) = route(topology, from, to) else { return String::new() };
    let hop = |hop: &weft_topology::Hop| {
        let first = hop.links.first().map(|link| topology.link(*link));
        let kind = first.map_or("", |link| topology.kind(link.kind).name.as_str());
        format!("{kind} {} {}", hop.links.len(), hop.rate)
    };
    route.hops.iter().map(hop).collect::<Vec<_>>().join(", ")
}

/// All ways to take `count` from sets of these sizes, those that take the first ones first; `None` of more than `most`.
fn ways(sizes: &[u16], count: usize, most: usize) -> Option<Vec<Counts>> {
    fn go(sizes: &[u16], left: usize, way: &mut Counts, found: &mut Vec<Counts>, most: usize) -> bool {
        let Some((size, rest)) = sizes.split_first() else {
            if left == 0 {
                found.push(way.clone());
            }
            return found.len() <= most;
        };
        let after: usize = rest.iter().copied().map(usize::from).sum();
        let upper = usize::from(*size).min(left);
        for taken in (left.saturating_sub(after)..=upper).rev() {
            way.push(u16::try_from(taken).unwrap_or(u16::MAX));
            let goes_on = go(rest, left - taken, way, found, most);
            way.pop();
            if !goes_on {
                return false;
            }
        }
        true
    }
    let mut found = Vec::new();
    go(sizes, count, &mut Counts::new(), &mut found, most).then_some(found)
}

/// How many subsets a way stands for.
fn choices(sizes: &[u16], way: &Counts) -> u64 {
    let of = |(size, taken): (&u16, &u16)| {
        (0..u64::from(*taken))
            .fold(1_u64, |product, index| product.saturating_mul(u64::from(*size) - index) / (index + 1))
    };
    sizes.iter().zip(way).map(of).fold(1, u64::saturating_mul)
}
