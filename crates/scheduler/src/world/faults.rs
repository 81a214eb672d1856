//! Things break, the scheduler hears of it, and they are well again.

use std::collections::BTreeMap;

use weft_base::Period;
use weft_reliability::{Action, class};

use super::fault::Trouble;
use super::life::Phase;
use super::record::{Happening, Leave};
use super::truth::{Harm, News};
use super::{Item, World};
use crate::cluster::{Level, NodeId};
use crate::fleet::GPUS_MOST;
use crate::job::JobId;
use crate::policy::Event;

/// Members of jobs: job and number.
type Members = Vec<(JobId, u32)>;

impl World {
    pub(super) fn strike(&mut self, number: usize) {
        let fault = self.setup.faults[number];
        for (node, harm) in self.harms(fault.what) {
            self.truth.machines[node.at()].harm(harm, true);
        }
        let is_short = fault.lasts <= self.setup.lethal_flap;
        match fault.what {
            Trouble::Flap(node) if is_short => {
                let until = self.now + fault.lasts;
                self.spanning(node).into_iter().for_each(|(job, _)| self.pause(job, until));
            }
            Trouble::Node(_)
            | Trouble::Gpu(..)
            | Trouble::Nic(_)
            | Trouble::Flap(_)
            | Trouble::Leaf(_)
            | Trouble::Rack(_)
            | Trouble::Crash(..) => {
                let hit = self.struck(fault.what);
                self.kill(&hit, Some(fault.what));
                self.agenda.add(self.now + self.setup.latencies.detection, Item::Detect(number));
            }
        }
    }

    /// What a fault takes of which nodes.
    fn harms(&self, what: Trouble) -> Vec<(NodeId, Harm)> {
        let all = |level: Level, domain: u32, harm: Harm| {
            let cluster = self.book.cluster();
            let inside = cluster.ids().filter(move |node| cluster.domain(*node, level) == domain);
            inside.map(|node| (node, harm)).collect::<Vec<_>>()
        };
        match what {
            Trouble::Node(node) => vec![(node, Harm::Down)],
            Trouble::Nic(node) => vec![(node, Harm::Cut)],
            Trouble::Leaf(leaf) => all(Level::Leaf, leaf, Harm::Cut),
            Trouble::Rack(rack) => all(Level::Rack, rack, Harm::Down),
            Trouble::Flap(_) | Trouble::Crash(..) => Vec::new(),
            Trouble::Gpu(node, gpu, xid) => match xid.and_then(class).map(weft_reliability::Class::action) {
                Some(Action::RestartJob) => Vec::new(),
                None | Some(Action::ResetGpu) => vec![(node, Harm::Sick(gpu))],
                // Others may stay until they are done; nothing new comes before the host has been restarted and tested.
                Some(Action::RestartNode | Action::Drain) => {
                    vec![(node, Harm::Sick(gpu)), (node, Harm::Drain)]
                }
            },
        }
    }

    /// Members that die of a fault.
    fn struck(&self, what: Trouble) -> Members {
        match what {
            Trouble::Gpu(node, gpu, _) | Trouble::Crash(node, gpu) => self.on_gpu(node, gpu),
            Trouble::Flap(node) | Trouble::Nic(node) => self.spanning(node),
            Trouble::Node(_) | Trouble::Leaf(_) | Trouble::Rack(_) => {
                let of = |(node, harm): (NodeId, Harm)| match harm {
                    Harm::Cut => self.spanning(node),
                    Harm::Down | Harm::Sick(_) | Harm::Drain => self.node_members(node),
                };
                self.harms(what).into_iter().flat_map(of).collect()
            }
        }
    }

    fn on_gpu(&self, node: NodeId, gpu: u8) -> Members {
        let has = |(job, number): &(JobId, u32)| {
            let here = self.lives[job.at()].members.get(*number as usize).and_then(Option::as_ref);
            usize::from(gpu) < GPUS_MOST && here.is_some_and(|here| here.member.gpus.mask_row >> gpu & 1 == 1)
        };
        self.node_members(node).into_iter().filter(has).collect()
    }

    /// Members on a node of jobs that need its network.
    fn spanning(&self, node: NodeId) -> Members {
        let spans = |(job, _): &(JobId, u32)| self.lives[job.at()].spans_nodes();
        self.node_members(node).into_iter().filter(spans).collect()
    }

    /// Members of a job that cannot reach the others, if there are such.
    pub(super) fn cut_members(&self, job: JobId) -> Option<Members> {
        let life = &self.lives[job.at()];
        let is_cut = |node: NodeId| !self.truth.machines[node.at()].is_reached();
        let cut: Members = life
            .here()
            .filter(|(_, here)| is_cut(here.member.node))
            .map(|(number, _)| (job, number))
            .collect();
        (!cut.is_empty() && life.spans_nodes()).then_some(cut)
    }

