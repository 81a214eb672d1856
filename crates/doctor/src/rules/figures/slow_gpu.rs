//! One GPU that is slower than its peers, by copies alone.

use weft_base::Rate;
use weft_formats::{Measure, PairTable};
use weft_topology::{NodeId, NodeKind, ReportedClass, reported_class};

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// The GPU or what leads to it.
pub const SLOW_GPU: Cause = Cause {
    code: "D085",
    word: "slow-gpu",
    title: "one GPU is slower than its peers",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "Where all copies of one GPU are slower than like copies between others, the GPU or the way to it is at fault: a \
        slot with fewer lanes or a lower generation, a riser, NVLinks that are down, clocks that are held down by heat or power, \
        memory that retires pages, or another job on it. A collective runs at the pace of its slowest GPU. Compare its link \
        width and generation under load, its NVLinks, its clocks and throttle reasons with those of a good one; swap it with \
        another slot to see whether the GPU or the slot is slow.",
};

/// A pair below this share of like pairs is slow.
const SLOW: f64 = 0.8;
/// Like pairs from here on are alike.
const ALIKE: f64 = 0.85;
/// Fewer devices do not show which one it is.
const LEAST: usize = 4;

/// The rule.
#[derive(Debug)]
pub struct SlowGpu;

impl Rule for SlowGpu {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&SLOW_GPU]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        for (table, place) in chart.pair_tables() {
            let own = Copies::of(table, chart);
            let slow = own.slow().or_else(|| own.slow_of_host());
            let Some((device, rate, peers, line)) = slow else { continue };
            let what =
                format!("GPU {device} is slower than its peers: {rate} where like copies reach {peers}");
            if found.iter().any(|known| known.what.starts_with(&format!("GPU {device} "))) {
                continue;
            }
            let share = 1.0 - rate.as_gigabytes() / peers.as_gigabytes();
            found.push(
                Finding::new(&SLOW_GPU, Confidence::Likely, what)
                    .at(at(place, line), format!("{}: {rate}, others {peers}", table.title))
                    .costs(share, format!("{:.0} % of the bandwidth of this GPU, and of each collective with it", 100.0 * share))
                    .figures(&format!("copies with GPU {device}"), peers, rate)
                    .fix("compare its slot, links, clocks and heat with a good one's; swap it with another slot")
                    .check("the same table shows it like the others")
                    .settle(format!("nvidia-smi -q -i {device} under load (link, clocks, throttle reasons), nvidia-smi nvlink -s -i {device}")),
            );
        }
        found
    }
}

/// From, to, how, how much, line.
type Pair = (usize, usize, Option<ReportedClass>, Rate, u32);

/// Rates between GPUs of one host, or between a host and its GPUs.
struct Copies {
    between: Vec<Pair>,
    /// Of each GPU with the host.
    with_host: Vec<(usize, Rate, u32)>,
}

impl Copies {
    fn of(table: &PairTable, chart: &Chart<'_>) -> Self {
        let number = |name: Option<&String>| name?.trim_start_matches("GPU").trim().parse::<usize>().ok();
        let gpus: Vec<NodeId> = chart.host.of_kind(NodeKind::Gpu).collect();
        let class = |from: usize, to: usize| reported_class(chart.host, *gpus.get(from)?, *gpus.get(to)?);
        let mut copies = Self { between: Vec::new(), with_host: Vec::new() };
        let is_square = table.rows.len() == table.columns.len();
        for cell in &table.cells {
            let Measure::Rate(rate) = cell.measure else { continue };
            let (from, to) = (number(table.rows.get(cell.row)), number(table.columns.get(cell.column)));
            match (from, to) {
                (Some(from), Some(to)) if is_square && from != to => {
                    copies.between.push((from, to, class(from, to), rate, cell.line));
                }
                (_, Some(to)) if table.rows.len() == 1 => copies.with_host.push((to, rate, cell.line)),
                _ => {}
            }
        }
        copies
    }

    /// The GPU of which all copies are slower than like copies between others, with its best rate, theirs, and a line.
    fn slow(&self) -> Option<(usize, Rate, Rate, u32)> {
        let mut devices: Vec<usize> = self.between.iter().map(|copy| copy.0).collect();
        devices.sort_unstable();
        devices.dedup();
        if devices.len() < LEAST {
            return None;
        }
        let of = |device: usize| {
            let (own, others): (Vec<&Pair>, Vec<&Pair>) =
                self.between.iter().partition(|copy| copy.0 == device || copy.1 == device);
            let best = own.iter().max_by_key(|copy| copy.3)?;
            // Of like pairs the slowest: a GPU alone on its socket is unlike all others.
            let like: Vec<Rate> =
                others.iter().filter(|copy| own.iter().any(|it| it.2 == copy.2)).map(|copy| copy.3).collect();
            let (least, most) = (*like.iter().min()?, *like.iter().max()?);
            let is_known = own.iter().all(|copy| others.iter().any(|other| other.2 == copy.2));
            let is_alike = least.as_gigabytes() > ALIKE * most.as_gigabytes();
            let is_slow = best.3.as_gigabytes() < SLOW * least.as_gigabytes();
            (is_known && is_alike && is_slow).then_some((device, best.3, least, best.4))
        };
        devices.into_iter().find_map(of)
    }

    /// The same of copies with the host.
    fn slow_of_host(&self) -> Option<(usize, Rate, Rate, u32)> {
        let mut all = self.with_host.clone();
        all.sort_by_key(|copy| copy.1);
        let [slowest, rest @ ..] = &all[..] else { return None };
        let (least, most) = (rest.first()?.1, rest.last()?.1);
        let is_alike = least.as_gigabytes() > ALIKE * most.as_gigabytes();
        let is_slow = slowest.1.as_gigabytes() < SLOW * least.as_gigabytes();
        (all.len() >= LEAST && is_alike && is_slow).then_some((slowest.0, slowest.1, least, slowest.2))
    }
}

#[cfg(test)]
mod tests {
    use super::Copies;
    use weft_base::Rate;

    fn copies(rate: impl Fn(usize, usize) -> f64) -> Copies {
        let pairs = (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let between =
            pairs.map(|(from, to)| (from, to, None, Rate::from_gigabytes(rate(from, to)), 1)).collect();
        Copies { between, with_host: Vec::new() }
    }

    #[test]
    fn a_gpu_is_slow_where_all_its_pairs_are_and_no_other_is() {
        let one = copies(|from, to| if from == 2 || to == 2 { 6.5 } else { 13.0 });
        assert_eq!(one.slow().map(|found| found.0), Some(2));
        // A slow pair is no slow GPU, and two pairs with bridges make the others look slow.
        let pair = copies(|from, to| if from + to == 1 { 6.5 } else { 13.0 });
        assert_eq!(pair.slow(), None);
        let bridged = copies(|from, to| if from / 2 == to / 2 { 50.0 } else { 13.0 });
        assert_eq!(bridged.slow(), None);
    }

    #[test]
    fn copies_with_the_host_show_it_too() {
        let with = |rates: [f64; 4]| {
            let with_host =
                rates.iter().enumerate().map(|(gpu, rate)| (gpu, Rate::from_gigabytes(*rate), 7)).collect();
            Copies { between: Vec::new(), with_host }
        };
        assert_eq!(with([25.0, 24.6, 12.4, 25.1]).slow_of_host().map(|found| found.0), Some(2));
        // Two sockets of which one is slower: no single GPU.
        assert_eq!(with([25.0, 24.6, 17.4, 17.1]).slow_of_host(), None);
    }
}
