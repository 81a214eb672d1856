//! A host at a glance: GPUs, CPUs and NICs in rows; PCIe switches are left out.

use weft_catalogue::LinkFamily;

use super::canvas::{Anchor, Area, Canvas, EDGE, FAINT, Font, INK, PANEL, PAPER, SOFT, colours, int, stroke};
use super::legend::Legend;
use crate::draw::fabric::{Fabric, Tie, fabric};
use crate::draw::layout::{Hang, trees};
use crate::draw::{bundle, local_name, thousands};
use crate::graph::{Link, NodeId, NodeKind, Topology};

const GPU: (i32, i32) = (32, 24);
const NIC: (i32, i32) = (29, 19);
const CPU_HEIGHT: i32 = 22;
const GAP: i32 = 6;
const PAD: i32 = 12;
const TIES: i32 = 12;
const BETWEEN_SOCKETS: i32 = 16;
/// From a tile's edge to the rail that gathers its GPUs' links.
const RAIL: i32 = 9;

const DEVICE: Font = Font::bold(85, INK);
const SMALL: Font = Font::plain(80, INK);
const HOST: Font = Font::bold(110, SOFT);
const TITLE: Font = Font::bold(150, INK);

/// One host for many: a tile with others showing behind it, and their number.
pub(super) fn stack(
    topology: &Topology,
    nodes: &[NodeId],
    hosts: usize,
    gpus_below: bool,
    legend: &mut Legend,
) -> Tile {
    let tile = Tile::of(topology, nodes, gpus_below, legend);
    let offset = if hosts > 1 { 6 } else { 0 };
    let mut canvas = Canvas::default();
    for layer in [2, 1] {
        let by = layer * offset;
        let area = Area::new(by, by, tile.width, tile.height);
        canvas.panel(area, 9, PAPER, EDGE, "");
    }
    canvas.place(&tile.canvas, (0, 0));
    let (width, mut height) = (tile.width + 2 * offset, tile.height + 2 * offset);
    if hosts > 1 {
        let text = format!("× {} hosts", thousands(hosts));
        canvas.text((width / 2, height + 22), Anchor::Middle, TITLE, &text);
        height += 30;
    }
    Tile { canvas, width, height, ..tile }
}

/// A host at a glance.
pub(super) struct Tile {
    pub canvas: Canvas,
    pub width: i32,
    pub height: i32,
    /// Where links of the GPUs leave them.
    pub gpus: Vec<(NodeId, (i32, i32))>,
    gpus_below: bool,
}

/// Heights of a tile's rows, GPUs on one side and the name on the other.
struct Lines {
    gpu: i32,
    cpu: i32,
    nic: i32,
    name: i32,
    ties: i32,
    height: i32,
}

impl Lines {
    fn new(gpus_below: bool, has_nics: bool, has_ties: bool) -> Self {
        let ties = PAD;
        let gpu = ties + if has_ties { TIES } else { 0 };
        let cpu = gpu + GPU.1 + 14;
        let nic = cpu + CPU_HEIGHT + 12;
        let name = if has_nics { nic + NIC.1 } else { cpu + CPU_HEIGHT } + 18;
        let height = name + 9;
        let flip = |y: i32, row: i32| if gpus_below { height - y - row } else { y };
        Self {
            gpu: flip(gpu, GPU.1),
            cpu: flip(cpu, CPU_HEIGHT),
            nic: flip(nic, NIC.1),
            name: if gpus_below { 20 } else { name },
            ties: flip(ties, 5),
            height,
        }
    }
}

