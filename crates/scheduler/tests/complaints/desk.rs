//! A planner at work on a small cluster whose kubelets have ledgers of their own: they may choose other GPUs than the
//! scheduler, refuse pods, take their time to start them and to put them out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weft_base::{Moment, Period};
use weft_scheduler::book::{Book, Queue, Seat, Stage};
use weft_scheduler::cluster::{Cluster, DeviceControl, Joined, Level, NodeId, Shape};
use weft_scheduler::job::{Ask, Group, Job, JobId, Need, QueueId, Within};
use weft_scheduler::policy::{Budget, Command, DecisionId, End, Event, Member, Outcome, Policy as _, Reason};
use weft_scheduler::stand::{Gpus, Health};
use weft_scheduler::{Models, NodeKind, Planner, Pod, Strategy};

/// Rounds of one decision after which a planner is taken to spin.
const ROUNDS_MOST: usize = 10_000;

/// Which of the free GPUs a kubelet gives, where it chooses: the free ones, and those that the scheduler had in mind.
type Choice = fn(u16, Gpus) -> u16;

/// A bind as the kubelets get it.
#[derive(Debug, Clone)]
pub struct Bind {
    pub decision: DecisionId,
    pub job: JobId,
    pub members: Vec<(u32, Member)>,
}

pub struct Desk {
    pub book: Book,
    pub planner: Planner,
    pub now: Moment,
    /// Every bind so far.
    pub binds: Vec<Bind>,
    /// Jobs that were told to leave, in that order.
    pub evictions: Vec<JobId>,
    /// Nodes whose kubelets refuse every pod.
    pub refusing: BTreeSet<NodeId>,
    /// Jobs whose pods every kubelet refuses.
    pub refused: BTreeSet<JobId>,
    /// Whether members stay where they come up until `comes_up` says that they are there.
    pub is_slow_to_start: bool,
    /// Whether jobs that are put out stay until `leaves` says that they have gone.
    pub is_slow_to_leave: bool,
    /// What kubelets give that choose for themselves.
    pub choice: Choice,
    coming: VecDeque<Bind>,
    /// What each kubelet has given to whom.
    pods: BTreeMap<(JobId, u32), Member>,
}

impl Desk {
    pub fn new(strategy: &str, cluster: Cluster) -> Self {
        Self::with_queues(strategy, cluster, Vec::new())
    }

    pub fn with_queues(strategy: &str, cluster: Cluster, queues: Vec<Queue>) -> Self {
        cluster.check().unwrap();
        Self {
            book: Book::new(cluster, queues),
            planner: Planner::new(Strategy::named(strategy).unwrap(), 1),
            now: Moment::ZERO,
            binds: Vec::new(),
            evictions: Vec::new(),
            refusing: BTreeSet::new(),
            refused: BTreeSet::new(),
            is_slow_to_start: false,
            is_slow_to_leave: false,
            choice: |_, asked| asked.mask_row,
            coming: VecDeque::new(),
            pods: BTreeMap::new(),
        }
    }

    pub fn event(&mut self, event: Event) {
        for change in self.book.apply(self.now, event) {
            self.planner.observe(&self.book, change);
        }
        let book = &self.book;
        self.pods.retain(|(job, number), member| {
            let seat = book.entry(*job).seats.get(*number as usize);
            seat.is_some_and(|(held, seat)| held.node == member.node && *seat == Seat::Held)
        });
        self.book.audit().unwrap();
    }

    pub fn submit(&mut self, need: Need) -> JobId {
        self.submit_as(QueueId(0), need, 0, None)
    }

    pub fn submit_important(&mut self, need: Need, priority: i32) -> JobId {
        self.submit_as(QueueId(0), need, priority, None)
    }

    pub fn submit_limited(&mut self, need: Need, limit_s: u64) -> JobId {
        self.submit_as(QueueId(0), need, 0, Some(limit_s))
    }

    pub fn submit_to(&mut self, queue: u32, need: Need) -> JobId {
        self.submit_as(QueueId(queue), need, 0, None)
    }

    pub fn submit_as(&mut self, queue: QueueId, need: Need, priority: i32, limit_s: Option<u64>) -> JobId {
        let id = JobId(u32::try_from(self.book.job_count()).unwrap());
        let job = Job {
            name: format!("job-{}", id.0),
            queue,
            priority,
            submitted: self.now,
            need,
            limit: limit_s.map(seconds),
            preemptible: true,
            traffic: None,
        };
        self.event(Event::Submitted(Box::new(job)));
        id
    }

    /// Submits and decides.
    pub fn start(&mut self, need: Need) -> JobId {
        let job = self.submit(need);
        self.decide();
        job
    }

