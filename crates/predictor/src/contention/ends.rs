//! Which NICs of a network are those of each node.

use std::collections::BTreeMap;

use weft_topology::{LinkFamily, NodeId, NodeKind, SubnetHost, Topology};

use super::Fabric;
use crate::nccl::cluster::{self, Cluster};
use crate::nccl::nics::NicEnd;

/// For each node the NICs that the library sees as one, in `network`, in the order of those that the library uses; `None` where there is at most one
/// switch, where no NIC is cabled, or where nodes have other NICs than the first one.
pub(super) fn nics(
    network: &Topology,
    machine: &Topology,
    cluster: &Cluster,
    gpus: &[NodeId],
    fabric: Option<&Fabric>,
) -> Option<Vec<Vec<Vec<NodeId>>>> {
    network.of_kind(NodeKind::NetworkSwitch).nth(1)?;
    let mut by_host: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
    for nic in network.of_kind(NodeKind::Nic) {
        let is_cabled = network.links_from(nic).any(|(_, link)| network.family(link) == LinkFamily::Network);
        if let Some(host) = network.node(nic).host.filter(|_| is_cabled) {
            by_host.entry(host).or_default().push(nic);
        }
    }
    let numbers = fabric.map(|fabric| named(&fabric.subnet.hosts()));
    let of_hosts = |hosts: &[u32]| -> Option<Vec<NodeId>> {
        let mut all = Vec::new();
        for host in hosts {
            let number = numbers.as_ref().map_or(Some(*host), |numbers| {
                u32::try_from(*numbers.get(usize::try_from(*host).ok()?)?).ok()
            })?;
            all.extend(by_host.get(&number)?);
        }
        Some(all)
    };
    of_nodes(machine, cluster, gpus, of_hosts)
}

/// The same as adapters of the subnet.
pub(super) fn adapters(
    fabric: &Fabric,
    machine: &Topology,
    cluster: &Cluster,
    gpus: &[NodeId],
) -> Option<Vec<Vec<Vec<u32>>>> {
    let hosts = fabric.subnet.hosts();
    let numbers = named(&hosts);
    let of_hosts = |wanted: &[u32]| -> Option<Vec<u32>> {
        let mut all = Vec::new();
        for host in wanted {
            let number = *numbers.get(usize::try_from(*host).ok()?)?;
            all.extend(&hosts[number].adapters);
        }
        Some(all)
    };
    of_nodes(machine, cluster, gpus, of_hosts)
}

/// The hosts of a subnet in the order of their names, in which jobs number them: `node-2` before `node-10`.
fn named(hosts: &[SubnetHost]) -> Vec<usize> {
    let key = |name: &str| -> Vec<(u64, String)> {
        let mut parts: Vec<(u64, String)> = Vec::new();
        let mut rest = name;
        while !rest.is_empty() {
            let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(letters);
            let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let (number, after) = after.split_at(digits);
            parts.push((0, word.to_owned()));
            parts.push((number.parse().unwrap_or(u64::MAX), String::new()));
            rest = after;
        }
        parts
    };
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    order.sort_by_key(|index| (key(&hosts[*index].name), *index));
    order
}

/// Picks of all adapters of each node those that the library uses.
fn of_nodes<N: Copy>(
    machine: &Topology,
    cluster: &Cluster,
    gpus: &[NodeId],
    of_hosts: impl Fn(&[u32]) -> Option<Vec<N>>,
) -> Option<Vec<Vec<Vec<N>>>> {
    let hosts = |gpus: &[NodeId]| {
        let mut hosts: Vec<u32> = gpus.iter().filter_map(|gpu| machine.node(*gpu).host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    };
    let own = hosts(&cluster.system.gpus);
    let all: Vec<NodeId> = cabled(machine, &own);
    let place = |nic: &NodeId| all.iter().position(|other| other == nic);
    let of_end =
        |end: &NicEnd| std::iter::once(end.node?).chain(end.others.clone()).map(|nic| place(&nic)).collect();
    let places: Option<Vec<Vec<usize>>> = cluster.system.nics.iter().map(of_end).collect();
    let places = places?;
    let nodes = cluster::nodes(machine, gpus);
    let pick = |gpus: &Vec<NodeId>| {
        let nics = of_hosts(&hosts(gpus))?;
        let members = |places: &Vec<usize>| places.iter().map(|place| nics.get(*place).copied()).collect();
        places.iter().map(members).collect()
    };
    nodes.iter().map(pick).collect()
}

/// The cabled NICs of hosts, host by host; all of them where none is cabled.
fn cabled(machine: &Topology, hosts: &[u32]) -> Vec<NodeId> {
    let of = |host: &u32| {
        machine
            .of_kind(NodeKind::Nic)
            .filter(|nic| machine.node(*nic).host == Some(*host))
            .collect::<Vec<_>>()
    };
    let all: Vec<NodeId> = hosts.iter().flat_map(of).collect();
    let is_cabled = |nic: &&NodeId| {
        machine.links_from(**nic).any(|(_, link)| machine.family(link) == LinkFamily::Network)
    };
    let cabled: Vec<NodeId> = all.iter().filter(is_cabled).copied().collect();
    if cabled.is_empty() { all } else { cabled }
}
