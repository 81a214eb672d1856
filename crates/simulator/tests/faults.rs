//! What jobs do when links, NICs and GPUs fail on the way.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use weft_base::{Bytes, Rate, Span, Time};

use weft_collective::{Buffer, Call, Collective, Op, Plan, Program, Rank, Slice, Thread};
use weft_simulator::machine::{Carriage, Choice, Facts, Machine, add_links};
use weft_simulator::{Engine, Job, JobId, ResourceId, Session, Stage};
use weft_testkit::Catalogue;
use weft_topology::{LinkFamily, LinkId, NodeId, NodeKind, Topology, build, oneliner};

struct Plain;

impl Facts for Plain {
    fn switch_latency(&self, _model: &str) -> Span {
        Span::ZERO
    }
    fn reduces(&self, _model: &str) -> bool {
        false
    }
}

/// 50 MB from the first rank to the second: 1 ms at 50 GB/s.
const BYTES: u64 = 50_000_000;

fn message() -> (Plan, Call) {
    let call = Call::bytes(Collective::SendRecv, BYTES);
    let part = |buffer| Slice::range(buffer, 0, 1);
    let thread = |op| vec![Thread { channel: 0, steps: vec![vec![op]] }];
    let send = Op::Send { to: Rank::new(1), from: part(Buffer::Input) };
    let recv = Op::Recv { from: Rank::new(0), into: part(Buffer::Output) };
    let program = Program { pieces: 1, scratch: 0, ranks: vec![thread(send), thread(recv)] };
    (program.into_plan(), call)
}

fn topology(line: &str) -> Topology {
    let machine = oneliner::parse(line, Catalogue::embedded()).unwrap();
    build(&machine, Catalogue::embedded()).unwrap().topology
}

/// Two hosts below different leaves of a fat tree.
fn cluster() -> (Topology, Vec<NodeId>) {
    let topology = topology("24 x 1 h100-pcie + 1 cx7 @ fat-tree(leaf 16x400G)");
    let gpus: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let ends = vec![gpus[0], *gpus.last().unwrap()];
    (topology, ends)
}

fn session<'p>(topology: &'p Topology, gpus: &[NodeId], played: &'p (Plan, Call)) -> (Session<'p>, JobId) {
    let mut engine = Engine::new();
    let first = add_links(&mut engine, topology);
    let machine =
        Machine::new(topology, &Plain, first, gpus.to_vec(), (Choice::ByDestination, Carriage::BARE));
    let mut session = Session::new(engine);
    let job = session.add(Job {
        ranks: 2,
        stages: vec![Stage::Play(&played.0, &played.1)],
        start: Span::ZERO,
        router: Box::new(machine),
        recorded: true,
    });
    (session, job)
}

fn ms(count: u64) -> Time {
    Span::picoseconds(count * 1_000_000_000)
}

/// The links between switches that carried something.
fn trunks(session: &Session<'_>, topology: &Topology) -> Vec<LinkId> {
    let carried = session.engine().carried_bytes();
    let between = |id: NodeId| topology.node(id).kind == NodeKind::NetworkSwitch;
    topology
        .links()
        .filter(|(_, link)| between(link.from) && between(link.to))
        .map(|(id, _)| id)
        .filter(|id| carried[id.index()] > 0.0)
        .collect()
}

fn set_at(session: &mut Session<'_>, at: Time, links: &[LinkId], share: u64, topology: &Topology) {
    for link in links {
        let capacity = Rate::bytes_per_second(topology.link(*link).capacity.get() * share / 100);
        session.set_at(at, ResourceId::new(link.index()), capacity);
    }
}

fn took_us(session: &Session<'_>, job: JobId) -> f64 {
    session.took(job).unwrap().as_microseconds()
}

/// The link from the first NIC to its leaf.
fn nic_link(topology: &Topology) -> LinkId {
    let nic = topology.of_kind(NodeKind::Nic).next().unwrap();
    let mut links = topology.links_from(nic);
    links.find(|(_, link)| topology.family(link) == LinkFamily::Network).unwrap().0
}

/// What the message takes when nothing fails, in microseconds, and the trunk links of its way.
fn undisturbed(topology: &Topology, gpus: &[NodeId]) -> (f64, Vec<LinkId>) {
    let played = message();
    let (mut session, job) = session(topology, gpus, &played);
    session.run().unwrap();
    (took_us(&session, job), trunks(&session, topology))
}

