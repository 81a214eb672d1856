//! What the wires allow: the least that must cross each cut of the machine, over what the cut carries.

use weft_base::Rate;
use weft_catalogue::{Catalogue, LinkFamily};
use weft_collective::Collective;
use weft_topology::{Kind, Link, NodeId, NodeKind, Topology, fabric_islands};

use crate::nccl::cluster::Cluster;
use crate::nccl::constants::Constants;
use crate::nccl::switch_reduces;
use crate::step::{Cite, Step};

mod network;

/// The highest bus bandwidth that any algorithm can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// In one direction, as nccl-tests counts busbw.
    pub busbw: Rate,
    /// What is narrow, in words.
    pub limit: String,
    /// Whether that is the NICs of a node.
    pub is_network: bool,
    /// How it was computed.
    pub derivation: Vec<Step>,
}

/// The bound of `collective` over the GPUs of all nodes; `None` where those are not joined.
pub(crate) fn bound(
    topology: &Topology,
    cluster: &Cluster,
    collective: Collective,
    catalogue: &Catalogue,
) -> Option<Bound> {
    let gpus = cluster.system.gpus.as_slice();
    if cluster.nodes == 1 {
        return of_one_node(topology, gpus, collective, catalogue);
    }
    let ranks = usize::try_from(cluster.ranks).unwrap_or(usize::MAX);
    let scope = Scope { topology, gpus, ranks, collective, catalogue, fabric_only: false };
    let bounds = scope.ports().into_iter().chain([network::bound(&scope, cluster)]);
    bounds.min_by_key(|bound| bound.busbw)
}

/// The bound of `collective` over `gpus` of one node; `None` where the GPUs are not joined.
pub(crate) fn of_one_node(
    topology: &Topology,
    gpus: &[NodeId],
    collective: Collective,
    catalogue: &Catalogue,
) -> Option<Bound> {
    let (ranks, fabric_only) = (gpus.len(), tied_by_fabric(topology, gpus));
    let scope = Scope { topology, gpus, ranks, collective, catalogue, fabric_only };
    let mut bounds: Vec<Bound> = vec![scope.ports()?];
    if !scope.fabric_only {
        bounds.extend(scope.uplinks());
    }
    bounds.into_iter().min_by_key(|bound| bound.busbw)
}

/// Whether NVLink alone joins all the GPUs.
pub(crate) fn tied_by_fabric(topology: &Topology, gpus: &[NodeId]) -> bool {
    fabric_islands(topology).iter().any(|island| gpus.iter().all(|gpu| island.contains(gpu)))
}

struct Scope<'a> {
    topology: &'a Topology,
    /// Of one node.
    gpus: &'a [NodeId],
    /// On all nodes.
    ranks: usize,
    collective: Collective,
    catalogue: &'a Catalogue,
    fabric_only: bool,
}

