//! What a scenario names, found: GPUs, algorithms, links. Whatever is not there is said before anything is played.

use weft_base::{Diagnostic, Place, Rate, Span, Time, nearest};
use weft_catalogue::Catalogue;
use weft_collective::{ALGORITHMS, Algorithm, Call, Collective, Plan, Terrain, verify};
use weft_predictor::SwitchFacts;
use weft_simulator::machine::terrain;
use weft_simulator::network::{Behaviour, NETWORK_MODELS, NetworkModel, Recovery, Settings, network_model};
use weft_topology::{LinkFamily, LinkId, NodeId, NodeKind, Topology};

use super::choose::{Arena, Judged, choose};
use super::scenario::{self, Carries, FaultSpec, JobSpec, OnFault, RecoveryName, Scenario};
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
    pub on_fault: OnFault,
    /// How long a link must be dead until the job fails over.
    pub notice: Span,
    pub terrain: Terrain,
}

/// A change of links at a time.
pub struct Change {
    pub at: Time,
    pub links: Vec<(LinkId, Rate)>,
    /// In words: `host1/NIC0 carries nothing`.
    pub text: String,
}

/// A scenario, ready to be played.
pub struct Setup {
    pub jobs: Vec<JobSetup>,
    /// In order of their times.
    pub changes: Vec<Change>,
    pub network: Network,
    pub seed: u64,
}

