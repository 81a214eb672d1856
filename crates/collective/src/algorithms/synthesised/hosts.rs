//! Trees put together of trees across hosts and trees inside them, where packing all at once would take too long.
//!
//! Ranks with the same place in their hosts spread what they bring to each other over the shortest ways through the
//! network; in each host the one that it reaches spreads it to the others. Both kinds of trees are packed as those of
//! small graphs are. Where hosts are entered by each part once, and the network is what limits, that is as good as all
//! at once; where links inside hosts are narrow too, it may be less.

use std::collections::{BTreeMap, VecDeque};

use super::forest::{Forest, MOST_TREES, Tree};
use crate::graph::{Graph, Way};
use crate::limit::Fraction;

/// Further than any way.
const FAR: u32 = u32::MAX;

/// A graph of hosts with the same number of ranks, in order.
pub(super) struct Hosts<'g> {
    graph: &'g Graph,
    per_host: usize,
    /// What is inside each host.
    inside: Vec<Part>,
    /// The ways between the ranks of each place.
    across: Vec<Part>,
}

/// A part of the graph, its ranks first.
#[derive(Debug, Clone)]
struct Part {
    graph: Graph,
    /// What its vertices are called in the whole graph.
    names: Vec<usize>,
}

/// The trees of a part, those of each of its ranks, in the names of the whole graph.
type Grown = Vec<Vec<Vec<Vec<usize>>>>;

impl<'g> Hosts<'g> {
    /// `None` where hosts differ in size, where some rank of a host can be reached only through another host, or one
    /// of a place only through ranks of others.
    pub(super) fn of(graph: &'g Graph, per_host: usize) -> Option<Self> {
        let even = per_host > 0 && graph.ranks.is_multiple_of(per_host) && graph.ranks > per_host;
        if !even {
            return None;
        }
        let search = Search::new(graph);
        let owners = search.owners(per_host);
        let hosts = graph.ranks / per_host;
        let inside = (0..hosts).map(|host| {
            let own = |vertex: usize| owners[vertex] == Some(host);
            Part::of(graph, &own, &|way| own(way.from) && own(way.to))
        });
        let inside: Vec<Part> = inside.collect();
        let across: Vec<Part> = (0..per_host).map(|place| search.across(place, per_host)).collect();
        let whole = inside.iter().chain(&across).all(|part| part.graph.is_connected());
        whole.then_some(Self { graph, per_host, inside, across })
    }

    /// Trees from all ranks, as many from each, or from one.
    pub(super) fn forest(&self, root: Option<usize>) -> Option<Forest> {
        let groups = if root.is_some() { self.per_host } else { self.graph.ranks };
        let most = (MOST_TREES / groups as u128).max(1);
        let across = grown(&self.shared(), root.map(|root| root / self.per_host), most)?;
        // Inside, either over all links or over those alone that lead to no other host.
        let apart: Vec<Part> = self.inside.iter().map(|part| self.apart(part)).collect();
        let inside =
            [Some(&self.inside), apart.iter().all(|part| part.graph.is_connected()).then_some(&apart)];
        let forests = inside.into_iter().flatten().filter_map(|parts| {
            let inside = grown(parts, None, most)?;
            self.measured(self.composed(&across, &inside, root))
        });
        forests.max_by_key(rate)
    }

    /// The ways across, with what several places use shared between them.
    fn shared(&self) -> Vec<Part> {
        let mut users: BTreeMap<(usize, usize), u128> = BTreeMap::new();
        for part in &self.across {
            for way in &part.graph.edges {
                *users.entry((part.names[way.from], part.names[way.to])).or_default() += 1;
            }
        }
        let common = users
            .values()
            .fold(1, |common, count| common / crate::limit::common_divisor(common, *count) * count);
        let share = |part: &Part| {
            let less = |way: &Way| {
                let count = users.get(&(part.names[way.from], part.names[way.to])).copied().unwrap_or(1);
                Way { capacity: way.capacity * common / count, ..*way }
            };
            let (graph, names) = (&part.graph, part.names.clone());
            let edges = graph.edges.iter().map(less).collect();
            Part { graph: Graph::new(graph.ranks, graph.vertices, edges), names }
        };
        self.across.iter().map(share).collect()
    }

    /// A host without the ways that lead to others.
    fn apart(&self, part: &Part) -> Part {
        let leads = |from: usize, to: usize| {
            self.across.iter().any(|across| {
                let end = |name| across.names.iter().position(|known| *known == name);
                end(from).zip(end(to)).is_some_and(|(from, to)| {
                    across.graph.edges.binary_search_by_key(&(from, to), |way| (way.from, way.to)).is_ok()
                })
            })
        };
        let stays = |way: &&Way| !leads(part.names[way.from], part.names[way.to]);
        let edges = part.graph.edges.iter().filter(stays).copied().collect();
        Part { graph: Graph::new(part.graph.ranks, part.graph.vertices, edges), names: part.names.clone() }
    }

