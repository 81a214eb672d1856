//! Which algorithm is the quickest on a machine, where a scenario names none: those that suit are played.

use weft_base::{Span, Time};
use weft_collective::{ALGORITHMS, Algorithm, Call, Plan, Rank, Terrain};
use weft_simulator::control::Links;
use weft_simulator::machine::{Facts, Machine, add_links};
use weft_simulator::network::Behaviour;
use weft_simulator::{Engine, Halt, Job, Session, Stage};
use weft_topology::{NodeId, Topology};

/// Messages of all ranks up to which a plan is played to judge it. It lets an all-to-all of 1,024 ranks pass.
const MOST_MESSAGES: u64 = 1_100_000;
/// Messages of all plans together that are played to judge them.
const MOST_TOGETHER: u64 = 3_000_000;
/// Threads of a rank above which messages count more: so many more are under way at once and share links.
const FEW_THREADS: u64 = 16;
/// How many times as long as the quickest a plan is played before it is given up.
pub const PATIENCE: u64 = 2;

/// How the algorithms that suit compare, all names in the order of `ALGORITHMS` where nothing else is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    /// What plans take that take at most [`PATIENCE`] times as long as the quickest, which comes first.
    pub times: Vec<(&'static str, Span)>,
    /// Those that take longer.
    pub slower: Vec<&'static str>,
    /// Those that would take too long to be made and played for that.
    pub unplayed: Vec<&'static str>,
}

/// Where plans are played: a machine alone, without faults.
pub struct Arena<'a> {
    pub topology: &'a Topology,
    pub facts: &'a dyn Facts,
    pub behaviour: &'a Behaviour,
    pub gpus: &'a [NodeId],
}

/// An algorithm that suits.
struct Candidate {
    algorithm: &'static dyn Algorithm,
    /// Made only when it is played, where it takes long to make.
    plan: Option<Plan>,
    /// Of all ranks, as far as two stand for all, times what their threads make of them. Before the plan is made, what
    /// it has at least, and as many as could be played while it is made.
    messages: u64,
    took: Took,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Took {
    Span(Span),
    /// More than [`PATIENCE`] times as long as another.
    Longer,
    /// It was not played.
    Unknown,
    /// It cannot be played here.
    Never,
}

/// The quickest algorithm that suits, of equal ones the first; with its plan and the others. Where none can be judged,
/// the one with the fewest messages; `None` where none suits.
///
/// Plans with few messages come first, so that those with many are soon given up.
pub fn choose(
    arena: &Arena<'_>,
    call: &Call,
    terrain: &Terrain,
) -> Option<(&'static dyn Algorithm, Plan, Judged)> {
    let mut candidates: Vec<Candidate> = ALGORITHMS
        .iter()
        .copied()
        .filter(|algorithm| algorithm.suits(call, terrain).is_ok())
        .map(|algorithm| Candidate::new(algorithm, call, terrain))
        .collect();
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|index| candidates[*index].messages);
    let (mut best, mut played) = (None::<Span>, 0);
    for index in &order {
        let candidate = &mut candidates[*index];
        if !fits(candidate.messages, played) {
            continue;
        }
        let plan = candidate.plan.get_or_insert_with(|| candidate.algorithm.plan(call, terrain));
        candidate.messages = candidate.messages.max(weighed(plan, call));
        if !fits(candidate.messages, played) {
            continue;
        }
        played += candidate.messages;
        candidate.took = arena.play(plan, call, best.map(|best| best * PATIENCE));
        if let Took::Span(span) = candidate.took {
            best = Some(best.map_or(span, |best| best.min(span)));
        }
    }
    let longest = best.map(|best| best * PATIENCE);
    for candidate in &mut candidates {
        if matches!(candidate.took, Took::Span(span) if longest.is_some_and(|longest| span > longest)) {
            candidate.took = Took::Longer;
        }
    }
    let judged = Judged::of(&candidates);
    let chosen = match judged.times.first() {
        Some((name, _)) => candidates.into_iter().find(|candidate| candidate.algorithm.name() == *name),
        None => order.first().map(|index| candidates.swap_remove(*index)),
    }?;
    let plan = chosen.plan.unwrap_or_else(|| chosen.algorithm.plan(call, terrain));
    Some((chosen.algorithm, plan, judged))
}

/// Whether a plan with so many messages is played after those with `played`.
fn fits(messages: u64, played: u64) -> bool {
    messages <= MOST_MESSAGES && played + messages <= MOST_TOGETHER
}

/// The messages of all ranks, with what threads make of them.
fn weighed(plan: &Plan, call: &Call) -> u64 {
    let of_first = plan.work(call, Rank::new(0)).message_count;
    // A tree's root sends little; a rank in the middle is nearer to the mean.
    let of_middle = plan.work(call, Rank::new(plan.ranks / 2)).message_count;
    with_threads(of_first.max(of_middle).saturating_mul(u64::from(plan.ranks)), plan.threads.len() as u64)
}

fn with_threads(messages: u64, threads: u64) -> u64 {
    messages.saturating_mul(threads.div_ceil(FEW_THREADS).max(1))
}

impl Candidate {
    fn new(algorithm: &'static dyn Algorithm, call: &Call, terrain: &Terrain) -> Self {
        if let Some(effort) = algorithm.least_effort(call, terrain) {
            let messages = with_threads(effort.message_count, effort.thread_count);
            let messages = messages.saturating_add(effort.making_message_count);
            return Self { algorithm, plan: None, messages, took: Took::Unknown };
        }
        let plan = algorithm.plan(call, terrain);
        let messages = weighed(&plan, call);
        Self { algorithm, plan: Some(plan), messages, took: Took::Unknown }
    }
}

impl Judged {
    fn of(candidates: &[Candidate]) -> Self {
        let mut judged = Self::default();
        for candidate in candidates {
            let name = candidate.algorithm.name();
            match candidate.took {
                Took::Span(span) => judged.times.push((name, span)),
                Took::Longer => judged.slower.push(name),
                Took::Unknown => judged.unplayed.push(name),
                Took::Never => {}
            }
        }
        judged.times.sort_by_key(|(_, span)| *span);
        judged
    }
}

impl Arena<'_> {
    /// Plays a plan once, `until` a time at most.
    fn play(&self, plan: &Plan, call: &Call, until: Option<Time>) -> Took {
        let mut engine = Engine::new();
        let first = add_links(&mut engine, self.topology);
        let carried = (self.behaviour.choice, self.behaviour.carriage);
        let machine = Machine::new(self.topology, self.facts, first, self.gpus.to_vec(), carried);
        let mut session = Session::new(engine);
        if let Some(control) = self.behaviour.control(Links::of(self.topology, first)) {
            session.govern(control);
        }
        let job = session.add(Job {
            ranks: plan.ranks,
            stages: vec![Stage::Play(plan, call)],
            start: Time::ZERO,
            router: Box::new(machine),
            recorded: false,
        });
        let halt = match until {
            Some(until) => session.run_until(until),
            None => session.run().map(|()| Halt::Quiet),
        };
        match (halt, session.took(job)) {
            (Ok(_), Some(span)) => Took::Span(span),
            (Ok(Halt::Reached), None) => Took::Longer,
            (Ok(Halt::Quiet), None) | (Err(_), _) => Took::Never,
        }
    }
}
