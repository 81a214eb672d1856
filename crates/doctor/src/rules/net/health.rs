//! Errors, flaps and ports that are down.

use std::collections::BTreeMap;

use weft_base::Place;
use weft_topology::SubnetFinding;

use super::{failover, port_down};
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed_to;

/// Errors on a port.
pub const PORT_ERRORS: Cause = Cause {
    code: "D056",
    word: "port-errors",
    title: "a port counts errors of its link",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "Symbol errors, wrong checksums and recoveries mean a bad cable, transceiver or port: frames are lost and sent \
        again. A few after plugging are usual; counters that grow during a run are not. `ibqueryerrors`, `perfquery -x`, \
        `ethtool -S` (rx_crc_errors_phy, rx_symbol_err_phy) and `mlxlink -e` show them. A link that runs below its capability \
        (`Could be …` in iblinkinfo, width 1X) is the same trouble. Clean or change the cable, then compare again.",
};

/// A link that goes up and down.
pub const LINK_FLAP: Cause = Cause {
    code: "D055",
    word: "link-flap",
    title: "a network link goes down and up",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "A link that drops for a second ends queue pairs after their retries: `Got completion with error 12`, vendor err \
        129, or an async event of the port in NCCL's log. dmesg shows `Link down` and `Link up` of the interface, counters \
        LinkDowned or link_down_events_phy, a bond its Link Failure Count. Change cable or transceiver; \
        NCCL_IB_TIMEOUT=22 and NCCL_IB_RETRY_CNT=13 bridge short drops.",
};

/// A port that is down.
pub const PORT_DOWN: Cause = Cause {
    code: "D054",
    word: "port-down",
    title: "a port of the network is down",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "The adapter sees no partner: cable out, transceiver dead, the switch's port disabled, or no subnet manager \
        (state Initializing). ibnetdiscover then finds the adapter alone; ibstat says Down and Polling. Where a host has ports \
        that are not cabled on purpose, this is as it should be.",
};

/// The rule.
#[derive(Debug)]
pub struct Health;

impl Rule for Health {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&PORT_ERRORS, &LINK_FLAP, &PORT_DOWN]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let mut found: Vec<Finding> = port_errors(chart).into_iter().collect();
        found.extend(below_capability(chart));
        found.extend(flap(chart));
        found.extend(alone(chart));
        found.extend(port_down::down(chart));
        found
    }
}

/// Counters of a link's errors, and from how many on they are no accident.
const ERRORS: &[(&str, u64)] = &[
    ("symbol-error-counter", 1000),
    ("symbol-error", 1000),
    ("port-rcv-errors", 1000),
    ("port-rcv-error", 1000),
    ("local-link-integrity-errors", 10),
    ("link-error-recovery-counter", 10),
    ("link-error-recovery", 10),
    ("rx-crc-errors-phy", 1000),
    ("rx-symbol-err-phy", 1000),
    ("rx-pcs-symbol-err-phy", 1000),
    ("rx-fcs-errors", 1000),
    ("rx-crc-errors", 1000),
];

/// The port with the most errors: port, counter, number, place.
pub(super) fn errors(chart: &Chart<'_>) -> Option<(String, String, u64, Place)> {
    let mut worst: Option<(String, String, u64, Place)> = None;
    for said in chart.records("counter").chain(chart.records("port")) {
        for (name, least) in ERRORS {
            let Some(count) = said.record.count(name).filter(|count| count >= least) else { continue };
            if worst.as_ref().is_none_or(|worst| worst.2 < count) {
                let subject = said.record.text("node").map_or_else(
                    || said.record.subject.clone(),
                    |node| format!("{node}, {}", said.record.subject),
                );
                worst = Some((subject, (*name).to_owned(), count, said.field_place(name)));
            }
        }
    }
    worst
}

