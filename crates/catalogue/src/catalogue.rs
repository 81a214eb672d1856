//! All facts, loaded once, found by name or by any spelling people use.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use thiserror::Error;
use weft_base::{is_spelling, nearest, simplify};

use crate::{
    Cable, ChannelPart, Cpu, Engine, Failure, Framework, Gpu, Library, LinkKind, Machine, Model, Nic, Price,
    Restart, Retimer, Server, Source, Switch, Transceiver,
};

/// The embedded facts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Kinds of links.
    pub links: Vec<LinkKind>,
    /// GPUs and other accelerators.
    pub gpus: Vec<Gpu>,
    /// Network adapters.
    pub nics: Vec<Nic>,
    /// Switches.
    pub switches: Vec<Switch>,
    /// CPUs.
    pub cpus: Vec<Cpu>,
    /// Retimers.
    pub retimers: Vec<Retimer>,
    /// Pieces of channel between chips.
    pub channels: Vec<ChannelPart>,
    /// Systems.
    pub systems: Vec<Machine>,
    /// Constants of communication libraries.
    pub libraries: Vec<Library>,
    /// Shapes of models.
    pub models: Vec<Model>,
    /// Programs that train models.
    pub frameworks: Vec<Framework>,
    /// Programs that serve models.
    pub engines: Vec<Engine>,
    /// Optical modules.
    pub transceivers: Vec<Transceiver>,
    /// Kinds of cable.
    pub cables: Vec<Cable>,
    /// What stands around the GPUs of a system: power, memory, storage.
    pub servers: Vec<Server>,
    /// What things cost, as published.
    pub prices: Vec<Price>,
    /// How often things fail, as published.
    pub failures: Vec<Failure>,
    /// What checkpoints and restarts cost, as published.
    pub restarts: Vec<Restart>,
    /// Where facts come from, by key.
    pub sources: BTreeMap<String, Source>,
}

/// No entry has this name. Reads as "failed to find {error}".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind} `{name}` is not in the catalogue")]
pub struct NotFound {
    /// What was looked for: `GPU`, `link kind`.
    pub kind: &'static str,
    /// The name as given.
    pub name: String,
    /// Names that exist and are near, best first.
    pub near: Vec<String>,
}

impl NotFound {
    /// "did you mean `a` or `b`?", or where all names are listed when nothing is near.
    pub fn hint(&self) -> String {
        let named: Vec<String> = self.near.iter().map(|name| format!("`{name}`")).collect();
        if named.is_empty() {
            return "`weft show --list` prints all names of the catalogue".to_owned();
        }
        format!("did you mean {}?", named.join(" or "))
    }
}

/// Entries that can be looked up.
trait Named {
    const KIND: &'static str;
    fn name(&self) -> &str;
    fn title(&self) -> &str;
    fn aliases(&self) -> &[String];
}

macro_rules! named {
    ($($entry:ty: $kind:literal),* $(,)?) => {
        $(impl Named for $entry {
            const KIND: &'static str = $kind;
            fn name(&self) -> &str {
                &self.name
            }
            fn title(&self) -> &str {
                &self.title
            }
            fn aliases(&self) -> &[String] {
                &self.aliases
            }
        })*
    };
}

named! {
    LinkKind: "link kind", Gpu: "GPU", Nic: "NIC", Switch: "switch", Cpu: "CPU", Retimer: "retimer",
    Machine: "system", Library: "library", Transceiver: "transceiver", Cable: "cable",
    Price: "price", Failure: "failure rate", Restart: "published run",
    Model: "model", Framework: "framework", Engine: "engine",
}

