//! Takes in what happened.

use weft_base::Moment;

use super::{Book, Entry, Seat, Stage};
use crate::cluster::NodeId;
use crate::devices::Chooser;
use crate::job::JobId;
use crate::policy::{Change, DecisionId, End, Event, Outcome};
use crate::stand::{Gpus, Health};

impl Book {
    /// Takes in what happened, and says what it means for jobs. Events about what is no more (a bind of a job that has
    /// ended) are passed over.
    pub fn apply(&mut self, now: Moment, event: Event) -> Vec<Change> {
        self.now = self.now.max(now);
        match event {
            Event::Submitted(job) => {
                let id = JobId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
                self.entries.push(Entry {
                    job: *job,
                    stage: Stage::Queued,
                    seats: Vec::new(),
                    since: now,
                    attained: 0,
                    failed_count: 0,
                    failed_at: Moment::ZERO,
                    refused_on: Vec::new(),
                    evicted_count: 0,
                    grows: false,
                });
                vec![Change::Submitted(id)]
            }
            Event::Bound(decision, outcome) => self.bound(decision, outcome),
            Event::Ended(job, how) => self.ended(job, how),
            Event::Evicted(job) => self.evicted(job),
            Event::Crashed(job, numbers) => self.crashed(job, &numbers),
            Event::Node(node, health) => self.node(node, health),
            Event::Gpu(node, gpu, is_well) => self.gpu(node, gpu, is_well),
        }
    }

    fn bound(&mut self, decision: DecisionId, outcome: Outcome) -> Vec<Change> {
        let Some(job) = self.decided_for.get(decision.0 as usize).copied() else { return Vec::new() };
        let Some(entry) = self.entries.get(job.at()) else { return Vec::new() };
        let numbers: Vec<u32> = match &entry.stage {
            Stage::Binding(id) if *id == decision => self.numbers(job).collect(),
            Stage::Repairing(id, numbers) if *id == decision => numbers.clone(),
            Stage::Binding(_)
            | Stage::Repairing(..)
            | Stage::Queued
            | Stage::Claiming(..)
            | Stage::Running
            | Stage::Broken
            | Stage::Leaving(_)
            | Stage::Ended(_) => return Vec::new(),
        };
        match outcome {
            Outcome::Done(actual) => {
                let actual: Vec<(u32, Gpus)> = numbers.into_iter().zip(actual).collect();
                self.confirm(job, &actual);
                let unfit: Vec<u32> =
                    actual.iter().filter(|at| self.is_unfit(job, **at)).map(|at| at.0).collect();
                if unfit.is_empty() {
                    let entry = &mut self.entries[job.at()];
                    entry.failed_count = 0;
                    entry.refused_on.clear();
                } else {
                    self.refused(job, &unfit);
                }
                self.goes_on(job)
            }
            Outcome::Conflict | Outcome::Expired => self.failed(job, &numbers),
        }
    }

    /// A job whose members are up runs, unless some are lost.
    fn goes_on(&mut self, job: JobId) -> Vec<Change> {
        let now = self.now;
        let entry = &mut self.entries[job.at()];
        if entry.seats.iter().any(|(_, seat)| *seat == Seat::Lost) {
            entry.stage = Stage::Broken;
            return vec![Change::Broken(job)];
        }
        if matches!(entry.stage, Stage::Binding(_)) {
            entry.since = now;
        }
        entry.stage = Stage::Running;
        vec![Change::Started(job)]
    }

    /// Whether a member came up with GPUs that are well but cannot be its: too few, or another's.
    fn is_unfit(&self, job: JobId, (number, gpus): (u32, Gpus)) -> bool {
        let (member, seat) = self.entry(job).seats[number as usize];
        let stand = &self.stands[member.node.at()];
        let is_well = stand.health != Health::Down && stand.sick_row & gpus.mask_row == 0;
        seat == Seat::Lost && is_well
    }

    /// Remembers that members did not come up where they were to.
    fn refused(&mut self, job: JobId, numbers: &[u32]) {
        let now = self.now;
        let entry = &mut self.entries[job.at()];
        entry.failed_count += 1;
        entry.failed_at = now;
        entry.refused_on.extend(numbers.iter().map(|number| entry.seats[*number as usize].0.node));
        entry.refused_on.sort_unstable();
        entry.refused_on.dedup();
    }

    fn failed(&mut self, job: JobId, numbers: &[u32]) -> Vec<Change> {
        self.refused(job, numbers);
        if matches!(self.entries[job.at()].stage, Stage::Binding(_)) {
            return self.wait_again(job);
        }
        for number in numbers {
            self.release(job, *number);
        }
        // Members that were to come in addition are forgotten; those that were to replace others are still lost.
        let entry = &mut self.entries[job.at()];
        if entry.grows {
            entry.seats.truncate(numbers.iter().min().map_or(0, |number| *number as usize));
        }
        self.goes_on(job)
    }

