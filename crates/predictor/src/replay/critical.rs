//! What the end of a step waited for: back from the last node, over what each one waited for longest, to the begin.

use std::collections::BTreeMap;

use super::plan::{Plan, Stream, TaskId, Work};
use super::play::Played;
use super::{CriticalTime, Recording, ReplayBar, ReplayLane};

/// A stretch of the way.
struct Part {
    task: TaskId,
    from_s: f64,
    to_s: f64,
}

/// The way, added up by what it consists of, the longest first. Its parts follow each other without gaps, so that
/// together they take as long as the step.
pub(super) fn critical(plan: &Plan, recording: &Recording, played: &Played) -> Vec<CriticalTime> {
    let mut times: BTreeMap<(ReplayLane, Option<usize>, Option<&'static str>), CriticalTime> =
        BTreeMap::new();
    for part in Way::new(plan, played).parts().into_iter().filter(|part| part.to_s > part.from_s) {
        let task = &plan.tasks[part.task];
        let (lane, transfer) = match task.work {
            Work::Nothing => continue,
            Work::Alone(Stream::Compute, _) => (ReplayLane::Compute, None),
            Work::Alone(Stream::Memory, _) => (ReplayLane::Memory, None),
            Work::Alone(Stream::Host, _) => (ReplayLane::Host, None),
            Work::Transfer(transfer) => (ReplayLane::Communication, Some(&plan.transfers[transfer])),
        };
        let operation = transfer.map(|transfer| transfer.operation);
        let group = transfer.map(|transfer| transfer.group);
        let node = &recording.traces[&task.rank].nodes[task.place];
        let (from_s, to_s) = (part.from_s, part.to_s);
        let (node_number, name) = (node.id_number, node.name.to_string());
        let bar = ReplayBar { rank: task.rank, lane, node_number, name, operation, from_s, to_s };
        let time = times.entry((lane, group, operation)).or_insert_with(|| CriticalTime {
            lane,
            operation,
            group: group.and_then(|group| plan.groups[group].name.clone()),
            nodes_count: 0,
            seconds: 0.0,
            longest: bar.clone(),
        });
        time.nodes_count += 1;
        time.seconds += to_s - from_s;
        if to_s - from_s > time.longest.to_s - time.longest.from_s {
            time.longest = bar;
        }
    }
    let mut times: Vec<CriticalTime> = times.into_values().collect();
    times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    times
}

struct Way<'p> {
    plan: &'p Plan,
    played: &'p Played,
    /// What each task waits for.
    before: Vec<Vec<TaskId>>,
    /// What had the stream before each task.
    had: Vec<Option<TaskId>>,
}

impl<'p> Way<'p> {
    fn new(plan: &'p Plan, played: &'p Played) -> Self {
        let mut before = vec![Vec::new(); plan.tasks.len()];
        let mut streams: BTreeMap<(u32, Stream), Vec<TaskId>> = BTreeMap::new();
        for (place, task) in plan.tasks.iter().enumerate() {
            task.next.iter().for_each(|next| before[*next].push(place));
            if let Work::Alone(stream, _) = task.work {
                streams.entry((task.rank, stream)).or_default().push(place);
            }
        }
        let mut had = vec![None; plan.tasks.len()];
        for tasks in streams.values_mut() {
            let key = |task: &TaskId| played.tasks[*task];
            tasks.sort_by(|a, b| {
                let (a, b) = (key(a), key(b));
                a.begin_s.total_cmp(&b.begin_s).then(a.end_s.total_cmp(&b.end_s))
            });
            tasks.windows(2).for_each(|pair| had[pair[1]] = Some(pair[0]));
        }
        Self { plan, played, before, had }
    }

    /// From the last node back to the begin.
    fn parts(&self) -> Vec<Part> {
        let end = |task: &TaskId| self.played.tasks[*task].end_s;
        let mut parts = Vec::new();
        let mut at = latest(0..self.plan.tasks.len(), end);
        while let Some(task) = at {
            at = match self.plan.tasks[task].work {
                Work::Nothing => self.needed(task),
                Work::Alone(..) => {
                    let times = self.played.tasks[task];
                    parts.push(Part { task, from_s: times.begin_s, to_s: times.end_s });
                    if times.begin_s > times.ready_s { self.had[task] } else { self.needed(task) }
                }
                Work::Transfer(transfer) => self.sent(task, transfer, &mut parts),
            };
        }
        parts
    }

    /// What came last of what a task waits for.
    fn needed(&self, task: TaskId) -> Option<TaskId> {
        latest(self.before[task].iter().copied(), |task| self.played.tasks[*task].end_s)
    }

    /// Over a transfer, and over those that it followed, to what the last one of its ranks waited for.
    fn sent(&self, task: TaskId, transfer: usize, parts: &mut Vec<Part>) -> Option<TaskId> {
        if self.played.tasks[task].ready_s >= self.played.transfers[transfer].end_s {
            return self.needed(task);
        }
        let (mut task, mut transfer) = (task, transfer);
        loop {
            let times = self.played.transfers[transfer];
            parts.push(Part { task, from_s: times.begin_s, to_s: times.end_s });
            let planned = &self.plan.transfers[transfer];
            let last = latest(planned.begins.iter().copied(), |task| self.played.tasks[*task].ready_s)?;
            match planned.before.filter(|_| times.begin_s > times.ready_s) {
                Some(before) => (transfer, task) = (before, *self.plan.transfers[before].begins.first()?),
                None => return self.needed(last),
            }
        }
    }
}

/// The first of those that are latest.
fn latest(tasks: impl Iterator<Item = TaskId>, at_s: impl Fn(&TaskId) -> f64) -> Option<TaskId> {
    tasks.max_by(|a, b| at_s(a).total_cmp(&at_s(b)).then(b.cmp(a)))
}
