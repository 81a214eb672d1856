//! What the wires allow: the least that must cross each cut of the machine, over what the cut carries.

use weft_base::Rate;
use weft_catalogue::{Catalogue, LinkFamily};
use weft_collective::Collective;
use weft_topology::{Kind, Link, NodeId, NodeKind, Topology, islands};

use crate::nccl::constants::Constants;
use crate::step::{Cite, Step};

/// The highest bus bandwidth that any algorithm can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// In one direction, as nccl-tests counts busbw.
    pub busbw: Rate,
    /// What is narrow, in words.
    pub limit: String,
    /// How it was computed.
    pub derivation: Vec<Step>,
}

/// The bound of `collective` over `gpus` of one server; `None` where the GPUs are not joined.
pub(crate) fn bound(
    topology: &Topology,
    gpus: &[NodeId],
    collective: Collective,
    catalogue: &Catalogue,
) -> Option<Bound> {
    let scope = Scope { topology, gpus, collective, catalogue, fabric_only: tied_by_fabric(topology, gpus) };
    let mut bounds: Vec<Bound> = vec![scope.ports()?];
    if !scope.fabric_only {
        bounds.extend(scope.uplinks());
    }
    bounds.into_iter().min_by_key(|bound| bound.busbw)
}

/// Whether NVLink alone joins all the GPUs.
pub(crate) fn tied_by_fabric(topology: &Topology, gpus: &[NodeId]) -> bool {
    islands(topology).fabric.iter().any(|island| gpus.iter().all(|gpu| island.contains(gpu)))
}

struct Scope<'a> {
    topology: &'a Topology,
    gpus: &'a [NodeId],
    collective: Collective,
    catalogue: &'a Catalogue,
    fabric_only: bool,
}

