//! What vLLM says of its own all-reduce.

use weft_base::{Place, Severity};
use weft_formats::{EndKind, Value};
use weft_topology::ReportedClass;

use super::peers::{NO_P2P_DRIVER, without_peers};
use crate::cause::{Cause, Effect, Nature};
use crate::chart::Chart;
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// No all-reduce of its own.
pub const CUSTOM_ALL_REDUCE_OFF: Cause = Cause {
    code: "D039",
    word: "custom-all-reduce-off",
    title: "the serving engine does without its own all-reduce",
    nature: Nature::Limit,
    effect: Effect::Latency,
    explanation: "vLLM (and SGLang) add small messages of tensor parallelism with a kernel of their own, which reads the other GPUs' \
        memory directly and is faster than NCCL below some hundred KiB. It is switched off where GPUs cannot access each other \
        (cards without peer-to-peer, ACS, a virtual machine), on more than two GPUs that are joined by PCIe only, between hosts, \
        and for numbers of GPUs other than 2, 4, 6 and 8; NCCL then does the work. On two RTX 3090 peer-to-peer with that kernel \
        brought 7 to 13 % of decoding (noonghunna/club-3090#928). With PCIe only, keep tensor parallelism within a socket and \
        pairs, and use pipeline parallelism between them: --tensor-parallel-size 2 --pipeline-parallel-size 2.",
};

/// The rule.
#[derive(Debug)]
pub struct Serving;

impl Rule for Serving {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&CUSTOM_ALL_REDUCE_OFF]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let off = chart.all_reduce_refused();
        let Some((place, why)) = off else { return Vec::new() };
        if why.contains("P2P") { no_peers(chart, place, why) } else { vec![too_many(chart, place, &why)] }
    }
}

/// The test of peers' access failed: cards that have none are told by the card.
fn no_peers(chart: &Chart<'_>, place: Place, why: String) -> Vec<Finding> {
    let models = chart.models();
    // Where the driver answers too, its answer says more.
    if models.is_empty() || without_peers(&models) || !chart.peer_answers().is_empty() {
        return Vec::new();
    }
    let what = "vLLM's test of peer-to-peer failed between cards that have it";
    vec![
        Finding::new(&NO_P2P_DRIVER, Confidence::Likely, what)
            .at(place, why)
            .costs(0.3, "copies between GPUs pass through host memory, and NCCL adds what vLLM's kernel would add faster")
            .fix(
                "switch ACS off on the bridges between the GPUs and the IOMMU to passthrough (iommu=pt); in a virtual machine \
                 pass the GPUs through with peer-to-peer; delete vLLM's cache of the test (~/.cache/vllm/gpu_p2p_access_cache_*)",
            )
            .check("vLLM no longer says that custom allreduce is disabled; nvidia-smi topo -p2p r says OK")
            .settle("nvidia-smi topo -p2p r, lspci -vvv as root (ACSCtl), dmesg"),
    ]
}

/// More GPUs than the kernel takes over PCIe, or a number that it does not take.
fn too_many(chart: &Chart<'_>, place: Place, why: &str) -> Finding {
    let size = chart.records("setting").find_map(|said| said.record.count("tensor-parallel-size"));
    let what = match size {
        Some(size) => {
            format!("tensor parallelism over {size} GPUs goes by NCCL: vLLM's own all-reduce is off")
        }
        None => "tensor parallelism goes by NCCL: vLLM's own all-reduce is off".to_owned(),
    };
    let mut found = Finding::new(&CUSTOM_ALL_REDUCE_OFF, Confidence::Certain, what)
        .severity(Severity::Warning)
        .at(place, why.to_owned());
    if let Some((place, says)) = over_sockets(chart, size) {
        found = found.at(place, says);
    }
    found
        .costs(0.15, "small messages take longer: some percent to a third of decoding")
        .fix(
            "nothing is broken; tensor parallelism within a socket and over two GPUs with pipeline parallelism between pairs \
             (--tensor-parallel-size 2 --pipeline-parallel-size 2), or NVLink bridges",
        )
        .check("tokens a second with both ways of cutting the model")
}

/// GPUs of one group of tensor parallelism on both sockets.
fn over_sockets(chart: &Chart<'_>, size: Option<u64>) -> Option<(Place, String)> {
    let located = chart.case.matrix.as_ref()?;
    let gpus: Vec<usize> = located.value.of_kind(EndKind::Gpu).collect();
    let size = usize::try_from(size?).ok()?.min(gpus.len());
    let group = gpus.get(..size)?;
    let crosses =
        group.iter().any(|a| group.iter().any(|b| located.value.class(*a, *b) == Some(ReportedClass::Sys)));
    crosses.then(|| (located.place.clone(), format!("the {size} GPUs are on both sockets (SYS)")))
}

impl Chart<'_> {
    /// That vLLM's own all-reduce is off, and why.
    pub fn all_reduce_refused(&self) -> Option<(Place, String)> {
        self.records("setting").find_map(|said| {
            let is_off = said.record.get("custom-all-reduce") == Some(&Value::Flag(false));
            let why = said.record.text("why-not").filter(|_| is_off)?;
            Some((said.field_place("why-not"), why.to_owned()))
        })
    }
}
