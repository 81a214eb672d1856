//! What ties GPUs besides PCIe: switches, direct links, bridges.

use weft_catalogue::{Bridge, BridgeUse, Fabric, Gpu, LinkFamily, LinkKind};

use crate::build::{BuildError, HostNodes, Parts, Wire};
use crate::graph::{GraphBuilder, NodeId, NodeKind};

/// The fabric of one host or of the rack, resolved once.
pub(crate) struct Plan {
    switches: Option<SwitchPlan>,
    /// Direct links and bridges, by GPU numbers.
    pairs: Vec<(usize, usize, Wire)>,
}

struct SwitchPlan {
    model: String,
    /// The wire from every GPU to each switch of its board.
    ports: Vec<Option<Wire>>,
    boards: usize,
    trunk: Option<Wire>,
    spans_hosts: bool,
}

impl Plan {
    pub fn new(parts: &Parts<'_>, graph: &mut GraphBuilder) -> Result<Self, BuildError> {
        let mut plan = Self { switches: None, pairs: Vec::new() };
        if let Some(fabric) = &parts.machine.fabric {
            plan.switches = switch_plan(parts, graph, fabric)?;
            for link in &fabric.mesh {
                let (a, b) =
                    (gpu_index(parts, "fabric mesh", link.a)?, gpu_index(parts, "fabric mesh", link.b)?);
                let kind = fabric_link(parts, fabric, a)?.0;
                plan.pairs.push((a, b, Parts::wire(graph, kind, link.links)));
            }
        }
        for bridge in &parts.machine.bridges {
            plan.bridge(parts, graph, bridge)?;
        }
        plan.check_counts(parts)?;
        Ok(plan)
    }

    fn bridge(
        &mut self,
        parts: &Parts<'_>,
        graph: &mut GraphBuilder,
        wanted: &BridgeUse,
    ) -> Result<(), BuildError> {
        let cards: Vec<usize> =
            wanted.gpus.iter().map(|gpu| gpu_index(parts, "bridge", *gpu)).collect::<Result<_, _>>()?;
        let Some(gpu) = cards.first().and_then(|first| parts.gpus[*first]) else { return Ok(()) };
        let bridge = find_bridge(parts, gpu, &wanted.kind)?;
        check_rules(parts, gpu, bridge, &cards)?;
        if bridge.bridgeless {
            return Ok(());
        }
        let wire =
            Parts::wire(graph, parts.catalogue.link(&bridge.link)?, wanted.links.unwrap_or(bridge.links));
        for pair in cards.windows(2) {
            self.pairs.push((pair[0], pair[1], wire));
        }
        Ok(())
    }

    /// No GPU may use more direct links than it has.
    fn check_counts(&self, parts: &Parts<'_>) -> Result<(), BuildError> {
        for (number, gpu) in parts.gpus.iter().enumerate() {
            let Some(gpu) = gpu else { continue };
            let Some(fabric) = &gpu.fabric else { continue };
            let link = parts.catalogue.link(&fabric.link)?;
            let wanted: u16 = self
                .pairs
                .iter()
                .filter(|(a, b, wire)| {
                    (*a == number || *b == number) && wire.capacity == link.rate(wire.count)
                })
                .map(|(_, _, wire)| wire.count)
                .sum();
            if wanted > fabric.count.value {
                let has = fabric.count.value;
                return Err(BuildError::TooManyLinks {
                    gpu: gpu.title.clone(),
                    link: link.title.clone(),
                    has,
                    wanted,
                });
            }
        }
        Ok(())
    }

    /// Adds one host's fabric.
    pub fn lay_host(&self, graph: &mut GraphBuilder, host: u32, nodes: &HostNodes) {
        for (a, b, wire) in &self.pairs {
            graph.lay(nodes.gpus[*a], nodes.gpus[*b], *wire);
        }
        if let Some(plan) = self.switches.as_ref().filter(|plan| !plan.spans_hosts) {
            plan.lay(graph, Some(host), &nodes.gpus);
        }
    }

    /// Adds the switches that join the GPUs of all hosts.
    pub fn lay_rack(&self, graph: &mut GraphBuilder, hosts: &[HostNodes]) {
        if let Some(plan) = self.switches.as_ref().filter(|plan| plan.spans_hosts) {
            let gpus: Vec<NodeId> = hosts.iter().flat_map(|host| host.gpus.iter().copied()).collect();
            plan.lay(graph, None, &gpus);
        }
    }
}

impl SwitchPlan {
    fn lay(&self, graph: &mut GraphBuilder, host: Option<u32>, gpus: &[NodeId]) {
        let per_board = self.ports.len();
        let count = u32::try_from(per_board * self.boards).unwrap_or(u32::MAX);
        let switches: Vec<NodeId> = (0..count)
            .map(|number| graph.device(NodeKind::GpuSwitch, number, host, None, Some(&self.model)))
            .collect();
        for (index, gpu) in gpus.iter().enumerate() {
            let board = index * self.boards / gpus.len();
            for (port, wire) in self.ports.iter().enumerate() {
                if let Some(wire) = wire {
                    graph.lay(*gpu, switches[board * per_board + port], *wire);
                }
            }
        }
        if let Some(trunk) = self.trunk {
            for index in 0..per_board * (self.boards - 1) {
                graph.lay(switches[index], switches[index + per_board], trunk);
            }
        }
    }
}

