//! What ties GPUs, above their row: a bar for a bank of switches, arcs for direct links.

use std::collections::BTreeMap;

use weft_base::Rate;
use weft_catalogue::LinkFamily;

use super::{Drawing, GPU, PAD, SOFT};
use crate::draw::fabric::{Bank, Fabric, Tie};
use crate::draw::svg::canvas::{
    Anchor, Area, Font, INK, PAPER, colours, fit, int, lighter, stroke, text_width,
};
use crate::draw::{bundle, local_name};
use crate::graph::{NodeId, Topology};

const BAR: i32 = 52;
/// Between a bar and the panels below it.
const GAP: i32 = 34;
const CHIP: i32 = 24;
const TITLE: Font = Font::bold(130, INK);
const DETAIL: Font = Font::plain(115, SOFT);
const CHIP_NAME: Font = Font::plain(90, SOFT);
/// Height of the lowest arc, and what each further neighbour adds.
const ARC: (i32, i32) = (30, 24);
/// Up to so many arcs carry their own labels.
const LABELLED: usize = 2;

/// The room that the ties need above the row of GPUs.
pub(super) fn height(fabric: &Fabric) -> i32 {
    let bars = if fabric.banks.is_empty() { 0 } else { BAR + GAP + PAD };
    let arcs = if fabric.direct.is_empty() { 0 } else { arc_height(fabric, most_apart(fabric)) + 24 };
    bars.max(arcs)
}

/// GPUs in order of ids, by which arcs count how far they reach.
fn order(fabric: &Fabric) -> Vec<NodeId> {
    let mut gpus: Vec<NodeId> = fabric.direct.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
    gpus.sort();
    gpus.dedup();
    gpus
}

fn most_apart(fabric: &Fabric) -> i32 {
    let order = order(fabric);
    let position = |gpu: &NodeId| order.binary_search(gpu).unwrap_or(0);
    let apart = fabric.direct.iter().map(|(a, b, _)| position(b).abs_diff(position(a)));
    int(apart.max().unwrap_or(0))
}

/// GPUs that reach each other over direct links that carry data.
fn groups(topology: &Topology, fabric: &Fabric) -> Vec<Vec<NodeId>> {
    let carries = |tie: &Tie| topology.kind(tie.kind).family != LinkFamily::DisplayBridge;
    let mut groups: Vec<Vec<NodeId>> = Vec::new();
    for (a, b, _) in fabric.direct.iter().filter(|(_, _, tie)| carries(tie)) {
        let (with, without): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| group.contains(a) || group.contains(b));
        let mut joined: Vec<NodeId> = with.into_iter().flatten().chain([*a, *b]).collect();
        joined.sort();
        joined.dedup();
        groups = without;
        groups.push(joined);
    }
    groups
}

/// The rate of one GPU's links together, where each pair is joined alike.
fn whole_mesh(fabric: &Fabric) -> Option<Rate> {
    let gpus = order(fabric).len();
    let (_, _, first) = fabric.direct.first()?;
    let alike = fabric.direct.iter().all(|(_, _, tie)| tie == first);
    let others = gpus.saturating_sub(1) as u64;
    (alike && fabric.direct.len() * 2 == gpus * (gpus - 1)).then(|| first.rate * others)
}

fn arc_height(fabric: &Fabric, apart: i32) -> i32 {
    let step = ARC.1.min(180 / most_apart(fabric).max(1));
    ARC.0 + step * (apart - 1)
}

