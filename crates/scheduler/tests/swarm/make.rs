//! A world from a seed.

use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use weft_base::{Moment, Period};
use weft_scheduler::book::{Book, Queue};
use weft_scheduler::cluster::{
    Cluster, DeviceControl, Joined, LEVELS, Level, Node, NodeId, Shape, Site, Slice, Taints,
};
use weft_scheduler::fleet::{Models, NodeKind, Pod};
use weft_scheduler::job::{Ask, Group, Job, JobId, Need, QueueId, Within};
use weft_scheduler::policy::{End, Member};
use weft_scheduler::world::{
    ByLevel, Chances, Fault, Ideal, LETHAL_FLAP, Latencies, Load, Saves, Setup, Speed, Stories, Trouble,
};

pub struct Made {
    pub book: Book,
    pub setup: Setup,
}

pub fn world(seed: u64) -> Made {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let random = &mut random;
    let cluster = cluster(random);
    assert_eq!(cluster.check(), Ok(()));
    let queues = queues(random);
    let loads = (0..random.random_range(3..16)).map(|at| load(at, &cluster, queues.len(), random)).collect();
    let faults = (0..random.random_range(0..8)).map(|_| fault(&cluster, random)).collect();
    let setup = Setup {
        loads,
        faults,
        latencies: latencies(random),
        chances: Chances {
            conflict_percent: *[0, 0, 5, 30].choose(random).unwrap(),
            expiry_percent: *[0, 0, 5].choose(random).unwrap(),
            slow_percent: *[0, 20, 80].choose(random).unwrap(),
            unheeded_percent: *[0, 50, 100].choose(random).unwrap(),
        },
        speed: speed(random),
        enforces_limits: random.random(),
        lethal_flap: LETHAL_FLAP,
        stories: if random.random_range(0..4) == 0 { Stories::All } else { Stories::None },
        sample_count: 20,
        until: None,
        after_event: None,
        seed,
    };
    Made { book: Book::new(cluster, queues), setup }
}

fn seconds(range: std::ops::Range<u64>, random: &mut ChaCha8Rng) -> Period {
    Period::milliseconds(random.random_range(range.start * 1000..range.end * 1000))
}

fn latencies(random: &mut ChaCha8Rng) -> Latencies {
    let mut of = |most: u64| {
        if random.random_range(0..3) == 0 { Period::ZERO } else { seconds(0..most, random) }
    };
    Latencies {
        bind: of(5),
        report: of(3),
        start: of(60),
        restart: of(120),
        grace: of(60),
        slow: of(300),
        detection: of(120),
    }
}

fn shape(random: &mut ChaCha8Rng) -> Shape {
    let kind = |gpu_count: u8, model: u8, cores: u32| NodeKind {
        cpu_milli: cores * 1000,
        memory_mib: cores * 4096,
        gpu_count,
        model,
    };
    let mut shape = match random.random_range(0..5) {
        0 | 1 => Shape::switched(kind(8, 0, 64)),
        2 => {
            let mut shape = Shape::switched(kind(4, 1, 16));
            shape.joined = Joined::bridges(4, 100);
            shape
        }
        3 => {
            let mut shape = Shape::switched(kind(2, 2, 32));
            shape.slices = slices();
            shape
        }
        _ => Shape::switched(kind(0, 0, 32)),
    };
    shape.control =
        *[DeviceControl::Exact, DeviceControl::Hint, DeviceControl::NodeOnly].choose(random).unwrap();
    shape
}

/// As of an A100: seven slots of compute, eight of memory.
fn slices() -> Vec<Slice> {
    let slice = |name: &str, places: Vec<u8>, milli| Slice { name: name.to_owned(), places, milli };
    vec![
        slice("1g.5gb", (0..7).map(|at| 1 << at).collect(), 142),
        slice("2g.10gb", vec![0b11, 0b1100, 0b11_0000], 285),
        slice("3g.20gb", vec![0b1111, 0b1111_0000], 428),
    ]
}

