//! What several nodes can reach: all-to-all by its NICs, and GPUs that reach only some of them.

use weft_base::{Bytes, Rate};
use weft_collective::Collective;
use weft_predictor::compare::{Comparison, Verdict};
use weft_topology::NodeKind;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Fewer GPUs, fewer NICs.
pub const FEW_GPUS: Cause = Cause {
    code: "D072",
    word: "few-gpus-few-nics",
    title: "fewer GPUs of a node reach fewer of its NICs",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "Between nodes each GPU uses the NICs near it. With half of a node's GPUs, half of its NICs carry the traffic and \
        the bandwidth between nodes is half: 45 GB/s with four GPUs of each node where eight give 90. One GPU cannot feed more \
        than its own PCIe slot carries, whatever NICs there are. Nothing is wrong; compare runs over all GPUs of the nodes. \
        Known from NVIDIA/nccl#1168 and NVIDIA/nccl-tests#232.",
};

/// The wire of all-to-all.
pub const ALLTOALL: Cause = Cause {
    code: "D073",
    word: "alltoall-nic-bound",
    title: "all-to-all is bounded by N/(N-1) times the NICs per GPU",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "In an all-to-all over N nodes each GPU sends (N-1)/N of its data to other nodes, over its share of the NICs; what \
        stays inside costs almost nothing. So busbw is at most N/(N-1) times the network's rate per GPU: twice the NIC on two \
        nodes, 4/3 on four, and near the NIC's rate on many. More nodes make it fall towards that rate, without any fault. \
        Told so by a maintainer in NVIDIA/nccl-tests#130.",
};

/// From this share of the bound on the wire decides.
const NEAR: f64 = 0.6;
/// Rounding.
const ABOVE: f64 = 1.03;
/// What all GPUs must bring to be worth a word.
const GAIN: f64 = 1.3;
/// Sizes from here on show the network.
const LARGE: Bytes = Bytes::new(16 << 20);

/// The rule.
#[derive(Debug)]
pub struct SeveralNodes;

impl Rule for SeveralNodes {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&FEW_GPUS, &ALLTOALL]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let several =
            || chart.compared().filter(|(run, it)| it.prediction.nodes > 1 && run.assumed.is_none());
        let few = several().filter_map(|(run, it)| few(chart, run, it)).max_by(|a, b| a.0.total_cmp(&b.0));
        let all = several().filter_map(|(run, it)| alltoall(run, it)).max_by_key(|(busbw, _)| *busbw);
        few.map(|(_, it)| it).into_iter().chain(all.map(|(_, it)| it)).collect()
    }
}

/// A run over some of the GPUs of each node, beside what all would bring; with by how much that is more.
fn few(chart: &Chart<'_>, run: &Run<'_>, comparison: &Comparison) -> Option<(f64, Finding)> {
    let topology = run.topology()?;
    let nodes = usize::try_from(topology.hosts()).ok()?.max(1);
    let all = topology.of_kind(NodeKind::Gpu).count();
    let has_nics =
        chart.machine().is_some_and(|machine| machine.nics.iter().map(|it| it.count).sum::<u16>() > 1);
    let last = comparison.points.last().filter(|last| last.bytes >= LARGE)?;
    let is_fine = matches!(last.verdict, Verdict::AsExpected | Verdict::High);
    if comparison.ranks >= all || !has_nics || !is_fine || comparison.collective == Collective::SendRecv {
        return None;
    }
    let full = run.instead(|request| {
        request.gpus = None;
        request.sizes = vec![last.bytes];
    })?;
    let most = full.rows.first()?.busbw;
    let gain = most.as_gigabytes() / last.expected.busbw.as_gigabytes();
    if gain < GAIN {
        return None;
    }
    let what = format!(
        "{} of {} GPUs of each node reach some of its NICs only: {} is expected with them at {}, and {most} with all",
        comparison.ranks / nodes,
        all / nodes,
        last.expected.busbw,
        last.bytes
    );
    let finding = Finding::new(&FEW_GPUS, Confidence::Certain, what)
        .at(run.at(last.line), format!("{} at {}, over {} ranks", last.busbw, last.bytes, comparison.ranks))
        .figures(&format!("busbw at {}", last.bytes), last.expected.busbw, last.busbw)
        .fix("nothing to mend; to use all NICs, run on all GPUs of each node")
        .check(format!("with {all} ranks the bus bandwidth is near {most}"));
    Some((gain, finding))
}

fn alltoall(run: &Run<'_>, comparison: &Comparison) -> Option<(Rate, Finding)> {
    let bound = &comparison.prediction.bound;
    let last = comparison.points.last().filter(|last| last.bytes >= LARGE)?;
    let share = last.busbw.as_gigabytes() / bound.busbw.as_gigabytes();
    if comparison.collective != Collective::AllToAll || !bound.is_network || !(NEAR..ABOVE).contains(&share) {
        return None;
    }
    let nodes = comparison.prediction.nodes;
    let per_gpu = Rate::from_gigabytes(bound.busbw.as_gigabytes() * f64::from(nodes - 1) / f64::from(nodes));
    let is_above = last.busbw > per_gpu;
    let what = format!(
        "{} of bus bandwidth is {:.0} % of what {nodes} nodes allow in an all-to-all: {nodes}/{} x the {per_gpu} of network \
         per GPU is {}, and falls towards that rate with more nodes",
        last.busbw,
        100.0 * share,
        nodes - 1,
        bound.busbw
    );
    let finding =
        Finding::new(&ALLTOALL, if is_above { Confidence::Certain } else { Confidence::Likely }, what)
            .at(run.at(last.line), format!("{} at {}", last.busbw, last.bytes))
            .figures(&format!("busbw at {}", last.bytes), bound.busbw, last.busbw)
            .fix("nothing to mend; compare all-to-all of other numbers of nodes by busbw x (N-1)/N")
            .check(format!("algbw x (n-1)/n x (N-1)/N stays below {per_gpu} per GPU"));
    Some((last.busbw, finding))
}
