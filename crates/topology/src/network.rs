//! Networks between hosts: one switch, leaves and spines, or three tiers; rail-optimized or not.

use weft_catalogue::{Network, NetworkDesign};

use crate::build::{BuildError, HostNodes, Parts, Wire};
use crate::graph::{GraphBuilder, NodeId, NodeKind};

/// Sizes of a folded Clos network, in switches and ports.
struct Clos {
    /// Ports of a leaf that face hosts.
    down: usize,
    /// Ports of a leaf that face spines.
    up: usize,
    /// Leaves of one pod; all of them when there are two tiers.
    leaves_per_pod: usize,
    leaves: usize,
    spines_per_pod: usize,
    pods: usize,
    /// Top switches above the spines; 0 for two tiers.
    cores: usize,
}

/// Adds the network that joins the NICs of all hosts.
pub(crate) fn lay(
    design: &Network,
    parts: &Parts<'_>,
    graph: &mut GraphBuilder,
    hosts: &[HostNodes],
) -> Result<(), BuildError> {
    let wire = nic_wire(parts, graph)?;
    let order = attach_order(design, hosts)?;
    let switch = design.switch.as_deref().map(|name| parts.catalogue.switch(name)).transpose()?;
    let model = switch.map(|switch| switch.name.as_str());
    let mut switches = Switches { graph, model, next: 0 };
    let radix = usize::from(design.radix);
    if order.len() <= radix {
        let only = switches.add(1);
        for nic in &order {
            switches.graph.lay(*nic, only[0], wire);
        }
        return Ok(());
    }
    if design.design == NetworkDesign::Single {
        let reason = format!("{} NICs do not fit one switch of {radix} ports", order.len());
        return Err(BuildError::Network { reason });
    }
    let clos = Clos::new(design, order.len())?;
    clos.lay(&mut switches, &order, wire);
    Ok(())
}

/// What a NIC port runs; all NICs of a cluster's network are of the first group's kind.
fn nic_wire(parts: &Parts<'_>, graph: &mut GraphBuilder) -> Result<Wire, BuildError> {
    let link =
        parts.nics.first().and_then(|(_, link)| *link).ok_or_else(|| BuildError::Network {
            reason: "the hosts have no NIC of a known kind".to_owned(),
        })?;
    Ok(Parts::wire(graph, link, 1))
}

/// The NICs in the order in which leaf ports are filled.
///
/// Fat tree: host by host. Rail-optimized: within a group of as many hosts as a leaf has host ports,
/// first NIC 0 of every host, then NIC 1, so that each rail of the group is one leaf.
fn attach_order(design: &Network, hosts: &[HostNodes]) -> Result<Vec<NodeId>, BuildError> {
    let rails = hosts.first().map_or(0, |host| host.nics.len());
    let all: Vec<NodeId> = hosts.iter().flat_map(|host| host.nics.iter().copied()).collect();
    match design.design {
        NetworkDesign::Single | NetworkDesign::FatTree => Ok(all),
        NetworkDesign::RailOptimized => {
            let group = down_ports(design)?;
            let by_rail = |chunk: &[HostNodes]| -> Vec<NodeId> {
                (0..rails).flat_map(|rail| chunk.iter().map(move |host| host.nics[rail])).collect()
            };
            Ok(hosts.chunks(group).flat_map(by_rail).collect())
        }
    }
}

fn down_ports(design: &Network) -> Result<usize, BuildError> {
    let (radix, share) = (usize::from(design.radix), usize::from(design.oversubscription));
    let down = radix * share / (share + 1);
    if share == 0 || down == 0 || down >= radix {
        let reason = format!("a leaf of {radix} ports cannot be oversubscribed {share}:1");
        return Err(BuildError::Network { reason });
    }
    Ok(down)
}

