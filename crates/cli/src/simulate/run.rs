//! Plays a scenario and takes down what happens.

use std::collections::BTreeSet;

use weft_base::{Diagnostic, Rate, Span, Time};
use weft_catalogue::Catalogue;
use weft_predictor::SwitchFacts;
use weft_simulator::control::Links;
use weft_simulator::machine::{Machine, add_links};
use weft_simulator::{Engine, Halt, Job, JobId, ResourceId, Session, SessionError, Stage, Usage};
use weft_topology::Topology;

use super::noticing::{DeadLinks, Waiting};
use super::progress::Progress;
use super::report::Report;
use super::setup::{JobSetup, Setup};
use crate::codes::UNPLAYABLE;

/// Steps of all ranks together up to which each step is kept for the critical path.
const MOST_RECORDED: u64 = 4_000_000;
/// Links up to which their use over time is kept.
const MOST_SAMPLED: usize = 100_000;
/// The least distance of samples at first; it doubles as the simulation goes on.
const FIRST_SAMPLE: Span = Span::picoseconds(100_000);
/// Samples of the time that the shortest job needs at least.
const FIRST_SAMPLES: f64 = 128.0;

/// A scenario while it is played.
pub(super) struct Stageplay<'p> {
    pub(super) setup: &'p Setup,
    pub(super) topology: &'p Topology,
    switches: &'p SwitchFacts<'p>,
    pub(super) stages: &'p [Vec<Stage<'p>>],
    pub(super) first: ResourceId,
    pub(super) session: Session<'p>,
    /// Of each job.
    pub(super) attempts: Vec<Attempt>,
    pub(super) happened: Vec<(Time, String)>,
    pub(super) dead: DeadLinks,
    /// Of each job.
    pub(super) waiting: Vec<Waiting>,
    /// Until when that is known.
    pub(super) looked: Time,
}

/// How a job is played: the first time, or after it was begun again.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) job: JobId,
    /// How often it was begun again.
    pub(super) reruns: u32,
    /// The repetitions that were done before it begins.
    pub(super) before: u32,
    /// Links that it knew to be dead when it began, and that still are.
    pub(super) known_dead: BTreeSet<ResourceId>,
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
        let job = play.add(index, 0, setup.jobs[index].start);
        play.attempts.push(Attempt { job, reruns: 0, before: 0, known_dead: BTreeSet::new() });
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
    /// Adds a job without its first stages.
    pub(super) fn add(&mut self, index: usize, skipped: usize, start: Time) -> JobId {
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
            stages: self.stages[index][skipped..].to_vec(),
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
                self.react(until);
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
        let ends = self.attempts.iter().flat_map(|attempt| self.session.finished(attempt.job));
        ends.flatten().count()
    }

    fn ranks(&self) -> usize {
        self.setup.jobs.iter().map(|job| job.gpus.len()).sum()
    }

    fn unplayable(&self, error: &SessionError) -> Diagnostic {
        let SessionError::Impossible { job, reason } = error;
        let name = self
            .attempts
            .iter()
            .position(|attempt| attempt.job == *job)
            .map(|index| &self.setup.jobs[index].name);
        let message = format!("{}: {reason}", name.map_or("a job", String::as_str));
        let hint = "choose GPUs that a network joins, or another algorithm";
        Diagnostic::error(UNPLAYABLE, message).hint(hint)
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
