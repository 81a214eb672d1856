//! Networks between hosts: one switch, leaves and spines, or three tiers; rail-optimized or not.

use weft_catalogue::{Network, NetworkDesign};

use crate::build::{BuildError, HostNodes, Parts, Wire};
use crate::graph::{GraphBuilder, NodeId, NodeKind};

/// Sizes of a folded Clos network, in switches and ports.
struct Clos {
    /// Ports of a leaf that face spines.
    up: usize,
    /// Leaves of one pod; all of them when there are two tiers.
    leaves_per_pod: usize,
    leaves: usize,
    spines_per_pod: usize,
    pods: usize,
    /// The third tier; absent for two.
    core: Option<Core>,
}

/// The third tier: as many groups of switches as a pod has spines, each group joining the spines of one
/// position in all pods.
struct Core {
    switches_per_group: usize,
    /// Ports of a spine that face its group.
    up: usize,
}

/// Adds the network that joins the hosts' NICs.
pub(crate) fn lay(
    design: &Network,
    parts: &Parts<'_>,
    graph: &mut GraphBuilder,
    hosts: &[HostNodes],
) -> Result<(), BuildError> {
    let rails = rails(parts);
    let wire = nic_wire(parts, graph)?;
    let switch = design.switch.as_deref().map(|name| parts.catalogue.switch(name)).transpose()?;
    let model = switch.map(|switch| switch.name.as_str());
    let mut switches = Switches { graph, model, next: 0 };
    let radix = usize::from(design.radix);
    let endpoints = rails.len() * hosts.len();
    if endpoints <= radix {
        let only = switches.add(1);
        for nic in hosts.iter().flat_map(|host| rails.iter().map(|rail| host.nics[*rail])) {
            switches.graph.lay(nic, only[0], wire);
        }
        return Ok(());
    }
    if design.design == NetworkDesign::Single {
        let reason = format!("{endpoints} NICs do not fit one switch of {radix} ports");
        return Err(BuildError::Network { reason });
    }
    let below = below_leaves(design, &rails, hosts)?;
    Clos::new(design, below.len())?.lay(&mut switches, &below, wire);
    Ok(())
}

/// The NICs of a host that the network joins, by number: those like the first. What else a host has
/// (storage cards, DPUs) is not part of it.
fn rails(parts: &Parts<'_>) -> Vec<usize> {
    let like = |index: &usize| {
        let names = |(nic, link): &(Option<&weft_catalogue::Nic>, Option<&weft_catalogue::LinkKind>)| {
            (nic.map(|nic| nic.name.clone()), link.map(|link| link.name.clone()))
        };
        names(&parts.nics[*index]) == names(&parts.nics[0])
    };
    (0..parts.nics.len()).filter(like).collect()
}

/// What a NIC port runs.
fn nic_wire(parts: &Parts<'_>, graph: &mut GraphBuilder) -> Result<Wire, BuildError> {
    let link =
        parts.nics.first().and_then(|(_, link)| *link).ok_or_else(|| BuildError::Network {
            reason: "the hosts have no NIC of a known kind".to_owned(),
        })?;
    Ok(Parts::wire(graph, link, 1))
}