/// How the network behaves.
pub struct Network {
    pub model: &'static dyn NetworkModel,
    pub behaviour: Behaviour,
    /// How long NICs take to give up a dead way.
    pub notice: Span,
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
        scenario::place(self.name, self.text, &value.span())
    }

    /// The model that is named, else the one of the network's links.
    fn network(&self, scenario: &Scenario) -> Result<Network, Diagnostic> {
        let link = self
            .topology
            .links()
            .map(|(_, link)| link)
            .find(|link| self.topology.family(link) == LinkFamily::Network);
        let usual = match link.map(|link| self.topology.kind(link.kind).name.as_str()) {
            Some(name) if name.starts_with("infiniband") => "infiniband",
            Some(_) => "roce-ecmp",
            None => "ideal",
        };
        let name = scenario.network.as_ref().map_or(usual, |name| name.get_ref().as_str());
        let model = network_model(name).ok_or_else(|| {
            let names = NETWORK_MODELS.iter().map(|model| model.name());
            let hint = match nearest(name, names.clone(), 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the network models are {}", names.collect::<Vec<_>>().join(", ")),
            };
            let finding =
                Diagnostic::error(SCENARIO, format!("there is no network model `{name}`")).hint(hint);
            scenario.network.as_ref().map_or(finding.clone(), |name| finding.at(self.place(name)))
        })?;
        let line_rate = link.map_or(Rate::ZERO, |link| {
            Rate::bytes_per_second(link.capacity.get() / u64::from(link.count.max(1)))
        });
        let settings = Settings { seed: scenario.seed, ..self.settings(line_rate)? };
        let settings = self.losses(scenario, settings)?;
        Ok(Network { model, behaviour: model.behaviour(&settings), notice: settings.notice() })
    }

    fn settings(&self, line_rate: Rate) -> Result<Settings, Diagnostic> {
        let library = self.facts.0.library("network-models").ok();
        let constant = |name: &str| library?.tables.get(name)?.rows.get("constant")?.first().copied();
        Settings::new(line_rate, constant).map_err(|error| {
            let hint = "this is a mistake of weft's own; please report it";
            Diagnostic::error(UNPLAYABLE, error.to_string()).hint(hint)
        })
    }

    fn losses(&self, scenario: &Scenario, settings: Settings) -> Result<Settings, Diagnostic> {
        let recovery = match scenario.recovery {
            Some(RecoveryName::GoBackN) => Recovery::GoBackN,
            Some(RecoveryName::SelectiveRepeat) => Recovery::SelectiveRepeat,
            None => settings.recovery,
        };
        let Some(loss) = &scenario.loss else { return Ok(Settings { recovery, ..settings }) };
        let loss_share = *loss.get_ref();
        if (0.0..1.0).contains(&loss_share) {
            return Ok(Settings { recovery, loss_share, ..settings });
        }
        let finding = Diagnostic::error(SCENARIO, "a share of lost packets is at least 0 and below 1");
        Err(finding.hint("`loss = 1e-5` is one packet of 100,000").at(self.place(loss)))
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
        let notice = self.notice(spec, network)?;
        let name = spec.name.clone().unwrap_or_else(|| format!("job{number}"));
        let (compute, start, on_fault) = (spec.compute, spec.start, spec.on_fault);
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
            on_fault,
            notice,
            terrain,
        })
    }

    /// How long the job takes to notice a dead link, which only those do that fail over.
    fn notice(&self, spec: &JobSpec, network: &Network) -> Result<Span, Diagnostic> {
        match &spec.notice {
            None => Ok(network.notice),
            Some(notice) if spec.on_fault == OnFault::FailOver => Ok(*notice.get_ref()),
            Some(notice) => {
                let finding = Diagnostic::error(SCENARIO, "`notice` is of jobs that fail over");
                Err(finding.hint("`on-fault = \"fail-over\"`").at(self.place(notice)))
            }
        }
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

    /// The change of a fault, and its end.
    fn fault(&self, spec: &FaultSpec) -> Result<Vec<Change>, Diagnostic> {
        let links = self.links(&spec.what)?;
        let carries = Carries::parse(spec.carries.get_ref()).map_err(|reason| {
            let hint = "`down`, a share as `50 %`, or a rate as `25 GB/s`";
            Diagnostic::error(SCENARIO, reason).hint(hint).at(self.place(&spec.carries))
        })?;
        let whole = |link: &LinkId| self.topology.link(*link).capacity;
        let worse = links.iter().map(|link| (*link, carries.of(whole(link)))).collect::<Vec<_>>();
        let better = links.iter().map(|link| (*link, whole(link))).collect::<Vec<_>>();
        let what = spec.what.get_ref();
        let text = match spec.carries.get_ref().as_str() {
            "down" => format!("{what} goes down"),
            carries => format!("{what} carries {carries}"),
        };
        let mut changes = Vec::new();
        let (mut at, lasts) = (spec.at, spec.lasts);
        for _ in 0..=spec.again {
            changes.push(Change { at, links: worse.clone(), text: text.clone() });
            let Some(lasts) = lasts else { break };
            let back = format!("{what} is whole again");
            changes.push(Change { at: at + lasts, links: better.clone(), text: back });
            at = at + lasts + lasts;
        }
        Ok(changes)
    }

    /// All links of a device, or those from one to another.
    fn links(&self, what: &toml::Spanned<String>) -> Result<Vec<LinkId>, Diagnostic> {
        let text = what.get_ref();
        if let Some((from, to)) = text.split_once("->") {
            let (from, to) = (self.node(what, from.trim())?, self.node(what, to.trim())?);
            let links: Vec<LinkId> =
                self.topology.links_from(from).filter(|(_, link)| link.to == to).map(|(id, _)| id).collect();
            if links.is_empty() {
                let message = format!(
                    "no link leads from `{}` to `{}`",
                    self.topology.name(from),
                    self.topology.name(to)
                );
                return Err(Diagnostic::error(SCENARIO, message).at(self.place(what)));
            }
            return Ok(links);
        }
        let node = self.node(what, text.trim())?;
        Ok(self.topology.links_from(node).flat_map(|(id, link)| [id, link.twin]).collect())
    }

    fn node(&self, what: &toml::Spanned<String>, name: &str) -> Result<NodeId, Diagnostic> {
        self.topology.find(name).ok_or_else(|| {
            let names: Vec<String> = self.topology.nodes().map(|(id, _)| self.topology.name(id)).collect();
            let near = nearest(name, names.iter().map(String::as_str), 1);
            let hint = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`weft show` lists the devices; `host3/NIC0`, `host3/GPU7`, `NET4` are such names"
                    .to_owned(),
            };
            Diagnostic::error(SCENARIO, format!("there is no device `{name}`"))
                .hint(hint)
                .at(self.place(what))
        })
    }
}
