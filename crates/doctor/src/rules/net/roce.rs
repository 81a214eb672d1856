//! RoCE: flow control, GIDs, extensions.

use weft_base::{Bytes, Place, Rate};
use weft_formats::{Benchmark, BenchmarkRow};

use weft_predictor::Version;

use super::ports;
use super::roce_causes::{ROCE_ECE, ROCE_GID, ROCE_NO_ADAPTIVE_ROUTING, ROCE_NO_PFC};
use super::{failover, health};
use crate::cause::Cause;
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// The rule.
#[derive(Debug)]
pub struct Roce;

impl Rule for Roce {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&ROCE_NO_PFC, &ROCE_GID, &ROCE_ECE, &ROCE_NO_ADAPTIVE_ROUTING]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let mut found: Vec<Finding> = gid(chart).into_iter().collect();
        if ports::is_roce(chart) == Some(true) {
            let pfc = no_pfc(chart);
            let is_jumpy = pfc.is_none();
            found.extend(pfc);
            found.extend(ece(chart).filter(|_| is_jumpy));
            found.extend(static_paths(chart));
        }
        found
    }
}

/// Ports without any flow control: name and place; ports with some.
fn flow_control(chart: &Chart<'_>) -> (Vec<(String, Place)>, Vec<String>) {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for said in chart.records("port") {
        let Some(enabled) = said.record.text("pfc-enabled") else { continue };
        let name = said.record.subject.clone();
        let pauses = chart.records("port").any(|other| {
            other.record.subject == name
                && other.record.get("autonegotiate").is_some()
                && ["rx", "tx"].iter().any(|side| other.words(side).as_deref() == Some("on"))
        });
        if enabled.is_empty() && !pauses {
            without.push((name, said.field_place("pfc-enabled")));
        } else {
            with.push(name);
        }
    }
    (without, with)
}

/// Pause frames that were seen: flow control is at work somewhere.
fn pauses_seen(chart: &Chart<'_>) -> bool {
    chart.records("counter").any(|said| {
        let is_pause =
            |name: &str| name.contains("prio") && name.ends_with("-pause") || name.contains("pause-ctrl-phy");
        said.record
            .fields
            .iter()
            .any(|field| is_pause(&field.name) && said.record.count(&field.name) > Some(0))
    })
}

/// A run that falls to a fraction at larger sizes: the size, the rate there, and the best rate below it.
pub(super) fn collapse(benchmark: &Benchmark) -> Option<(Bytes, Rate, Rate, u32)> {
    let rows: Vec<&BenchmarkRow> =
        benchmark.rows.iter().filter(|row| !row.in_place && row.rate().is_some()).collect();
    let (at_best, best) = rows.iter().enumerate().max_by_key(|(_, row)| row.rate())?;
    let best_rate = best.rate()?;
    let low = |row: &&&BenchmarkRow| {
        row.rate().is_some_and(|rate| rate.as_gigabytes() < 0.25 * best_rate.as_gigabytes())
    };
    let after: Vec<&&BenchmarkRow> =
        rows[at_best + 1..].iter().filter(|row| row.bytes > best.bytes).collect();
    let fallen: Vec<&&&BenchmarkRow> = after.iter().filter(|row| low(row)).collect();
    // One bad size may be noise; of the larger sizes most have to be low.
    if fallen.len() * 2 < after.len() || fallen.is_empty() || best.bytes < Bytes::new(1 << 16) {
        return None;
    }
    let worst = fallen.iter().min_by_key(|row| row.rate())?;
    Some((worst.bytes, worst.rate()?, best_rate, worst.line))
}

