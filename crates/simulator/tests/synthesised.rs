//! The algorithm made for a terrain against the terrain's limit, each tree on its own ways.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;

use weft_base::{Rate, Span};
use weft_collective::algorithms::{Forest, Synthesised};
use weft_collective::limit::limit;
use weft_collective::{Algorithm, Call, Collective, Edge, Rank, Switch, Terrain, Vertex};
use weft_simulator::engine::{Engine, PathId, ResourceId, Use};
use weft_simulator::{Job, Router, Session, Stage};

/// A unit of capacity.
const UNIT_BYTES_PER_S: u64 = 1_000_000_000;

/// A resource for each edge, and the way of each tree's messages; channels are numbers of trees.
struct Wires {
    edges: BTreeMap<(usize, usize), ResourceId>,
    ways: BTreeMap<(u16, usize, usize), Vec<usize>>,
}

impl Wires {
    fn build(engine: &mut Engine, terrain: &Terrain) -> Self {
        let mut capacities: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for edge in terrain.edges() {
            *capacities.entry((edge.from.0 as usize, edge.to.0 as usize)).or_default() += edge.capacity;
        }
        let mut resource =
            |capacity| engine.add_resource(Rate::bytes_per_second(capacity * UNIT_BYTES_PER_S));
        let edges = capacities.into_iter().map(|(ends, capacity)| (ends, resource(capacity))).collect();
        Self { edges, ways: BTreeMap::new() }
    }

    fn add(&mut self, forest: Option<Forest>, backwards: bool) {
        for (channel, tree) in (0..).zip(forest.into_iter().flat_map(|forest| forest.trees)) {
            for mut way in tree.hops {
                if backwards {
                    way.reverse();
                }
                self.ways.insert((channel, way[0], *way.last().unwrap()), way);
            }
        }
    }
}

impl Router for Wires {
    fn path(&mut self, engine: &mut Engine, from: Rank, to: Rank, channel: u16) -> Option<PathId> {
        let way = self.ways.get(&(channel, from.index(), to.index()))?;
        let uses: Vec<Use> = way.windows(2).map(|ends| Use::of(self.edges[&(ends[0], ends[1])])).collect();
        Some(engine.add_path(&uses, Span::ZERO, None))
    }
}

fn links(ends: impl IntoIterator<Item = (u32, u32, u64)>) -> Vec<Edge> {
    let edge = |from, to, capacity| Edge { from: Vertex(from), to: Vertex(to), capacity };
    ends.into_iter().flat_map(|(a, b, capacity)| [edge(a, b, capacity), edge(b, a, capacity)]).collect()
}

/// The busbw that is reached, as a share of the limit.
fn share_of_limit(terrain: &Terrain, collective: Collective) -> f64 {
    let ranks = terrain.ranks();
    let bytes = 64 << 20;
    let call = Call::message(collective, bytes, ranks);
    let plan = Synthesised.plan(&call, terrain);
    let mut engine = Engine::new();
    let mut wires = Wires::build(&mut engine, terrain);
    if collective.reduces() {
        wires.add(Synthesised.adding(&call, terrain), true);
    }
    if matches!(collective, Collective::AllReduce | Collective::AllGather | Collective::Broadcast) {
        wires.add(Synthesised.spreading(&call, terrain), false);
    }
    let mut session = Session::new(engine);
    let stages = vec![Stage::Play(&plan, &call)];
    let job = session.add(Job { ranks, stages, start: Span::ZERO, router: Box::new(wires), recorded: false });
    session.run().unwrap();
    let algbw_bytes_per_s = 67_108_864.0 / session.took(job).unwrap().as_seconds();
    let busbw_in_units = algbw_bytes_per_s * collective.bus_factor(ranks as usize) / 1e9;
    busbw_in_units / limit(terrain, collective).unwrap().busbw_in_units.value()
}

fn terrain(ranks: u32, switches: usize, ends: impl IntoIterator<Item = (u32, u32, u64)>) -> Terrain {
    Terrain::flat(ranks).with_graph(vec![Switch::default(); switches], links(ends))
}

fn assert_near_the_limit(name: &str, terrain: &Terrain) {
    for collective in [
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::AllReduce,
        Collective::Broadcast,
        Collective::Reduce,
    ] {
        let share = share_of_limit(terrain, collective);
        assert!(share > 0.9 && share < 1.0 + 1e-9, "{name} {}: {share} of its limit", collective.name());
    }
}

#[test]
fn a_full_mesh_of_eight_comes_near_its_limit() {
    assert_near_the_limit("mesh", &terrain(8, 0, (0..8).flat_map(|a| (0..a).map(move |b| (a, b, 1)))));
}

#[test]
fn two_servers_of_four_come_near_their_limit() {
    // An NVSwitch each, to which a GPU has 18, and a network to which it has 2.
    let ends = (0..8).flat_map(|rank| [(rank, 8 + rank / 4, 18), (rank, 10, 2)]);
    assert_near_the_limit("servers", &terrain(8, 3, ends));
}

#[test]
fn a_torus_of_three_by_three_comes_near_its_limit() {
    let ends = (0..9).flat_map(|at| [(at, at / 3 * 3 + (at + 1) % 3, 1), (at, (at + 3) % 9, 1)]);
    assert_near_the_limit("torus", &terrain(9, 0, ends));
}

#[test]
fn a_ring_with_a_slow_link_comes_near_its_limit() {
    assert_near_the_limit("slow", &terrain(4, 0, [(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 3)]));
}
