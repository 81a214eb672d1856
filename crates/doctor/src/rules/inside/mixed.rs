//! GPUs of different models in one machine or one run, and bridges that cannot join them.

use weft_base::{Place, Rate, Severity};
use weft_catalogue::{Bridge, Form, Gpu};

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Seat};
use crate::finding::{Confidence, Finding};
use crate::inside::NamedGpu;
use crate::rules::Rule;
use crate::words::listed;

/// Different models in one run.
pub const MIXED_GPUS: Cause = Cause {
    code: "D036",
    word: "mixed-gpus",
    title: "GPUs of different models work in one group, and the slowest decides",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "Each step of a collective waits for the slowest link and the slowest GPU: one card on an older PCIe \
        generation, with fewer lanes or without peer-to-peer makes the ring as slow as itself, and in training the batch waits \
        for the slowest to compute. No NVLink bridge joins different models. nccl-tests' list of ranks and nvidia-smi -L show \
        it. Make groups of one model each, or give the slower card less work.",
};

/// No bridge is seen where one is needed.
pub const SLI_BRIDGE_MISSING: Cause = Cause {
    code: "D037",
    word: "sli-bridge-missing",
    title: "SLI or CrossFire of these cards needs a bridge, and it carries frames only",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "SLI of GeForce cards up to the GTX 10 series and CrossFire up to the Radeon R9 280 join two or more cards by a \
        bridge on top, which carries finished frames and no data of programs: CUDA, NCCL and RCCL neither see nor use it, and \
        nvidia-smi does not tell whether it is there. Without it SLI stays off or sends frames over PCIe. Copies between \
        these cards go over PCIe in any case. CrossFire since the R9 285 and R9 290 (XDMA) needs no bridge. From the RTX 20 series on the \
        bridge is NVLink, which carries data: see nvlink-absent.",
};

/// Cards that no bridge joins.
pub const SLI_MIXED: Cause = Cause {
    code: "D038",
    word: "sli-mixed",
    title: "no SLI, CrossFire or NVLink bridge joins these different cards",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "SLI and NVLink bridges join cards of one model only (a GTX 1080 and a GTX 1070, or an RTX 3090 and an RTX 3090 \
        Ti do not pair), CrossFire cards of one family. A bridge that is pushed on nevertheless stays dark: topo -m shows PHB, \
        NODE or SYS, and nvidia-smi nvlink -s inactive links. Copies go over PCIe. Two of one model, each pair with its own \
        bridge, is what works.",
};

/// The rule.
#[derive(Debug)]
pub struct Mixed;

impl Rule for Mixed {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&MIXED_GPUS, &SLI_BRIDGE_MISSING, &SLI_MIXED]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let cards = cards(chart);
        let joined = chart.pairs_by_link().1;
        let bridge = if joined || chart.host_count() > 1 {
            None
        } else {
            apart(&cards).or_else(|| needs_bridge(&cards, chart))
        };
        in_run(chart).into_iter().chain(bridge).collect()
    }
}

/// The GPUs that one tool lists of one machine: the list that has the most.
fn cards<'a>(chart: &Chart<'a>) -> Vec<NamedGpu<'a>> {
    let said = chart.records("gpu").filter(|said| said.record.subject != "GPU").filter_map(|said| {
        let name = ["product-name", "model", "name"].iter().find_map(|field| said.record.text(field))?;
        Some(NamedGpu { gpu: chart.catalogue.gpu(name).ok()?, place: said.place() })
    });
    let seats = chart
        .devices()
        .filter(Seat::is_gpu)
        .filter_map(|seat| Some(NamedGpu { gpu: chart.model_of(&seat)?, place: seat.place() }));
    let all: Vec<NamedGpu<'a>> = said.chain(seats).collect();
    let of_file = |file: &NamedGpu<'a>| -> Vec<NamedGpu<'a>> {
        all.iter().filter(|it| it.place.file == file.place.file).cloned().collect()
    };
    let mut best: Vec<NamedGpu<'a>> = Vec::new();
    for it in &all {
        let list = of_file(it);
        if list.len() > best.len() {
            best = list;
        }
    }
    best
}

/// Different models in the list of one run's ranks.
fn in_run(chart: &Chart<'_>) -> Option<Finding> {
    chart.runs.iter().find_map(|run| {
        let ranks: Vec<(&Gpu, Place)> = run
            .benchmark
            .ranks
            .iter()
            .filter_map(|rank| Some((chart.catalogue.gpu(rank.gpu.as_deref()?).ok()?, run.at(rank.line))))
            .collect();
        let mut kinds: Vec<(&Gpu, Place)> = Vec::new();
        for (gpu, place) in ranks {
            if kinds.iter().all(|(own, _)| own.name != gpu.name) {
                kinds.push((gpu, place));
            }
        }
        (kinds.len() > 1).then(|| mixed(chart, &kinds))
    })
}

