//! What was seen of devices' links that differs from how the machine is built: lanes and links that are down.

use std::cmp::Reverse;

use weft_base::{Diagnostic, Place};
use weft_catalogue::LinkFamily;
use weft_topology::{Health, LinkId, NodeId, NodeKind, Overlay, ReportedClass, Topology};

use crate::codes;
use crate::join::Case;
use crate::matrix::{Cell, EndKind};

/// Something seen of one device's links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// What was seen.
    pub seen: Seen,
    /// Where it was read.
    pub place: Place,
}

/// What was seen. Devices are named by their numbers in the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// PCIe lanes that run between a GPU and what is above it.
    GpuLanes(usize, u16),
    /// PCIe lanes that run between a NIC and what is above it.
    NicLanes(usize, u16),
    /// Links of the GPU fabric that are up.
    GpuLinks(usize, u16),
}

impl Case {
    /// What was observed, as the state of the links of `topology`, which was built of this case's machine. Only
    /// what is less than built counts: a device cannot have more lanes than its slot.
    pub fn overlay(&self, topology: &Topology) -> Overlay {
        let mut overlay = Overlay::default();
        for observation in &self.observed {
            for (link, up) in affected(observation.seen, topology) {
                let health = Health { place: Some(observation.place.clone()), ..Health::up(up) };
                overlay.set_both(topology, link, health);
            }
        }
        overlay
    }

    /// A warning for each observation of less than `topology` was built with.
    pub fn degraded(&self, topology: &Topology) -> Vec<Diagnostic> {
        self.observed.iter().filter_map(|observation| self.finding(observation, topology)).collect()
    }

    /// " although the matrix shows NV12 (topo.txt:3:10)", of the widest cell in that GPU's row.
    fn in_matrix(&self, gpu: usize) -> String {
        let cell = self.matrix.as_ref().and_then(|matrix| {
            let row = matrix.value.of_kind(EndKind::Gpu).nth(gpu)?;
            let links = |cell: &Cell| match cell.class {
                Some(ReportedClass::Nv(count)) => u16::from(count),
                Some(_) | None => 0,
            };
            let cells = matrix.value.cells().iter().filter(|cell| cell.row == row && links(cell) > 0);
            cells.max_by_key(|cell| (links(cell), Reverse(cell.column)))
        });
        cell.map_or_else(String::new, |cell| {
            let class = cell.class.map_or_else(String::new, |class| class.to_string());
            format!(", although the matrix shows {class} ({})", cell.place)
        })
    }

    fn finding(&self, observation: &Observation, topology: &Topology) -> Option<Diagnostic> {
        let (first, _) = *affected(observation.seen, topology).first()?;
        let device = topology.link(first).from;
        let name = topology.name(device);
        let built =
            |family| -> u16 { links_of(topology, device, family).iter().map(|(_, count)| *count).sum() };
        let hint =
            "what follows counts only what is up; the kernel's log and the seating of the card tell why";
        let finding = match observation.seen {
            Seen::GpuLanes(_, up) | Seen::NicLanes(_, up) => {
                let message = format!("{name} runs on {up} PCIe lanes of {}", built(LinkFamily::Pcie));
                Diagnostic::warning(codes::LINK_DEGRADED, message).hint(hint)
            }
            Seen::GpuLinks(gpu, up) => {
                let (built, shown) = (built(LinkFamily::GpuFabric), self.in_matrix(gpu));
                let message = format!("{name} has {up} of {built} links to other GPUs up{shown}");
                let hint =
                    "what follows counts only what is up; look at `nvidia-smi nvlink -e` and for Xid 74";
                Diagnostic::warning(codes::NVLINK_DOWN, message).hint(hint)
            }
        };
        Some(finding.at(observation.place.clone()))
    }
}