fn switch_plan(
    parts: &Parts<'_>,
    graph: &mut GraphBuilder,
    fabric: &Fabric,
) -> Result<Option<SwitchPlan>, BuildError> {
    let Some(name) = &fabric.switch else { return Ok(None) };
    if parts.gpus.is_empty() {
        return Ok(None);
    }
    let model = parts.catalogue.switch(name)?.name.clone();
    let (link, has) = fabric_link(parts, fabric, 0)?;
    let links = fabric.links.unwrap_or(has);
    if links > has {
        let gpu = parts.gpus[0].map_or_else(String::new, |gpu| gpu.title.clone());
        return Err(BuildError::TooManyLinks { gpu, link: link.title.clone(), has, wanted: links });
    }
    let boards = fabric.boards.max(1);
    let per_board = (fabric.switches / boards).max(1);
    let ports = (0..per_board)
        .map(|switch| links / per_board + u16::from(switch < links % per_board))
        .map(|count| (count > 0).then(|| Parts::wire(graph, link, count)))
        .collect();
    let trunk = (boards > 1).then(|| Parts::wire(graph, link, fabric.trunk_links.max(1)));
    Ok(Some(SwitchPlan { model, ports, boards: boards.into(), trunk, spans_hosts: fabric.spans_hosts }))
}

/// The link kind of the fabric at GPU `number`, and how many links that GPU has.
fn fabric_link<'a>(
    parts: &Parts<'a>,
    fabric: &'a Fabric,
    number: usize,
) -> Result<(&'a LinkKind, u16), BuildError> {
    let gpu = parts.gpus[number];
    let own = gpu.and_then(|gpu| gpu.fabric.as_ref());
    let has = own.map_or(fabric.links.unwrap_or(u16::MAX), |own| own.count.value);
    let name = fabric.link.as_deref().or(own.map(|own| own.link.as_str()));
    let name = name.ok_or_else(|| BuildError::NoFabric {
        gpu: gpu.map_or_else(|| "an unknown GPU".to_owned(), |gpu| gpu.title.clone()),
    })?;
    if let (Some(gpu), None) = (gpu, own) {
        return Err(BuildError::NoFabric { gpu: gpu.title.clone() });
    }
    Ok((parts.catalogue.link(name)?, has))
}

fn gpu_index(parts: &Parts<'_>, place: &str, number: u16) -> Result<usize, BuildError> {
    let (index, count) = (usize::from(number), parts.gpus.len());
    if index < count {
        return Ok(index);
    }
    Err(BuildError::NoSuchDevice { place: place.to_owned(), kind: "GPU", number, count })
}

/// The bridge of that kind that the GPU takes; `nvlink-bridge` means whichever carries data.
fn find_bridge<'a>(parts: &Parts<'_>, gpu: &'a Gpu, kind: &str) -> Result<&'a Bridge, BuildError> {
    let carries = |bridge: &&Bridge| {
        let family = parts.catalogue.link(&bridge.link).map(|link| link.family);
        family == Ok(LinkFamily::GpuFabric)
    };
    let found = if kind == "nvlink-bridge" {
        gpu.bridges.iter().find(carries)
    } else {
        gpu.bridges.iter().find(|bridge| bridge.link == kind)
    };
    found.ok_or_else(|| {
        let others: Vec<&str> = gpu.bridges.iter().map(|bridge| bridge.link.as_str()).collect();
        let instead =
            if others.is_empty() { String::new() } else { format!("; it takes {}", others.join(", ")) };
        BuildError::NoBridge { gpu: gpu.title.clone(), bridge: kind.to_owned(), instead }
    })
}

fn check_rules(parts: &Parts<'_>, gpu: &Gpu, bridge: &Bridge, cards: &[usize]) -> Result<(), BuildError> {
    if cards.len() < 2 || cards.len() > usize::from(bridge.cards) {
        let rule = format!(
            "a {} bridge joins 2 to {} {} cards, not {}",
            bridge.link,
            bridge.cards,
            gpu.title,
            cards.len()
        );
        return Err(BuildError::BridgeRule { rule });
    }
    for card in cards {
        let Some(other) = parts.gpus[*card] else { continue };
        let alike = if bridge.same_model { other.name == gpu.name } else { other.family == gpu.family };
        if !alike {
            let what = if bridge.same_model { "the same model" } else { "the same family" };
            let rule = format!(
                "a {} bridge needs cards of {what}: {} and {} differ",
                bridge.link, gpu.title, other.title
            );
            return Err(BuildError::BridgeRule { rule });
        }
    }
    Ok(())
}
