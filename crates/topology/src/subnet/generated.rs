//! The network of a described machine as a subnet: what discovery would find, with made-up GUIDs.

use std::collections::BTreeMap;

use weft_base::{Guid, Rate};
use weft_catalogue::{Catalogue, LinkFamily};

use super::{Generation, Signalling, Subnet, SubnetEnd, SubnetLink, SubnetNode, SubnetNodeKind};
use crate::graph::{KindId, Link, NodeId, NodeKind, Topology};

/// GUIDs of made-up switches and adapters begin so. The second bit says that no vendor gave them out.
const SWITCH_GUIDS: u64 = 0x0257_4501_0000_0000;
const ADAPTER_GUIDS: u64 = 0x0257_4502_0000_0000;
/// Between two of them, so that ports of one adapter can count on from its own.
const GUID_STEP: u64 = 16;

/// What switches of each tier are called.
const TIERS: [&str; 3] = ["leaf", "spine", "core"];

impl Subnet {
    /// The network of `topology`: its switches, then the NICs that they join. Names, GUIDs and ports are made up, the
    /// same for the same topology: hosts face the first ports of a leaf.
    pub fn of(topology: &Topology, catalogue: &Catalogue) -> Self {
        let mut plan = Plan { topology, catalogue, subnet: Self::default(), indices: BTreeMap::new() };
        plan.add_switches();
        plan.add_adapters();
        plan.add_cables();
        plan.name_switches();
        plan.subnet.sort();
        plan.subnet
    }
}

struct Plan<'a> {
    topology: &'a Topology,
    catalogue: &'a Catalogue,
    subnet: Subnet,
    indices: BTreeMap<NodeId, u32>,
}

impl Plan<'_> {
    fn add(&mut self, id: NodeId, node: SubnetNode) {
        let index = u32::try_from(self.subnet.nodes.len()).unwrap_or(u32::MAX);
        self.indices.insert(id, index);
        self.subnet.nodes.push(node);
    }

    fn add_switches(&mut self) {
        for (id, number) in self.topology.of_kind(NodeKind::NetworkSwitch).zip(0u64..) {
            let model = self.topology.model(id).and_then(|name| self.catalogue.switch(name).ok());
            let guid = Guid::new(SWITCH_GUIDS + number * GUID_STEP);
            let ports = model.map_or(0, |model| model.ports.value);
            let node = SubnetNode::new(SubnetNodeKind::Switch, guid, String::new(), ports);
            self.add(id, SubnetNode { system_guid: Some(guid), ..node });
        }
    }

    fn add_adapters(&mut self) {
        let joined =
            |id: &NodeId| self.topology.links_from(*id).any(|(_, link)| self.indices.contains_key(&link.to));
        let nics: Vec<NodeId> = self.topology.of_kind(NodeKind::Nic).filter(joined).collect();
        for (id, number) in nics.into_iter().zip(0u64..) {
            let nic = self.topology.node(id);
            let name = format!("host-{} mlx5_{}", nic.host.unwrap_or(0), nic.number);
            let guid = Guid::new(ADAPTER_GUIDS + number * GUID_STEP);
            let node = SubnetNode::new(SubnetNodeKind::Adapter, guid, name, 0);
            self.add(id, SubnetNode { system_guid: Some(guid), ..node });
        }
    }

    /// From each switch down, so that its lower ports come before its upper ones.
    fn add_cables(&mut self) {
        let mut used = vec![0u16; self.subnet.nodes.len()];
        let mut kinds: BTreeMap<KindId, Option<Signalling>> = BTreeMap::new();
        let switches: Vec<NodeId> = self.topology.of_kind(NodeKind::NetworkSwitch).collect();
        for switch in switches {
            for (_, link) in self.topology.links_from(switch) {
                let (Some(from), Some(to)) = (self.indices.get(&link.from), self.indices.get(&link.to))
                else {
                    continue;
                };
                let down = self.topology.node(link.to).kind == NodeKind::Nic || link.to < link.from;
                if !down || self.topology.family(link) != LinkFamily::Network {
                    continue;
                }
                let signalling = *kinds.entry(link.kind).or_insert_with(|| self.signalling(link));
                for _ in 0..link.count {
                    let mut end = |node: u32| {
                        let port = &mut used[node as usize];
                        *port = port.saturating_add(1);
                        SubnetEnd { signalling, ..SubnetEnd::new(node, *port) }
                    };
                    let rate = link.capacity.get() / u64::from(link.count);
                    let (from, to) = (end(*from), end(*to));
                    let (a, b) = if from.node < to.node { (from, to) } else { (to, from) };
                    let rate = Some(Rate::bytes_per_second(rate));
                    self.subnet.links.push(SubnetLink { a, b, signalling, rate, capability: None });
                }
            }
        }
        for (node, used) in self.subnet.nodes.iter_mut().zip(used) {
            node.ports = node.ports.max(used);
        }
    }

    /// What a link of a catalogue kind runs, if it is InfiniBand.
    fn signalling(&self, link: &Link) -> Option<Signalling> {
        let name = &self.topology.kind(link.kind).name;
        let kind = self.catalogue.link(name).ok().filter(|kind| kind.name.starts_with("infiniband-"))?;
        let lanes = u8::try_from(kind.lanes.value).ok()?;
        Some(Signalling::new(lanes, Generation::of_lane(kind.lane.value, self.catalogue)?))
    }

    fn name_switches(&mut self) {
        let tiers = self.subnet.tiers();
        let mut counts = [0usize; TIERS.len()];
        for (node, tier) in self.subnet.nodes.iter_mut().zip(tiers) {
            if node.kind == SubnetNodeKind::Switch {
                let tier = usize::from(tier.unwrap_or(0)).min(TIERS.len() - 1);
                node.name = format!("{}-{}", TIERS[tier], counts[tier]);
                counts[tier] += 1;
            }
        }
    }
}
