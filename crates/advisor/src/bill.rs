//! What one candidate consists of, what that costs and what it draws. What has no price or no power is named, never
//! taken as nothing.

use std::collections::BTreeMap;

use weft_base::{Currency, Energy, Money, Period, Power};
use weft_catalogue::{Catalogue, Grade, LinkKind, Machine, Network};

use crate::candidate::Candidate;
use crate::fabric::{Fabric, Layout, NotCounted, fabric};

/// Prices: those of the user before those of the catalogue.
#[derive(Debug, Clone, Default)]
pub struct Prices {
    /// By the name of the entry.
    pub overrides: BTreeMap<String, Money>,
}

/// A price and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priced {
    /// Of one piece.
    pub amount: Money,
    /// `2024-08`; nothing for those of the user.
    pub date: Option<String>,
    /// How far it can be trusted; nothing for those of the user.
    pub grade: Option<Grade>,
}

impl Prices {
    /// The price of one piece.
    pub fn of(&self, name: &str, catalogue: &Catalogue) -> Option<Priced> {
        if let Some(amount) = self.overrides.get(name) {
            return Some(Priced { amount: *amount, date: None, grade: None });
        }
        let price = catalogue.prices.iter().find(|price| price.name == name)?;
        let date = Some(price.date.clone());
        Some(Priced { amount: price.amount.value, date, grade: Some(price.amount.grade) })
    }
}

/// One line of a bill.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is, in words.
    pub what: String,
    /// The entry that prices and explains it.
    pub name: String,
    /// How many.
    pub count: u64,
    /// The price of one; nothing where it is not known, or where it is in the price of another line.
    pub price: Option<Priced>,
    /// What one draws.
    pub power: Option<Power>,
    /// Why there is no price.
    pub note: Option<String>,
}

impl Line {
    /// Whether its price is missing, rather than in that of another line.
    pub fn lacks_price(&self) -> bool {
        let is_elsewhere = self.note.as_ref().is_some_and(|note| note.starts_with(IN_ANOTHER));
        self.price.is_none() && !is_elsewhere
    }
}

/// How a note begins that says in which price another is.
const IN_ANOTHER: &str = "in the price";

/// A bill of materials.
#[derive(Debug, Clone, PartialEq)]
pub struct Bill {
    /// What is bought.
    pub lines: Vec<Line>,
    /// The sum of what has a price.
    pub cost: Money,
    /// What has none.
    pub unpriced: Vec<String>,
    /// The sum of what has a known power.
    pub power: Power,
    /// What has none.
    pub unpowered: Vec<String>,
    /// In a year of 365.25 days at that power.
    pub yearly_energy: Energy,
    /// What that costs; nothing where electricity has no price in the currency of the bill.
    pub yearly_energy_cost: Option<Money>,
    /// The fabric; nothing for one host.
    pub fabric: Option<Fabric>,
    /// Retimers in each host.
    pub retimers_per_host: u16,
    /// How many of the lines, from the first, are hosts; the others join them.
    host_lines: usize,
}

impl Bill {
    /// Whether nothing of it lacks a price.
    pub fn is_priced(&self) -> bool {
        self.unpriced.is_empty()
    }

    /// The entries without a price, each once.
    pub fn missing_prices(&self) -> Vec<&str> {
        let lines = self.lines.iter().filter(|line| line.lacks_price());
        let names: std::collections::BTreeSet<&str> = lines.map(|line| line.name.as_str()).collect();
        names.into_iter().collect()
    }

    /// What the lines that join the hosts cost; nothing where a price is missing.
    pub fn network_cost(&self) -> Option<Money> {
        let lines = &self.lines[self.host_lines.min(self.lines.len())..];
        if lines.iter().any(Line::lacks_price) {
            return None;
        }
        let mut prices = lines.iter().filter_map(|line| Some(line.price.as_ref()?.amount.times(line.count)));
        prices.try_fold(Money::zero(self.cost.currency()), Money::checked_add)
    }
}

