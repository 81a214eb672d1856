//! The interface over which ranks find each other.

use weft_base::Place;
use weft_formats::{LogInterface, NcclLog};

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// An interface that no other host reaches.
pub const BOOTSTRAP_INTERFACE: Cause = Cause {
    code: "D062",
    word: "bootstrap-interface",
    title: "ranks look for each other over an interface that other hosts do not reach",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "Before any data moves, NCCL's ranks tell each other an address, of the interface that NCCL_SOCKET_IFNAME names or \
        that NCCL takes by itself: `Bootstrap : Using eth0:10.0.0.1`. Where that is loopback (127.0.0.1), a bridge for containers \
        or virtual machines (docker0, virbr0, cni0: the same address on every host), the network of a management controller \
        (169.254.x.x), or another network than that of the other hosts, connections are refused or time out, and the job hangs \
        or ends in bootstrap.cc or socket.cc. On one host any interface will do. Name the one that all hosts share: \
        NCCL_SOCKET_IFNAME=eno1 (names that begin so; `=eno1` exactly; `^docker0,lo` all but these); the same holds for Gloo \
        (GLOO_SOCKET_IFNAME) and for MPI.",
};

/// How the names of interfaces begin that end at the host.
const INNER: &[&str] =
    &["docker", "br-", "virbr", "veth", "cni", "flannel", "cali", "podman", "lxc", "lxdbr", "vmnet"];

/// The rule.
#[derive(Debug)]
pub struct Bootstrap;

impl Rule for Bootstrap {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&BOOTSTRAP_INTERFACE]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        if chart.host_count() < 2 || has_met(chart) {
            return Vec::new();
        }
        chart
            .logs()
            .find_map(|(log, place)| none(log, place, chart).or_else(|| bad(log, place, chart)))
            .into_iter()
            .collect()
    }
}

/// Whether ranks of several hosts have found each other.
fn has_met(chart: &Chart<'_>) -> bool {
    let rows =
        chart.benchmarks().any(|(benchmark, _)| benchmark.hosts().len() > 1 && !benchmark.rows.is_empty());
    rows || chart.logs().any(|(log, _)| {
        !log.connections.is_empty()
            || log.communicators.iter().flat_map(|it| &it.members).any(|rank| rank.complete)
    })
}

/// What makes an interface useless, in words; and whether that leaves no doubt.
fn fault(interface: &LogInterface, all: &[LogInterface]) -> Option<(&'static str, bool)> {
    let LogInterface { name, address, .. } = interface;
    if address.starts_with("127.") || address == "::1" || name == "lo" {
        return Some(("loopback: no other host reaches it", true));
    }
    let is_twin = |other: &&LogInterface| {
        other.address == *address && other.host.is_some() && other.host != interface.host
    };
    if interface.host.is_some() && all.iter().any(|other| is_twin(&other)) {
        return Some(("an address that several hosts have: each calls itself", true));
    }
    if INNER.iter().any(|start| name.starts_with(start)) {
        return Some(("a bridge for containers or virtual machines, which ends at the host", false));
    }
    let is_local = address.starts_with("169.254.") || address.starts_with("fe80:");
    is_local.then_some(("an address of a link, as management controllers have", false))
}

/// Connections that failed.
fn failed(log: &NcclLog, place: &Place) -> Option<(Place, String)> {
    let words =
        ["refused", "No route to host", "unreachable", "imed out", "imeout", "connect to", "onnect to"];
    let says = |text: &str| words.iter().any(|word| text.contains(word));
    let problem = log.problems.iter().find(|it| says(&it.text)).map(|it| (it.line, it.text.clone()));
    let remark = || log.remarks.iter().find(|it| says(&it.text)).map(|it| (it.line, it.text.clone()));
    problem.or_else(remark).map(|(line, text)| (at(place, line), text))
}