fn no_pfc(chart: &Chart<'_>) -> Option<Finding> {
    let (without, with) = flow_control(chart);
    let fallen = chart.runs.iter().find_map(|run| Some((collapse(run.benchmark)?, run.place)));
    if health::errors(chart).is_some() || without.is_empty() && (!with.is_empty() || pauses_seen(chart)) {
        return None;
    }
    let confidence = match (!without.is_empty(), fallen.is_some(), chart.shortfall().is_some()) {
        (true, true, _) => Confidence::Certain,
        (true, false, true) | (false, true, _) => Confidence::Likely,
        (true, false, false) => Confidence::Possible,
        (false, false, _) => return None,
    };
    let what = match without.first() {
        Some((name, _)) => format!("RoCE without flow control on {name}: neither PFC nor pause frames"),
        None => "RoCE whose bandwidth falls at large sizes, as if packets were dropped".to_owned(),
    };
    let mut found = Finding::new(&ROCE_NO_PFC, confidence, what);
    for (name, place) in without.iter().take(2) {
        found = found.at(place.clone(), format!("{name}: PFC is on for no priority"));
    }
    let mut share = 0.3;
    if let Some(((bytes, rate, best, line), place)) = fallen {
        share = 1.0 - rate.as_gigabytes() / best.as_gigabytes();
        found = found
            .at(at(place, line), format!("{rate} at {bytes}, after {best} at a smaller size"))
            .figures("busbw at large sizes", best, rate);
    }
    Some(
        found
            .costs(share, format!("{:.0} % at large sizes", 100.0 * share))
            .fix(
                "mlnx_qos -i DEV --trust dscp --pfc 0,0,0,1,0,0,0,0 on each port (as root; lost at reboot), the same priority \
                 with PFC and ECN in each switch, and NCCL_IB_TC=106 so that the traffic is of that priority",
            )
            .check("mlnx_qos shows priority 3 enabled; prio3 pause counters move in place of discards; busbw stays level")
            .settle("mlnx_qos -i DEV, ethtool -S DEV, and the switches' counters of dropped packets on these ports"),
    )
}

fn gid(chart: &Chart<'_>) -> Option<Finding> {
    let stated = chart.setting("NCCL_IB_GID_INDEX");
    let index = stated.as_ref().and_then(|it| it.value.trim().trim_end_matches('.').parse::<u64>().ok());
    let failed = health::retry_exceeded(chart);
    let moved = health::heard(chart, "gid").filter(|_| failed.is_some());
    let is_other = health::flaps(chart).is_some()
        || health::async_event(chart).is_some()
        || failover::explains(chart)
        || !health::separate(chart).is_empty();
    if ports::is_roce(chart) == Some(false) || is_other && moved.is_none() {
        return None;
    }
    let gids: Vec<_> = chart.records("gid").collect();
    let chosen = gids
        .iter()
        .find(|said| index.is_some_and(|index| said.record.subject.ends_with(&format!(" gid {index}"))));
    let is_wrong = chosen.filter(|said| {
        let is_v1 = said.record.text("version").is_some_and(|version| version.contains("v1"));
        is_v1
            || said.record.get("ipv4").is_none()
                && said.record.text("gid").is_some_and(|gid| gid.starts_with("fe80"))
    });
    let missing = !gids.is_empty() && index.is_some() && chosen.is_none();
    let right = gids.iter().find(|said| {
        said.record.get("ipv4").is_some()
            && said.record.text("version").is_some_and(|version| version.contains("v2"))
    });
    let number = right.and_then(|said| said.record.subject.rsplit(' ').next()).unwrap_or("3").to_owned();
    let bad = is_wrong.is_some() || missing || moved.is_some();
    let confidence = match (bad, failed.is_some(), index.is_some()) {
        (true, true, _) => Confidence::Certain,
        (true, false, _) => Confidence::Possible,
        (false, true, false) if gids.is_empty() || right.is_some() => Confidence::Likely,
        (_, _, _) => return None,
    };
    let what = match (&stated, bad) {
        (_, true) if moved.is_some() => {
            "the table of GIDs changed while the job ran: the index that was taken is another one's, or empty"
                .to_owned()
        }
        (Some(stated), true) => {
            format!("NCCL_IB_GID_INDEX={} is no GID of RoCE v2 by an IPv4 address", stated.value.trim())
        }
        (_, _) => "messages are not acknowledged, and no GID is chosen: index 0 is not routed".to_owned(),
    };
    let mut found = Finding::new(&ROCE_GID, confidence, what);
    for (text, place) in moved.into_iter().chain(failed) {
        found = found.at(place, text);
    }
    if let Some(stated) = stated {
        found = found.at(stated.place, format!("NCCL_IB_GID_INDEX={}", stated.value));
    }
    if let Some(said) = is_wrong {
        let gid = said.record.text("gid").unwrap_or_default();
        found = found.at(said.place(), format!("{}: {gid}", said.record.subject));
    }
    Some(
        found
            .costs(1.0, "the job ends")
            .fix(format!(
                "NCCL_IB_GID_INDEX={number} on all hosts (the entry of show_gids with an IPv4 address and v2)"
            ))
            .check("ib_write_bw -x with that index works between the two hosts")
            .settle(
                "show_gids of both hosts; ibstat, and dmesg of both for links that went down at that time",
            ),
    )
}

