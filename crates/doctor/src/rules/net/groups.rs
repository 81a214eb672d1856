//! Hosts that are slow together: below one switch, or on both sides of what joins two.

use std::collections::{BTreeMap, BTreeSet};

use weft_base::Rate;
use weft_topology::{Subnet, SubnetNodeKind};

use super::pairs::{Pair, SLOW, Verdict};
use crate::chart::Chart;

/// Slow pairs that there must be before they are called a boundary, and share of all pairs across it.
const PAIRS_MIN: usize = 4;
/// In tenths.
const MOST_TENTHS: usize = 9;

/// Groups of hosts that are fast among themselves, and slow with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    /// The groups, each in order; a group is a switch where the fabric says so.
    pub groups: Vec<Vec<String>>,
    /// The switches that groups are below, where each is below one.
    pub switches: Option<Vec<String>>,
}

/// Whether the slow routes are all there is between groups of hosts that are fast within.
pub fn boundary(chart: &Chart<'_>, pairs: &[Pair], verdict: &Verdict) -> Option<Boundary> {
    let slow: BTreeSet<&(String, String)> = verdict.slow.iter().map(|pair| &pair.ends).collect();
    let is_out = |host: &String| verdict.slow_hosts.contains(host);
    let inside = pairs.iter().filter(|pair| !is_out(&pair.ends.0) && !is_out(&pair.ends.1));
    let (across, within): (Vec<&Pair>, Vec<&Pair>) = inside.partition(|pair| slow.contains(&pair.ends));
    let groups = joined(&within);
    let of = |host: &String| groups.iter().position(|group| group.contains(host));
    let known: Vec<&&Pair> =
        across.iter().filter(|pair| of(&pair.ends.0).is_some() && of(&pair.ends.1).is_some()).collect();
    // A slow pair of one group whose hosts others join: a route of its own.
    let is_whole = known.iter().all(|pair| of(&pair.ends.0) != of(&pair.ends.1));
    let large = groups.len() > 1 && groups.iter().all(|group| group.len() > 1);
    if !large || !is_whole || known.len() < PAIRS_MIN || known.len() < across.len() {
        return None;
    }
    let possible: usize = groups
        .iter()
        .enumerate()
        .map(|(at, group)| group.len() * groups[..at].iter().map(Vec::len).sum::<usize>())
        .sum();
    if 10 * known.len() < MOST_TENTHS * possible {
        return None;
    }
    let below = below_switches(chart);
    let switch = |group: &Vec<String>| {
        let mut names = group.iter().map(|host| below.get(host));
        let first = names.next()??;
        names.all(|name| name == Some(first)).then(|| first.clone())
    };
    let switches = groups.iter().map(switch).collect::<Option<Vec<String>>>();
    Some(Boundary { groups, switches })
}

/// Hosts that fast pairs join, directly or through others.
fn joined(fast: &[&Pair]) -> Vec<Vec<String>> {
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for pair in fast {
        let (with, without): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| group.contains(&pair.ends.0) || group.contains(&pair.ends.1));
        groups = without;
        let mut group: BTreeSet<String> = with.into_iter().flatten().collect();
        group.extend([pair.ends.0.clone(), pair.ends.1.clone()]);
        groups.push(group);
    }
    let mut groups: Vec<Vec<String>> = groups.into_iter().map(|group| group.into_iter().collect()).collect();
    groups.sort();
    groups
}

/// A leaf switch with which all pairs are slow, and without which they are fast: its name, and both rates.
pub fn slow_switch(chart: &Chart<'_>, pairs: &[Pair]) -> Option<(String, Rate, Rate)> {
    let below = below_switches(chart);
    let leaves: BTreeSet<&String> = below.values().collect();
    let mut found = leaves.into_iter().filter_map(|leaf| {
        let is_below = |host: &String| below.get(host) == Some(leaf);
        let with = pairs.iter().filter(|pair| is_below(&pair.ends.0) || is_below(&pair.ends.1));
        let (with, without): (Vec<&Pair>, Vec<&Pair>) = (
            with.collect(),
            pairs.iter().filter(|pair| !is_below(&pair.ends.0) && !is_below(&pair.ends.1)).collect(),
        );
        let hosts: BTreeSet<&String> =
            with.iter().flat_map(|pair| [&pair.ends.0, &pair.ends.1]).filter(|host| is_below(host)).collect();
        let inside = with.iter().any(|pair| is_below(&pair.ends.0) && is_below(&pair.ends.1));
        let (best_with, least_without) =
            (with.iter().map(|pair| pair.rate).max()?, without.iter().map(|pair| pair.rate).min()?);
        let is_slow = best_with.as_gigabytes() < SLOW * least_without.as_gigabytes();
        (is_slow && inside && hosts.len() > 1 && with.len() >= PAIRS_MIN)
            .then(|| (leaf.clone(), best_with, least_without))
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The switch that each host is below, by the host's name; of hosts below several, none.
fn below_switches(chart: &Chart<'_>) -> BTreeMap<String, String> {
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (subnet, _) in chart.subnets() {
        for (host, switch) in cabled(subnet) {
            let entry = known.entry(host).or_insert_with(|| Some(switch.clone()));
            if entry.as_ref().is_some_and(|other| *other != switch) {
                *entry = None;
            }
        }
    }
    known.into_iter().filter_map(|(host, switch)| Some((host, switch?))).collect()
}

/// Each host with the switches that its adapters are cabled to.
fn cabled(subnet: &Subnet) -> Vec<(String, String)> {
    let cables = subnet.cables();
    let mut found = Vec::new();
    for host in subnet.hosts() {
        for link in host.adapters.iter().flat_map(|adapter| cables.of(*adapter)) {
            let link = &subnet.links[*link as usize];
            let far = [&link.a, &link.b].into_iter().map(|end| subnet.node(end));
            let switch = far.filter(|node| node.kind == SubnetNodeKind::Switch && !node.name.is_empty());
            found.extend(switch.map(|node| (host.name.clone(), node.name.clone())));
        }
    }
    found
}
