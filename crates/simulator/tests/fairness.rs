//! The engine against the plain one, which finds all rates from scratch at each time, on random work.

mod plain;

use plain::Plain;
use proptest::prelude::*;
use weft_base::{Bytes, Rate, Span, Time};
use weft_simulator::{Engine, Event, FlowId, PathId, ResourceId, Use};

/// What is done to an engine.
#[derive(Debug, Clone)]
enum Act {
    Start {
        path: usize,
        bytes: u64,
    },
    /// Many at once, by path and bytes.
    Wave(Vec<(usize, u64)>),
    Cancel(usize),
    Reroute {
        flow: usize,
        path: usize,
    },
    Capacity {
        resource: usize,
        gigabytes: u64,
    },
    Wake(u64),
    /// Goes on by so many picoseconds.
    Run(u64),
    Advance,
}

#[derive(Debug, Clone)]
struct Way {
    uses: Vec<(usize, u64)>,
    latency_ns: u64,
    cap: Option<u64>,
}

#[derive(Debug, Clone)]
struct Work {
    capacities: Vec<u64>,
    ways: Vec<Way>,
    acts: Vec<Act>,
}

const RESOURCES: usize = 8;
const WAYS: usize = 12;

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..WAYS, prop_oneof![Just(0), 1..5_000_000_u64, Just(1_000_000)])
            .prop_map(|(path, bytes)| Act::Start { path, bytes }),
        1 => (0..40_usize).prop_map(Act::Cancel),
        1 => (0..40_usize, 0..WAYS).prop_map(|(flow, path)| Act::Reroute { flow, path }),
        1 => (0..RESOURCES, 0..5_u64).prop_map(|(resource, level)| Act::Capacity { resource, gigabytes: level * 20 }),
        1 => (0..100_000_000_u64).prop_map(Act::Wake),
        3 => (0..20_000_000_u64).prop_map(Act::Run),
        4 => Just(Act::Advance),
    ]
}

/// So many flows at once that all is solved from scratch; of few sizes, so that groups of them end together.
fn wave() -> impl Strategy<Value = Act> {
    let bytes =
        prop_oneof![12 => Just(1_000_000), 3 => Just(2_000_000), 2 => Just(3_000_000), 1 => 1..5_000_000_u64];
    prop::collection::vec((0..WAYS, bytes), 34..70).prop_map(Act::Wave)
}

/// Waves, and now and then something else.
fn waves(weights: u64) -> impl Strategy<Value = Work> {
    let act = prop_oneof![
        3 => wave(),
        1 => (0..300_usize).prop_map(Act::Cancel),
        1 => (0..300_usize, 0..WAYS).prop_map(|(flow, path)| Act::Reroute { flow, path }),
        8 => Just(Act::Advance),
        4 => act(),
    ];
    (work(weights), prop::collection::vec(act, 1..30)).prop_map(|(work, acts)| Work { acts, ..work })
}

fn way(weights: u64) -> impl Strategy<Value = Way> {
    let uses = prop::collection::vec((0..RESOURCES, 1..=weights), 1..5);
    let cap = prop_oneof![3 => Just(None), 1 => (1..60_u64).prop_map(Some)];
    (uses, 0..3_u64, cap).prop_map(|(uses, latency, cap)| Way { uses, latency_ns: latency * 500, cap })
}

fn work(weights: u64) -> impl Strategy<Value = Work> {
    let capacities = prop::collection::vec(1..100_u64, RESOURCES);
    let ways = prop::collection::vec(way(weights), WAYS);
    (capacities, ways, prop::collection::vec(act(), 1..80)).prop_map(|(capacities, ways, acts)| Work {
        capacities,
        ways,
        acts,
    })
}

fn gigabytes(count: u64) -> Rate {
    Rate::bytes_per_second(count * 1_000_000_000)
}

struct Pair {
    fast: Engine,
    plain: Plain,
    flows: Vec<FlowId>,
    paths: Vec<(PathId, PathId)>,
}

impl Pair {
    fn new(work: &Work) -> Self {
        let (mut fast, mut plain) = (Engine::new(), Plain::new());
        for capacity in &work.capacities {
            assert_eq!(fast.add_resource(gigabytes(*capacity)), plain.add_resource(gigabytes(*capacity)));
        }
        let path = |way: &Way| {
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let part = |(resource, weight): &(usize, u64)| Use {
                resource: ResourceId::new(*resource),
                weight: *weight as f64,
            };
            let uses: Vec<Use> = way.uses.iter().map(part).collect();
            let (latency, cap) = (Span::picoseconds(way.latency_ns * 1000), way.cap.map(gigabytes));
            (fast.add_path(&uses, latency, cap), plain.add_path(&uses, latency, cap))
        };
        let paths = work.ways.iter().map(path).collect();
        Self { fast, plain, flows: Vec::new(), paths }
    }

    fn act(&mut self, act: &Act) -> Result<(), TestCaseError> {
        match act {
            Act::Start { path, bytes } => self.start(*path, *bytes),
            Act::Wave(flows) => flows.iter().for_each(|(path, bytes)| self.start(*path, *bytes)),
            Act::Cancel(flow) => {
                if let Some(id) = self.flows.get(*flow) {
                    near_bytes(self.fast.cancel(*id), self.plain.cancel(*flow))?;
                }
            }
            Act::Reroute { flow, path } => {
                if let Some(id) = self.flows.get(*flow) {
                    self.fast.reroute(*id, self.paths[*path].0);
                    self.plain.reroute(*flow, self.paths[*path].1);
                }
            }
            Act::Capacity { resource, gigabytes: level } => {
                self.fast.set_capacity(ResourceId::new(*resource), gigabytes(*level));
                self.plain.set_capacity(ResourceId::new(*resource), gigabytes(*level));
            }
            Act::Wake(time) => {
                self.fast.wake(Time::picoseconds(*time), 1000 + time);
                self.plain.wake(Time::picoseconds(*time), 1000 + time);
            }
            Act::Run(span) => {
                let target = self.fast.now() + Span::picoseconds(*span);
                self.run(target)?;
            }
            Act::Advance => {
                self.advance()?;
            }
        }
        self.compare()
    }

