//! Clusters: hosts below the leaves that they share, leaves below spines, spines below cores; what is
//! alike is drawn once and counted.

use weft_catalogue::LinkFamily;

use super::Picture;
use super::canvas::{
    Anchor, Area, Canvas, EDGE, FAINT, Font, INK, PANEL, PAPER, SOFT, colours, fit, int, stroke,
};
use super::legend::Legend;
use super::tile::stack;
use crate::draw::fabric::Tie;
use crate::draw::network::{Across, Group, Network, Pod, uplink};
use crate::draw::{Options, bundle, counted, local_name, thousands, torus};
use crate::graph::{NodeId, NodeKind, Topology};
use crate::separate;

/// Up to so many hosts stand for themselves.
const MOST_HOSTS: usize = 100;
const MOST_GROUPS: usize = 8;
/// Leaves with a box of their own.
const MOST_LEAVES: usize = 8;
const CHIP: (i32, i32) = (104, 40);
const GAP: i32 = 10;
const PAD: i32 = 16;
const BETWEEN: i32 = 30;
const BAR: i32 = 54;
const LEAF: i32 = 34;
const LINES: i32 = 40;
const ELLIPSIS: i32 = 150;
const WIDEST: i32 = 1300;

const TITLE: Font = Font::bold(140, INK);
const DETAIL: Font = Font::plain(115, SOFT);
const NAME: Font = Font::bold(105, INK);
const LABEL: Font = Font::plain(105, SOFT);

struct Cluster<'a> {
    topology: &'a Topology,
    options: &'a Options<'a>,
    hosts: &'a [Vec<NodeId>],
    /// Hosts side by side in a group; 0 where one host stands for its group.
    columns: i32,
    across: &'a Across,
}

/// Draws hosts and network.
pub(super) fn draw(
    topology: &Topology,
    options: &Options<'_>,
    hosts: &[Vec<NodeId>],
    network: &Network,
    legend: &mut Legend,
) -> Picture {
    let groups: usize = network.pods.iter().map(|pod| pod.groups.len()).sum();
    let each = hosts.len() <= MOST_HOSTS && groups <= MOST_GROUPS;
    let largest = network.pods.iter().flat_map(|pod| &pod.groups).map(|group| group.hosts.len()).max();
    let fits = (WIDEST / int(groups.max(1)) - 2 * PAD) / (CHIP.0 + GAP);
    let columns = if each { fits.clamp(1, 8).min(int(largest.unwrap_or(1))) } else { 0 };
    let cluster = Cluster { topology, options, hosts, columns, across: &network.across };
    let shown = shown(network.pods.len(), 3);
    let blocks: Vec<(Option<&Pod>, Picture)> = shown
        .into_iter()
        .map(|shown| match shown {
            Shown::One(index) => {
                let pod = &network.pods[index];
                (Some(pod), cluster.pod(pod, shown_groups(pod, network.pods.len()), legend))
            }
            Shown::More { index, count } => {
                let groups = network.pods[index..index + count].iter().flat_map(|pod| &pod.groups);
                let hosts: usize = groups.map(|group| group.hosts.len()).sum();
                let pod = if matches!(network.across, Across::Groups(_)) { "group" } else { "pod" };
                let text = more(count, pod);
                (None, ellipsis(&text, &format!("{} hosts", thousands(hosts))))
            }
        })
        .collect();
    cluster.below_cores(network, &blocks, legend)
}

/// What of a row of like things is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    One(usize),
    /// So many, from this index on, are only counted.
    More {
        index: usize,
        count: usize,
    },
}

/// All of `count` if they are at most `most`; else the first ones, how many more, and the last.
fn shown(count: usize, most: usize) -> Vec<Shown> {
    if count <= most {
        return (0..count).map(Shown::One).collect();
    }
    let first = (0..most - 1).map(Shown::One);
    let more = Shown::More { index: most - 1, count: count - most };
    first.chain([more, Shown::One(count - 1)]).collect()
}

fn shown_groups(pod: &Pod, pods: usize) -> Vec<Shown> {
    let groups = pod.groups.len();
    match (groups <= MOST_GROUPS, pods) {
        (true, 1) => shown(groups, MOST_GROUPS),
        (_, 1) => shown(groups, 4),
        (_, 2) => shown(groups, 2),
        (_, _) if groups > 1 => vec![Shown::One(0), Shown::More { index: 1, count: groups - 1 }],
        (_, _) => shown(groups, 1),
    }
}

/// `3 more groups`.
fn more(count: usize, what: &str) -> String {
    let counted = counted(count, what);
    match counted.split_once(' ') {
        Some((count, what)) => format!("{count} more {what}"),
        None => counted,
    }
}

