//! A subnet as a graph of NICs and network switches, so that all that works on machines works on it.

use std::collections::BTreeMap;

use weft_base::{Rate, Span};
use weft_catalogue::{Catalogue, LinkFamily};

use super::{Signalling, Subnet, SubnetNodeKind};
use crate::graph::{GraphBuilder, NodeId, NodeKind, Topology};

impl Subnet {
    /// Its graph: NICs grouped by host and network switches, called as in the text. Parallel cables are one link;
    /// those that end at aggregation nodes are left out.
    pub fn topology(&self, catalogue: &Catalogue) -> Topology {
        let mut graph = GraphBuilder::with_capacity(self.nodes.len(), self.links.len());
        let mut ids: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        let mut labels = Vec::with_capacity(self.nodes.len());
        for (host, number) in self.hosts().iter().zip(0u32..) {
            for (adapter, place) in host.adapters.iter().zip(0u32..) {
                let id = graph.node(NodeKind::Nic, place, Some(number), None);
                ids[*adapter as usize] = Some(id);
                labels.push((id, self.label(*adapter)));
            }
        }
        let mut models = Models { catalogue, known: BTreeMap::new() };
        let switches = (0u32..).zip(&self.nodes).filter(|(_, node)| node.kind != SubnetNodeKind::Adapter);
        for ((index, node), number) in switches.zip(0u32..) {
            let id = graph.node(NodeKind::NetworkSwitch, number, None, None);
            if let Some(model) = models.of(&node.name) {
                graph.set_model(id, &model);
            }
            ids[index as usize] = Some(id);
            labels.push((id, self.label(index)));
        }
        self.lay_cables(&mut graph, &ids, catalogue);
        graph.finish().labelled(labels)
    }

    /// The description, or the GUID of a node without one.
    pub fn label(&self, node: u32) -> String {
        let node = &self.nodes[node as usize];
        if node.name.is_empty() { node.guid.to_string() } else { node.name.clone() }
    }

    fn lay_cables(&self, graph: &mut GraphBuilder, ids: &[Option<NodeId>], catalogue: &Catalogue) {
        type Ends = (NodeId, NodeId, Option<Signalling>);
        let mut bundles: Vec<(Ends, u16, Rate)> = Vec::new();
        let mut known: BTreeMap<(NodeId, NodeId), usize> = BTreeMap::new();
        for link in &self.links {
            let (Some(a), Some(b)) = (ids[link.a.node as usize], ids[link.b.node as usize]) else { continue };
            let rate = link.rate.unwrap_or(Rate::ZERO);
            // Cables of one pair that run differently are links of their own.
            let last = known.get(&(a, b)).copied().filter(|last| bundles[*last].0.2 == link.signalling);
            if let Some(last) = last {
                bundles[last].1 = bundles[last].1.saturating_add(1);
                bundles[last].2 = bundles[last].2 + rate;
            } else {
                known.insert((a, b), bundles.len());
                bundles.push(((a, b, link.signalling), 1, rate));
            }
        }
        let mut kinds = BTreeMap::new();
        for ((a, b, signalling), count, capacity) in bundles {
            let key = signalling.map(|signalling| (signalling.lanes, signalling.generation));
            let (kind, latency) = *kinds.entry(key).or_insert_with(|| match signalling {
                Some(Signalling { lanes, generation }) => {
                    let link = catalogue.link(generation.link()).ok();
                    let title = format!("InfiniBand {} {lanes}x", generation.word());
                    let name = if lanes == 4 { generation.link() } else { title.as_str() };
                    let latency = link.and_then(|link| link.latency.as_ref());
                    let latency = latency.map_or(Span::ZERO, |fact| fact.value);
                    (graph.kind(name, &title, LinkFamily::Network), latency)
                }
                None => (graph.kind("network", "network", LinkFamily::Network), Span::ZERO),
            });
            graph.connect(a, b, kind, count, capacity, latency);
        }
    }
}

/// Models of switches by what their descriptions say.
struct Models<'a> {
    catalogue: &'a Catalogue,
    known: BTreeMap<String, Option<String>>,
}

impl Models<'_> {
    /// `quantum-qm8700` of `MF0;leaf-1:MQM8700/U1`.
    fn of(&mut self, description: &str) -> Option<String> {
        let (_, model) = description.rsplit_once(':')?;
        let model = model.split('/').next().unwrap_or(model).trim();
        if let Some(known) = self.known.get(model) {
            return known.clone();
        }
        let spellings = [Some(model), model.strip_prefix('M')];
        let found = spellings.into_iter().flatten().find_map(|name| self.catalogue.switch(name).ok());
        let found = found.map(|switch| switch.name.clone());
        self.known.insert(model.to_owned(), found.clone());
        found
    }
}