#[test]
fn a_link_that_goes_down_stalls_its_message_until_it_is_back() {
    let (topology, gpus) = cluster();
    let (usual_us, way) = undisturbed(&topology, &gpus);
    assert_eq!(way.len(), 2, "up to a spine and down");
    let played = message();
    let (mut session, job) = session(&topology, &gpus, &played);
    set_at(&mut session, ms(0) + Span::from_microseconds(500.0), &way[..1], 0, &topology);
    set_at(&mut session, ms(3), &way[..1], 100, &topology);
    session.run().unwrap();
    // Down from 0.5 to 3 ms: 2.5 ms longer.
    assert!((took_us(&session, job) - usual_us - 2500.0).abs() < 0.001);
}

#[test]
fn half_a_link_takes_twice_as_long_from_then_on() {
    let (topology, gpus) = cluster();
    let (usual_us, _) = undisturbed(&topology, &gpus);
    let played = message();
    let (mut session, job) = session(&topology, &gpus, &played);
    // At half a millisecond the rest of the message goes on at half the rate.
    set_at(&mut session, Span::from_microseconds(500.0), &[nic_link(&topology)], 50, &topology);
    session.run().unwrap();
    let more_us = took_us(&session, job) - usual_us;
    let latency_us = usual_us - 1000.0;
    assert!((more_us - 500.0 - latency_us).abs() < 0.001, "{more_us} us more");
}

#[test]
fn a_message_that_fails_over_goes_on_by_another_spine() {
    let (topology, gpus) = cluster();
    let (usual_us, way) = undisturbed(&topology, &gpus);
    let played = message();
    let (mut session, job) = session(&topology, &gpus, &played);
    set_at(&mut session, Span::from_microseconds(500.0), &way[..1], 0, &topology);
    session.run_until(Span::from_microseconds(600.0)).unwrap();
    assert_eq!(session.stalled(job), 1);
    session.reroute(job);
    session.run().unwrap();
    assert!((took_us(&session, job) - usual_us - 100.0).abs() < 0.001, "{} us", took_us(&session, job));
    let taken = trunks(&session, &topology);
    assert!(taken.iter().any(|link| !way.contains(link)), "another way");
}

#[test]
fn a_link_that_nobody_has_noticed_is_waited_for() {
    let (topology, gpus) = cluster();
    let (usual_us, way) = undisturbed(&topology, &gpus);
    let played = message();
    let (mut session, job) = session(&topology, &gpus, &played);
    // Up to the spine from 200 us on, down from it from 300 us on.
    set_at(&mut session, Span::from_microseconds(200.0), &way[1..], 0, &topology);
    set_at(&mut session, Span::from_microseconds(300.0), &way[..1], 0, &topology);
    session.run_until(Span::from_microseconds(400.0)).unwrap();
    // Nobody knows of either: it stays where it is.
    session.reroute_around(job, &[].into());
    assert_eq!(session.stalled(job), 1);
    session.run_until(Span::from_microseconds(500.0)).unwrap();
    session.reroute_around(job, &way.iter().map(|link| ResourceId::new(link.index())).collect());
    assert_eq!(session.stalled(job), 0);
    session.run().unwrap();
    // From 200 to 500 us it waited.
    assert!((took_us(&session, job) - usual_us - 300.0).abs() < 0.001, "{} us", took_us(&session, job));
}

#[test]
fn a_connection_goes_back_to_its_usual_way() {
    let (topology, gpus) = cluster();
    let (usual_us, way) = undisturbed(&topology, &gpus);
    let played = message();
    let (mut session, job) = session(&topology, &gpus, &played);
    set_at(&mut session, Span::from_microseconds(200.0), &way[..1], 0, &topology);
    session.run_until(Span::from_microseconds(200.0)).unwrap();
    session.reroute(job);
    session.run_until(Span::from_microseconds(600.0)).unwrap();
    let detour = session.engine().carried_bytes()[way[0].index()];
    set_at(&mut session, Span::from_microseconds(600.0), &way[..1], 100, &topology);
    session.run_until(Span::from_microseconds(600.0)).unwrap();
    session.reroute(job);
    session.run().unwrap();
    assert!((took_us(&session, job) - usual_us).abs() < 0.001, "nothing was lost");
    // 200 us before and about 400 us after the detour at 50 GB/s.
    let (before, all) = (detour / 50e3, session.engine().carried_bytes()[way[0].index()] / 50e3);
    assert!((before - 200.0).abs() < 3.0 && (all - 600.0).abs() < 3.0, "{before} us, {all} us");
}

