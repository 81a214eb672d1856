//! Tasks and transfers in virtual time.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use weft_base::Diagnostic;

use super::plan::{Plan, Resource, Stream, TaskId, Transfer, Work, about};
use super::{REPLAY_STUCK, Recording};

/// Of a transfer, what is left over by rounding.
const ROUNDING: f64 = 1e-12;

/// Ranks that wait which a message names.
const TOLD_MAX: usize = 4;

/// When all that was planned happened.
#[derive(Debug)]
pub(super) struct Played {
    /// Of each task: when it could begin, began and was over.
    pub tasks: Vec<Times>,
    /// Of each transfer the same; it could begin when the last one came.
    pub transfers: Vec<Times>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(clippy::struct_field_names, reason = "the unit")]
pub(super) struct Times {
    pub ready_s: f64,
    pub begin_s: f64,
    pub end_s: f64,
}

/// A moment with a total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct At(f64);

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// What goes over the network now.
struct Flow {
    transfer: usize,
    /// Seconds it would still take alone.
    left_s: f64,
    /// Of what it would reach alone.
    rate_share: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    Ready,
    Done,
}

/// Tasks that could run, the first of them on top.
type Open = BinaryHeap<Reverse<TaskId>>;

struct Player<'p> {
    plan: &'p Plan,
    now_s: f64,
    times: Played,
    state: Vec<State>,
    waits: Vec<usize>,
    /// Of each stream who could run, and whether one does.
    streams: BTreeMap<(u32, Stream), (Open, bool)>,
    running: BinaryHeap<Reverse<(At, TaskId)>>,
    /// Of each transfer how many have not come, and whether it is over.
    missing: Vec<usize>,
    over: Vec<bool>,
    after: Vec<Option<usize>>,
    flows: Vec<Flow>,
    loads: BTreeMap<Resource, f64>,
    changed: bool,
}

/// Tasks that never are over.
#[derive(Debug)]
pub(super) struct Stuck {
    /// Those that have all that they need but others.
    come: Vec<TaskId>,
    /// Those that lack something.
    open: Vec<TaskId>,
}

/// Plays all, or gives what never ends.
pub(super) fn play(plan: &Plan) -> Result<Played, Stuck> {
    let mut player = Player::new(plan);
    let free: Vec<TaskId> = (0..plan.tasks.len()).filter(|task| plan.tasks[*task].waits_count == 0).collect();
    for task in free {
        player.ready(task);
    }
    while player.step() {}
    let all = |state: State| (0..plan.tasks.len()).filter(|task| player.state[*task] == state).collect();
    let stuck = Stuck { come: all(State::Ready), open: all(State::Waiting) };
    if stuck.come.is_empty() && stuck.open.is_empty() { Ok(player.times) } else { Err(stuck) }
}

impl<'p> Player<'p> {
    fn new(plan: &'p Plan) -> Self {
        let mut after = vec![None; plan.transfers.len()];
        for (place, transfer) in plan.transfers.iter().enumerate() {
            if let Some(before) = transfer.before {
                after[before] = Some(place);
            }
        }
        Self {
            plan,
            now_s: 0.0,
            times: Played {
                tasks: vec![Times::default(); plan.tasks.len()],
                transfers: vec![Times::default(); plan.transfers.len()],
            },
            state: vec![State::Waiting; plan.tasks.len()],
            waits: plan.tasks.iter().map(|task| task.waits_count).collect(),
            streams: BTreeMap::new(),
            running: BinaryHeap::new(),
            missing: plan.transfers.iter().map(|transfer| transfer.begins.len()).collect(),
            over: vec![false; plan.transfers.len()],
            after,
            flows: Vec::new(),
            loads: BTreeMap::new(),
            changed: false,
        }
    }

    /// A task has all that it waits for.
    fn ready(&mut self, task: TaskId) {
        let mut open = vec![task];
        while let Some(task) = open.pop() {
            self.state[task] = State::Ready;
            self.times.tasks[task].ready_s = self.now_s;
            match self.plan.tasks[task].work {
                Work::Nothing => open.extend(self.done(task, self.now_s)),
                Work::Alone(stream, _) => {
                    let key = (self.plan.tasks[task].rank, stream);
                    self.streams.entry(key).or_default().0.push(Reverse(task));
                    self.run(key);
                }
                Work::Transfer(transfer) => {
                    if self.over[transfer] {
                        open.extend(self.done(task, self.times.transfers[transfer].begin_s));
                        continue;
                    }
                    if self.plan.transfers[transfer].begins.binary_search(&task).is_ok() {
                        self.missing[transfer] -= 1;
                        self.begin(transfer);
                    }
                }
            }
        }
    }

    /// The first of those that could run on a stream runs, if none does.
    fn run(&mut self, key: (u32, Stream)) {
        let Some((open, busy)) = self.streams.get_mut(&key) else { return };
        if *busy {
            return;
        }
        let Some(Reverse(task)) = open.pop() else { return };
        *busy = true;
        self.times.tasks[task].begin_s = self.now_s;
        let Work::Alone(_, seconds) = self.plan.tasks[task].work else { return };
        self.running.push(Reverse((At(self.now_s + seconds), task)));
    }

