//! Which adapters of a host are used.

use std::collections::BTreeMap;

use weft_base::Place;

use super::ports::{self, Port};
use super::remote;
use super::{health, lookup};
use crate::cause::{Cause, Effect, Nature};
use crate::chart::Chart;
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed_to;

/// Fewer adapters than there are.
pub const SINGLE_NIC_SELECTED: Cause = Cause {
    code: "D048",
    word: "single-nic-selected",
    title: "fewer adapters are used than the host has",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "NCCL_IB_HCA, in the environment or in nccl.conf, names one adapter or one function of several; or a container \
        shows only some. NCCL's log lists what it uses behind `NET/IB : Using`; `ibstat` or `nvidia-smi topo -m` lists what the \
        host has. On a DGX Spark each cable is served by two PCIe functions of four lanes each, so that both \
        (rocep1s0f1,roceP2p1s0f1) have to be named. Adapters for storage or management are left out on purpose; otherwise unset \
        the variable or name all (`=mlx5_0,mlx5_1`; a name without `=` matches all that begin so). Known from \
        NVIDIA/dgx-spark-playbooks#102, NVIDIA/nccl#412.",
};

/// Small frames.
pub const MTU: Cause = Cause {
    code: "D050",
    word: "mtu",
    title: "the MTU is smaller than it could be, or differs",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "RDMA over Ethernet uses the largest of 256, 512, 1024, 2048 and 4096 bytes that fits into the interface's MTU: \
        with 1500 it is 1024, with 9000 it is 4096. Small packets cost header bytes and, more, work per packet in adapters that \
        are near their limit. `ibv_devinfo` shows active_mtu beside max_mtu, `ip link` the interface's. All hosts and switches \
        must agree: where they differ, large messages fail with error 12 or are cut. `ip link set DEV mtu 9000` on all hosts, \
        and 9216 in the switches. Known from NVIDIA/dgx-spark-playbooks#25.",
};

/// The rule.
#[derive(Debug)]
pub struct Nics;

impl Rule for Nics {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&SINGLE_NIC_SELECTED, &MTU]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let single = single(chart);
        let mtu = mtu(chart, single.is_some());
        single.into_iter().chain(mtu).collect()
    }
}

/// Adapters that could carry and do not.
struct Left {
    /// Those that are known to be up, alike and as fast as the ones that carry.
    idle: Vec<Port>,
    /// What they are called; where no port is known to be idle, those that the matrix names beside the ones that carry.
    names: Vec<String>,
}

fn left(chart: &Chart<'_>, is_used: impl Fn(&str) -> bool, used_names: &[String]) -> Left {
    let ports = ports::ports(chart);
    let own: Vec<&Port> = ports.values().filter(|port| is_used(&port.adapter)).collect();
    let like = |port: &&Port| {
        let same_layer =
            own.iter().all(|own| own.layer == port.layer || own.layer.is_none() || port.layer.is_none());
        let as_fast = own.iter().all(|own| own.rate.zip(port.rate).is_none_or(|(own, rate)| rate >= own));
        port.is_up == Some(true) && same_layer && as_fast
    };
    let idle: Vec<Port> =
        ports.values().filter(|port| !is_used(&port.adapter)).filter(like).cloned().collect();
    if !idle.is_empty() {
        let names = idle.iter().map(|port| port.adapter.clone()).collect();
        return Left { idle, names };
    }
    let named: Vec<String> = chart.case.nic_names().into_iter().flatten().collect();
    // Members of a bond stand in the matrix beside it, or in place of it.
    if used_names.iter().any(|name| name.contains("bond") || !named.contains(name)) {
        return Left { idle, names: Vec::new() };
    }
    let is_known_down = |name: &str| ports.get(name).is_some_and(|port| port.is_up == Some(false));
    let names = named.into_iter().filter(|name| !is_used(name) && !is_known_down(name)).collect();
    Left { idle, names }
}