/// The bill of a candidate.
pub fn bill(
    candidate: &Candidate,
    layout: &Layout,
    prices: &Prices,
    catalogue: &Catalogue,
) -> Result<Bill, NotCounted> {
    let mut lines = hosts(candidate, prices, catalogue);
    let host_lines = lines.len();
    let retimers_per_host = retimers(&candidate.machine, catalogue);
    let fabric = match (&candidate.network, candidate.link(catalogue)) {
        (Some(network), Some(link)) => {
            let counted = fabric(network, candidate.hosts, candidate.rails, &link.name, layout, catalogue)?;
            lines.extend(joined(&counted, network, link, prices, catalogue));
            Some(counted)
        }
        (_, None) | (None, _) => None,
    };
    Ok(Bill { host_lines, ..summed(lines, fabric, retimers_per_host, prices, catalogue) })
}

fn summed(
    lines: Vec<Line>,
    fabric: Option<Fabric>,
    retimers_per_host: u16,
    prices: &Prices,
    catalogue: &Catalogue,
) -> Bill {
    let currency = lines
        .iter()
        .find_map(|line| line.price.as_ref())
        .map_or(Currency::USD, |price| price.amount.currency());
    let (mut cost, mut power) = (Money::zero(currency), Power::ZERO);
    let (mut unpriced, mut unpowered) = (Vec::new(), Vec::new());
    for line in &lines {
        let sum = line.price.as_ref().and_then(|price| cost.checked_add(price.amount.times(line.count)));
        match sum {
            Some(sum) => cost = sum,
            None if line.price.is_none() && !line.lacks_price() => {}
            None => unpriced.push(line.what.clone()),
        }
        match line.power {
            Some(each) => power = power + each * line.count,
            None => unpowered.push(line.what.clone()),
        }
    }
    let yearly_energy = power.during(Period::YEAR);
    let electricity = prices.of("electricity", catalogue).map(|price| price.amount);
    let yearly_energy_cost = electricity
        .filter(|price| price.currency() == currency)
        .map(|price| price.scaled(yearly_energy.as_kilowatt_hours()));
    Bill {
        lines,
        cost,
        unpriced,
        power,
        unpowered,
        yearly_energy,
        yearly_energy_cost,
        fabric,
        retimers_per_host,
        host_lines: 0,
    }
}

/// The hosts as a whole where they have a price, else their cards and what is missing.
fn hosts(candidate: &Candidate, prices: &Prices, catalogue: &Catalogue) -> Vec<Line> {
    let server = catalogue.server(&candidate.system);
    let power = server.and_then(|server| {
        server.training_power.as_ref().or(server.most_power.as_ref()).map(|fact| fact.value)
    });
    let as_sold = candidate.is_as_sold;
    let count = u64::from(candidate.hosts);
    let whole = prices.of(&candidate.system, catalogue).filter(|_| as_sold);
    let title = candidate.title(catalogue);
    if whole.is_some() {
        return vec![Line {
            what: title,
            name: candidate.system.clone(),
            count,
            price: whole,
            power,
            note: None,
        }];
    }
    let gpus = u64::from(candidate.gpus_per_host) * count;
    let gpu = catalogue.gpu(&candidate.gpu).ok();
    let board = gpu.and_then(|gpu| gpu.board_power.as_ref()).map(|fact| fact.value);
    let power = power.filter(|_| as_sold);
    let mut lines = vec![
        Line {
            what: gpu.map_or_else(|| candidate.gpu.clone(), |gpu| gpu.title.clone()),
            name: candidate.gpu.clone(),
            count: gpus,
            price: prices.of(&candidate.gpu, catalogue),
            // The power of a host holds that of its cards.
            power: if power.is_some() { Some(Power::ZERO) } else { board },
            note: None,
        },
        Line {
            what: format!("the host around them ({title})"),
            name: candidate.system.clone(),
            count,
            price: None,
            power,
            note: Some("no price is published: give one for the whole host".to_owned()),
        },
    ];
    if candidate.bridges > 0 {
        let bridge = gpu.and_then(|gpu| gpu.bridges.iter().find(|bridge| bridge.carries_data));
        let name = bridge.map_or("nvlink-bridge", |bridge| bridge.link.as_str()).to_owned();
        lines.push(Line {
            what: "bridge of two cards".to_owned(),
            price: prices.of(&name, catalogue),
            name,
            count: u64::from(candidate.bridges) * count,
            power: Some(Power::ZERO),
            note: None,
        });
    }
    lines
}

