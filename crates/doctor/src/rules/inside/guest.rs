//! Virtual machines: what they hide from NCCL.

use weft_base::Place;
use weft_formats::EndKind;
use weft_topology::ReportedClass;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Bogus or missing topology.
pub const VM_TOPOLOGY: Cause = Cause {
    code: "D029",
    word: "vm-topology",
    title: "a virtual machine hides the topology that NCCL needs",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "In a guest all devices hang off one virtual root: the matrix has one word for all pairs, lspci shows no \
        switches, link speeds are empty or 2.5 GT/s x1 (NCCL then believes PCI[0.2]), NICs belong to no NUMA node. NCCL \
        counts GPU and NIC as far apart, leaves GPUDirect RDMA off, takes few channels, or fails. Give it the host's tree: \
        NCCL_TOPO_FILE with switches, speeds and NUMA nodes as on the host (bus ids of bridges may be invented), as cloud \
        images ship it; or let the hypervisor show root ports with true speeds. Known from NVIDIA/nccl#949 and many threads \
        on clouds.",
};

/// A file of another machine.
pub const WRONG_TOPO_FILE: Cause = Cause {
    code: "D030",
    word: "wrong-topo-file",
    title: "NCCL is given the topology file of another machine",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "NCCL_TOPO_FILE or NCCL_GRAPH_FILE (environment, /etc/nccl.conf, a plugin) names a file for another size or kind \
        of machine: more GPUs than there are, other addresses, other models. NCCL fails with `dev … not found`, or searches \
        channels for hardware that is not there. Cloud images set it for all sizes of a family. Take the setting out, or name \
        the file of this size.",
};

/// Masks and threads.
pub const CPU_AFFINITY: Cause = Cause {
    code: "D031",
    word: "cpu-affinity",
    title: "CPU threads are bound to the wrong CPUs, or to none",
    nature: Nature::Fault,
    effect: Effect::Latency,
    explanation: "NCCL binds its threads to the CPUs near each GPU, as the topology says. A topology file that gives two NUMA \
        nodes the same CPUs, or CPUs of the other socket, binds them wrongly; a guest that shows one NUMA node over two \
        sockets, or a container's mask, leaves them unbound. Small messages take half as long again, and proxies of the \
        network slow down. Compare `affinity` in the file with `numactl -H`. Known from NVIDIA/nccl#1017.",
};

/// Files of topology beside the machine.
#[derive(Debug)]
pub struct Guest;

impl Rule for Guest {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&VM_TOPOLOGY, &WRONG_TOPO_FILE, &CPU_AFFINITY]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        // Masks in a file of another machine are no matter of their own.
        let found: Vec<Finding> = wrong_file(chart).or_else(|| masks(chart)).into_iter().collect();
        if found.is_empty() { hidden(chart).or_else(|| unbound(chart)).into_iter().collect() } else { found }
    }
}

/// What shows that this is a virtual machine.
pub fn signs(chart: &Chart<'_>) -> Option<(Place, String)> {
    let by_cpu = chart.records("cpu").find_map(|said| {
        let vendor = said.record.text("hypervisor-vendor")?;
        Some((said.field_place("hypervisor-vendor"), format!("hypervisor {vendor}")))
    });
    // Red Hat's virtio and QEMU, Microsoft's Hyper-V, Amazon, Google.
    let by_device = || {
        chart.devices().find_map(|seat| {
            let name = seat.device.name.as_deref().unwrap_or_default();
            let by_id = matches!(seat.device.vendor, Some(0x1af4 | 0x1b36 | 0x1414));
            let by_name = ["QEMU", "Virtio", "Hyper-V", "Red Hat"].iter().any(|word| name.contains(word));
            (by_id || by_name).then(|| (seat.place(), format!("{name} at {}", seat.device.address)))
        })
    };
    by_cpu.or_else(by_device)
}

