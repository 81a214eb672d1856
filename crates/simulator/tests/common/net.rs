//! Small networks, and constants of the catalogue for their models.

use weft_base::{Bytes, Rate, Span};
use weft_collective::{Buffer, Call, Collective, Op, Plan, Program, Rank, Slice, Thread};
use weft_simulator::control::{Counts, Links};
use weft_simulator::machine::{Choice, Facts, Machine, add_links};
use weft_simulator::network::{Behaviour, Settings};
use weft_simulator::{Engine, Job, ResourceId, Session, Stage};
use weft_testkit::Catalogue;
use weft_topology::{GraphBuilder, LinkFamily, NodeId, NodeKind, Topology, build, oneliner};

/// Switches without latency that do not add.
pub struct Plain;

impl Facts for Plain {
    fn switch_latency(&self, _model: &str) -> Span {
        Span::ZERO
    }
    fn reduces(&self, _model: &str) -> bool {
        false
    }
}

pub const LINE: Rate = Rate::bytes_per_second(50_000_000_000);

/// NICs of 400 Gb/s with the catalogue's constants.
pub fn settings() -> Settings {
    let library = Catalogue::embedded().library("network-models").unwrap();
    let constant = |name: &str| library.tables.get(name)?.rows.get("constant")?.first().copied();
    Settings::new(LINE, constant).unwrap()
}

pub fn topology(line: &str) -> Topology {
    let machine = oneliner::parse(line, Catalogue::embedded()).unwrap();
    build(&machine, Catalogue::embedded()).unwrap().topology
}

/// Hosts of one GPU and one NIC of 50 GB/s below switches; `below` says how many below each. Switches stand in a row,
/// neighbours joined by one link that carries `trunk`. Each link takes `latency`.
pub fn row(below: &[u32], trunk: Rate, latency: Span) -> Topology {
    let mut graph = GraphBuilder::default();
    let wire = graph.kind("wire", "a wire", LinkFamily::Network);
    let pcie = graph.kind("slot", "a slot", LinkFamily::Pcie);
    let (mut host, mut last) = (0, None);
    for (number, hosts) in (0..).zip(below) {
        let switch = graph.node(NodeKind::NetworkSwitch, number, None, None);
        for _ in 0..*hosts {
            let gpu = graph.node(NodeKind::Gpu, 0, Some(host), None);
            let nic = graph.node(NodeKind::Nic, 0, Some(host), None);
            let slot = Rate::bytes_per_second(64_000_000_000);
            graph.connect(gpu, nic, pcie, 1, slot, Span::ZERO);
            graph.connect(nic, switch, wire, 1, LINE, latency);
            host += 1;
        }
        if let Some(last) = last.replace(switch) {
            graph.connect(last, switch, wire, 1, trunk, latency);
        }
    }
    graph.finish()
}

pub fn gpus(topology: &Topology) -> Vec<NodeId> {
    topology.of_kind(NodeKind::Gpu).collect()
}

pub fn machine<'t>(
    topology: &'t Topology,
    behaviour: &Behaviour,
    engine: &mut Engine,
) -> (Machine<'t>, ResourceId) {
    let first = add_links(engine, topology);
    let carried = (behaviour.choice, behaviour.carriage);
    (Machine::new(topology, &Plain, first, gpus(topology), carried), first)
}

pub fn plain(choice: Choice) -> Behaviour {
    Behaviour { choice, ..weft_simulator::network::network_model("ideal").unwrap().behaviour(&settings()) }
}

/// When each pair's message of `bytes` is over, all begun at once, in seconds.
pub fn ends_s(topology: &Topology, behaviour: &Behaviour, pairs: &[(u32, u32)], bytes: Bytes) -> Vec<f64> {
    let mut engine = Engine::new();
    let (mut machine, _) = machine(topology, behaviour, &mut engine);
    for (tag, (from, to)) in (0..).zip(pairs) {
        use weft_simulator::Router;
        let path = machine.path(&mut engine, Rank::new(*from), Rank::new(*to), 0).unwrap();
        engine.start(path, bytes, tag);
    }
    let (mut ends, mut events) = (vec![0.0; pairs.len()], Vec::new());
    while engine.advance(&mut events) {
        for event in &events {
            ends[usize::try_from(event.tag).unwrap()] = engine.now().as_seconds();
        }
    }
    ends
}

/// A plan in which each pair exchanges the whole buffer, all at once.
pub fn exchange(ranks: u32, pairs: &[(u32, u32)]) -> Plan {
    let all = Slice::range(Buffer::Input, 0, 1);
    let into = Slice::range(Buffer::Output, 0, 1);
    let mut program = Program { pieces: 1, scratch: 0, ranks: Vec::new() };
    for rank in 0..ranks {
        let mut ops = Vec::new();
        for (from, to) in pairs {
            if *from == rank {
                ops.push(Op::Send { to: Rank::new(*to), from: all });
            }
            if *to == rank {
                ops.push(Op::Recv { from: Rank::new(*from), into });
            }
        }
        program.ranks.push(vec![Thread { channel: 0, steps: vec![ops] }]);
    }
    program.into_plan()
}

/// When each rank is done with an exchange, in seconds, and what was counted.
pub fn exchanged(
    topology: &Topology,
    behaviour: &Behaviour,
    pairs: &[(u32, u32)],
    bytes: u64,
) -> (Vec<f64>, Counts) {
    let mut engine = Engine::new();
    let (machine, first) = machine(topology, behaviour, &mut engine);
    let ranks = u32::try_from(gpus(topology).len()).unwrap();
    let plan = exchange(ranks, pairs);
    let call = Call::bytes(Collective::AllReduce, bytes);
    let mut session = Session::new(engine);
    if let Some(control) = behaviour.control(Links::of(topology, first)) {
        session.govern(control);
    }
    let stages = vec![Stage::Play(&plan, &call)];
    let job =
        session.add(Job { ranks, stages, start: Span::ZERO, router: Box::new(machine), recorded: false });
    session.run().unwrap();
    (session.finished(job).map(|time| time.unwrap().as_seconds()).collect(), session.counts())
}
