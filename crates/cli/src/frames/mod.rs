//! What `weft frames` prints.

use std::fmt::Write as _;

use weft_catalogue::Catalogue;
use weft_predictor::frames::{FrameAsk, FrameMode, FrameRate, FrameWay, FrameWays, Picture};

use crate::style::{Tone, heading};
use crate::table::{Cell, Table};

/// What was asked, and what was found.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// The machine in words.
    pub machine: &'a str,
    /// What was asked.
    pub ask: &'a FrameAsk,
    /// The links between the cards.
    pub ways: &'a FrameWays,
    /// How pictures come, where it is known how long a frame takes.
    pub rate: Option<&'a FrameRate>,
    /// For other links beside them.
    pub catalogue: &'a Catalogue,
}

/// Links that are shown beside that of the machine: kind, lanes or links.
const LINKS: [(&str, u16); 10] = [
    ("crossfire", 1),
    ("sli", 1),
    ("sli-led", 1),
    ("sli-hb", 1),
    ("pcie2", 8),
    ("pcie3", 8),
    ("pcie3", 16),
    ("pcie4", 16),
    ("nvlink2", 1),
    ("nvlink2", 2),
];

/// Sizes of screens.
pub const SIZES: [(u32, u32); 6] =
    [(1920, 1080), (2560, 1440), (2560, 1600), (3840, 2160), (5120, 2880), (7680, 4320)];

impl Shown<'_> {
    /// All links of the table, that of the machine first.
    pub fn links(&self) -> Vec<FrameWay> {
        let known = LINKS.into_iter().filter_map(|(name, count)| {
            self.catalogue.link(name).ok().map(|kind| FrameWay::of_kind(kind, count))
        });
        std::iter::once(self.ways.frames.clone())
            .chain(known.filter(|way| way.title != self.ways.frames.title))
            .collect()
    }

    /// Bytes/s that pictures put on the link at the screen's rate.
    pub fn load_gbps(&self) -> f64 {
        self.ways.frames.frame_bytes(self.ask.picture, self.ask.gpus) * self.ask.refresh_hertz / 1e9
    }
}

/// `afr`, `sfr`.
pub fn word(mode: FrameMode) -> &'static str {
    match mode {
        FrameMode::Alternate => "afr",
        FrameMode::Split => "sfr",
    }
}

/// The whole answer.
pub fn text(shown: &Shown<'_>) -> String {
    let ask = shown.ask;
    let how = match ask.mode {
        FrameMode::Alternate => "whole frames in turn",
        FrameMode::Split => "a part of each frame",
    };
    let head = format!(
        "{} over {}: {how}, {} at {} Hz\n",
        heading(format!("Frames of {}x{}", ask.picture.width, ask.picture.height)),
        shown.machine,
        ask.picture.format.word(),
        ask.refresh_hertz
    );
    let mut sections = vec![head, link(shown)];
    if let Some(rate) = shown.rate {
        sections.push(pictures(ask, rate));
    }
    sections.push(table(shown));
    sections.join("\n")
}

fn link(shown: &Shown<'_>) -> String {
    let (way, ask) = (&shown.ways.frames, shown.ask);
    let how = match (way.is_display, way.is_staged) {
        (true, _) => "the other card's pixels, while they are shown",
        (false, true) => "surfaces, through the host's memory: the cards are no peers",
        (false, false) => "surfaces, to the card with the screen",
    };
    let bytes = way.frame_bytes(ask.picture, ask.gpus);
    let load = shown.load_gbps();
    let mut text = format!("{} {}, {:.2} GB/s: {how}\n", heading("Link"), way.title, way.rate_gbps);
    let _ = writeln!(
        text,
        "  {:.1} MB a frame, {load:.2} GB/s at {} Hz: {:.0} % of the link",
        bytes / 1e6,
        ask.refresh_hertz,
        100.0 * load / way.rate_gbps
    );
    let most = way.most_hz(ask.picture, ask.gpus);
    let verdict = if most < ask.refresh_hertz {
        "too little for this screen at its full rate"
    } else {
        "enough for this screen"
    };
    let _ = writeln!(text, "  it carries up to {} Hz: {verdict}", hertz(most));
    text
}

fn pictures(ask: &FrameAsk, rate: &FrameRate) -> String {
    let mut text = format!(
        "{} {} Hz with {} cards, {} Hz with one: {:.2} times\n",
        heading("Pictures"),
        hertz(rate.rate_hertz),
        ask.gpus,
        hertz(rate.alone_hertz),
        rate.scaling()
    );
    let _ = writeln!(text, "  bound by {}", rate.bound_by);
    let _ = writeln!(
        text,
        "  {:.1} ms from the begin of a frame to the screen, {:.1} ms with one card; {:.1} frames are on their way",
        1e3 * rate.latency_s,
        1e3 * rate.alone_latency_s,
        rate.latency_frames()
    );
    text
}

fn table(shown: &Shown<'_>) -> String {
    let mut table = Table::default();
    let faint = |text: String| Cell::number(text).tone(Tone::Faint);
    let sizes = SIZES.iter().map(|(width, height)| faint(format!("{width}x{height}")));
    table.row(std::iter::once(Cell::new("")).chain(sizes).collect::<Vec<_>>());
    for way in shown.links() {
        let cells = SIZES.iter().map(|(width, height)| {
            let picture = Picture { width: *width, height: *height, ..shown.ask.picture };
            let most = way.most_hz(picture, shown.ask.gpus);
            let tone = if most < shown.ask.refresh_hertz { Tone::Faint } else { Tone::Heading };
            Cell::number(hertz(most)).tone(tone)
        });
        table.row(std::iter::once(Cell::new(way.title.clone())).chain(cells).collect::<Vec<_>>());
    }
    format!("{}\n{}", heading("Highest refresh rate that links carry, in Hz"), table.lines())
}

fn hertz(hertz: f64) -> String {
    if hertz < 100.0 { format!("{hertz:.1}") } else { format!("{hertz:.0}") }
}
