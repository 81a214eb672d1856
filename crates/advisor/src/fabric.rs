//! What joins the hosts, counted by kind: switches, cables, and the modules of optical ones.

use std::collections::BTreeMap;

use thiserror::Error;
use weft_base::{Length, Power};
use weft_catalogue::{Cable, CableKind, Catalogue, Network, Transceiver};
use weft_topology::{BuildError, NetworkCounts, network_counts};

/// How far things stand from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// From a host to its leaves.
    pub to_leaf: Length,
    /// From leaves to the switches above them.
    pub to_spine: Length,
    /// Whether copper and active cables are left out, as in reference designs of fibre throughout.
    pub fibre_only: bool,
}

/// Cables and modules of the links of one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wiring {
    /// Where they run: `host to leaf`.
    pub place: &'static str,
    /// How many.
    pub link_count: u64,
    /// The kind of cable.
    pub cable: String,
    /// What sits in the ends at hosts, where the cable is fibre alone.
    pub host_module: Option<String>,
    /// What sits in the ends at switches.
    pub switch_module: Option<String>,
    /// Ends at hosts of each link; the others are at switches.
    host_ends: u64,
}

/// A fabric, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fabric {
    /// Switches and links by tier.
    pub counts: NetworkCounts,
    /// Cables, by where they run.
    pub wiring: Vec<Wiring>,
    /// Modules by name.
    pub modules: BTreeMap<String, u64>,
    /// Of cables and modules.
    pub optics_power: Power,
}

/// Why a fabric cannot be counted. Reads as "failed to count the fabric: {error}".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotCounted {
    /// No network of that design has room for the hosts.
    #[error(transparent)]
    Network(#[from] BuildError),
    /// No cable is long enough.
    #[error("no cable of the catalogue carries {link} over {length}")]
    TooFar {
        /// The link kind.
        link: String,
        /// How far.
        length: Length,
    },
    /// Fibre without modules for its ends.
    #[error("the catalogue has no optical module for {link}")]
    NoModule {
        /// The link kind.
        link: String,
    },
}

/// The cable that costs least power of those that are long enough: copper before active before fibre.
fn cable<'c>(
    link: &str,
    length: Length,
    fibre_only: bool,
    catalogue: &'c Catalogue,
) -> Result<&'c Cable, NotCounted> {
    let fits = |cable: &&Cable| {
        let kind = !fibre_only || cable.kind == CableKind::Fibre;
        kind && cable.links.iter().any(|carried| carried == link) && cable.longest.value >= length
    };
    let found = catalogue.cables.iter().filter(fits).min_by_key(|cable| (cable.kind, cable.end_power.value));
    found.ok_or_else(|| NotCounted::TooFar { link: link.to_owned(), length })
}

/// The module for ends at hosts or at switches that reaches so far.
fn module<'c>(
    link: &str,
    length: Length,
    in_switch: bool,
    catalogue: &'c Catalogue,
) -> Result<&'c Transceiver, NotCounted> {
    let fits = |module: &&Transceiver| {
        module.in_switch == in_switch
            && module.links.iter().any(|run| run == link)
            && module.longest.value >= length
    };
    let found = catalogue.transceivers.iter().filter(fits).max_by_key(|module| module.longest.value);
    found.ok_or_else(|| NotCounted::NoModule { link: link.to_owned() })
}

/// Counts what joins `hosts` hosts with `rails` NICs each whose ports run `link`.
pub fn fabric(
    network: &Network,
    hosts: u32,
    rails: u16,
    link: &str,
    layout: &Layout,
    catalogue: &Catalogue,
) -> Result<Fabric, NotCounted> {
    let counts = network_counts(network, hosts, rails)?;
    let runs = [
        ("host to leaf", counts.host_link_count, layout.to_leaf, 1),
        ("switch to switch", counts.all_switch_links(), layout.to_spine, 0),
    ];
    let mut fabric =
        Fabric { counts, wiring: Vec::new(), modules: BTreeMap::new(), optics_power: Power::ZERO };
    // Ends by module: a twin holds the ends of two links, of whatever run.
    let mut ends: BTreeMap<&str, (u64, &Transceiver)> = BTreeMap::new();
    for (place, link_count, length, host_ends) in runs.into_iter().filter(|run| run.1 > 0) {
        let cable = cable(link, length, layout.fibre_only, catalogue)?;
        let is_fibre = cable.kind == CableKind::Fibre;
        let find = |in_switch| is_fibre.then(|| module(link, length, in_switch, catalogue)).transpose();
        let (at_host, at_switch) = (find(false)?.filter(|_| host_ends > 0), find(true)?);
        for (module, count) in [(at_host, host_ends), (at_switch, 2 - host_ends)] {
            if let Some(module) = module {
                ends.entry(&module.name).or_insert((0, module)).0 += link_count * count;
            }
        }
        fabric.optics_power = fabric.optics_power + cable.end_power.value * (2 * link_count);
        fabric.wiring.push(Wiring {
            place,
            link_count,
            cable: cable.name.clone(),
            host_module: at_host.map(|module| module.name.clone()),
            switch_module: at_switch.map(|module| module.name.clone()),
            host_ends,
        });
    }
    for (name, (count, module)) in ends {
        let modules = count.div_ceil(u64::from(module.ports.value.max(1)));
        fabric.modules.insert(name.to_owned(), modules);
        fabric.optics_power = fabric.optics_power + module.power.value * modules;
    }
    Ok(fabric)
}

impl Wiring {
    /// The price of one such link with both ends where it is sold as a whole: a name of the catalogue's prices.
    pub fn bundle(&self, link_gigabits: u64) -> String {
        let place = if self.host_ends > 0 { "to-host" } else { "between-switches" };
        format!("link-{place}-{link_gigabits}g")
    }
}
