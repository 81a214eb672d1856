//! The works by which the engine is measured, each defined to the last byte so that another simulator can do the same:
//! `cargo run --release -p weft-simulator --example work -- ring 1024`. Prints one line of JSON.
//!
//! GPU i sits in node i/8 and under leaf i/32; each has two NVLink ports (450e9 B/s, 250 ns) and two NIC ports
//! (50e9 B/s, 500 ns), in and out; each leaf has 16 links up and 16 down (100e9 B/s, 300 ns).
//!
//! Rings are plans: played message by message, and in `ring-folded` and `ring-folded-slow` folded. The perturbed ring
//! is no collective, so that it is played on the engine alone, as are the works in which all flows begin at once.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement to run by hand")]

use weft_base::{Bytes, Rate, Span};
use weft_collective::{Call, Collective, Plan, Rank, Terrain, algorithm};
use weft_simulator::{Engine, Job, PathId, ResourceId, Router, Session, Stage, Use, fold};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const USAGE: &str =
    "work ring|ring-perturbed|ring-slow|ring-fat-tree|ring-folded|ring-folded-slow|a2a|a2ar|shuffle GPUS";
const SPINES: usize = 16;
const GIB: u64 = 1 << 30;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [work, gpus] = words.as_slice() else { return Err(USAGE.into()) };
    let gpus: usize = gpus.parse()?;
    // It outlives the measurement, as it does in the peer.
    let built = || Box::leak(Box::new(Fabric::leaves(gpus)));
    let mut draws = Draws(1);
    let (flows, end) = match work.as_str() {
        "ring" => played(Fabric::leaves(gpus))?,
        "ring-slow" => played(Fabric::slow(gpus))?,
        "ring-fat-tree" => played(Fabric::fat_tree(gpus))?,
        "ring-folded" => folded(Fabric::leaves(gpus))?,
        "ring-folded-slow" => folded(Fabric::slow(gpus))?,
        "ring-perturbed" => ring(built(), |_| perturbed(GIB / gpus as u64, draws.next())),
        "a2a" => all_to_all(built(), || 1 << 26),
        "a2ar" => all_to_all(built(), || (1 << 25) + (((1 << 26) * draws.next()) >> 31)),
        "shuffle" => shuffle(built(), draws),
        other => return Err(format!("`{other}` is no work: {USAGE}").into()),
    };
    println!(
        "{{\"tool\":\"weft\",\"work\":\"{work}\",\"gpus\":{gpus},\"flows\":{flows},\"simulated_s\":{:.16e},\"cpu_s\":{:.4},\"max_rss_mib\":{:.1}}}",
        end.as_seconds(),
        cpu_seconds(),
        peak_mebibytes()
    );
    Ok(())
}

/// The generator of the works: 31 bits a draw.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// floor(bytes * (1 + draw / 2^31 / 100)), in whole numbers.
fn perturbed(bytes: u64, draw: u64) -> u64 {
    let share = u128::from(bytes) * u128::from(draw) / (100 << 31);
    bytes + u64::try_from(share).unwrap_or(0)
}

/// How the GPUs are joined, as resources of an engine.
struct Fabric {
    engine: Engine,
    wires: Wires,
}

/// Which resources are whose ports.
struct Wires {
    gpus: usize,
    kind: Kind,
    ports: [ResourceId; 6],
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Leaves,
    FatTree,
}

fn nth(first: ResourceId, offset: usize) -> Use {
    Use::of(ResourceId::new(first.index() + offset))
}

fn rate(gigabytes: u64) -> Rate {
    Rate::bytes_per_second(gigabytes * 1_000_000_000)
}

fn nanoseconds(count: u64) -> Span {
    Span::picoseconds(count * 1000)
}

impl Fabric {
    fn leaves(gpus: usize) -> Self {
        let (mut engine, leaves) = (Engine::new(), gpus.div_ceil(32));
        let mut add = |gigabytes, count| engine.add_resources(rate(gigabytes), count);
        let ports = [
            add(450, gpus),
            add(450, gpus),
            add(50, gpus),
            add(50, gpus),
            add(100, leaves * SPINES),
            add(100, leaves * SPINES),
        ];
        Self { engine, wires: Wires { gpus, kind: Kind::Leaves, ports } }
    }

