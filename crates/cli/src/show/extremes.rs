//! The widest and the narrowest pair, the narrow one with its way.

use std::fmt::Write as _;

use weft_base::Rate;
use weft_formats::EndKind;
use weft_topology::{Hop, NodeId, Route, Topology};

use super::links::hop_links;
use crate::names;
use crate::pairs::{Cell as PairCell, Pairs, Routes};
use crate::style::{Tone, faint};
use crate::table::{Cell, Table};

/// A pair with its rate.
struct Rated {
    row: usize,
    column: usize,
    rate: Rate,
}

/// Both extremes of the pairs of GPUs, and of each GPU and its NICs.
pub fn section(pairs: &Pairs<'_>, routes: &mut Routes<'_>, topology: &Topology) -> Option<String> {
    let mut text = String::new();
    for (title, kind) in [("GPU to GPU", EndKind::Gpu), ("GPU to NIC", EndKind::Nic)] {
        let rated = rated(pairs, routes, kind);
        text.push_str(&extremes(title, &rated, pairs, routes, topology).unwrap_or_default());
    }
    (!text.is_empty()).then(|| super::titled("Widest and narrowest, per direction", &text))
}

/// Pairs of a GPU and a device of `kind` whose way is known; each pair of GPUs once.
fn rated(pairs: &Pairs<'_>, routes: &mut Routes<'_>, kind: EndKind) -> Vec<Rated> {
    let mut found = Vec::new();
    for row in pairs.of_kind(EndKind::Gpu) {
        for column in pairs.of_kind(kind).filter(|column| kind == EndKind::Nic || *column > row) {
            let class = match pairs.cell(row, column) {
                PairCell::Class(class) => class,
                // The row of the other device may say it.
                PairCell::Absent | PairCell::Unknown => match pairs.cell(column, row) {
                    PairCell::Class(class) => class,
                    PairCell::Absent | PairCell::Unknown | PairCell::Same => continue,
                },
                PairCell::Same => continue,
            };
            let (a, b) = (pairs.ends[row].node, pairs.ends[column].node);
            if pairs.agrees(row, column, class) {
                found.extend(routes.rate(a, b).map(|rate| Rated { row, column, rate }));
            }
        }
    }
    found
}

fn extremes(
    title: &str,
    rated: &[Rated],
    pairs: &Pairs<'_>,
    routes: &mut Routes<'_>,
    topology: &Topology,
) -> Option<String> {
    let least = rated.iter().map(|pair| pair.rate).min()?;
    let most = rated.iter().map(|pair| pair.rate).max()?;
    let mut table = Table::default();
    let mut narrow = |table: &mut Table, word: &str| -> Option<String> {
        let alike: Vec<&Rated> = rated.iter().filter(|pair| pair.rate == least).collect();
        let first = alike.first()?;
        let (a, b) = (pairs.ends[first.row].node, pairs.ends[first.column].node);
        table.row(row(title, word, least, &alike, pairs));
        routes.between(a, b).map(|route| way(topology, (a, b), route))
    };
    let way = if least == most {
        narrow(&mut table, "all pairs")
    } else {
        let widest: Vec<&Rated> = rated.iter().filter(|pair| pair.rate == most).collect();
        table.row(row(title, "widest", most, &widest, pairs));
        narrow(&mut table, "narrowest")
    };
    let mut text = table.lines();
    text.push_str(&way.unwrap_or_default());
    Some(text)
}

fn row(title: &str, word: &str, rate: Rate, alike: &[&Rated], pairs: &Pairs<'_>) -> Vec<Cell> {
    let name = |end: usize| pairs.ends[end].label.as_str();
    let example = alike.first().map_or_else(String::new, |pair| {
        let more = match alike.len() - 1 {
            0 => String::new(),
            more => format!(" and {}", names::count(more, "more pair").replace("more pairs", "more")),
        };
        format!("{} to {}{more}", name(pair.row), name(pair.column))
    });
    vec![
        Cell::new(title),
        Cell::new(word),
        Cell::number(rate.to_string()).tone(Tone::Heading),
        Cell::new(example),
    ]
}

/// The steps of a way, and which of them is narrow.
fn way(topology: &Topology, (from, to): (NodeId, NodeId), route: &Route) -> String {
    let mut text = format!("    {}", topology.name(from));
    for hop in &route.hops {
        let links = hop_links(topology, hop);
        let end = end_of(topology, hop, to);
        let _ = write!(text, " {} {end}", faint(format_args!("-[{links}]-")));
    }
    text.push('\n');
    // Where all steps carry the same, none of them is narrow.
    let uneven = route.hops.iter().any(|hop| hop.rate > route.rate);
    if let Some(hop) = route.hops.get(route.bottleneck).filter(|_| uneven) {
        let links = hop_links(topology, hop);
        let _ = writeln!(text, "    narrow at {links} {}", ends_of(topology, hop));
    }
    text
}

/// Where a step leads: a device, or several side by side (`6 NVSwitches`).
fn end_of(topology: &Topology, hop: &Hop, to: NodeId) -> String {
    let mut ends: Vec<NodeId> = hop.links.iter().map(|link| topology.link(*link).to).collect();
    ends.sort();
    ends.dedup();
    if ends.contains(&to) || ends.len() == 1 {
        return ends.first().map_or_else(String::new, |end| topology.name(*end));
    }
    let labels: Vec<String> = ends.iter().map(|end| topology.name(*end)).collect();
    names::ranges(&labels)
}

fn ends_of(topology: &Topology, hop: &Hop) -> String {
    let named = |pick: fn(&weft_topology::Link) -> NodeId| {
        let mut ends: Vec<NodeId> = hop.links.iter().map(|link| pick(topology.link(*link))).collect();
        ends.sort();
        ends.dedup();
        names::ranges(&ends.iter().map(|end| topology.name(*end)).collect::<Vec<_>>())
    };
    format!("from {} to {}", named(|link| link.from), named(|link| link.to))
}
