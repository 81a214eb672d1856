//! Takes decisions, if they are possible.

use std::collections::BTreeMap;

use thiserror::Error;
use weft_base::Moment;

use super::{Book, Seat, Stage, Usage};
use crate::cluster::{Level, NodeId};
use crate::job::{JobId, QueueId, Within};
use crate::policy::{Act, Command, Decision, DecisionId, Member, Promise, Reason};
use crate::stand::{Health, Stand, numa_last, numa_mask};

/// Why the book does not take a decision.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// The job is not where such a decision needs it to be.
    #[error("job {} is not in a state for this", .0.0)]
    Stage(JobId),
    /// A member does not fit on its node, or not on those GPUs.
    #[error("a member of job {} does not fit on node {}", .0.0, .1.0)]
    Room(JobId, NodeId),
    /// The node is down, drains, has a claim or a taint, or GPUs of another model.
    #[error("node {} is closed to job {}", .1.0, .0.0)]
    Closed(JobId, NodeId),
    /// Too few or too many members of a group.
    #[error("job {} has the wrong number of members in group {}", .0.0, .1)]
    Count(JobId, u16),
    /// Members have to be together and are not.
    #[error("members of job {} are not in one {}", .0.0, .1.word())]
    Apart(JobId, Level),
    /// The queue has no quota left.
    #[error("queue {} of job {} has no quota left", .1.0, .0.0)]
    Quota(JobId, QueueId),
    /// There is no such node.
    #[error("there is no node {}", .0.0)]
    Nowhere(NodeId),
    /// That job may not be put out.
    #[error("job {} may not be put out", .0.0)]
    Stays(JobId),
}

impl Book {
    /// Takes a decision: what it needs is held from now on, and the driver is told.
    ///
    /// # Errors
    ///
    /// What makes it impossible; nothing has changed then.
    pub fn decide(&mut self, now: Moment, act: Act, why: Vec<Reason>) -> Result<DecisionId, Refused> {
        self.now = self.now.max(now);
        let id = DecisionId(u32::try_from(self.decided_for.len()).unwrap_or(u32::MAX));
        let job = match &act {
            Act::Start(job, members) => self.start(id, *job, members)?,
            Act::Transact { job, evict, then } => self.transact(id, *job, evict, then)?,
            Act::Replace(job, members) => self.replace(id, *job, members)?,
            Act::Shrink(job) => self.shrink(*job)?,
            Act::Grow(job, members) => self.grow(id, *job, members)?,
            Act::Requeue(job) => self.requeue(*job)?,
            Act::Reserve(promise) => self.reserve(promise.clone())?,
            Act::Unreserve => {
                self.promises.list.clear();
                JobId(u32::MAX)
            }
            Act::Drain(node) => {
                self.drain(*node)?;
                JobId(u32::MAX)
            }
        };
        self.decided_for.push(job);
        if self.keeps_decisions {
            self.decisions.push(Decision { id, at: now, act, why });
        }
        Ok(id)
    }

    fn drain(&mut self, node: NodeId) -> Result<(), Refused> {
        let stand = self.stands.get_mut(node.at()).ok_or(Refused::Nowhere(node))?;
        if stand.health == Health::Up {
            stand.health = Health::Draining;
            self.touched.push(node);
        }
        Ok(())
    }

    fn start(&mut self, id: DecisionId, job: JobId, members: &[Member]) -> Result<JobId, Refused> {
        self.waits(job)?;
        self.complete(job, members)?;
        self.within_quota(job, members, &[])?;
        let loosened = self.loosened_count;
        for (number, member) in (0..).zip(members) {
            let fits = self.open(job, member).and_then(|()| self.fits(job, member, self.stand(member.node)));
            if let Err(why) = fits {
                self.release_all(job);
                self.loosened_count = loosened;
                return Err(why);
            }
            self.seat(job, number, *member);
        }
        self.promises.list.retain(|promise| promise.job != job);
        self.bind(id, job);
        Ok(job)
    }

    fn transact(
        &mut self,
        id: DecisionId,
        job: JobId,
        evict: &[JobId],
        then: &[Member],
    ) -> Result<JobId, Refused> {
        self.waits(job)?;
        self.complete(job, then)?;
        for (at, victim) in evict.iter().enumerate() {
            let Some(entry) = self.entries.get(victim.at()) else { return Err(Refused::Stays(*victim)) };
            if *victim == job
                || evict[..at].contains(victim)
                || !entry.job.preemptible
                || !matches!(entry.stage, Stage::Running | Stage::Broken)
            {
                return Err(Refused::Stays(*victim));
            }
        }
        self.within_quota(job, then, evict)?;
        self.fits_without(job, evict, then)?;
        for victim in evict {
            self.entries[victim.at()].stage = Stage::Leaving(Some(job));
            self.commands.push_back(Command::Evict(*victim));
        }
        for (number, member) in (0..).zip(then) {
            self.seat(job, number, *member);
        }
        self.promises.list.retain(|promise| promise.job != job);
        self.entries[job.at()].stage = Stage::Claiming(id, evict.to_vec());
        self.settle(job);
        Ok(job)
    }

