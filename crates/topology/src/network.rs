//! Networks between hosts: one switch, leaves and spines, three tiers, rails, dragonfly+, tori; each in planes.
//!
//! A [`Plan`] says how many switches and links there are and is arithmetic alone, so that a one-liner can be
//! refused without building it. Laying follows the plan.

mod clos;
mod count;
mod dragonfly;
mod port;
mod torus;

use weft_catalogue::{Catalogue, Machine, Network, NetworkDesign};

use crate::build::{BuildError, HostNodes, Parts, Wire};
use crate::graph::{GraphBuilder, NodeId, NodeKind};
use clos::Clos;
use dragonfly::DragonflyPlus;
use torus::Torus;

pub use count::{NarrowTier, NetworkCounts, narrow_tiers, network_counts};
pub(crate) use port::gigabits;

/// Why a network cannot be laid out, and the option of the one-liner that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit {
    /// `leaf`, `planes`; empty where it is about the design.
    pub option: &'static str,
    pub reason: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Unfit {
    fn new(option: &'static str, reason: impl Into<String>) -> Self {
        Self { option, reason: reason.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<Unfit> for BuildError {
    fn from(unfit: Unfit) -> Self {
        Self::Network { reason: unfit.reason, hint: unfit.hint }
    }
}

/// The sizes of a network, in switches and ports.
struct Plan {
    shape: Shape,
    /// Leaf ports to NICs.
    down: usize,
    /// Whether each rail is a network of its own; `shape` is then that of one rail.
    by_rail: bool,
}

enum Shape {
    Switch,
    Clos(Clos),
    DragonflyPlus(DragonflyPlus),
    Torus(Torus),
}

impl Shape {
    /// The shape of a design that takes more than one switch.
    fn new(design: &Network, hosts: usize, rails: usize, down: usize) -> Result<Self, Unfit> {
        Ok(match design.design {
            NetworkDesign::Torus => Self::Torus(Torus::new(design, hosts, rails)?),
            NetworkDesign::Single => {
                let reason =
                    format!("{} NICs do not fit one switch of {} ports", hosts * rails, design.radix);
                return Err(Unfit::new("", reason).hint("`fat-tree` or `rail-optimized` take several"));
            }
            NetworkDesign::FatTree => {
                Self::Clos(Clos::new(design, tree_leaves(design, hosts, rails, down)?)?)
            }
            NetworkDesign::RailOptimized => Self::Clos(Clos::new(design, hosts.div_ceil(down) * rails)?),
            NetworkDesign::RailOnly => Self::Clos(Clos::new(design, hosts.div_ceil(down))?),
            NetworkDesign::DragonflyPlus => {
                Self::DragonflyPlus(DragonflyPlus::new(design, hosts, rails, down)?)
            }
        })
    }
}

impl Plan {
    fn new(design: &Network, hosts: usize, rails: usize) -> Result<Self, Unfit> {
        check_options(design)?;
        let radix = usize::from(design.radix);
        let down = clos::down_ports("oversubscription", radix, design.oversubscription)?;
        let by_rail = design.design == NetworkDesign::RailOnly;
        let endpoints = if by_rail { hosts } else { hosts * rails };
        let options = [design.groups, design.leaves, design.spines, design.cores];
        let sized = options.iter().any(Option::is_some);
        let fits_one = endpoints <= radix && design.design != NetworkDesign::Torus && !sized;
        let shape = if fits_one { Shape::Switch } else { Shape::new(design, hosts, rails, down)? };
        let three_tiers = matches!(&shape, Shape::Clos(clos) if clos.has_core());
        if design.spine_oversubscription != 1 && !three_tiers && !matches!(shape, Shape::DragonflyPlus(_)) {
            let reason = "spines that face no core have nothing to oversubscribe";
            let hint = "leave `spine-oversubscription` out: so few hosts need no third tier";
            return Err(Unfit::new("spine-oversubscription", reason).hint(hint));
        }
        Ok(Self { shape, down, by_rail })
    }

    /// The NICs of `rails` below each switch that faces hosts.
    fn below(&self, design: &Network, rails: &[usize], hosts: &[HostNodes]) -> Vec<Vec<NodeId>> {
        let nics = |hosts: &[HostNodes]| -> Vec<NodeId> {
            hosts.iter().flat_map(|host| rails.iter().map(|rail| host.nics[*rail])).collect()
        };
        match &self.shape {
            Shape::Switch => vec![nics(hosts)],
            Shape::Torus(torus) => spread(hosts, torus.vertices()).map(nics).collect(),
            Shape::DragonflyPlus(groups) if groups.leaves_are_given => {
                spread(hosts, groups.leaves).map(nics).collect()
            }
            Shape::Clos(_) if design.leaves.is_some() => {
                spread(hosts, usize::from(design.leaves.unwrap_or(1))).map(nics).collect()
            }
            Shape::Clos(_) if design.design == NetworkDesign::RailOptimized => {
                let leaf =
                    |group: &[HostNodes], rail: usize| group.iter().map(|host| host.nics[rail]).collect();
                hosts
                    .chunks(self.down)
                    .flat_map(|group| rails.iter().map(move |rail| leaf(group, *rail)))
                    .collect()
            }
            Shape::Clos(_) | Shape::DragonflyPlus(_) if rails.len() <= self.down => {
                hosts.chunks(self.down / rails.len()).map(nics).collect()
            }
            Shape::Clos(_) | Shape::DragonflyPlus(_) => {
                nics(hosts).chunks(self.down).map(<[NodeId]>::to_vec).collect()
            }
        }
    }

    fn lay(&self, switches: &mut Switches<'_, '_>, below: &[Vec<NodeId>], wire: Wire) {
        let facing_hosts = switches.add(below.len());
        for (nics, switch) in below.iter().zip(&facing_hosts) {
            for nic in nics {
                switches.graph.lay(*nic, *switch, wire);
            }
        }
        match &self.shape {
            Shape::Switch => {}
            Shape::Clos(clos) => clos.lay(switches, &facing_hosts, wire),
            Shape::DragonflyPlus(groups) => groups.lay(switches, &facing_hosts, wire),
            Shape::Torus(torus) => torus.lay(switches, &facing_hosts, wire),
        }
    }
}

/// Adds the network that joins the hosts' NICs.
pub(crate) fn lay(
    design: &Network,
    parts: &Parts<'_>,
    graph: &mut GraphBuilder,
    hosts: &[HostNodes],
) -> Result<(), BuildError> {
    let rails = rails(parts);
    let wire = Parts::wire(graph, port::link(design, parts)?, 1);
    let switch = design.switch.as_deref().map(|name| parts.catalogue.switch(name)).transpose()?;
    let model = switch.map(|switch| switch.name.as_str());
    let plan = Plan::new(design, hosts.len(), rails.len())?;
    let mut switches = Switches { graph, model, next: 0 };
    let networks: Vec<&[usize]> = if plan.by_rail { rails.chunks(1).collect() } else { vec![&rails] };
    for _ in 0..design.planes.max(1) {
        for rails in &networks {
            plan.lay(&mut switches, &plan.below(design, rails, hosts), wire);
        }
    }
    Ok(())
}

/// Whether `design` can join the hosts of `machine`, which does not name it yet.
pub(crate) fn check(machine: &Machine, design: &Network, catalogue: &Catalogue) -> Result<(), Unfit> {
    // What else is wrong with the machine is found when it is built.
    let Ok(parts) = Parts::look_up(machine, catalogue, &mut Vec::new()) else { return Ok(()) };
    port::link(design, &parts)?;
    let hosts = machine.host.count.max(1) as usize;
    Plan::new(design, hosts, rails(&parts).len()).map(|_| ())
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

/// Leaves of whole hosts; of single NICs where a host has more than fit one leaf.
fn whole_leaves(hosts: usize, rails: usize, down: usize) -> usize {
    if rails <= down { hosts.div_ceil(down / rails) } else { (hosts * rails).div_ceil(down) }
}

/// Leaves of a fat tree: as many as were asked for, with whole hosts on each, or as few as hold the hosts.
fn tree_leaves(design: &Network, hosts: usize, rails: usize, down: usize) -> Result<usize, Unfit> {
    let Some(leaves) = design.leaves.map(usize::from) else { return Ok(whole_leaves(hosts, rails, down)) };
    if leaves > hosts {
        return Err(Unfit::new("leaves", format!("{hosts} hosts cannot be spread over {leaves} leaves")));
    }
    let most = hosts.div_ceil(leaves) * rails;
    if most > down {
        let reason = format!("{leaves} leaves need {most} ports for NICs each, but have {down}");
        return Err(Unfit::new("leaves", reason).hint("name more leaves, or `leaf` with more ports"));
    }
    Ok(leaves)
}

/// Refuses what is an option of another design.
fn check_options(design: &Network) -> Result<(), Unfit> {
    let (dragonfly, torus) =
        (design.design == NetworkDesign::DragonflyPlus, design.design == NetworkDesign::Torus);
    if design.groups.is_some() && !dragonfly {
        return Err(Unfit::new("groups", "`groups` is an option of `dragonfly+` alone"));
    }
    let tiers = dragonfly || design.design == NetworkDesign::FatTree;
    let of_tiers = [("leaves", design.leaves), ("spines", design.spines)];
    if let Some((option, _)) = of_tiers.iter().find(|(_, given)| given.is_some() && !tiers) {
        return Err(Unfit::new(option, format!("`{option}` is an option of `fat-tree` and `dragonfly+`")));
    }
    if design.cores.is_some() && (torus || dragonfly || design.design == NetworkDesign::Single) {
        return Err(Unfit::new("cores", "`cores` is an option of leaves and spines with a third tier"));
    }
    if design.links.is_some() && !torus {
        return Err(Unfit::new("links", "`links` is an option of `torus` alone"));
    }
    if !design.sizes.is_empty() && !torus {
        return Err(Unfit::new("sizes", "only a `torus` has sizes"));
    }
    for (option, share) in [
        ("oversubscription", design.oversubscription),
        ("spine-oversubscription", design.spine_oversubscription),
    ] {
        if torus && share != 1 {
            let reason = "a torus has no tiers to oversubscribe";
            return Err(Unfit::new(option, reason).hint("`links N` says how many links join two neighbours"));
        }
    }
    Ok(())
}

/// `of` in `count` runs whose lengths differ by one at most.
fn spread<T>(of: &[T], count: usize) -> impl Iterator<Item = &[T]> {
    let start = move |index: usize| index * of.len() / count.max(1);
    (0..count).map(move |index| &of[start(index)..start(index + 1)])
}

/// Spreads `up` links of each lower switch over the upper ones, bundling those to the same one; what does not divide
/// evenly goes to those from `first` on.
fn join(
    switches: &mut Switches<'_, '_>,
    lower: &[NodeId],
    upper: &[NodeId],
    up: usize,
    first: usize,
    wire: Wire,
) {
    let count = upper.len();
    for low in lower {
        for (index, high) in upper.iter().enumerate() {
            let place = (index + count - first % count.max(1)) % count.max(1);
            switches.bundle(*low, *high, up / count + usize::from(place < up % count), wire);
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

    /// Joins two switches with `links` links, none if that is 0.
    fn bundle(&mut self, a: NodeId, b: NodeId, links: usize, wire: Wire) {
        if let Some(count) = u16::try_from(links).ok().filter(|count| *count > 0) {
            let capacity = wire.capacity * u64::from(count);
            self.graph.lay(a, b, Wire { count, capacity, ..wire });
        }
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
        // DGX SuperPOD B300 XDR, 4 units: 16 would do, but 72 uplinks divide by 18 (published: 18).
        assert_eq!(even_spread(32, 72, 144), 18);
        // DGX SuperPOD B200, 16 units: 4 pods of 32 leaves take 2 cores for each of 32 spines, 64 in all.
        assert_eq!(even_spread(4, 32, 64), 2);
    }

    #[test]
    fn runs_differ_by_one_at_most_and_none_is_empty() {
        let lengths = |of: usize, count| spread(&vec![0; of], count).map(<[i32]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(10, 4), [2, 3, 2, 3]);
        assert_eq!(lengths(8, 8), [1; 8]);
    }
}