/// The NICs below each leaf.
///
/// Fat tree: as many whole hosts as a leaf has ports for. Rail-optimized: of each group of as many hosts as a leaf
/// has host ports, NIC 0 of every host on one leaf, NIC 1 on the next, and so on.
fn below_leaves(
    design: &Network,
    rails: &[usize],
    hosts: &[HostNodes],
) -> Result<Vec<Vec<NodeId>>, BuildError> {
    let down = down_ports(design)?;
    match design.design {
        NetworkDesign::Single | NetworkDesign::FatTree => {
            let nics = |hosts: &[HostNodes]| -> Vec<NodeId> {
                hosts.iter().flat_map(|host| rails.iter().map(|rail| host.nics[*rail])).collect()
            };
            if rails.len() <= down {
                return Ok(hosts.chunks(down / rails.len()).map(nics).collect());
            }
            Ok(nics(hosts).chunks(down).map(<[NodeId]>::to_vec).collect())
        }
        NetworkDesign::RailOptimized => {
            let leaf = |group: &[HostNodes], rail: usize| group.iter().map(|host| host.nics[rail]).collect();
            Ok(hosts
                .chunks(down)
                .flat_map(|group| rails.iter().map(move |rail| leaf(group, *rail)))
                .collect())
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
    fn new(design: &Network, leaves: usize) -> Result<Self, BuildError> {
        let radix = usize::from(design.radix);
        let up = radix - down_ports(design)?;
        if leaves <= radix {
            let spines_per_pod = even_spread(leaves, up, radix);
            return Ok(Self { up, leaves_per_pod: leaves, leaves, spines_per_pod, pods: 1, core: None });
        }
        // Three tiers: pods of radix/2 leaves below `up` spines; half of each spine's ports go up.
        let leaves_per_pod = radix / 2;
        let pods = leaves.div_ceil(leaves_per_pod);
        if pods > radix {
            let most = radix * leaves_per_pod;
            let reason = format!(
                "{leaves} leaves need more than three tiers of {radix}-port switches (at most {most})"
            );
            return Err(BuildError::Network { reason });
        }
        let core_up = radix - leaves_per_pod;
        let core = Core { switches_per_group: even_spread(pods, core_up, radix), up: core_up };
        Ok(Self { up, leaves_per_pod, leaves, spines_per_pod: up, pods, core: Some(core) })
    }

    fn lay(&self, switches: &mut Switches<'_, '_>, below: &[Vec<NodeId>], wire: Wire) {
        let leaves = switches.add(self.leaves);
        for (nics, leaf) in below.iter().zip(&leaves) {
            for nic in nics {
                switches.graph.lay(*nic, *leaf, wire);
            }
        }
        let spines = switches.add(self.spines_per_pod * self.pods);
        for (pod_leaves, pod_spines) in
            leaves.chunks(self.leaves_per_pod).zip(spines.chunks(self.spines_per_pod))
        {
            join(switches, pod_leaves, pod_spines, self.up, wire);
        }
        if let Some(core) = &self.core {
            let cores = switches.add(core.switches_per_group * self.spines_per_pod);
            for pod_spines in spines.chunks(self.spines_per_pod) {
                for (spine, group) in pod_spines.iter().zip(cores.chunks(core.switches_per_group)) {
                    join(switches, &[*spine], group, core.up, wire);
                }
            }
        }
    }
}

/// Spreads `up` links of each lower switch over the upper ones, bundling those to the same one.
fn join(switches: &mut Switches<'_, '_>, lower: &[NodeId], upper: &[NodeId], up: usize, wire: Wire) {
    for low in lower {
        for (index, high) in upper.iter().enumerate() {
            let links = up / upper.len() + usize::from(index < up % upper.len());
            if let Some(count) = u16::try_from(links).ok().filter(|count| *count > 0) {
                let capacity = wire.capacity * u64::from(count);
                switches.graph.lay(*low, *high, Wire { count, capacity, ..wire });
            }
        }
    }
}

/// The fewest upper switches that hold all uplinks with the same number of links from each of `lower`
/// switches to each of them: the smallest divisor of `up` that is at least `lower * up / radix`.
fn even_spread(lower: usize, up: usize, radix: usize) -> usize {
    let least = (lower * up).div_ceil(radix);
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
        assert_eq!(even_spread(8, 32, 64), 4);
        assert_eq!(even_spread(16, 32, 64), 8);
        assert_eq!(even_spread(24, 32, 64), 16);
        assert_eq!(even_spread(32, 32, 64), 16);
        // DGX SuperPOD B200, 16 units: 4 pods of 32 leaves take 2 cores for each of 32 spines, 64 in all.
        assert_eq!(even_spread(4, 32, 64), 2);
    }
}
