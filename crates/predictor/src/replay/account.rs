//! Where the step went: by rank and by group.

use std::collections::BTreeMap;

use super::critical::critical;
use super::intervals::{Stretch, length_s, union, without};
use super::plan::{Plan, Stream, Work};
use super::play::Played;
use super::{GroupTime, RankTime, Recording, ReplayBar, ReplayLane, Replayed};

/// Stretches of a rank.
#[derive(Default)]
struct Busy {
    compute: Vec<Stretch>,
    sent: Vec<Stretch>,
    waiting: Vec<Stretch>,
}

pub(super) fn account(plan: &Plan, recording: &Recording, played: &Played) -> Replayed {
    let step_s = played.tasks.iter().map(|times| times.end_s).fold(0.0, f64::max);
    let busy = busy(plan, recording, played);
    let waited = waited_for(plan, played);
    let ranks: Vec<RankTime> =
        busy.iter().map(|(rank, busy)| rank_time(*rank, busy, step_s, &waited)).collect();
    let most = |a: &&RankTime, b: &&RankTime| {
        a.waited_for_s.total_cmp(&b.waited_for_s).then_with(|| b.rank.cmp(&a.rank))
    };
    let slowest = ranks.iter().filter(|rank| rank.waited_for_s > 0.0).max_by(most);
    Replayed {
        step_s,
        slowest_rank: slowest.map(|rank| rank.rank),
        groups: groups(plan, played, &busy),
        critical: critical(plan, recording, played),
        bars: bars(plan, recording, played),
        ranks,
        diagnostics: Vec::new(),
    }
}

fn busy(plan: &Plan, recording: &Recording, played: &Played) -> BTreeMap<u32, Busy> {
    let mut busy: BTreeMap<u32, Busy> =
        recording.traces.keys().map(|rank| (*rank, Busy::default())).collect();
    for (task, times) in plan.tasks.iter().zip(&played.tasks) {
        let own = busy.entry(task.rank).or_default();
        match task.work {
            Work::Nothing | Work::Alone(Stream::Memory | Stream::Host, _) => {}
            Work::Alone(Stream::Compute, _) => own.compute.push((times.begin_s, times.end_s)),
            Work::Transfer(transfer) => {
                let transfer = played.transfers[transfer];
                // What is there before it is asked for costs the receiver nothing.
                own.sent.push((transfer.begin_s.max(times.ready_s), transfer.end_s));
                own.waiting.push((times.ready_s, transfer.begin_s));
            }
        }
    }
    for own in busy.values_mut() {
        own.compute = union(std::mem::take(&mut own.compute));
        own.sent = union(std::mem::take(&mut own.sent));
        own.waiting = union(std::mem::take(&mut own.waiting));
    }
    busy
}

fn rank_time(rank: u32, busy: &Busy, step_s: f64, waited: &BTreeMap<u32, f64>) -> RankTime {
    let compute_s = length_s(&busy.compute);
    let exposed_s = length_s(&without(&busy.sent, &busy.compute));
    let waiting_s = length_s(&without(&without(&busy.waiting, &busy.compute), &busy.sent));
    RankTime {
        rank,
        compute_s,
        exposed_s,
        waiting_s,
        idle_s: (step_s - compute_s - exposed_s - waiting_s).max(0.0),
        communication_s: length_s(&busy.sent),
        waited_for_s: waited.get(&rank).copied().unwrap_or(0.0),
    }
}

/// Who came last to a collective is what the others waited for, since the one before was over.
fn waited_for(plan: &Plan, played: &Played) -> BTreeMap<u32, f64> {
    let mut waited: BTreeMap<u32, f64> = BTreeMap::new();
    for transfer in plan.transfers.iter().filter(|transfer| transfer.begins.len() > 1) {
        let free_s = transfer.before.map_or(0.0, |before| played.transfers[before].end_s);
        let come = |task: &usize| played.tasks[*task].ready_s.max(free_s);
        let Some(last) = transfer.begins.iter().max_by(|a, b| come(a).total_cmp(&come(b))) else { continue };
        let others: f64 = transfer.begins.iter().map(|task| come(last) - come(task)).sum();
        *waited.entry(plan.tasks[*last].rank).or_default() += others;
    }
    waited
}

fn groups(plan: &Plan, played: &Played, busy: &BTreeMap<u32, Busy>) -> Vec<GroupTime> {
    let empty = |group: &super::plan::Group| GroupTime {
        name: group.name.clone(),
        ranks: group.ranks.clone(),
        operations_count: 0,
        bytes: 0,
        seconds: 0.0,
        exposed_s: 0.0,
        hidden_s: 0.0,
        shared_s: 0.0,
    };
    let mut groups: Vec<GroupTime> = plan.groups.iter().map(empty).collect();
    for (transfer, times) in plan.transfers.iter().zip(&played.transfers) {
        let group = &mut groups[transfer.group];
        let seconds = times.end_s - times.begin_s;
        let exposed = transfer.ends.iter().filter_map(|task| busy.get(&plan.tasks[*task].rank));
        let exposed: Vec<f64> =
            exposed.map(|busy| length_s(&without(&[(times.begin_s, times.end_s)], &busy.compute))).collect();
        #[expect(clippy::cast_precision_loss, reason = "ranks are few")]
        let exposed_s = exposed.iter().sum::<f64>() / exposed.len().max(1) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes are positive and fit"
        )]
        let bytes = transfer.bytes as u64;
        group.operations_count += 1;
        group.bytes = group.bytes.saturating_add(bytes);
        group.seconds += seconds;
        group.exposed_s += exposed_s;
        group.hidden_s += (seconds - exposed_s).max(0.0);
        group.shared_s += (seconds - transfer.alone_s).max(0.0);
    }
    groups
}

/// All that took time, in the order of ranks, lanes and time.
fn bars(plan: &Plan, recording: &Recording, played: &Played) -> Vec<ReplayBar> {
    let mut bars = Vec::new();
    for (task, times) in plan.tasks.iter().zip(&played.tasks) {
        let (lane, operation, (from_s, to_s)) = match task.work {
            Work::Nothing => continue,
            Work::Alone(Stream::Compute, _) => (ReplayLane::Compute, None, (times.begin_s, times.end_s)),
            Work::Alone(Stream::Memory, _) => (ReplayLane::Memory, None, (times.begin_s, times.end_s)),
            Work::Alone(Stream::Host, _) => (ReplayLane::Host, None, (times.begin_s, times.end_s)),
            Work::Transfer(transfer) => {
                let sent = played.transfers[transfer];
                let name = plan.transfers[transfer].operation;
                (ReplayLane::Communication, Some(name), (sent.begin_s, sent.end_s))
            }
        };
        if to_s > from_s {
            let node = &recording.traces[&task.rank].nodes[task.place];
            let (node_number, name) = (node.id_number, node.name.to_string());
            bars.push(ReplayBar { rank: task.rank, lane, node_number, name, operation, from_s, to_s });
        }
    }
    let key = |bar: &ReplayBar| (bar.rank, bar.lane);
    bars.sort_by(|a, b| {
        key(a).cmp(&key(b)).then(a.from_s.total_cmp(&b.from_s)).then(a.node_number.cmp(&b.node_number))
    });
    bars
}