impl Tile {
    /// Draws a host; `gpus_below` where its GPUs face downwards.
    pub fn of(topology: &Topology, nodes: &[NodeId], gpus_below: bool, legend: &mut Legend) -> Self {
        let sockets = trees(topology, nodes);
        let own = fabric(topology, nodes);
        let has_nics = sockets.iter().any(|socket| !socket.all(topology, NodeKind::Nic).is_empty());
        let has_ties = !own.banks.is_empty() || !own.direct.is_empty();
        let rows = Lines::new(gpus_below, has_nics, has_ties);
        let (mut lines, mut boxes) = (Canvas::default(), Canvas::default());
        let mut gpus = Vec::new();
        let mut x = PAD;
        let mut cpus: Vec<(NodeId, Area)> = Vec::new();
        for socket in &sockets {
            let area = Area::new(x, rows.cpu, socket_width(topology, socket), CPU_HEIGHT);
            gpus.extend(draw_socket(topology, socket, area, &rows, (&mut lines, &mut boxes), legend));
            cpus.push((socket.node, area));
            x += area.width + BETWEEN_SOCKETS;
        }
        join_sockets(topology, &cpus, &mut lines, legend);
        let width = x - BETWEEN_SOCKETS + PAD;
        draw_ties(topology, &own, &gpus, rows.ties, &mut boxes, legend);
        let name = nodes.first().and_then(|node| topology.node(*node).host).unwrap_or(0);
        let mut canvas = Canvas::default();
        let panel = Area::new(0, 0, width, rows.height);
        canvas.panel(panel, 9, PANEL, EDGE, &format!("host{name}"));
        canvas.place(&lines, (0, 0));
        canvas.place(&boxes, (0, 0));
        canvas.text((width / 2, rows.name), Anchor::Middle, HOST, &format!("host{name}"));
        let edge = if gpus_below { rows.gpu + GPU.1 } else { rows.gpu };
        let gpus = gpus.into_iter().map(|(gpu, x)| (gpu, (x, edge))).collect();
        Self { canvas, width, height: rows.height, gpus, gpus_below }
    }
}

impl Tile {
    /// Draws each GPU's links from the tile at (`x`, `y`) to a bar's edge `end`: straight, or where another
    /// tile is in the way gathered and led past it.
    pub fn tie_to(
        &self,
        topology: &Topology,
        tie: Tie,
        (x, y): (i32, i32),
        end: i32,
        past: bool,
        lines: &mut Canvas,
    ) {
        let kind = topology.kind(tie.kind);
        let (colour, links) = (colours(kind.family).0, bundle(kind, tie.count));
        let rail = if self.gpus_below { y + self.height + RAIL } else { y - RAIL };
        for (gpu, port) in &self.gpus {
            let title = format!("{} – switches: {links}, {} per direction", topology.name(*gpu), tie.rate);
            let from = (x + port.0, y + port.1);
            lines.line(from, (from.0, if past { rail } else { end }), colour, stroke(tie.rate), &title);
        }
        let (Some((_, first)), true) = (self.gpus.first(), past) else { return };
        let rate = tie.rate * self.gpus.len() as u64;
        let title = format!("{} GPUs together: {rate} per direction", self.gpus.len());
        let way = format!("M{} {rail} H{} V{end}", x + first.0, x + self.width + 12);
        lines.path(&way, colour, stroke(rate), false, &title);
    }
}

fn socket_width(topology: &Topology, socket: &Hang) -> i32 {
    let gpus = int(socket.all(topology, NodeKind::Gpu).len()) * (GPU.0 + GAP) - GAP;
    let nics = int(socket.all(topology, NodeKind::Nic).len()) * (NIC.0 + GAP) - GAP;
    gpus.max(nics).max(2 * GPU.0 + GAP)
}