impl Drawing<'_> {
    pub(super) fn fabric(&mut self, fabric: &Fabric) {
        let bars: Vec<Area> = fabric.banks.iter().map(|bank| self.bank(bank)).collect();
        for (a, b, tie) in &fabric.trunks {
            self.trunk(bars[*a], bars[*b], *tie);
        }
        self.islands(fabric);
        self.arcs(fabric);
    }

    /// Where direct links tie several groups of GPUs, a box behind each group.
    fn islands(&mut self, fabric: &Fabric) {
        let groups = groups(self.topology, fabric);
        if groups.len() < 2 {
            return;
        }
        let (_, tint) = colours(LinkFamily::GpuFabric);
        for group in groups {
            let places: Vec<Area> = group.iter().filter_map(|gpu| self.areas.get(gpu)).copied().collect();
            let left = places.iter().map(|area| area.x).min().unwrap_or(0) - 6;
            let right = places.iter().map(|area| area.right()).max().unwrap_or(0) + 6;
            let between = |area: &Area| (left..right).contains(&area.centre()) && area.y == self.rows.gpu;
            if self.areas.values().filter(|area| between(area)).count() == group.len() {
                let box_area = Area::new(left, self.rows.gpu - 6, right - left, places[0].height + 12);
                let title = format!("{} GPUs tied to each other", group.len());
                self.under.panel(box_area, 9, tint, lighter(LinkFamily::GpuFabric), &title);
            }
        }
    }

    /// The bar of a bank, over the GPUs that it joins, with a bundle down to each.
    fn bank(&mut self, bank: &Bank) -> Area {
        let places: Vec<Area> = bank.gpus.iter().filter_map(|gpu| self.areas.get(gpu)).copied().collect();
        let left = places.iter().map(|area| area.x).min().unwrap_or(0);
        let right = places.iter().map(|area| area.right()).max().unwrap_or(0);
        let bar = Area::new(left, self.rows.gpu - PAD - GAP - BAR, right - left, BAR);
        let kind = self.topology.kind(bank.tie.kind);
        let (colour, tint) = colours(kind.family);
        let links = bundle(kind, bank.tie.count);
        for (gpu, place) in bank.gpus.iter().zip(&places) {
            let name = local_name(self.topology, *gpu);
            let title = format!("{name} – switches: {links}, {} per direction", bank.tie.rate);
            let (from, to) = ((place.centre(), place.y), (place.centre(), bar.bottom()));
            self.lines.line(from, to, colour, stroke(bank.tie.rate), &title);
        }
        self.legend.note(self.topology, bank.tie, "per GPU");
        let model = bank.switches.first().and_then(|switch| self.options.model(self.topology, *switch));
        let title = format!("{} × {}", bank.switches.len(), model.unwrap_or_else(|| "GPU switch".to_owned()));
        self.boxes.panel(bar, 8, tint, colour, &title);
        self.bar_text(bank, bar, &title, &links);
        bar
    }

    fn bar_text(&mut self, bank: &Bank, bar: Area, title: &str, links: &str) {
        let detail = format!("{links} from each GPU, {}", bank.tie.rate);
        let chips = int(bank.switches.len()) * (CHIP + 6) - 6;
        let text = text_width(title, TITLE).max(text_width(&detail, DETAIL));
        let shows_chips = text + chips + 48 <= bar.width;
        let room = if shows_chips { bar.width - chips - 48 } else { bar.width - 32 };
        let left = bar.x + 16;
        self.boxes.text((left, bar.y + 22), Anchor::Start, TITLE, &fit(title, room, TITLE));
        self.boxes.text((left, bar.y + 39), Anchor::Start, DETAIL, &fit(&detail, room, DETAIL));
        if !shows_chips {
            return;
        }
        let colour = colours(LinkFamily::GpuFabric).0;
        for (switch, index) in bank.switches.iter().zip(0..) {
            let x = bar.right() - 16 - chips + index * (CHIP + 6);
            let chip = Area::new(x, bar.y + (BAR - CHIP) / 2, CHIP, CHIP);
            let name = local_name(self.topology, *switch);
            self.boxes.panel(chip, 4, PAPER, colour, &name);
            let number = self.topology.node(*switch).number.to_string();
            self.boxes.text((chip.centre(), chip.y + 15), Anchor::Middle, CHIP_NAME, &number);
        }
    }

    fn trunk(&mut self, a: Area, b: Area, tie: Tie) {
        self.legend.note(self.topology, tie, "between the boards");
        let kind = self.topology.kind(tie.kind);
        let title = format!("between the boards: {}, {} per direction", bundle(kind, tie.count), tie.rate);
        let (left, right) = if a.x < b.x { (a, b) } else { (b, a) };
        let y = left.y + BAR / 2;
        self.lines.line((left.right(), y), (right.x, y), colours(kind.family).0, stroke(tie.rate), &title);
    }

    /// Direct links as arcs; at each GPU they leave in the order that lets them nest.
    fn arcs(&mut self, fabric: &Fabric) {
        let order = order(fabric);
        let position = |gpu: NodeId| int(order.iter().position(|known| *known == gpu).unwrap_or(0));
        let ports = self.ports(fabric);
        let labelled = fabric.direct.len() <= LABELLED;
        let what = match whole_mesh(fabric) {
            Some(rate) if order.len() > 2 => format!("per pair, {rate} per GPU"),
            Some(_) | None => "per pair".to_owned(),
        };
        // Far arcs first, so that near ones lie on top of them.
        let mut by_reach: Vec<&(NodeId, NodeId, Tie)> = fabric.direct.iter().collect();
        by_reach.sort_by_key(|(a, b, _)| std::cmp::Reverse(position(*b) - position(*a)));
        for (a, b, tie) in by_reach {
            let (Some(from), Some(to)) = (ports.get(&(*a, *b)), ports.get(&(*b, *a))) else { continue };
            let (left, right) = (*from.min(to), *from.max(to));
            let apart = (position(*b) - position(*a)).max(1);
            let (y, rise) = (self.rows.gpu, arc_height(fabric, apart));
            let radius = (right - left) / 2;
            let way = if apart == 1 && labelled {
                format!("M{left} {y} V{} H{right} V{y}", y - rise + 6)
            } else {
                format!("M{left} {y} A{radius} {rise} 0 0 1 {right} {y}")
            };
            let kind = self.topology.kind(tie.kind);
            let lesser = fabric.direct.iter().any(|(_, _, other)| other.rate > tie.rate);
            let colour = if lesser { lighter(kind.family) } else { colours(kind.family).0 };
            let links = bundle(kind, tie.count);
            let names = (local_name(self.topology, *a), local_name(self.topology, *b));
            let title = format!("{} – {}: {links}, {} per direction", names.0, names.1, tie.rate);
            let frames = kind.family == LinkFamily::DisplayBridge;
            self.lines.path(&way, colour, stroke(tie.rate), frames, &title);
            self.legend.note_shade(self.topology, *tie, &what, lesser);
            if labelled {
                // Beside another one a label must stay over its own cards.
                let whole = format!("{links}, {}", tie.rate);
                let room = right - left + GPU.0;
                let fits = fabric.direct.len() == 1 || text_width(&whole, DETAIL) <= room;
                let text = if fits { whole } else { tie.rate.to_string() };
                let height = if apart == 1 { rise - 6 } else { rise };
                let point = (left + radius, y - height - 8);
                self.boxes.text(point, Anchor::Middle, DETAIL, &text);
            }
        }
    }

    /// Where on its upper edge each GPU's link to each other GPU begins.
    fn ports(&self, fabric: &Fabric) -> BTreeMap<(NodeId, NodeId), i32> {
        let x = |gpu: NodeId| self.areas.get(&gpu).map_or(0, |area| area.centre());
        let mut ports = BTreeMap::new();
        for gpu in order(fabric) {
            let mut others: Vec<NodeId> = fabric
                .direct
                .iter()
                .filter_map(|(a, b, _)| if *a == gpu { Some(*b) } else { (*b == gpu).then_some(*a) })
                .collect();
            // To the left the nearest first, then to the right the farthest first: no two of them cross here.
            others.sort_by_key(|other| (x(*other) > x(gpu), -x(*other)));
            others.dedup();
            let Some(area) = self.areas.get(&gpu) else { continue };
            let step = ((area.width - 20) / int(others.len()).max(1)).min(14);
            let first = area.centre() - step * (int(others.len()) - 1) / 2;
            for (other, index) in others.into_iter().zip(0..) {
                ports.insert((gpu, other), first + step * index);
            }
        }
        ports
    }
}
