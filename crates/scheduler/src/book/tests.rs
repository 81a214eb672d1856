//! The ledger by hand.

use weft_base::Moment;

use super::{Book, Queue, Refused, Seat, Stage};
use crate::cluster::{Cluster, DeviceControl, Level, NodeId, Site};
use crate::fleet::{Models, NodeKind, Pod};
use crate::job::{Ask, Group, Job, JobId, Need, QueueId, Within};
use crate::policy::{Act, Change, Command, DecisionId, End, Event, Member, Outcome};
use crate::stand::{Gpus, Health};

const NOW: Moment = Moment::milliseconds(1000);

/// Nodes of four GPUs, two to a domain.
fn book(node_count: u32, control: DeviceControl) -> Book {
    let kind = NodeKind { cpu_milli: 32_000, memory_mib: 1000, gpu_count: 4, model: 0 };
    let mut cluster = Cluster::uniform("H100", kind, node_count, 4, 4);
    cluster.shapes[0].control = control;
    for (at, node) in (0..).zip(&mut cluster.nodes) {
        node.site = Site { domain: at / 2, rack: at / 2, ..node.site };
    }
    Book::new(cluster, vec![Queue { limit_milli: Some(100_000), ..Queue::named("all") }])
}

fn ask(gpu_count: u8, gpu_milli: u16) -> Ask {
    Ask::of(Pod { cpu_milli: 1000, memory_mib: 10, gpu_count, gpu_milli, models: Models::ANY })
}

fn need(gpu_count: u8, member_count: u32) -> Need {
    Need { groups: vec![Group::rigid("worker", ask(gpu_count, 1000), member_count)], within: None }
}

fn submit(book: &mut Book, need: Need) -> JobId {
    let job = Job {
        name: String::new(),
        queue: QueueId(0),
        priority: 0,
        submitted: NOW,
        need,
        limit: None,
        preemptible: true,
        traffic: None,
    };
    let changes = book.apply(NOW, Event::Submitted(Box::new(job)));
    let [Change::Submitted(id)] = changes[..] else { panic!("{changes:?}") };
    id
}

fn on(node: u32, mask_row: u16) -> Member {
    Member { group: 0, node: NodeId(node), gpus: Gpus::whole(mask_row) }
}

/// Takes a decision; gives its id when it says what to bind at once.
fn decide(book: &mut Book, act: Act) -> Result<DecisionId, Refused> {
    let id = book.decide(NOW, act, Vec::new());
    assert_eq!(book.audit(), Ok(()));
    id
}

fn tell(book: &mut Book, event: Event) -> Vec<Change> {
    let changes = book.apply(NOW, event);
    assert_eq!(book.audit(), Ok(()));
    changes
}

fn run(book: &mut Book, need: Need, members: &[Member]) -> JobId {
    let job = submit(book, need);
    let id = decide(book, Act::Start(job, members.to_vec())).unwrap();
    let gpus = members.iter().map(|member| member.gpus).collect();
    assert_eq!(tell(book, Event::Bound(id, Outcome::Done(gpus))), [Change::Started(job)]);
    while book.command().is_some() {}
    job
}

fn masks(book: &Book, job: JobId) -> Vec<u16> {
    book.entry(job).held().map(|member| member.gpus.mask_row).collect()
}

#[test]
fn two_members_that_the_kubelet_swaps_stay_two_members() {
    let mut book = book(1, DeviceControl::Hint);
    let job = submit(&mut book, need(1, 2));
    let id = decide(&mut book, Act::Start(job, vec![on(0, 1), on(0, 2)])).unwrap();
    let swapped = Outcome::Done(vec![Gpus::whole(2), Gpus::whole(1)]);
    assert_eq!(tell(&mut book, Event::Bound(id, swapped)), [Change::Started(job)]);
    assert_eq!(masks(&book, job), [2, 1]);
    assert_eq!(book.stand(NodeId(0)).whole_row(), 0b1100);
}

#[test]
fn a_job_that_is_not_up_yet_makes_way_for_what_the_kubelet_gave() {
    // Both are on their way to GPUs 0 and 1; the second arrives first and gets GPU 0.
    let mut book = book(1, DeviceControl::NodeOnly);
    let [first, second] = [0, 1].map(|_| submit(&mut book, need(1, 1)));
    let id = decide(&mut book, Act::Start(first, vec![on(0, 1)])).unwrap();
    let other = decide(&mut book, Act::Start(second, vec![on(0, 2)])).unwrap();
    tell(&mut book, Event::Bound(other, Outcome::Done(vec![Gpus::whole(1)])));
    assert_eq!(masks(&book, second), [1]);
    assert_eq!(masks(&book, first).len(), 1, "it still has a GPU");
    assert_eq!(
        tell(&mut book, Event::Bound(id, Outcome::Done(vec![Gpus::whole(4)]))),
        [Change::Started(first)]
    );
    assert_eq!(masks(&book, first), [4]);
    assert_eq!(book.stand(NodeId(0)).whole_row(), 0b1010);
}

