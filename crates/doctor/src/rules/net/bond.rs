//! Bonds of Ethernet ports of which one port carries.

use weft_base::{Place, Rate};
use weft_formats::{Record, Value};

use super::lookup::best_rate;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// One queue pair, one port.
pub const BOND_ONE_PORT: Cause = Cause {
    code: "D049",
    word: "bond-one-port",
    title: "a bond carries on one of its ports",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "An RDMA device over a bond (mlx5_bond_0) spreads queue pairs over the bond's ports; one queue pair stays on one \
        port, and few of them may be hashed to the same. NCCL makes one per connection, so that it reaches one port's rate or \
        somewhat more, while ib_write_bw with many queue pairs (-q 16) fills the bond. Set NCCL_IB_QPS_PER_CONNECTION to 2 or more \
        with NCCL_IB_SPLIT_DATA_ON_QPS=0, look at the switch's hash (layer3+4 with the UDP source port), or give up the bond: \
        NCCL uses two ports by itself. Known from NVIDIA/nccl#1015, NVIDIA/nccl-tests#265.",
};

/// The rule.
#[derive(Debug)]
pub struct Bonds;

impl Rule for Bonds {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&BOND_ONE_PORT]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let bonds = bonds(chart);
        if bonds.is_empty() {
            return Vec::new();
        }
        let seen = Seen::of(chart);
        bonds.iter().filter_map(|bond| judged(bond, &seen)).take(1).collect()
    }
}

/// A bond in the input.
struct Bond {
    name: String,
    place: Place,
    /// Ports and what one of them carries.
    ports: Option<(usize, Rate)>,
    /// Names of members that are down.
    down: Vec<(String, Place)>,
}

/// What `/proc/net/bonding` shows, else RDMA devices that logs name as bonds.
fn bonds(chart: &Chart<'_>) -> Vec<Bond> {
    let mut found = Vec::new();
    for (report, place) in chart.reports().filter(|(report, _)| report.format == "bonding") {
        let members: Vec<&Record> = report.records.iter().filter(|record| record.kind == "port").collect();
        let Some(head) = report.records.iter().find(|record| record.kind == "setting") else { continue };
        let rates = members.iter().filter_map(|member| match member.get("speed") {
            Some(Value::Rate(rate)) => Some(*rate),
            Some(_) | None => None,
        });
        let is_down = |member: &&&Record| member.text("mii-status").is_some_and(|status| status != "up");
        let down = members.iter().filter(is_down);
        found.push(Bond {
            name: head.subject.clone(),
            place: at(place, head.line),
            ports: rates.min().filter(|_| members.len() > 1).map(|rate| (members.len(), rate)),
            down: down.map(|member| (member.subject.clone(), at(place, member.line))).collect(),
        });
    }
    if found.is_empty() {
        for (log, place) in chart.logs() {
            let lists = log.adapters.iter().filter(|list| list.network.starts_with("IB"));
            let used = lists.flat_map(|list| list.adapters.iter().map(move |adapter| (adapter, list.line)));
            for (adapter, line) in used.filter(|(adapter, _)| adapter.name.contains("bond")).take(1) {
                let place = at(place, line);
                found.push(Bond { name: adapter.name.clone(), place, ports: None, down: Vec::new() });
            }
        }
    }
    found
}

/// What a bond is judged by.
struct Seen {
    /// `NCCL_IB_QPS_PER_CONNECTION`.
    queue_pairs: Option<u32>,
    probes: Vec<(u32, Rate, Place)>,
    measured: Option<(Rate, Place)>,
}

impl Seen {
    fn of(chart: &Chart<'_>) -> Self {
        let queue_pairs = chart.setting("NCCL_IB_QPS_PER_CONNECTION");
        Self {
            queue_pairs: queue_pairs.and_then(|it| it.value.trim().parse().ok()),
            probes: probes(chart),
            measured: measured(chart),
        }
    }
}

