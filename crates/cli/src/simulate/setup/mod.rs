//! What a scenario names, found: GPUs, algorithms, links. Whatever is not there is said before anything is played.

mod faults;
mod network;
mod reaction;

use weft_base::{Diagnostic, Place, Span, Time, nearest};
use weft_catalogue::Catalogue;
use weft_collective::{ALGORITHMS, Algorithm, Call, Collective, Plan, Terrain, verify};
use weft_predictor::SwitchFacts;
use weft_simulator::machine::terrain;
use weft_topology::{NodeId, NodeKind, Topology};

pub use faults::Change;
pub use network::Network;
pub use reaction::Reaction;

use super::choose::{Arena, Judged, choose};
use super::scenario::{JobSpec, Scenario};
use crate::codes::{NO_SUCH_GPU, SCENARIO, UNPLAYABLE};
use crate::gpus;

/// Ranks up to which a plan is proved before it is played.
const MOST_PROVED: u32 = 64;

/// A job that can be played.
pub struct JobSetup {
    pub name: String,
    pub gpus: Vec<NodeId>,
    pub call: Call,
    pub plan: Plan,
    /// The message as nccl-tests counts it.
    pub size: weft_base::Bytes,
    pub algorithm: &'static str,
    /// How it compares with others, where it was chosen as the quickest.
    pub judged: Option<Judged>,
    pub repeat: u32,
    pub compute: Span,
    pub start: Time,
    pub reaction: Reaction,
    pub terrain: Terrain,
}

/// A scenario, ready to be played.
pub struct Setup {
    pub jobs: Vec<JobSetup>,
    /// In order of their times.
    pub changes: Vec<Change>,
    pub network: Network,
    pub seed: u64,
}

/// Where the values of a scenario stand.
struct Context<'a> {
    name: &'a str,
    text: &'a str,
    topology: &'a Topology,
    facts: SwitchFacts<'a>,
}

/// Finds what a scenario names in the cluster. All that is wrong is said at once.
pub fn prepare(
    (name, text): (&str, &str),
    scenario: &Scenario,
    topology: &Topology,
    catalogue: &Catalogue,
) -> Result<Setup, Vec<Diagnostic>> {
    let context = Context { name, text, topology, facts: SwitchFacts(catalogue) };
    let mut wrong = Vec::new();
    let mut jobs = Vec::new();
    let network = context.network(scenario).map_err(|finding| vec![finding])?;
    for (number, spec) in scenario.jobs.iter().enumerate() {
        match context.job(number, spec, &network) {
            Ok(job) => jobs.push(job),
            Err(finding) => wrong.push(finding),
        }
    }
    let mut changes = Vec::new();
    for spec in &scenario.faults {
        match context.fault(spec) {
            Ok(found) => changes.extend(found),
            Err(finding) => wrong.push(finding),
        }
    }
    changes.sort_by_key(|change| change.at);
    if wrong.is_empty() { Ok(Setup { jobs, changes, network, seed: scenario.seed }) } else { Err(wrong) }
}

