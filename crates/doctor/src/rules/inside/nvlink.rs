//! NVLinks that are down, half a bridge, or none at all.

use std::collections::BTreeMap;

use weft_base::{Place, Severity};
use weft_catalogue::{Form, Gpu};
use weft_formats::EndKind;
use weft_topology::ReportedClass;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed;

/// Links that are down.
pub const NVLINK_DOWN: Cause = Cause {
    code: "D023",
    word: "nvlink-down",
    title: "NVLinks are down, or fewer than the card has",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "A GPU whose NVLinks are inactive takes part in fewer of the paths to its peers: NCCL goes around it, over \
        PCIe, or stops with `P2P is disabled between NVLINK connected GPUs`. `nvidia-smi nvlink -s` shows inactive links, \
        `topo -m` a smaller NV number for one GPU than for the others, the kernel's log Xid 74 or an SXid of the switch. \
        lspci does not show it: NVLink is no PCIe link. Look at `nvidia-smi nvlink -e`, reset the GPU (or the node), reseat \
        or replace the module if it comes back. NCCL_IGNORE_DISABLED_P2P=1 lets NCCL go on, slower. Known from \
        NVIDIA/nccl and from NVIDIA's Xid documentation.",
};

/// A bridge that gives some of its links.
pub const NVLINK_BRIDGE_HALF: Cause = Cause {
    code: "D024",
    word: "nvlink-bridge-half",
    title: "an NVLink bridge gives only some of its links",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "A bridge between two cards that does not sit well, or one of several that is missing, gives some of the \
        links: NV3 where the cards have four, NV4 or NV8 where three bridges give twelve. Both cards show as many inactive \
        links. Switch off, press the bridge home or swap it, and look at `nvidia-smi nvlink -s` again. Cards for three \
        bridges need all three for their full rate.",
};

/// No bridge.
pub const NVLINK_ABSENT: Cause = Cause {
    code: "D025",
    word: "nvlink-absent",
    title: "cards that take an NVLink bridge have none",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "These cards can be joined in pairs by an NVLink bridge, and are not: the matrix shows PHB, NODE or SYS \
        between them, `nvidia-smi nvlink -s` says that all links are inactive. Peers' traffic runs over PCIe, or through host \
        memory where the card has no peer-to-peer without the bridge. Nothing is broken; a bridge helps what talks much \
        (tensor parallelism, data parallelism of large models) and hardly what does not (one stream, layers split). Four \
        cards make two pairs, not one group. Known from noonghunna/club-3090#698 and #446, kohya-ss/sd-scripts#1434.",
};

/// The rule.
#[derive(Debug)]
pub struct NvLink;

impl Rule for NvLink {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&NVLINK_DOWN, &NVLINK_BRIDGE_HALF, &NVLINK_ABSENT]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let fewer = fewer(chart);
        if fewer.is_empty() { absent(chart).into_iter().collect() } else { vec![down(&fewer, chart)] }
    }
}

/// A GPU with fewer links than it has or than its peers have.
struct Fewer {
    name: String,
    up: u64,
    of: u64,
    place: Place,
    says: String,
}

/// GPUs with some links up and some not; one entry for each GPU, what counts links before what the matrix says.
fn fewer(chart: &Chart<'_>) -> Vec<Fewer> {
    let mut found: BTreeMap<String, Fewer> = BTreeMap::new();
    for said in chart.records("gpu") {
        let (Some(links), Some(down)) = (said.record.count("links"), said.record.count("inactive-links"))
        else {
            continue;
        };
        let up = links.saturating_sub(down);
        let model = said.record.text("model").and_then(|name| chart.catalogue.gpu(name).ok());
        // Sold with fewer links than the chip has: those are inactive in all of them.
        let of = model.and_then(own_links).map_or(links, u64::from).min(links.max(1));
        if up > 0 && up < of {
            let name = said.record.subject.clone();
            let says = format!("{up} of {of} NVLinks active");
            found.entry(name.clone()).or_insert(Fewer { name, up, of, place: said.place(), says });
        }
    }
    if found.is_empty() && chart.records("gpu").all(|said| said.record.count("links").is_none()) {
        for it in matrix_fewer(chart) {
            found.entry(it.name.clone()).or_insert(it);
        }
    }
    found.into_values().collect()
}