fn cluster(random: &mut ChaCha8Rng) -> Cluster {
    let shapes: Vec<Shape> = (0..random.random_range(1..4)).map(|_| shape(random)).collect();
    let [domain, rack, leaf, spine]: [u32; 4] = std::array::from_fn(|_| random.random_range(1..3));
    let node = |at: u32, random: &mut ChaCha8Rng| Node {
        name: format!("node-{at}"),
        shape: random.random_range(0..shapes.len()),
        site: Site {
            domain: at / domain,
            rack: at / domain / rack,
            leaf: at / domain / rack / leaf,
            spine: at / domain / rack / leaf / spine,
        },
        taints: Taints(if random.random_range(0..6) == 0 { random.random_range(1..4) } else { 0 }),
    };
    Cluster {
        models: ["H100", "A40", "A100"].map(str::to_owned).to_vec(),
        nodes: (0..random.random_range(2..8)).map(|at| node(at, random)).collect(),
        shapes,
        taints: ["spot", "lab"].map(str::to_owned).to_vec(),
    }
}

fn queues(random: &mut ChaCha8Rng) -> Vec<Queue> {
    let count = random.random_range(1..5_u32);
    let of = |at: u32, random: &mut ChaCha8Rng| Queue {
        parent: (at > 0 && random.random()).then(|| QueueId(random.random_range(0..at))),
        limit_milli: (random.random_range(0..3) == 0).then(|| random.random_range(2..20) * 1000),
        own_milli: random.random_range(0..8) * 1000,
        weight: random.random_range(1..4),
        ..Queue::named(&format!("queue-{at}"))
    };
    (0..count).map(|at| of(at, random)).collect()
}

fn ask(cluster: &Cluster, random: &mut ChaCha8Rng) -> Ask {
    let (gpu_count, gpu_milli) = match random.random_range(0..8) {
        0 => (0, 0),
        1 | 2 => (1, random.random_range(1..10) * 100),
        3 | 4 => (1, 1000),
        5 => (2, 1000),
        6 => (4, 1000),
        _ => (8, 1000),
    };
    let models = if random.random_range(0..3) == 0 { Models(random.random_range(1..8)) } else { Models::ANY };
    let cpu_milli = random.random_range(0..9) * 1000;
    let mut ask = Ask::of(Pod { cpu_milli, memory_mib: cpu_milli, gpu_count, gpu_milli, models });
    ask.tolerates = Taints(random.random_range(0..4));
    ask.one_numa = gpu_count > 1 && random.random_range(0..4) == 0;
    if random.random_range(0..3) == 0 {
        ask.fallback = vec![Models(random.random_range(1..8))];
    }
    let slices = cluster.shapes.iter().find(|shape| !shape.slices.is_empty()).map(|shape| &shape.slices);
    if let Some(slice) =
        slices.filter(|_| gpu_count == 1 && gpu_milli < 1000).and_then(|all| all.choose(random))
    {
        ask.slice = Some(slice.name.clone());
        ask.pod.gpu_milli = slice.milli;
    }
    ask
}

fn within(random: &mut ChaCha8Rng) -> Option<Within> {
    let level = *LEVELS.choose(random).unwrap();
    (random.random_range(0..3) == 0).then(|| Within { level, required: random.random() })
}

fn group(at: usize, cluster: &Cluster, random: &mut ChaCha8Rng) -> Group {
    let most_count = *[1, 1, 2, 3, 4, 6].choose(random).unwrap();
    let least_count = if random.random() { random.random_range(1..=most_count) } else { most_count };
    let sets = (most_count % 2 == 0 && random.random_range(0..3) == 0).then(|| {
        (
            2,
            Within {
                level: [Level::Node, Level::Domain][random.random_range(0..2)],
                required: random.random(),
            },
        )
    });
    let ask = ask(cluster, random);
    Group { name: format!("group-{at}"), ask, least_count, most_count, within: within(random), sets }
}

