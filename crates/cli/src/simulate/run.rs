//! Plays a scenario and takes down what happens.

use weft_base::{Bytes, Diagnostic, Rate, Span, Time};
use weft_catalogue::Catalogue;
use weft_predictor::{GraphLimit, SwitchFacts};
use weft_simulator::control::Links;
use weft_simulator::machine::{Machine, add_links, link_at};
use weft_simulator::{Engine, Halt, Job, JobId, ResourceId, Session, SessionError, Stage, Usage};
use weft_topology::Topology;

use super::noticing::{DeadLinks, Waiting};
use super::progress::Progress;
use super::report::{Busy, JobReport, Reached, Report};
use super::scenario::OnFault;
use super::setup::{Change, JobSetup, Setup};
use crate::codes::UNPLAYABLE;

/// Steps of all ranks together up to which each step is kept for the critical path.
const MOST_RECORDED: u64 = 4_000_000;
/// Links up to which their use over time is kept.
const MOST_SAMPLED: usize = 100_000;
/// Ranks up to which the limit of a collective is computed.
const MOST_LIMITED: u32 = 128;
/// The least distance of samples at first; it doubles as the simulation goes on.
const FIRST_SAMPLE: Span = Span::picoseconds(100_000);
/// Samples of the time that the shortest job needs at least.
const FIRST_SAMPLES: f64 = 128.0;

/// A scenario while it is played.
struct Stageplay<'p> {
    setup: &'p Setup,
    topology: &'p Topology,
    switches: &'p SwitchFacts<'p>,
    stages: &'p [Vec<Stage<'p>>],
    first: ResourceId,
    session: Session<'p>,
    /// The job that plays now, and how often it was begun again.
    attempts: Vec<(JobId, u32)>,
    happened: Vec<(Time, String)>,
    dead: DeadLinks,
    /// Of each job.
    waiting: Vec<Waiting>,
    /// Until when that is known.
    looked: Time,
}

/// Plays everything until nothing more happens.
pub fn run(
    setup: &Setup,
    topology: &Topology,
    catalogue: &Catalogue,
    progress: &Progress,
) -> Result<Report, Diagnostic> {
    let switches = SwitchFacts(catalogue);
    let stages: Vec<Vec<Stage<'_>>> = setup.jobs.iter().map(stages_of).collect();
    let mut engine = Engine::new();
    let first = add_links(&mut engine, topology);
    let mut play = Stageplay {
        setup,
        topology,
        switches: &switches,
        stages: &stages,
        first,
        session: Session::new(engine),
        attempts: Vec::new(),
        happened: Vec::new(),
        dead: DeadLinks::default(),
        waiting: vec![Waiting::default(); setup.jobs.len()],
        looked: Time::ZERO,
    };
    if let Some(control) = setup.network.behaviour.control(Links::of(topology, first)) {
        play.session.govern(control);
    }
    for index in 0..setup.jobs.len() {
        let id = play.add(index, setup.jobs[index].start);
        play.attempts.push((id, 0));
    }
    let usage = play.play(progress).map_err(|error| play.unplayable(&error))?;
    Ok(play.report(usage))
}

fn stages_of(job: &JobSetup) -> Vec<Stage<'_>> {
    let once = [Stage::Compute(job.compute), Stage::Play(&job.plan, &job.call)];
    let begin = usize::from(job.compute == Span::ZERO);
    (0..job.repeat).flat_map(|_| once[begin..].to_vec()).collect()
}

