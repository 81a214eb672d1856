//! How a job really is, and the account of its time.

use weft_base::{Moment, Period};

use super::progress::{FULL_SPEED, Progress};
use super::record::{Beat, Fate, GpuTime, Happening, JobRecord, Leave, Spans, Spent, Stay};
use super::setup::Load;
use crate::cluster::{Cluster, NodeId};
use crate::job::Need;
use crate::policy::{End, Member};

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It waits.
    Out,
    /// Its members come up.
    Coming,
    /// It begins, or reads its checkpoint.
    Starting,
    /// It works, or saves.
    Working,
    /// Members are dead, or a link is down.
    Stalled,
    /// It was told to go.
    Leaving,
    /// It has ended.
    Over,
}

/// A member that is on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Here {
    /// Where, with what the kubelet gave it.
    pub member: Member,
    /// Whether it is alive.
    pub lives: bool,
}

/// A stay that has not ended.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    stay: Stay,
    /// Work of its members until now, as GPU time at full speed and as it took.
    done: (f64, f64),
}

/// A job as it really is.
#[derive(Debug)]
pub struct Life {
    pub load: Load,
    pub progress: Progress,
    pub phase: Phase,
    /// Grows with each phase, so that what was to come in an earlier one is passed over.
    pub turn: u32,
    /// Members by number, as far as they are on nodes.
    pub members: Vec<Option<Here>>,
    /// When it can work again, while a link is down.
    pub link_up: Option<Moment>,
    /// Whether what it has done is saved when it leaves.
    pub saves_leaving: bool,
    /// Thousandths of GPUs that the book holds for it.
    pub held_milli: u64,
    /// How often all its members came up from nothing.
    pub begun_count: u32,
    pub is_watched: bool,
    pub beats: Vec<Beat>,
    pub broken_count: u32,
    pub conflict_count: u32,
    pub put_out_count: u32,
    pub start_count: u32,
    pub started: Option<Moment>,
    pub ended: Option<(Moment, End)>,
    /// The speed that it was last told, over that on the ideal placement.
    pub told_share: Option<f64>,
    /// Speed with the members that it has, in parts per million.
    speed: u64,
    /// Until when its time is accounted for.
    since: Moment,
    /// GPUs that it has over those that it wants; members where there are no GPUs.
    share: (u64, u64),
    waiting: Period,
    running: Period,
    spent: Spent,
    /// GPU time of work, however slow.
    worked: GpuTime,
    stays: Vec<Stay>,
    open: Option<Open>,
}

impl Life {
    pub fn new(load: Load, now: Moment, is_watched: bool) -> Self {
        let progress = Progress::new(load.work, load.saves);
        Self {
            progress,
            phase: Phase::Out,
            turn: 0,
            members: Vec::new(),
            link_up: None,
            saves_leaving: false,
            held_milli: 0,
            begun_count: 0,
            is_watched,
            beats: Vec::new(),
            broken_count: 0,
            conflict_count: 0,
            put_out_count: 0,
            start_count: 0,
            started: None,
            ended: None,
            told_share: None,
            speed: 0,
            since: now,
            share: (0, full(&load.job.need)),
            waiting: Period::ZERO,
            running: Period::ZERO,
            spent: Spent::default(),
            worked: GpuTime::default(),
            stays: Vec::new(),
            open: None,
            load,
        }
    }

    pub fn here(&self) -> impl Iterator<Item = (u32, &Here)> {
        (0..).zip(&self.members).filter_map(|(number, here)| here.as_ref().map(|here| (number, here)))
    }

    pub fn all_live(&self) -> bool {
        self.here().all(|(_, here)| here.lives)
    }

    /// Whether its members are on several nodes.
    pub fn spans_nodes(&self) -> bool {
        let mut nodes = self.here().map(|(_, here)| here.member.node);
        nodes.next().is_some_and(|first| nodes.any(|node| node != first))
    }

    pub fn beat(&mut self, at: Moment, what: Happening) {
        if self.is_watched {
            self.beats.push(Beat { at, what });
        }
    }

