//! What the lines of a drawing mean: each kind and width with its rate per direction.

use weft_catalogue::LinkFamily;

use super::canvas::{Anchor, Canvas, Font, INK, SOFT, colours, int, lighter, stroke, text_width};
use crate::draw::bundle;
use crate::draw::fabric::Tie;
use crate::graph::Topology;

const NAME: Font = Font::bold(115, INK);
const RATE: Font = Font::plain(110, SOFT);
const SWATCH: i32 = 34;
const ROW: i32 = 36;
const GUTTER: i32 = 34;

/// Collects what was drawn, once each.
#[derive(Debug, Default)]
pub(super) struct Legend {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    family: LinkFamily,
    /// Widest first within a family.
    order: std::cmp::Reverse<u64>,
    name: String,
    note: String,
    lesser: bool,
}

impl Legend {
    /// Notes that links like `tie` were drawn; `what` says of what, as in `per GPU`.
    pub fn note(&mut self, topology: &Topology, tie: Tie, what: &str) {
        self.note_shade(topology, tie, what, false);
    }

    /// The same, `lesser` for those drawn in the lighter shade.
    pub fn note_shade(&mut self, topology: &Topology, tie: Tie, what: &str, lesser: bool) {
        let kind = topology.kind(tie.kind);
        let space = if what.is_empty() { "" } else { " " };
        let frames = kind.family == LinkFamily::DisplayBridge;
        let note =
            if frames { format!("{}, frames only", tie.rate) } else { format!("{}{space}{what}", tie.rate) };
        let order = std::cmp::Reverse(tie.rate.get());
        let entry = Entry { family: kind.family, order, name: bundle(kind, tie.count), note, lesser };
        if !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }

    /// Draws the entries in columns no wider than `width`; returns the height used.
    pub fn draw(mut self, canvas: &mut Canvas, (x, y): (i32, i32), width: i32) -> i32 {
        self.entries.sort();
        let columns = self.columns(width);
        let mut rows = 0;
        for (index, entry) in self.entries.iter().enumerate() {
            let (column, row) = (index % columns.len(), int(index / columns.len()));
            let before = columns[..column].iter().map(|width| width + GUTTER).sum::<i32>();
            let (left, top) = (x + before, y + row * ROW);
            let rate = weft_base::Rate::bytes_per_second(entry.order.0);
            let width = stroke(rate);
            let colour = if entry.lesser { lighter(entry.family) } else { colours(entry.family).0 };
            let dashed = entry.family == LinkFamily::DisplayBridge;
            let way = format!("M{left} {} h{}", top + 14, SWATCH - 10);
            canvas.path(&way, colour, width, dashed, "");
            canvas.text((left + SWATCH, top + 11), Anchor::Start, NAME, &entry.name);
            canvas.text((left + SWATCH, top + 25), Anchor::Start, RATE, &entry.note);
            rows = row + 1;
        }
        rows * ROW
    }

    /// Widths of as many columns as fit.
    fn columns(&self, width: i32) -> Vec<i32> {
        let widths: Vec<i32> = self.entries.iter().map(Entry::width).collect();
        let of = |count: usize| -> Vec<i32> {
            (0..count)
                .map(|column| widths.iter().skip(column).step_by(count).copied().max().unwrap_or(0))
                .collect()
        };
        let fits = |columns: &Vec<i32>| columns.iter().map(|one| one + GUTTER).sum::<i32>() - GUTTER <= width;
        (1..=widths.len()).rev().map(of).find(fits).unwrap_or_else(|| of(1))
    }
}

impl Entry {
    fn width(&self) -> i32 {
        SWATCH + text_width(&self.name, NAME).max(text_width(&self.note, RATE))
    }
}
