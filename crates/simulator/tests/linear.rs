//! The engine's rates against max-min fairness as its definition has it, by linear programs: the least rate as large
//! as it can be, then the least of those that can still be larger, and so on. Nothing here fills resources.

#![allow(clippy::unwrap_used, reason = "a test")]

mod simplex;

use proptest::prelude::*;
use simplex::maximum;
use weft_base::{Bytes, Rate, Span};
use weft_simulator::{Engine, FlowId, ResourceId, Use};

/// Flows over resources, in GB/s.
#[derive(Debug, Clone)]
struct Network {
    capacities: Vec<u32>,
    flows: Vec<Flow>,
}

#[derive(Debug, Clone)]
struct Flow {
    /// Resources, with weights in halves.
    uses: Vec<(usize, u32)>,
    cap: Option<u32>,
}

fn network() -> impl Strategy<Value = Network> {
    (1..=5_usize).prop_flat_map(|resources| {
        let uses = prop::collection::btree_map(0..resources, 1..=6_u32, 1..=resources);
        let uses = prop_oneof![
            uses.prop_map(|uses| uses.into_iter().collect()),
            prop::collection::btree_set(0..resources, 1..=resources)
                .prop_map(|uses| uses.into_iter().map(|resource| (resource, 2)).collect::<Vec<_>>()),
        ];
        let cap = prop_oneof![2 => Just(None), 1 => (1..40_u32).prop_map(Some)];
        let flow = (uses, cap).prop_map(|(uses, cap)| Flow { uses, cap });
        let capacity = prop_oneof![8 => 1..=100_u32, 1 => Just(0), 2 => Just(60)];
        (prop::collection::vec(capacity, resources), prop::collection::vec(flow, 1..=6))
            .prop_map(|(capacities, flows)| Network { capacities, flows })
    })
}

impl Network {
    /// The most that `objective` can be, where each open flow has `least` and what is added to it, and each other flow
    /// what it is known to have. The objective is over `t`, which is added to all open flows, and over what is added
    /// to each flow by itself.
    fn most(&self, known: &[Option<f64>], least: f64, objective: usize) -> f64 {
        let count = self.flows.len() + 1;
        // One row is the sum of flows times weights, at most a bound.
        let row = |parts: &[(usize, f64)], bound: f64| {
            let (mut row, mut rest) = (vec![0.0; count], bound);
            for (flow, weight) in parts {
                rest -= weight * known[*flow].unwrap_or(least);
                if known[*flow].is_none() {
                    row[0] += weight;
                    row[flow + 1] += weight;
                }
            }
            (row, rest.max(0.0))
        };
        let on = |resource: usize| -> Vec<(usize, f64)> {
            let uses = self
                .flows
                .iter()
                .enumerate()
                .flat_map(|(at, flow)| flow.uses.iter().map(move |part| (at, part)));
            uses.filter(|(_, part)| part.0 == resource)
                .map(|(at, part)| (at, f64::from(part.1) / 2.0))
                .collect()
        };
        let mut rows: Vec<_> = self
            .capacities
            .iter()
            .enumerate()
            .map(|(at, capacity)| row(&on(at), f64::from(*capacity)))
            .collect();
        for (at, flow) in self.flows.iter().enumerate() {
            rows.extend(flow.cap.map(|cap| row(&[(at, 1.0)], f64::from(cap))));
        }
        let mut objectives = vec![0.0; count];
        objectives[objective] = 1.0;
        maximum(&objectives, &rows).unwrap()[objective]
    }

    /// The max-min fair rates.
    fn rates(&self) -> Vec<f64> {
        let mut known = vec![None; self.flows.len()];
        let mut least = 0.0;
        while known.contains(&None) {
            least += self.most(&known, least, 0);
            let stuck: Vec<usize> = (0..known.len())
                .filter(|at| known[*at].is_none() && self.most(&known, least, at + 1) < 1e-9)
                .collect();
            assert!(!stuck.is_empty(), "{self:?} {known:?} {least}");
            for at in stuck {
                known[at] = Some(least);
            }
        }
        known.into_iter().flatten().collect()
    }

    /// The engine's rates, with flows started together or one after another.
    fn played(&self, at_once: bool) -> Vec<f64> {
        let gigabytes = |count: u32| Rate::bytes_per_second(u64::from(count) * 1_000_000_000);
        let mut engine = Engine::new();
        for capacity in &self.capacities {
            engine.add_resource(gigabytes(*capacity));
        }
        let mut ids: Vec<FlowId> = Vec::new();
        for flow in &self.flows {
            let part = |(resource, halves): &(usize, u32)| Use {
                resource: ResourceId::new(*resource),
                weight: f64::from(*halves) / 2.0,
            };
            let uses: Vec<Use> = flow.uses.iter().map(part).collect();
            let path = engine.add_path(&uses, Span::ZERO, flow.cap.map(gigabytes));
            ids.push(engine.start(path, Bytes::new(1 << 40), 0));
            if !at_once {
                engine.rate(ids[0]);
            }
        }
        ids.into_iter().map(|id| engine.rate_bytes_per_s(id) / 1e9).collect()
    }
}

#[test]
fn the_simplex_method_finds_a_maximum_worked_out_by_hand() {
    // Largest 3x + 5y where x <= 4, 2y <= 12, 3x + 2y <= 18: 36 at (2, 6), where the last two meet.
    let rows = [(vec![1.0, 0.0], 4.0), (vec![0.0, 2.0], 12.0), (vec![3.0, 2.0], 18.0)];
    assert_eq!(maximum(&[3.0, 5.0], &rows), Some(vec![2.0, 6.0]));
    assert_eq!(maximum(&[0.0, 1.0], &rows[..1]), None);
}

#[test]
fn the_oracle_is_right_where_the_answer_is_known() {
    // 0 and 1 share 10 GB/s, so have 5; 2 has what 1 leaves of 16; 3 is at its cap; 4 takes twice its rate of 14.
    let flow = |uses: &[(usize, u32)], cap| Flow { uses: uses.to_vec(), cap };
    let flows = vec![
        flow(&[(0, 2)], None),
        flow(&[(0, 2), (1, 2)], None),
        flow(&[(1, 2)], None),
        flow(&[(2, 2)], Some(3)),
        flow(&[(2, 4)], Some(9)),
    ];
    let network = Network { capacities: vec![10, 16, 14], flows };
    for (rate, expected) in network.rates().iter().zip([5.0, 5.0, 11.0, 3.0, 5.5]) {
        assert!((rate - expected).abs() < 1e-12, "{rate}, not {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rates_are_those_of_successive_linear_programs(network in network()) {
        let expected = network.rates();
        for at_once in [true, false] {
            for (rate, expected) in network.played(at_once).iter().zip(&expected) {
                prop_assert!((rate - expected).abs() <= 1e-7 * expected.max(1e-3), "{rate}, not {expected}");
            }
        }
    }
}