    /// Members are dead from now on, and their jobs stand still.
    fn kill(&mut self, hit: &[(JobId, u32)], what: Option<Trouble>) {
        let mut jobs: Vec<JobId> = Vec::new();
        for (job, number) in hit {
            if let Some(here) = &mut self.lives[job.at()].members[*number as usize] {
                here.lives = false;
                jobs.push(*job);
            }
        }
        jobs.sort_unstable();
        jobs.dedup();
        for job in jobs {
            self.hit(job, what);
        }
    }

    /// Members die by themselves; the scheduler hears of it later.
    pub(super) fn crash(&mut self, job: JobId, hit: &[(JobId, u32)]) {
        self.kill(hit, None);
        self.agenda.add(self.now + self.setup.latencies.detection, Item::Crashed(job));
    }

    /// A job stands still, since a member of it is dead or was never there.
    pub(super) fn hit(&mut self, job: JobId, what: Option<Trouble>) {
        match self.lives[job.at()].phase {
            Phase::Out | Phase::Coming | Phase::Over => {}
            Phase::Leaving => self.lives[job.at()].saves_leaving = false,
            Phase::Starting | Phase::Working | Phase::Stalled => {
                self.stop(job);
                let life = &mut self.lives[job.at()];
                life.account(self.now);
                life.link_up = None;
                let lost = life.progress.fall_back();
                life.leave(self.now, Leave::Broke);
                if let Some(trouble) = what {
                    life.beat(self.now, Happening::Hit { trouble, lost });
                }
                self.enter(job, Phase::Stalled);
            }
        }
    }

    pub(super) fn detect(&mut self, number: usize) {
        let fault = self.setup.faults[number];
        let harms = self.harms(fault.what);
        for (node, harm) in &harms {
            self.tell(*node, *harm, true);
        }
        // Those that died without a reason that the scheduler sees, and whoever else is found dead there.
        let nodes = match fault.what {
            Trouble::Node(node)
            | Trouble::Gpu(node, ..)
            | Trouble::Nic(node)
            | Trouble::Flap(node)
            | Trouble::Crash(node, _) => vec![node],
            Trouble::Leaf(_) | Trouble::Rack(_) => harms.iter().map(|(node, _)| *node).collect(),
        };
        let there = nodes.into_iter().flat_map(|node| self.node_members(node));
        let dead = there.filter(|(job, number)| self.is_dead(*job, *number)).collect();
        self.tell_crashed(dead);
        if !harms.is_empty() {
            let well_at = (fault.at + fault.lasts).max(self.now + Period::milliseconds(1));
            self.agenda.add(well_at, Item::Mend(number));
        }
    }

    fn is_dead(&self, job: JobId, number: u32) -> bool {
        let here = self.lives[job.at()].members.get(number as usize).and_then(Option::as_ref);
        here.is_some_and(|here| !here.lives)
    }

    /// The scheduler hears of the dead members of a job.
    pub(super) fn tell_dead(&mut self, job: JobId) {
        let count = u32::try_from(self.lives[job.at()].members.len()).unwrap_or(u32::MAX);
        let dead = (0..count).filter(|number| self.is_dead(job, *number)).map(|number| (job, number));
        self.tell_crashed(dead.collect());
    }

    /// The scheduler hears that members have died that it still counts.
    fn tell_crashed(&mut self, dead: Members) {
        let mut by_job: BTreeMap<JobId, Vec<u32>> = BTreeMap::new();
        for (job, number) in dead {
            by_job.entry(job).or_default().push(number);
        }
        for (job, numbers) in by_job {
            self.apply(Event::Crashed(job, numbers));
            self.follow(job);
        }
    }

    pub(super) fn mend(&mut self, number: usize) {
        for (node, harm) in self.harms(self.setup.faults[number].what) {
            self.truth.machines[node.at()].harm(harm, false);
            self.tell(node, harm, false);
        }
    }

    fn tell(&mut self, node: NodeId, harm: Harm, begins: bool) {
        let Some(news) = self.truth.machines[node.at()].tell(harm, begins) else { return };
        let there = self.node_members(node);
        match news {
            News::Node(health) => self.apply(Event::Node(node, health)),
            News::Gpu(gpu, is_well) => self.apply(Event::Gpu(node, gpu, is_well)),
        };
        let mut jobs: Vec<JobId> = there.into_iter().map(|(job, _)| job).collect();
        jobs.sort_unstable();
        jobs.dedup();
        for job in jobs {
            self.follow(job);
        }
    }
}
