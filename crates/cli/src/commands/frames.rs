use std::ffi::OsString;
use std::str::FromStr;

use weft_base::{Bytes, Diagnostic, Span};
use weft_catalogue::Catalogue;
use weft_predictor::frames::{FrameAsk, FrameMode, Picture, PixelFormat, frame_rate, frame_ways};
use weft_topology::NodeKind;

use super::Answer;
use crate::arguments::Format;
use crate::codes::NO_FRAMES;
use crate::exit::{Exit, Failure};
use crate::frames::{self, Shown};
use crate::load::{self, OpenArgs};
use crate::{json, report, show};

/// How fast do pictures come from several cards: alternate or split frames over SLI, CrossFire, PCIe or NVLink
///
/// Says what crosses the link between the cards, up to which refresh rate it can, and with `--frame-time` how the rate
/// grows with the cards, what limits it, and how long a frame takes to the screen.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The machine: in one line such as `2 gtx-1080 @ pcie3x8 + sli-hb`, a system, a file
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// Pixels of a line and lines
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "3840x2160", value_parser = resolution)]
    resolution: (u32, u32),
    /// Pictures per second of the screen
    #[arg(long, value_name = "HZ", default_value_t = 60.0, value_parser = hertz)]
    refresh: f64,
    /// How cards share the work
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "MODE")]
    mode: ModeName,
    /// What a pixel is
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    pixels: PixelsName,
    /// Time in which one card renders a frame, such as `20 ms`
    #[arg(long, value_name = "TIME", value_parser = Span::from_str)]
    frame_time: Option<Span>,
    /// Time of a frame that the CPU takes, whatever the cards do
    #[arg(long, value_name = "TIME", value_parser = Span::from_str)]
    cpu_time: Option<Span>,
    /// Percent of a frame's work that each card repeats when frames are split, such as geometry
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    repeated: u8,
    /// What the next frame needs of the last one from another card, such as `32 MiB` of shadow maps
    #[arg(long, value_name = "SIZE", value_parser = Bytes::from_str)]
    kept: Option<Bytes>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum ModeName {
    /// Whole frames in turn.
    #[default]
    Afr,
    /// A part of each frame.
    Sfr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum PixelsName {
    /// 8 bits of each colour, 32 a pixel.
    #[default]
    Rgba8,
    /// 10 bits of each colour, 32 a pixel.
    Rgb10,
    /// 16 bits of each colour, 64 a pixel.
    Fp16,
}

fn resolution(text: &str) -> Result<(u32, u32), String> {
    let wrong = || "expected width and height, such as `3840x2160`".to_owned();
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let side = |text: &str| text.trim().parse::<u32>().ok().filter(|side| (1..=65536).contains(side));
    side(width).zip(side(height)).ok_or_else(wrong)
}

fn hertz(text: &str) -> Result<f64, String> {
    let digits = text.trim().trim_end_matches("Hz").trim();
    let known = digits.parse::<f64>().ok().filter(|hertz| (1.0..=10_000.0).contains(hertz));
    known.ok_or_else(|| "expected a refresh rate from 1 to 10000 Hz".to_owned())
}

impl Args {
    fn ask(&self, gpus: u32) -> FrameAsk {
        FrameAsk {
            picture: Picture {
                width: self.resolution.0,
                height: self.resolution.1,
                format: match self.pixels {
                    PixelsName::Rgba8 => PixelFormat::Rgba8,
                    PixelsName::Rgb10 => PixelFormat::Rgb10,
                    PixelsName::Fp16 => PixelFormat::Half,
                },
            },
            mode: match self.mode {
                ModeName::Afr => FrameMode::Alternate,
                ModeName::Sfr => FrameMode::Split,
            },
            gpus,
            refresh_hertz: self.refresh,
            frame_s: self.frame_time.map_or(0.0, Span::as_seconds),
            cpu_s: self.cpu_time.map_or(0.0, Span::as_seconds),
            repeated_share: f64::from(self.repeated) / 100.0,
            kept_bytes: self.kept.map_or(0.0, Bytes::as_f64),
        }
    }
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let loaded = load::machine(&args.sources, &args.open, "share frames of", catalogue)?;
    let topology = &loaded.graph.host;
    let ways = frame_ways(topology, catalogue).map_err(|error| {
        let why = Diagnostic::error(NO_FRAMES, error.to_string());
        loaded.refused(
            Exit::Findings,
            "share frames",
            why.hint("for example `2 gtx-1080 @ pcie3x8 + sli-hb`"),
        )
    })?;
    let gpus = u32::try_from(topology.of_kind(NodeKind::Gpu).count()).unwrap_or(u32::MAX);
    let ask = args.ask(gpus);
    let rate = (ask.frame_s > 0.0).then(|| frame_rate(&ask, &ways));
    let composition = show::composition(&loaded, catalogue);
    let shown = Shown { machine: &composition, ask: &ask, ways: &ways, rate: rate.as_ref(), catalogue };
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::frames::document(&shown, &loaded.diagnostics))),
        Format::Text => {
            let talk = report::findings(&loaded.diagnostics, &loaded.sources);
            Answer { text: frames::text(&shown), talk, ..Answer::default() }
        }
    })
}
