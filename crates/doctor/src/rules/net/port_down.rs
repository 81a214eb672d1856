//! Ports that are down beside ports that are up.

use weft_base::{Place, Severity};

use super::health::PORT_DOWN;
use super::lookup::quotient;
use super::ports::{self, Port};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::words::listed_to;

/// On one host, or on one of several.
pub(super) fn down(chart: &Chart<'_>) -> Option<Finding> {
    on_one_of_several(chart).or_else(|| on_a_host(chart))
}

/// A port that is down on a host and up on others.
fn on_one_of_several(chart: &Chart<'_>) -> Option<Finding> {
    let hosts = ports::by_host(chart);
    let (host, port, twin, count) = hosts.iter().find_map(|(host, own)| {
        let port = own.values().find(|port| {
            let is_up = |other: &Port| other.adapter == port.adapter && other.is_up == Some(true);
            let others = hosts.iter().filter(|(name, _)| name != host);
            port.is_up == Some(false) && others.clone().any(|(_, ports)| ports.values().any(is_up))
        })?;
        let others = hosts.iter().filter(|(name, _)| name != host);
        let twin = others.flat_map(|(_, ports)| ports.values()).find(|it| it.adapter == port.adapter)?;
        Some((host, port, twin, own.len()))
    })?;
    let fewer = fewer_listed(chart, &port.adapter);
    let confidence = if fewer.is_some() { Confidence::Certain } else { Confidence::Likely };
    let what = format!("{} of {host} is down, and up on other hosts", port.adapter);
    let mut found = Finding::new(&PORT_DOWN, confidence, what)
        .at(port.place.clone(), format!("{}: {} is not active", host, port.adapter))
        .at(twin.place.clone(), format!("another host: {} is active", twin.adapter));
    if let Some((place, says)) = fewer {
        found = found.at(place, says);
    }
    let share = quotient(1, count.max(1));
    Some(mended(found.costs(share, format!("one of {count} ports: all hosts wait for that one"))))
}

/// A log in which a network lists adapters without that one.
fn fewer_listed(chart: &Chart<'_>, adapter: &str) -> Option<(Place, String)> {
    chart.logs().find_map(|(log, place)| {
        let list = log.adapters.iter().find(|list| {
            list.network == "IB"
                && !list.adapters.is_empty()
                && list.adapters.iter().all(|it| it.name != adapter)
        })?;
        Some((at(place, list.line), format!("NET/IB uses {} adapters, not {adapter}", list.adapters.len())))
    })
}

fn on_a_host(chart: &Chart<'_>) -> Option<Finding> {
    let ports = ports::ports(chart);
    let up = ports.values().filter(|port| port.is_up == Some(true)).count();
    let off: Vec<&Port> = ports.values().filter(|port| port.is_up == Some(false)).collect();
    let first = off.first()?;
    let is_used = |name: &str| ports::used(chart).iter().any(|(own, _, _)| own == name);
    let names: Vec<&str> = off.iter().map(|port| port.adapter.as_str()).collect();
    // One of many that are alike is missed; half of them are second ports.
    let is_odd = off.len() * 4 <= up && chart.shortfall().is_some() && chart.host_count() > 1;
    let (confidence, severity) = match (up, off.iter().any(|port| is_used(&port.adapter)) || is_odd) {
        (0, _) | (_, true) => (Confidence::Likely, Severity::Error),
        (_, false) if off.len() * 3 <= up => (Confidence::Possible, Severity::Warning),
        (_, false) => (Confidence::Possible, Severity::Note),
    };
    let found = Finding::new(&PORT_DOWN, confidence, format!("down: {}", listed_to(&names, 6)))
        .at(first.place.clone(), format!("{} is not active", first.adapter));
    let share = if up == 0 { 1.0 } else { quotient(off.len(), up + off.len()).min(0.3) };
    Some(mended(found.costs(share, "what these ports would carry")).severity(severity))
}

fn mended(found: Finding) -> Finding {
    found
        .fix("cable and transceiver, the switch's port, the subnet manager; nothing where they are not cabled on purpose")
        .check("ibstat says Active, and `NET/IB : Using` lists the port")
        .settle("ibstat of all hosts; mlxlink -d of that adapter for what its cable says")
}