fn load(at: u32, cluster: &Cluster, queue_count: usize, random: &mut ChaCha8Rng) -> Load {
    let submitted: Moment = seconds(0..3600, random);
    let group_count = if random.random_range(0..5) == 0 { 2 } else { 1 };
    let need = Need {
        groups: (0..group_count).map(|at| group(at, cluster, random)).collect(),
        within: within(random),
    };
    let job = Job {
        name: format!("job-{at}"),
        queue: QueueId(u32::try_from(random.random_range(0..queue_count)).unwrap()),
        priority: random.random_range(0..3),
        submitted,
        need,
        limit: (random.random_range(0..3) == 0).then(|| seconds(60..7200, random)),
        preemptible: random.random_range(0..4) > 0,
        traffic: None,
    };
    let how = if random.random_range(0..5) == 0 { End::Failed } else { End::Done };
    let saves = (random.random_range(0..3) > 0)
        .then(|| Saves { interval: seconds(1..900, random), cost: seconds(0..60, random) });
    let cancelled = (random.random_range(0..8) == 0).then(|| submitted + seconds(0..3600, random));
    let work = if random.random_range(0..10) == 0 { Period::ZERO } else { seconds(1..5400, random) };
    Load { job, work, how, cancelled, saves }
}

fn fault(cluster: &Cluster, random: &mut ChaCha8Rng) -> Fault {
    let node = NodeId(u32::try_from(random.random_range(0..cluster.nodes.len())).unwrap());
    let gpu = random.random_range(0..8);
    let what = match random.random_range(0..9) {
        0 => Trouble::Node(node),
        1 => Trouble::Gpu(node, gpu, None),
        // A program's fault, a link's, one that takes the host out, and one whose class is not known.
        2 => Trouble::Gpu(node, gpu, [13, 74, 79, 95, 999].choose(random).copied()),
        3 => Trouble::Nic(node),
        4 | 5 => Trouble::Flap(node),
        6 => Trouble::Leaf(cluster.domain(node, Level::Leaf)),
        7 => Trouble::Rack(cluster.domain(node, Level::Rack)),
        _ => Trouble::Crash(node, gpu),
    };
    let lasts =
        if matches!(what, Trouble::Flap(_)) { seconds(0..15, random) } else { seconds(1..3600, random) };
    Fault { at: seconds(0..7200, random), what, lasts }
}

fn speed(random: &mut ChaCha8Rng) -> Box<dyn Speed> {
    match random.random_range(0..3) {
        0 => Box::new(Ideal),
        1 => Box::new(ByLevel::of([1.0, 0.97, 0.9, 0.81, 0.5, 0.37])),
        _ => Box::new(Neighbours::default()),
    }
}

/// All that span leaves slow each other.
#[derive(Debug, Default)]
struct Neighbours {
    spanning: Vec<JobId>,
}

impl Speed for Neighbours {
    fn comes(&mut self, cluster: &Cluster, id: JobId, _job: &Job, members: &[Member]) -> Vec<JobId> {
        let others = self.goes(id);
        let leaves = |member: &Member| cluster.domain(member.node, Level::Leaf);
        if members.iter().any(|member| leaves(member) != leaves(&members[0])) {
            self.spanning.push(id);
            return self.spanning.clone();
        }
        others
    }

    fn goes(&mut self, id: JobId) -> Vec<JobId> {
        let before = self.spanning.len();
        self.spanning.retain(|known| *known != id);
        if self.spanning.len() < before { self.spanning.clone() } else { Vec::new() }
    }

    fn share(&mut self, id: JobId) -> f64 {
        let count = u32::try_from(self.spanning.len()).unwrap();
        if self.spanning.contains(&id) { 1.0 / f64::from(count.max(1)) } else { 1.0 }
    }
}