/// The adapters' register says that they do not take several paths.
fn static_paths(chart: &Chart<'_>) -> Option<Finding> {
    const FIELD: &str = "adaptive-routing-forced-en";
    let off = chart.records("register").find(|said| said.record.count(FIELD) == Some(0))?;
    let low = chart.shortfall().is_some();
    let confidence = if low { Confidence::Likely } else { Confidence::Possible };
    let what = format!("adaptive routing is off in {}: each flow stays on one path", off.record.subject);
    Some(
        Finding::new(&ROCE_NO_ADAPTIVE_ROUTING, confidence, what)
            .at(off.field_place(FIELD), "adaptive_routing_forced_en 0")
            .costs(0.3, "what flows that meet on one path lose; nothing below one switch")
            .fix(
                "mlxreg -d DEV --reg_name ROCE_ACCL --set adaptive_routing_forced_en=1 on all adapters (as root; lost at reset), and \
                 adaptive routing in all switches",
            )
            .check("the same run is faster across leaves, as fast as below one")
            .settle("the run below one leaf and across two, and whether the switches have adaptive routing"),
    )
}

/// A version that negotiates, RoCE, and rates that jump between sizes or runs.
fn ece(chart: &Chart<'_>) -> Option<Finding> {
    let (version, place) = chart.library()?;
    let since: Version = "2.19".parse().ok()?;
    if version.parse::<Version>().ok()? < since || chart.setting("NCCL_IB_ECE_ENABLE").is_some() {
        return None;
    }
    let (from, to, at_place) = jumps(chart)?;
    let what = "RoCE bandwidth jumps between runs and sizes, with a version that negotiates extensions (ECE)";
    Some(
        Finding::new(&ROCE_ECE, Confidence::Likely, what)
            .at(at_place, format!("{from} and {to} at one size, or at sizes next to each other"))
            .at(place, format!("NCCL {version}: ECE is on by default"))
            .costs(0.5, "up to half, differently in each run")
            .fix("NCCL_IB_ECE_ENABLE=0 (for the job); newer firmware of the adapters")
            .check("runs agree, and busbw is level at large sizes")
            .settle("the same benchmark with NCCL_IB_ECE_ENABLE=0, three times each"),
    )
}

/// Large sizes whose rates differ much: from one size to the next up and down, or between runs.
fn jumps(chart: &Chart<'_>) -> Option<(Rate, Rate, Place)> {
    for run in &chart.runs {
        let large =
            run.benchmark.rows.iter().filter(|row| !row.in_place && row.bytes >= Bytes::new(64 << 20));
        let rates: Vec<(Rate, u32)> = large.filter_map(|row| Some((row.rate()?, row.line))).collect();
        let falls = rates.windows(2).filter(|pair| pair[1].0.as_gigabytes() < 0.7 * pair[0].0.as_gigabytes());
        let rises = rates.windows(2).filter(|pair| pair[0].0.as_gigabytes() < 0.7 * pair[1].0.as_gigabytes());
        if falls.count() >= 2 && rises.count() >= 2 {
            let most = rates.iter().max()?;
            let least = rates.iter().min()?;
            return Some((least.0, most.0, at(run.place, least.1)));
        }
    }
    None
}
