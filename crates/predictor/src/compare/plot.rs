//! Bandwidth over size as a picture: measured points on the expected line, its interval, and the bound.

use std::fmt::Write as _;

use weft_base::{Bytes, Rate};

use super::measured::{Comparison, Point};
use super::verdict::Verdict;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Left, right, top and bottom of the area that is drawn in.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 56.0;

/// All comparisons below each other, as SVG; `title` names the machine.
pub fn plot(comparisons: &[Comparison], title: &str) -> String {
    let count = u32::try_from(comparisons.len().max(1)).unwrap_or(u32::MAX);
    let height = HEIGHT * f64::from(count);
    // Writing to a string cannot fail, here and below.
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (index, comparison) in comparisons.iter().enumerate() {
        let down = HEIGHT * f64::from(u32::try_from(index).unwrap_or(u32::MAX));
        let _ = writeln!(text, "<g transform=\"translate(0 {down})\">");
        panel(&mut text, comparison, title);
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    text
}

/// From sizes and rates to places.
struct Axes {
    bytes: (f64, f64),
    rate: (f64, f64),
}

impl Axes {
    fn of(comparison: &Comparison) -> Self {
        let sizes = || comparison.points.iter().map(|point| point.bytes.as_f64());
        let rates = comparison.points.iter().flat_map(|point| {
            let (low, high) = interval(point, comparison);
            [low, high, point.busbw.as_gigabytes()]
        });
        let positive = || {
            rates.clone().chain([comparison.prediction.bound.busbw.as_gigabytes()]).filter(|rate| *rate > 0.0)
        };
        let least = positive().fold(f64::INFINITY, f64::min);
        let most = positive().fold(0.0, f64::max);
        let decade = |rate: f64, up: f64| libm::pow(10.0, (libm::log10(rate) + up).floor());
        Self {
            bytes: (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max)),
            // Whole decades, so that the ticks stand at the ends.
            rate: (decade(least, 0.0), decade(most, 0.999_999)),
        }
    }

    fn x(&self, bytes: f64) -> f64 {
        let span = libm::log(self.bytes.1 / self.bytes.0).max(1e-9);
        LEFT + (WIDTH - LEFT - RIGHT) * libm::log(bytes / self.bytes.0) / span
    }

    fn y(&self, rate: f64) -> f64 {
        let span = libm::log(self.rate.1 / self.rate.0).max(1e-9);
        let share = libm::log(rate.max(self.rate.0) / self.rate.0) / span;
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }
}

/// The slowest and the quickest of nine of ten runs, in GB/s.
fn interval(point: &Point, comparison: &Comparison) -> (f64, f64) {
    let factor = comparison.collective.bus_factor(comparison.ranks);
    let rate = |seconds: f64| if seconds > 0.0 { point.bytes.as_f64() * factor / seconds / 1e9 } else { 0.0 };
    (rate(point.expected.high.as_seconds()), rate(point.expected.low.as_seconds()))
}

fn panel(text: &mut String, comparison: &Comparison, title: &str) {
    let axes = Axes::of(comparison);
    let name = format!("{} over {} GPUs", comparison.collective.name(), comparison.ranks);
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"600\" fill=\"#1a1a1a\">{}</text>",
        escaped(&format!("{name}: {title}"))
    );
    legend(text);
    grid(text, &axes, comparison);
    let band: Vec<(f64, (f64, f64))> =
        comparison.points.iter().map(|point| (point.bytes.as_f64(), interval(point, comparison))).collect();
    let there = band.iter().map(|(bytes, (_, high))| (axes.x(*bytes), axes.y(*high)));
    let back = band.iter().rev().map(|(bytes, (low, _))| (axes.x(*bytes), axes.y(*low)));
    let _ = writeln!(
        text,
        "<polygon points=\"{}\" fill=\"#4a7fb5\" fill-opacity=\"0.18\"/>",
        places(there.chain(back))
    );
    let line = comparison
        .points
        .iter()
        .map(|point| (axes.x(point.bytes.as_f64()), axes.y(point.expected.busbw.as_gigabytes())));
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#2b5f94\" stroke-width=\"1.8\"/>",
        places(line)
    );
    bound(text, &axes, comparison.prediction.bound.busbw);
    for point in &comparison.points {
        let (x, y) = (axes.x(point.bytes.as_f64()), axes.y(point.busbw.as_gigabytes()));
        let _ = writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{}\" stroke=\"#ffffff\"><title>{}: measured {}, \
             expected {}, {}</title></circle>",
            colour(point.verdict),
            point.bytes,
            point.busbw,
            point.expected.busbw,
            point.verdict.of_rate()
        );
    }
}

fn places(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::AsExpected => "#2e7d32",
        Verdict::Low => "#c62828",
        Verdict::High => "#7b5ea7",
        Verdict::TooGood => "#e07b00",
    }
}

fn bound(text: &mut String, axes: &Axes, most: Rate) {
    let (y, left, right) = (axes.y(most.as_gigabytes()), LEFT, WIDTH - RIGHT);
    let _ = writeln!(
        text,
        "<line x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#444444\" stroke-dasharray=\"6 4\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#444444\">at most {most}</text>",
        left + 8.0,
        y - 5.0
    );
}

fn legend(text: &mut String) {
    let mut x = LEFT;
    let mut word = |mark: &str, word: &str, width: f64| {
        let _ = writeln!(
            text,
            "<g transform=\"translate({x} 44)\">{mark}<text x=\"16\" y=\"0\" fill=\"#333333\">{word}</text></g>"
        );
        x += width;
    };
    let dot = |verdict| format!("<circle cx=\"6\" cy=\"-4\" r=\"4\" fill=\"{}\"/>", colour(verdict));
    word(&dot(Verdict::AsExpected), "as expected", 100.0);
    word(&dot(Verdict::Low), "low", 52.0);
    word(&dot(Verdict::High), "better", 68.0);
    word(&dot(Verdict::TooGood), "beyond the bound", 144.0);
    let line = "<line x1=\"0\" x2=\"12\" y1=\"-4\" y2=\"-4\" stroke=\"#2b5f94\" stroke-width=\"1.8\"/>";
    word(line, "expected", 84.0);
    word(
        "<rect x=\"0\" y=\"-10\" width=\"12\" height=\"11\" fill=\"#4a7fb5\" fill-opacity=\"0.25\"/>",
        "9 of 10 runs",
        0.0,
    );
}

fn grid(text: &mut String, axes: &Axes, comparison: &Comparison) {
    let (right, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut rate = axes.rate.0;
    while rate <= axes.rate.1 * 1.000_001 {
        let y = axes.y(rate);
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e3e3e3\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555555\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            Rate::from_gigabytes(rate)
        );
        rate *= 10.0;
    }
    // At most eight labels, at sizes that were measured.
    let step = comparison.points.len().div_ceil(8).max(1);
    for point in comparison.points.iter().step_by(step) {
        let x = axes.x(point.bytes.as_f64());
        let _ = writeln!(
            text,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{floor}\" stroke=\"#efefef\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\">{}</text>",
            floor + 18.0,
            size(point.bytes)
        );
    }
    let _ = writeln!(
        text,
        "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{floor}\" y2=\"{floor}\" stroke=\"#888888\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#333333\">message size</text>\n\
         <text x=\"16\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#333333\" transform=\"rotate(-90 16 {0:.1})\">busbw</text>",
        f64::midpoint(LEFT, right),
        HEIGHT - 14.0,
        f64::midpoint(TOP, floor)
    );
}

fn size(bytes: Bytes) -> String {
    bytes.to_string()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