    fn replace(&mut self, id: DecisionId, job: JobId, with: &[(u32, Member)]) -> Result<JobId, Refused> {
        let entry = self.entries.get(job.at()).ok_or(Refused::Stage(job))?;
        let lost =
            |number: u32| entry.seats.get(number as usize).is_some_and(|(_, seat)| *seat == Seat::Lost);
        let lost_count = entry.seats.iter().filter(|(_, seat)| *seat == Seat::Lost).count();
        let same = |(at, (number, member)): (usize, &(u32, Member))| {
            let is_first = with[..at].iter().all(|(earlier, _)| earlier != number);
            is_first && lost(*number) && entry.seats[*number as usize].0.group == member.group
        };
        let replaces_all = with.len() == lost_count && with.iter().enumerate().all(same);
        if entry.stage != Stage::Broken || !replaces_all {
            return Err(Refused::Stage(job));
        }
        let before = entry.seats.clone();
        let mut all: Vec<Member> = before.iter().map(|(member, _)| *member).collect();
        for (number, member) in with {
            all[*number as usize] = *member;
        }
        self.complete(job, &all)?;
        let members: Vec<Member> = with.iter().map(|(_, member)| *member).collect();
        self.within_quota(job, &members, &[])?;
        self.add(id, job, with)?;
        self.entries[job.at()].grows = false;
        Ok(job)
    }

    fn grow(&mut self, id: DecisionId, job: JobId, members: &[Member]) -> Result<JobId, Refused> {
        let is_running = self.entries.get(job.at()).is_some_and(|entry| entry.stage == Stage::Running);
        if !is_running || members.is_empty() {
            return Err(Refused::Stage(job));
        }
        let mut all: Vec<Member> = self.entry(job).seats.iter().map(|(member, _)| *member).collect();
        let first = u32::try_from(all.len()).unwrap_or(u32::MAX);
        all.extend(members);
        self.complete(job, &all)?;
        self.within_quota(job, members, &[])?;
        let with: Vec<(u32, Member)> = (first..).zip(members.iter().copied()).collect();
        self.add(id, job, &with)?;
        self.entries[job.at()].grows = true;
        Ok(job)
    }

    /// Seats further members of a job that runs, or none of them.
    fn add(&mut self, id: DecisionId, job: JobId, with: &[(u32, Member)]) -> Result<(), Refused> {
        let (before, loosened) = (self.entry(job).seats.clone(), self.loosened_count);
        for (done, (number, member)) in with.iter().enumerate() {
            let fits = self.open(job, member).and_then(|()| self.fits(job, member, self.stand(member.node)));
            if let Err(why) = fits {
                with[..done].iter().for_each(|(number, _)| self.release(job, *number));
                self.entries[job.at()].seats = before;
                self.loosened_count = loosened;
                return Err(why);
            }
            self.seat(job, *number, *member);
        }
        let numbers = with.iter().map(|(number, _)| *number).collect();
        self.entries[job.at()].stage = Stage::Repairing(id, numbers);
        self.commands.push_back(Command::Bind { decision: id, job, members: with.to_vec() });
        Ok(())
    }

    /// A job that lost members goes on without them, and without those of their sets.
    fn shrink(&mut self, job: JobId) -> Result<JobId, Refused> {
        let entry = self.entries.get(job.at()).ok_or(Refused::Stage(job))?;
        if entry.stage != Stage::Broken {
            return Err(Refused::Stage(job));
        }
        let keep = kept(entry);
        for (group, wanted) in (0_u16..).zip(&entry.job.need.groups) {
            let of = |number: &&u32| entry.seats[**number as usize].0.group == group;
            let left = u32::try_from(keep.iter().filter(of).count()).unwrap_or(u32::MAX);
            if left < wanted.least_count {
                return Err(Refused::Count(job, group));
            }
        }
        for number in self.numbers(job) {
            if !keep.contains(&number) {
                self.release(job, number);
            }
        }
        // Members are numbered anew, as ranks are.
        let entry = &mut self.entries[job.at()];
        let seats = keep.iter().map(|number| entry.seats[*number as usize]).collect::<Vec<_>>();
        entry.seats = seats;
        entry.stage = Stage::Running;
        let nodes: Vec<NodeId> = self.entries[job.at()].seats.iter().map(|(member, _)| member.node).collect();
        for node in &nodes {
            self.residents[node.at()].retain(|(resident, _)| *resident != job);
        }
        for (number, node) in (0..).zip(&nodes) {
            self.residents[node.at()].push((job, number));
        }
        self.commands.push_back(Command::Resize(job));
        Ok(job)
    }