fn bad(log: &NcclLog, place: &Place, chart: &Chart<'_>) -> Option<Finding> {
    let all: Vec<LogInterface> = chart.logs().flat_map(|(log, _)| log.interfaces.iter().cloned()).collect();
    let (interface, why, is_sure) = log.interfaces.iter().find_map(|it| {
        let all = if chart.logs().count() == 1 { &log.interfaces } else { &all };
        fault(it, all).map(|(why, is_sure)| (it, why, is_sure))
    })?;
    let failed = failed(log, place);
    let stated = chart.setting("NCCL_SOCKET_IFNAME");
    let confidence = match (is_sure, failed.is_some()) {
        (true, _) => Confidence::Certain,
        (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let name = &interface.name;
    let what =
        format!("ranks of several hosts look for each other over {name} ({}): {why}", interface.address);
    let mut found = Finding::new(&BOOTSTRAP_INTERFACE, confidence, what)
        .at(at(place, interface.line), format!("Bootstrap uses {name}:{}", interface.address));
    if let Some(stated) = &stated {
        found = found.at(stated.place.clone(), format!("NCCL_SOCKET_IFNAME={}", stated.value));
    } else {
        found = found.without("nothing names an interface, so that NCCL takes the first that is up");
    }
    if let Some((place, text)) = failed {
        found = found.at(place, text);
    }
    Some(mended(found))
}

/// A name that fits no interface.
fn none(log: &NcclLog, place: &Place, chart: &Chart<'_>) -> Option<Finding> {
    let said = |text: &str| text.contains("o socket interface found");
    let problem = log.problems.iter().find(|it| said(&it.text)).map(|it| (it.line, it.text.clone()));
    let (line, text) = problem
        .or_else(|| log.remarks.iter().find(|it| said(&it.text)).map(|it| (it.line, it.text.clone())))?;
    let stated = chart.setting("NCCL_SOCKET_IFNAME")?;
    let what = format!("no interface of a host is called {}, and ranks cannot find each other", stated.value);
    let found = Finding::new(&BOOTSTRAP_INTERFACE, Confidence::Certain, what)
        .at(at(place, line), text)
        .at(stated.place, format!("NCCL_SOCKET_IFNAME={}", stated.value));
    Some(mended(found))
}

fn mended(found: Finding) -> Finding {
    found
        .costs(1.0, "nothing runs on more than one host")
        .fix(
            "NCCL_SOCKET_IFNAME=<interface that all hosts share>, as `ip route get <address of another host>` names it (for the \
             job on all hosts; in /etc/nccl.conf it persists); GLOO_SOCKET_IFNAME likewise",
        )
        .check("`Bootstrap : Using` names that interface on all hosts, with addresses of one network")
        .settle("`ip -br addr` of two hosts, and `ip route get` from one to the other")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(host: usize, name: &str, address: &str) -> LogInterface {
        LogInterface {
            host: Some(host),
            name: name.to_owned(),
            address: address.to_owned(),
            count: 1,
            line: 1,
        }
    }

    #[test]
    fn addresses_that_end_at_a_host_are_told_from_others() {
        let sure = |all: &[LogInterface]| fault(&all[0], all).map(|(_, is_sure)| is_sure);
        assert_eq!(sure(&[interface(0, "lo", "127.0.0.1")]), Some(true));
        assert_eq!(sure(&[interface(0, "docker0", "172.17.0.1")]), Some(false));
        let twins = [interface(0, "eth0", "10.0.0.1"), interface(1, "eth0", "10.0.0.1")];
        assert_eq!(sure(&twins), Some(true));
        assert_eq!(sure(&[interface(0, "enp0s20f0u1", "169.254.3.1")]), Some(false));
        let good = [
            interface(0, "eth0", "10.0.0.1"),
            interface(1, "eth0", "10.0.1.2"),
            interface(0, "eth0", "10.0.0.1"),
        ];
        assert_eq!(sure(&good), None);
    }
}