    /// Decides until nothing more happens.
    pub fn decide(&mut self) {
        for _ in 0..ROUNDS_MOST {
            self.planner.decide(&mut self.book, self.now, Budget::ALL);
            assert!(self.planner.refused().is_empty(), "{:?}", self.planner.refused());
            self.book.audit().unwrap();
            let Some(command) = self.book.command() else { return };
            self.obey(command);
            while let Some(command) = self.book.command() {
                self.obey(command);
            }
        }
        panic!("the planner decides again and again");
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Bind { decision, job, members } => {
                let bind = Bind { decision, job, members };
                self.binds.push(bind.clone());
                if self.is_slow_to_start {
                    self.coming.push_back(bind);
                } else {
                    self.bring_up(bind);
                }
            }
            Command::Evict(job) => {
                self.evictions.push(job);
                if !self.is_slow_to_leave {
                    self.leaves(job);
                }
            }
            Command::Resize(_) => {}
        }
    }

    /// The kubelets start a job's members, or one of them refuses.
    fn bring_up(&mut self, Bind { decision, job, members }: Bind) {
        let is_refused = members.iter().any(|(_, member)| self.refusing.contains(&member.node));
        if is_refused || self.refused.contains(&job) {
            self.event(Event::Bound(decision, Outcome::Conflict));
            return;
        }
        let mut given = Vec::new();
        for (number, member) in members {
            let gpus = self.give(job, member);
            self.pods.insert((job, number), Member { gpus, ..member });
            given.push(gpus);
        }
        self.event(Event::Bound(decision, Outcome::Done(given)));
    }

    fn give(&self, job: JobId, member: Member) -> Gpus {
        let shape = self.book.cluster().shape(member.node);
        let pod = &self.book.entry(job).ask(&member).pod;
        if shape.control == DeviceControl::Exact || pod.gpu_milli < 1000 {
            return member.gpus;
        }
        let all = (0..shape.kind.gpu_count).fold(0_u16, |mask, gpu| mask | 1 << gpu);
        let on_node = self.pods.values().filter(|other| other.node == member.node);
        let sick = self.book.stand(member.node).sick_row;
        let free = on_node.fold(all & !sick, |free, other| free & !other.gpus.mask_row);
        Gpus::whole((self.choice)(free, member.gpus))
    }

    /// The members of a job are up at last.
    pub fn comes_up(&mut self, job: JobId) {
        let at = self.coming.iter().position(|bind| bind.job == job).unwrap();
        let bind = self.coming.remove(at).unwrap();
        self.bring_up(bind);
    }

    /// A job that was put out has gone.
    pub fn leaves(&mut self, job: JobId) {
        self.event(Event::Evicted(job));
    }

    pub fn end(&mut self, job: JobId) {
        self.event(Event::Ended(job, End::Done));
    }

    pub fn health(&mut self, node: u32, health: Health) {
        self.event(Event::Node(NodeId(node), health));
    }

    pub fn gpu(&mut self, node: u32, gpu: u8, is_well: bool) {
        self.event(Event::Gpu(NodeId(node), gpu, is_well));
    }

    /// Lets time pass: jobs end at their limits, and the planner is woken when it asks for it.
    pub fn run_until(&mut self, until_s: u64) {
        self.decide();
        loop {
            let dues = self.book.jobs().filter(|(_, entry)| entry.stage == Stage::Running);
            let end = dues.filter_map(|(_, entry)| entry.due()).min();
            let wake = self.planner.again().map(|wait| self.now + wait);
            let Some(next) = end.into_iter().chain(wake).min().filter(|next| *next <= seconds(until_s))
            else {
                break;
            };
            self.now = next;
            let due = |(_, entry): &(JobId, &weft_scheduler::book::Entry)| {
                entry.stage == Stage::Running && entry.due().is_some_and(|due| due <= next)
            };
            let over: Vec<JobId> = self.book.jobs().filter(due).map(|(job, _)| job).collect();
            for job in over {
                self.end(job);
            }
            self.decide();
        }
        self.now = seconds(until_s);
    }

    pub fn runs(&self, job: JobId) -> bool {
        self.book.entry(job).stage == Stage::Running
    }

    pub fn all_run(&self, jobs: &[JobId]) -> bool {
        jobs.iter().all(|job| self.runs(*job))
    }

    pub fn running(&self, jobs: &[JobId]) -> usize {
        jobs.iter().filter(|job| self.runs(**job)).count()
    }

    /// Whether a job has or is promised nothing at all.
    pub fn has_nothing(&self, job: JobId) -> bool {
        self.book.entry(job).seats.is_empty()
    }

    /// GPUs of the only member of a job, a bit each.
    pub fn mask(&self, job: JobId) -> u16 {
        let held: Vec<&Member> = self.book.entry(job).held().collect();
        assert_eq!(held.len(), 1, "{job:?}");
        held[0].gpus.mask_row
    }

    /// The node of the only member of a job.
    pub fn node(&self, job: JobId) -> u32 {
        let nodes = self.ranks(job);
        assert_eq!(nodes.len(), 1, "{job:?}");
        nodes[0]
    }

    /// The node of each member, by rank.
    pub fn ranks(&self, job: JobId) -> Vec<u32> {
        self.book.entry(job).held().map(|member| member.node.0).collect()
    }

    /// The domains of a level in which a job is.
    pub fn domains(&self, job: JobId, level: Level) -> BTreeSet<u32> {
        self.book.entry(job).held().map(|member| self.book.cluster().domain(member.node, level)).collect()
    }

    /// Why a job waits.
    pub fn why(&mut self, job: JobId) -> Vec<Reason> {
        self.planner.why(&self.book, job)
    }

    /// Whether the scheduler and the kubelets agree on who has what.
    pub fn agrees(&self) -> bool {
        let all = self.book.jobs().flat_map(|(job, entry)| {
            let seats = (0..).zip(&entry.seats).filter(|(_, (_, seat))| *seat == Seat::Held);
            seats.map(move |(number, (member, _))| ((job, number), *member))
        });
        all.collect::<BTreeMap<_, _>>() == self.pods
    }
}