    fn reserve(&mut self, promise: Promise) -> Result<JobId, Refused> {
        let job = promise.job;
        self.waits(job)?;
        if self.promises.list.is_empty() {
            (self.promises.made_at, self.promises.loosened_count) = (self.now, self.loosened_count);
        }
        self.promises.list.retain(|known| known.job != job);
        self.promises.list.push(promise);
        Ok(job)
    }

    fn requeue(&mut self, job: JobId) -> Result<JobId, Refused> {
        let stage = self.entries.get(job.at()).map(|entry| &entry.stage);
        if !matches!(stage, Some(Stage::Running | Stage::Broken)) {
            return Err(Refused::Stage(job));
        }
        self.entries[job.at()].stage = Stage::Leaving(None);
        self.commands.push_back(Command::Evict(job));
        Ok(job)
    }

    fn waits(&self, job: JobId) -> Result<(), Refused> {
        let is_queued = self.entries.get(job.at()).is_some_and(|entry| entry.stage == Stage::Queued);
        if is_queued { Ok(()) } else { Err(Refused::Stage(job)) }
    }

    /// Members of each group are as many as they may be, and together where they have to be.
    fn complete(&self, job: JobId, members: &[Member]) -> Result<(), Refused> {
        let need = &self.entry(job).job.need;
        if let Some(member) = members.iter().find(|member| usize::from(member.group) >= need.groups.len()) {
            return Err(Refused::Count(job, member.group));
        }
        if let Some(member) = members.iter().find(|member| member.node.at() >= self.stands.len()) {
            return Err(Refused::Nowhere(member.node));
        }
        for (number, group) in (0_u16..).zip(&need.groups) {
            let count = members.iter().filter(|member| member.group == number).count();
            if !(group.least_count as usize..=group.most_count as usize).contains(&count) {
                return Err(Refused::Count(job, number));
            }
        }
        self.together(job, members)
    }

    fn together(&self, job: JobId, members: &[Member]) -> Result<(), Refused> {
        let need = &self.entry(job).job.need;
        self.alike(job, members.iter(), need.within)?;
        for (number, group) in (0_u16..).zip(&need.groups) {
            let of: Vec<Member> = members.iter().filter(|member| member.group == number).copied().collect();
            self.alike(job, of.iter(), group.within)?;
            if let Some((size, within)) = group.sets {
                for set in of.chunks((size as usize).max(1)) {
                    self.alike(job, set.iter(), Some(within))?;
                }
            }
        }
        Ok(())
    }

