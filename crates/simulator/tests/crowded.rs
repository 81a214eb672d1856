//! Links between switches that are idle at first, then crowded, cut and restored, against the plain engine.
#![allow(clippy::unwrap_used, reason = "a test")]

mod plain;

use plain::Plain;
use weft_base::{Bytes, Rate, Span};
use weft_simulator::{Engine, ResourceId, Use};

const GPUS: usize = 12;
/// 6 GPUs to a leaf; 2 links up and 2 down at each leaf.
const LEAF: usize = 6;
const TRUNKS: usize = 8;

struct Pair {
    engine: Engine,
    plain: Plain,
    /// When each flow ended in the one and in the other.
    ends_ps: (Vec<u64>, Vec<u64>),
}

impl Pair {
    fn new() -> Self {
        let (mut engine, mut plain) = (Engine::new(), Plain::new());
        for gigabytes in [[50; 2 * GPUS].as_slice(), &[160; TRUNKS]].concat() {
            let rate = Rate::bytes_per_second(gigabytes * 1_000_000_000);
            assert_eq!(engine.add_resource(rate), plain.add_resource(rate));
        }
        Self { engine, plain, ends_ps: (Vec::new(), Vec::new()) }
    }

    fn start(&mut self, from: usize, to: usize, weight: f64, bytes: u64) {
        let (leaf_from, leaf_to) = (from / LEAF, to / LEAF);
        let trunk = |leaf: usize, down: usize| Use {
            resource: ResourceId::new(2 * GPUS + 4 * leaf + 2 * down + to % 2),
            weight,
        };
        let mut uses = vec![Use::of(ResourceId::new(from)), Use::of(ResourceId::new(GPUS + to))];
        if leaf_from != leaf_to {
            uses.extend([trunk(leaf_from, 0), trunk(leaf_to, 1)]);
        }
        let tag = self.ends_ps.0.len() as u64;
        let path = self.engine.add_path(&uses, Span::ZERO, None);
        self.engine.start(path, Bytes::new(bytes), tag);
        let path = self.plain.add_path(&uses, Span::ZERO, None);
        self.plain.start(path, Bytes::new(bytes), tag);
        self.ends_ps.0.push(0);
        self.ends_ps.1.push(0);
    }

    /// Both go on by a span, or to their end, and agree on what their links carry then.
    fn run(&mut self, span: Option<Span>) {
        let mut events = Vec::new();
        let until = span.map_or(Span::picoseconds(u64::MAX / 2), |span| self.engine.now() + span);
        while self.engine.run_until(until, &mut events) {
            for event in &events {
                self.ends_ps.0[usize::try_from(event.tag).unwrap()] = self.engine.now().get();
            }
        }
        while self.plain.run_until(until, &mut events) {
            for event in &events {
                self.ends_ps.1[usize::try_from(event.tag).unwrap()] = self.plain.now().get();
            }
        }
        for index in 0..2 * GPUS + TRUNKS {
            let resource = ResourceId::new(index);
            let (load, plain) =
                (self.engine.load_bytes_per_s(resource), self.plain.load_bytes_per_s(resource));
            assert!((load - plain).abs() <= plain * 1e-9 + 1e-3, "{resource:?}: {load}, plain {plain}");
        }
    }
}

#[test]
fn links_that_are_idle_most_of_the_time_limit_flows_when_they_must() {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut pair = Pair::new();
    for round in 0..12 {
        // Weights of a half make the trunks bear more; those of three fill them at once.
        let weight = [1.0, 1.0, 0.5, 3.0][round % 4];
        for from in 0..GPUS {
            for to in (0..GPUS).filter(|to| *to != from) {
                let crosses = from / LEAF != to / LEAF;
                if !crosses || round % 3 > 0 || (from + to) % 3 == 0 {
                    pair.start(from, to, weight, 1_000_000 + draw(3_000_000));
                }
            }
        }
        for part in 0..20 {
            pair.run(Some(Span::picoseconds(8_000_000 + draw(20_000_000))));
            if part % 5 == 3 {
                let trunk = 2 * GPUS + usize::try_from(draw(TRUNKS as u64)).unwrap();
                let rate = Rate::bytes_per_second([20, 90, 160][round % 3] * 1_000_000_000);
                pair.engine.set_capacity(ResourceId::new(trunk), rate);
                pair.plain.set_capacity(ResourceId::new(trunk), rate);
            }
        }
    }
    pair.run(None);
    for (end, plain) in pair.ends_ps.0.iter().zip(&pair.ends_ps.1) {
        assert!(*end > 0 && end.abs_diff(*plain) <= 200, "{end}, plain {plain}");
    }
}
