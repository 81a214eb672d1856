//! Several hosts as tiles, round the switches that join their GPUs if there are any.

use super::Picture;
use super::canvas::{Anchor, Area, Canvas, Font, INK, PAPER, SOFT, colours, int, stroke};
use super::legend::Legend;
use super::tile::{Tile, stack};
use crate::draw::fabric::{Bank, Fabric};
use crate::draw::{Options, bundle, local_name, thousands};
use crate::graph::{NodeId, Topology};

/// Between tiles, and from tiles to the bar.
const SPACE: (i32, i32) = (24, 46);
const BAR: i32 = 64;
const WIDEST: i32 = 1580;
/// Hosts that nothing joins, drawn one by one; of more the first stands for all.
const MOST_TILES: usize = 32;
/// Racks drawn of a row of them; the others are counted.
const MOST_RACKS: usize = 4;

const TITLE: Font = Font::bold(150, INK);
const DETAIL: Font = Font::plain(120, SOFT);

/// Draws all hosts; `rack` is what joins GPUs of several hosts.
pub(super) fn draw(
    topology: &Topology,
    options: &Options<'_>,
    hosts: &[Vec<NodeId>],
    rack: &Fabric,
    legend: &mut Legend,
) -> Picture {
    match rack.banks.as_slice() {
        [] if hosts.len() > MOST_TILES => {
            let Tile { canvas, width, height, .. } = stack(topology, &hosts[0], hosts.len(), false, legend);
            Picture { canvas, width, height }
        }
        [] => grid(topology, hosts, legend),
        [bank] => round_a_bar(topology, options, hosts, bank, legend),
        banks => racks(topology, options, hosts, banks, legend),
    }
}

/// Tiles in rows.
fn grid(topology: &Topology, hosts: &[Vec<NodeId>], legend: &mut Legend) -> Picture {
    let tiles: Vec<Tile> = hosts.iter().map(|nodes| Tile::of(topology, nodes, false, legend)).collect();
    let (width, height) = largest(&tiles);
    let columns = int(columns(tiles.len(), width));
    let mut canvas = Canvas::default();
    for (tile, index) in tiles.iter().zip(0..) {
        let point = (index % columns * (width + SPACE.0), index / columns * (height + SPACE.0));
        canvas.place(&tile.canvas, point);
    }
    let rows = (int(tiles.len()) + columns - 1) / columns;
    Picture {
        canvas,
        width: columns * (width + SPACE.0) - SPACE.0,
        height: rows * (height + SPACE.0) - SPACE.0,
    }
}

/// Rows of tiles above and below the switches, as in the rack itself.
fn round_a_bar(
    topology: &Topology,
    options: &Options<'_>,
    hosts: &[Vec<NodeId>],
    bank: &Bank,
    legend: &mut Legend,
) -> Picture {
    // Above the bar GPUs face down. All hosts of a rack are alike: the first says how large a tile is.
    let sample: Vec<Tile> =
        hosts.iter().take(1).map(|nodes| Tile::of(topology, nodes, true, legend)).collect();
    let (width, height) = largest(&sample);
    let columns = columns(hosts.len(), width);
    let rows = hosts.len().div_ceil(columns);
    let upper = rows.div_ceil(2);
    let (step, whole) = (height + SPACE.0, int(columns) * (width + SPACE.0) - SPACE.0);
    // Links from outer rows come down beside the tiles.
    let aside = if rows > 2 { SPACE.0 } else { 0 };
    let bar = Area::new(0, int(upper) * step - SPACE.0 + SPACE.1, whole + aside, BAR);
    let lower_y = bar.bottom() + SPACE.1;
    let (mut lines, mut boxes) = (Canvas::default(), Canvas::default());
    for (index, nodes) in hosts.iter().enumerate() {
        let (column, row) = (int(index % columns), index / columns);
        let tile = Tile::of(topology, nodes, row < upper, legend);
        let y = if row < upper { int(row) * step } else { lower_y + int(row - upper) * step };
        let x = column * (width + SPACE.0);
        boxes.place(&tile.canvas, (x, y));
        let end = if row < upper { bar.y } else { bar.bottom() };
        let next_to_bar = row + 1 == upper || row == upper;
        tile.tie_to(topology, bank.tie, (x, y), end, !next_to_bar, &mut lines);
    }
    legend.note(topology, bank.tie, "per GPU");
    rack_bar(topology, options, &mut boxes, bank, bar);
    let mut canvas = lines;
    canvas.place(&boxes, (0, 0));
    Picture { canvas, width: bar.width, height: lower_y + int(rows - upper) * step - SPACE.0 }
}