    fn alike<'m>(
        &self,
        job: JobId,
        mut members: impl Iterator<Item = &'m Member>,
        within: Option<Within>,
    ) -> Result<(), Refused> {
        let Some(Within { level, required: true }) = within else { return Ok(()) };
        let Some(first) = members.next() else { return Ok(()) };
        let domain = self.cluster.domain(first.node, level);
        let is_there = members.all(|member| self.cluster.domain(member.node, level) == domain);
        if is_there { Ok(()) } else { Err(Refused::Apart(job, level)) }
    }

    fn within_quota(&self, job: JobId, members: &[Member], evict: &[JobId]) -> Result<(), Refused> {
        let entry = self.entry(job);
        let asked = |member: &Member| u64::from(entry.ask(member).pod.asked_milli());
        let more: u64 = members.iter().map(asked).sum();
        let over = self.exceeded_without(evict, entry.job.queue, more);
        over.map_or(Ok(()), |queue| Err(Refused::Quota(job, queue)))
    }

    /// The node may have members of the job at all.
    fn open(&self, job: JobId, member: &Member) -> Result<(), Refused> {
        let (node, shape) = (&self.cluster.nodes[member.node.at()], self.cluster.shape(member.node));
        let ask = self.entry(job).ask(member);
        let model = ask.pod.gpu_count == 0 || ask.tiers().any(|models| models.holds(shape.kind.model));
        let up = self.stand(member.node).health == Health::Up && !self.is_claimed(member.node);
        if up && model && node.taints.within(ask.tolerates) {
            Ok(())
        } else {
            Err(Refused::Closed(job, member.node))
        }
    }

    fn fits(&self, job: JobId, member: &Member, stand: &Stand) -> Result<(), Refused> {
        let ask = self.entry(job).ask(member);
        let shape = self.cluster.shape(member.node);
        let is_apart = |numa: u8| member.gpus.mask_row & !numa_mask(shape, numa) != 0;
        let is_split = ask.one_numa && (0..=numa_last(shape)).all(is_apart);
        let fits = stand.allows(ask, shape, member.gpus) && !is_split;
        if fits { Ok(()) } else { Err(Refused::Room(job, member.node)) }
    }

    /// All members fit at once where the victims have gone.
    fn fits_without(&self, job: JobId, evict: &[JobId], then: &[Member]) -> Result<(), Refused> {
        let mut stands: BTreeMap<NodeId, Stand> =
            then.iter().map(|member| (member.node, self.stand(member.node).clone())).collect();
        for victim in evict {
            let victim = self.entry(*victim);
            for member in victim.held() {
                if let Some(stand) = stands.get_mut(&member.node) {
                    stand.give(victim.ask(member), self.cluster.shape(member.node), member.gpus);
                }
            }
        }
        for member in then {
            self.open(job, member)?;
            let Some(stand) = stands.get_mut(&member.node) else { continue };
            self.fits(job, member, stand)?;
            stand.take(self.entry(job).ask(member), self.cluster.shape(member.node), member.gpus);
        }
        Ok(())
    }

    /// Gives a member its place, or the promise of it.
    fn seat(&mut self, job: JobId, number: u32, member: Member) {
        let seats = &mut self.entries[job.at()].seats;
        if seats.len() == number as usize {
            seats.push((member, Seat::Lost));
        } else {
            seats[number as usize] = (member, Seat::Lost);
        }
        self.enter(job, number);
        if self.fits(job, &member, self.stand(member.node)).is_ok() {
            self.hold(job, number);
        } else {
            self.entries[job.at()].seats[number as usize].1 = Seat::Claimed;
            self.claim_counts[member.node.at()] += 1;
            self.touched.push(member.node);
        }
    }

    /// Promises a lost seat its place again, for when others have left.
    pub(super) fn promise(&mut self, job: JobId, number: u32) {
        let (member, seat) = &mut self.entries[job.at()].seats[number as usize];
        *seat = Seat::Claimed;
        let node = member.node;
        self.claim_counts[node.at()] += 1;
        self.touched.push(node);
        self.enter(job, number);
    }

    /// Lets a job come up if nothing stands in its way any more.
    pub(super) fn settle(&mut self, job: JobId) {
        let entry = self.entry(job);
        let Stage::Claiming(id, victims) = &entry.stage else { return };
        if victims.is_empty() && entry.seats.iter().all(|(_, seat)| *seat == Seat::Held) {
            self.bind(*id, job);
        }
    }

    fn bind(&mut self, id: DecisionId, job: JobId) {
        let now = self.now;
        let entry = &mut self.entries[job.at()];
        entry.stage = Stage::Binding(id);
        entry.since = now;
        let members = (0..).zip(entry.seats.iter().map(|(member, _)| *member)).collect();
        self.commands.push_back(Command::Bind { decision: id, job, members });
    }
}

/// Numbers of the members that stay when those that were lost go, and with them the rest of their sets.
fn kept(entry: &super::Entry) -> Vec<u32> {
    let mut kept = Vec::new();
    for (number, group) in (0_u16..).zip(&entry.job.need.groups) {
        let of = (0_u32..).zip(&entry.seats).filter(|(_, (member, _))| member.group == number);
        let of: Vec<(u32, Seat)> = of.map(|(number, (_, seat))| (number, *seat)).collect();
        let size = group.sets.map_or(1, |(size, _)| size.max(1) as usize);
        let whole = of.chunks(size).filter(|set| set.iter().all(|(_, seat)| *seat == Seat::Held));
        kept.extend(whole.flatten().map(|(number, _)| *number));
    }
    kept.sort_unstable();
    kept
}

impl Usage {
    /// What all members of a job have or have been promised.
    pub fn of_entry(entry: &super::Entry) -> Self {
        let seated = entry.seats.iter().filter(|(_, seat)| *seat != Seat::Lost).map(|(member, _)| member);
        seated.map(|member| Self::of(&entry.ask(member).pod)).fold(Self::default(), Self::plus)
    }
}