/// A CPU with its GPUs on one side and its NICs on the other; PCIe switches are left out.
fn draw_socket(
    topology: &Topology,
    socket: &Hang,
    area: Area,
    rows: &Lines,
    (lines, boxes): (&mut Canvas, &mut Canvas),
    legend: &mut Legend,
) -> Vec<(NodeId, i32)> {
    let is_cpu = topology.node(socket.node).kind == NodeKind::Cpu;
    if is_cpu {
        let name = local_name(topology, socket.node);
        boxes.panel(area, 4, PAPER, FAINT, &name);
        boxes.text((area.centre(), area.y + 15), Anchor::Middle, DEVICE, &name);
    }
    let mut gpus = Vec::new();
    for (kind, size, y, font) in
        [(NodeKind::Gpu, GPU, rows.gpu, DEVICE), (NodeKind::Nic, NIC, rows.nic, SMALL)]
    {
        let devices = socket.all(topology, kind);
        let row = int(devices.len()) * (size.0 + GAP) - GAP;
        for (device, index) in devices.into_iter().zip(0..) {
            let x = area.x + (area.width - row) / 2 + index * (size.0 + GAP);
            let place = Area::new(x, y, size.0, size.1);
            let is_gpu = kind == NodeKind::Gpu;
            let family = if is_gpu { LinkFamily::GpuFabric } else { LinkFamily::Network };
            let name = local_name(topology, device);
            let fill = if is_gpu { PAPER } else { colours(family).1 };
            boxes.panel(place, 4, fill, colours(family).0, &name);
            let baseline = y + size.1 / 2 + 3;
            boxes.text((place.centre(), baseline), Anchor::Middle, font, &short_name(&name));
            if is_gpu {
                gpus.push((device, place.centre()));
            }
            if let Some((_, link)) = crate::classify::parent(topology, device).filter(|_| is_cpu) {
                note_link(topology, link, legend);
                let ends = if y < area.y { (place.bottom(), area.y) } else { (place.y, area.bottom()) };
                let colour = colours(topology.family(link)).0;
                let x = place.centre();
                lines.line((x, ends.0), (x, ends.1), colour, stroke(link.capacity).min(35), "");
            }
        }
    }
    gpus
}

/// A name that fits a small box: `GPU12`, `NIC3`; longer ones are cut.
fn short_name(name: &str) -> String {
    name.chars().take(5).collect()
}

fn note_link(topology: &Topology, link: &Link, legend: &mut Legend) {
    let tie = Tie { kind: link.kind, count: link.count.into(), rate: link.capacity };
    legend.note(topology, tie, "");
}

fn join_sockets(topology: &Topology, cpus: &[(NodeId, Area)], lines: &mut Canvas, legend: &mut Legend) {
    for pair in cpus.windows(2) {
        let ((a, from), (b, to)) = (pair[0], pair[1]);
        if let Some((_, link)) = topology.links_from(a).find(|(_, link)| link.to == b) {
            note_link(topology, link, legend);
            let (y, colour) = (from.y + CPU_HEIGHT / 2, colours(topology.family(link)).0);
            lines.line((from.right(), y), (to.x, y), colour, stroke(link.capacity), "");
        }
    }
}

/// What ties the GPUs of one host, as a strip along them.
fn draw_ties(
    topology: &Topology,
    own: &Fabric,
    gpus: &[(NodeId, i32)],
    y: i32,
    boxes: &mut Canvas,
    legend: &mut Legend,
) {
    let bars = own.banks.iter().map(|bank| (bank.gpus.clone(), bank.tie, "per GPU"));
    let pairs = own.direct.iter().map(|(a, b, tie)| (vec![*a, *b], *tie, "per pair"));
    for (members, tie, what) in bars.chain(pairs) {
        legend.note(topology, tie, what);
        let places = || gpus.iter().filter(|(gpu, _)| members.contains(gpu)).map(|(_, x)| *x);
        let (left, right) =
            (places().min().unwrap_or(0) - GPU.0 / 2, places().max().unwrap_or(0) + GPU.0 / 2);
        let kind = topology.kind(tie.kind);
        let title = format!("{} {what}, {} per direction", bundle(kind, tie.count), tie.rate);
        boxes.panel(Area::new(left, y, right - left, 5), 2, colours(kind.family).0, "none", &title);
    }
}
