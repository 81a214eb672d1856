//! The few styles of the output. Plain text where the stream is no terminal: `output` strips them.

use std::fmt::Display;

use anstyle::{AnsiColor, Effects, Style};

const HEADING: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);
const FAST: Style = AnsiColor::Green.on_default();
const SLOW: Style = AnsiColor::Yellow.on_default();

/// How a piece of text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// Titles and what matters most.
    Heading,
    /// Sources and other things to overlook.
    Faint,
    /// NVLink.
    Fast,
    /// Through a CPU or across sockets.
    Slow,
}

/// `text` in that tone.
pub fn paint(text: impl Display, tone: Tone) -> String {
    let style = match tone {
        Tone::Plain => return text.to_string(),
        Tone::Heading => HEADING,
        Tone::Faint => FAINT,
        Tone::Fast => FAST,
        Tone::Slow => SLOW,
    };
    format!("{style}{text}{style:#}")
}

/// `text` as a heading.
pub fn heading(text: impl Display) -> String {
    paint(text, Tone::Heading)
}

/// `text` faint.
pub fn faint(text: impl Display) -> String {
    paint(text, Tone::Faint)
}
