//! A bus bandwidth above what the wire carries, and why that is right.

use weft_base::{Bytes, Rate};
use weft_collective::Collective;
use weft_formats::TransportKind;
use weft_predictor::Algorithm;
use weft_predictor::compare::{Comparison, Point};

use super::wires::fabric_port;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// A tree between two nodes.
pub const NIC_TREE: Cause = Cause {
    code: "D070",
    word: "busbw-above-nic-tree",
    title: "a bus bandwidth above the NICs' rate, by a tree between two nodes",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "Bus bandwidth is algbw x 2(n-1)/n whatever the algorithm. A ring really sends so many bytes over each NIC. A \
        tree between two nodes sends each byte once each way: one message out and one in, so that n ranks on two nodes may show \
        up to 2(n-1)/n times what the NICs of a node carry. Nothing is wrong, and the job is really so fast. Run once with \
        NCCL_ALGO=RING (`-x NCCL_ALGO=RING` of mpirun) to see what the network itself carries. Told so by NCCL's maintainers \
        in NVIDIA/nccl-tests#196, #251 and #22 and NVIDIA/nccl#307.",
};

/// Reduction in the switch.
pub const LINK_NVLS: Cause = Cause {
    code: "D071",
    word: "busbw-above-link-nvls",
    title: "a bus bandwidth above the links' rate, by switches that add",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "Where switches add (NVLS in NVSwitches, SHARP in InfiniBand switches), a GPU sends its data once and receives \
        the sum once, in place of 2(n-1)/n times. Bus bandwidth still counts the bytes of a ring, so that it passes the rate of \
        the link: 480 GB/s on eight H100 whose links carry 450 one way, 215 on eight H800 whose links carry 200. Nothing is \
        wrong. NCCL_NVLS_ENABLE=0, or NCCL_ALGO=RING, shows what rings reach. Told so in NVIDIA/nccl#1374, \
        NVIDIA/nccl-tests#212, #272 and #274.",
};

/// Above what counts as rounding.
const ABOVE: f64 = 1.02;
/// Of what several NICs carry together a run that is above by less shows nothing.
const ABOVE_NICS: f64 = 1.05;
/// Sizes below it are not taken: their times are of single steps.
const LEAST: Bytes = Bytes::new(1 << 20);

/// The rule.
#[derive(Debug)]
pub struct AboveWire;

impl Rule for AboveWire {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&NIC_TREE, &LINK_NVLS]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let of =
            |(run, comparison)| by_tree(chart, run, comparison).or_else(|| by_switch(chart, run, comparison));
        // Of several runs the highest: it passes the wire the farthest.
        let all = chart.compared().filter(|(_, it)| it.collective == Collective::AllReduce).filter_map(of);
        let best = all.max_by_key(|(busbw, _)| *busbw);
        best.map(|(_, finding)| finding).into_iter().collect()
    }
}

fn best(comparison: &Comparison) -> Option<&Point> {
    comparison.points.iter().filter(|point| point.bytes >= LEAST).max_by_key(|point| point.busbw)
}

fn is_above(rate: Rate, other: Rate, factor: f64) -> bool {
    rate.as_gigabytes() > other.as_gigabytes() * factor
}