/// As many tiles in a row as fit, or somewhat fewer where that fills every row.
fn columns(tiles: usize, width: i32) -> usize {
    let most = usize::try_from(WIDEST / (width + SPACE.0)).unwrap_or(1).clamp(1, tiles.max(1));
    (most.div_ceil(2)..=most).rev().find(|columns| tiles.is_multiple_of(*columns)).unwrap_or(most)
}

fn largest(tiles: &[Tile]) -> (i32, i32) {
    let width = tiles.iter().map(|tile| tile.width).max().unwrap_or(1);
    (width, tiles.iter().map(|tile| tile.height).max().unwrap_or(1))
}

/// The bar of a rack's switches: what they are, and each chip.
fn rack_bar(topology: &Topology, options: &Options<'_>, canvas: &mut Canvas, bank: &Bank, bar: Area) {
    let kind = topology.kind(bank.tie.kind);
    let (colour, tint) = colours(kind.family);
    let model = bank.switches.first().and_then(|switch| options.model(topology, *switch));
    let model = model.unwrap_or_else(|| "GPU switch".to_owned());
    let title = format!("{} × {model}", bank.switches.len());
    canvas.panel(bar, 10, tint, colour, &title);
    let each = match bank.per_switch {
        (1, 1) => "one to each chip".to_owned(),
        (few, many) if few == many => format!("{few} to each chip"),
        (few, many) => format!("{few} or {many} to each chip"),
    };
    let detail = format!(
        "{} from each of {} GPUs, {each}: {} per GPU",
        bundle(kind, bank.tie.count),
        bank.gpus.len(),
        bank.tie.rate
    );
    canvas.text((bar.x + 20, bar.y + 28), Anchor::Start, TITLE, &title);
    canvas.text((bar.x + 20, bar.y + 47), Anchor::Start, DETAIL, &detail);
    let (chip, step) = (28, 34);
    let chips = int(bank.switches.len()) * step - (step - chip);
    if chips + 560 > bar.width {
        return;
    }
    for (switch, index) in bank.switches.iter().zip(0..) {
        let x = bar.right() - 20 - chips + index * step;
        let area = Area::new(x, bar.y + (bar.height - chip) / 2, chip, chip);
        canvas.panel(area, 5, PAPER, colour, &local_name(topology, *switch));
        let number = topology.node(*switch).number.to_string();
        canvas.text((area.centre(), area.y + 18), Anchor::Middle, Font::plain(100, SOFT), &number);
    }
}

/// Several racks: one host of each stands for its others.
fn racks(
    topology: &Topology,
    options: &Options<'_>,
    hosts: &[Vec<NodeId>],
    banks: &[Bank],
    legend: &mut Legend,
) -> Picture {
    let (mut canvas, mut x, mut bottom) = (Canvas::default(), 0, 0);
    for bank in banks.iter().take(MOST_RACKS) {
        let first = bank.gpus.first().and_then(|gpu| topology.node(*gpu).host).unwrap_or(0) as usize;
        let last = bank.gpus.last().and_then(|gpu| topology.node(*gpu).host).unwrap_or(0) as usize;
        let card = stack(topology, &hosts[first], last - first + 1, false, legend);
        let width = card.width.max(330);
        let bar = Area::new(x, 0, width, BAR);
        let kind = topology.kind(bank.tie.kind);
        let left = x + (width - card.width) / 2;
        for (_, port) in &card.gpus {
            let from = (left + port.0, BAR + SPACE.1 + port.1);
            canvas.line(from, (from.0, BAR), colours(kind.family).0, stroke(bank.tie.rate), "");
        }
        let (colour, tint) = colours(kind.family);
        let model = bank.switches.first().and_then(|switch| options.short_model(topology, *switch));
        let title = format!("{} × {}", bank.switches.len(), model.unwrap_or_else(|| "GPU switch".to_owned()));
        canvas.panel(bar, 10, tint, colour, &title);
        canvas.text((x + 18, 28), Anchor::Start, TITLE, &title);
        let detail = format!("joins {} GPUs, {} each", bank.gpus.len(), bank.tie.rate);
        canvas.text((x + 18, 47), Anchor::Start, DETAIL, &detail);
        canvas.place(&card.canvas, (left, BAR + SPACE.1));
        legend.note(topology, bank.tie, "per GPU");
        bottom = bottom.max(BAR + SPACE.1 + card.height);
        x += width + 2 * SPACE.0;
    }
    let more = banks.len().saturating_sub(MOST_RACKS);
    if more > 0 {
        let text = format!("and {} more", thousands(more));
        canvas.text((x, BAR / 2 + 5), Anchor::Start, DETAIL, &text);
        x += 140;
    }
    Picture { canvas, width: x - 2 * SPACE.0, height: bottom }
}