/// Some of the GPUs and their way to the others, NVLink aside.
struct Exit {
    below: Vec<NodeId>,
    capacity: Rate,
    /// The way in words.
    text: String,
    /// The catalogue's name of its kind of link.
    link: String,
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
        let (ranks, slowest) = (self.ranks, *self.gpus.iter().min_by_key(|gpu| self.port(**gpu))?);
        let port = self.port(slowest);
        let (text, cites) = self.describe_port(slowest);
        if port == Rate::ZERO {
            return None;
        }
        let first = format!("each GPU sends over {text} = {port} in one direction");
        let mut derivation = vec![Step::cited(first, self.catalogue, &cites)];
        let share = self.collective.bus_factor(ranks);
        let alone = ranks == self.gpus.len();
        let reduces = self.collective == Collective::AllReduce && ranks > 3 && self.all_switches_reduce();
        let reduces = reduces && alone;
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
        Some(Bound { busbw, limit: format!("{text} of each GPU"), is_network: false, derivation })
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
        let alone = Rate::from_gigabytes(slowest.as_gigabytes() * self.collective.bus_factor(self.ranks));
        let text = format!(
            "that is the slowest GPU, which must send the message once: busbw <= {alone}; all GPUs send {mean} on average"
        );
        derivation.push(Step::arithmetic(text));
        mean.min(alone)
    }

    fn share_text(&self) -> String {
        let n = self.ranks;
        let name = self.collective.name();
        match self.collective {
            Collective::AllReduce => format!(
                "{name} over {n} ranks: per byte of message each GPU sends 2 x {}/{n} = {:.4} bytes",
                n - 1,
                self.collective.bus_factor(n)
            ),
            Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => format!(
                "{name} over {n} ranks: per byte of message each GPU sends {}/{n} = {:.4} bytes",
                n - 1,
                self.collective.bus_factor(n)
            ),
            Collective::Broadcast | Collective::Reduce | Collective::SendRecv | Collective::Barrier => {
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
        let mut switches = self.topology.of_kind(NodeKind::GpuSwitch).peekable();
        switches.peek().is_some()
            && switches.all(|switch| switch_reduces(self.topology, self.catalogue, switch))
    }

    /// Cuts along the host's tree, below a PCIe switch and between sockets, and around what NVLink ties.
    fn uplinks(&self) -> Vec<Bound> {
        if self.topology.of_kind(NodeKind::GpuSwitch).next().is_some() {
            return Vec::new();
        }
        let switches = self.topology.links().map(|(_, link)| link).filter(|link| {
            let (from, to) = (self.topology.node(link.from), self.topology.node(link.to));
            let uplink = from.kind == NodeKind::PcieSwitch
                && matches!(to.kind, NodeKind::HostBridge | NodeKind::PcieSwitch);
            uplink && !(to.kind == NodeKind::PcieSwitch && to.number > from.number)
        });
        let switches = switches.map(|link| self.exit_of_switch(link));
        let sockets = self.topology.of_kind(NodeKind::Cpu).filter_map(|cpu| self.exit_of_socket(cpu));
        let islands = fabric_islands(self.topology);
        let islands = islands.iter().filter_map(|island| self.exit_of_island(island));
        switches.chain(sockets).chain(islands).filter_map(|exit| self.cut(&exit)).collect()
    }

    fn below(&self, node: NodeId) -> Vec<NodeId> {
        self.gpus.iter().copied().filter(|gpu| self.is_below(*gpu, node)).collect()
    }

    fn exit_of_switch(&self, link: &Link) -> Exit {
        let ends = format!("{} to {}", self.topology.name(link.from), self.topology.name(link.to));
        let kind = self.topology.kind(link.kind);
        let text = format!("{} from {ends}", kind.family.bundle(&kind.title, link.count.into()));
        Exit { below: self.below(link.from), capacity: link.capacity, text, link: kind.name.clone() }
    }

    /// All links of a CPU to other CPUs.
    fn exit_of_socket(&self, cpu: NodeId) -> Option<Exit> {
        let links = || {
            let links = self.topology.links_from(cpu).map(|(_, link)| link);
            links.filter(|link| self.topology.node(link.to).kind == NodeKind::Cpu)
        };
        let first = links().next()?;
        let kind = self.topology.kind(first.kind);
        let bundle = kind.family.bundle(&kind.title, links().map(|link| u32::from(link.count)).sum());
        let from = self.topology.name(cpu);
        let text = match links().count() {
            1 => format!("{bundle} from {from} to {}", self.topology.name(first.to)),
            _ => format!("{bundle} out of {from}"),
        };
        let capacity = links().map(|link| link.capacity).sum();
        Some(Exit { below: self.below(cpu), capacity, text, link: kind.name.clone() })
    }

    /// The ports towards the host of GPUs that NVLink ties, which is their only way to the others.
    fn exit_of_island(&self, island: &[NodeId]) -> Option<Exit> {
        let below: Vec<NodeId> = self.gpus.iter().copied().filter(|gpu| island.contains(gpu)).collect();
        let links: Vec<&Link> = below
            .iter()
            .flat_map(|gpu| self.topology.links_from(*gpu).map(|(_, link)| link))
            .filter(|link| matches!(self.topology.family(link), LinkFamily::Pcie | LinkFamily::Coherent))
            .collect();
        let kind = self.topology.kind(links.first()?.kind);
        let port = kind.family.bundle(&kind.title, links.first()?.count.into());
        let names: Vec<String> = below.iter().map(|gpu| self.topology.name(*gpu)).collect();
        let text = format!("{port} of each of {}", names.join(", "));
        let capacity = links.iter().map(|link| link.capacity).sum();
        Some(Exit { below, capacity, text, link: kind.name.clone() })
    }

    /// The bound of the cut that an exit and the NVLinks beside it make; `None` where all GPUs are on one side.
    #[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
    fn cut(&self, exit: &Exit) -> Option<Bound> {
        let (inside, total) = (exit.below.len(), self.gpus.len());
        if inside == 0 || inside == total {
            return None;
        }
        let beside = self.beside(&exit.below);
        let capacity = exit.capacity + beside;
        let (n, larger) = (total as f64, inside.max(total - inside) as f64);
        let crossing = match self.collective {
            Collective::AllReduce
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::SendRecv
            | Collective::Barrier => 1.0,
            Collective::AllGather | Collective::ReduceScatter => larger / n,
            Collective::AllToAll => (inside * (total - inside)) as f64 / n,
        };
        let share = self.collective.bus_factor(total);
        let busbw = Rate::from_gigabytes(capacity.as_gigabytes() / crossing * share);
        let mut first =
            format!("{inside} of {total} GPUs reach the others over {} = {}", exit.text, exit.capacity);
        if beside > Rate::ZERO {
            first = format!("{first} and NVLinks beside it = {beside}");
        }
        let cites: Vec<Cite<'_>> = rate_source(self.catalogue, &exit.link).into_iter().collect();
        let name = self.collective.name();
        let derivation = vec![
            Step::cited(format!("{first} in one direction"), self.catalogue, &cites),
            Step::modelled(format!(
                "{name}: per byte of message at least {crossing:.4} bytes cross that cut"
            )),
            Step::arithmetic(format!("so algbw <= {}, busbw <= {busbw}", over(busbw, share))),
        ];
        Some(Bound { busbw, limit: exit.text.clone(), is_network: false, derivation })
    }

    /// What NVLinks carry from some of the GPUs to the others.
    fn beside(&self, below: &[NodeId]) -> Rate {
        let crosses = |side: &Link| {
            self.topology.family(side) == LinkFamily::GpuFabric
                && self.gpus.contains(&side.to)
                && !below.contains(&side.to)
        };
        let links = below.iter().flat_map(|gpu| self.topology.links_from(*gpu).map(|(_, side)| side));
        links.filter(|side| crosses(side)).map(|side| side.capacity).sum()
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
