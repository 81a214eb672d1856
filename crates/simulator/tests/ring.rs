//! Rings against their closed form, message by message and folded.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::Fabric;
use weft_base::{Rate, Span};
use weft_collective::{Algorithm, Call, Collective, Plan, Terrain, algorithms::Ring};
use weft_simulator::engine::Engine;
use weft_simulator::{Job, Session, Stage, fold};

const GIB: u64 = 1 << 30;

fn ring(gpus: u32) -> (Plan, Call) {
    let call = Call::bytes(Collective::AllReduce, GIB / u64::from(gpus) * u64::from(gpus));
    (Ring.plan(&call, &Terrain::flat(gpus)), call)
}

fn fabric(gpus: u32, slow: bool) -> (Engine, Fabric) {
    let mut engine = Engine::new();
    let fabric = Fabric::build(&mut engine, gpus);
    if slow {
        for nic in [fabric.nic_up(95), fabric.nic_down(95)] {
            engine.set_capacity(nic, Rate::bytes_per_second(25_000_000_000));
        }
    }
    (engine, fabric)
}

fn played(gpus: u32, slow: bool) -> Vec<Span> {
    let (engine, fabric) = fabric(gpus, slow);
    let (plan, call) = ring(gpus);
    let mut session = Session::new(engine);
    let job = session.add(Job {
        ranks: gpus,
        stages: vec![Stage::Play(&plan, &call)],
        start: Span::ZERO,
        router: Box::new(fabric),
        recorded: false,
    });
    session.run().unwrap();
    session.finished(job).map(Option::unwrap).collect()
}

fn folded(gpus: u32, slow: bool) -> Vec<Span> {
    let (mut engine, mut fabric) = fabric(gpus, slow);
    let (plan, call) = ring(gpus);
    fold(&mut engine, &mut fabric, &plan, &call, Span::ZERO).unwrap()
}

/// 2 (N-1) (floor(2^30 / N) / rate + 1.6 us), the pace of the messages that cross leaves.
fn exact_s(gpus: u32, rate_bytes_per_s: f64) -> f64 {
    let bytes = f64::from(u32::try_from(GIB / u64::from(gpus)).unwrap());
    2.0 * f64::from(gpus - 1) * (bytes / rate_bytes_per_s + 1.6e-6)
}

fn assert_exact(time: Span, exact_s: f64, steps: u32) {
    let allowed = exact_s * 1e-9 + f64::from(steps) * 1e-12;
    assert!((time.as_seconds() - exact_s).abs() <= allowed, "{} s, not {exact_s} s", time.as_seconds());
}

#[test]
fn rings_take_what_the_formula_says() {
    for gpus in [64, 72] {
        let times = played(gpus, false);
        assert_exact(*times.iter().max().unwrap(), exact_s(gpus, 50e9), 2 * (gpus - 1));
        assert_eq!(times, folded(gpus, false), "{gpus} GPUs");
    }
}

#[test]
fn one_slow_nic_sets_the_pace() {
    for gpus in [100, 104] {
        let times = played(gpus, true);
        assert_exact(*times.iter().max().unwrap(), exact_s(gpus, 25e9), 2 * (gpus - 1));
        assert_eq!(times, folded(gpus, true), "{gpus} GPUs");
    }
}

#[test]
fn a_folded_ring_of_131072_takes_what_the_formula_says() {
    for (slow, rate_bytes_per_s) in [(false, 50e9), (true, 25e9)] {
        let times = folded(131_072, slow);
        assert_exact(*times.iter().max().unwrap(), exact_s(131_072, rate_bytes_per_s), 262_142);
    }
}