    fn ended(&mut self, job: JobId, how: End) -> Vec<Change> {
        let stage = self.entry(job).stage.clone();
        if matches!(stage, Stage::Ended(_)) {
            return Vec::new();
        }
        self.promises.list.retain(|promise| promise.job != job);
        let mut changes = self.leave(job, stage);
        self.entries[job.at()].stage = Stage::Ended(how);
        changes.insert(0, Change::Ended(job));
        changes
    }

    fn evicted(&mut self, job: JobId) -> Vec<Change> {
        let stage = self.entry(job).stage.clone();
        if !matches!(stage, Stage::Leaving(_)) {
            return Vec::new();
        }
        self.entries[job.at()].evicted_count += 1;
        let mut changes = self.leave(job, stage);
        self.entries[job.at()].stage = Stage::Queued;
        changes.insert(0, Change::Waits(job));
        changes
    }

    /// A job gives back all that it has, and the one that waits for that gets it.
    fn leave(&mut self, job: JobId, stage: Stage) -> Vec<Change> {
        match stage {
            Stage::Claiming(_, victims) => self.forget(&victims),
            Stage::Leaving(Some(by)) => {
                if let Stage::Claiming(_, victims) = &mut self.entries[by.at()].stage {
                    victims.retain(|victim| *victim != job);
                }
            }
            Stage::Leaving(None)
            | Stage::Queued
            | Stage::Binding(_)
            | Stage::Running
            | Stage::Repairing(..)
            | Stage::Broken
            | Stage::Ended(_) => {}
        }
        let (nodes, now) = (self.nodes(job), self.now);
        let entry = &mut self.entries[job.at()];
        entry.attained = entry.attained_until(now);
        self.release_all(job);
        self.fulfil(&nodes);
        if let Stage::Leaving(Some(by)) = self.entry(job).stage { self.arrive(by) } else { Vec::new() }
    }

    /// A job whose victims may all have left comes up. If a kubelet has given its GPUs to another, it takes others of the
    /// same node, or waits again.
    fn arrive(&mut self, job: JobId) -> Vec<Change> {
        let is_free = matches!(&self.entry(job).stage, Stage::Claiming(_, victims) if victims.is_empty());
        if !is_free {
            return Vec::new();
        }
        for number in self.numbers(job) {
            let (member, seat) = self.entry(job).seats[number as usize];
            if seat == Seat::Claimed {
                self.release(job, number);
                self.seat_elsewhere(job, number, member.node);
            }
        }
        if self.entry(job).seats.iter().all(|(_, seat)| *seat == Seat::Held) {
            self.settle(job);
            return Vec::new();
        }
        self.wait_again(job)
    }

    /// A claim falls.
    fn wait_again(&mut self, job: JobId) -> Vec<Change> {
        let nodes = self.nodes(job);
        self.release_all(job);
        self.entries[job.at()].stage = Stage::Queued;
        self.fulfil(&nodes);
        vec![Change::Waits(job)]
    }

    /// Jobs that leave do so for nobody any more.
    fn forget(&mut self, victims: &[JobId]) {
        for victim in victims {
            if let Stage::Leaving(by) = &mut self.entries[victim.at()].stage {
                *by = None;
            }
        }
    }