fn judged(bond: &Bond, seen: &Seen) -> Option<Finding> {
    let Seen { queue_pairs, probes, measured } = seen;
    let (count, port) = bond.ports.unzip();
    let what = match count {
        Some(count) => format!("{} of {count} ports does not carry on all of them", bond.name),
        None => format!("{} does not carry on all of its ports", bond.name),
    };
    let mut found = Finding::new(&BOND_ONE_PORT, Confidence::Possible, what)
        .at(bond.place.clone(), bond.ports.map_or_else(|| format!("{} is a bond", bond.name), |(count, rate)| {
            format!("{} has {count} ports of {rate} in each direction", bond.name)
        }))
        .fix(
            "NCCL_IB_QPS_PER_CONNECTION=4 with NCCL_IB_SPLIT_DATA_ON_QPS=0 (of the job); the switch's and the bond's hash over \
             layer 3+4; or two ports without a bond",
        )
        .check("busbw above what one port carries; `ethtool -S` of both members counts alike")
        .settle("ib_write_bw -q 1 and -q 16 over the bond, and `ethtool -S` of each member during a run");
    if let Some((name, place)) = bond.down.first() {
        found = found.at(place.clone(), format!("{name} is down")).confidence(Confidence::Certain);
        return Some(
            found
                .costs(0.5, "the share of the port that is down")
                .fix("look at the cable and the switch port of that member"),
        );
    }
    for (pairs, rate, place) in probes {
        found = found.at(place.clone(), format!("RDMA write with {pairs} queue pairs: {rate}"));
    }
    let (measured, place) = measured.clone()?;
    let few = probes.iter().min_by_key(|probe| probe.0).filter(|probe| probe.0 < 4);
    let many = probes.iter().max_by_key(|probe| probe.0).filter(|probe| probe.0 > 1);
    let whole = many.map(|probe| probe.1).or_else(|| {
        bond.ports.map(|(count, rate)| Rate::bytes_per_second(rate.get() * u64::try_from(count).unwrap_or(1)))
    })?;
    let share = measured.as_gigabytes() / whole.as_gigabytes().max(1e-9);
    if share > 0.75 || queue_pairs.is_some_and(|count| count > 1) && share > 0.6 {
        return None;
    }
    let like_one = |rate: Rate| (measured.as_gigabytes() / rate.as_gigabytes() - 1.0).abs() < 0.15;
    let one_port = port.is_some_and(like_one) || few.is_some_and(|probe| like_one(probe.1));
    let confidence = match (one_port, many.is_some() && queue_pairs.is_none_or(|count| count < 2)) {
        (true, true) => Confidence::Certain,
        (true, false) | (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let of = "busbw between hosts";
    Some(
        found
            .at(place, format!("best busbw {measured}"))
            .confidence(confidence)
            .figures(of, whole, measured)
            .costs(1.0 - share, format!("{:.0} % of the bond", 100.0 * (1.0 - share))),
    )
}

/// What point-to-point tests reached: queue pairs, rate, place.
fn probes(chart: &Chart<'_>) -> Vec<(u32, Rate, Place)> {
    let own = chart.runs.iter().filter(|run| run.benchmark.tool == "perftest");
    let of = |run: &Run<'_>| {
        let pairs =
            run.benchmark.parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case("number of qps"))?;
        Some((pairs.1.trim().parse().ok()?, best_rate(run)?, run.place.clone()))
    };
    own.filter_map(of).collect()
}

/// The best busbw of a collective between hosts whose traffic each NIC carries once.
fn measured(chart: &Chart<'_>) -> Option<(Rate, Place)> {
    let between = chart.runs.iter().filter(|run| run.benchmark.tool != "perftest" && chart.host_count() > 1);
    let best = between.filter_map(|run| Some((best_rate(run)?, at(run.place, run.benchmark.best()?.line))));
    best.max_by_key(|(rate, _)| *rate)
}