/// Links of a model in all.
fn own_links(gpu: &Gpu) -> Option<u16> {
    let fabric = gpu.fabric.as_ref().map(|fabric| fabric.count.value);
    let bridge = gpu.bridges.iter().filter(|bridge| bridge.carries_data).map(|bridge| bridge.links).max();
    fabric.or(bridge)
}

/// GPUs that the matrix gives fewer links to all others than those have among themselves, behind switches; and pairs
/// of a bridge with fewer links than the card's bridge has.
fn matrix_fewer(chart: &Chart<'_>) -> Vec<Fewer> {
    let Some(located) = chart.case.matrix.as_ref() else { return Vec::new() };
    let matrix = &located.value;
    let gpus: Vec<usize> = matrix.of_kind(EndKind::Gpu).collect();
    let links = |a: usize, b: usize| match matrix.class(a, b) {
        Some(ReportedClass::Nv(links)) => Some(u64::from(links)),
        Some(_) | None => None,
    };
    let most = gpus.iter().flat_map(|a| gpus.iter().filter_map(move |b| links(*a, *b))).max().unwrap_or(0);
    let models = chart.named_gpus();
    let stated = models.first().filter(|first| models.iter().all(|it| it.gpu.name == first.gpu.name));
    let own = stated.and_then(|it| own_links(it.gpu)).map_or(most, u64::from);
    let is_pairs = |gpu: usize| gpus.iter().filter(|other| links(gpu, **other).is_some()).count() == 1;
    let mut found = Vec::new();
    for gpu in &gpus {
        let peers: Vec<u64> = gpus.iter().filter_map(|other| links(*gpu, *other)).collect();
        let all_joined = gpus.len() > 2 && peers.len() == gpus.len() - 1;
        let up = peers.iter().copied().max().unwrap_or(0);
        // Each GPU of a mesh splits its links among its peers; behind switches, or over a bridge, a pair has all.
        let of = if all_joined && own >= most && is_switched(&gpus, links) { most } else { own };
        let counts = (all_joined && is_switched(&gpus, links)) || is_pairs(*gpu);
        if counts && up > 0 && up < of {
            let name = matrix.ends().get(*gpu).map_or_else(String::new, |end| end.label.clone());
            let says = format!("{name} shows NV{up} where NV{of} is usual");
            found.push(Fewer { name, up, of, place: located.place.clone(), says });
        }
    }
    found
}

/// Whether most pairs have the same number of links, as behind switches.
fn is_switched(gpus: &[usize], links: impl Fn(usize, usize) -> Option<u64>) -> bool {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for (at, a) in gpus.iter().enumerate() {
        for b in &gpus[at + 1..] {
            if let Some(links) = links(*a, *b) {
                *counts.entry(links).or_insert(0) += 1;
            }
        }
    }
    let all: usize = counts.values().sum();
    let most = counts.values().max().copied().unwrap_or(0);
    all > 1 && 2 * most > all && counts.keys().max().is_some_and(|links| *links > 4)
}

