//! The few shapes that a drawing is made of, in whole pixels, and how wide text is.

use std::fmt::Write;

use weft_base::Rate;
use weft_catalogue::LinkFamily;

/// Text and lines, dark to light; then surfaces.
pub(super) const INK: &str = "#18212F";
pub(super) const SOFT: &str = "#5A6678";
pub(super) const FAINT: &str = "#8C97A8";
pub(super) const EDGE: &str = "#C9D1DC";
pub(super) const PANEL: &str = "#F4F6F9";
pub(super) const PAPER: &str = "#FFFFFF";

/// The colour of a family's links, and a tint of it for surfaces.
pub(super) fn colours(family: LinkFamily) -> (&'static str, &'static str) {
    match family {
        LinkFamily::GpuFabric => ("#3F8F2F", "#EAF4E6"),
        LinkFamily::Coherent => ("#0E8C8C", "#E1F2F2"),
        LinkFamily::Pcie => ("#2F6DB5", "#E6EEF8"),
        LinkFamily::Socket => ("#D9822B", "#FBF0E3"),
        LinkFamily::Network => ("#7A4FB5", "#F0EAF8"),
        LinkFamily::DisplayBridge => ("#C2457D", "#F9E8F0"),
        LinkFamily::Memory | LinkFamily::OnPackage => ("#8C97A8", "#EDF0F4"),
    }
}

/// A rectangle in whole pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

impl Area {
    pub const fn new(x: i32, y: i32, width: i32, height: i32) -> Self {
        Self { x, y, width, height }
    }

    pub const fn right(self) -> i32 {
        self.x + self.width
    }

    pub const fn bottom(self) -> i32 {
        self.y + self.height
    }

    pub const fn centre(self) -> i32 {
        self.x + self.width / 2
    }
}

/// Where text stands to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
}

/// A way of setting text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Font {
    /// In tenths of a pixel.
    pub size: i32,
    pub bold: bool,
    pub colour: &'static str,
}

impl Font {
    pub const fn plain(size: i32, colour: &'static str) -> Self {
        Self { size, bold: false, colour }
    }

    pub const fn bold(size: i32, colour: &'static str) -> Self {
        Self { size, bold: true, colour }
    }
}

/// Collects shapes in drawing order.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    /// A box with a fill, an outline and a tooltip; empty `title` for none.
    pub fn panel(&mut self, area: Area, radius: i32, fill: &str, stroke: &str, title: &str) {
        let Area { x, y, width, height } = area;
        let shape = format!(
            "rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\" \
             fill=\"{fill}\" stroke=\"{stroke}\""
        );
        self.shape("rect", &shape, title);
    }

    /// A straight line; `width` in tenths of a pixel.
    pub fn line(
        &mut self,
        (x1, y1): (i32, i32),
        (x2, y2): (i32, i32),
        colour: &str,
        width: i32,
        title: &str,
    ) {
        let shape = format!(
            "line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\" stroke-width=\"{}\"",
            tenths(width)
        );
        self.shape("line", &shape, title);
    }

    /// An open path, dashed for what carries no data.
    pub fn path(&mut self, way: &str, colour: &str, width: i32, dashed: bool, title: &str) {
        let dash = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let shape = format!(
            "path d=\"{way}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"{dash}",
            tenths(width)
        );
        self.shape("path", &shape, title);
    }

    fn shape(&mut self, name: &str, shape: &str, title: &str) {
        if title.is_empty() {
            self.push(&format!("<{shape}/>"));
        } else {
            self.push(&format!("<{shape}><title>{}</title></{name}>", escaped(title)));
        }
    }

    /// Text on the baseline `y`.
    pub fn text(&mut self, (x, y): (i32, i32), anchor: Anchor, font: Font, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
        };
        let weight = if font.bold { " font-weight=\"600\"" } else { "" };
        let (size, colour) = (tenths(font.size), font.colour);
        self.push(&format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"{weight}{anchor}>{}</text>",
            escaped(text)
        ));
    }

    /// A name and below it a note of one or two lines, centred in a box.
    pub fn label(&mut self, area: Area, (name, name_font): (&str, Font), (note, note_font): (&str, Font)) {
        let lines = wrap(note, area.width - 8, note_font);
        let step = note_font.size * 12 / 100;
        // From the top of a capital of the name to the last baseline.
        let gap = if lines.is_empty() { 0 } else { step + 4 };
        let block = name_font.size * 7 / 100 + gap + step * (int(lines.len()) - 1).max(0);
        let mut y = area.y + (area.height - block) / 2 + name_font.size * 7 / 100;
        let name = fit(name, area.width - 6, name_font);
        self.text((area.centre(), y), Anchor::Middle, name_font, &name);
        y += gap;
        for line in &lines {
            self.text((area.centre(), y), Anchor::Middle, note_font, line);
            y += step;
        }
    }

    /// The shapes moved by (`x`, `y`), as one group.
    pub fn place(&mut self, other: &Self, (x, y): (i32, i32)) {
        self.push(&format!("<g transform=\"translate({x} {y})\">\n{}</g>", other.body));
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// The document.
    pub fn finish(self, width: i32, height: i32, title: &str) -> String {
        let mut svg = String::with_capacity(self.body.len() + 1024);
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"Helvetica, Arial, sans-serif\">\n<title>{}</title>",
            escaped(title)
        );
        svg.push_str(&self.body);
        svg.push_str("</svg>\n");
        svg
    }
}