fn mixed(chart: &Chart<'_>, kinds: &[(&Gpu, Place)]) -> Finding {
    let titles: Vec<&str> = kinds.iter().map(|(gpu, _)| gpu.title.as_str()).collect();
    let what = format!("one run over {}: the slowest decides", listed(&titles));
    let mut found = Finding::new(&MIXED_GPUS, Confidence::Certain, what);
    let mut ports: Vec<Rate> = Vec::new();
    for (gpu, place) in kinds {
        let port = port(chart, gpu);
        ports.extend(port);
        let rate = port.map_or(String::new(), |rate| format!(", PCIe port of {rate}"));
        found = found.at(place.clone(), format!("{}{rate}", gpu.title));
    }
    let by_rate = |a: &&Rate, b: &&Rate| a.as_gigabytes().total_cmp(&b.as_gigabytes());
    let (least, most) = (ports.iter().min_by(by_rate), ports.iter().max_by(by_rate));
    let share = match (least, most) {
        (Some(least), Some(most)) => 1.0 - least.as_gigabytes() / most.as_gigabytes().max(1e-9),
        _ => 0.0,
    };
    let has_peers = |gpu: &Gpu| gpu.peer_to_peer.as_ref().map(|peer| peer.pcie.value);
    let differ_in_peers = kinds.iter().any(|(gpu, _)| has_peers(gpu) != has_peers(kinds[0].0));
    let found = if share > 0.0 || differ_in_peers {
        found.costs(share.max(0.3), "of the bandwidth that the faster cards have among themselves")
    } else {
        found.severity(Severity::Note).costs(0.1, "the faster cards wait for the slower ones to compute")
    };
    found
        .fix("groups of one model each (CUDA_VISIBLE_DEVICES or the scheduler's GPU type), or less work for the slower")
        .check("the same benchmark over the cards of one model only")
}

/// What a card's PCIe port carries.
fn port(chart: &Chart<'_>, gpu: &Gpu) -> Option<Rate> {
    let port = gpu.pcie.as_ref()?;
    Some(chart.catalogue.link(&port.link).ok()?.usable(port.count.value))
}

/// Whether a bridge of one card joins another.
fn joins(bridge: &Bridge, a: &Gpu, b: &Gpu) -> bool {
    if bridge.same_model { a.name == b.name } else { a.family == b.family }
}

/// Cards that each take a bridge, of which none joins any two.
fn apart(cards: &[NamedGpu<'_>]) -> Option<Finding> {
    let takers: Vec<&NamedGpu<'_>> =
        cards.iter().filter(|it| it.gpu.form == Form::Card && !it.gpu.bridges.is_empty()).collect();
    let first = takers.first().filter(|_| takers.len() > 1 && takers.len() == cards.len())?;
    let other = takers.iter().find(|it| it.gpu.name != first.gpu.name)?;
    let some_join = takers.iter().enumerate().any(|(at, a)| {
        takers[at + 1..].iter().any(|b| a.gpu.bridges.iter().any(|bridge| joins(bridge, a.gpu, b.gpu)))
    });
    if some_join {
        return None;
    }
    let bridge = first.gpu.bridges.first()?;
    let like = if bridge.same_model { "one model" } else { "one family" };
    let what = format!(
        "no bridge joins a {} and a {}: `{}` is for cards of {like}",
        first.gpu.title, other.gpu.title, bridge.link
    );
    Some(
        Finding::new(&SLI_MIXED, Confidence::Certain, what)
            .severity(Severity::Note)
            .at(first.place.clone(), first.gpu.title.clone())
            .at(other.place.clone(), other.gpu.title.clone())
            .costs(0.1, "copies between these cards go over PCIe, with a bridge on top or without")
            .fix(format!("two cards of {like} and the bridge for them; nothing to do where no bridge is wanted"))
            .check("nvidia-smi topo -m shows NV between cards of an NVLink bridge; SLI shows in nvidia-settings only"),
    )
}

/// Like cards whose bridge carries frames, and must be there for them.
fn needs_bridge(cards: &[NamedGpu<'_>], chart: &Chart<'_>) -> Option<Finding> {
    let first = cards.first().filter(|_| cards.len() > 1)?;
    let bridges = &first.gpu.bridges;
    let frames_only = bridges.iter().all(|bridge| !bridge.carries_data);
    let needed = bridges.first().filter(|_| bridges.iter().all(|bridge| !bridge.bridgeless))?;
    let is_like = cards.iter().all(|it| joins(needed, first.gpu, it.gpu));
    if !frames_only || !is_like || first.gpu.form != Form::Card {
        return None;
    }
    let link = chart.catalogue.link(&needed.link).ok()?;
    let rate = link.rate(needed.links);
    let what = format!(
        "{} {}: SLI or CrossFire needs a bridge on top ({}, {rate}), which no tool here shows and programs cannot use",
        cards.len(),
        first.gpu.title,
        link.title
    );
    Some(
        Finding::new(&SLI_BRIDGE_MISSING, Confidence::Possible, what)
            .severity(Severity::Note)
            .at(first.place.clone(), format!("{}: its bridge carries frames only", first.gpu.title))
            .costs(0.1, "for frames alone: copies between GPUs go over PCIe, with a bridge or without")
            .fix("for frames: push the bridge home and switch SLI on (nvidia-xconfig --sli=auto); for computing nothing helps")
            .check("the X server's log names the SLI or CrossFire mode that it took")
            .settle("grep -i -e sli -e crossfire /var/log/Xorg.0.log; a look into the case"),
    )
}
