//! Sockets in place of InfiniBand or RoCE, and what sockets can carry.

use weft_base::Place;
use weft_formats::NcclLog;

use super::lookup::{self, best_rate};
use super::ports;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed_to;

/// Sockets although there is RDMA.
pub const TCP_FALLBACK: Cause = Cause {
    code: "D045",
    word: "tcp-fallback",
    title: "sockets are used in place of InfiniBand, RoCE or the fabric's plugin",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "Where NCCL finds no RDMA device, or is told so by NCCL_IB_DISABLE or NCCL_NET, it takes TCP sockets: no \
        GPUDirect RDMA, each byte through the kernel, a fraction of the fabric's rate, and tens of microseconds more. The log \
        says `NET/IB : No device found`, `NET/Socket : Using …` and `Using network Socket`; with fabrics that need a plugin \
        (EFA, Slingshot) `could not find libnccl-net`. In containers /dev/infiniband is often missing, or rdma-core. \
        NCCL_IB_DISABLE has to be unset, NCCL_IB_HCA to name existing devices, and `ibv_devinfo` to work where the job runs. \
        Figures alone show it too: about a tenth of the fabric on many hosts.",
};

/// The CPU is the bound.
pub const TCP_CPU_BOUND: Cause = Cause {
    code: "D046",
    word: "tcp-cpu-bound",
    title: "TCP is bound by the CPU: more Ethernet adapters do not help",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "Sockets copy through kernel and host memory, and GPUs cannot be read by the adapter. A few threads per NIC \
        carry some GB/s at most, so that four adapters of 100G are no faster than one; adapters of 10G or 25G do add up. \
        NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD help somewhat; RDMA (RoCE on the same adapters) helps more. Known from \
        NVIDIA/nccl#601.",
};

/// The rule.
#[derive(Debug)]
pub struct Sockets;

impl Rule for Sockets {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&TCP_FALLBACK, &TCP_CPU_BOUND]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let sockets: Vec<_> = chart.logs().filter(|(log, _)| is_socket(log)).collect();
        let Some((log, place)) = sockets.first() else { return by_figures(chart).into_iter().collect() };
        if chart.host_count() < 2 {
            return Vec::new();
        }
        let mut found: Vec<Finding> = cpu_bound(log, place, chart).into_iter().collect();
        found.extend(fallback(log, place, chart));
        found
    }
}

fn is_socket(log: &NcclLog) -> bool {
    let said = |name: &str| log.networks.iter().any(|network| network.text.starts_with(name));
    said("Socket") && !said("IB") && !log.transports.iter().any(|transport| transport.name.contains("NET/IB"))
}

/// A log that takes sockets, on hosts that have RDMA.
fn fallback(log: &NcclLog, place: &Place, chart: &Chart<'_>) -> Option<Finding> {
    let said = log.networks.iter().find(|network| network.text.starts_with("Socket"))?;
    let ports = ports::ports(chart);
    let up: Vec<&ports::Port> = ports.values().filter(|port| port.is_up == Some(true)).collect();
    let names: Vec<String> =
        chart.case.nic_names().into_iter().flatten().filter(|name| is_rdma_name(name)).collect();
    let told = told(chart);
    let what = "the network goes over TCP sockets, not over RDMA";
    let mut found = Finding::new(&TCP_FALLBACK, Confidence::Possible, what)
        .at(at(place, said.line), format!("Using network {}", said.text));
    let none = log.remarks.iter().find(|remark| remark.text.contains("No device found"));
    if let Some(remark) = none {
        found = found.at(at(place, remark.line), remark.text.clone());
    }
    if let Some(stated) = &told {
        found = found.at(stated.place.clone(), format!("{}={}", stated.name, stated.value));
    }
    if let Some(port) = up.first() {
        let adapters: Vec<&str> = up.iter().map(|port| port.adapter.as_str()).collect();
        found = found.at(port.place.clone(), format!("active on the host: {}", listed_to(&adapters, 4)));
    } else if !names.is_empty() {
        found = found.without(format!("the host has {}", listed_to(&names, 4)));
    }
    let plugin = log.plugins.iter().find(|plugin| {
        let text = plugin.text.to_ascii_lowercase();
        text.contains("fail") || text.contains("ofi") && text.contains("error")
    });
    if let Some(plugin) = plugin {
        found = found.at(at(place, plugin.line), plugin.text.clone());
    }
    let has_rdma = !up.is_empty() || !names.is_empty();
    let confidence = match (has_rdma, told.is_some(), none.is_some()) {
        (true, _, true) => Confidence::Certain,
        (true, _, false) => Confidence::Likely,
        (false, true, _) => Confidence::Likely,
        // A host that has nothing but Ethernet is right to use it.
        (false, false, _) if plugin.is_none() && chart.shortfall().is_none() => return None,
        (false, false, _) => Confidence::Possible,
    };
    let share = share(chart).unwrap_or(0.7);
    Some(
        found
            .confidence(confidence)
            .costs(share, format!("about {:.0} % of what the adapters carry", 100.0 * share))
            .fix(match told {
                Some(stated) => format!("unset {} (for the job; also in /etc/nccl.conf and in the image)", stated.name),
                None => "give the job /dev/infiniband and rdma-core (docker: --device=/dev/infiniband --cap-add=IPC_LOCK \
                         --ulimit memlock=-1), or the fabric's plugin on LD_LIBRARY_PATH"
                    .to_owned(),
            })
            .check("NCCL_DEBUG=INFO says `Using network IB` (or the plugin's name)")
            .settle("`ibv_devinfo` and `env | grep NCCL` where the job runs (inside the container)"),
    )
}

