//! What the network allows: the least that a node must send or receive, over what its NICs carry.

use weft_base::Rate;
use weft_catalogue::LinkFamily;
use weft_collective::Collective;
use weft_topology::{Link, NodeId};

use super::{Bound, Scope, over, rate_source};
use crate::nccl::cluster::Cluster;
use crate::nccl::nics::NicEnd;
use crate::step::{Cite, Step};

/// The bound by the NICs of a node. Without switches that add, all nodes together send 2 (N - 1) messages in an
/// all-reduce: N - 1 to add and N - 1 to share.
#[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
pub(super) fn bound(scope: &Scope<'_>, cluster: &Cluster) -> Bound {
    let nics = &cluster.system.nics;
    let carried: Rate = nics.iter().map(|nic| carried(scope, nic)).sum();
    let (ranks, inside) = (scope.ranks as f64, scope.gpus.len() as f64);
    let nodes = f64::from(cluster.nodes);
    let crossing = match scope.collective {
        Collective::AllReduce => 2.0 * (nodes - 1.0) / nodes,
        Collective::AllGather | Collective::ReduceScatter => (ranks - inside) / ranks,
        Collective::AllToAll => inside * (ranks - inside) / ranks,
        Collective::Broadcast | Collective::Reduce | Collective::SendRecv | Collective::Barrier => 1.0,
    };
    let share = scope.collective.bus_factor(scope.ranks);
    let busbw = Rate::from_gigabytes(carried.as_gigabytes() / crossing * share);
    let (text, cites) = describe(scope, nics);
    let limit = format!("{text} of each node");
    let name = scope.collective.name();
    let how = match scope.collective {
        Collective::AllReduce => {
            format!("{name} over {nodes} nodes: per byte of message each sends 2 x {}/{nodes}", nodes - 1.0)
        }
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::SendRecv
        | Collective::Barrier => format!("{name} over {nodes} nodes of {inside} GPUs: per byte of message"),
    };
    let derivation = vec![
        Step::cited(
            format!("each node reaches the others over {text} = {carried} in one direction"),
            scope.catalogue,
            &cites,
        ),
        Step::modelled(format!("{how} = {crossing:.4} bytes must leave or enter each")),
        Step::arithmetic(format!("so algbw <= {}, busbw <= {busbw}", over(busbw, share))),
    ];
    Bound { busbw, limit, is_network: true, derivation }
}

/// What a NIC carries: no more than its PCIe port.
fn carried(scope: &Scope<'_>, end: &NicEnd) -> Rate {
    let nominal = Rate::from_gigabytes(end.rate);
    let Some(nic) = end.node else { return nominal };
    let nics = || std::iter::once(nic).chain(end.others.iter().copied());
    let of = |family: LinkFamily| -> Rate {
        nics().flat_map(|nic| links(scope, nic, family)).map(|link| link.capacity).sum()
    };
    let (cables, port) = (of(LinkFamily::Network), of(LinkFamily::Pcie));
    let wire = if cables == Rate::ZERO { nominal } else { cables };
    if port == Rate::ZERO { wire } else { wire.min(port) }
}

fn links<'s>(scope: &'s Scope<'_>, nic: NodeId, family: LinkFamily) -> impl Iterator<Item = &'s Link> {
    let links = scope.topology.links_from(nic).map(|(_, link)| link);
    links.filter(move |link| scope.topology.family(link) == family)
}

/// The NICs in words, and where their rate comes from.
fn describe<'s>(scope: &'s Scope<'_>, nics: &[NicEnd]) -> (String, Vec<Cite<'s>>) {
    let Some(first) = nics.first() else { return (String::new(), Vec::new()) };
    let cable = first.node.and_then(|nic| links(scope, nic, LinkFamily::Network).next());
    let kind = cable.map(|link| scope.topology.kind(link.kind));
    let cites = kind.and_then(|kind| rate_source(scope.catalogue, &kind.name)).into_iter().collect();
    let count: usize = nics.iter().map(|end| 1 + end.others.len()).sum();
    (format!("{count} x {}", first.title), cites)
}
