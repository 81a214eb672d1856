//! Ports that die under a job, and hosts that cannot reach each other.

use std::collections::BTreeMap;

use weft_base::Place;

use super::{health, ports};
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// A port died, and the job with it or at half the rate.
pub const NIC_NO_FAILOVER: Cause = Cause {
    code: "D064",
    word: "nic-no-failover",
    title: "a port died and NCCL does not go around it, or does not take it back",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "NCCL does not route around a NIC or a port that fails while a communicator exists: the job ends with error 12, \
        or hangs. NCCL_IB_RESILIENCY_PORT_FAILOVER of newest versions moves traffic to another port, and tries some times to \
        take the port back; after the last attempt (`Recovery for device … failed due to max attempts reached`) it stays on the \
        other port, at a part of the rate, even when the link is up again. Mend the link, then start the job again, or make a \
        new communicator. A port that goes up and down often is link-flap instead.",
};

/// No way between two hosts.
pub const NETWORK_UNREACHABLE: Cause = Cause {
    code: "D063",
    word: "network-unreachable",
    title: "adapters of different hosts are in networks that do not meet",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "NCCL connects adapter to adapter; where one is in another InfiniBand subnet (another subnet manager), another \
        VLAN or another IP subnet without a router, queue pairs are made and the first message ends with error 12, vendor err \
        129, on each try and at once. ibstat shows another SM lid on that host, or one base lid twice; ibnetdiscover of one \
        host does not find the other. Cable it to the same fabric, or leave that adapter out with NCCL_IB_HCA on all hosts.",
};

/// The rule.
#[derive(Debug)]
pub struct Failover;

impl Rule for Failover {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&NIC_NO_FAILOVER, &NETWORK_UNREACHABLE]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        given_up(chart).or_else(|| died(chart)).into_iter().chain(unreachable(chart)).collect()
    }
}

/// Whether this rule says why ports are lost.
pub(super) fn explains(chart: &Chart<'_>) -> bool {
    given_up(chart).or_else(|| died(chart)).is_some()
}

/// A port that was tried for the last time.
fn given_up(chart: &Chart<'_>) -> Option<Finding> {
    let (text, place) = chart.logs().find_map(|(log, place)| {
        let said = log.remarks.iter().find(|said| said.text.contains("max attempts reached"))?;
        Some((said.text.clone(), at(place, said.line)))
    })?;
    let what = "NCCL gave a port up after its last attempt to recover it, and stays on the others";
    let mut found = Finding::new(&NIC_NO_FAILOVER, Confidence::Certain, what).at(place, text);
    if let Some((port, count, place)) = health::downs(chart) {
        found = found.at(place, format!("{port}: down {count} times"));
    }
    Some(
        found
            .costs(0.5, "the share of that port, until the job starts again")
            .fix("mend the link, then start the job again (or make a new communicator): the port is not taken back by itself")
            .check("`NET/IB : Using` lists the port again, and busbw is as before"),
    )
}

/// A port error that ended the job, of a link that did not come back.
fn died(chart: &Chart<'_>) -> Option<Finding> {
    let (event, event_place) = health::async_event(chart)?;
    let (failed, place) = health::retry_exceeded(chart)?;
    let ports = ports::ports(chart);
    let used = ports::used(chart);
    let down = ports
        .values()
        .find(|port| port.is_up == Some(false) && used.iter().any(|(name, _, _)| *name == port.adapter))?;
    let what = format!("{} died during the job, and NCCL does not go around it", down.adapter);
    Some(
        Finding::new(&NIC_NO_FAILOVER, Confidence::Certain, what)
            .at(event_place, event)
            .at(place, failed)
            .at(down.place.clone(), format!("{} is down", down.adapter))
            .costs(1.0, "the job ends")
            .fix(format!(
                "mend the link of {0} (cable, transceiver, switch port) and start again; until then leave it out: NCCL_IB_HCA=^{0}",
                down.adapter
            ))
            .check("ibstat says Active, and the job runs"),
    )
}

/// One adapter's name on several hosts, with different subnet managers.
fn unreachable(chart: &Chart<'_>) -> Option<Finding> {
    let failed = health::retry_exceeded(chart);
    let mut managers: BTreeMap<String, Vec<(u64, String, Place)>> = BTreeMap::new();
    for said in chart.records("port") {
        let is_up =
            said.record.text("state").is_some_and(|state| state.to_ascii_lowercase().ends_with("active"));
        let is_infiniband = said.record.text("link-layer").is_some_and(|layer| layer == "InfiniBand");
        let Some(lid) = said.record.count("sm-lid").filter(|lid| *lid > 0 && is_up && is_infiniband) else {
            continue;
        };
        let place = said.field_place("sm-lid");
        let file = place.file.clone();
        managers.entry(said.record.subject.clone()).or_default().push((lid, file, place));
    }
    let (port, own, other) = managers.iter().find_map(|(port, all)| {
        let first = all.first()?;
        let other = all.iter().find(|other| other.0 != first.0 && other.1 != first.1)?;
        Some((port.clone(), first.clone(), other.clone()))
    })?;
    let confidence = if failed.is_some() { Confidence::Certain } else { Confidence::Possible };
    let what = format!("{port} of different hosts has different subnet managers: two networks");
    let mut found = Finding::new(&NETWORK_UNREACHABLE, confidence, what)
        .at(own.2, format!("SM lid {}", own.0))
        .at(other.2, format!("SM lid {} on another host", other.0));
    if let Some((text, place)) = failed {
        found = found.at(place, text);
    }
    Some(
        found
            .costs(1.0, "the job ends")
            .fix("cable that adapter to the fabric of the others, or leave it out with NCCL_IB_HCA on all hosts")
            .check("ibstat shows the same SM lid on all hosts; ibnetdiscover finds them all")
            .settle("ibstat of each host, and `sminfo` from each"),
    )
}