fn single(chart: &Chart<'_>) -> Option<Finding> {
    let used = ports::used(chart);
    let (_, _, place) = used.first()?;
    // That the one used is the wrong one says more than that there are others.
    if chart.host_count() < 2 || remote::explains(chart) {
        return None;
    }
    let used_names: Vec<String> = used.iter().map(|(name, _, _)| name.clone()).collect();
    let is_used = |name: &str| used_names.iter().any(|own| own == name);
    let Left { mut idle, names: mut left } = left(chart, is_used, &used_names);
    // What is across the sockets for each GPU of the job is left out rightly.
    idle.retain(|port| !remote::is_far_from_all(chart, &port.adapter));
    left.retain(|name| !remote::is_far_from_all(chart, name));
    (!left.is_empty()).then_some(())?;
    let stated = chart.setting("NCCL_IB_HCA").filter(|stated| !stated.value.trim().is_empty());
    let gain = lookup::otherwise(chart, |request| request.settings.hca = None);
    let share = gain.map(|(all, own)| 1.0 - own.as_gigabytes() / all.as_gigabytes().max(1e-9));
    if share.is_some_and(|share| share < 0.1) && stated.is_some() && idle.is_empty() {
        return None;
    }
    let even = 1.0 - lookup::quotient(used.len(), used.len() + left.len());
    let share = share.filter(|share| *share > 0.1).unwrap_or(even);
    let confidence = match (idle.is_empty(), stated.is_some()) {
        (false, true) => Confidence::Certain,
        (false, false) | (true, true) => Confidence::Likely,
        (true, false) => Confidence::Possible,
    };
    let what = format!(
        "{} of the host's adapters is used; {} is not",
        listed_to(&used_names, 4),
        listed_to(&left, 4)
    );
    let mut found = Finding::new(&SINGLE_NIC_SELECTED, confidence, what);
    if let Some(stated) = &stated {
        found = found.at(stated.place.clone(), format!("NCCL_IB_HCA={}", stated.value));
    }
    found = found.at(place.clone(), format!("NET/IB uses {}", listed_to(&used_names, 4)));
    for port in idle.iter().take(2) {
        found = found.at(port.place.clone(), format!("{} is active too", port.adapter));
    }
    if let Some(rate) = last_rate(chart) {
        let all = gain.map_or_else(|| "more".to_owned(), |(all, _)| all.to_string());
        found = found.figures("busbw between hosts", all, rate);
    }
    Some(
        found
            .costs(share, format!("about {:.0} % of what all adapters carry together", 100.0 * share))
            .fix(format!(
                "NCCL_IB_HCA={},{} (or unset it), on all hosts",
                used_names.join(","),
                left.join(",")
            ))
            .check("`NET/IB : Using` lists all of them, and busbw rises")
            .settle(
                "`ibstat` or `ibv_devinfo`: which adapters are active, and which of them are for storage",
            ),
    )
}

/// What the last size of the first comparison reached.
fn last_rate(chart: &Chart<'_>) -> Option<weft_base::Rate> {
    let (_, comparison) = chart.compared().next()?;
    Some(comparison.points.last()?.busbw)
}

/// A host, the size of its frames in bytes, and where that stands.
type Frames = (String, u64, Place);

/// Frames of adapters and interfaces by name.
fn sizes_by_host(chart: &Chart<'_>) -> BTreeMap<String, Vec<Frames>> {
    let mut found: BTreeMap<String, Vec<Frames>> = BTreeMap::new();
    let used = ports::used(chart);
    for (host, ports) in ports::by_host(chart) {
        for (name, port) in ports {
            let is_used = used.is_empty() || used.iter().any(|(own, ..)| *own == name);
            if let (Some((active, _)), true) =
                (port.mtu_bytes, is_used && port.is_up != Some(false) && port.is_ethernet())
            {
                found.entry(name).or_default().push((host.clone(), active, port.place));
            }
        }
    }
    // Of interfaces only those that are meant for large frames somewhere: others are not the fabric's.
    for said in chart.records("port").filter(|said| said.record.get("mtu").is_some()) {
        let bytes =
            said.words("mtu").and_then(|text| text.parse::<u64>().ok()).filter(|bytes| *bytes < 16_384);
        let host = lookup::host_of(said.report, &said.place());
        let is_up = said.record.text("flags").is_some_and(|flags| flags.contains("LOWER_UP"));
        if let (Some(bytes), false, true) = (bytes, host.is_empty(), is_up) {
            let own = found.entry(said.record.subject.clone()).or_default();
            if own.iter().all(|it| it.0 != host) {
                own.push((host, bytes, said.field_place("mtu")));
            }
        }
    }
    found
}

