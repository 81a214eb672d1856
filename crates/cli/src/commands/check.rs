use std::ffi::OsString;
use std::path::Path;

use weft_advisor::tables::{self, Table};
use weft_base::{Diagnostic, Severity};
use weft_catalogue::Catalogue;
use weft_formats::{Source, as_the_tool_would};

use super::Answer;
use crate::exit::Failure;
use crate::input::{self, Given};
use crate::load::{self, SourceArgs};
use crate::report;

/// Say what is wrong with a file, as the program that it is for would judge it
///
/// Topology and graph files of NCCL and RCCL are held against their readers: what these refuse, what they replace
/// without a word, and what contradicts itself or the hardware. Tables of published counts (switches, cables and GPUs of
/// fabrics, shares of a whole, months beside days) are held against arithmetic. Exit code 1 if something is an error.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let sources = &args.source.sources;
    // Only what is read as text may be a table.
    let is_text = |argument: &OsString| argument == "-" || Path::new(argument).exists();
    if !sources.iter().all(is_text) {
        let loaded = load::load(sources, &args.source.open, "check", catalogue)?;
        return Ok(answer(&as_the_tool_would(loaded.diagnostics), &loaded.sources));
    }
    let mut given: Vec<Given> = Vec::new();
    for argument in sources {
        given.extend(input::read(argument, catalogue)?);
    }
    let (tables, others): (Vec<Given>, Vec<Given>) =
        given.into_iter().partition(|given| tables::is_table(&given.source.text));
    let read = |given: &Given| Table::read(&given.source.name, &given.source.text);
    let mut findings = tables::check(&tables.iter().filter_map(read).collect::<Vec<_>>());
    let mut texts: Vec<Source> = tables.into_iter().map(|given| given.source).collect();
    if !others.is_empty() {
        let loaded = load::load_read(others, sources, &args.source.open, "check", catalogue)?;
        findings.extend(as_the_tool_would(loaded.diagnostics));
        texts.extend(loaded.sources);
    }
    Ok(answer(&findings, &texts))
}

fn answer(findings: &[Diagnostic], sources: &[Source]) -> Answer {
    if findings.is_empty() {
        return Answer::text("nothing wrong\n".to_owned());
    }
    let is_finding = findings.iter().any(|finding| finding.severity == Severity::Error);
    Answer { text: report::findings(findings, sources), is_finding, ..Answer::default() }
}