    fn composed(&self, across: &[Grown], inside: &[Grown], root: Option<usize>) -> Vec<Tree> {
        let count = |grown: &[Grown]| grown.iter().flatten().map(Vec::len).max().unwrap_or(1);
        // Both are powers of two, so that each tree of one kind meets as many of the other.
        let count = count(across).max(count(inside));
        let each = |rank: usize| {
            let (host, place) = (rank / self.per_host, rank % self.per_host);
            (0..count).map(move |number| {
                let mut hops = turn(&across[place][host], number).to_vec();
                hops.extend(inside.iter().flat_map(|trees| turn(&trees[place], number)).cloned());
                Tree { root: rank, hops }
            })
        };
        match root {
            None => (0..self.graph.ranks).flat_map(each).collect(),
            Some(root) => (0..self.per_host)
                .flat_map(|place| (0..count).map(move |number| (place, number)))
                .map(|(place, number)| self.tree_of_one(across, inside, root, (place, number)))
                .collect(),
        }
    }

    /// A tree that leaves the root's host at a place: there the rank of that place gets what is sent first and spreads
    /// it to the rest of the host. What leaves at the root's own place goes on from rank to rank, since the root has
    /// no room to send it to all, nor has another rank that spreads something already.
    fn tree_of_one(
        &self,
        across: &[Grown],
        inside: &[Grown],
        root: usize,
        (place, number): (usize, usize),
    ) -> Tree {
        let (host, own) = (root / self.per_host, root % self.per_host);
        let trees = &inside[host];
        let straight = |from: usize, to: usize| {
            let ends = |hop: &&Vec<usize>| hop.last() == Some(&(host * self.per_host + to));
            let starts = |hop: &&Vec<usize>| hop.first() == Some(&(host * self.per_host + from));
            let own = (0..trees[from].len()).map(|more| turn(&trees[from], number + more));
            own.flatten().find(|hop| starts(hop) && ends(hop)).cloned()
        };
        let first: Option<Vec<Vec<usize>>> = if place == own {
            let around = |step: usize| (own + step) % self.per_host;
            (1..self.per_host).map(|step| straight(around(step - 1), around(step))).collect()
        } else {
            let others = turn(&trees[place], number).iter().filter(|hop| hop.last() != Some(&root));
            straight(own, place).map(|first| std::iter::once(first).chain(others.cloned()).collect())
        };
        let mut hops = first.unwrap_or_else(|| turn(&trees[own], number).to_vec());
        hops.extend(turn(&across[place][host], number).iter().cloned());
        let others = inside.iter().enumerate().filter(|(other, _)| *other != host);
        hops.extend(others.flat_map(|(_, trees)| turn(&trees[place], number)).cloned());
        Tree { root, hops }
    }

    /// With as much on each tree as the fullest edge allows.
    fn measured(&self, trees: Vec<Tree>) -> Option<Forest> {
        let mut crossings: BTreeMap<(usize, usize), u128> = BTreeMap::new();
        for pair in trees.iter().flat_map(|tree| &tree.hops).flat_map(|hop| hop.windows(2)) {
            *crossings.entry((pair[0], pair[1])).or_default() += 1;
        }
        let rates = self.graph.edges.iter().filter_map(|way| {
            crossings.get(&(way.from, way.to)).map(|count| Fraction::new(way.capacity, *count))
        });
        rates.min().map(|tree_rate_in_units| Forest { tree_rate_in_units, trees })
    }
}

/// What all trees carry together.
fn rate(forest: &Forest) -> Fraction {
    let Fraction { numerator, denominator } = forest.tree_rate_in_units;
    Fraction::new(numerator * forest.trees.len() as u128, denominator)
}

/// One of a rank's trees, around and around.
fn turn(trees: &[Vec<Vec<usize>>], number: usize) -> &[Vec<usize>] {
    trees.get(number % trees.len().max(1)).map_or(&[], Vec::as_slice)
}