impl Catalogue {
    /// The facts embedded in this program; parsed on first use.
    ///
    /// # Panics
    /// Never in a released program: a test loads it, and the build embeds what that test loads.
    #[expect(clippy::expect_used, reason = "the embedded text is checked by this crate's tests")]
    pub fn embedded() -> &'static Self {
        static EMBEDDED: OnceLock<Catalogue> = OnceLock::new();
        EMBEDDED.get_or_init(|| {
            let text = include_str!(concat!(env!("OUT_DIR"), "/catalogue.json"));
            let mut catalogue: Self = serde_json::from_str(text).expect("the embedded catalogue parses");
            crate::library::inherit(&mut catalogue.libraries);
            catalogue
        })
    }

    /// A link kind by name or alias.
    pub fn link(&self, name: &str) -> Result<&LinkKind, NotFound> {
        find(&self.links, name)
    }

    /// A GPU by name or alias.
    pub fn gpu(&self, name: &str) -> Result<&Gpu, NotFound> {
        find(&self.gpus, name)
    }

    /// A NIC by name or alias.
    pub fn nic(&self, name: &str) -> Result<&Nic, NotFound> {
        find(&self.nics, name)
    }

    /// A switch by name or alias.
    pub fn switch(&self, name: &str) -> Result<&Switch, NotFound> {
        find(&self.switches, name)
    }

    /// A CPU by name or alias.
    pub fn cpu(&self, name: &str) -> Result<&Cpu, NotFound> {
        find(&self.cpus, name)
    }

    /// A retimer by name or alias.
    pub fn retimer(&self, name: &str) -> Result<&Retimer, NotFound> {
        find(&self.retimers, name)
    }

    /// A system by name or alias.
    pub fn system(&self, name: &str) -> Result<&Machine, NotFound> {
        find(&self.systems, name)
    }

    /// A library's constants by name or alias.
    pub fn library(&self, name: &str) -> Result<&Library, NotFound> {
        find(&self.libraries, name)
    }

    /// A model by name or alias.
    pub fn model(&self, name: &str) -> Result<&Model, NotFound> {
        find(&self.models, name)
    }

    /// A program that trains models by name or alias.
    pub fn framework(&self, name: &str) -> Result<&Framework, NotFound> {
        find(&self.frameworks, name)
    }

    /// A program that serves models, by name or alias.
    pub fn engine(&self, name: &str) -> Result<&Engine, NotFound> {
        find(&self.engines, name)
    }

    /// An optical module by name or alias.
    pub fn transceiver(&self, name: &str) -> Result<&Transceiver, NotFound> {
        find(&self.transceivers, name)
    }

    /// A kind of cable by name.
    pub fn cable(&self, name: &str) -> Result<&Cable, NotFound> {
        find(&self.cables, name)
    }

    /// What stands around the GPUs of a system, by the system's name.
    pub fn server(&self, system: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == system)
    }

    /// A published price by name.
    pub fn price(&self, name: &str) -> Result<&Price, NotFound> {
        find(&self.prices, name)
    }

    /// A published failure rate by name.
    pub fn failure(&self, name: &str) -> Result<&Failure, NotFound> {
        find(&self.failures, name)
    }

    /// What checkpoints and restarts of a published run cost, by name.
    pub fn restart(&self, name: &str) -> Result<&Restart, NotFound> {
        find(&self.restarts, name)
    }

    /// A piece of channel by name.
    pub fn channel(&self, name: &str) -> Result<&ChannelPart, NotFound> {
        let found = self.channels.iter().find(|part| part.name == name);
        found
            .ok_or_else(|| missing("channel part", name, self.channels.iter().map(|part| part.name.as_str())))
    }
}

/// Exact name first, then any spelling that is equal without case, blanks and punctuation.
fn find<'a, T: Named>(entries: &'a [T], name: &str) -> Result<&'a T, NotFound> {
    if let Some(entry) = entries.iter().find(|entry| entry.name() == name) {
        return Ok(entry);
    }
    let wanted = simplify(name);
    let spelled = |entry: &&T| {
        let spellings = entry.aliases().iter().map(String::as_str).chain([entry.name(), entry.title()]);
        spellings.into_iter().any(|spelling| is_spelling(spelling, &wanted))
    };
    entries.iter().find(spelled).ok_or_else(|| missing(T::KIND, name, entries.iter().map(Named::name)))
}

fn missing<'a>(kind: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> NotFound {
    let near = nearest(name, known, 3).into_iter().map(str::to_owned).collect();
    NotFound { kind, name: name.to_owned(), near }
}