/// What makes NCCL take sockets.
fn told(chart: &Chart<'_>) -> Option<crate::chart::Stated> {
    let is_on = |value: &str| !matches!(value.trim().trim_end_matches('.'), "" | "0");
    let disabled = chart.setting("NCCL_IB_DISABLE").filter(|stated| is_on(&stated.value));
    disabled.or_else(|| {
        chart.setting("NCCL_NET").filter(|stated| stated.value.to_ascii_lowercase().starts_with("socket"))
    })
}

/// Names that RDMA devices have.
fn is_rdma_name(name: &str) -> bool {
    ["mlx", "roce", "ibp", "bnxt_re", "irdma", "efa", "rdmap", "hfi", "cxi"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// What is lost against what the machine's adapters should carry.
fn share(chart: &Chart<'_>) -> Option<f64> {
    let (with, _) = lookup::otherwise(chart, |request| request.settings.sockets_only = false)?;
    let best = chart.runs.iter().filter_map(best_rate).max()?;
    Some(1.0 - best.as_gigabytes() / with.as_gigabytes().max(1e-9)).filter(|share| *share > 0.05)
}

/// Without a log: a run between hosts that is as slow as sockets would be.
fn by_figures(chart: &Chart<'_>) -> Option<Finding> {
    // A port that counts errors is as slow.
    if chart.logs().next().is_some() || chart.host_count() < 2 || super::health::errors(chart).is_some() {
        return None;
    }
    let (point, place, comparison) = chart.shortfall()?;
    let cause = comparison.causes.iter().find(|cause| cause.text.contains("TCP sockets"));
    // Half of the network's rate is far from sockets; a fifth is out of reach of most broken links.
    if point.ratio > 0.25 || cause.is_none() && point.ratio > 0.12 || rdma_is_seen(chart) {
        return None;
    }
    // Lost packets make it fall at some sizes only, sockets are slow at each.
    if chart.runs.iter().any(|run| super::roce::collapse(run.benchmark).is_some()) {
        return None;
    }
    let confidence =
        if cause.is_some() || point.ratio < 0.12 { Confidence::Likely } else { Confidence::Possible };
    let what = "the bandwidth between hosts is that of TCP sockets, not of the fabric";
    let mut found = Finding::new(&TCP_FALLBACK, confidence, what).at(
        place,
        format!("{} where {} is expected ({:.0} %)", point.busbw, point.expected.busbw, 100.0 * point.ratio),
    );
    if let Some(cause) = cause {
        found = found.without(format!("over sockets {} would be expected", cause.busbw));
    }
    Some(
        found
            .costs(1.0 - point.ratio, format!("{:.0} % of what the adapters carry", 100.0 * (1.0 - point.ratio)))
            .fix("look for `Using network Socket` in NCCL_DEBUG=INFO; load the fabric's plugin, unset NCCL_IB_DISABLE")
            .check("NCCL_DEBUG=INFO says `Using network IB` (or the plugin's name)")
            .settle("the same run with NCCL_DEBUG=INFO"),
    )
}

/// Whether some run between hosts is faster than sockets ever are.
fn rdma_is_seen(chart: &Chart<'_>) -> bool {
    let mut points = chart.compared().filter_map(|(_, comparison)| comparison.points.last());
    points.any(|point| point.ratio > 0.4)
}

/// Several interfaces over sockets, or runs with more of them that are no faster.
fn cpu_bound(log: &NcclLog, place: &Place, chart: &Chart<'_>) -> Option<Finding> {
    let list =
        log.adapters.iter().filter(|list| list.network == "Socket").max_by_key(|list| list.adapters.len())?;
    let count = list.adapters.len();
    let rates: Vec<_> = chart.runs.iter().filter_map(|run| Some((best_rate(run)?, run))).collect();
    let best = rates.iter().map(|(rate, _)| *rate).max();
    let least = rates.iter().map(|(rate, _)| *rate).min();
    if count < 2 {
        return None;
    }
    let alike = rates.len() > 1
        && least.zip(best).is_some_and(|(least, best)| least.as_gigabytes() > 0.8 * best.as_gigabytes());
    let names: Vec<&str> = list.adapters.iter().map(|adapter| adapter.name.as_str()).collect();
    let what = format!(
        "TCP over {count} interfaces ({}) is bound by the CPU, not by the adapters",
        listed_to(&names, 4)
    );
    let mut found = Finding::new(&TCP_CPU_BOUND, Confidence::Possible, what)
        .at(at(place, list.line), format!("NET/Socket uses {count} interfaces"));
    for (rate, run) in rates.iter().take(3) {
        found = found.at(run.place.clone(), format!("best busbw {rate}"));
    }
    let confidence = if alike { Confidence::Certain } else { Confidence::Possible };
    let share = share(chart).unwrap_or(0.6);
    Some(
        found
            .confidence(confidence)
            .costs(share, "what the adapters carry beyond what the CPU copies")
            .fix(
                "RoCE on these adapters (unset NCCL_IB_DISABLE), where they can; else NCCL_SOCKET_NTHREADS=4 \
                 NCCL_NSOCKS_PERTHREAD=4 brings some",
            )
            .check("busbw rises with the number of adapters")
            .settle("the same benchmark with one and with all interfaces in NCCL_SOCKET_IFNAME"),
    )
}