#[test]
fn a_dead_nic_gives_its_messages_to_another_of_the_host() {
    let topology = topology("2 x 2 h100-pcie + 2 cx7 @ fat-tree(leaf 64x400G)");
    let gpus: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let ends = [gpus[0], gpus[2]];
    let (usual_us, _) = undisturbed(&topology, &ends);
    let on_network = |nic: &NodeId| {
        topology.links_from(*nic).any(|(_, link)| topology.family(link) == LinkFamily::Network)
    };
    let nic = topology.of_kind(NodeKind::Nic).find(on_network).unwrap();
    let ports: Vec<LinkId> = topology
        .links_from(nic)
        .filter(|(_, link)| topology.family(link) == LinkFamily::Network)
        .flat_map(|(id, link)| [id, link.twin])
        .collect();
    let played = message();
    let (mut session, job) = session(&topology, &ends, &played);
    set_at(&mut session, Span::from_microseconds(500.0), &ports, 0, &topology);
    session.run_until(Span::from_microseconds(500.0)).unwrap();
    session.reroute(job);
    session.run().unwrap();
    assert!((took_us(&session, job) - usual_us).abs() < 1.0, "{} us", took_us(&session, job));
}

#[test]
fn a_gpu_that_dies_leaves_its_job_waiting_and_a_rerun_begins_anew() {
    let (topology, gpus) = cluster();
    let (usual_us, _) = undisturbed(&topology, &gpus);
    let links: Vec<LinkId> = topology.links_from(gpus[1]).flat_map(|(id, link)| [id, link.twin]).collect();
    let played = message();
    let (mut session, job) = session(&topology, &gpus, &played);
    set_at(&mut session, Span::from_microseconds(500.0), &links, 0, &topology);
    session.run().unwrap();
    assert_eq!((session.took(job), session.stalled(job)), (None, 1));
    // The GPU is replaced: the job is cancelled, and begins again.
    session.cancel(job);
    assert_eq!(session.stalled(job), 0);
    for link in &links {
        session.set(ResourceId::new(link.index()), topology.link(*link).capacity);
    }
    let first = ResourceId::new(0);
    let machine = Machine::new(&topology, &Plain, first, gpus, (Choice::ByDestination, Carriage::BARE));
    let again = session.add(Job {
        ranks: 2,
        stages: vec![Stage::Play(&played.0, &played.1)],
        start: ms(2),
        router: Box::new(machine),
        recorded: false,
    });
    session.run().unwrap();
    assert!((took_us(&session, again) - usual_us).abs() < 0.001);
    assert_eq!(session.took(job), None);
}

#[test]
fn computation_lies_between_messages_and_shows_on_the_critical_path() {
    let (topology, gpus) = cluster();
    let (usual_us, _) = undisturbed(&topology, &gpus);
    let played = message();
    let (mut session, _) = session(&topology, &gpus, &played);
    session.run().unwrap();
    let machine =
        Machine::new(&topology, &Plain, ResourceId::new(0), gpus, (Choice::ByDestination, Carriage::BARE));
    let stages = vec![
        Stage::Compute(Span::from_microseconds(250.0)),
        Stage::Play(&played.0, &played.1),
        Stage::Compute(Span::from_microseconds(250.0)),
        Stage::Play(&played.0, &played.1),
    ];
    let start = session.engine().now();
    let job = session.add(Job { ranks: 2, stages, start, router: Box::new(machine), recorded: true });
    session.run().unwrap();
    assert!((took_us(&session, job) - 2.0 * usual_us - 500.0).abs() < 0.001);
    let path = session.critical_path(job).unwrap();
    let own = path.parts.iter().find(|part| part.on == weft_simulator::On::Itself).unwrap();
    assert!((own.span.as_microseconds() - 500.0).abs() < 0.001, "{own:?}");
    let moved: Bytes = path.parts.iter().map(|part| part.bytes).sum();
    assert_eq!(moved, Bytes::new(2 * BYTES));
}
