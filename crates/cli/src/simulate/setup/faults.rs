//! What goes wrong in a scenario, as changes of links.

use weft_base::{Diagnostic, Rate, Time, nearest};
use weft_topology::{LinkId, NodeId};

use super::Context;
use crate::codes::SCENARIO;
use crate::simulate::scenario::{Carries, FaultSpec};

/// A change of links at a time.
pub struct Change {
    pub at: Time,
    pub links: Vec<(LinkId, Rate)>,
    /// In words: `host1/NIC0 carries nothing`.
    pub text: String,
}

impl Context<'_> {
    /// The change of a fault, and its end.
    pub(super) fn fault(&self, spec: &FaultSpec) -> Result<Vec<Change>, Diagnostic> {
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