pub fn seconds(count: u64) -> Period {
    Period::milliseconds(count * 1000)
}

/// Nodes of eight GPUs, 96 cores and 1 TiB, which all reach each other; `leaf_node_count` under each leaf.
pub fn switched(node_count: u32, leaf_node_count: u32) -> Cluster {
    Cluster::uniform("H100", kind(8), node_count, leaf_node_count, 4)
}

/// The same with that many nodes in each rack, too.
pub fn racked(node_count: u32, rack_node_count: u32) -> Cluster {
    let mut cluster = switched(node_count, rack_node_count);
    cluster.nodes.iter_mut().for_each(|node| node.site.rack = node.site.leaf);
    cluster
}

/// One node whose GPUs are joined so.
pub fn single(gpu_count: u8, pair: impl Fn(usize, usize) -> u16) -> Cluster {
    let mut cluster = Cluster::uniform("A100", kind(gpu_count), 1, 1, 1);
    cluster.shapes[0].joined = Joined::pairs(gpu_count, pair);
    cluster
}

pub fn kind(gpu_count: u8) -> NodeKind {
    NodeKind { cpu_milli: 96_000, memory_mib: 1 << 20, gpu_count, model: 0 }
}

/// The same nodes where the kubelet chooses GPUs.
pub fn controlled(mut cluster: Cluster, control: DeviceControl) -> Cluster {
    cluster.shapes.iter_mut().for_each(|shape: &mut Shape| shape.control = control);
    cluster
}

pub fn pod(gpu_count: u8) -> Pod {
    Pod { cpu_milli: 1000, memory_mib: 1024, gpu_count, gpu_milli: 1000, models: Models::ANY }
}

/// A part of one GPU.
pub fn share(gpu_milli: u16) -> Pod {
    Pod { gpu_milli, ..pod(1) }
}

/// A pod that needs no GPU.
pub fn host(cpu_milli: u32) -> Pod {
    Pod { cpu_milli, ..pod(0) }
}

pub fn need(groups: Vec<Group>) -> Need {
    Need { groups, within: None }
}

/// Members that only come up together.
pub fn gang(member_count: u32, gpu_count: u8) -> Need {
    need(vec![Group::rigid("worker", Ask::of(pod(gpu_count)), member_count)])
}

/// One pod.
pub fn one(pod: Pod) -> Need {
    need(vec![Group::rigid("pod", Ask::of(pod), 1)])
}

pub fn required(level: Level) -> Within {
    Within { level, required: true }
}

pub fn preferred(level: Level) -> Within {
    Within { level, required: false }
}

pub fn within(need: Need, level: Level) -> Need {
    Need { within: Some(required(level)), ..need }
}

pub fn near(need: Need, level: Level) -> Need {
    Need { within: Some(preferred(level)), ..need }
}

/// As many of the lowest bits as `asked` has.
pub fn lowest(free: u16, asked: Gpus) -> u16 {
    let gpus = Gpus::whole(free).each().take(asked.mask_row.count_ones() as usize);
    gpus.fold(0, |mask, gpu| mask | 1 << gpu)
}

/// As many of the highest bits as `asked` has.
pub fn highest(free: u16, asked: Gpus) -> u16 {
    let all: Vec<usize> = Gpus::whole(free).each().collect();
    let gpus = all.into_iter().rev().take(asked.mask_row.count_ones() as usize);
    gpus.fold(0, |mask, gpu| mask | 1 << gpu)
}

/// Whether every two GPUs of a mask are joined, on the first shape.
pub fn linked(cluster: &Cluster, mask: u16) -> bool {
    let gpus: Vec<usize> = Gpus::whole(mask).each().collect();
    let joined = &cluster.shapes[0].joined.0;
    gpus.iter().all(|a| gpus.iter().all(|b| a == b || joined[*a][*b] > 0))
}
