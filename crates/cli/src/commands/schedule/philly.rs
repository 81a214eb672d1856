//! `--study philly`.

use std::path::Path;

use weft_formats::traces;
use weft_scheduler::philly::{Locality, Way, clusters};

use super::{Args, Format, LocalityName, strategies};
use crate::commands::Answer;
use crate::exit::{Exit, Failure};
use crate::schedule::philly::{self, Study};
use crate::{input, json, report};

const FILE: &str = "philly.csv";
/// Shares of demand, in percent, that are played if none is given.
const SIZES: [u32; 2] = [80, 100];

/// Plays the trace.
pub fn run(args: &Args, source: &Path) -> Result<Answer, Failure> {
    let strategies = strategies(&args.policy)?;
    let path = if source.is_dir() { source.join(FILE) } else { source.to_path_buf() };
    let given = input::file(&path, false)?.source;
    let found = traces::philly(&given.name, &given.text);
    if !found.is_usable() {
        let what = format!("read {}", given.name);
        return Err(Failure::because(Exit::BadInput, what, found.diagnostics, vec![given]));
    }
    let talk = report::findings(&found.diagnostics, &[given]);
    let clusters = clusters(found.rows);
    let sizes = if args.size.is_empty() { SIZES.to_vec() } else { args.size.clone() };
    let localities = args.locality.map(LocalityName::locality);
    let localities = localities.map_or(vec![Locality::Required, Locality::Relaxed], |one| vec![one]);
    let mut ways = Vec::new();
    for size_percent in sizes {
        for locality in &localities {
            ways.extend(strategies.iter().map(|strategy| Way {
                strategy,
                size_percent,
                locality: *locality,
            }));
        }
    }
    let study = Study { clusters: &clusters, ways: &ways };
    let outcomes = philly::play(&study);
    let text = match args.format {
        Format::Json => {
            let document = json::schedule_philly::document(&study, &outcomes, &found.diagnostics);
            return Ok(Answer { talk, ..Answer::plain(json::text(&document)) });
        }
        Format::Text | Format::Csv | Format::Svg | Format::Html => philly::text(&study, &outcomes),
    };
    Ok(Answer { talk, ..Answer::text(text) })
}
