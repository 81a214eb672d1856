//! GPUDirect RDMA: whether NICs reach the memory of GPUs, and whether they should.

use std::collections::BTreeSet;

use weft_base::{Place, Severity};
use weft_formats::{Gdr as InUse, GdrFact, NcclLog};
use weft_topology::NcclPath;

use super::gdr_causes::{
    GDR_FORCED_FAR, GDR_OFF_DISTANCE, GDR_OFF_DRIVER_ORDER, GDR_OFF_GEFORCE, GDR_OFF_PEERMEM,
};
use super::lookup::{self, Modules, Near, best_rate};
use crate::cause::Cause;
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed_to;

/// The rule.
#[derive(Debug)]
pub struct Gdr;

impl Rule for Gdr {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&GDR_OFF_PEERMEM, &GDR_OFF_DRIVER_ORDER, &GDR_OFF_DISTANCE, &GDR_OFF_GEFORCE, &GDR_FORCED_FAR]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let signs = Signs::of(chart);
        let missing = missing(chart, &signs);
        let mut found: Vec<Finding> = missing.into_iter().collect();
        found.extend(far(chart, &signs));
        found.extend(forced(chart, &signs));
        found
    }
}

/// What the input says of GPUDirect RDMA.
struct Signs<'a> {
    /// Adapters for which a log says that it is off.
    adapters_off: Vec<(&'a GdrFact, Place)>,
    /// Pairs of a GPU and an adapter for which it is off for their distance.
    pairs_off: Vec<(&'a GdrFact, Place)>,
    /// Pairs for which it is on.
    pairs_on: Vec<(&'a GdrFact, Place)>,
    /// Hosts whose ends of connections lack it while the other hosts' ends have it, with a line each.
    lacking: Vec<(String, Place)>,
    /// Whether connections use it, over all logs.
    is_used: bool,
    /// Whether some of them do without it.
    is_partly: bool,
    /// Whether connections over RDMA do without it.
    is_unused: Option<Place>,
    modules: Vec<Modules>,
    near: Vec<Near>,
}

impl<'a> Signs<'a> {
    fn of(chart: &Chart<'a>) -> Self {
        let mut signs = Self {
            adapters_off: Vec::new(),
            pairs_off: Vec::new(),
            pairs_on: Vec::new(),
            lacking: Vec::new(),
            is_used: false,
            is_partly: false,
            is_unused: None,
            modules: lookup::modules(chart),
            near: lookup::nearest_nics(chart),
        };
        for (log, place) in chart.logs() {
            signs.take(log, place);
        }
        signs
    }

    fn take(&mut self, log: &'a NcclLog, place: &Place) {
        for fact in &log.gdr {
            let is_pair = fact.subject.contains('/') || fact.subject.starts_with("GPU");
            let list = match (is_pair, fact.enabled) {
                (true, true) => &mut self.pairs_on,
                (true, false) => &mut self.pairs_off,
                (false, false) => &mut self.adapters_off,
                (false, true) => continue,
            };
            list.push((fact, at(place, fact.line)));
        }
        match log.gdr_in_use() {
            InUse::Yes => self.is_used = true,
            InUse::Some => (self.is_used, self.is_partly) = (true, true),
            InUse::No if is_rdma(log) => {
                let line = log.transports.iter().find(|it| it.adapter.is_some()).map_or(0, |it| it.line);
                self.is_unused.get_or_insert(at(place, line));
            }
            InUse::OneSided => self.lacking.extend(lacking(log, place)),
            InUse::No | InUse::Unknown => {}
        }
    }

    /// Whether some GPU meets a NIC below the CPU; `None` where the input does not tell.
    fn is_near(&self) -> Option<bool> {
        (!self.near.is_empty()).then(|| self.near.iter().any(Near::is_below_cpu))
    }
}

/// Whether the connections go over InfiniBand or RoCE.
fn is_rdma(log: &NcclLog) -> bool {
    log.transports.iter().any(|transport| transport.adapter.is_some() && transport.name.contains("IB"))
}

/// Hosts that lack it at each of their ends, in both directions.
fn lacking(log: &NcclLog, place: &Place) -> Vec<(String, Place)> {
    let mut without: BTreeSet<&str> = BTreeSet::new();
    let mut with: BTreeSet<&str> = BTreeSet::new();
    let mut line = 0;
    for (_, lacks) in log.one_sided() {
        let Some(connection) = log.connections.get(lacks) else { continue };
        let end = if connection.sends > 0 {
            (connection.from, connection.to)
        } else {
            (connection.to, connection.from)
        };
        let host = |rank| lookup::host_of_rank(log, connection.communicator, rank);
        if let (Some(own), Some(other)) = (host(end.0), host(end.1)) {
            without.insert(own);
            with.insert(other);
            line = connection.line;
        }
    }
    without.difference(&with).map(|host| ((*host).to_owned(), at(place, line))).collect()
}

/// The module is missing, or is there and does nothing, or the card cannot.
fn missing(chart: &Chart<'_>, signs: &Signs<'_>) -> Option<Finding> {
    let said_off = !signs.adapters_off.is_empty();
    let silent_off = signs.is_unused.is_some() && signs.pairs_off.is_empty();
    if !said_off && signs.lacking.is_empty() && !silent_off {
        return unasked(chart, signs);
    }
    let gpus = chart.gpus();
    let is_geforce = !gpus.is_empty() && gpus.iter().all(|gpu| gpu.family.contains("GeForce"));
    let without: Vec<&Modules> = signs.modules.iter().filter(|list| list.lacks()).collect();
    let unregistered = signs.modules.iter().find(|list| list.is_unknown());
    let finding = if is_geforce {
        let what = "GeForce cards do not offer their memory to a NIC: all data is staged in host memory";
        with_log(Finding::new(&GDR_OFF_GEFORCE, Confidence::Likely, what), signs).severity(Severity::Note)
    } else if let (true, Some(list)) = (without.is_empty(), unregistered) {
        with_log(driver_order(list), signs)
    } else if !without.is_empty() || said_off || !signs.lacking.is_empty() {
        peermem(chart, signs, &without)
    } else {
        return None;
    };
    Some(worth(chart, signs, finding))
}

/// No log, yet a module that is registered with nobody.
fn unasked(chart: &Chart<'_>, signs: &Signs<'_>) -> Option<Finding> {
    if signs.is_used || !signs.pairs_off.is_empty() {
        return None;
    }
    let unregistered = signs.modules.iter().find(|list| list.is_unknown());
    if let Some(list) = unregistered {
        // The kernel's own RDMA stack has no such folder, and goes by DMA-BUF.
        let is_seen = list.is_registered.is_some() || chart.shortfall().is_some();
        let found = driver_order(list);
        let found = if is_seen { found } else { found.confidence(Confidence::Possible) };
        return Some(worth(chart, signs, found));
    }
    // Without a log the network may go by DMA-BUF: only several hosts that are slow make it worth a word.
    let without: Vec<&Modules> = signs.modules.iter().filter(|list| list.lacks()).collect();
    if without.is_empty()
        || chart.logs().next().is_some()
        || chart.host_count() < 2
        || chart.shortfall().is_none()
    {
        return None;
    }
    Some(worth(chart, signs, peermem(chart, signs, &without).confidence(Confidence::Possible)))
}

fn peermem(chart: &Chart<'_>, signs: &Signs<'_>, without: &[&Modules]) -> Finding {
    let said_none = signs.adapters_off.iter().any(|(fact, _)| fact.detail.as_deref() == Some("no module"));
    let is_seen = !without.is_empty() && (!signs.adapters_off.is_empty() || !signs.lacking.is_empty());
    let confidence = match (is_seen || said_none, signs.is_near().is_some() || chart.shortfall().is_some()) {
        (true, _) => Confidence::Certain,
        (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let mut hosts: Vec<&str> = signs.lacking.iter().map(|(host, _)| host.as_str()).collect();
    if hosts.is_empty() {
        hosts = without.iter().map(|list| list.host.as_str()).filter(|host| !host.is_empty()).collect();
    }
    let on = if hosts.is_empty() { String::new() } else { format!(" on {}", listed_to(&hosts, 4)) };
    let what = if signs.lacking.is_empty() {
        format!("no GPUDirect RDMA{on}: no peer-memory module is loaded")
    } else {
        format!("no GPUDirect RDMA{on}, while the other side of the same connections has it")
    };
    let mut found = with_log(Finding::new(&GDR_OFF_PEERMEM, confidence, what), signs);
    for (host, place) in signs.lacking.iter().take(2) {
        found = found.at(place.clone(), format!("an end on {host} without GDRDMA, whose other end has it"));
    }
    for list in without.iter().take(2) {
        found = found.at(list.place.clone(), "neither nvidia_peermem nor nv_peer_mem in the list of modules");
    }
    found
        .fix(format!(
            "modprobe nvidia-peermem{on} (as root; keep it with `echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf`; \
             where it fails, install the GPU driver again behind the RDMA stack)"
        ))
        .check("NCCL_DEBUG=INFO says `GPU Direct RDMA Enabled for HCA`, and connections end in /GDRDMA")
        .settle("lsmod, and `ls /sys/kernel/mm/memory_peers`, on each host")
}

fn driver_order(list: &Modules) -> Finding {
    let (name, place) =
        list.peer_memory.clone().unwrap_or_else(|| ("nvidia_peermem".to_owned(), list.place.clone()));
    let on = if list.host.is_empty() { String::new() } else { format!(" on {}", list.host) };
    let told = match &list.registered {
        Some((false, place)) => {
            (place.clone(), "no driver has registered its devices' memory (memory_peers)")
        }
        Some((true, _)) | None => (list.place.clone(), "it is not among the users of ib_core and ib_uverbs"),
    };
    let what = format!(
        "{name} is loaded{on}, but the RDMA core does not know it: it was built without this RDMA stack"
    );
    Finding::new(&GDR_OFF_DRIVER_ORDER, Confidence::Likely, what)
        .at(place, format!("{name} is loaded"))
        .at(told.0, told.1)
        .fix(
            "install the GPU driver again behind the RDMA stack (OFED or DOCA), or `dkms autoinstall --force` for the kernel in \
             use; then `modprobe nvidia-peermem` (as root; ends jobs on that host)",
        )
        .check("`ls /sys/kernel/mm/memory_peers` shows nv_mem; NCCL says `GPU Direct RDMA Enabled for HCA`")
        .settle("`ls /sys/kernel/mm/memory_peers`, dmesg | grep -i peermem, and `ofed_info -s`")
}

/// Lines of a log that say that it is off.
fn with_log(mut found: Finding, signs: &Signs<'_>) -> Finding {
    if let Some((fact, place)) = signs.adapters_off.first() {
        let why = fact.detail.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        found = found.at(place.clone(), format!("GPU Direct RDMA Disabled for {}{why}", fact.subject));
    } else if let Some(place) = &signs.is_unused {
        found = found.at(place.clone(), "connections over RDMA without GDRDMA");
    }
    found
}

/// What it costs: much where GPU and NIC share a switch, little where data goes through the CPU anyway.
fn worth(chart: &Chart<'_>, signs: &Signs<'_>, found: Finding) -> Finding {
    let share = lookup::otherwise(chart, |request| request.settings.gdr_level = Some(NcclPath::Loc))
        .map(|(without, with)| 1.0 - without.as_gigabytes() / with.as_gigabytes().max(1e-9));
    let near = signs.near.iter().find(|near| near.is_below_cpu());
    if signs.is_near() == Some(false) && share.is_none_or(|share| share < 0.1) && signs.lacking.is_empty() {
        return found
            .without(
                "no NIC shares a PCIe switch with a GPU: data goes through the CPU with GPUDirect RDMA too",
            )
            .costs(0.0, "little: GPU and NIC meet at the CPU anyway")
            .severity(Severity::Note);
    }
    let found = match near {
        Some(near) => {
            found.without(format!("{} and {} share a PCIe switch ({})", near.gpu, near.nic, near.class))
        }
        None => found,
    };
    let share = share.filter(|share| *share > 0.05).unwrap_or(0.4);
    found.costs(share, format!("about {:.0} % of the bandwidth to other hosts", 100.0 * share))
}

/// Pairs beyond the limit.
fn far(chart: &Chart<'_>, signs: &Signs<'_>) -> Option<Finding> {
    // Each GPU has an adapter near enough: that others are too far is as it should be.
    if signs.is_used && !signs.is_partly {
        return None;
    }
    let (first, place) = signs.pairs_off.first()?;
    let why = first.detail.clone().unwrap_or_default();
    let level = ["NCCL_NET_GDR_LEVEL", "NCCL_IB_GDR_LEVEL"].iter().find_map(|name| chart.setting(name));
    let pairs: Vec<&str> = signs.pairs_off.iter().map(|(fact, _)| fact.subject.as_str()).collect();
    let what = format!("GPUDirect RDMA is off for {}: {why}", listed_to(&pairs, 4));
    let found = Finding::new(&GDR_OFF_DISTANCE, Confidence::Certain, what)
        .at(place.clone(), format!("GPU Direct RDMA Disabled for {} ({why})", first.subject))
        .check("NCCL_DEBUG=INFO says `Enabled for GPU`; compare busbw with and without");
    // Those GPUs for which a nearer NIC would do are no reason for alarm; some GPU that has a NIC below its switch is.
    let is_lowered =
        level.as_ref().is_some_and(|_| chart.settings.gdr_level.is_some_and(|it| it < NcclPath::Pxb));
    let all_near =
        !signs.near.is_empty() && signs.near.iter().all(Near::is_below_cpu) && signs.pairs_on.is_empty();
    if is_lowered && signs.is_near() != Some(false) {
        let level = level?;
        let text = format!("{}={} lowers the limit", level.name, level.value);
        return Some(
            found
                .at(level.place, text)
                .costs(0.3, "what staging in host memory costs")
                .fix("unset NCCL_NET_GDR_LEVEL"),
        );
    }
    if all_near && !signs.is_used {
        let near = &signs.near[0];
        return Some(
            found
                .without(format!("the topology shows {} and {} as {}", near.gpu, near.nic, near.class))
                .confidence(Confidence::Likely)
                .costs(0.3, "what staging in host memory costs")
                .fix("give NCCL the true topology (NCCL_TOPO_FILE; in a virtual machine: that of the host)"),
        );
    }
    Some(
        found
            .without("data is staged in host memory there, which over a CPU's root complex is mostly the faster way")
            .costs(0.0, "little, unless GPU and NIC share a PCIe switch")
            .fix("nothing has to be mended; NCCL_NET_GDR_LEVEL=PHB (SYS over sockets) tries it nevertheless, for one run: measure")
            .severity(Severity::Note),
    )
}

/// Allowed over the CPU, and slower.
fn forced(chart: &Chart<'_>, signs: &Signs<'_>) -> Option<Finding> {
    let level = ["NCCL_NET_GDR_LEVEL", "NCCL_IB_GDR_LEVEL"].iter().find_map(|name| chart.setting(name))?;
    chart.settings.gdr_level.filter(|level| *level >= NcclPath::Phb)?;
    if signs.is_near() == Some(true) && signs.near.iter().all(Near::is_below_cpu) {
        return None;
    }
    let (with, without) = beside(chart);
    let what = format!("{}={} lets NICs reach GPUs over the CPU", level.name, level.value);
    let text = format!("{}={}", level.name, level.value);
    let mut found = Finding::new(&GDR_FORCED_FAR, Confidence::Possible, what).at(level.place, text);
    if let Some((fact, place)) = signs.pairs_on.first() {
        let why = fact.detail.clone().unwrap_or_default();
        found = found.at(place.clone(), format!("GPU Direct RDMA Enabled for {} ({why})", fact.subject));
    }
    found = found
        .fix("unset NCCL_NET_GDR_LEVEL (for the job; also in /etc/nccl.conf and ~/.nccl.conf)")
        .check("the same benchmark without it is faster")
        .settle("the same benchmark with and without NCCL_NET_GDR_LEVEL");
    match (with, without) {
        (Some(with), Some(without)) if with.as_gigabytes() < 0.9 * without.as_gigabytes() => {
            let share = 1.0 - with.as_gigabytes() / without.as_gigabytes();
            let found = found.confidence(Confidence::Certain).figures("best busbw", without, with);
            Some(found.costs(share, format!("{with} with GPUDirect RDMA, {without} without")))
        }
        (Some(_), Some(_)) => None,
        (_, _) if chart.shortfall().is_some() => Some(
            found
                .confidence(Confidence::Likely)
                .costs(0.3, "reads over a root complex run at a part of the link's rate"),
        ),
        (_, _) if chart.is_fast() => None,
        (_, _) => Some(found.costs(0.2, "reads over a root complex may run at a part of the link's rate")),
    }
}

/// The best rates of runs whose logs use it, and of those whose logs do not.
fn beside(chart: &Chart<'_>) -> (Option<weft_base::Rate>, Option<weft_base::Rate>) {
    let (mut with, mut without) = (None, None);
    for (log, place) in chart.logs() {
        let best = chart.runs.iter().filter(|run| run.place.file == place.file).filter_map(best_rate).max();
        match log.gdr_in_use() {
            InUse::Yes | InUse::Some => with = with.max(best),
            InUse::No => without = without.max(best),
            InUse::OneSided | InUse::Unknown => {}
        }
    }
    (with, without)
}