/// Signs in what NCCL says that the tree is none: unreadable speeds, links below any PCIe link of a GPU.
fn believed(chart: &Chart<'_>) -> Option<(Place, String)> {
    let slow = chart.logs().find_map(|(log, place)| {
        let node = |it: &weft_formats::SystemGraph| {
            it.nodes.iter().find_map(|node| {
                let rate = node.rate.filter(|rate| rate.as_gigabytes() < 1.0)?;
                let is_device = node.name.starts_with("GPU") || node.name.starts_with("NIC");
                (node.link.as_deref() == Some("PCI") && is_device)
                    .then(|| format!("{} over PCI[{rate}]", node.name))
            })
        };
        let system = log.systems.iter().find(|it| node(it).is_some())?;
        Some((at(place, system.line), format!("NCCL believes {}", node(system)?)))
    });
    let nowhere = || {
        chart.trees().filter(|(host, _)| host.format == "nccl-topology").find_map(|(host, place)| {
            let numa =
                host.numa.iter().position(|node| node.number.is_none()).filter(|_| host.numa.len() > 1)?;
            let device = host.devices.iter().find(|device| device.numa == Some(numa))?;
            Some((at(place, device.line), format!("{} belongs to no NUMA node (-1)", device.address)))
        })
    };
    let unread = || {
        let told = chart.diagnostics.iter().find(|it| it.code.name == "link-speed-hidden")?;
        Some((told.place.clone()?, told.message.clone()))
    };
    slow.or_else(nowhere).or_else(unread)
}

/// All GPUs and NICs of the matrix at one distance, though they are many.
fn one_word(chart: &Chart<'_>) -> Option<(Place, String)> {
    let located = chart.case.matrix.as_ref()?;
    let matrix = &located.value;
    let ends: Vec<usize> = matrix.of_kind(EndKind::Gpu).chain(matrix.of_kind(EndKind::Nic)).collect();
    let mut words: Vec<ReportedClass> = Vec::new();
    for (index, a) in ends.iter().enumerate() {
        for b in &ends[index + 1..] {
            match matrix.class(*a, *b) {
                Some(ReportedClass::Nv(_) | ReportedClass::Xgmi) | None => {}
                Some(class) if words.contains(&class) => {}
                Some(class) => words.push(class),
            }
        }
    }
    let word = words.first().filter(|_| words.len() == 1 && ends.len() > 8)?;
    Some((located.place.clone(), format!("all {} devices are {word} to each other", ends.len())))
}

/// A guest whose tree misleads NCCL.
fn hidden(chart: &Chart<'_>) -> Option<Finding> {
    let signs = signs(chart);
    let believed = believed(chart);
    let flat = one_word(chart);
    let far = chart.logs().find_map(|(log, place)| {
        let fact = log.gdr.iter().find(|fact| !fact.enabled && fact.detail.is_some())?;
        Some((
            at(place, fact.line),
            format!("GPUDirect RDMA off: {}", fact.detail.as_deref().unwrap_or_default()),
        ))
    });
    let confidence = match (signs.is_some(), believed.is_some(), flat.is_some() && far.is_some()) {
        (true, true, _) | (true, _, true) => Confidence::Certain,
        (false, true, _) if flat.is_some() => Confidence::Likely,
        (false, true, _) => Confidence::Possible,
        _ => return None,
    };
    let mut found =
        Finding::new(&VM_TOPOLOGY, confidence, "the virtual machine hides how GPUs and NICs are joined");
    for (place, says) in [believed, flat, far, signs].into_iter().flatten() {
        found = found.at(place, says);
    }
    Some(
        found
            .costs(0.6, "NCCL takes far ways, few channels, or fails")
            .fix(
                "NCCL_TOPO_FILE=<file> with the host's tree (switches, speeds, NUMA nodes; bus ids of bridges may be \
                 invented), in the environment or in /etc/nccl.conf (persists); the cloud's image has one for each size",
            )
            .check("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH shows plausible PCI rates and GPUDirect RDMA enabled")
            .settle("NCCL_TOPO_DUMP_FILE=topo.xml of this guest, and lspci -tv of the host"),
    )
}

/// A topology or graph file with more GPUs than there are.
fn wrong_file(chart: &Chart<'_>) -> Option<Finding> {
    let setting = ["NCCL_TOPO_FILE", "NCCL_GRAPH_FILE"].iter().find_map(|name| chart.setting(name))?;
    let in_file = |host: &weft_formats::Host| {
        host.devices.iter().filter(|device| matches!(device.class, Some(0x0302 | 0x0300))).count()
    };
    let file =
        chart.trees().filter(|(host, _)| host.format == "nccl-topology").find(|(host, _)| in_file(host) > 0);
    let matrix = chart.case.matrix.as_ref().map(|it| it.value.of_kind(EndKind::Gpu).count());
    let ranks = chart.logs().filter_map(|(log, _)| {
        let one_host = log.hosts.len() <= 1;
        log.communicators.iter().filter(|_| one_host).map(|it| it.ranks as usize).max()
    });
    let here = matrix.into_iter().chain(ranks).max()?;
    let missing = chart.logs().find_map(|(log, place)| {
        let problem =
            log.problems.iter().find(|it| it.text.contains("not found") && it.text.contains("dev "))?;
        Some((at(place, problem.line), problem.text.clone()))
    });
    let too_many =
        file.map(|(host, place)| (in_file(host), place.clone())).filter(|(count, _)| *count > here);
    if too_many.is_none() && missing.is_none() {
        return None;
    }
    let what = match &too_many {
        Some((count, _)) => format!("{} describes {count} GPUs, and the machine has {here}", setting.value),
        None => format!("{} names devices that the machine does not have", setting.value),
    };
    let mut found = Finding::new(&WRONG_TOPO_FILE, Confidence::Certain, what)
        .at(setting.place, format!("{}={}", setting.name, setting.value));
    if let Some((count, place)) = too_many {
        found = found.at(place, format!("{count} GPUs in the file"));
    }
    if let Some((place, says)) = missing {
        found = found.at(place, says);
    }
    Some(
        found
            .costs(1.0, "NCCL fails, or plans for another machine")
            .fix(format!(
                "take {} out of the environment and of /etc/nccl.conf, or name the file of this size",
                setting.name
            ))
            .check("NCCL_DEBUG=INFO names no such file; the run starts"),
    )
}