/// Dots and a number in place of things that are alike.
fn ellipsis(text: &str, below: &str) -> Picture {
    let mut canvas = Canvas::default();
    for index in 0..3 {
        let dot = Area::new(ELLIPSIS / 2 - 15 + index * 12, BAR / 2 - 3, 6, 6);
        canvas.panel(dot, 3, FAINT, "none", "");
    }
    canvas.text((ELLIPSIS / 2, BAR / 2 + 24), Anchor::Middle, LABEL, text);
    canvas.text((ELLIPSIS / 2, BAR / 2 + 39), Anchor::Middle, LABEL, below);
    Picture { canvas, width: ELLIPSIS, height: BAR }
}

impl Cluster<'_> {
    /// Pods side by side below the bar of cores, if there are cores.
    fn below_cores(
        &self,
        network: &Network,
        blocks: &[(Option<&Pod>, Picture)],
        legend: &mut Legend,
    ) -> Picture {
        let linked = match &network.across {
            Across::Groups(tie) if network.pods.len() > 1 => Some(*tie),
            Across::Groups(_) | Across::Torus(..) | Across::None => None,
        };
        let top = if network.cores.is_empty() && linked.is_none() { 0 } else { BAR + LINES };
        let (mut lines, mut boxes) = (Canvas::default(), Canvas::default());
        let (mut x, mut bottom) = (0, 0);
        let mut spine_tie = None;
        for (pod, picture) in blocks {
            let above = pod.and_then(|pod| {
                let tie = linked.or_else(|| uplink(self.topology, *pod.spines.first()?, &network.cores))?;
                Some((tie, pod.spines.len()))
            });
            if let Some((tie, spines)) = above {
                let rate = tie.rate * spines as u64;
                let kind = self.topology.kind(tie.kind);
                let title = format!("{spines} spines, {} up from each", bundle(kind, tie.count));
                let centre = x + picture.width / 2;
                let line = ((centre, BAR), (centre, top + 10));
                lines.line(line.0, line.1, colours(kind.family).0, stroke(rate), &title);
                legend.note(self.topology, tie, "per spine");
                spine_tie = Some(tie);
            }
            boxes.place(&picture.canvas, (x, top));
            bottom = bottom.max(top + picture.height);
            x += picture.width + BETWEEN;
        }
        let width = x - BETWEEN;
        if top > 0 {
            let (title, detail) = match linked {
                Some(tie) => (
                    format!("{} groups, each linked to every other", thousands(network.pods.len())),
                    self.links(tie, "from each spine to those of other groups"),
                ),
                None => (
                    format!("{} core switches", thousands(network.cores.len())),
                    self.up("each spine", spine_tie),
                ),
            };
            self.bar(&mut boxes, Area::new(0, 0, width, BAR), &title, &detail, network.cores.first());
        }
        let mut canvas = lines;
        canvas.place(&boxes, (0, 0));
        Picture { canvas, width, height: bottom }
    }

    /// `32 × InfiniBand NDR 4x up from each leaf, 1600 GB/s`.
    fn up(&self, what: &str, tie: Option<Tie>) -> String {
        tie.map_or_else(String::new, |tie| self.links(tie, &format!("up from {what}")))
    }

    /// `3 × InfiniBand NDR 4x to each neighbour, 150 GB/s`.
    fn links(&self, tie: Tie, what: &str) -> String {
        let links = bundle(self.topology.kind(tie.kind), tie.count);
        format!("{links} {what}, {}", tie.rate)
    }

    /// A row of switches as one bar.
    fn bar(&self, canvas: &mut Canvas, area: Area, title: &str, detail: &str, first: Option<&NodeId>) {
        let (colour, tint) = colours(LinkFamily::Network);
        let model = first.and_then(|switch| self.options.model(self.topology, *switch));
        let title = model.map_or_else(|| title.to_owned(), |model| format!("{title}: {model}"));
        canvas.panel(area, 8, tint, colour, &title);
        let room = area.width - 24;
        canvas.text((area.x + 16, area.y + 23), Anchor::Start, TITLE, &fit(&title, room, TITLE));
        canvas.text((area.x + 16, area.y + 41), Anchor::Start, DETAIL, &fit(detail, room, DETAIL));
    }

    /// The groups of a pod below its spines.
    fn pod(&self, pod: &Pod, shown: Vec<Shown>, legend: &mut Legend) -> Picture {
        let (grid, grid_tie) = match self.across {
            Across::Torus(sizes, tie) => (Some(sizes), *tie),
            Across::None | Across::Groups(_) => (None, None),
        };
        let top = if pod.spines.is_empty() && grid.is_none() { 0 } else { BAR + LINES };
        let (mut lines, mut boxes) = (Canvas::default(), Canvas::default());
        let (mut x, mut bottom, mut leaf_tie) = (0, 0, None);
        for shown in shown {
            let (group, picture, leaves) = match shown {
                Shown::One(index) => {
                    let group = &pod.groups[index];
                    let (picture, leaves) = self.group(group, legend);
                    (Some(group), picture, leaves)
                }
                Shown::More { index, count } => {
                    let hosts: usize =
                        pod.groups[index..index + count].iter().map(|group| group.hosts.len()).sum();
                    let single = pod.groups[index].leaves.len() == 1;
                    let text = more(count, self.called(single));
                    let below = format!("{} hosts", thousands(hosts));
                    (None, ellipsis(&text, &below), Vec::new())
                }
            };
            let up = |group: &Group| uplink(self.topology, *group.leaves.first()?, &pod.spines);
            let tie = group.and_then(|group| grid_tie.or_else(|| up(group)));
            if let (Some(tie), Some(group)) = (tie, group) {
                legend.note(self.topology, tie, if grid.is_some() { "to a neighbour" } else { "per leaf" });
                let bundled = if leaves.len() == group.leaves.len() { 1 } else { group.leaves.len() as u64 };
                let colour = colours(self.topology.kind(tie.kind).family).0;
                let title = self.up("each leaf", Some(tie));
                for leaf in leaves {
                    let rate = tie.rate * bundled;
                    lines.line((x + leaf, BAR), (x + leaf, top), colour, stroke(rate), &title);
                }
                leaf_tie = Some(tie);
            }
            boxes.place(&picture.canvas, (x, top));
            bottom = bottom.max(top + picture.height);
            x += picture.width + BETWEEN;
        }
        let width = x - BETWEEN;
        if top > 0 {
            let (title, detail) = match (grid, leaf_tie) {
                (Some(sizes), Some(tie)) => {
                    (format!("Switches in {}", torus(sizes)), self.links(tie, "to each neighbour"))
                }
                (_, tie) => {
                    let count = thousands(pod.spines.len());
                    let separate = separate(self.topology)
                        .map_or_else(String::new, |separate| format!(" of {}, not joined", separate.words()));
                    (format!("{count} spine switches{separate}"), self.up("each leaf", tie))
                }
            };
            let first = pod.spines.first().or(pod.groups[0].leaves.first());
            self.bar(&mut boxes, Area::new(0, 0, width, BAR), &title, &detail, first);
        }
        let mut canvas = lines;
        canvas.place(&boxes, (0, 0));
        Picture { canvas, width, height: bottom }
    }

    /// Hosts below their leaves; with the middles of the leaves' boxes.
    fn group(&self, group: &Group, legend: &mut Legend) -> (Picture, Vec<i32>) {
        let card = if self.columns > 0 { self.chips(group) } else { self.one_for_all(group, legend) };
        let width = card.width;
        let top = LEAF + LINES;
        let mut canvas = Canvas::default();
        let areas = leaf_areas(group, width);
        for area in &areas {
            let nics = self.nics_below(group.leaves[0]);
            if let Some(tie) = nics {
                legend.note(self.topology, Tie { count: 1, rate: single(tie), ..tie }, "per NIC");
                let bundled = if areas.len() == group.leaves.len() { 1 } else { group.leaves.len() as u64 };
                let kind = self.topology.kind(tie.kind);
                let title = format!("{} to the hosts, {} per direction", bundle(kind, tie.count), tie.rate);
                let x = area.centre();
                let width = stroke(tie.rate * bundled);
                canvas.line((x, area.bottom()), (x, top), colours(kind.family).0, width, &title);
            }
        }
        self.leaf_boxes(&mut canvas, group, &areas);
        canvas.place(&card.canvas, ((width - card.width) / 2, top));
        let middles = areas.iter().map(|area| area.centre()).collect();
        (Picture { canvas, width, height: top + card.height }, middles)
    }

    fn leaf_boxes(&self, canvas: &mut Canvas, group: &Group, areas: &[Area]) {
        let above = |leaf: NodeId| self.topology.links_from(leaf).any(|(_, link)| self.is_switch(link.to));
        let alone = !above(group.leaves[0]) || matches!(self.across, Across::Torus(..));
        let (colour, tint) = colours(LinkFamily::Network);
        for (area, leaf) in areas.iter().zip(&group.leaves) {
            let name = local_name(self.topology, *leaf);
            let model = self.options.model(self.topology, *leaf).unwrap_or_default();
            canvas.panel(*area, 6, tint, colour, format!("{name} {model}").trim());
            let number = self.topology.node(*leaf).number;
            let text = if areas.len() < group.leaves.len() {
                let switches = if alone { "switches" } else { "leaves" };
                format!("{} {switches}", thousands(group.leaves.len()))
            } else if alone {
                if area.width < 60 { format!("S{number}") } else { format!("switch {number}") }
            } else if area.width < 60 {
                format!("L{number}")
            } else {
                format!("leaf {number}")
            };
            let text = fit(&text, area.width - 2, NAME);
            canvas.text((area.centre(), area.y + 21), Anchor::Middle, NAME, &text);
        }
    }

    /// What is counted below a bar: groups of hosts, or switches where each group has one.
    fn called(&self, single: bool) -> &'static str {
        match self.across {
            Across::Torus(..) => "switch",
            Across::Groups(_) if single => "leaf",
            Across::Groups(_) | Across::None => "group",
        }
    }

    fn is_switch(&self, node: NodeId) -> bool {
        self.topology.node(node).kind == NodeKind::NetworkSwitch
    }

    /// All links of a leaf to NICs, taken together.
    fn nics_below(&self, leaf: NodeId) -> Option<Tie> {
        let is_nic = |end| self.topology.node(end).kind == NodeKind::Nic;
        let links = || self.topology.links_from(leaf).map(|(_, link)| link).filter(|link| is_nic(link.to));
        let kind = links().next()?.kind;
        let count = links().map(|link| u32::from(link.count)).sum();
        Some(Tie { kind, count, rate: links().map(|link| link.capacity).sum() })
    }

    /// One tile that stands for all hosts of the group.
    fn one_for_all(&self, group: &Group, legend: &mut Legend) -> Picture {
        let first = group.hosts.first().map_or(0, |host| *host as usize);
        let tile = stack(self.topology, &self.hosts[first], group.hosts.len(), true, legend);
        Picture { canvas: tile.canvas, width: tile.width, height: tile.height }
    }

    /// Every host as a small box with a dot for each GPU and NIC.
    fn chips(&self, group: &Group) -> Picture {
        let mut canvas = Canvas::default();
        let columns = self.columns.min(int(group.hosts.len()));
        let rows = (int(group.hosts.len()) + columns - 1) / columns;
        let width = columns * (CHIP.0 + GAP) - GAP + 2 * PAD;
        let height = rows * (CHIP.1 + GAP) - GAP + 2 * PAD + 14;
        canvas.panel(Area::new(0, 0, width, height), 10, PANEL, EDGE, "");
        for (host, index) in group.hosts.iter().zip(0..) {
            let (x, y) = (PAD + index % columns * (CHIP.0 + GAP), PAD + index / columns * (CHIP.1 + GAP));
            let area = Area::new(x, y, CHIP.0, CHIP.1);
            canvas.panel(area, 6, PAPER, EDGE, &format!("host{host}"));
            canvas.text((x + 9, y + 16), Anchor::Start, NAME, &format!("host{host}"));
            self.dots(&mut canvas, area, &self.hosts[*host as usize]);
        }
        let y = height - 10;
        for (x, family, what) in [(PAD, LinkFamily::GpuFabric, "GPU"), (PAD + 52, LinkFamily::Network, "NIC")]
        {
            canvas.panel(Area::new(x, y - 6, 5, 5), 2, colours(family).0, "none", "");
            canvas.text((x + 11, y), Anchor::Start, LABEL, what);
        }
        Picture { canvas, width, height }
    }

    fn dots(&self, canvas: &mut Canvas, area: Area, nodes: &[NodeId]) {
        let count = |kind| nodes.iter().filter(|node| self.topology.node(**node).kind == kind).count();
        let (gpus, nics) = (int(count(NodeKind::Gpu)).min(16), int(count(NodeKind::Nic)).min(16));
        let step = (area.width - 18) / gpus.max(nics).max(8);
        for (number, y, family) in [(gpus, 22, LinkFamily::GpuFabric), (nics, 31, LinkFamily::Network)] {
            for index in 0..number {
                let side = (step - 3).clamp(3, 8);
                let dot = Area::new(area.x + 9 + index * step, area.y + y, side, 5);
                canvas.panel(dot, 2, colours(family).0, "none", "");
            }
        }
    }
}

/// The boxes of a group's leaves side by side, or one for all of many.
fn leaf_areas(group: &Group, width: i32) -> Vec<Area> {
    if group.leaves.len() > MOST_LEAVES {
        return vec![Area::new(0, 0, width, LEAF)];
    }
    let count = int(group.leaves.len());
    let gap = if width / count > 60 { GAP } else { 6 };
    let each = (width - (count - 1) * gap) / count;
    (0..count).map(|index| Area::new(index * (each + gap), 0, each, LEAF)).collect()
}

/// The rate of one of the tie's links.
fn single(tie: Tie) -> weft_base::Rate {
    weft_base::Rate::bytes_per_second(tie.rate.get() / u64::from(tie.count.max(1)))
}
