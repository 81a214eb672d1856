//! How the network of a scenario behaves.

use weft_base::{Diagnostic, Rate, Span, nearest};
use weft_simulator::network::{Behaviour, NETWORK_MODELS, NetworkModel, Recovery, Settings, network_model};
use weft_topology::LinkFamily;

use super::Context;
use crate::codes::{SCENARIO, UNPLAYABLE};
use crate::simulate::scenario::{RecoveryName, Scenario};

/// How the network behaves.
pub struct Network {
    pub model: &'static dyn NetworkModel,
    pub behaviour: Behaviour,
    /// How long hosts take to give up a dead way.
    pub notice: Span,
}

impl Context<'_> {
    /// The model that is named, else the one of the network's links.
    pub(super) fn network(&self, scenario: &Scenario) -> Result<Network, Diagnostic> {
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
        Ok(Network { model, behaviour: model.behaviour(&settings), notice: model.notice(&settings) })
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
}