/// Two NUMA nodes of a topology file that claim the same CPUs.
fn masks(chart: &Chart<'_>) -> Option<Finding> {
    for (host, place) in chart.trees().filter(|(host, _)| host.format == "nccl-topology") {
        let nodes: Vec<_> = host.numa.iter().filter(|node| node.number.is_some()).collect();
        for (index, a) in nodes.iter().enumerate() {
            let set = |text: &str| text.chars().any(|c| !matches!(c, '0' | ',' | 'x'));
            let own = a.cpus.as_deref().filter(|mask| set(mask));
            let Some((mask, b)) = nodes[index + 1..]
                .iter()
                .find_map(|b| Some((own?, b)).filter(|(own, b)| b.cpus.as_deref() == Some(own)))
            else {
                continue;
            };
            let (first, second) = (a.number.unwrap_or(0), b.number.unwrap_or(0));
            // Files of some clouds join the nodes of a socket on purpose: only the machine's own list contradicts.
            let own = |number: u32| {
                chart.records("numa-node").find_map(|said| {
                    let is_it = said.record.subject == format!("node {number}");
                    let cpus = said.record.text("cpus").filter(|_| is_it)?;
                    Some((said.field_place("cpus"), cpus.to_owned()))
                })
            };
            let (Some(one), Some(other)) = (own(first), own(second)) else { continue };
            if one.1 == other.1 {
                continue;
            }
            let what = format!("the topology file gives NUMA nodes {first} and {second} the same CPUs");
            let found = Finding::new(&CPU_AFFINITY, Confidence::Certain, what)
                .at(place.clone(), format!("affinity {mask} of both"))
                .at(one.0, format!("node {first} has CPUs of its own, and so has node {second}"))
                .costs(0.2, "threads of half the GPUs run on the other socket: small messages are slower")
                .fix("give each NUMA node its own mask in the file, as numactl -H or lscpu list them")
                .check("NCCL_DEBUG=INFO: `Setting affinity for GPU …` differs between the sockets");
            return Some(found);
        }
    }
    None
}

/// A guest of two sockets whose CPUs are one NUMA node for NCCL.
fn unbound(chart: &Chart<'_>) -> Option<Finding> {
    let signs = signs(chart)?;
    let (nodes, sockets) = chart
        .records("cpu")
        .find_map(|said| Some((said.record.count("numa-nodes")?, said.record.count("sockets")?)))?;
    let cpus = chart.records("cpu").find_map(|said| said.record.count("cpus"))?;
    // More CPUs than a socket has: the host's NUMA nodes are hidden.
    let hidden = sockets > 1 || cpus > 128;
    // Boards of eight GPUs have two sockets.
    let is_flat = nodes == 1 && (hidden && chart.gpu_count() > 4 || chart.gpu_count() >= 8);
    if !is_flat {
        return None;
    }
    let what = "the guest shows one NUMA node for all CPUs, so that NCCL binds its threads to none";
    let found = Finding::new(&CPU_AFFINITY, if hidden { Confidence::Likely } else { Confidence::Possible }, what)
        .at(signs.0, signs.1)
        .without(format!("{cpus} CPUs of {sockets} sockets in {nodes} NUMA node"))
        .costs(0.3, "small messages take half as long again")
        .fix("let the hypervisor show the host's NUMA nodes with pinned CPUs, or bind ranks: numactl --cpunodebind, --bind-to numa")
        .check("numactl -H shows the host's nodes; the time of 8-byte messages falls")
        .settle("numactl -H of guest and host; the same run under taskset");
    Some(found)
}