/// The links that `seen` is about and that have less than built, with what is up of each.
fn affected(seen: Seen, topology: &Topology) -> Vec<(LinkId, u16)> {
    let (kind, number, up) = match seen {
        Seen::GpuLanes(number, up) | Seen::GpuLinks(number, up) => (NodeKind::Gpu, number, up),
        Seen::NicLanes(number, up) => (NodeKind::Nic, number, up),
    };
    let Some(node) = topology.of_kind(kind).nth(number) else { return Vec::new() };
    let family = |family| links_of(topology, node, family);
    match seen {
        Seen::GpuLanes(..) | Seen::NicLanes(..) => {
            let lanes = family(LinkFamily::Pcie).into_iter();
            lanes.filter(|(_, count)| up < *count).map(|(link, _)| (link, up)).collect()
        }
        Seen::GpuLinks(..) => spread(&family(LinkFamily::GpuFabric), up),
    }
}

fn links_of(topology: &Topology, node: NodeId, family: LinkFamily) -> Vec<(LinkId, u16)> {
    let links = topology.links_from(node).filter(|(_, link)| topology.family(link) == family);
    links.map(|(id, link)| (id, link.count)).collect()
}

/// Which bundle a missing link belongs to is not known: it is taken from the widest, one by one, as an even
/// spread would show it. Bundles that keep all their links are left out.
fn spread(bundles: &[(LinkId, u16)], up: u16) -> Vec<(LinkId, u16)> {
    let built: u16 = bundles.iter().map(|(_, count)| *count).sum();
    let mut left: Vec<u16> = bundles.iter().map(|(_, count)| *count).collect();
    for _ in up..built {
        if let Some(widest) = left.iter_mut().max() {
            *widest = widest.saturating_sub(1);
        }
    }
    let changed = bundles.iter().zip(left).filter(|((_, count), left)| left < count);
    changed.map(|((link, _), left)| (*link, left)).collect()
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;
    use weft_topology::build;

    use super::*;

    fn case(seen: Seen) -> Case {
        Case {
            observed: vec![Observation { seen, place: Place::new("lspci.txt", 7, 3, 0) }],
            ..Case::default()
        }
    }

    fn dgx() -> Topology {
        let machine = Catalogue::embedded().system("dgx-a100").unwrap();
        build(machine, Catalogue::embedded()).unwrap().topology
    }

    /// Lanes or links of GPU `number` of that family.
    fn count(topology: &Topology, number: usize, family: LinkFamily) -> u16 {
        let node = topology.of_kind(NodeKind::Gpu).nth(number).unwrap();
        links_of(topology, node, family).iter().map(|(_, count)| count).sum()
    }

    #[test]
    fn lanes_that_are_down_narrow_the_link_and_are_told() {
        let (case, topology) = (case(Seen::GpuLanes(2, 8)), dgx());
        let now = case.overlay(&topology).applied(&topology);
        assert_eq!(count(&now, 2, LinkFamily::Pcie), 8);
        assert_eq!(count(&now, 3, LinkFamily::Pcie), 16);
        let finding = case.degraded(&topology).remove(0);
        assert_eq!(finding.code.name, "link-degraded");
        assert_eq!(finding.message, "GPU2 runs on 8 PCIe lanes of 16");
    }

    #[test]
    fn missing_nvlinks_are_taken_from_the_widest_bundles() {
        // 12 links over 6 switches, two to each: with 9 up, three of the bundles have one left.
        let (case, topology) = (case(Seen::GpuLinks(0, 9)), dgx());
        let now = case.overlay(&topology).applied(&topology);
        assert_eq!(count(&now, 0, LinkFamily::GpuFabric), 9);
        assert_eq!(case.degraded(&topology)[0].message, "GPU0 has 9 of 12 links to other GPUs up");
    }

    #[test]
    fn what_is_as_built_is_no_news() {
        let (case, topology) = (case(Seen::GpuLanes(0, 16)), dgx());
        assert!(case.degraded(&topology).is_empty() && case.overlay(&topology) == Overlay::default());
    }
}