#[test]
fn shares_of_one_gpu_do_not_displace_each_other() {
    let mut book = book(1, DeviceControl::NodeOnly);
    let half = Need { groups: vec![Group::rigid("worker", ask(1, 500), 1)], within: None };
    let [first, second] = [0, 1].map(|_| submit(&mut book, half.clone()));
    let id = decide(&mut book, Act::Start(first, vec![on(0, 1)])).unwrap();
    let other = decide(&mut book, Act::Start(second, vec![on(0, 2)])).unwrap();
    // There is room for both halves on GPU 0, so the first stays where it is.
    tell(&mut book, Event::Bound(other, Outcome::Done(vec![Gpus::whole(1)])));
    assert_eq!((masks(&book, first), masks(&book, second)), (vec![1], vec![1]));
    tell(&mut book, Event::Bound(id, Outcome::Done(vec![Gpus::whole(1)])));
    assert_eq!(book.stand(NodeId(0)).gpus_milli[0], 0);
}

#[test]
fn a_claim_is_kept_until_slow_evictions_are_over() {
    let mut book = book(2, DeviceControl::Exact);
    let [slow, quick] = [0, 1].map(|node| run(&mut book, need(4, 1), &[on(node, 15)]));
    let job = submit(&mut book, need(4, 2));
    let then = vec![on(0, 15), on(1, 15)];
    decide(&mut book, Act::Transact { job, evict: vec![slow, quick], then }).unwrap();
    assert_eq!([book.command(), book.command()], [Some(Command::Evict(slow)), Some(Command::Evict(quick))]);
    assert_eq!(tell(&mut book, Event::Evicted(quick)), [Change::Waits(quick)]);
    // Its room is the claimer's, not the victim's again nor anybody else's.
    assert!(matches!(decide(&mut book, Act::Start(quick, vec![on(1, 15)])), Err(Refused::Room(..))));
    assert!(matches!(decide(&mut book, Act::Start(quick, vec![on(0, 15)])), Err(Refused::Closed(..))));
    assert_eq!(book.command(), None);
    tell(&mut book, Event::Evicted(slow));
    let Some(Command::Bind { decision, job: bound, .. }) = book.command() else { panic!("it is not bound") };
    assert_eq!(bound, job);
    let gpus = vec![Gpus::whole(15); 2];
    assert_eq!(tell(&mut book, Event::Bound(decision, Outcome::Done(gpus))), [Change::Started(job)]);
}

#[test]
fn a_claim_falls_when_its_node_dies_and_the_victims_leave_for_nobody() {
    let mut book = book(2, DeviceControl::Exact);
    let victim = run(&mut book, need(4, 1), &[on(0, 15)]);
    let job = submit(&mut book, need(4, 2));
    decide(&mut book, Act::Transact { job, evict: vec![victim], then: vec![on(0, 15), on(1, 15)] }).unwrap();
    let changes = tell(&mut book, Event::Node(NodeId(1), Health::Down));
    assert_eq!(changes, [Change::Health(NodeId(1)), Change::Waits(job)]);
    assert_eq!(book.entry(victim).stage, Stage::Leaving(None));
    assert!(!book.is_claimed(NodeId(0)));
    assert_eq!(tell(&mut book, Event::Evicted(victim)), [Change::Waits(victim)]);
    decide(&mut book, Act::Start(victim, vec![on(0, 15)])).unwrap();
}

#[test]
fn a_victim_that_ends_by_itself_leaves_its_place_to_the_claimer() {
    let mut book = book(1, DeviceControl::Exact);
    let victim = run(&mut book, need(4, 1), &[on(0, 15)]);
    let job = submit(&mut book, need(2, 2));
    decide(&mut book, Act::Transact { job, evict: vec![victim], then: vec![on(0, 3), on(0, 12)] }).unwrap();
    assert_eq!(tell(&mut book, Event::Ended(victim, End::Done)), [Change::Ended(victim)]);
    assert!(matches!(book.entry(job).stage, Stage::Binding(_)));
    // The eviction that was on its way says nothing any more.
    assert_eq!(tell(&mut book, Event::Evicted(victim)), []);
}

#[test]
fn a_victim_that_is_named_twice_frees_its_room_once() {
    let mut book = book(1, DeviceControl::Exact);
    let victim = run(&mut book, need(2, 1), &[on(0, 3)]);
    let job = submit(&mut book, need(4, 1));
    let act = Act::Transact { job, evict: vec![victim, victim], then: vec![on(0, 15)] };
    assert_eq!(decide(&mut book, act), Err(Refused::Stays(victim)));
    assert_eq!(decide(&mut book, Act::Requeue(JobId(9))), Err(Refused::Stage(JobId(9))));
    assert_eq!(decide(&mut book, Act::Drain(NodeId(7))), Err(Refused::Nowhere(NodeId(7))));
}