impl Stageplay<'_> {
    fn add(&mut self, index: usize, start: Time) -> JobId {
        let (job, behaviour) = (&self.setup.jobs[index], &self.setup.network.behaviour);
        let machine = Machine::new(
            self.topology,
            self.switches,
            self.first,
            job.gpus.clone(),
            (behaviour.choice, behaviour.carriage),
        );
        self.session.add(Job {
            ranks: job.plan.ranks,
            stages: self.stages[index].clone(),
            start,
            router: Box::new(machine),
            recorded: steps_of(job) <= MOST_RECORDED,
        })
    }

    fn play(&mut self, progress: &Progress) -> Result<Option<Usage>, SessionError> {
        let sampled = self.topology.links().len() <= MOST_SAMPLED;
        let every = self.first_sample();
        let mut usage = sampled.then(|| Usage::new(self.session.engine_mut(), every));
        let mut changes = self.setup.changes.iter().peekable();
        let mut quiet = false;
        loop {
            let change = changes.peek().map(|change| change.at).into_iter().chain(self.next_notice()).min();
            if quiet && change.is_none() {
                return Ok(usage);
            }
            // Without samples, some time at a time, so that progress can be shown.
            let due = usage
                .as_ref()
                .map_or_else(|| self.session.engine().now() + Span::picoseconds(100_000_000), Usage::due);
            let until = change.map_or(due, |change| if quiet { change } else { change.min(due) });
            quiet = self.session.run_until(until)? == Halt::Quiet;
            self.look(until);
            progress.show(until, self.done(), self.ranks());
            if let Some(usage) = usage.as_mut() {
                while usage.due() <= until {
                    usage.sample(self.session.engine_mut());
                }
            }
            if change.is_some_and(|change| change <= until) {
                while let Some(change) = changes.next_if(|change| change.at <= until) {
                    self.change(change);
                }
                self.fail_over(until);
                quiet = false;
            }
        }
    }

    /// A share of what any job needs at least: some GPU sends or receives half of the message over all of its links.
    fn first_sample(&self) -> Span {
        let at_least_s = |job: &JobSetup| {
            let links = job.gpus.first().map(|gpu| self.topology.links_from(*gpu));
            let rate: Rate = links.into_iter().flatten().map(|(_, link)| link.capacity).sum();
            job.size.as_f64() / 2.0 / (rate.as_gigabytes() * 1e9)
        };
        let least_s = self.setup.jobs.iter().map(at_least_s).fold(f64::INFINITY, f64::min);
        let share_us = least_s / FIRST_SAMPLES * 1e6;
        if share_us.is_finite() { Span::from_microseconds(share_us).max(FIRST_SAMPLE) } else { FIRST_SAMPLE }
    }

    fn done(&self) -> usize {
        let ends = self.attempts.iter().flat_map(|(job, _)| self.session.finished(*job));
        ends.flatten().count()
    }

    fn ranks(&self) -> usize {
        self.setup.jobs.iter().map(|job| job.gpus.len()).sum()
    }

    /// Sets links, and lets jobs react as they are told to.
    fn change(&mut self, change: &Change) {
        for (link, rate) in &change.links {
            let resource = ResourceId::new(self.first.index() + link.index());
            self.session.set(resource, *rate);
            self.dead.set(resource, *rate, change.at);
        }
        self.happened.push((change.at, change.text.clone()));
        for index in 0..self.setup.jobs.len() {
            let (job, attempts) = self.attempts[index];
            if self.session.took(job).is_some() {
                continue;
            }
            match self.setup.jobs[index].on_fault {
                OnFault::Stall | OnFault::FailOver => {}
                OnFault::Rerun => {
                    if self.session.stalled(job) > 0 {
                        self.session.cancel(job);
                        self.attempts[index] = (self.add(index, change.at), attempts + 1);
                        let name = &self.setup.jobs[index].name;
                        self.happened.push((change.at, format!("{name} begins again")));
                    }
                }
            }
        }
    }

    /// The jobs that fail over and are not done, each with how long it takes to notice.
    fn failing_over(&self) -> Vec<(usize, JobId, Span)> {
        let jobs = self.setup.jobs.iter().zip(&self.attempts).enumerate();
        jobs.filter(|(_, (setup, (job, _)))| {
            setup.on_fault == OnFault::FailOver && self.session.took(*job).is_none()
        })
        .map(|(index, (setup, (job, _)))| (index, *job, setup.notice))
        .collect()
    }

    /// When the next job notices a dead link.
    fn next_notice(&self) -> Option<Time> {
        if self.dead.is_empty() {
            return None;
        }
        let next = |(_, _, notice)| self.dead.next(self.looked, notice);
        self.failing_over().into_iter().filter_map(next).min()
    }

    /// Lets jobs take other ways, around those dead links that they have noticed by now.
    fn fail_over(&mut self, now: Time) {
        for (index, job, notice) in self.failing_over() {
            let waited = self.waiting[index].end(now);
            let noticed = self.dead.noticed(now, notice);
            if waited && !noticed.is_empty() {
                let name = &self.setup.jobs[index].name;
                self.happened.push((now, format!("{name} takes other ways")));
            }
            self.session.reroute_around(job, &noticed);
        }
        self.look(now);
    }

    /// Looks which jobs wait for links that they have not noticed to be dead.
    fn look(&mut self, now: Time) {
        if !self.dead.is_empty() {
            for (index, job, notice) in self.failing_over() {
                let session = &mut self.session;
                let times = (self.looked, now);
                self.waiting[index].look(&self.dead, notice, times, || session.stalled(job) > 0);
            }
        }
        self.looked = now;
    }

    fn unplayable(&self, error: &SessionError) -> Diagnostic {
        let SessionError::Impossible { job, reason } = error;
        let name =
            self.attempts.iter().position(|(id, _)| id == job).map(|index| &self.setup.jobs[index].name);
        let message = format!("{}: {reason}", name.map_or("a job", String::as_str));
        let hint = "choose GPUs that a network joins, or another algorithm";
        Diagnostic::error(UNPLAYABLE, message).hint(hint)
    }

    fn report(mut self, usage: Option<Usage>) -> Report {
        let jobs: Vec<JobReport> = (0..self.setup.jobs.len()).map(|index| self.job(index)).collect();
        let end = jobs.iter().flat_map(|job| job.ends.iter().flatten()).max().copied().unwrap_or_default();
        let busiest = self.busiest(end, usage.as_ref());
        let happened = std::mem::take(&mut self.happened);
        let counts = self.session.counts();
        let network = self.setup.network.model.name();
        let records = self.attempts.iter().map(|(job, _)| self.session.record(*job).cloned()).collect();
        Report {
            network,
            counts,
            jobs,
            end,
            busiest,
            happened,
            records,
            every: usage.map(|usage| usage.every()),
        }
    }

    fn job(&mut self, index: usize) -> JobReport {
        let (id, reruns) = self.attempts[index];
        let job = &self.setup.jobs[index];
        let ends: Vec<Option<Time>> = self.session.finished(id).collect();
        let last = ends.iter().try_fold(Span::ZERO, |last, end| Some(last.max((*end)?)));
        let took = last.map(|last| last - job.start.min(last));
        let name_of = |resource: ResourceId| self.name(resource);
        let critical = self.session.critical_path(id);
        let parts = critical.map(|path| super::report::parts(&path, &name_of, self.session.engine()));
        let limit = (job.plan.ranks <= MOST_LIMITED)
            .then(|| GraphLimit::of_terrain(&job.terrain, job.call.collective))
            .flatten();
        let stalled = self.session.stalled(id);
        JobReport {
            name: job.name.clone(),
            collective: job.call.collective,
            algorithm: job.algorithm,
            judged: job.judged.clone(),
            ranks: job.plan.ranks,
            size: job.size,
            repeat: job.repeat,
            start: job.start,
            took,
            reached: took.and_then(|took| Reached::new(job, took)),
            limit,
            ends,
            reruns,
            stalled,
            noticing: self.waiting[index].total(self.looked),
            critical: parts,
        }
    }

    /// A link in words: `NET3 -> NET9`.
    fn name(&self, resource: ResourceId) -> String {
        link_at(self.topology, self.first, resource).map_or_else(String::new, |link| {
            let link = self.topology.link(link);
            format!("{} -> {}", self.topology.name(link.from), self.topology.name(link.to))
        })
    }

    /// The links that carried the largest share of what they could until the end.
    fn busiest(&mut self, end: Time, usage: Option<&Usage>) -> Vec<Busy> {
        let carried = self.session.engine_mut().carried_bytes();
        let mut shares: Vec<(usize, f64)> = self
            .topology
            .links()
            .map(|(id, link)| {
                let could = link.capacity.as_gigabytes() * 1e9 * end.as_seconds();
                let bytes = carried.get(self.first.index() + id.index()).copied().unwrap_or(0.0);
                (id.index(), if could > 0.0 { bytes / could } else { 0.0 })
            })
            .filter(|(_, share)| *share > 0.0)
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shares
            .into_iter()
            .take(super::report::BUSIEST)
            .map(|(index, share)| {
                let resource = ResourceId::new(self.first.index() + index);
                let over_time = usage.map(|usage| usage.shares(self.session.engine(), resource));
                Busy { name: self.name(resource), share, interval_share: over_time.unwrap_or_default() }
            })
            .collect()
    }
}

/// Steps of all ranks of a job, all repetitions.
fn steps_of(job: &JobSetup) -> u64 {
    let rank = weft_collective::Rank::new(0);
    let of_thread = |phases: &Vec<weft_collective::Phase>| -> u64 {
        phases.iter().filter_map(|phase| phase.at(rank).map(|at| u64::from(phase.movement.steps(&at)))).sum()
    };
    let steps: u64 = job.plan.threads.iter().map(of_thread).sum();
    steps * u64::from(job.plan.ranks) * u64::from(job.repeat)
}

/// What `bytes` in `span` come to.
pub fn bandwidth(bytes: Bytes, span: Span) -> Option<weft_base::Rate> {
    let rate = bytes.as_f64() / span.as_seconds() / 1e9;
    (span > Span::ZERO).then(|| weft_base::Rate::from_gigabytes(rate))
}
