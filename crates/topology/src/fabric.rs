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
    /// Which of a host's GPUs have links for it.
    members: Vec<usize>,
    /// The wire from every GPU to each switch of its board.
    ports: Vec<Wire>,
    boards: usize,
    trunk: Option<Wire>,
    /// GPUs that one set of switches joins across hosts; `None` where each host has a set of its own.
    domain: Option<usize>,
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
        plan.check_counts(parts, graph)?;
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
        let Some(gpu) = cards.first().and_then(|first| parts.gpus[*first]) else {
            let rule = format!("{} needs cards of a known model", one(&wanted.kind));
            return Err(BuildError::BridgeRule { rule, enough: None });
        };
        let bridge = find_bridge(parts, gpu, &wanted.kind)?;
        check_rules(parts, gpu, (bridge, &wanted.kind), &cards)?;
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
    fn check_counts(&self, parts: &Parts<'_>, graph: &mut GraphBuilder) -> Result<(), BuildError> {
        for (number, gpu) in parts.gpus.iter().enumerate() {
            let Some(gpu) = gpu else { continue };
            let Some(fabric) = &gpu.fabric else { continue };
            let link = parts.catalogue.link(&fabric.link)?;
            let own_kind = Parts::wire(graph, link, 1).kind;
            let wanted: u32 = self
                .pairs
                .iter()
                .filter(|(a, b, wire)| (*a == number || *b == number) && wire.kind == own_kind)
                .map(|(_, _, wire)| u32::from(wire.count))
                .sum();
            if wanted > u32::from(fabric.count.value) {
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
        if let Some(plan) = self.switches.as_ref().filter(|plan| plan.domain.is_none()) {
            plan.lay(graph, Some(host), 0, &plan.gpus_of(nodes));
        }
    }

    /// Adds the switches that join GPUs across hosts: one set for each rack.
    pub fn lay_racks(&self, graph: &mut GraphBuilder, hosts: &[HostNodes]) {
        let Some(plan) = &self.switches else { return };
        let Some(domain) = plan.domain else { return };
        let per_host = plan.members.len().max(1);
        for (rack, hosts) in hosts.chunks((domain / per_host).max(1)).enumerate() {
            let gpus: Vec<NodeId> = hosts.iter().flat_map(|host| plan.gpus_of(host)).collect();
            plan.lay(graph, None, rack, &gpus);
        }
    }
}

impl SwitchPlan {
    fn gpus_of(&self, host: &HostNodes) -> Vec<NodeId> {
        self.members.iter().map(|number| host.gpus[*number]).collect()
    }

    fn lay(&self, graph: &mut GraphBuilder, host: Option<u32>, rack: usize, gpus: &[NodeId]) {
        let per_board = self.ports.len();
        let count = per_board * self.boards;
        let switches: Vec<NodeId> = (rack * count..(rack + 1) * count)
            .map(|number| {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                graph.device(NodeKind::GpuSwitch, number, host, None, Some(&self.model))
            })
            .collect();
        for (index, gpu) in gpus.iter().enumerate() {
            let board = index * self.boards / gpus.len();
            for (port, wire) in self.ports.iter().enumerate() {
                graph.lay(*gpu, switches[board * per_board + port], *wire);
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
    // A card without links may sit beside those that the switches join; a server of such cards may not.
    let joins = |gpu: Option<&Gpu>| gpu.is_none_or(|gpu| gpu.fabric.is_some());
    let members: Vec<usize> = (0..parts.gpus.len()).filter(|number| joins(parts.gpus[*number])).collect();
    let Some(first) = members.first().copied().or((!parts.gpus.is_empty()).then_some(0)) else {
        return Ok(None);
    };
    let switch = parts.catalogue.switch(name)?;
    let (link, has) = fabric_link(parts, fabric, first)?;
    let links = fabric.links.unwrap_or(has);
    let gpu = parts.gpus[first].map_or_else(|| "an unknown GPU".to_owned(), |gpu| gpu.title.clone());
    if links > has {
        return Err(BuildError::TooManyLinks { gpu, link: link.title.clone(), has, wanted: links.into() });
    }
    if parts.catalogue.link(&switch.link)?.name != link.name {
        let ports = parts.catalogue.link(&switch.link)?.title.clone();
        let (switch, links) = (switch.title.clone(), link.title.clone());
        return Err(BuildError::FabricKind { switch, ports, gpu, links });
    }
    let boards = fabric.boards.max(1);
    let per_board = (fabric.switches / boards).max(1);
    let fits = usize::from(switch.ports.value / links.div_ceil(per_board).max(1));
    let needed = if fabric.spans_hosts { members.len() } else { members.len().div_ceil(boards.into()) };
    if per_board > links || needed > fits {
        return Err(BuildError::SwitchPorts {
            switch: switch.title.clone(),
            ports: switch.ports.value,
            switches: per_board,
            gpus: needed,
            links,
        });
    }
    let ports = (0..per_board)
        .map(|switch| links / per_board + u16::from(switch < links % per_board))
        .map(|count| Parts::wire(graph, link, count))
        .collect();
    let trunk = (boards > 1).then(|| Parts::wire(graph, link, fabric.trunk_links.max(1)));
    // A description names the switches of one rack, and their ports say how many GPUs a rack has: 72 for
    // GB200 NVL72, so that several racks are several domains.
    let domain = fabric.spans_hosts.then_some(fits);
    let model = switch.name.clone();
    Ok(Some(SwitchPlan { model, members, ports, boards: boards.into(), trunk, domain }))
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
        let mut others: Vec<String> = gpu
            .bridges
            .iter()
            .filter(|other| !carries(other))
            .map(|bridge| format!("`{}`", bridge.link))
            .collect();
        if gpu.bridges.iter().any(|bridge| carries(&bridge)) {
            others.insert(0, "`nvlink-bridge`".to_owned());
        }
        let instead = (!others.is_empty()).then(|| others.join(" or "));
        BuildError::NoBridge { gpu: gpu.title.clone(), bridge: called(kind), instead }
    })
}

fn check_rules(
    parts: &Parts<'_>,
    gpu: &Gpu,
    (bridge, kind): (&Bridge, &str),
    cards: &[usize],
) -> Result<(), BuildError> {
    let most = usize::from(bridge.cards);
    if cards.len() < 2 || cards.len() > most {
        let range = if most > 2 { format!("2 to {most}") } else { "2".to_owned() };
        let rule = format!("{} joins {range} {} cards, not {}", one(kind), gpu.title, cards.len());
        let groups = cards.len().div_ceil(most.max(1));
        let even = cards.len() > most && cards.len() / groups >= 2;
        let enough = even.then(|| format!("`{groups} {kind}` join them in groups"));
        return Err(BuildError::BridgeRule { rule, enough });
    }
    for card in cards {
        let Some(other) = parts.gpus[*card] else { continue };
        let alike = if bridge.same_model { other.name == gpu.name } else { other.family == gpu.family };
        if !alike {
            let what = if bridge.same_model { "the same model" } else { "the same family" };
            let rule =
                format!("{} needs cards of {what}: {} and {} differ", one(kind), gpu.title, other.title);
            return Err(BuildError::BridgeRule { rule, enough: None });
        }
    }
    Ok(())
}

/// `sli` is an "sli bridge", `nvlink-bridge` is called so.
fn called(kind: &str) -> String {
    if kind.ends_with("bridge") { kind.to_owned() } else { format!("{kind} bridge") }
}

fn one(kind: &str) -> String {
    format!("one {}", called(kind))
}
