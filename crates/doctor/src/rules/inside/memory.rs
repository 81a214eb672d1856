//! Copies through host memory that take all that one socket's memory gives.

use std::collections::BTreeSet;

use weft_base::{Place, Rate};
use weft_catalogue::Cpu;
use weft_formats::TransportKind;
use weft_topology::{NodeKind, Topology};

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Memory of a socket at its end.
pub const MEMORY_BOUND_STAGING: Cause = Cause {
    code: "D035",
    word: "memory-bound-staging",
    title: "copies between GPUs through host memory are bound by one socket's memory",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "GPUs without peer-to-peer write each byte to host memory, and the neighbour reads it there: a ring of n GPUs \
        at a busbw of b moves 2 n b through the memory. All GPUs of one socket share that socket's memory channels, so that a \
        group on one socket is slower than one of the same size over two (24 and 35 GB/s in NVIDIA/nccl#1130), against all \
        habit. Spread groups over the sockets, fill all memory channels, and look at the rate with `perf stat -a -e \
        uncore_imc/…/` or AMD's `umc` events. NPS4 is another matter: see numa-nps.",
};

/// Of what the memory is sold with, what reads and writes in turn leave at best, and from where on it is what binds.
const BUSY: f64 = 0.6;

/// The rule.
#[derive(Debug)]
pub struct Memory;

impl Rule for Memory {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&MEMORY_BOUND_STAGING]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        chart.runs.iter().filter_map(|run| bound(chart, run)).take(1).collect()
    }
}

/// What a run moves through the memory of the one socket that its GPUs are on.
fn bound(chart: &Chart<'_>, run: &Run<'_>) -> Option<Finding> {
    let staged = staged(chart)?;
    let topology = run.topology()?;
    let gpus = run.gpus();
    let sockets: BTreeSet<_> = gpus.iter().map(|gpu| topology.node(*gpu).socket).collect();
    let on_one = sockets.len() == 1 && !sockets.contains(&None);
    let has_others = topology.of_kind(NodeKind::Gpu).any(|gpu| !sockets.contains(&topology.node(gpu).socket));
    let sockets_built =
        topology.of_kind(NodeKind::Cpu).map(|cpu| topology.node(cpu).socket).collect::<BTreeSet<_>>().len();
    if run.benchmark.hosts().len() > 1 || gpus.len() < 3 || !on_one || sockets_built < 2 {
        return None;
    }
    let (cpu, told) = socket(chart, topology)?;
    let best = run.benchmark.best()?;
    let busbw = best.busbw?;
    #[expect(clippy::cast_precision_loss, reason = "a count of GPUs")]
    let moved = moved(busbw, gpus.len() as f64);
    let share = moved.as_gigabytes() / cpu.memory_rate.value.as_gigabytes();
    if share < BUSY {
        return None;
    }
    let what = format!(
        "{} GPUs of one socket move {moved} through its memory, {:.0} % of what the {} has",
        gpus.len(),
        100.0 * share,
        cpu.title
    );
    let confidence = if has_others { Confidence::Likely } else { Confidence::Possible };
    Some(
        Finding::new(&MEMORY_BOUND_STAGING, confidence, what)
            .at(run.at(best.line), format!("busbw {busbw}: each GPU writes and reads at that rate"))
            .at(staged.0, staged.1)
            .at(told, format!("{}: {} for each socket", cpu.title, cpu.memory_rate.value))
            .figures("memory traffic of the socket", format!("at most {}", cpu.memory_rate.value), moved)
            .costs(0.3, "a group over two sockets has the memory of both")
            .fix(
                "spread the GPUs of a group over both sockets (CUDA_VISIBLE_DEVICES), and fill all memory channels of \
                 each socket; cards with peer-to-peer or an NVLink bridge do without the memory",
            )
            .check("the same benchmark with as many GPUs, half of them on each socket, is faster")
            .settle("the same benchmark over both sockets; dmidecode -t memory for the channels that are filled"),
    )
}

/// What a ring moves through memory: each GPU writes at the rate of the ring, and its neighbour reads.
fn moved(busbw: Rate, gpu_count: f64) -> Rate {
    Rate::from_gigabytes(2.0 * gpu_count * busbw.as_gigabytes())
}

/// That channels between GPUs go through shared memory, and none directly.
fn staged(chart: &Chart<'_>) -> Option<(Place, String)> {
    chart.logs().find_map(|(log, place)| {
        let is_direct = log.transports.iter().any(|it| it.kind == TransportKind::PeerToPeer);
        let it = log.transports.iter().find(|it| it.kind == TransportKind::SharedMemory)?;
        (!is_direct).then(|| (at(place, it.line), format!("channels go via {}", it.name)))
    })
}

/// The CPU of the machine, with where a tool names it.
fn socket<'a>(chart: &Chart<'a>, topology: &Topology) -> Option<(&'a Cpu, Place)> {
    let told = chart.records("cpu").find(|said| said.record.text("model-name").is_some())?;
    let model = topology.of_kind(NodeKind::Cpu).find_map(|cpu| topology.model(cpu))?;
    Some((chart.catalogue.cpu(model).ok()?, told.field_place("model-name")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_gpus_write_and_read_what_their_ring_carries() {
        let moved = moved(Rate::from_gigabytes(24.0), 4.0);
        assert!((moved.as_gigabytes() - 192.0).abs() < 1e-6, "{moved}");
    }
}
