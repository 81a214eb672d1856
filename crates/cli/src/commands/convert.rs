use std::ffi::OsString;

use clap::builder::{PossibleValue, PossibleValuesParser};
use weft_catalogue::Catalogue;
use weft_formats::{WRITERS, WriterInput, writer};

use super::Answer;
use crate::exit::{Exit, Failure};
use crate::load::{self, OpenArgs};
use crate::report;

/// Write a machine or a network for another program
///
/// Pictures and JSON are formats of `weft show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file, a folder or an archive (every file in it), `-` for standard input, a machine in one line, or
    /// the name of a system; several are joined into one machine
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// What to write
    #[arg(long, value_name = "NAME", required = true, value_parser = writer_names())]
    to: String,
}

fn writer_names() -> PossibleValuesParser {
    let value = |writer: &&dyn weft_formats::Writer| PossibleValue::new(writer.name()).help(writer.title());
    PossibleValuesParser::new(WRITERS.iter().map(value))
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let loaded = load::load(&args.sources, &args.open, "convert", catalogue)?;
    let input =
        WriterInput { case: &loaded.case, topology: &loaded.graph.topology, host: &loaded.graph.host };
    // The parser of the command line lets no other name pass.
    let written = writer(&args.to).map(|writer| writer.write(&input, catalogue)).transpose();
    match written {
        Ok(text) => {
            let talk = report::findings(&loaded.diagnostics, &loaded.sources);
            Ok(Answer { text: text.unwrap_or_default(), talk, plain: true, ..Answer::default() })
        }
        Err(why) => {
            let mut diagnostics = loaded.diagnostics;
            diagnostics.push(why);
            let what = format!("convert to {}", args.to);
            Err(Failure::because(Exit::BadInput, what, diagnostics, loaded.sources))
        }
    }
}