    fn nodes(&self, job: JobId) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.entry(job).seats.iter().map(|(member, _)| member.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Keeps promises on nodes where room came free.
    fn fulfil(&mut self, nodes: &[NodeId]) {
        for node in nodes.iter().filter(|node| self.claim_counts[node.at()] > 0).copied().collect::<Vec<_>>()
        {
            for (job, number) in self.residents[node.at()].clone() {
                let (member, seat) = self.entry(job).seats[number as usize];
                let stand = &self.stands[node.at()];
                let fits =
                    || stand.allows(self.entry(job).ask(&member), self.cluster.shape(node), member.gpus);
                if seat == Seat::Claimed && fits() {
                    self.claim_counts[node.at()] -= 1;
                    self.loosened_count += 1;
                    self.hold(job, number);
                    self.settle(job);
                }
            }
        }
    }

    fn node(&mut self, node: NodeId, health: Health) -> Vec<Change> {
        self.stands[node.at()].health = health;
        self.touched.push(node);
        let mut changes = vec![Change::Health(node)];
        match health {
            Health::Up => self.loosened_count += 1,
            Health::Draining => {}
            Health::Down => {
                let all = self.residents[node.at()].clone();
                changes.extend(self.lose(&all));
            }
        }
        changes
    }

    fn gpu(&mut self, node: NodeId, gpu: u8, is_well: bool) -> Vec<Change> {
        let Some(bit) = 1_u16.checked_shl(u32::from(gpu)) else { return Vec::new() };
        let stand = &mut self.stands[node.at()];
        self.touched.push(node);
        let mut changes = vec![Change::Health(node)];
        if is_well {
            stand.sick_row &= !bit;
            self.loosened_count += 1;
            return changes;
        }
        stand.sick_row |= bit;
        let residents = self.residents[node.at()].iter();
        let has = |(job, number): &&(JobId, u32)| {
            self.entry(*job).seats[*number as usize].0.gpus.mask_row & bit != 0
        };
        let hit: Vec<(JobId, u32)> = residents.filter(has).copied().collect();
        changes.extend(self.lose(&hit));
        changes
    }

    /// Members that were up, or came up, have died.
    fn crashed(&mut self, job: JobId, numbers: &[u32]) -> Vec<Change> {
        let entry = self.entry(job);
        let is_up = |number: &&u32| {
            entry.is_on() && entry.seats.get(**number as usize).is_some_and(|(_, seat)| *seat == Seat::Held)
        };
        let hit: Vec<(JobId, u32)> = numbers.iter().filter(is_up).map(|number| (job, *number)).collect();
        self.lose(&hit)
    }

    /// Members lose their places.
    fn lose(&mut self, hit: &[(JobId, u32)]) -> Vec<Change> {
        let mut changes = Vec::new();
        for (job, number) in hit {
            match self.entry(*job).stage.clone() {
                Stage::Claiming(_, victims) => {
                    self.forget(&victims);
                    changes.extend(self.wait_again(*job));
                }
                Stage::Running => {
                    self.release(*job, *number);
                    self.entries[job.at()].stage = Stage::Broken;
                    changes.push(Change::Broken(*job));
                }
                Stage::Binding(_) | Stage::Repairing(..) | Stage::Broken | Stage::Leaving(_) => {
                    self.release(*job, *number);
                }
                // They have no members.
                Stage::Queued | Stage::Ended(_) => {}
            }
        }
        changes
    }

    /// Members are up, with these GPUs.
    fn confirm(&mut self, job: JobId, actual: &[(u32, Gpus)]) {
        let differs = |(number, gpus): &&(u32, Gpus)| {
            let (member, seat) = self.entry(job).seats[*number as usize];
            let is_down = self.stands[member.node.at()].health == Health::Down;
            !is_down && (seat != Seat::Held || member.gpus != *gpus)
        };
        let moved: Vec<(u32, Gpus)> = actual.iter().filter(differs).copied().collect();
        for (number, _) in &moved {
            self.release(job, *number);
        }
        let mut displaced = Vec::new();
        for (number, gpus) in moved {
            displaced.extend(self.displace((job, number), gpus));
            self.seat_again(job, number, gpus);
        }
        for (other, number) in displaced {
            let node = self.entry(other).seats[number as usize].0.node;
            self.seat_elsewhere(other, number, node);
            let entry = self.entry(other);
            let is_claiming = matches!(entry.stage, Stage::Claiming(..));
            if is_claiming && entry.seats[number as usize].1 == Seat::Lost {
                self.promise(other, number);
            }
        }
    }

    /// Gives a lost seat other GPUs of its node, if there are any.
    fn seat_elsewhere(&mut self, job: JobId, number: u32, node: NodeId) {
        let member = self.entry(job).seats[number as usize].0;
        let (shape, shape_row) = (self.cluster.shape(node), self.cluster.nodes[node.at()].shape);
        let ask = self.entry(job).ask(&member);
        if let Some(gpus) = Chooser::default().choose((shape, shape_row), &self.stands[node.at()], ask, None)
        {
            self.seat_again(job, number, gpus);
        }
    }

    /// Members that are not up yet make way on those GPUs, as far as need be: the kubelet has given them to another.
    fn displace(&mut self, (job, number): (JobId, u32), gpus: Gpus) -> Vec<(JobId, u32)> {
        let node = self.entry(job).seats[number as usize].0.node;
        let is_coming = |other: &Entry, number: u32| match &other.stage {
            Stage::Claiming(..) | Stage::Binding(_) => true,
            Stage::Repairing(_, numbers) => numbers.contains(&number),
            Stage::Queued | Stage::Running | Stage::Broken | Stage::Leaving(_) | Stage::Ended(_) => false,
        };
        let is_in_the_way = |(other, number): &&(JobId, u32)| {
            let entry = self.entry(*other);
            let (member, seat) = entry.seats[*number as usize];
            let meets = member.gpus.mask_row & gpus.mask_row != 0;
            *other != job && seat == Seat::Held && meets && is_coming(entry, *number)
        };
        let way: Vec<(JobId, u32)> =
            self.residents[node.at()].iter().filter(is_in_the_way).copied().collect();
        let mut displaced = Vec::new();
        for (other, at) in way {
            let ask = self.entry(job).ask(&self.entry(job).seats[number as usize].0);
            if self.stands[node.at()].allows(ask, self.cluster.shape(node), gpus) {
                break;
            }
            self.release(other, at);
            displaced.push((other, at));
        }
        displaced
    }

    /// Gives a lost seat those GPUs of its node, if they are free.
    fn seat_again(&mut self, job: JobId, number: u32, gpus: Gpus) {
        let member = self.entry(job).seats[number as usize].0;
        let stand = &self.stands[member.node.at()];
        if stand.allows(self.entry(job).ask(&member), self.cluster.shape(member.node), gpus) {
            self.entries[job.at()].seats[number as usize].0.gpus = gpus;
            self.enter(job, number);
            self.hold(job, number);
        }
    }
}