/// One adapter or interface with different frames on different hosts.
fn mtu_differs(chart: &Chart<'_>) -> Option<Finding> {
    let all = sizes_by_host(chart);
    let (name, own) = all
        .iter()
        .find(|(_, own)| own.iter().any(|it| it.1 != own[0].1) && own.iter().any(|it| it.1 >= 4000))?;
    let least = own.iter().min_by_key(|it| it.1)?;
    let most = own.iter().max_by_key(|it| it.1)?;
    let failed = health::retry_exceeded(chart);
    let is_rdma = ports::used(chart).iter().any(|(used, ..)| used == name);
    let confidence = match (failed.is_some(), is_rdma) {
        (true, true) => Confidence::Certain,
        (true, false) | (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let what = format!("the MTU of {name} differs: {} B on {}, {} B on {}", least.1, least.0, most.1, most.0);
    let mut found = Finding::new(&MTU, confidence, what)
        .at(least.2.clone(), format!("{}: MTU {} B", least.0, least.1))
        .at(most.2.clone(), format!("{}: MTU {} B", most.0, most.1));
    let share = if failed.is_some() { 1.0 } else { 0.3 };
    if let Some((text, place)) = failed {
        found = found.at(place, text);
    }
    Some(widened(found.costs(share, "messages larger than the smaller frames fail, or are cut")))
}

fn widened(found: Finding) -> Finding {
    found
        .fix("ip link set DEV mtu 9000 on all hosts (as root; keep it in netplan or NetworkManager), 9216 in the switches")
        .check("ibv_devinfo shows active_mtu 4096; ping -M do -s 8972 to the other host works")
        .settle("ibv_devinfo and `ip link` of both hosts")
}

fn mtu(chart: &Chart<'_>, has_other_cause: bool) -> Option<Finding> {
    if let Some(found) = mtu_differs(chart) {
        return Some(found);
    }
    let used = ports::used(chart);
    let ports = ports::ports(chart);
    let mut small: Vec<(String, u64, Place)> = Vec::new();
    let mut sizes: Vec<u64> = Vec::new();
    for port in ports.values().filter(|port| port.is_up != Some(false) && port.is_ethernet()) {
        if !used.is_empty() && used.iter().all(|(name, _, _)| *name != port.adapter) {
            continue;
        }
        let interface = port.interface.as_deref().and_then(|name| ports::interface_mtu_bytes(chart, name));
        if let Some((active, most)) = port.mtu_bytes {
            sizes.push(active);
            if active < most && active <= 1024 {
                small.push((port.adapter.clone(), active, port.place.clone()));
            }
        } else if let Some((bytes, place)) = interface {
            sizes.push(bytes);
            if bytes <= 1600 {
                small.push((port.interface.clone().unwrap_or_default(), bytes, place));
            }
        }
    }
    let differ = sizes.iter().any(|size| Some(size) != sizes.first());
    let (name, bytes, place) = small.first()?.clone();
    let low = chart.shortfall().is_some();
    let confidence = match (differ, low, has_other_cause) {
        (true, _, _) | (false, true, false) => Confidence::Likely,
        (false, _, _) => Confidence::Possible,
    };
    let what = if differ {
        format!("the MTU differs between ports: {name} has {bytes} B")
    } else {
        format!("the MTU is small: {name} has {bytes} B")
    };
    let found = Finding::new(&MTU, confidence, what).at(place, format!("{name}: MTU {bytes} B"));
    let share = if differ { 0.3 } else { 0.15 };
    Some(widened(found.costs(share, "header bytes and work per packet: a tenth to a fifth of the bandwidth")))
}
