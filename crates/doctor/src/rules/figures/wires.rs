//! What a GPU's links to those that ran carry, and what the makers call it.

use weft_base::Rate;
use weft_catalogue::{Catalogue, LinkFamily, LinkKind};
use weft_topology::{NodeId, NodeKind, Topology, fabric_islands};

use crate::chart::Run;

/// The links of one GPU to the others that ran, or to the switches.
#[derive(Debug, Clone)]
pub struct Port<'c> {
    /// Of all of them.
    pub kind: &'c LinkKind,
    /// How many, all together.
    pub count: u16,
    /// After the line encoding, in one direction.
    pub raw: Rate,
    /// What programs reach.
    pub usable: Rate,
    /// Whether they end at switches.
    pub to_switch: bool,
}

impl Port<'_> {
    /// `18 x NVLink 4`.
    pub fn text(&self) -> String {
        self.kind.family.bundle(&self.kind.title, u32::from(self.count))
    }

    /// Both directions added up, as data sheets do.
    pub fn both(&self) -> Rate {
        Rate::from_gigabytes(2.0 * self.raw.as_gigabytes())
    }
}

/// The fabric links of the first GPU that ran; `None` where the fabric does not join all that ran.
pub fn fabric_port<'c>(run: &Run<'_>, catalogue: &'c Catalogue) -> Option<Port<'c>> {
    port(run.topology()?, &run.gpus(), catalogue)
}

/// The fabric links of the first of some GPUs, to the others; `None` where the fabric does not join them.
pub fn port<'c>(topology: &Topology, gpus: &[NodeId], catalogue: &'c Catalogue) -> Option<Port<'c>> {
    let first = *gpus.first()?;
    let is_joined = fabric_islands(topology).iter().any(|island| gpus.iter().all(|gpu| island.contains(gpu)));
    if !is_joined || gpus.len() < 2 {
        return None;
    }
    let of_fabric = topology.links_from(first).map(|(_, link)| link).filter(|link| {
        topology.family(link) == LinkFamily::GpuFabric
            && (gpus.contains(&link.to) || topology.node(link.to).kind == NodeKind::GpuSwitch)
    });
    let links: Vec<_> = of_fabric.collect();
    let kind = catalogue.link(&topology.kind(links.first()?.kind).name).ok()?;
    let count: u16 = links.iter().map(|link| link.count).sum();
    let to_switch = links.iter().any(|link| topology.node(link.to).kind == NodeKind::GpuSwitch);
    Some(Port { kind, count, raw: kind.rate(count), usable: kind.usable(count), to_switch })
}