impl Clos {
    fn new(design: &Network, endpoints: usize) -> Result<Self, BuildError> {
        let radix = usize::from(design.radix);
        let down = down_ports(design)?;
        let up = radix - down;
        let leaves = endpoints.div_ceil(down);
        if leaves <= radix {
            let spines_per_pod = even_spines(leaves, up, radix);
            return Ok(Self { down, up, leaves_per_pod: leaves, leaves, spines_per_pod, pods: 1, cores: 0 });
        }
        // Three tiers: pods of radix/2 leaves below `up` spines; half of each spine's ports go up.
        let leaves_per_pod = radix / 2;
        let pods = leaves.div_ceil(leaves_per_pod);
        if pods > radix {
            let most = radix * leaves_per_pod * down;
            let reason = format!(
                "{endpoints} NICs need more than three tiers of {radix}-port switches (at most {most})"
            );
            return Err(BuildError::Network { reason });
        }
        // Core switch k of spine position s joins the spines at s of all pods.
        let cores = up * (radix / 2);
        Ok(Self { down, up, leaves_per_pod, leaves, spines_per_pod: up, pods, cores })
    }

    fn lay(&self, switches: &mut Switches<'_, '_>, order: &[NodeId], wire: Wire) {
        let leaves = switches.add(self.leaves);
        for (nics, leaf) in order.chunks(self.down).zip(&leaves) {
            for nic in nics {
                switches.graph.lay(*nic, *leaf, wire);
            }
        }
        let spines = switches.add(self.spines_per_pod * self.pods);
        for (pod, pod_leaves) in leaves.chunks(self.leaves_per_pod).enumerate() {
            let pod_spines = &spines[pod * self.spines_per_pod..(pod + 1) * self.spines_per_pod];
            join(switches, pod_leaves, pod_spines, self.up, wire);
        }
        if self.cores > 0 {
            let cores = switches.add(self.cores);
            let per_position = self.cores / self.spines_per_pod;
            for (index, spine) in spines.iter().enumerate() {
                let position = index % self.spines_per_pod;
                let above = &cores[position * per_position..(position + 1) * per_position];
                for core in above {
                    switches.graph.lay(*spine, *core, wire);
                }
            }
        }
    }
}

/// Spreads `up` links of every leaf over the spines, bundling those to the same spine.
fn join(switches: &mut Switches<'_, '_>, leaves: &[NodeId], spines: &[NodeId], up: usize, wire: Wire) {
    for leaf in leaves {
        for (index, spine) in spines.iter().enumerate() {
            let links = up / spines.len() + usize::from(index < up % spines.len());
            if let Some(count) = u16::try_from(links).ok().filter(|count| *count > 0) {
                let capacity = wire.capacity * u64::from(count);
                switches.graph.lay(*leaf, *spine, Wire { count, capacity, ..wire });
            }
        }
    }
}

/// The fewest spines that hold all uplinks with the same number of links from each leaf to each spine:
/// the smallest divisor of `up` that is at least `leaves * up / radix`.
fn even_spines(leaves: usize, up: usize, radix: usize) -> usize {
    let least = (leaves * up).div_ceil(radix);
    (least.max(1)..=up).find(|count| up.is_multiple_of(*count)).unwrap_or(up)
}

/// Numbers network switches as they are added.
struct Switches<'g, 'm> {
    graph: &'g mut GraphBuilder,
    model: Option<&'m str>,
    next: u32,
}

impl Switches<'_, '_> {
    fn add(&mut self, count: usize) -> Vec<NodeId> {
        (0..count)
            .map(|_| {
                self.next += 1;
                self.graph.device(NodeKind::NetworkSwitch, self.next - 1, None, None, self.model)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spine_counts_are_those_of_published_superpods() {
        // DGX SuperPOD H100, radix 64, 32 uplinks a leaf: 8 leaves take 4 spines, 16 take 8, and
        // 24 take 16, since 12 does not divide 32 (reference architecture: 16).
        assert_eq!(even_spines(8, 32, 64), 4);
        assert_eq!(even_spines(16, 32, 64), 8);
        assert_eq!(even_spines(24, 32, 64), 16);
        assert_eq!(even_spines(32, 32, 64), 16);
    }
}