    fn start(&mut self, path: usize, bytes: u64) {
        let (tag, path) = (self.flows.len() as u64, self.paths[path]);
        self.flows.push(self.fast.start(path.0, Bytes::new(bytes), tag));
        self.plain.start(path.1, Bytes::new(bytes), tag);
    }

    /// Both go on to a time. Rounding may put what happens at its end a little behind it in one of them, which then
    /// goes on so far.
    fn run(&mut self, target: Time) -> Result<(), TestCaseError> {
        let (mut fast, mut plain) = (self.run_fast(target), self.run_plain(target));
        let behind = target + Span::picoseconds(ROUNDING_PS);
        if fast.len() < plain.len() {
            fast.extend(self.run_fast(behind));
        } else if plain.len() < fast.len() {
            plain.extend(self.run_plain(behind));
        }
        same_events(fast, plain)
    }

    fn run_fast(&mut self, target: Time) -> Vec<(Time, Event)> {
        let (mut all, mut some) = (Vec::new(), Vec::new());
        while self.fast.run_until(target, &mut some) {
            all.extend(at(self.fast.now(), &some));
        }
        all
    }

    fn run_plain(&mut self, target: Time) -> Vec<(Time, Event)> {
        let (mut all, mut some) = (Vec::new(), Vec::new());
        while self.plain.run_until(target, &mut some) {
            all.extend(at(self.plain.now(), &some));
        }
        all
    }

    fn advance(&mut self) -> Result<bool, TestCaseError> {
        let (mut fast, mut plain) = (Vec::new(), Vec::new());
        let more = self.fast.advance(&mut fast);
        prop_assert_eq!(self.plain.advance(&mut plain), more);
        let (mut fast_all, mut plain_all) = (at(self.fast.now(), &fast), at(self.plain.now(), &plain));
        // Rounding can part by a picosecond what the other engine sees at once.
        while fast_all.len() != plain_all.len() {
            if fast_all.len() < plain_all.len() {
                prop_assert!(self.fast.advance(&mut fast));
                fast_all.extend(at(self.fast.now(), &fast));
            } else {
                prop_assert!(self.plain.advance(&mut plain));
                plain_all.extend(at(self.plain.now(), &plain));
            }
        }
        same_events(fast_all, plain_all)?;
        let target = self.fast.now().max(self.plain.now());
        self.run(target)?;
        Ok(more)
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        for (number, id) in self.flows.iter().enumerate() {
            near(self.fast.rate_bytes_per_s(*id), self.plain.rate_bytes_per_s(number))?;
            near_bytes(self.fast.remaining(*id), self.plain.remaining(number))?;
        }
        for index in 0..RESOURCES {
            let resource = ResourceId::new(index);
            near(self.fast.load_bytes_per_s(resource), self.plain.load_bytes_per_s(resource))?;
        }
        for (fast, plain) in self.fast.carried_bytes().iter().zip(self.plain.carried_bytes()) {
            prop_assert!((fast - plain).abs() <= 4.0 + plain * 1e-9, "carried {fast}, plain {plain}");
        }
        Ok(())
    }
}

/// Picoseconds by which rounding may part the same event.
const ROUNDING_PS: u64 = 200;

fn at(time: Time, events: &[Event]) -> Vec<(Time, Event)> {
    events.iter().map(|event| (time, *event)).collect()
}

fn near(fast: f64, plain: f64) -> Result<(), TestCaseError> {
    prop_assert!((fast - plain).abs() <= plain.abs() * 1e-9 + 1e-3, "{fast}, plain {plain}");
    Ok(())
}

fn near_bytes(fast: Bytes, plain: Bytes) -> Result<(), TestCaseError> {
    prop_assert!(fast.get().abs_diff(plain.get()) <= 1, "{fast}, plain {plain}");
    Ok(())
}

/// The same events at the same times but for a few picoseconds of rounding.
fn same_events(mut fast: Vec<(Time, Event)>, mut plain: Vec<(Time, Event)>) -> Result<(), TestCaseError> {
    fast.sort_by_key(|entry| (entry.1, entry.0));
    plain.sort_by_key(|entry| (entry.1, entry.0));
    prop_assert_eq!(fast.len(), plain.len(), "{:?} {:?}", fast, plain);
    for (fast, plain) in fast.iter().zip(&plain) {
        prop_assert_eq!(fast.1.tag, plain.1.tag);
        prop_assert!(fast.0.get().abs_diff(plain.0.get()) <= ROUNDING_PS, "{:?}, plain {:?}", fast, plain);
    }
    Ok(())
}

fn play(work: &Work) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(work);
    for act in &work.acts {
        pair.act(act)?;
    }
    while pair.advance()? {
        pair.compare()?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_does_what_the_plain_one_does(work in work(1)) {
        play(&work)?;
    }

    #[test]
    fn so_it_does_with_weights(work in work(3)) {
        play(&work)?;
    }

    #[test]
    fn so_it_does_when_many_come_and_go_at_once(work in waves(1)) {
        play(&work)?;
    }

    #[test]
    fn so_it_does_with_weights_when_many_come_and_go_at_once(work in waves(3)) {
        play(&work)?;
    }
}
