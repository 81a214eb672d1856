//! A network by tiers, what its cables run, its leaves, and what is slow or down.

use std::collections::BTreeMap;

use weft_base::Place;
use weft_formats::{Evidence, Located};
use weft_topology::{ForwardingTable, Subnet, SubnetFinding, SubnetNodeKind};

use crate::names;
use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Cables or adapters that are named; the rest is counted.
const NAMED_MAX: usize = 8;
/// Kinds of leaves that are listed.
const LEAVES_MAX: usize = 6;

/// The network.
pub fn section(subnet: &Subnet, place: &Place) -> String {
    let mut table = Table::default();
    let mut last = String::new();
    let mut row = |name: &str, text: String| {
        // Rows of one kind follow each other.
        let shown = if last == name { "" } else { name };
        table.row([Cell::new(shown).tone(Tone::Faint), Cell::new(text).wide()]);
        name.clone_into(&mut last);
    };
    for (name, text) in switches(subnet) {
        row(&name, text);
    }
    row("adapters", adapters(subnet));
    for text in cables(subnet) {
        row("cables", text);
    }
    for text in leaves(subnet) {
        row("leaves", text);
    }
    if let Some(rails) = subnet.rails() {
        row("rails", format!("{rails}: each adapter of a host has leaves of its own"));
    }
    for (name, text) in faults(subnet) {
        row(name, text);
    }
    titled(&format!("InfiniBand subnet (line {})", place.line), &table.lines())
}

fn switches(subnet: &Subnet) -> Vec<(String, String)> {
    let tiers = subnet.tiers();
    let mut counts: BTreeMap<Option<u8>, BTreeMap<&str, usize>> = BTreeMap::new();
    for (index, node) in subnet.of_kind(SubnetNodeKind::Switch) {
        *counts.entry(tiers[index as usize]).or_default().entry(model(&node.name)).or_default() += 1;
    }
    let name = |tier: Option<u8>| match tier {
        Some(0) => "leaf switches".to_owned(),
        Some(1) => "spine switches".to_owned(),
        Some(2) => "core switches".to_owned(),
        Some(tier) => format!("switches of tier {}", tier + 1),
        None => "switches without hosts".to_owned(),
    };
    let models = |counts: &BTreeMap<&str, usize>| {
        let total: usize = counts.values().sum();
        let named = counts.iter().filter(|(model, _)| !model.is_empty());
        let named: Vec<String> = named.map(|(model, count)| format!("{count} x {model}")).collect();
        if named.is_empty() { total.to_string() } else { format!("{total}: {}", named.join(", ")) }
    };
    counts.iter().map(|(tier, counts)| (name(*tier), models(counts))).collect()
}

/// `MQM8700` of `MF0;leaf-1:MQM8700/U1`.
fn model(description: &str) -> &str {
    let model = description.rsplit_once(':').map_or("", |(_, model)| model);
    model.split('/').next().unwrap_or(model)
}

fn adapters(subnet: &Subnet) -> String {
    let hosts = subnet.hosts();
    let count: usize = hosts.iter().map(|host| host.adapters.len()).sum();
    let aggregation = subnet.nodes.iter().filter(|node| node.is_aggregation()).count();
    let mut text = format!("{count} on {}", names::count(hosts.len(), "host"));
    if aggregation > 0 {
        let nodes = names::count(aggregation, "aggregation node");
        text.extend([", and ", &nodes, " of switches that reduce"]);
    }
    text
}

/// What a cable carries, and its lanes and generation.
type Runs = (Option<weft_base::Rate>, Option<(u8, weft_topology::Generation)>);

fn cables(subnet: &Subnet) -> Vec<String> {
    let mut counts = BTreeMap::new();
    for link in &subnet.links {
        let runs = link.signalling.map(|runs| (runs.generation, runs.lanes));
        *counts.entry((link.rate, runs.map(|(generation, lanes)| (lanes, generation)))).or_insert(0usize) +=
            1;
    }
    let text = |(kind, count): (&Runs, &usize)| {
        let (rate, runs) = kind;
        let runs =
            runs.map(|(lanes, generation)| format!(" ({lanes}x{})", generation.word())).unwrap_or_default();
        match rate {
            Some(rate) => format!("{count} at {rate} per direction{runs}"),
            None => format!("{count} of unknown rate{runs}"),
        }
    };
    counts.iter().rev().map(text).collect()
}