/// Half a bridge, where it is pairs of cards that are short of links; else links that are down.
fn down(fewer: &[Fewer], chart: &Chart<'_>) -> Finding {
    let models = chart.models();
    let bridged = models.iter().any(|gpu| gpu.form == Form::Card && !gpu.bridges.is_empty());
    let in_pairs = fewer.len().is_multiple_of(2) && fewer.iter().all(|it| it.up == fewer[0].up);
    let is_bridge = bridged && in_pairs;
    let cause = if is_bridge { &NVLINK_BRIDGE_HALF } else { &NVLINK_DOWN };
    let names: Vec<&str> = fewer.iter().map(|it| it.name.as_str()).collect();
    let worst = fewer.iter().min_by_key(|it| it.up);
    let (up, of) = worst.map_or((0, 1), |it| (it.up, it.of.max(1)));
    let what = if is_bridge {
        format!("the bridge of {} gives {up} of {of} NVLinks", listed(&names))
    } else {
        format!("{} has {up} of {of} NVLinks up", listed(&names))
    };
    let mut found = Finding::new(cause, Confidence::Certain, what);
    for it in fewer.iter().take(4) {
        found = found.at(it.place.clone(), format!("{}: {}", it.name, it.says));
    }
    for said in chart.events("xid").filter(|said| said.record.count("code") == Some(74)).take(2) {
        found = found.at(said.place(), said.record.text("message").unwrap_or("Xid 74"));
    }
    for (log, place) in chart.logs() {
        let disabled = log.problems.iter().find(|it| it.text.contains("P2P is disabled between NVLINK"));
        if let Some(problem) = disabled {
            found = found.at(at(place, problem.line), problem.text.clone());
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of links")]
    let share = 1.0 - up as f64 / of as f64;
    let fix = if is_bridge {
        "switch off, press the bridge home or swap it; cards for three bridges need all three"
    } else {
        "nvidia-smi nvlink -e and dmesg for errors; nvidia-smi -r -i <GPU> (nothing may use it; with Fabric Manager \
         stopped) or a cold start; if it comes back, reseat or replace the module; NCCL_IGNORE_DISABLED_P2P=1 runs \
         meanwhile, slower"
    };
    found
        .costs(
            share,
            format!(
                "{:.0} % of the NVLink bandwidth of these GPUs, and of all that wait for them",
                100.0 * share
            ),
        )
        .fix(fix)
        .check("nvidia-smi nvlink -s shows all links with their rate; topo -m shows one NV number")
}

/// Cards that take a bridge and have none.
fn absent(chart: &Chart<'_>) -> Option<Finding> {
    let named = chart.named_gpus();
    let takes =
        |gpu: &Gpu| gpu.bridges.iter().find(|bridge| bridge.carries_data && bridge.links > 0).cloned();
    let first = named.iter().find(|it| takes(it.gpu).is_some())?;
    let same = named.iter().all(|it| it.gpu.name == first.gpu.name);
    let bridge = takes(first.gpu)?;
    let (without, with) = chart.pairs_by_link();
    let told: Vec<_> = chart
        .records("gpu")
        .filter(|said| said.record.count("links").is_some())
        .map(|said| (said.place(), said.record.count("links"), said.record.count("inactive-links")))
        .collect();
    let all_down = !told.is_empty() && told.iter().all(|(_, links, down)| links == down);
    let any_up = told.iter().any(|(_, links, down)| links > down);
    if !same || chart.gpu_count() < 2 || chart.host_count() > 1 || with || any_up || !(without || all_down) {
        return None;
    }
    let link = chart.catalogue.link(&bridge.link).ok()?;
    let rate = link.rate(bridge.links);
    let pcie = first
        .gpu
        .pcie
        .as_ref()
        .and_then(|port| Some(chart.catalogue.link(&port.link).ok()?.usable(port.count.value)))?;
    let share = 1.0 - pcie.as_gigabytes() / rate.as_gigabytes().max(1e-9);
    let what = format!(
        "no NVLink bridge between {} {}, which take one of {} ({rate} per direction)",
        chart.gpu_count(),
        first.gpu.title,
        link.family.bundle(&link.title, u32::from(bridge.links))
    );
    let mut found = Finding::new(&NVLINK_ABSENT, Confidence::Certain, what).severity(Severity::Note);
    if let Some(matrix) = chart.case.matrix.as_ref().filter(|_| without) {
        found = found.at(matrix.place.clone(), "the matrix shows no NVLink between them");
    }
    if let (Some((place, ..)), true) = (told.first(), all_down) {
        found = found.at(place.clone(), "all NVLinks are inactive");
    }
    // What has no peers without the bridge loses the more; and a matrix leaves no doubt that there is none.
    let staged = first.gpu.peer_to_peer.as_ref().is_some_and(|peer| !peer.pcie.value);
    let share = match (staged, without) {
        (true, true) => share.max(0.9),
        (true, false) => share.max(0.8),
        (false, _) => share.max(0.1),
    };
    Some(
        found
            .at(first.place.clone(), first.gpu.title.clone())
            .costs(
                share,
                format!(
                    "copies within a pair run over PCIe ({pcie} at most) instead of {rate} per direction"
                ),
            )
            .fix("a bridge of the right slot distance for each pair of cards; four cards make two pairs")
            .check("nvidia-smi topo -m shows NV between the cards of a pair"),
    )
}