/// Switches, cables and modules.
fn joined(
    fabric: &Fabric,
    network: &Network,
    link: &LinkKind,
    prices: &Prices,
    catalogue: &Catalogue,
) -> Vec<Line> {
    let switch = network.switch.as_deref().and_then(|name| catalogue.switch(name).ok());
    let mut lines = vec![Line {
        what: switch.map_or_else(|| format!("{}-port switch", network.radix), |switch| switch.title.clone()),
        name: switch.map_or("switch", |switch| switch.name.as_str()).to_owned(),
        count: fabric.counts.all_switches(),
        price: switch.and_then(|switch| prices.of(&switch.name, catalogue)),
        power: switch.and_then(|switch| switch.power.as_ref()).map(|fact| fact.value),
        note: None,
    }];
    let gigabits = link.rate(1).get() * 8 / 1_000_000_000;
    // Published prices of links are of common rates: 400 for the 402.8 of InfiniBand's NDR.
    let gigabits = gigabits / 100 * 100;
    let modules_are_priced = fabric.modules.keys().all(|name| prices.of(name, catalogue).is_some());
    for wiring in &fabric.wiring {
        let cable = catalogue.cable(&wiring.cable).ok();
        let own = prices.of(&wiring.cable, catalogue);
        let is_fibre = wiring.switch_module.is_some();
        let bundle = wiring.bundle(gigabits);
        let price = if is_fibre && !modules_are_priced { prices.of(&bundle, catalogue) } else { own };
        lines.push(Line {
            what: format!(
                "{}, {}",
                cable.map_or(wiring.cable.as_str(), |cable| cable.title.as_str()),
                wiring.place
            ),
            name: if is_fibre && !modules_are_priced { bundle } else { wiring.cable.clone() },
            count: wiring.link_count,
            price,
            power: cable.map(|cable| cable.end_power.value * 2),
            note: None,
        });
    }
    for (name, count) in &fabric.modules {
        let module = catalogue.transceiver(name).ok();
        let price = prices.of(name, catalogue);
        let in_link = lines.iter().any(|line| line.name.starts_with("link-") && line.price.is_some());
        lines.push(Line {
            what: module.map_or_else(|| name.clone(), |module| module.title.clone()),
            name: name.clone(),
            count: *count,
            power: module.map(|module| module.power.value),
            note: (price.is_none() && in_link).then(|| "in the price of the links".to_owned()),
            price,
        });
    }
    lines
}

/// Retimers that the channels of one host hold or lack.
fn retimers(machine: &Machine, catalogue: &Catalogue) -> u16 {
    let of_branch = |branch: &weft_catalogue::Branch| -> u16 {
        let devices = u16::try_from(branch.gpus.len() + branch.nics.len()).unwrap_or(u16::MAX);
        let there = branch.channel.iter().filter(|part| catalogue.retimer(&part.part).is_ok()).count();
        let link = branch.link.as_deref().and_then(|name| catalogue.link(name).ok());
        let budgets =
            link.and_then(|link| weft_topology::channel_budgets(&branch.channel, link, catalogue).ok());
        let lacking = budgets.unwrap_or_default().iter().filter(|budget| budget.needs_retimer()).count();
        devices.saturating_mul(u16::try_from(there + lacking).unwrap_or(u16::MAX))
    };
    machine.pcie.iter().map(of_branch).sum()
}