fn by_tree(chart: &Chart<'_>, run: &Run<'_>, comparison: &Comparison) -> Option<(Rate, Finding)> {
    let bound = &comparison.prediction.bound;
    let tree_allowed = chart.settings.algorithms.allows(Collective::AllReduce, Algorithm::Tree)
        || chart.settings.algorithms.allows(Collective::AllReduce, Algorithm::NvlsTree);
    if comparison.prediction.nodes != 2 || !bound.is_network || !tree_allowed {
        return None;
    }
    let factor = comparison.collective.bus_factor(comparison.ranks);
    let nics = Rate::from_gigabytes(bound.busbw.as_gigabytes() / factor);
    let point = best(comparison)?;
    if !is_above(point.busbw, nics, ABOVE_NICS) || is_above(point.busbw, bound.busbw, ABOVE) {
        return None;
    }
    let is_assumed = run.assumed.is_some() || chart.machine().is_none_or(|machine| machine.nics.is_empty());
    let confidence = if is_assumed { Confidence::Possible } else { Confidence::Certain };
    let share = 100.0 * point.busbw.as_gigabytes() / bound.busbw.as_gigabytes();
    let assumed = if is_assumed { ", if the NICs are as assumed" } else { "" };
    let what = format!(
        "{} of bus bandwidth is more than the {nics} of {}, and right{assumed}: over a tree between two nodes {} ranks \
         may show up to 2 x {}/{} x {nics} = {}, and this is {share:.0} % of it",
        point.busbw,
        bound.limit,
        comparison.ranks,
        comparison.ranks - 1,
        comparison.ranks,
        bound.busbw
    );
    let finding = Finding::new(&NIC_TREE, confidence, what)
        .at(run.at(point.line), format!("{} at {}", point.busbw, point.bytes))
        .figures(&format!("busbw of all-reduce at {}", point.bytes), point.expected.busbw, point.busbw)
        .fix("nothing to mend; to see what the network itself carries, run once with NCCL_ALGO=RING")
        .check(format!("with NCCL_ALGO=RING the bus bandwidth stays below {nics}"));
    Some((point.busbw, finding))
}

fn by_switch(chart: &Chart<'_>, run: &Run<'_>, comparison: &Comparison) -> Option<(Rate, Finding)> {
    let point = best(comparison)?;
    let (wire, text, is_sure) = switch_wire(chart, run, comparison, point)?;
    if !is_above(point.busbw, wire, 1.0) || is_above(point.busbw, comparison.most, ABOVE) {
        return None;
    }
    let what = format!(
        "{} of bus bandwidth is more than the {wire} that {text} carry one way, and right: the switches add, so that each \
         GPU sends its data once, while busbw counts the bytes of a ring, 2 x {}/{}",
        point.busbw,
        comparison.ranks - 1,
        comparison.ranks
    );
    let finding =
        Finding::new(&LINK_NVLS, if is_sure { Confidence::Certain } else { Confidence::Likely }, what)
            .at(run.at(point.line), format!("{} at {}", point.busbw, point.bytes))
            .figures(&format!("busbw of all-reduce at {}", point.bytes), point.expected.busbw, point.busbw)
            .fix("nothing to mend; NCCL_NVLS_ENABLE=0 or NCCL_ALGO=RING shows what rings reach")
            .check(format!("with NCCL_ALGO=RING the bus bandwidth stays below {wire}"));
    Some((point.busbw, finding))
}

/// The wire that a ring would fill, and whether it is sure that switches add.
fn switch_wire(
    chart: &Chart<'_>,
    run: &Run<'_>,
    comparison: &Comparison,
    point: &Point,
) -> Option<(Rate, String, bool)> {
    let logged =
        |kind: TransportKind| chart.logs().any(|(log, _)| log.transports.iter().any(|it| it.kind == kind));
    if comparison.prediction.nodes == 1 {
        let port = fabric_port(run, chart.catalogue)?;
        let is_nvls = matches!(point.expected.algorithm, Algorithm::Nvls | Algorithm::NvlsTree);
        let is_sure = port.to_switch && (is_nvls || logged(TransportKind::Nvls));
        return port.to_switch.then(|| (port.raw, format!("the {}", port.text()), is_sure));
    }
    let bound = &comparison.prediction.bound;
    if comparison.prediction.nodes == 2 || !bound.is_network || !logged(TransportKind::CollNet) {
        return None;
    }
    let nodes = f64::from(comparison.prediction.nodes);
    let crossing = 2.0 * (nodes - 1.0) / nodes;
    let factor = comparison.collective.bus_factor(comparison.ranks);
    let wire = Rate::from_gigabytes(bound.busbw.as_gigabytes() * crossing / factor);
    Some((wire, bound.limit.clone(), true))
}