impl Context<'_> {
    fn place<T>(&self, value: &toml::Spanned<T>) -> Place {
        Place::in_text(self.name, self.text, &value.span())
    }

    fn job(&self, number: usize, spec: &JobSpec, network: &Network) -> Result<JobSetup, Diagnostic> {
        let collective = self.collective(spec)?;
        let gpus = match &spec.gpus {
            Some(text) => self.gpus(text)?,
            None => self.topology.of_kind(NodeKind::Gpu).collect(),
        };
        let size = *spec.size.get_ref();
        let ranks = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
        let call = Call::message(collective, size.get(), ranks);
        let terrain = terrain(self.topology, &self.facts, &gpus);
        let (topology, facts, behaviour) = (self.topology, &self.facts, &network.behaviour);
        let arena = Arena { topology, facts, behaviour, gpus: &gpus };
        let (algorithm, plan, judged) = self.plan(spec, &call, &terrain, &arena)?;
        let repeat = *spec.repeat.get_ref();
        if repeat == 0 {
            let finding = Diagnostic::error(SCENARIO, "a job must run at least once").hint("`repeat = 1`");
            return Err(finding.at(self.place(&spec.repeat)));
        }
        let reaction = self.reaction(spec, network)?;
        let name = spec.name.clone().unwrap_or_else(|| format!("job{number}"));
        let (compute, start) = (spec.compute, spec.start);
        Ok(JobSetup {
            name,
            gpus,
            call,
            plan,
            size,
            algorithm,
            judged,
            repeat,
            compute,
            start,
            reaction,
            terrain,
        })
    }

    fn collective(&self, spec: &JobSpec) -> Result<Collective, Diagnostic> {
        let text = spec.collective.get_ref();
        Collective::from_name(text).ok_or_else(|| {
            let hint = match Collective::near(text).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the collectives are {}", Collective::ALL.map(Collective::name).join(", ")),
            };
            let finding = Diagnostic::error(SCENARIO, format!("there is no collective `{text}`")).hint(hint);
            finding.at(self.place(&spec.collective))
        })
    }

    /// The algorithm that is named, else the quickest that suits; its plan, proved where that is quick.
    fn plan(
        &self,
        spec: &JobSpec,
        call: &Call,
        terrain: &Terrain,
        arena: &Arena<'_>,
    ) -> Result<(&'static str, Plan, Option<Judged>), Diagnostic> {
        let (chosen, plan, judged) = if let Some(name) = &spec.algorithm {
            let named = self.named(name, call, terrain)?;
            (named, named.plan(call, terrain), None)
        } else {
            let (chosen, plan, judged) = choose(arena, call, terrain).ok_or_else(|| {
                let message = format!("no algorithm suits {} here", call.collective.name());
                Diagnostic::error(UNPLAYABLE, message).at(self.place(&spec.collective))
            })?;
            (chosen, plan, Some(judged))
        };
        if terrain.ranks() <= MOST_PROVED {
            verify(&plan, call).map_err(|violation| {
                let message = format!("the plan of {} is wrong: {violation}", chosen.name());
                Diagnostic::error(UNPLAYABLE, message)
                    .hint("this is a mistake of weft's own; please report it")
            })?;
        }
        Ok((chosen.name(), plan, judged))
    }

    fn named(
        &self,
        name: &toml::Spanned<String>,
        call: &Call,
        terrain: &Terrain,
    ) -> Result<&'static dyn Algorithm, Diagnostic> {
        let names = ALGORITHMS.iter().map(|algorithm| algorithm.name());
        let found = weft_collective::algorithm(name.get_ref()).ok_or_else(|| {
            let near = nearest(name.get_ref(), names.clone(), 1);
            let hint = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the algorithms are {}", names.collect::<Vec<_>>().join(", ")),
            };
            let message = format!("there is no algorithm `{}`", name.get_ref());
            Diagnostic::error(SCENARIO, message).hint(hint).at(self.place(name))
        })?;
        found.suits(call, terrain).map_err(|reason| {
            let suit: Vec<&str> = ALGORITHMS
                .iter()
                .filter(|algorithm| algorithm.suits(call, terrain).is_ok())
                .map(|algorithm| algorithm.name())
                .collect();
            let hint = format!("these suit: {}", suit.join(", "));
            Diagnostic::error(UNPLAYABLE, reason.to_string()).hint(hint).at(self.place(name))
        })?;
        Ok(found)
    }

    /// `all`, or a list.
    fn gpus(&self, text: &toml::Spanned<String>) -> Result<Vec<NodeId>, Diagnostic> {
        let all: Vec<NodeId> = self.topology.of_kind(NodeKind::Gpu).collect();
        if text.get_ref().trim() == "all" {
            return Ok(all);
        }
        let wrong = |message: String| {
            let hint = format!("the cluster has {} GPUs, 0 to {}", all.len(), all.len().saturating_sub(1));
            Diagnostic::error(NO_SUCH_GPU, message).hint(hint).at(self.place(text))
        };
        gpus::listed(text.get_ref(), &all, self.topology).map_err(wrong)
    }
}