/// How wide a line is drawn, in tenths of a pixel: 1 for 8 GB/s and less, 0.6 more with each doubling.
pub(super) fn stroke(rate: Rate) -> i32 {
    let eights = rate.get() / 7_812_500;
    let whole = i32::try_from(eights.checked_ilog2().unwrap_or(0)).unwrap_or(0);
    let part = i32::try_from(eights * 6 / (1 << whole)).unwrap_or(6) - 6;
    // 1024ths of 8 GB/s: ten doublings below it.
    (10 + (whole - 10) * 6 + part).clamp(10, 110)
}

/// The lighter shade for the narrower of two bundles of one kind.
pub(super) fn lighter(family: LinkFamily) -> &'static str {
    match family {
        LinkFamily::GpuFabric => "#93C786",
        LinkFamily::DisplayBridge => "#E29BBB",
        LinkFamily::Coherent
        | LinkFamily::Pcie
        | LinkFamily::Socket
        | LinkFamily::Network
        | LinkFamily::Memory
        | LinkFamily::OnPackage => colours(family).0,
    }
}

fn tenths(value: i32) -> String {
    if value % 10 == 0 { (value / 10).to_string() } else { format!("{}.{}", value / 10, value % 10) }
}

/// `text` as it stands in XML and HTML, between tags and in quotes.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // Controls are not allowed in XML, not even as references.
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// An upper estimate of a text's width in pixels, from the widths of a wide sans-serif face.
pub(super) fn text_width(text: &str, font: Font) -> i32 {
    let per_mille: i32 = text
        .chars()
        .map(|character| match character {
            'i' | 'j' | 'l' | '|' | '\'' => 280,
            ' ' | '.' | ',' | ':' | '·' | 'f' | 't' | 'r' | '(' | ')' | '/' | '-' | 'I' => 370,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 900,
            'A'..='Z' | '×' | '…' => 690,
            _ => 600,
        })
        .sum();
    let bold = if font.bold { 110 } else { 100 };
    per_mille * font.size / 1000 * bold / 1000 + 1
}

/// One line, or two of nearly equal width broken at a blank; what does not fit ends in an ellipsis.
fn wrap(text: &str, width: i32, font: Font) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let broken = text.match_indices(' ').map(|(blank, _)| (&text[..blank], &text[blank + 1..]));
    let widest = |(a, b): &(&str, &str)| text_width(a, font).max(text_width(b, font));
    let best = broken.min_by_key(widest).filter(|_| text_width(text, font) > width);
    let lines = best.map_or(vec![text], |(a, b)| vec![a, b]);
    lines.into_iter().map(|line| fit(line, width, font)).collect()
}

/// The text, cut with an ellipsis where it is wider than `width`.
pub(super) fn fit(text: &str, width: i32, font: Font) -> String {
    if text_width(text, font) <= width {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let cut: String = kept.iter().collect::<String>().trim_end().to_owned() + "…";
        if text_width(&cut, font) <= width {
            return cut;
        }
    }
    String::new()
}

/// A count as pixels.
pub(super) fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_grow_with_each_doubling() {
        let width = |text: &str| stroke(text.parse().unwrap());
        assert_eq!(width("64 GB/s") - width("32 GB/s"), 6);
        assert_eq!(width("900 GB/s") - width("450 GB/s"), 6);
        assert!(width("1 B/s") >= 10 && width("100000 GB/s") <= 110);
    }

    #[test]
    fn text_that_does_not_fit_is_wrapped_and_then_cut() {
        let font = Font::plain(100, INK);
        assert_eq!(wrap("ConnectX-6 VPI HDR", 70, font), ["ConnectX-6", "VPI HDR"]);
        assert_eq!(fit("unbreakable-long-name", 60, font), "unbreakab…");
        assert_eq!(escaped("a<b & \"c\"\u{1}"), "a&lt;b &amp; &quot;c&quot; ");
    }
}
