//! The pieces of pictures: shapes as SVG, axes, legends, and the colours that pictures and reports share.

use std::fmt::Write as _;

pub use weft_topology::draw::escaped;

/// Colours by what they stand for, in light, in the dark and on paper.
pub const STYLE: &str = include_str!("picture.css");

/// Where text stands to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// Lengths on the page.
pub type Pixels = f64;

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub x: Pixels,
    pub y: Pixels,
    pub width: Pixels,
    pub height: Pixels,
}

/// Shapes in drawing order. A class says what a shape stands for, `STYLE` how that looks.
#[derive(Debug, Default)]
pub struct Picture {
    body: String,
}

impl Picture {
    /// A filled box; `title` is shown under the pointer, none if it is empty.
    pub fn area(&mut self, class: &str, area: Area, title: &str) {
        self.faded(class, area, 1.0, title);
    }

    /// The same in a lighter shade: 1 is full.
    pub fn faded(&mut self, class: &str, Area { x, y, width, height }: Area, shade_share: f64, title: &str) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height:.1}\""
        );
        if shade_share < 1.0 {
            let _ = write!(self.body, " fill-opacity=\"{shade_share:.2}\"");
        }
        if title.is_empty() {
            self.body.push_str("/>\n");
        } else {
            let _ = writeln!(self.body, "><title>{}</title></rect>", escaped(title));
        }
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = writeln!(
            self.body,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    /// A disc; `title` is shown under the pointer.
    pub fn disc(&mut self, class: &str, (x, y): (f64, f64), radius: Pixels, title: &str) {
        let title = escaped(title);
        let _ = writeln!(
            self.body,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{title}</title></circle>"
        );
    }

    /// A line from each point straight to the next.
    pub fn chain(&mut self, class: &str, points: &[(f64, f64)]) {
        let Some(((x, y), rest)) = points.split_first() else { return };
        let _ = write!(self.body, "<path class=\"{class}\" d=\"M{x:.1} {y:.1}");
        for (x, y) in rest {
            let _ = write!(self.body, "L{x:.1} {y:.1}");
        }
        self.body.push_str("\"/>\n");
    }

    /// A line that keeps its height from each point to the next, and from the last to `end`.
    pub fn steps(&mut self, class: &str, is_dashed: bool, points: &[(f64, f64)], end: Pixels) {
        let Some(((x, y), rest)) = points.split_first() else { return };
        let dash = if is_dashed { " stroke-dasharray=\"4 3\"" } else { "" };
        let _ = write!(self.body, "<path class=\"{class}\"{dash} d=\"M{x:.1} {y:.1}");
        for (x, y) in rest {
            let _ = write!(self.body, "H{x:.1}V{y:.1}");
        }
        let _ = writeln!(self.body, "H{end:.1}\"/>");
    }

    /// Text on the baseline.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let (anchor, text) = (anchor.word(), escaped(text));
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    /// Boxes with what their classes mean, in as many lines as they need; gives the height.
    pub fn legend(&mut self, (left, top): (f64, f64), width: Pixels, entries: &[(&str, &str)]) -> f64 {
        let (mut x, mut y) = (left, top);
        for (class, label) in entries {
            let wide = 18.0 + text_width(label, 11.0) + 18.0;
            if x + wide > left + width && x > left {
                (x, y) = (left, y + 18.0);
            }
            self.area(class, Area { x, y: y + 1.0, width: 11.0, height: 11.0 }, "");
            self.text("", (x + 17.0, y + 10.5), Anchor::Start, label);
            x += wide;
        }
        y + 18.0 - top
    }

    /// The document.
    pub fn finish(&self, width: Pixels, height: Pixels, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weft\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }
}

/// An upper estimate of a text's width in pixels, in a font of that size.
pub fn text_width(text: &str, size: Pixels) -> Pixels {
    let narrow = |c: char| "ijltfr.,:;|'()[] -/".contains(c);
    text.chars().map(|c| if narrow(c) { 0.34 } else { 0.62 }).sum::<f64>() * size
}

/// Round values from 0 to `end`, about as many as asked for.
pub fn ticks(end_value: f64, about: u32) -> Vec<f64> {
    if end_value.is_nan() || end_value <= 0.0 {
        return vec![0.0];
    }
    let raw = end_value / f64::from(about.max(1));
    let power = power_of_ten(raw);
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|round| round * power).find(|step| *step >= raw);
    let step = step.unwrap_or(raw);
    (0..=4 * about.max(1))
        .map(|number| f64::from(number) * step)
        .take_while(|at| *at <= end_value * (1.0 + 1e-9))
        .collect()
}