    /// One NIC at half its rate, both ways.
    fn slow(gpus: usize) -> Self {
        let mut fabric = Self::leaves(gpus);
        for port in [fabric.wires.ports[2], fabric.wires.ports[3]] {
            fabric.engine.set_capacity(ResourceId::new(port.index() + 95), rate(25));
        }
        fabric
    }

    /// Two levels: 32 GPUs a leaf, 16 spines, two links between each leaf and each spine; 50e9 B/s and 500 ns a link.
    fn fat_tree(gpus: usize) -> Self {
        let (mut engine, leaves) = (Engine::new(), gpus.div_ceil(32));
        let mut add = |count| engine.add_resources(rate(50), count);
        let (host_up, host_down) = (add(gpus), add(gpus));
        let (up, down) = (add(leaves * SPINES * 2), add(leaves * SPINES * 2));
        let ports = [host_up, host_down, host_up, host_down, up, down];
        Self { engine, wires: Wires { gpus, kind: Kind::FatTree, ports } }
    }

    fn path(&mut self, from: usize, to: usize) -> PathId {
        self.wires.path(&mut self.engine, from, to, to % SPINES)
    }
}

impl Wires {
    fn path(&self, engine: &mut Engine, from: usize, to: usize, spine: usize) -> PathId {
        let [nvlink_out, nvlink_in, out, into, up, down] = self.ports;
        let (leaf_from, leaf_to) = (from / 32, to / 32);
        if self.kind == Kind::Leaves && from / 8 == to / 8 {
            return engine.add_path(&[nth(nvlink_out, from), nth(nvlink_in, to)], nanoseconds(500), None);
        }
        if leaf_from == leaf_to {
            return engine.add_path(&[nth(out, from), nth(into, to)], nanoseconds(1000), None);
        }
        let trunk = |leaf: usize| match self.kind {
            Kind::Leaves => leaf * SPINES + spine,
            Kind::FatTree => (leaf * SPINES + spine) * 2 + to / SPINES % 2,
        };
        let latency = if self.kind == Kind::Leaves { 1600 } else { 2000 };
        let (up, down) = (nth(up, trunk(leaf_from)), nth(down, trunk(leaf_to)));
        engine.add_path(&[nth(out, from), up, down, nth(into, to)], nanoseconds(latency), None)
    }
}

impl Router for Wires {
    fn path(&mut self, engine: &mut Engine, from: Rank, to: Rank, _channel: u16) -> Option<PathId> {
        Some(Wires::path(self, engine, from.index(), to.index(), to.index() % SPINES))
    }
}

/// The plan of a ring all-reduce over floor(2^30 / N) bytes a chunk.
fn ring_plan(gpus: usize) -> Outcome<(Plan, Call)> {
    let ranks = u32::try_from(gpus)?;
    let call = Call::bytes(Collective::AllReduce, GIB / u64::from(ranks) * u64::from(ranks));
    let ring = algorithm("ring").ok_or("there is no ring")?;
    Ok((ring.plan(&call, &Terrain::flat(ranks)), call))
}

/// A ring, message by message: 2N(N - 1) flows.
fn played(fabric: Fabric) -> Outcome<(usize, Span)> {
    let gpus = fabric.wires.gpus;
    let (plan, call) = ring_plan(gpus)?;
    let mut session = Session::new(fabric.engine);
    let job = session.add(Job {
        ranks: plan.ranks,
        stages: vec![Stage::Play(&plan, &call)],
        start: Span::ZERO,
        router: Box::new(fabric.wires),
        recorded: false,
    });
    session.run()?;
    Ok((2 * gpus * (gpus - 1), session.took(job).ok_or("the ring never ended")?))
}

/// The same, folded.
fn folded(mut fabric: Fabric) -> Outcome<(usize, Span)> {
    let gpus = fabric.wires.gpus;
    let (plan, call) = ring_plan(gpus)?;
    let ends = fold(&mut fabric.engine, &mut fabric.wires, &plan, &call, Span::ZERO);
    let last = ends.ok_or("the ring does not fold")?.into_iter().max().unwrap_or_default();
    Ok((2 * gpus * (gpus - 1), last))
}

