//! Rates between pairs of hosts: is a host slow, or a route?

use std::collections::{BTreeMap, BTreeSet};

use weft_base::{Place, Rate};
use weft_formats::{Measure, PairTable};

use super::lookup::best_rate;
use crate::chart::{Chart, at};

/// What two hosts reach with each other.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The hosts, in order of their names.
    pub ends: (String, String),
    /// The lower of both directions.
    pub rate: Rate,
    /// Where it was read.
    pub place: Place,
}

/// What pairs say together.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// What most pairs reach.
    pub usual: Rate,
    /// Hosts that are slow with each other host that they were paired with.
    pub slow_hosts: Vec<String>,
    /// Pairs of which either host may be slow: neither was in another pair.
    pub open: Vec<Pair>,
    /// Slow pairs both of whose hosts are fast with others.
    pub slow_routes: Vec<Pair>,
    /// All slow pairs.
    pub slow: Vec<Pair>,
}

/// Below this share of what is usual a pair is slow.
pub(super) const SLOW: f64 = 0.8;

/// All pairs of hosts in the input.
pub fn pairs(chart: &Chart<'_>) -> Vec<Pair> {
    let mut found: BTreeMap<(String, String), Pair> = BTreeMap::new();
    let mut add = |a: &str, b: &str, rate: Rate, place: Place| {
        let ends = if a <= b { (a.to_owned(), b.to_owned()) } else { (b.to_owned(), a.to_owned()) };
        let pair = Pair { ends: ends.clone(), rate, place };
        match found.get_mut(&ends) {
            Some(known) if known.rate <= rate => {}
            Some(known) => *known = pair,
            None => {
                found.insert(ends, pair);
            }
        }
    };
    for (table, place) in chart.pair_tables().filter(|(table, _)| is_of_hosts(table)) {
        for cell in table.between() {
            if let Measure::Rate(rate) = cell.measure {
                add(&table.rows[cell.row], &table.columns[cell.column], rate, at(place, cell.line));
            }
        }
    }
    if found.len() < 2 {
        for run in &chart.runs {
            let hosts = run.benchmark.hosts();
            let ([a, b], Some(rate)) = (&hosts[..], best_rate(run)) else { continue };
            // `best` of two runs of one pair: the better one counts.
            let ends = ((*a).to_owned(), (*b).to_owned());
            let pair = Pair { ends: ends.clone(), rate, place: run.place.clone() };
            let known = found.entry(ends).or_insert_with(|| pair.clone());
            if known.rate < rate {
                *known = pair;
            }
        }
    }
    found.into_values().collect()
}

/// Names of hosts, not numbers of GPUs.
fn is_of_hosts(table: &PairTable) -> bool {
    let is_name = |name: &String| {
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        let name = name.to_ascii_uppercase();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_device =
            matches!(stem, "GPU" | "CPU" | "NIC" | "DEVICE" | "GPU " | "CPU " | "NUMA") || name.contains(':');
        !is_number && !name.starts_with("GPU") && !is_device
    };
    let is_known_tool = ["p2p-bandwidth-latency-test", "nvbandwidth"].contains(&table.format);
    !is_known_tool && table.devices.is_empty() && table.rows.iter().chain(&table.columns).all(is_name)
}

/// Tells hosts from routes; `None` where all pairs are alike, or too few to tell.
pub fn judge(pairs: &[Pair]) -> Option<Verdict> {
    let mut rates: Vec<Rate> = pairs.iter().map(|pair| pair.rate).collect();
    rates.sort_unstable();
    // The upper quartile: of many pairs half may be slow.
    let usual = *rates.get(rates.len() * 3 / 4)?;
    let is_slow = |pair: &&Pair| pair.rate.as_gigabytes() < SLOW * usual.as_gigabytes();
    let slow: Vec<Pair> = pairs.iter().filter(is_slow).cloned().collect();
    if slow.is_empty() || pairs.len() < 2 {
        return None;
    }
    let mut good: BTreeSet<&str> = BTreeSet::new();
    for pair in pairs.iter().filter(|pair| !is_slow(pair)) {
        good.extend([pair.ends.0.as_str(), pair.ends.1.as_str()]);
    }
    let of = |host: &str| slow.iter().filter(|pair| pair.ends.0 == host || pair.ends.1 == host).count();
    let mut verdict = Verdict { usual, slow: slow.clone(), ..Verdict::default() };
    // The host that is in most slow pairs and in no good one explains them; then the next.
    let mut left = slow.clone();
    loop {
        let ends = left.iter().flat_map(|pair| [pair.ends.0.clone(), pair.ends.1.clone()]);
        let bad: BTreeSet<String> = ends.filter(|host| !good.contains(host.as_str())).collect();
        let count =
            |host: &String| left.iter().filter(|pair| pair.ends.0 == **host || pair.ends.1 == **host).count();
        let Some(host) = bad.iter().max_by_key(|host| (count(host), of(host))).cloned() else { break };
        let (own, rest): (Vec<Pair>, Vec<Pair>) =
            left.into_iter().partition(|pair| pair.ends.0 == host || pair.ends.1 == host);
        left = rest;
        let either = own.len() == 1
            && !good.contains(own[0].ends.0.as_str())
            && !good.contains(own[0].ends.1.as_str());
        if either { verdict.open.extend(own) } else { verdict.slow_hosts.push(host) }
    }
    verdict.slow_routes = left;
    Some(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: &str, b: &str, gigabytes: f64) -> Pair {
        Pair {
            ends: (a.to_owned(), b.to_owned()),
            rate: Rate::from_gigabytes(gigabytes),
            place: Place::new("t", 1, 1, 0),
        }
    }

    #[test]
    fn a_slow_pair_of_hosts_that_are_fast_with_others_is_a_route() {
        let found = judge(&[pair("a", "b", 25.0), pair("a", "c", 39.0), pair("b", "c", 39.0)]).unwrap();
        assert_eq!((found.slow_routes.len(), found.slow_hosts.len(), found.open.len()), (1, 0, 0));
    }

    #[test]
    fn a_host_that_is_slow_with_all_is_slow_itself() {
        let all = [
            pair("a", "b", 25.0),
            pair("b", "c", 24.0),
            pair("a", "c", 39.0),
            pair("a", "d", 39.1),
            pair("c", "d", 39.0),
        ];
        let found = judge(&all).unwrap();
        assert_eq!((found.slow_hosts, found.slow_routes.len()), (vec!["b".to_owned()], 0));
    }

    #[test]
    fn of_two_hosts_of_one_slow_pair_either_may_be_it() {
        let all = [
            pair("n644", "n699", 49.36),
            pair("n632", "n641", 88.36),
            pair("n284", "n678", 49.28),
            pair("n641", "n644", 49.30),
            pair("n404", "n699", 86.81),
        ];
        let found = judge(&all).unwrap();
        assert_eq!(found.slow_hosts, ["n644"]);
        assert_eq!(found.open.len(), 1);
        assert!(found.slow_routes.is_empty());
    }

    #[test]
    fn pairs_that_are_alike_say_nothing() {
        assert!(judge(&[pair("a", "b", 39.0), pair("a", "c", 38.0), pair("b", "c", 40.0)]).is_none());
    }
}
