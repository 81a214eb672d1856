//! One host in full: GPUs in a row, what they hang off below them, what ties them above.

mod columns;
mod ties;

use std::collections::BTreeMap;

use weft_catalogue::LinkFamily;

use super::Picture;
use super::canvas::{
    Anchor, Area, Canvas, EDGE, FAINT, Font, INK, PANEL, PAPER, SOFT, colours, fit, int, stroke, text_width,
};
use super::legend::Legend;
use crate::draw::fabric::{Tie, fabric};
use crate::draw::layout::{Hang, trees};
use crate::draw::{Options, bundle, local_name};
use crate::graph::{LinkId, NodeId, NodeKind, Topology};
use columns::{Column, GAP, Rows, rows};

const GPU: (i32, i32) = (94, 60);
const NIC: (i32, i32) = (86, 48);
const SWITCH_HEIGHT: i32 = 28;
const CPU_HEIGHT: i32 = 48;
const MEMORY_HEIGHT: i32 = 22;
const PAD: i32 = 16;
const BETWEEN_SOCKETS: i32 = 64;
const NARROWEST_SOCKET: i32 = 200;

const GPU_NAME: Font = Font::bold(130, INK);
const NIC_NAME: Font = Font::bold(110, INK);
const MODEL: Font = Font::plain(95, SOFT);
const WIDE: Font = Font::plain(110, SOFT);
const LABEL: Font = Font::plain(100, FAINT);

/// A CPU with all that hangs off it; without a CPU for what leads to none.
struct Socket<'a> {
    cpu: Option<NodeId>,
    memory: Option<&'a Hang>,
    columns: Vec<Column<'a>>,
    /// Of its panel.
    x: i32,
    width: i32,
}

/// A drawing under way: lines lie below boxes.
struct Drawing<'a> {
    topology: &'a Topology,
    options: &'a Options<'a>,
    legend: &'a mut Legend,
    rows: Rows,
    under: Canvas,
    lines: Canvas,
    boxes: Canvas,
    /// Where each GPU and CPU stands.
    areas: BTreeMap<NodeId, Area>,
}

/// Draws the host of `nodes`.
pub(super) fn draw(
    topology: &Topology,
    options: &Options<'_>,
    nodes: &[NodeId],
    legend: &mut Legend,
) -> Picture {
    let hangs = trees(topology, nodes);
    let mut sockets = seat(topology, &hangs);
    // Only two sockets are joined by a line between them; more have a rail below.
    let between = if sockets.len() == 2 { BETWEEN_SOCKETS } else { BETWEEN_SOCKETS / 2 };
    let mut x = 0;
    for socket in &mut sockets {
        socket.settle(x);
        x += socket.width + between;
    }
    let fabric = fabric(topology, nodes);
    let above = ties::height(&fabric);
    let columns = || sockets.iter().flat_map(|socket| &socket.columns);
    let rows = rows(topology, columns(), above + if above > 0 { 0 } else { PAD });
    let (lines, boxes, under) = (Canvas::default(), Canvas::default(), Canvas::default());
    let mut drawing =
        Drawing { topology, options, legend, rows, under, lines, boxes, areas: BTreeMap::new() };
    for socket in &sockets {
        drawing.socket(socket);
    }
    drawing.fabric(&fabric);
    let height = drawing.between_sockets(&sockets);
    let mut canvas = Canvas::default();
    for layer in [&drawing.under, &drawing.lines, &drawing.boxes] {
        canvas.place(layer, (0, 0));
    }
    Picture { canvas, width: x - between, height }
}