/// Like leaves in one line, the commonest first.
fn leaves(subnet: &Subnet) -> Vec<String> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for leaf in subnet.leaves() {
        let ratio = match leaf.oversubscription() {
            Some(ratio) => format!(", {ratio:.2}:1 down to up"),
            None if leaf.up == 0 => ", nothing above".to_owned(),
            None => String::new(),
        };
        let text = format!("{} down and {} up{ratio}", leaf.down, leaf.up);
        let place = *known.entry(text.clone()).or_insert(kinds.len());
        if place == kinds.len() {
            kinds.push((text, 0));
        }
        kinds[place].1 += 1;
    }
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let left: usize = kinds.iter().skip(LEAVES_MAX).map(|(_, count)| count).sum();
    let mut lines: Vec<String> =
        kinds.iter().take(LEAVES_MAX).map(|(text, count)| format!("{count} with {text}")).collect();
    lines.extend((left > 0).then(|| format!("and {left} others")));
    lines
}

/// What is slow, contradicts itself or is down.
fn faults(subnet: &Subnet) -> Vec<(&'static str, String)> {
    let end = |end: &weft_topology::SubnetEnd| format!("{} port {}", subnet.label(end.node), end.port);
    let runs =
        |link: &weft_topology::SubnetLink| link.signalling.map_or_else(String::new, |runs| runs.to_string());
    let mut found: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for finding in subnet.check() {
        let (name, text) = match finding {
            SubnetFinding::Degraded { link, usual } => {
                let link = &subnet.links[link as usize];
                ("degraded", format!("{} to {}: {}, not {usual}", end(&link.a), end(&link.b), runs(link)))
            }
            SubnetFinding::EndsDiffer { link } => {
                let link = &subnet.links[link as usize];
                let of = |end: &weft_topology::SubnetEnd| {
                    end.signalling.map_or_else(String::new, |own| own.to_string())
                };
                let (a, b) = (of(&link.a), of(&link.b));
                ("ends differ", format!("{} {a}, {} {b}", end(&link.a), end(&link.b)))
            }
            SubnetFinding::OneSided { said, silent } => {
                ("one-sided", format!("{} says it reaches {}", end(&said), end(&silent)))
            }
            SubnetFinding::AdapterAlone { node } => ("down", subnet.label(node)),
            SubnetFinding::PortTwice { end: port, .. } => ("two cables", end(&port)),
            SubnetFinding::GuidTwice { guid, .. } => ("GUID twice", guid.to_string()),
        };
        found.entry(name).or_default().push(text);
    }
    found.entry("down").or_default().extend(subnet.down.iter().map(end));
    let mut rows = Vec::new();
    for (name, texts) in found {
        let left = texts.len().saturating_sub(NAMED_MAX);
        rows.extend(texts.into_iter().take(NAMED_MAX).map(|text| (name, text)));
        rows.extend((left > 0).then(|| (name, format!("and {left} more"))));
    }
    rows
}

/// All forwarding tables in one section; `None` where there are none.
pub fn forwarding(evidence: &[Located<Evidence>]) -> Option<String> {
    let mut tables: Vec<(&ForwardingTable, &Place)> = Vec::new();
    for Located { value, place } in evidence {
        if let Evidence::Forwarding(table) = value {
            tables.push((table, place));
        }
    }
    let (_, first) = tables.first()?;
    let entries = tables.iter().map(|(table, _)| table.ports.len());
    let (least, most) = (entries.clone().min()?, entries.max()?);
    let each = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let dropped = |table: &ForwardingTable| table.ports.iter().filter(|(_, port)| *port == 255).count();
    let dropped: usize = tables.iter().map(|(table, _)| dropped(table)).sum();
    let mut rows = Table::default();
    let mut row = |name: &str, text: String| rows.row([Cell::new(name).tone(Tone::Faint), Cell::new(text)]);
    row("switches", tables.len().to_string());
    row("destinations of each", each);
    if dropped > 0 {
        row("dropped", names::count(dropped, "destination"));
    }
    Some(titled(&format!("Forwarding tables (line {})", first.line), &rows.lines()))
}
