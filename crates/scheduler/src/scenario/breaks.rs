//! What breaks in a scenario, and how long things take.

use std::ops::Range;

use toml::Spanned;
use weft_base::{Period, Place, Rate, Ratio};

use super::Pace;
use super::file::{ChanceTable, FaultTable, LatencyTable, SpeedTable, UplinkTable};
use super::spots::Spots;
use crate::cluster::{Cluster, LEVELS, Level, NodeId};
use crate::contention::Uplinks;
use crate::world::{Chances, Fault, Latencies, Trouble};

/// Longer than any run: what breaks for good.
const FOR_GOOD: Period = Period::milliseconds(Period::YEAR.get() * 1000);
/// How a fault is written.
const FORMS: &str = "write `node NAME`, `gpu NAME/3`, `gpu NAME/3 xid 79`, `nic NAME`, `link NAME`, `crash NAME/3`, `leaf 0` or `rack 2`";

pub fn fault(
    span: &Range<usize>,
    table: &FaultTable,
    cluster: &Cluster,
    spots: &mut Spots<'_>,
) -> Option<Fault> {
    let what = trouble(span, &table.what, cluster, spots)?;
    Some(Fault { at: table.at, what, lasts: table.lasts.unwrap_or(FOR_GOOD) })
}

fn trouble(span: &Range<usize>, text: &str, cluster: &Cluster, spots: &mut Spots<'_>) -> Option<Trouble> {
    let place = spots.key(span, "what");
    let words: Vec<&str> = text.split_whitespace().collect();
    let domain = |level: Level, number: &str| {
        number.parse().ok().filter(|number: &u32| *number < cluster.domain_count(level))
    };
    let found = match words.as_slice() {
        ["node", name] => Trouble::Node(node(name, cluster, &place, spots)?),
        ["nic", name] => Trouble::Nic(node(name, cluster, &place, spots)?),
        ["link", name] => Trouble::Flap(node(name, cluster, &place, spots)?),
        ["gpu", name] => {
            let (node, gpu) = gpu(name, cluster, &place, spots)?;
            Trouble::Gpu(node, gpu, None)
        }
        ["gpu", name, "xid", xid] if xid.parse::<u32>().is_ok() => {
            let (node, gpu) = gpu(name, cluster, &place, spots)?;
            Trouble::Gpu(node, gpu, xid.parse().ok())
        }
        ["crash", name] => {
            let (node, gpu) = gpu(name, cluster, &place, spots)?;
            Trouble::Crash(node, gpu)
        }
        ["leaf", number] if domain(Level::Leaf, number).is_some() => {
            Trouble::Leaf(domain(Level::Leaf, number)?)
        }
        ["rack", number] if domain(Level::Rack, number).is_some() => {
            Trouble::Rack(domain(Level::Rack, number)?)
        }
        _ => {
            spots.wrong(place, format!("`{text}` is nothing that can break"), FORMS);
            return None;
        }
    };
    Some(found)
}

fn node(name: &str, cluster: &Cluster, place: &Place, spots: &mut Spots<'_>) -> Option<NodeId> {
    let found = cluster.ids().find(|node| cluster.nodes[node.at()].name == name);
    if found.is_none() {
        let known: Vec<&str> = cluster.nodes.iter().map(|node| node.name.as_str()).take(8).collect();
        spots.unknown(place.clone(), "node", name, &known);
    }
    found
}

fn gpu(name: &str, cluster: &Cluster, place: &Place, spots: &mut Spots<'_>) -> Option<(NodeId, u8)> {
    let Some((host, number)) = name.split_once('/') else {
        spots.wrong(place.clone(), format!("`{name}` names no GPU"), FORMS);
        return None;
    };
    let node = node(host, cluster, place, spots)?;
    let count = cluster.shape(node).kind.gpu_count;
    match number.parse::<u8>() {
        Ok(gpu) if gpu < count => Some((node, gpu)),
        _ => {
            let message = format!("{host} has no GPU `{number}`");
            spots.wrong(place.clone(), message, format!("it has {count}, from 0 on"));
            None
        }
    }
}

pub fn latencies(table: &LatencyTable) -> Latencies {
    let LatencyTable { bind, report, start, restart, grace, slow, detection } = *table;
    Latencies { bind, report, start, restart, grace, slow, detection }
}

pub fn chances(table: &ChanceTable, spots: &mut Spots<'_>) -> Chances {
    let mut percent = |chance: &Option<Spanned<Ratio>>| {
        let Some(chance) = chance else { return 0 };
        let value = chance.get_ref().as_f64() * 100.0;
        if !(0.0..=100.0).contains(&value) || value.fract() != 0.0 {
            let place = Place::in_text(spots.file, spots.text, &chance.span());
            spots.wrong(place, format!("a chance is {value} %"), "it is a whole number of percent, 0 to 100");
            return 0;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
        let value = value as u8;
        value
    };
    Chances {
        conflict_percent: percent(&table.conflict),
        expiry_percent: percent(&table.expiry),
        slow_percent: percent(&table.slow),
        unheeded_percent: percent(&table.unheeded),
    }
}

/// How fast jobs are where they sit.
pub fn pace(
    speed: Option<&Spanned<SpeedTable>>,
    uplinks: Option<&Spanned<UplinkTable>>,
    spots: &mut Spots<'_>,
) -> Pace {
    match (speed, uplinks) {
        (None, None) => Pace::Full,
        (Some(table), None) => speeds(table, spots).map_or(Pace::Full, Pace::ByLevel),
        (None, Some(table)) => {
            let UplinkTable { node, leaf, spine } = *table.get_ref();
            // Without groups of spines nothing is narrower than the leaves' uplinks.
            let spine = spine.unwrap_or(Rate::bytes_per_second(u64::MAX >> 8));
            if [node, leaf, spine].contains(&Rate::ZERO) {
                let place = Place::in_text(spots.file, spots.text, &table.span());
                spots.wrong(place, "a link that carries nothing is none", "give the rate of one direction");
            }
            Pace::Uplinks(Uplinks { node, leaf, spine })
        }
        (Some(_), Some(table)) => {
            let place = Place::in_text(spots.file, spots.text, &table.span());
            let hint = "`[speed]` gives shares by level, `[uplinks]` works them out from what jobs send";
            spots.wrong(place, "a scenario has `[speed]` or `[uplinks]`", hint);
            Pace::Full
        }
    }
}

/// Shares of the full speed by the level that holds a job; a level that is not named is as fast as the one below.
fn speeds(table: &Spanned<SpeedTable>, spots: &mut Spots<'_>) -> Option<[f64; LEVELS.len()]> {
    let SpeedTable { node, domain, rack, leaf, spine, cluster } = *table.get_ref();
    let mut last = 1.0;
    let mut shares = [1.0; LEVELS.len()];
    for (share, given) in shares.iter_mut().zip([node, domain, rack, leaf, spine, cluster]) {
        let value = given.map_or(last, Ratio::as_f64);
        if value <= 0.0 || value > last {
            let place = Place::in_text(spots.file, spots.text, &table.span());
            let hint = "each level has more than 0 % and no more than the level below: `leaf = \"95 %\"`";
            spots.wrong(place, "jobs cannot be faster when they are apart", hint);
            return None;
        }
        (*share, last) = (value, value);
    }
    Some(shares)
}