/// One panel for each CPU, and one for all that leads to no CPU.
fn seat<'a>(topology: &Topology, hangs: &'a [Hang]) -> Vec<Socket<'a>> {
    let kind = |hang: &Hang| topology.node(hang.node).kind;
    let cpus = hangs.iter().filter(|hang| kind(hang) == NodeKind::Cpu).count();
    let mut sockets = Vec::new();
    for (index, cpu) in hangs.iter().filter(|hang| kind(hang) == NodeKind::Cpu).enumerate() {
        let memory = cpu.below.iter().find(|hang| kind(hang) == NodeKind::Memory);
        let devices: Vec<&Hang> = cpu.below.iter().filter(|hang| kind(hang) != NodeKind::Memory).collect();
        // What has no GPU goes to the outer side, so that the GPUs of two sockets meet in the middle.
        let (with, without): (Vec<&Hang>, Vec<&Hang>) =
            devices.into_iter().partition(|hang| hang.has_gpu(topology));
        let outer_left = cpus > 1 && index * 2 < cpus;
        let order: Vec<&Hang> = if outer_left {
            without.into_iter().chain(with).collect()
        } else {
            with.into_iter().chain(without).collect()
        };
        sockets.push(Socket::new(topology, Some(cpu.node), memory, &order));
    }
    let loose: Vec<&Hang> = hangs.iter().filter(|hang| kind(hang) != NodeKind::Cpu).collect();
    if !loose.is_empty() {
        sockets.push(Socket::new(topology, None, None, &loose));
    }
    sockets
}

impl<'a> Socket<'a> {
    fn new(topology: &Topology, cpu: Option<NodeId>, memory: Option<&'a Hang>, order: &[&'a Hang]) -> Self {
        let columns = Column::all(topology, order, 0);
        Self { cpu, memory, columns, x: 0, width: 0 }
    }

    /// Gives the panel and its columns their place.
    fn settle(&mut self, x: i32) {
        let gaps = 2 * GAP * int(self.columns.len().saturating_sub(1));
        let content = self.columns.iter().map(|column| column.width).sum::<i32>() + gaps;
        let inner = content.max(if self.cpu.is_some() { NARROWEST_SOCKET } else { GPU.0 });
        (self.x, self.width) = (x, inner + 2 * PAD);
        let mut left = x + PAD + (inner - content) / 2;
        for column in &mut self.columns {
            column.move_to(left);
            left += column.width + 2 * GAP;
        }
    }
}