#[test]
fn a_job_shrinks_by_whole_sets() {
    // Four members in sets of two, each set in one domain; one of the third node dies, and its set goes with it.
    let mut book = book(4, DeviceControl::Exact);
    let within = Within { level: Level::Domain, required: true };
    let group = Group { least_count: 2, sets: Some((2, within)), ..Group::rigid("worker", ask(4, 1000), 4) };
    let need = Need { groups: vec![group], within: None };
    let job = run(&mut book, need, &[on(0, 15), on(1, 15), on(2, 15), on(3, 15)]);
    let changes = tell(&mut book, Event::Node(NodeId(2), Health::Down));
    assert_eq!(changes, [Change::Health(NodeId(2)), Change::Broken(job)]);
    decide(&mut book, Act::Shrink(job)).unwrap();
    let nodes: Vec<u32> = book.entry(job).held().map(|member| member.node.0).collect();
    assert_eq!((nodes, &book.entry(job).stage), (vec![0, 1], &Stage::Running));
    assert_eq!(book.command(), Some(Command::Resize(job)));
    assert_eq!(book.stand(NodeId(3)).whole_row(), 15, "the rest of the set is free");
    assert_eq!(book.used(QueueId(0)).gpu_milli, 8000);
    // The other set cannot go without the least that the job runs with.
    tell(&mut book, Event::Node(NodeId(0), Health::Down));
    assert_eq!(decide(&mut book, Act::Shrink(job)), Err(Refused::Count(job, 0)));
}

#[test]
fn a_lost_member_is_replaced_within_the_domain_of_its_set() {
    let mut book = book(4, DeviceControl::Exact);
    let within = Within { level: Level::Domain, required: true };
    let group = Group { sets: Some((2, within)), ..Group::rigid("worker", ask(2, 1000), 2) };
    let need = Need { groups: vec![group], within: None };
    let job = run(&mut book, need, &[on(0, 3), on(1, 3)]);
    tell(&mut book, Event::Gpu(NodeId(1), 0, false));
    let replace = |member: Member| Act::Replace(job, vec![(1, member)]);
    assert_eq!(decide(&mut book, replace(on(2, 3))), Err(Refused::Apart(job, Level::Domain)));
    // GPU 1 of that node is free again, GPU 0 is sick.
    assert!(matches!(decide(&mut book, replace(on(1, 3))), Err(Refused::Room(..))));
    let twice = Act::Replace(job, vec![(1, on(0, 12)), (1, on(1, 6))]);
    assert_eq!(decide(&mut book, twice), Err(Refused::Stage(job)));
    let id = decide(&mut book, replace(on(1, 6))).unwrap();
    assert_eq!(tell(&mut book, Event::Bound(id, Outcome::Conflict)), [Change::Broken(job)]);
    assert_eq!(book.entry(job).seats.len(), 2, "it still lacks a member that it needs");
    let id = decide(&mut book, replace(on(0, 12))).unwrap();
    assert_eq!(
        tell(&mut book, Event::Bound(id, Outcome::Done(vec![Gpus::whole(12)]))),
        [Change::Started(job)]
    );
    assert_eq!(masks(&book, job), [3, 12]);
}

#[test]
fn a_failed_replacement_of_the_last_members_does_not_shrink_the_job() {
    let mut book = book(2, DeviceControl::Exact);
    let group = Group { least_count: 1, ..Group::rigid("worker", ask(4, 1000), 2) };
    let job = run(&mut book, Need { groups: vec![group], within: None }, &[on(0, 15), on(1, 15)]);
    tell(&mut book, Event::Crashed(job, vec![1]));
    let id = decide(&mut book, Act::Replace(job, vec![(1, on(1, 15))])).unwrap();
    assert_eq!(tell(&mut book, Event::Bound(id, Outcome::Expired)), [Change::Broken(job)]);
    assert_eq!(book.entry(job).seats.len(), 2);
    decide(&mut book, Act::Shrink(job)).unwrap();
    // A failed growth is forgotten, and the job runs as before.
    let id = decide(&mut book, Act::Grow(job, vec![on(1, 15)])).unwrap();
    assert_eq!(tell(&mut book, Event::Bound(id, Outcome::Conflict)), [Change::Started(job)]);
    assert_eq!(masks(&book, job), [15]);
}

