//! Rails that are plugged into the wrong switch, by what the interfaces hear from their switches.

use std::collections::BTreeMap;

use weft_base::Place;

use super::lookup;
use super::rails::CROSS_RAIL;
use crate::cause::Cause;
use crate::chart::Chart;
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// The rule.
#[derive(Debug)]
pub struct Wiring;

impl Rule for Wiring {
    fn causes(&self) -> &'static [&'static Cause] {
        // The rule on rails owns the cause.
        &[]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let ties = ties(chart);
        misplaced(&ties).map(|odd| finding(&odd)).into_iter().collect()
    }
}

/// An interface of a host and the switch at its other end.
#[derive(Debug, Clone)]
struct Tie {
    host: String,
    interface: String,
    switch: String,
    place: Place,
}

/// Interfaces of one host that are at other switches than their like on other hosts.
struct Odd<'t> {
    ties: Vec<&'t Tie>,
    /// The switch where most of their like are, of each.
    usual: Vec<&'t Tie>,
    /// Hosts that are told of.
    hosts: usize,
}

fn ties(chart: &Chart<'_>) -> Vec<Tie> {
    let told = chart.records("neighbour").filter_map(|said| {
        let switch = said.record.text("switch").or(said.record.text("switch-id"))?;
        Some(Tie {
            host: lookup::host_of(said.report, &said.place()),
            interface: said.record.subject.clone(),
            switch: switch.to_owned(),
            place: said.place(),
        })
    });
    told.filter(|tie| !tie.host.is_empty()).collect()
}

/// The host most of whose interfaces are elsewhere than those of the same name on the others; where rails have each a
/// switch of their own.
fn misplaced(ties: &[Tie]) -> Option<Odd<'_>> {
    let mut rails: BTreeMap<&str, Vec<&Tie>> = BTreeMap::new();
    for tie in ties {
        rails.entry(&tie.interface).or_default().push(tie);
    }
    let mut hosts: Vec<&str> = ties.iter().map(|tie| tie.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let usual: BTreeMap<&str, &Tie> =
        rails.iter().filter_map(|(name, own)| Some((*name, most(own)?))).collect();
    // One switch for all rails has no wrong place, and neither has a rail that goes to two switches by design.
    let mut homes: Vec<&str> = usual.values().map(|tie| tie.switch.as_str()).collect();
    homes.sort_unstable();
    homes.dedup();
    if hosts.len() < 2 || homes.len() < 2 || homes.len() < usual.len() {
        return None;
    }
    let is_odd = |tie: &&Tie| {
        let home = usual.get(tie.interface.as_str()).map(|it| it.switch.as_str());
        // Where it is the home of another rail: a place that is plainly another's.
        home.is_some_and(|home| home != tie.switch) && homes.contains(&tie.switch.as_str())
    };
    let odd: Vec<&Tie> = ties.iter().filter(is_odd).collect();
    let host = odd.first()?.host.as_str();
    let odd: Vec<&Tie> = odd.into_iter().filter(|tie| tie.host == host).collect();
    let usual = odd.iter().filter_map(|tie| usual.get(tie.interface.as_str()).copied()).collect();
    Some(Odd { ties: odd, usual, hosts: hosts.len() })
}

/// A tie to the switch that most of them are at; the first of equals.
fn most<'t>(ties: &[&'t Tie]) -> Option<&'t Tie> {
    let count = |tie: &&Tie| ties.iter().filter(|other| other.switch == tie.switch).count();
    let best = ties.iter().map(count).max()?;
    ties.iter().find(|tie| count(tie) == best).copied()
}

fn finding(odd: &Odd<'_>) -> Finding {
    let Odd { ties, usual, hosts } = odd;
    let host = ties.first().map_or("", |tie| tie.host.as_str());
    let moved: Vec<String> = ties
        .iter()
        .zip(usual)
        .map(|(tie, home)| format!("{} is at {} and not at {}", tie.interface, tie.switch, home.switch))
        .collect();
    let what = format!("{host} is cabled otherwise than other hosts: {}", crate::words::listed(&moved));
    // Of two hosts either may be the one that is wrong.
    let confidence = if *hosts > 2 { Confidence::Certain } else { Confidence::Likely };
    let mut found = Finding::new(&CROSS_RAIL, confidence, what);
    for (tie, home) in ties.iter().zip(usual).take(3) {
        found = found
            .at(tie.place.clone(), format!("{}: {} hears {}", tie.host, tie.interface, tie.switch))
            .at(home.place.clone(), format!("{}: {} hears {}", home.host, home.interface, home.switch));
    }
    found
        .costs(0.4, "what stays on one leaf for other hosts crosses the spine for that one")
        .fix(format!("plug these cables of {host} into the switches of their rails"))
        .check("lldpctl shows the same switch for the same interface on all hosts")
        .settle("lldpctl of a third host, and the plan of the cables")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tie(host: &str, interface: &str, switch: &str) -> Tie {
        Tie {
            host: host.to_owned(),
            interface: interface.to_owned(),
            switch: switch.to_owned(),
            place: Place::new("t", 1, 1, 0),
        }
    }

    #[test]
    fn swapped_cables_are_told_and_designs_are_not() {
        let good = [tie("a", "e1", "l1"), tie("a", "e2", "l2"), tie("b", "e1", "l1"), tie("b", "e2", "l2")];
        assert!(misplaced(&good).is_none());
        let mut swapped = good.to_vec();
        swapped.extend([tie("c", "e1", "l2"), tie("c", "e2", "l1")]);
        let odd = misplaced(&swapped).unwrap();
        assert_eq!((odd.ties.len(), odd.ties[0].host.as_str(), odd.hosts), (2, "c", 3));
        // All rails of a rack at that rack's switch.
        let racks = [tie("a", "e1", "l1"), tie("a", "e2", "l1"), tie("b", "e1", "l2"), tie("b", "e2", "l2")];
        assert!(misplaced(&racks).is_none());
        // Another pod's leaves for the same rails.
        let pods = [tie("a", "e1", "l1"), tie("a", "e2", "l2"), tie("b", "e1", "l3"), tie("b", "e2", "l4")];
        assert!(misplaced(&pods).is_none());
    }
}
