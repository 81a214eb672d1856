//! What switches route, and where a packet goes by it.

use std::collections::BTreeMap;

use weft_base::Guid;

use super::{Subnet, SubnetNodeKind};

/// Which port a switch sends each destination to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForwardingTable {
    /// GUID of the switch.
    pub switch: Guid,
    /// LID of the switch, where the text says so.
    pub lid: Option<u16>,
    /// Node description, where the text says so.
    pub name: String,
    /// Output port by destination LID, ascending; 0 is the switch itself, 255 a drop.
    pub ports: Vec<(u16, u8)>,
    /// Line of its header, from 1.
    pub line: u32,
}

impl ForwardingTable {
    /// The output port to `lid`; `None` where the table has no entry or drops.
    pub fn port(&self, lid: u16) -> Option<u8> {
        let index = self.ports.binary_search_by_key(&lid, |(lid, _)| *lid).ok()?;
        Some(self.ports[index].1).filter(|port| *port != 255)
    }
}

/// Where a packet ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// At the node that has the LID.
    Delivered {
        /// Index into [`Subnet::nodes`].
        node: u32,
    },
    /// At another adapter.
    Astray {
        /// Index into [`Subnet::nodes`].
        node: u32,
    },
    /// At a switch that sends it out of a port without a cable, drops it, or has no table or no entry.
    Dropped {
        /// Index into [`Subnet::nodes`].
        node: u32,
    },
    /// Back at a switch where it was before.
    Looped {
        /// Index into [`Subnet::nodes`].
        node: u32,
    },
}

/// A network with the tables of its switches, for walks.
#[derive(Debug)]
pub struct Routes<'a> {
    subnet: &'a Subnet,
    /// Where the cable of each port leads, node by node.
    far: Vec<Vec<Option<u32>>>,
    /// The table of each node, for switches that have one.
    tables: Vec<Option<&'a ForwardingTable>>,
    owners: BTreeMap<u16, u32>,
}

impl<'a> Routes<'a> {
    /// Joins tables to switches by their GUIDs.
    pub fn new(subnet: &'a Subnet, tables: impl IntoIterator<Item = &'a ForwardingTable>) -> Self {
        let ports = |node: &super::SubnetNode| vec![None; usize::from(node.ports) + 1];
        let mut far: Vec<Vec<Option<u32>>> = subnet.nodes.iter().map(ports).collect();
        let mut owners = BTreeMap::new();
        let mut own = |lid: Option<u16>, lmc: u8, node: u32| {
            let count = 1u16.checked_shl(u32::from(lmc)).unwrap_or(1);
            for lid in lid.into_iter().flat_map(|lid| lid..lid.saturating_add(count)) {
                owners.entry(lid).or_insert(node);
            }
        };
        for (node, index) in subnet.nodes.iter().zip(0u32..) {
            own(node.lid, if node.kind == SubnetNodeKind::Switch { 0 } else { node.lmc }, index);
        }
        for link in &subnet.links {
            for (from, to) in link.directions() {
                if let Some(slot) = far[from.node as usize].get_mut(usize::from(from.port)) {
                    *slot = Some(to.node);
                }
                if subnet.node(from).kind != SubnetNodeKind::Switch {
                    own(from.lid, subnet.node(from).lmc, from.node);
                }
            }
        }
        let by_guid = subnet.by_guid();
        let mut found = vec![None; subnet.nodes.len()];
        for table in tables {
            if let Some(node) = by_guid.get(&table.switch) {
                found[*node as usize].get_or_insert(table);
            }
        }
        Self { subnet, far, tables: found, owners }
    }

    /// The node that has `lid`.
    pub fn owner(&self, lid: u16) -> Option<u32> {
        self.owners.get(&lid).copied()
    }

    /// LIDs in use, ascending, each with its node.
    pub fn lids(&self) -> impl Iterator<Item = (u16, u32)> {
        self.owners.iter().map(|(lid, node)| (*lid, *node))
    }

    /// Follows a packet that leaves `node` through `port` for `lid`: the nodes that it visits after the first, and
    /// how it ends.
    pub fn walk(&self, node: u32, port: u16, lid: u16) -> (Vec<u32>, Delivery) {
        self.follow(node, port, lid, |_, _| ())
    }

    /// The ports that a packet leaves by, each with its node, the first one too; `None` where it does not arrive.
    pub fn cables(&self, node: u32, port: u16, lid: u16) -> Option<Vec<(u32, u16)>> {
        let mut taken = Vec::new();
        let (_, delivery) = self.follow(node, port, lid, |node, port| taken.push((node, port)));
        matches!(delivery, Delivery::Delivered { .. }).then_some(taken)
    }

    fn follow(
        &self,
        node: u32,
        port: u16,
        lid: u16,
        mut leave: impl FnMut(u32, u16),
    ) -> (Vec<u32>, Delivery) {
        let wanted = self.owner(lid);
        let mut visited = Vec::new();
        let (mut here, mut port) = (node, port);
        if wanted == Some(node) {
            return (visited, Delivery::Delivered { node });
        }
        loop {
            leave(here, port);
            let Some(next) = self.far[here as usize].get(usize::from(port)).copied().flatten() else {
                return (visited, Delivery::Dropped { node: here });
            };
            if next == node || visited.contains(&next) {
                return (visited, Delivery::Looped { node: next });
            }
            visited.push(next);
            if Some(next) == wanted {
                return (visited, Delivery::Delivered { node: next });
            }
            if self.subnet.nodes[next as usize].kind != SubnetNodeKind::Switch {
                return (visited, Delivery::Astray { node: next });
            }
            let out = self.tables[next as usize].and_then(|table| table.port(lid));
            // Port 0 is the switch itself, which is not the one that has the LID.
            let Some(out) = out.filter(|out| *out != 0) else {
                return (visited, Delivery::Dropped { node: next });
            };
            (here, port) = (next, u16::from(out));
        }
    }
}
