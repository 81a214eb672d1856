//! What copies between two GPUs tell of the links: nvbandwidth, p2pBandwidthLatencyTest.

use weft_catalogue::Catalogue;
use weft_formats::{Measure, PairTable};
use weft_topology::{LinkId, NodeId, NodeKind, Topology, route};

/// The rates of one table beside what the links are known to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairEvidence {
    /// Measured by expected, the median of the pairs.
    pub share: f64,
    /// Pairs that were compared.
    pub pairs: usize,
}

/// Compares a table with the links of a machine; `None` where it is not of copies from GPU to GPU in one direction
/// and over the links, as of copies through the host, of both directions added, or of latencies.
pub fn pair_evidence(table: &PairTable, topology: &Topology, catalogue: &Catalogue) -> Option<PairEvidence> {
    let by_devices = table.test.as_deref().is_none_or(|test| test.starts_with("device_to_device"));
    if table.both_directions || table.is_direct == Some(false) || !by_devices {
        return None;
    }
    let gpus: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let gpu = |name: &String| {
        let number: usize = name.trim_start_matches("GPU").trim().parse().ok()?;
        gpus.get(number).copied()
    };
    let share = |cell: &weft_formats::PairCell| {
        let Measure::Rate(rate) = cell.measure else { return None };
        let (from, to) = (gpu(table.rows.get(cell.row)?)?, gpu(table.columns.get(cell.column)?)?);
        let expected = expected(topology, catalogue, from, to)?;
        (expected > 0.0).then(|| rate.as_gigabytes() / expected)
    };
    let mut shares: Vec<f64> = table.between().filter_map(share).filter(|share| *share > 0.0).collect();
    shares.sort_by(f64::total_cmp);
    let middle = *shares.get(shares.len() / 2)?;
    Some(PairEvidence { share: middle, pairs: shares.len() })
}

/// What programs reach from one GPU to another, in GB/s.
fn expected(topology: &Topology, catalogue: &Catalogue, from: NodeId, to: NodeId) -> Option<f64> {
    let route = route(topology, from, to)?;
    let reached = |link: &LinkId| {
        let link = topology.link(*link);
        let known = catalogue.link(&topology.kind(link.kind).name).ok();
        let share = known.and_then(|kind| kind.achieved.as_ref().or(kind.protocol.as_ref()));
        share.map_or(link.capacity, |share| link.capacity.times(share.value)).as_gigabytes()
    };
    let hop = |hop: &weft_topology::Hop| hop.links.iter().map(reached).sum::<f64>();
    route.hops.iter().map(hop).reduce(f64::min)
}