impl Drawing<'_> {
    fn socket(&mut self, socket: &Socket<'_>) {
        let rows = &self.rows;
        let top = rows.gpu - PAD;
        let bottom = if socket.cpu.is_some() { rows.bottom } else { rows.cpu };
        let panel = Area::new(socket.x, top, socket.width, bottom - top);
        self.under.panel(panel, 10, PANEL, EDGE, "");
        let inner = (socket.x + PAD, socket.width - 2 * PAD);
        let (cpu_y, memory_y) = (rows.cpu, rows.memory);
        if let Some(cpu) = socket.cpu {
            let area = Area::new(inner.0, cpu_y, inner.1, CPU_HEIGHT);
            self.cpu(cpu, area);
            if let Some(memory) = socket.memory {
                self.memory(memory, Area::new(inner.0, memory_y, inner.1, MEMORY_HEIGHT));
            }
            let number = self.topology.node(cpu).socket.unwrap_or(0);
            let point = (panel.centre(), panel.bottom() - 9);
            self.boxes.text(point, Anchor::Middle, LABEL, &format!("socket {number}"));
        }
        for column in &socket.columns {
            self.column(column, self.rows.cpu, socket.cpu.is_some());
        }
    }

    fn cpu(&mut self, cpu: NodeId, area: Area) {
        let name = local_name(self.topology, cpu);
        let model = self.options.model(self.topology, cpu).unwrap_or_default();
        self.boxes.panel(area, 6, PAPER, FAINT, &format!("{name}: {model}"));
        self.boxes.text((area.centre(), area.y + 21), Anchor::Middle, GPU_NAME, &name);
        let room = area.width - 12;
        let model = if text_width(&model, WIDE) > room { shorter(&model) } else { model };
        let model = fit(&model, room, WIDE);
        self.boxes.text((area.centre(), area.y + 38), Anchor::Middle, WIDE, &model);
        self.areas.insert(cpu, area);
    }

    fn memory(&mut self, memory: &Hang, area: Area) {
        let Some(link) = memory.up.map(|link| self.topology.link(link)) else { return };
        let colour = colours(LinkFamily::Memory).0;
        let x = area.centre();
        let title = format!("memory: {} per direction", link.capacity);
        self.lines.line((x, area.y - 14), (x, area.y), colour, stroke(link.capacity), &title);
        self.boxes.panel(area, 5, colours(LinkFamily::Memory).1, EDGE, &title);
        let text = format!("Memory  {}", link.capacity);
        self.boxes.text((x, area.y + 15), Anchor::Middle, WIDE, &text);
    }

    /// Draws a column down to `floor`, the top of what it hangs off.
    fn column(&mut self, column: &Column<'_>, floor: i32, has_cpu: bool) {
        match self.topology.node(column.hang.node).kind {
            NodeKind::Gpu => self.gpu(column, floor),
            NodeKind::Nic => self.nic(column, floor),
            NodeKind::PcieSwitch => self.switch(column, floor),
            NodeKind::HostBridge => {
                for below in &column.below {
                    self.column(below, floor, has_cpu);
                }
                let name = local_name(self.topology, column.hang.node);
                let title = format!("host bridge {name}: what hangs here does not cross to another bridge");
                let tab = Area::new(column.x, floor - 4, column.width, 4);
                if has_cpu {
                    self.boxes.panel(tab, 2, FAINT, "none", &title);
                }
            }
            NodeKind::Cpu | NodeKind::Memory | NodeKind::GpuSwitch | NodeKind::NetworkSwitch => {}
        }
    }

    fn gpu(&mut self, column: &Column<'_>, floor: i32) {
        let area = Area::new(column.x, self.rows.gpu, GPU.0, GPU.1);
        self.link(column.hang.up, (area.centre(), area.bottom()), floor);
        let node = column.hang.node;
        let name = local_name(self.topology, node);
        let model = self.options.model(self.topology, node).unwrap_or_else(|| "model unknown".to_owned());
        self.boxes.panel(area, 7, PAPER, colours(LinkFamily::GpuFabric).0, &format!("{name}: {model}"));
        let short = self.options.short_model(self.topology, node).unwrap_or_else(|| "unknown".to_owned());
        self.boxes.label(area, (&name, GPU_NAME), (&short, MODEL));
        self.areas.insert(node, area);
    }

    fn nic(&mut self, column: &Column<'_>, floor: i32) {
        let y = self.rows.nic[column.depth];
        let area = Area::new(column.x, y, NIC.0, NIC.1);
        if column.depth == 0 {
            self.link(column.hang.up, (area.centre(), area.bottom()), floor);
        } else {
            self.link(column.hang.up, (area.centre(), floor), area.y);
        }
        let node = column.hang.node;
        let many = column.count > 1;
        let name = if many { format!("{} NICs", column.count) } else { local_name(self.topology, node) };
        let model = self.options.model(self.topology, node).unwrap_or_else(|| "model unknown".to_owned());
        let (colour, tint) = colours(LinkFamily::Network);
        if many {
            let behind = Area::new(area.x + 4, area.y + 4, area.width, area.height);
            self.boxes.panel(behind, 6, tint, colour, "");
        }
        self.boxes.panel(area, 6, tint, colour, &format!("{name}: {model}"));
        let short = self.options.short_model(self.topology, node).unwrap_or_else(|| "unknown".to_owned());
        self.boxes.label(area, (&name, NIC_NAME), (&short, MODEL));
    }

    fn switch(&mut self, column: &Column<'_>, floor: i32) {
        let area = Area::new(column.x, self.rows.switch[column.depth], column.width, SWITCH_HEIGHT);
        self.link(column.hang.up, (column.uplink(), area.bottom()), floor);
        for below in &column.below {
            let is_nic = self.topology.node(below.hang.node).kind == NodeKind::Nic;
            self.column(below, if is_nic { area.bottom() } else { area.y }, true);
        }
        let node = column.hang.node;
        let name = local_name(self.topology, node);
        let model = self.options.model(self.topology, node).unwrap_or_else(|| "PCIe switch".to_owned());
        let (colour, tint) = colours(LinkFamily::Pcie);
        self.boxes.panel(area, 5, tint, colour, &format!("{name}: {model}"));
        let short = self.options.short_model(self.topology, node).unwrap_or_else(|| "PCIe switch".to_owned());
        let text = fit(&format!("{name}  {short}"), area.width - 8, WIDE);
        self.boxes.text((area.centre(), area.y + 18), Anchor::Middle, WIDE, &text);
    }

    /// A vertical line for a link, from a point down to `floor`.
    fn link(&mut self, link: Option<LinkId>, from: (i32, i32), floor: i32) {
        let Some(link) = link.map(|link| self.topology.link(link)) else { return };
        let tie = Tie { kind: link.kind, count: link.count.into(), rate: link.capacity };
        self.legend.note(self.topology, tie, "");
        let kind = self.topology.kind(link.kind);
        let title = format!(
            "{} – {}: {}, {} per direction",
            local_name(self.topology, link.from),
            local_name(self.topology, link.to),
            bundle(kind, link.count.into()),
            link.capacity
        );
        let colour = colours(kind.family).0;
        self.lines.line(from, (from.0, floor), colour, stroke(link.capacity), &title);
    }

    /// Links between sockets: straight between two, a rail below more. Returns the drawing's height.
    fn between_sockets(&mut self, sockets: &[Socket<'_>]) -> i32 {
        let bottom = self.rows.bottom;
        let cpus: Vec<NodeId> = sockets.iter().filter_map(|socket| socket.cpu).collect();
        let mut joined: Vec<(Area, Area, Tie)> = Vec::new();
        for (index, a) in cpus.iter().enumerate() {
            for (_, link) in self.topology.links_from(*a) {
                if cpus[index + 1..].contains(&link.to) {
                    let tie = Tie { kind: link.kind, count: link.count.into(), rate: link.capacity };
                    self.legend.note(
                        self.topology,
                        tie,
                        if cpus.len() > 2 { "per pair of sockets" } else { "" },
                    );
                    joined.push((self.areas[a], self.areas[&link.to], tie));
                }
            }
        }
        let colour = colours(LinkFamily::Socket).0;
        if cpus.len() <= 2 {
            for (a, b, tie) in &joined {
                let y = a.y + CPU_HEIGHT / 2;
                let title = format!(
                    "{}, {} per direction",
                    bundle(self.topology.kind(tie.kind), tie.count),
                    tie.rate
                );
                self.lines.line((a.right(), y), (b.x, y), colour, stroke(tie.rate), &title);
            }
            return bottom;
        }
        let Some((_, _, tie)) = joined.first().copied() else { return bottom };
        let y = bottom + 18;
        let title = format!("{} links between sockets, {} each and direction", joined.len(), tie.rate);
        let ends = joined.iter().flat_map(|(a, b, _)| [a.x + 14, b.x + 14]);
        let (left, right) = (ends.clone().min().unwrap_or(0), ends.clone().max().unwrap_or(0));
        self.lines.line((left, y), (right, y), colour, stroke(tie.rate), &title);
        let taps: std::collections::BTreeSet<i32> = ends.collect();
        for x in taps {
            self.lines.line((x, self.rows.cpu + CPU_HEIGHT), (x, y), colour, stroke(tie.rate), &title);
        }
        y + 8
    }
}

/// `Intel Xeon Scalable, third generation (Ice Lake)` to `Intel Xeon Scalable (Ice Lake)`.
fn shorter(model: &str) -> String {
    match (model.split_once(','), model.find('(')) {
        (Some((line, _)), Some(code_name)) => format!("{line} {}", &model[code_name..]),
        _ => model.to_owned(),
    }
}