fn port_errors(chart: &Chart<'_>) -> Option<Finding> {
    let (port, counter, count, place) = errors(chart)?;
    let fallen = chart.runs.iter().any(|run| super::roce::collapse(run.benchmark).is_some());
    let confidence = match (fallen, chart.shortfall().is_some() || count >= 100_000) {
        (true, _) => Confidence::Certain,
        (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let found = Finding::new(&PORT_ERRORS, confidence, format!("{port} counts {count} errors ({counter})"))
        .at(place, format!("{counter} {count}"))
        .costs(0.5, "frames that are lost and sent again; with RoCE most of the bandwidth")
        .fix("clean or change the cable and the transceiver of that port, then clear the counters and run again")
        .check("the counter stays where it is during a run")
        .settle("the same counters before and after a run (mlxlink -d DEV -e -c; ethtool -S DEV)");
    Some(found)
}

/// Links of a subnet that run below what both ends could.
fn below_capability(chart: &Chart<'_>) -> Option<Finding> {
    for (subnet, place) in chart.subnets() {
        let links: Vec<(String, u32)> = subnet
            .check()
            .into_iter()
            .filter_map(|finding| {
                let SubnetFinding::Degraded { link, usual } = finding else { return None };
                let link = &subnet.links[link as usize];
                let now = link.signalling.map(|it| it.to_string()).unwrap_or_default();
                let ends =
                    [&link.a, &link.b].map(|end| format!("{} port {}", subnet.node(end).name, end.port));
                Some((
                    format!("{} to {} runs {now}, could run {usual}", ends[0], ends[1]),
                    link.a.line.max(link.b.line),
                ))
            })
            .collect();
        let Some((text, line)) = links.first() else { continue };
        let mut found = Finding::new(
            &PORT_ERRORS,
            Confidence::Possible,
            format!("{} links run below their capability", links.len()),
        );
        found = found.at(at(place, *line), text.clone());
        for (text, line) in links.iter().skip(1).take(2) {
            found = found.at(at(place, *line), text.clone());
        }
        return Some(
            found
                .costs(0.4, "the share of the lanes or of the speed that is lost on these links")
                .fix("reseat or change these cables; where a port is split or set to a lower speed on purpose, nothing")
                .check("iblinkinfo no longer says `Could be`"),
        );
    }
    None
}

/// `Got completion with error 12`, or the words of it.
pub(super) fn retry_exceeded(chart: &Chart<'_>) -> Option<(String, Place)> {
    chart.logs().find_map(|(log, place)| {
        let problem = log
            .problems
            .iter()
            .find(|problem| problem.status == Some(12) || problem.text.contains("RETRY_EXC"))?;
        Some((problem.text.clone(), at(place, problem.line)))
    })
}

/// The link that went down most often, by the kernel's events: how often, and where.
pub(super) fn downs(chart: &Chart<'_>) -> Option<(String, u64, Place)> {
    let mut downs: BTreeMap<String, (u64, Place)> = BTreeMap::new();
    for said in chart.events("link-down") {
        // `link is not ready` is said of each interface at boot.
        if said.record.text("message").is_some_and(|text| text.contains("not ready")) {
            continue;
        }
        downs.entry(said.record.subject.clone()).or_insert((0, said.place())).0 += 1;
    }
    let most = downs.into_iter().max_by_key(|(_, (count, _))| *count);
    most.map(|(port, (count, place))| (port, count, place))
}

/// Links that go down again and again: how often, and where.
pub(super) fn flaps(chart: &Chart<'_>) -> Option<(String, u64, Place)> {
    if let Some(event) = downs(chart).filter(|(_, count, _)| *count >= 2) {
        return Some(event);
    }
    let names = ["link-failure-count", "link-downed-counter", "link-downed", "link-down-events-phy"];
    let counted = chart.records("port").chain(chart.records("counter")).filter_map(|said| {
        let name = names.iter().find(|name| said.record.count(name) >= Some(5))?;
        Some((said.record.subject.clone(), said.record.count(name)?, said.field_place(name)))
    });
    counted.max_by_key(|(_, count, _)| *count)
}

/// Adapter events that NCCL heard of, by a word in them.
pub(super) fn heard(chart: &Chart<'_>, word: &str) -> Option<(String, Place)> {
    chart.logs().find_map(|(log, place)| {
        let is_it = |text: &str| {
            let text = text.to_ascii_lowercase();
            text.contains("async") && text.contains(word)
        };
        let heard = log.problems.iter().find(|it| is_it(&it.text))?;
        Some((heard.text.clone(), at(place, heard.line)))
    })
}

/// A port's error that NCCL heard of.
pub(super) fn async_event(chart: &Chart<'_>) -> Option<(String, Place)> {
    heard(chart, "port error").or_else(|| heard(chart, "port down"))
}

fn flap(chart: &Chart<'_>) -> Option<Finding> {
    let (failed, heard) = (retry_exceeded(chart), async_event(chart));
    let flapped = flaps(chart);
    // A port that stays down, or whose address moved, has a rule of its own.
    if flapped.is_none()
        && (heard.is_none() || failover::explains(chart) || self::heard(chart, "gid").is_some())
    {
        return None;
    }
    let confidence = match (&flapped, failed.is_some() || heard.is_some()) {
        (Some(_), true) => Confidence::Certain,
        (None, true) => Confidence::Likely,
        (_, false) => Confidence::Possible,
    };
    let what = match &flapped {
        Some((port, count, _)) => format!("the link of {port} went down {count} times"),
        None => "a port reported an error while the job ran".to_owned(),
    };
    let mut found = Finding::new(&LINK_FLAP, confidence, what);
    if let Some((port, count, place)) = flapped {
        found = found.at(place, format!("{port}: down {count} times"));
    }
    for (text, place) in failed.into_iter().chain(heard) {
        found = found.at(place, text);
    }
    Some(
        found
            .costs(1.0, "the job ends, or waits for retries")
            .fix("change the cable or the transceiver; NCCL_IB_TIMEOUT=22 NCCL_IB_RETRY_CNT=13 bridges drops of some seconds")
            .check("no further link events in dmesg during a run")
            .settle("dmesg -T of both hosts, and the switch's log of that port"),
    )
}

/// Subnets that consist of adapters without cables.
fn alone(chart: &Chart<'_>) -> Option<Finding> {
    let (subnet, place) = chart.subnets().find(|(subnet, _)| {
        subnet.links.is_empty()
            && subnet.check().iter().any(|it| matches!(it, SubnetFinding::AdapterAlone { .. }))
    })?;
    // `ibnodes` and its like list no cables at all.
    let lists_cables = subnet.nodes.iter().all(|node| node.system_guid.is_some());
    if !lists_cables {
        return None;
    }
    let names: Vec<&str> = subnet.nodes.iter().map(|node| node.name.as_str()).collect();
    let line = subnet.nodes.first().map_or(0, |node| node.line);
    Some(
        Finding::new(
            &PORT_DOWN,
            Confidence::Likely,
            format!("{} sees no switch: its port is down", listed_to(&names, 4)),
        )
        .at(at(place, line), "an adapter without any cable is all that discovery finds")
        .costs(1.0, "nothing goes over that port")
        .fix("look at cable, transceiver and the switch's port; `ibstat` says whether it is Down (no signal) or Initializing (no subnet manager)")
        .check("ibnetdiscover lists a switch")
        .settle("ibstat of that host"),
    )
}

/// Groups of adapters whose subnets do not meet, by what several discoveries from one host found: the switches of each.
pub(super) fn separate(chart: &Chart<'_>) -> Vec<(Vec<String>, Place)> {
    let mut found: Vec<(Vec<String>, Place)> = Vec::new();
    for (subnet, place) in chart.subnets() {
        let names: Vec<String> =
            subnet.nodes.iter().map(|node| format!("{} {}", node.guid, node.name)).collect();
        if names.is_empty() || subnet.links.is_empty() {
            continue;
        }
        let meets = found.iter().any(|(own, _)| own.iter().any(|name| names.contains(name)));
        if !meets {
            found.push((names, place.clone()));
        }
    }
    if found.len() > 1 { found } else { Vec::new() }
}