/// 2(N - 1) steps; flow (s, i -> i + 1) starts when (s - 1, i - 1 -> i) and (s - 1, i -> i + 1) have ended.
fn ring(fabric: &mut Fabric, mut bytes: impl FnMut(usize) -> u64) -> (usize, Span) {
    let (gpus, steps) = (fabric.wires.gpus, 2 * (fabric.wires.gpus - 1));
    let paths: Vec<PathId> = (0..gpus).map(|gpu| fabric.path(gpu, (gpu + 1) % gpus)).collect();
    let sizes: Vec<u64> = (0..gpus * steps).map(&mut bytes).collect();
    let engine = &mut fabric.engine;
    for (gpu, path) in paths.iter().enumerate() {
        engine.start(*path, Bytes::new(sizes[gpu]), gpu as u64);
    }
    // How many steps each GPU's flow has ended, and how many it has begun.
    let (mut ended, mut begun) = (vec![0_usize; gpus], vec![1_usize; gpus]);
    let mut events = Vec::new();
    while engine.advance(&mut events) {
        for event in &events {
            let gpu = usize::try_from(event.tag).unwrap_or(0);
            ended[gpu] += 1;
            let next = if gpu + 1 == gpus { 0 } else { gpu + 1 };
            let before = if gpu == 0 { gpus - 1 } else { gpu - 1 };
            for (gpu, before) in [(gpu, before), (next, gpu)] {
                let step = begun[gpu];
                if step < steps && ended[gpu] == step && ended[before] >= step {
                    begun[gpu] += 1;
                    engine.start(paths[gpu], Bytes::new(sizes[step * gpus + gpu]), gpu as u64);
                }
            }
        }
    }
    (gpus * steps, engine.now())
}

/// All pairs at once.
fn all_to_all(fabric: &mut Fabric, mut bytes: impl FnMut() -> u64) -> (usize, Span) {
    let gpus = fabric.wires.gpus;
    for from in 0..gpus {
        for to in (0..gpus).filter(|to| *to != from) {
            let path = fabric.path(from, to);
            fabric.engine.start(path, Bytes::new(bytes()), (from * gpus + to) as u64);
        }
    }
    let mut events = Vec::new();
    while fabric.engine.advance(&mut events) {}
    (gpus * (gpus - 1), fabric.engine.now())
}

/// Each GPU sends to 16 others, one after another.
fn shuffle(fabric: &mut Fabric, mut draws: Draws) -> (usize, Span) {
    let gpus = fabric.wires.gpus;
    let mut draw = |below: usize| usize::try_from(draws.next()).unwrap_or(0) % below;
    let mut flows: Vec<Vec<(PathId, u64)>> = Vec::with_capacity(gpus);
    for from in 0..gpus {
        let mut known: Vec<(usize, PathId)> = Vec::new();
        let mut own = Vec::new();
        for _ in 0..16 {
            let mut to = draw(gpus);
            while to == from {
                to = draw(gpus);
            }
            let mebibytes = 1 + draw(64) as u64;
            let spine = draw(SPINES);
            let path = known
                .iter()
                .find(|path| path.0 == to)
                .map_or_else(|| fabric.wires.path(&mut fabric.engine, from, to, spine), |path| path.1);
            known.push((to, path));
            own.push((path, mebibytes << 20));
        }
        flows.push(own);
    }
    let engine = &mut fabric.engine;
    let mut next = vec![1_usize; gpus];
    for (gpu, own) in flows.iter().enumerate() {
        engine.start(own[0].0, Bytes::new(own[0].1), gpu as u64);
    }
    let mut events = Vec::new();
    while engine.advance(&mut events) {
        for event in &events {
            let gpu = usize::try_from(event.tag).unwrap_or(0);
            if let Some((path, bytes)) = flows[gpu].get(next[gpu]) {
                engine.start(*path, Bytes::new(*bytes), event.tag);
                next[gpu] += 1;
            }
        }
    }
    (gpus * 16, engine.now())
}

/// The processor time of this process so far, as Linux counts it; 0 elsewhere.
fn cpu_seconds() -> f64 {
    // Linux counts up to the last time that it looked at the process; now it looks.
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = stat.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    nanoseconds / 1e9
}

/// The most memory that the process held, as Linux counts it; 0 elsewhere.
fn peak_mebibytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: f64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
    kibibytes / 1024.0
}
