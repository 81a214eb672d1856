use std::ffi::OsString;
use std::path::PathBuf;
use std::slice;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_predictor::replay::{REPLAY_MISMATCH, REPLAY_STUCK, REPLAY_UNMATCHED, replay};
use weft_predictor::train::Site;

use super::Answer;
use super::train::timeline_file;
use crate::arguments::{Format, count};
use crate::codes::NO_REPLAY;
use crate::exit::{Exit, Failure};
use crate::load::{self, OpenArgs};
use crate::replay::{self, Shown, timeline};
use crate::{json, output, report, show};

/// Play recorded steps on another machine: Chakra's execution traces, with their computing and its communication
///
/// Each rank's trace is played on the GPU of its number: computations take what was recorded, collectives and messages
/// what they are predicted to take there, and both wait for what the traces say.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Traces, `NAME.RANK.et` or JSON, or a folder of them; a JSON file of groups (`{"0": [0, 1]}`) may be among them
    #[arg(value_name = "TRACES", required = true)]
    traces: Vec<OsString>,
    /// The machine: in one line such as `2 x dgx-h100 @ rail-optimized(leaf 64x400G)`, a system, a file
    #[arg(long, value_name = "MACHINE")]
    on: OsString,
    #[command(flatten)]
    open: OpenArgs,
    /// Play the only trace on each of so many ranks, as of a run whose ranks all do the same
    #[arg(long, value_name = "COUNT", value_parser = count())]
    ranks: Option<u32>,
    /// How many times as long computations on the GPU take as they were recorded
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = scale)]
    compute_scale: f64,
    /// Write what happens when to this file: a picture (`.svg`), or for Perfetto (`.json`)
    #[arg(long, value_name = "FILE", value_parser = timeline_file)]
    timeline: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

fn scale(text: &str) -> Result<f64, String> {
    let known = text.parse::<f64>().ok().filter(|scale| (0.0..=1e6).contains(scale));
    known.ok_or_else(|| "expected a factor from 0 to 1000000, such as `0.5`".to_owned())
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let read = replay::read(&args.traces, args.ranks, args.compute_scale, catalogue)?;
    let loaded = load::machine(slice::from_ref(&args.on), &args.open, "replay on", catalogue)?;
    let refused = |message: String, hint: &str| {
        let why = Diagnostic::error(NO_REPLAY, message).hint(hint);
        loaded.refused(Exit::Findings, "replay traces", why)
    };
    let Some(machine) = &loaded.case.machine else {
        return Err(refused(
            "the machine has no GPU whose model is known".to_owned(),
            "name the GPU with `--gpu`",
        ));
    };
    let site = Site::new(machine, catalogue)
        .map_err(|error| refused(error.to_string(), "`weft show` says how the machine was understood"))?;
    let replayed = replay(&read.recording, &site).map_err(|found| {
        let contradicts = [REPLAY_UNMATCHED, REPLAY_MISMATCH, REPLAY_STUCK];
        let is_input = found.iter().any(|finding| contradicts.contains(&finding.code));
        let exit = if is_input { Exit::BadInput } else { Exit::Findings };
        Failure::because(exit, "replay the traces", found, read.sources.clone())
    })?;
    let composition = show::composition(&loaded, catalogue);
    let shown =
        Shown { machine: &composition, site: &site, replayed: &replayed, compute_scale: args.compute_scale };
    if let Some(path) = &args.timeline {
        let text = match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => timeline::svg(&shown),
            Some(_) | None => timeline::trace(&shown).to_string(),
        };
        output::file(path, text.as_bytes())?;
    }
    let found = [&read.diagnostics[..], &loaded.diagnostics, &replayed.diagnostics].concat();
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::replay::document(&shown, &found))),
        Format::Text => {
            let sources = [&read.sources[..], &loaded.sources].concat();
            Answer {
                text: replay::text(&shown),
                talk: report::findings(&found, &sources),
                ..Answer::default()
            }
        }
    })
}
