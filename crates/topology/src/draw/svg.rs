//! A picture for a slide: a card with a title, the machine, a legend, and a line on how to read it.

mod canvas;
mod cluster;
mod dark;
mod host;
mod legend;
mod rack;
mod tile;

use canvas::{Anchor, Area, Canvas, EDGE, FAINT, Font, INK, PAPER, SOFT, int, text_width};
use legend::Legend;

pub use canvas::escaped;
pub use dark::dark_style;

use super::fabric::fabric;
use super::{Options, layout, network};
use crate::graph::{NodeId, NodeKind, Topology};

const MARGIN: i32 = 40;
const NARROWEST: i32 = 640;
const TITLE: Font = Font::bold(240, INK);
const SUBTITLE: Font = Font::plain(130, SOFT);
const FOOTER: Font = Font::plain(105, FAINT);
const READING: &str =
    "Rates are per direction, after line encoding. Line width grows with the logarithm of the rate.";

/// A drawing and how large it is.
struct Picture {
    canvas: Canvas,
    width: i32,
    height: i32,
}

/// Draws a topology as SVG: one host in full, several as tiles, clusters by groups of hosts.
pub fn svg(topology: &Topology, options: &Options<'_>) -> String {
    let hosts = layout::by_host(topology);
    let mut legend = Legend::default();
    let picture = match (hosts.as_slice(), network::network(topology)) {
        ([], _) => Picture { canvas: Canvas::default(), width: 0, height: 0 },
        ([nodes], _) => host::draw(topology, options, nodes, &mut legend),
        (hosts, Some(network)) => cluster::draw(topology, options, hosts, &network, &mut legend),
        (hosts, None) => {
            let joined = fabric(topology, &rack_switches(topology));
            rack::draw(topology, options, hosts, &joined, &mut legend)
        }
    };
    frame(topology, options, &picture, legend)
}

/// Puts title, legend and footer round the picture.
fn frame(topology: &Topology, options: &Options<'_>, picture: &Picture, legend: Legend) -> String {
    let parts = subtitle(topology, options);
    let wanted = NARROWEST.max(text_width(options.title, TITLE)).max(text_width(READING, FOOTER));
    let inner = picture.width.max(wanted);
    let mut canvas = Canvas::default();
    let mut y = MARGIN;
    if !options.title.is_empty() {
        canvas.text((MARGIN, y + 20), Anchor::Start, TITLE, options.title);
        y += 32;
    }
    for line in lines(&parts, inner) {
        canvas.text((MARGIN, y + 13), Anchor::Start, SUBTITLE, &line);
        y += 19;
    }
    y += 22;
    canvas.place(&picture.canvas, (MARGIN + (inner - picture.width) / 2, y));
    y += picture.height + 26;
    canvas.line((MARGIN, y), (MARGIN + inner, y), EDGE, 10, "");
    y += 16;
    y += legend.draw(&mut canvas, (MARGIN, y), inner) + 8;
    canvas.text((MARGIN, y + 8), Anchor::Start, FOOTER, READING);
    y += 8;
    let (width, height) = (inner + 2 * MARGIN, y + MARGIN - 12);
    let mut page = Canvas::default();
    page.panel(Area::new(1, 1, width - 2, height - 2), 14, PAPER, EDGE, "");
    page.place(&canvas, (0, 0));
    let title = if options.title.is_empty() { "Topology" } else { options.title };
    page.finish(width, height, title)
}

/// What is in the machine, most important first.
fn subtitle(topology: &Topology, options: &Options<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    if topology.hosts() > 1 {
        parts.push(format!("{} hosts", super::thousands(topology.hosts() as usize)));
    }
    parts.extend(racks(topology));
    for kind in [
        NodeKind::Gpu,
        NodeKind::Nic,
        NodeKind::Cpu,
        NodeKind::PcieSwitch,
        NodeKind::GpuSwitch,
        NodeKind::NetworkSwitch,
    ] {
        parts.extend(options.inventory(topology, kind));
    }
    let separate = crate::separate(topology);
    parts.extend(separate.map(|separate| format!("{}, not joined to each other", separate.words())));
    parts
}

/// `16 GPU fabrics of 72 GPUs, 900 GB/s per GPU`, where several hosts share one and there are several.
fn racks(topology: &Topology) -> Option<String> {
    let fabric = fabric(topology, &rack_switches(topology));
    let first = fabric.banks.first().filter(|_| fabric.banks.len() > 1)?;
    let count = super::thousands(fabric.banks.len());
    Some(format!("{count} GPU fabrics of {} GPUs, {} per GPU", first.gpus.len(), first.tie.rate))
}

fn rack_switches(topology: &Topology) -> Vec<NodeId> {
    topology.of_kind(NodeKind::GpuSwitch).filter(|node| topology.node(*node).host.is_none()).collect()
}

/// Joins the parts into lines of at most `width`.
fn lines(parts: &[String], width: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let joined = lines.last().map(|line| format!("{line}  ·  {part}"));
        match joined.filter(|line| text_width(line, SUBTITLE) <= width) {
            Some(line) => {
                lines.pop();
                lines.push(line);
            }
            None => lines.push(part.clone()),
        }
    }
    lines.iter().map(|line| canvas::fit(line, width.max(int(40)), SUBTITLE)).collect()
}