/// A scale of positive values, which is logarithmic where they lie far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low_value: f64,
    high_value: f64,
    is_logarithmic: bool,
}

impl Scale {
    /// From there on to the highest value over the lowest a scale is logarithmic.
    const FAR: f64 = 4.0;
    /// Of the scale's length, what is left free at each end.
    const MARGIN: f64 = 0.09;

    /// A scale on which all of the values have their place, with a margin; `None` where there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) =
            values.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if !(low > 0.0 && high >= low) {
            return None;
        }
        let is_logarithmic = high > low * Self::FAR;
        if is_logarithmic {
            let margin = libm::pow(high / low, Self::MARGIN);
            return Some(Self { low_value: low / margin, high_value: high * margin, is_logarithmic });
        }
        // Values that hardly differ are not drawn as if they did.
        let margin = ((high - low) * Self::MARGIN).max(0.05 * high);
        let low_value = (low - margin).max(0.0);
        Some(Self { low_value, high_value: high + margin, is_logarithmic })
    }

    /// Where a value is, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let Self { low_value: low, high_value: high, .. } = *self;
        if self.is_logarithmic {
            libm::log(value / low) / libm::log(high / low)
        } else {
            (value - low) / (high - low)
        }
    }

    /// Round values on it, about as many as asked for where it is not logarithmic.
    pub fn ticks(&self, about: u32) -> Vec<f64> {
        let Self { low_value: low, high_value: high, .. } = *self;
        if !self.is_logarithmic {
            let part = (high - low) / high;
            // As dense as the part that is seen asks for, over the whole from 0.
            let all = (1..=400).find(|all| f64::from(*all) * part >= f64::from(about)).unwrap_or(400);
            return ticks(high, all).into_iter().filter(|at| *at >= low && *at > 0.0).collect();
        }
        let mut power = power_of_ten(low);
        let mut values = Vec::new();
        while power <= high {
            let round = [1.0, 2.0, 5.0].into_iter().map(|round| round * power);
            values.extend(round.filter(|at| (low..=high).contains(at)));
            power *= 10.0;
        }
        values
    }
}

/// The power of ten at or below a positive number.
fn power_of_ten(number: f64) -> f64 {
    let mut power = 1.0;
    while power > number {
        power /= 10.0;
    }
    while power * 10.0 <= number {
        power *= 10.0;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks(13.2, 10), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_eq!(ticks(0.05, 5), [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]);
        assert_eq!(ticks(0.0, 5), [0.0]);
    }

    #[test]
    fn scales_hold_their_values_and_are_logarithmic_where_these_lie_far_apart() {
        let near = Scale::of([1.0, 3.0].into_iter()).unwrap();
        // A margin of 0.09 x 2 at each end: 0.82 to 3.18.
        assert!((near.share(1.0) - 0.18 / 2.36).abs() < 1e-9 && (near.share(2.0) - 0.5).abs() < 1e-9);
        assert_eq!(near.ticks(4), [1.0, 2.0, 3.0]);
        let far = Scale::of([1.0, 10.0, 100.0].into_iter()).unwrap();
        // In the middle of its logarithms, and as far from one end as the other from the other.
        assert!(
            (far.share(10.0) - 0.5).abs() < 1e-9 && (far.share(1.0) + far.share(100.0) - 1.0).abs() < 1e-9
        );
        assert_eq!(far.ticks(4), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        let alone = Scale::of([3.0].into_iter()).unwrap();
        assert!((alone.share(3.0) - 0.5).abs() < 1e-9);
        assert_eq!(Scale::of(std::iter::empty()), None);
        assert_eq!(Scale::of([0.0, 1.0].into_iter()), None);
    }

    #[test]
    fn legends_wrap_and_text_is_escaped() {
        let mut picture = Picture::default();
        let entries = [("own", "a < b"), ("other", "a rather long label"), ("self", "another long label")];
        assert!((picture.legend((0.0, 0.0), 150.0, &entries) - 54.0).abs() < 1e-9);
        let document = picture.finish(10.0, 10.0, "<&\">");
        assert!(document.contains("a &lt; b") && document.contains("<title>&lt;&amp;&quot;&gt;</title>"));
    }
}