    /// A transfer goes on its way, if all have come and the one before is over.
    fn begin(&mut self, transfer: usize) {
        let planned = &self.plan.transfers[transfer];
        if self.missing[transfer] > 0 || planned.before.is_some_and(|before| !self.over[before]) {
            return;
        }
        self.times.transfers[transfer].begin_s = self.now_s;
        let come = planned.begins.iter().map(|task| self.times.tasks[*task].ready_s);
        self.times.transfers[transfer].ready_s = come.fold(0.0, f64::max);
        self.flows.push(Flow { transfer, left_s: planned.alone_s, rate_share: 1.0 });
        self.load(planned, 1.0);
    }

    fn load(&mut self, transfer: &Transfer, sign: f64) {
        self.changed = true;
        for (resource, share) in &transfer.loads {
            *self.loads.entry(*resource).or_default() += sign * share;
        }
    }

    /// Where more is asked of a link than it carries, all that use it go slower alike.
    fn share(&mut self) {
        for flow in &mut self.flows {
            let loads = &self.plan.transfers[flow.transfer].loads;
            let used = loads.iter().map(|(resource, _)| self.loads.get(resource).copied().unwrap_or(0.0));
            flow.rate_share = 1.0 / used.fold(1.0, f64::max);
        }
        self.changed = false;
    }

    /// A task is over; gives those that can begin.
    fn done(&mut self, task: TaskId, begin_s: f64) -> Vec<TaskId> {
        self.state[task] = State::Done;
        let times = &mut self.times.tasks[task];
        (times.begin_s, times.end_s) = (begin_s, self.now_s);
        let mut free = Vec::new();
        for next in &self.plan.tasks[task].next {
            self.waits[*next] -= 1;
            if self.waits[*next] == 0 {
                free.push(*next);
            }
        }
        free
    }

    fn finish(&mut self, task: TaskId, begin_s: f64) {
        for next in self.done(task, begin_s) {
            self.ready(next);
        }
    }

    /// The next thing that ends; whether there was one.
    fn step(&mut self) -> bool {
        if self.changed {
            self.share();
        }
        let flow_ends = self.flows.iter().map(|flow| At(self.now_s + flow.left_s / flow.rate_share));
        let flow_end = flow_ends.enumerate().min_by_key(|(_, at)| *at);
        let task_end = self.running.peek().map(|Reverse((at, _))| *at);
        match (flow_end, task_end) {
            (None, None) => false,
            (Some((place, at)), other) if other.is_none_or(|other| at <= other) => {
                self.advance(at.0);
                let flow = self.flows.remove(place);
                self.arrive(flow.transfer);
                true
            }
            (_, _) => {
                let Some(Reverse((at, task))) = self.running.pop() else { return false };
                self.advance(at.0);
                if let Work::Alone(stream, _) = self.plan.tasks[task].work {
                    let key = (self.plan.tasks[task].rank, stream);
                    if let Some((_, busy)) = self.streams.get_mut(&key) {
                        *busy = false;
                    }
                    self.finish(task, self.times.tasks[task].begin_s);
                    self.run(key);
                }
                true
            }
        }
    }

    fn advance(&mut self, to_s: f64) {
        let passed = to_s - self.now_s;
        for flow in &mut self.flows {
            flow.left_s -= passed * flow.rate_share;
            if flow.left_s < ROUNDING * self.plan.transfers[flow.transfer].alone_s {
                flow.left_s = 0.0;
            }
        }
        self.now_s = to_s;
    }

    fn arrive(&mut self, transfer: usize) {
        let planned = &self.plan.transfers[transfer];
        self.over[transfer] = true;
        self.times.transfers[transfer].end_s = self.now_s;
        self.load(planned, -1.0);
        let begin_s = self.times.transfers[transfer].begin_s;
        // The group's next one, before anybody goes on.
        if let Some(next) = self.after[transfer] {
            self.begin(next);
        }
        for task in &planned.ends {
            if self.state[*task] == State::Ready {
                self.finish(*task, begin_s);
            }
        }
    }
}

/// Who waits for whom where a replay does not go on.
pub(super) fn stuck(plan: &Plan, recording: &Recording, stuck: &Stuck) -> Diagnostic {
    let mut words = Vec::new();
    let mut first = None;
    for transfer in &plan.transfers {
        let among = |tasks: &[TaskId]| {
            transfer
                .begins
                .iter()
                .find(|task| tasks.binary_search(task).is_ok())
                .map(|task| &plan.tasks[*task])
        };
        let (Some(task), Some(missing)) = (among(&stuck.come), among(&stuck.open)) else { continue };
        let trace = &recording.traces[&task.rank];
        let node = &trace.nodes[task.place];
        words.push(format!("rank {} waits in node {} for rank {}", task.rank, node.label(), missing.rank));
        first = first.or(Some((trace, node)));
        if words.len() == TOLD_MAX {
            break;
        }
    }
    let count = stuck.come.len() + stuck.open.len();
    let message = format!(
        "the replay does not end: {count} of {} nodes are never over; {}",
        plan.tasks.len(),
        words.join(", ")
    );
    let hint = "all ranks must go into the collectives of their groups in an order that can be";
    match first {
        Some(found) => about(REPLAY_STUCK, found, message, hint),
        None => Diagnostic::error(REPLAY_STUCK, message).hint(hint),
    }
}