    /// Accounts for the time until now.
    pub fn account(&mut self, now: Moment) {
        let time = now - self.since;
        self.since = now;
        let held = GpuTime::of(self.held_milli, time);
        match self.phase {
            Phase::Out => self.waiting = self.waiting + time,
            Phase::Coming => self.spent.starting += held,
            Phase::Starting => {
                self.running = self.running + time;
                self.spent.starting += held;
            }
            Phase::Stalled => self.spent.stalled += held,
            Phase::Leaving => self.spent.leaving += held,
            Phase::Over => {}
            Phase::Working => {
                self.running = self.running + time;
                let before = self.progress.kept();
                let step = self.progress.advance(time, self.speed);
                self.worked += GpuTime::of(self.held_milli, step.worked);
                self.spent.saving += GpuTime::of(self.held_milli, step.saving);
                self.note_work(self.progress.kept() - before, step.worked);
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean of speeds")]
    fn note_work(&mut self, gained: u64, worked: Period) {
        if let Some(open) = &mut self.open {
            let (has, wants) = self.share;
            let ideal = gained as f64 / FULL_SPEED as f64 * wants as f64 / has.max(1) as f64;
            open.done = (open.done.0 + ideal, open.done.1 + worked.get() as f64);
        }
    }

    /// It goes on at that share of the speed that it would have on the ideal placement.
    pub fn set_speed(&mut self, speed_share: f64) {
        let (has, wants) = self.share;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a million")]
        let of_ideal = (speed_share.clamp(0.0, 1.0) * 1e6).round() as u64;
        self.speed = (of_ideal.max(1) * has.min(wants)).checked_div(wants).unwrap_or(of_ideal).max(1);
    }

    /// How long it still takes.
    pub fn remaining(&self) -> Option<Period> {
        self.progress.remaining(self.speed)
    }

    /// Its members are up where they are now.
    pub fn stay(&mut self, now: Moment, cluster: &Cluster) -> (Vec<NodeId>, Spans) {
        let members: Vec<Member> = self.here().map(|(_, here)| here.member).collect();
        let ask = |member: &Member| &self.load.job.need.groups[usize::from(member.group)].ask;
        let gpu_milli = members.iter().map(|member| u64::from(ask(member).pod.asked_milli())).sum();
        let member_count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let mut nodes: Vec<NodeId> = members.iter().map(|member| member.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let spans = Spans::of(cluster, &members);
        let has = if self.load.job.need.gpu_milli() > 0 { gpu_milli } else { u64::from(member_count) };
        self.share.0 = has;
        self.leave(now, Leave::Resized);
        let (left, from) = (Leave::Stays, now);
        let stay = Stay {
            from,
            until: now,
            member_count,
            gpu_milli,
            nodes: nodes.clone(),
            spans,
            left,
            speed_ratio: None,
        };
        self.open = Some(Open { stay, done: (0.0, 0.0) });
        (nodes, spans)
    }

    /// It is no longer where it was.
    pub fn leave(&mut self, now: Moment, left: Leave) {
        if let Some(Open { stay, done: (ideal, took) }) = self.open.take() {
            let speed_ratio = (took > 0.0).then(|| ideal / took);
            self.stays.push(Stay { until: now, left, speed_ratio, ..stay });
        }
    }

    /// What became of it.
    pub fn record(mut self, now: Moment, fate: Fate) -> (JobRecord, Vec<Beat>) {
        self.account(now);
        self.leave(now, Leave::Stays);
        let job = &self.load.job;
        let gpu_milli = job.need.gpu_milli();
        let at_full_speed = |work: u64| GpuTime::of(gpu_milli, Period::milliseconds(work / FULL_SPEED));
        let (kept, lost) = (at_full_speed(self.progress.kept()), at_full_speed(self.progress.lost()));
        let spent = Spent { kept, lost, slowed: self.worked - kept - lost, ..self.spent };
        let record = JobRecord {
            name: job.name.clone(),
            queue: job.queue,
            priority: job.priority,
            gpu_milli,
            member_count: job.need.most_count(),
            work: self.load.work,
            submitted: job.submitted,
            started: self.started,
            ended: self.ended.map(|(at, _)| at),
            fate,
            start_count: self.start_count,
            put_out_count: self.put_out_count,
            broken_count: self.broken_count,
            conflict_count: self.conflict_count,
            waiting: self.waiting,
            running: self.running,
            lost: Period::milliseconds(self.progress.lost() / FULL_SPEED),
            spent,
            stays: self.stays,
        };
        (record, self.beats)
    }
}

/// What a job has when it has all that it wants: GPUs, or members where there are no GPUs.
fn full(need: &Need) -> u64 {
    match need.gpu_milli() {
        0 => u64::from(need.most_count()),
        gpu_milli => gpu_milli,
    }
}
