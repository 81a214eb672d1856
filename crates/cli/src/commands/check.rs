use weft_base::Severity;
use weft_catalogue::Catalogue;
use weft_formats::as_the_tool_would;

use super::Answer;
use crate::exit::Failure;
use crate::load::{self, SourceArgs};
use crate::report;

/// Say what is wrong with a file, as the program that it is for would judge it
///
/// Topology and graph files of NCCL and RCCL are held against their readers: what these refuse, what they replace
/// without a word, and what contradicts itself or the hardware. Exit code 1 if something is an error.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let loaded = load::load(&args.source.sources, &args.source.open, "check", catalogue)?;
    let findings = as_the_tool_would(loaded.diagnostics);
    if findings.is_empty() {
        return Ok(Answer::text("nothing wrong\n".to_owned()));
    }
    let is_finding = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(Answer { text: report::findings(&findings, &loaded.sources), is_finding, ..Answer::default() })
}