impl Scope<'_> {
    /// Whether traffic among the GPUs may use the link.
    fn counts(&self, link: &Link) -> bool {
        let inside = self.gpus.contains(&link.to) || self.topology.node(link.to).kind != NodeKind::Gpu;
        match self.topology.family(link) {
            LinkFamily::GpuFabric => inside,
            LinkFamily::Pcie | LinkFamily::Coherent => !self.fabric_only,
            LinkFamily::OnPackage
            | LinkFamily::Socket
            | LinkFamily::Memory
            | LinkFamily::Network
            | LinkFamily::DisplayBridge => false,
        }
    }

    /// What each GPU can send, and the GPU that can send least.
    fn port(&self, gpu: NodeId) -> Rate {
        self.topology
            .links_from(gpu)
            .filter(|(_, link)| self.counts(link))
            .map(|(_, link)| link.capacity)
            .sum()
    }

    /// Every GPU must send its share over its own links.
    #[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
    fn ports(&self) -> Option<Bound> {
        let (ranks, slowest) = (self.gpus.len(), *self.gpus.iter().min_by_key(|gpu| self.port(**gpu))?);
        let port = self.port(slowest);
        let (text, cites) = self.describe_port(slowest);
        if port == Rate::ZERO {
            return None;
        }
        let first = format!("each GPU sends over {text} = {port} in one direction");
        let mut derivation = vec![Step::cited(first, self.catalogue, &cites)];
        let share = self.collective.bus_factor(ranks);
        let reduces = self.collective == Collective::AllReduce && ranks > 3 && self.all_switches_reduce();
        let busbw = if reduces {
            derivation.push(Step::modelled(reduction_text(ranks)));
            let n = ranks as f64;
            Rate::from_gigabytes(port.as_gigabytes() * 2.0 * (n - 1.0) / (n + 1.0))
        } else {
            let counting =
                Constants::of(self.catalogue, "nccl-tests").ok().and_then(|tests| tests.cite("bus-factor"));
            let cites: Vec<Cite<'_>> = counting.into_iter().collect();
            derivation.push(Step::cited(self.share_text(), self.catalogue, &cites));
            self.unequal(port, &mut derivation)
        };
        derivation.push(Step::arithmetic(format!("so algbw <= {}, busbw <= {busbw}", over(busbw, share))));
        Some(Bound { busbw, limit: format!("{text} of each GPU"), derivation })
    }

    /// The bound by ports where nothing is added on the way. In an all-reduce the GPUs together must send
    /// 2 (n-1) messages, so that faster ports can relieve a slower one, which must send one message all the
    /// same; in the others each GPU's share is its own.
    #[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
    fn unequal(&self, slowest: Rate, derivation: &mut Vec<Step>) -> Rate {
        let total: Rate = self.gpus.iter().map(|gpu| self.port(*gpu)).sum();
        let mean = Rate::from_gigabytes(total.as_gigabytes() / self.gpus.len() as f64);
        if self.collective != Collective::AllReduce || mean <= slowest {
            return slowest;
        }
        let alone =
            Rate::from_gigabytes(slowest.as_gigabytes() * self.collective.bus_factor(self.gpus.len()));
        let text = format!(
            "that is the slowest GPU, which must send the message once: busbw <= {alone}; all GPUs send {mean} on average"
        );
        derivation.push(Step::arithmetic(text));
        mean.min(alone)
    }

    fn share_text(&self) -> String {
        let n = self.gpus.len();
        let name = self.collective.name();
        match self.collective {
            Collective::AllReduce => format!(
                "{name} over {n} ranks: per byte of message each GPU sends 2 x {}/{n} = {:.4} bytes",
                n - 1,
                self.collective.bus_factor(n)
            ),
            Collective::AllGather | Collective::ReduceScatter => format!(
                "{name} over {n} ranks: per byte of message each GPU sends {}/{n} = {:.4} bytes",
                n - 1,
                self.collective.bus_factor(n)
            ),
            Collective::Broadcast | Collective::SendRecv => {
                format!("{name}: each byte of message crosses the link once")
            }
        }
    }

    /// The port in words, and where its rates come from.
    fn describe_port(&self, gpu: NodeId) -> (String, Vec<Cite<'_>>) {
        let mut kinds: Vec<(weft_topology::KindId, u32)> = Vec::new();
        for (_, link) in self.topology.links_from(gpu).filter(|(_, link)| self.counts(link)) {
            match kinds.iter_mut().find(|(kind, _)| *kind == link.kind) {
                Some((_, count)) => *count += u32::from(link.count),
                None => kinds.push((link.kind, link.count.into())),
            }
        }
        let kinds: Vec<(&Kind, u32)> =
            kinds.into_iter().map(|(kind, count)| (self.topology.kind(kind), count)).collect();
        let texts: Vec<String> =
            kinds.iter().map(|(kind, count)| kind.family.bundle(&kind.title, *count)).collect();
        let cites = kinds.iter().filter_map(|(kind, _)| rate_source(self.catalogue, &kind.name)).collect();
        (texts.join(" + "), cites)
    }

    fn all_switches_reduce(&self) -> bool {
        let reduces = |node: NodeId| {
            let switch = self.topology.model(node).and_then(|name| self.catalogue.switch(name).ok());
            switch.and_then(|switch| switch.reduces.as_ref()).is_some_and(|reduces| reduces.value)
        };
        let mut switches = self.topology.of_kind(NodeKind::GpuSwitch).peekable();
        switches.peek().is_some() && switches.all(reduces)
    }

    /// Cuts along the host's tree: below a PCIe switch, and between sockets.
    fn uplinks(&self) -> Vec<Bound> {
        let host_links = self.topology.links().map(|(_, link)| link).filter(|link| {
            let (from, to) = (self.topology.node(link.from), self.topology.node(link.to));
            let uplink = from.kind == NodeKind::PcieSwitch
                && matches!(to.kind, NodeKind::HostBridge | NodeKind::PcieSwitch);
            let nested = to.kind == NodeKind::PcieSwitch && to.number > from.number;
            (uplink && !nested)
                || (from.kind == NodeKind::Cpu && to.kind == NodeKind::Cpu && from.number < to.number)
        });
        host_links.filter_map(|link| self.cut(link)).collect()
    }

    /// The bound of the cut that `link` and the NVLinks beside it make; `None` where all GPUs are on one side.
    #[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
    fn cut(&self, link: &Link) -> Option<Bound> {
        let below: Vec<NodeId> =
            self.gpus.iter().copied().filter(|gpu| self.is_below(*gpu, link.from)).collect();
        let (inside, total) = (below.len(), self.gpus.len());
        if inside == 0 || inside == total || self.topology.of_kind(NodeKind::GpuSwitch).next().is_some() {
            return None;
        }
        let crosses = |side: &Link| {
            self.topology.family(side) == LinkFamily::GpuFabric
                && self.gpus.contains(&side.to)
                && !below.contains(&side.to)
        };
        let beside: Rate = below
            .iter()
            .flat_map(|gpu| self.topology.links_from(*gpu).map(|(_, side)| *side))
            .filter(crosses)
            .map(|side| side.capacity)
            .sum();
        let capacity = link.capacity + beside;
        let (n, larger) = (total as f64, inside.max(total - inside) as f64);
        let crossing = match self.collective {
            Collective::AllReduce | Collective::Broadcast | Collective::SendRecv => 1.0,
            Collective::AllGather | Collective::ReduceScatter => larger / n,
        };
        let share = self.collective.bus_factor(total);
        let busbw = Rate::from_gigabytes(capacity.as_gigabytes() / crossing * share);
        let kind = self.topology.kind(link.kind);
        let ends = format!("{} to {}", self.topology.name(link.from), self.topology.name(link.to));
        let limit = format!("{} from {ends}", kind.family.bundle(&kind.title, link.count.into()));
        let mut first = format!("{inside} of {total} GPUs reach the others over {limit} = {}", link.capacity);
        if beside > Rate::ZERO {
            first = format!("{first} and NVLinks beside it = {beside}");
        }
        let cites: Vec<Cite<'_>> = rate_source(self.catalogue, &kind.name).into_iter().collect();
        let name = self.collective.name();
        let derivation = vec![
            Step::cited(format!("{first} in one direction"), self.catalogue, &cites),
            Step::modelled(format!(
                "{name}: per byte of message at least {crossing:.4} bytes cross that cut"
            )),
            Step::arithmetic(format!("so algbw <= {}, busbw <= {busbw}", over(busbw, share))),
        ];
        Some(Bound { busbw, limit, derivation })
    }

    /// Whether `gpu` hangs below `node` (its PCIe switch, or its socket).
    fn is_below(&self, gpu: NodeId, node: NodeId) -> bool {
        let (own, above) = (self.topology.node(gpu), self.topology.node(node));
        if above.kind == NodeKind::Cpu {
            return own.socket == above.socket;
        }
        let mut open = vec![gpu];
        let mut seen = Vec::new();
        while let Some(next) = open.pop() {
            if next == node {
                return true;
            }
            seen.push(next);
            open.extend(self.topology.links_from(next).map(|(_, link)| link.to).filter(|to| {
                let (kind, number) = (self.topology.node(*to).kind, self.topology.node(*to).number);
                let up = self.topology.node(next).kind == NodeKind::Gpu
                    || number < self.topology.node(next).number;
                kind == NodeKind::PcieSwitch && up && !seen.contains(to)
            }));
        }
        false
    }
}

/// The source of a link kind's rate.
fn rate_source<'c>(catalogue: &'c Catalogue, link: &str) -> Option<Cite<'c>> {
    let lane = &catalogue.link(link).ok()?.lane;
    Some((lane.source.as_str(), lane.grade))
}

/// What reduction in the switches changes, for so many ranks.
#[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
fn reduction_text(ranks: usize) -> String {
    let n = ranks as f64;
    format!(
        "NVSwitches add in flight (NVLS): per byte of message each GPU sends {ranks} + 1 of {ranks} parts = {:.4} bytes \
         instead of 2 x {}/{ranks} = {:.4}, so busbw may exceed the wire by 2 x {}/{} = {:.4}",
        (n + 1.0) / n,
        ranks - 1,
        Collective::AllReduce.bus_factor(ranks),
        ranks - 1,
        ranks + 1,
        2.0 * (n - 1.0) / (n + 1.0),
    )
}

fn over(busbw: Rate, share: f64) -> Rate {
    Rate::from_gigabytes(busbw.as_gigabytes() / share)
}
