//! Who may access whose memory, as the input says.

use weft_catalogue::Catalogue;
use weft_formats::{Access, Case, PeerMode};
use weft_topology::{NodeId, NodeKind, Topology};

use crate::PeerAccess;

impl PeerAccess {
    /// Who may access whom on `host`, as `topo -p2p` says if it is in the case.
    pub fn of_case(case: &Case, host: &Topology, catalogue: &Catalogue) -> Self {
        let gpus: Vec<NodeId> = host.of_kind(NodeKind::Gpu).collect();
        // What NVLink or atomics allow says nothing about copies over PCIe.
        let copies = |mode: Option<PeerMode>| !matches!(mode, Some(PeerMode::NvLink | PeerMode::Atomics));
        let asked = case.peers.iter().map(|peers| &peers.value).find(|peers| copies(peers.mode));
        let Some(peers) = asked else { return PeerAccess::AsUsual };
        let allowed = |access: Access| matches!(access, Access::Ok | Access::Unknown);
        let refused: Vec<(NodeId, NodeId)> = peers
            .cells
            .iter()
            .filter(|cell| cell.access.is_some_and(|access| !allowed(access)))
            .filter_map(|cell| Some((*gpus.get(cell.row)?, *gpus.get(cell.column)?)))
            .collect();
        let stock_refuses = gpus
            .iter()
            .filter_map(|gpu| catalogue.gpu(host.model(*gpu)?).ok())
            .any(|gpu| gpu.peer_to_peer.as_ref().is_some_and(|peer| !peer.pcie.value));
        // All OK on cards that the stock driver keeps apart: the driver is a patched one.
        match (refused.is_empty(), stock_refuses) {
            (false, _) => PeerAccess::Refused(refused),
            (true, true) => PeerAccess::Everywhere,
            (true, false) => PeerAccess::AsUsual,
        }
    }
}
