//! What makes rates max-min fair, checked by itself, and works whose end is known exactly.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::Fabric;
use proptest::prelude::*;
use weft_base::{Bytes, Rate, Span};
use weft_simulator::{Engine, Event, FlowId, PathId, ResourceId, Use};

const RESOURCES: usize = 10;
const CAPACITY: f64 = 1e9;

/// The resources and weights of each flow, and its cap in GB/s.
type Flows = Vec<(Vec<(usize, u32)>, Option<u64>)>;

fn flows() -> impl Strategy<Value = Flows> {
    let uses = prop::collection::btree_map(0..RESOURCES, 1..4_u32, 1..5);
    let cap = prop_oneof![4 => Just(None), 1 => (1..30_u64).prop_map(Some)];
    prop::collection::vec((uses.prop_map(|uses| uses.into_iter().collect()), cap), 1..60)
}

fn gigabytes(count: u64) -> Rate {
    Rate::bytes_per_second(count * 1_000_000_000)
}

/// An engine in which all flows have been started in this order; in one go, or solved after each.
fn started(flows: &Flows, order: &[usize], capacities: &[u64], at_once: bool) -> (Engine, Vec<FlowId>) {
    let mut engine = Engine::new();
    for capacity in capacities {
        engine.add_resource(gigabytes(*capacity));
    }
    let path = |(uses, cap): &(Vec<(usize, u32)>, Option<u64>)| {
        let part = |(resource, weight): &(usize, u32)| Use {
            resource: ResourceId::new(*resource),
            weight: f64::from(*weight) * 0.75,
        };
        let uses: Vec<Use> = uses.iter().map(part).collect();
        engine.add_path(&uses, Span::ZERO, cap.map(gigabytes))
    };
    let paths: Vec<PathId> = flows.iter().map(path).collect();
    let mut ids = vec![None; flows.len()];
    for at in order {
        let id = engine.start(paths[*at], Bytes::new(1 << 40), *at as u64);
        ids[*at] = Some(id);
        if !at_once {
            engine.rate(id);
        }
    }
    (engine, ids.into_iter().flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// No resource is over its capacity, and each flow is at its cap or has a full resource where none is faster: of
    /// such rates there is one set only.
    #[test]
    fn every_flow_has_what_limits_it(
        (flows, order) in flows().prop_flat_map(|flows| {
            let order: Vec<usize> = (0..flows.len()).collect();
            (Just(flows), Just(order).prop_shuffle())
        }),
        capacities in prop::collection::vec(0..100_u64, RESOURCES),
    ) {
        let (mut engine, ids) = started(&flows, &order, &capacities, false);
        let rates: Vec<f64> = ids.iter().map(|id| engine.rate_bytes_per_s(*id)).collect();
        let mut loads = [0.0; RESOURCES];
        let mut fastest = [0.0_f64; RESOURCES];
        for ((uses, _), rate) in flows.iter().zip(&rates) {
            for (resource, weight) in uses {
                loads[*resource] += rate * f64::from(*weight) * 0.75;
                fastest[*resource] = fastest[*resource].max(*rate);
            }
        }
        let full: Vec<bool> = (0..RESOURCES)
            .map(|at| {
                let capacity = gigabytes(capacities[at]).as_gigabytes() * CAPACITY;
                assert!(loads[at] <= capacity * (1.0 + 1e-9), "{} of {capacity}", loads[at]);
                loads[at] >= capacity * (1.0 - 1e-9)
            })
            .collect();
        for ((uses, cap), rate) in flows.iter().zip(&rates) {
            let at_cap = cap.is_some_and(|cap| *rate >= gigabytes(cap).as_gigabytes() * CAPACITY * (1.0 - 1e-9));
            let limits = |at: &usize| full[*at] && *rate >= fastest[*at] * (1.0 - 1e-9);
            prop_assert!(at_cap || uses.iter().any(|(at, _)| limits(at)), "{uses:?} {cap:?} {rate}");
        }
        let sorted: Vec<usize> = (0..flows.len()).collect();
        let (mut other, others) = started(&flows, &sorted, &capacities, true);
        for (rate, id) in rates.iter().zip(&others) {
            let again = other.rate_bytes_per_s(*id);
            prop_assert!((rate - again).abs() <= rate * 1e-9, "{rate} in one order, {again} in another");
        }
    }
}

/// Plays all that was started to its end.
fn play(engine: &mut Engine, mut react: impl FnMut(&mut Engine, &Event)) -> f64 {
    let mut events = Vec::new();
    while engine.advance(&mut events) {
        for event in &events {
            react(engine, event);
        }
    }
    engine.now().as_seconds()
}

#[test]
fn all_to_all_takes_what_the_ports_take() {
    for gpus in [64_u32, 96] {
        let mut engine = Engine::new();
        let fabric = Fabric::build(&mut engine, gpus);
        for from in 0..gpus {
            for to in (0..gpus).filter(|to| *to != from) {
                let path = fabric.path(&mut engine, from, to);
                engine.start(path, Bytes::new(1 << 26), 0);
            }
        }
        // From 1 us on each port is full until it has moved what goes to the N - 8 GPUs of other nodes.
        let exact = f64::from(gpus - 8) * f64::from(1 << 26) / 50e9 + 1e-6;
        let end = play(&mut engine, |_, _| {});
        assert!((end - exact).abs() <= exact * 1e-9 + 1e-11, "{gpus}: {end}, not {exact}");
    }
}

/// The generator of the works: 31 bits a draw.
fn draws() -> impl FnMut(u32) -> u32 {
    let mut state = 1_u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(state >> 33).unwrap() % below
    }
}

/// The end of a shuffle, and the digest of all times at which a flow ended.
fn shuffle(gpus: u32) -> (f64, Vec<u64>) {
    let (mut engine, mut draw) = (Engine::new(), draws());
    let fabric = Fabric::build(&mut engine, gpus);
    let mut flows: Vec<Vec<(PathId, u64)>> = Vec::new();
    for from in 0..gpus {
        let mut known: Vec<(u32, PathId)> = Vec::new();
        let mut own = Vec::new();
        for _ in 0..16 {
            let to = std::iter::repeat_with(|| draw(gpus)).find(|to| *to != from).unwrap();
            let (mebibytes, spine) = (1 + draw(64), draw(16));
            let old = known.iter().find(|path| path.0 == to).map(|path| path.1);
            let path = old.unwrap_or_else(|| fabric.path_over(&mut engine, from, to, spine));
            known.push((to, path));
            own.push((path, u64::from(mebibytes) << 20));
        }
        own.reverse();
        flows.push(own);
    }
    let mut times = Vec::new();
    for (tag, own) in (0..).zip(&mut flows) {
        let (path, bytes) = own.pop().unwrap();
        engine.start(path, Bytes::new(bytes), tag);
    }
    let end = play(&mut engine, |engine, event| {
        times.push(engine.now().get());
        if let Some((path, bytes)) = flows[usize::try_from(event.tag).unwrap()].pop() {
            engine.start(path, Bytes::new(bytes), event.tag);
        }
    });
    (end, times)
}

#[test]
fn a_shuffle_ends_when_another_program_says_so_and_the_same_way_twice() {
    // 0.025549977363904162 s by fifty lines of Python that find all rates from scratch with numbers of their own.
    let (end, times) = shuffle(64);
    assert!((end - 0.025_549_977_363_904_162).abs() < 0.0256 * 1e-8, "{end}");
    assert_eq!(times.len(), 1024);
    assert_eq!((end, times), shuffle(64));
}