#[test]
fn a_sick_gpu_that_somebody_has_does_not_hide_a_free_one_that_is_well() {
    // kubernetes#92592: the count of allocatable devices fell below that of allocated ones.
    let mut book = book(1, DeviceControl::Exact);
    let job = run(&mut book, need(3, 1), &[on(0, 7)]);
    let changes = tell(&mut book, Event::Gpu(NodeId(0), 1, false));
    assert_eq!(changes, [Change::Health(NodeId(0)), Change::Broken(job)]);
    let single = submit(&mut book, need(1, 1));
    assert!(matches!(decide(&mut book, Act::Start(single, vec![on(0, 2)])), Err(Refused::Room(..))));
    decide(&mut book, Act::Start(single, vec![on(0, 8)])).unwrap();
    // What is beyond the node's GPUs is no GPU.
    assert_eq!(tell(&mut book, Event::Gpu(NodeId(0), 16, false)), []);
    assert_eq!(book.entry(job).seats[0].1, Seat::Lost);
}

#[test]
fn a_queue_does_not_exceed_its_limit_by_replacements_or_promises() {
    let mut book = book(4, DeviceControl::Exact);
    book.queues[0].limit_milli = Some(8000);
    let broken = run(&mut book, need(4, 2), &[on(0, 15), on(1, 15)]);
    tell(&mut book, Event::Node(NodeId(1), Health::Down));
    let other = run(&mut book, need(4, 1), &[on(2, 15)]);
    let replace = Act::Replace(broken, vec![(1, on(3, 15))]);
    assert_eq!(decide(&mut book, replace.clone()), Err(Refused::Quota(broken, QueueId(0))));
    // A place that is promised is on the account before it is free.
    let next = submit(&mut book, need(4, 1));
    decide(&mut book, Act::Transact { job: next, evict: vec![other], then: vec![on(2, 15)] }).unwrap();
    assert_eq!(book.used(QueueId(0)).gpu_milli, 12_000);
    assert_eq!(decide(&mut book, replace), Err(Refused::Quota(broken, QueueId(0))));
    tell(&mut book, Event::Evicted(other));
    assert_eq!(book.used(QueueId(0)).gpu_milli, 8000);
}

#[test]
fn gpus_that_must_be_on_one_numa_node_are() {
    let mut book = book(1, DeviceControl::Exact);
    let job = submit(
        &mut book,
        Need {
            groups: vec![Group::rigid("worker", Ask { one_numa: true, ..ask(2, 1000) }, 1)],
            within: None,
        },
    );
    // GPUs 0 and 1 are on one, 2 and 3 on the other.
    assert!(matches!(decide(&mut book, Act::Start(job, vec![on(0, 6)])), Err(Refused::Room(..))));
    decide(&mut book, Act::Start(job, vec![on(0, 12)])).unwrap();
}

#[test]
fn a_claim_outlives_the_loss_of_a_place_that_the_kubelet_gave_away() {
    // GPU 0 has 500 free, GPU 1 has 300, 2 and 3 are the victim's. A share of 300 is on its way to GPU 1 when another job
    // claims what is left of GPU 0, and the victim's; the kubelet puts the share on GPU 0.
    let mut book = book(1, DeviceControl::NodeOnly);
    let share = |milli| Need { groups: vec![Group::rigid("share", ask(1, milli), 1)], within: None };
    run(&mut book, share(500), &[on(0, 1)]);
    run(&mut book, share(700), &[on(0, 2)]);
    let victim = run(&mut book, need(2, 1), &[on(0, 12)]);
    let coming = submit(&mut book, share(300));
    let id = decide(&mut book, Act::Start(coming, vec![on(0, 2)])).unwrap();
    let groups = vec![Group::rigid("share", ask(1, 500), 1), Group::rigid("pair", ask(2, 1000), 1)];
    let job = submit(&mut book, Need { groups, within: None });
    let then = vec![on(0, 1), Member { group: 1, ..on(0, 12) }];
    decide(&mut book, Act::Transact { job, evict: vec![victim], then }).unwrap();
    assert_eq!(
        book.entry(job).seats.iter().map(|(_, seat)| *seat).collect::<Vec<_>>(),
        [Seat::Held, Seat::Claimed]
    );
    tell(&mut book, Event::Bound(id, Outcome::Done(vec![Gpus::whole(1)])));
    assert_eq!(masks(&book, coming), [1]);
    assert_eq!(book.entry(job).seats[0].1, Seat::Claimed, "there is no room for 500 now, but it may come");
    // When the victim has gone there is still none, so the job waits again, and claims nothing.
    assert_eq!(tell(&mut book, Event::Evicted(victim)), [Change::Waits(victim), Change::Waits(job)]);
    assert!(!book.is_claimed(NodeId(0)) && book.entry(job).seats.is_empty());
    assert_eq!(book.stand(NodeId(0)).whole_row(), 0b1100);
}