/// The trees of parts, from all their ranks or from one; those that are alike are grown once.
fn grown(parts: &[Part], root: Option<usize>, most: u128) -> Option<Vec<Grown>> {
    let mut known: Vec<(&Graph, Forest)> = Vec::new();
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        let alike = known.iter().position(|(graph, _)| **graph == part.graph);
        let index = alike.unwrap_or(known.len());
        if alike.is_none() {
            known.push((&part.graph, Forest::grow_few(&part.graph, root, most)?));
        }
        let mut trees: Grown = vec![Vec::new(); part.graph.ranks];
        for tree in &known[index].1.trees {
            let named = |hop: &Vec<usize>| hop.iter().map(|vertex| part.names[*vertex]).collect();
            trees[tree.root].push(tree.hops.iter().map(named).collect());
        }
        all.push(trees);
    }
    Some(all)
}

impl Part {
    /// The vertices that are in it, and those of the ways between them that are.
    fn of(graph: &Graph, has: &dyn Fn(usize) -> bool, uses: &dyn Fn(&Way) -> bool) -> Self {
        let names: Vec<usize> = (0..graph.vertices).filter(|vertex| has(*vertex)).collect();
        let mut numbers = vec![None; graph.vertices];
        for (number, name) in names.iter().enumerate() {
            numbers[*name] = Some(number);
        }
        let edges = graph.edges.iter().filter(|way| uses(way)).filter_map(|way| {
            Some(Way { from: numbers[way.from]?, to: numbers[way.to]?, capacity: way.capacity })
        });
        let ranks = names.iter().filter(|name| **name < graph.ranks).count();
        Self { graph: Graph::new(ranks, names.len(), edges.collect()), names }
    }
}

/// Shortest ways through switches.
struct Search<'g> {
    graph: &'g Graph,
    leaving: Vec<Vec<usize>>,
    entering: Vec<Vec<usize>>,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph) -> Self {
        let (mut leaving, mut entering) =
            (vec![Vec::new(); graph.vertices], vec![Vec::new(); graph.vertices]);
        for way in &graph.edges {
            leaving[way.from].push(way.to);
            entering[way.to].push(way.from);
        }
        Self { graph, leaving, entering }
    }

    /// Steps from the nearest of some ranks, through switches only.
    fn distances(&self, from: impl Iterator<Item = usize>, next: &[Vec<usize>]) -> Vec<u32> {
        let mut distances = vec![FAR; self.graph.vertices];
        let mut open: VecDeque<usize> = from.collect();
        for rank in &open {
            distances[*rank] = 0;
        }
        while let Some(vertex) = open.pop_front() {
            if vertex < self.graph.ranks && distances[vertex] > 0 {
                continue;
            }
            for &to in &next[vertex] {
                if distances[to] == FAR {
                    distances[to] = distances[vertex] + 1;
                    open.push_back(to);
                }
            }
        }
        distances
    }

    /// The host to which each vertex belongs: the nearest, where there is only one.
    fn owners(&self, per_host: usize) -> Vec<Option<usize>> {
        let mut nearest = vec![(FAR, None); self.graph.vertices];
        for host in 0..self.graph.ranks / per_host {
            let ranks = host * per_host..(host + 1) * per_host;
            for (near, distance) in nearest.iter_mut().zip(self.distances(ranks, &self.leaving)) {
                match distance.cmp(&near.0) {
                    std::cmp::Ordering::Less => *near = (distance, Some(host)),
                    std::cmp::Ordering::Equal => near.1 = None,
                    std::cmp::Ordering::Greater => {}
                }
            }
        }
        nearest.into_iter().map(|(_, host)| host).collect()
    }

    /// The shortest ways between the ranks of a place, hosts in order.
    fn across(&self, place: usize, per_host: usize) -> Part {
        let graph = self.graph;
        let ranks: Vec<usize> = (place..graph.ranks).step_by(per_host).collect();
        let each = |next: &[Vec<usize>]| -> Vec<Vec<u32>> {
            ranks.iter().map(|rank| self.distances(std::iter::once(*rank), next)).collect()
        };
        let (from, to) = (each(&self.leaving), each(&self.entering));
        let uses = |way: &Way| {
            from.iter().any(|from| {
                let begun = from[way.from];
                begun != FAR
                    && to.iter().zip(&ranks).any(|(to, end)| {
                        to[way.to] != FAR && from[*end] != 0 && from[*end] == begun + 1 + to[way.to]
                    })
            })
        };
        let used: Vec<bool> = graph.edges.iter().map(uses).collect();
        let mut has = vec![false; graph.vertices];
        for (way, _) in graph.edges.iter().zip(&used).filter(|(_, used)| **used) {
            (has[way.from], has[way.to]) = (true, true);
        }
        let is_used = |way: &Way| graph.edges.binary_search(way).is_ok_and(|index| used[index]);
        let has_or_is = |vertex: usize| has[vertex] || ranks.contains(&vertex);
        Part::of(graph, &has_or_is, &is_used)
    }
}
