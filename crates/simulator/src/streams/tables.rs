//! Ways that the forwarding tables of a subnet say.

use std::collections::BTreeMap;

use weft_base::Rate;
use weft_topology::{ForwardingTable, Routes, Subnet, SubnetNodeKind};

use super::{CableId, Finder, Hop, Laid};

/// Ways through a subnet, from adapter to adapter, by the tables of its switches.
pub struct TableWays<'s> {
    subnet: &'s Subnet,
    routes: Routes<'s>,
    /// What the cable of each port carries.
    rates: BTreeMap<(u32, u16), Rate>,
    /// The first cabled port of each adapter.
    ports: BTreeMap<u32, (u16, Option<u16>)>,
}

impl<'s> TableWays<'s> {
    /// Joins tables to switches by their GUIDs.
    pub fn new(subnet: &'s Subnet, tables: &'s [ForwardingTable]) -> Self {
        let (mut rates, mut ports) = (BTreeMap::new(), BTreeMap::new());
        for link in &subnet.links {
            for (end, _) in link.directions() {
                rates.insert((end.node, end.port), link.rate.unwrap_or(Rate::ZERO));
                if subnet.node(end).kind == SubnetNodeKind::Adapter {
                    ports.entry(end.node).or_insert((end.port, end.lid));
                }
            }
        }
        Self { subnet, routes: Routes::new(subnet, tables), rates, ports }
    }
}

impl Finder<u32> for TableWays<'_> {
    fn cables(&mut self, hop: &Hop<u32>) -> Option<Vec<Laid>> {
        let (out, _) = *self.ports.get(&hop.from)?;
        let (_, lid) = *self.ports.get(&hop.to)?;
        let taken = self.routes.cables(hop.from, out, lid?)?;
        // The first leads to the leaf, the last to the adapter.
        let between = taken.get(1..taken.len().saturating_sub(1)).unwrap_or_default();
        let laid = |(node, port): &(u32, u16)| {
            let rate = self.rates.get(&(*node, *port)).copied()?;
            Some(Laid { cable: CableId(u64::from(*node) << 16 | u64::from(*port)), rate, share: 1.0 })
        };
        between.iter().map(laid).collect()
    }

    fn name(&self, CableId(cable): CableId) -> String {
        let node = u32::try_from(cable >> 16).unwrap_or(u32::MAX);
        if self.subnet.nodes.get(node as usize).is_none() {
            return String::new();
        }
        format!("{} port {}", self.subnet.label(node), cable & 0xffff)
    }
}
