use std::ffi::OsString;

use weft_catalogue::Catalogue;

use super::Answer;
use crate::exit::Failure;
use crate::load::{self, Loaded, OpenArgs};
use crate::{json, report, show};

/// What is my machine: devices, links, islands, the narrowest pair, what was assumed
#[derive(Debug, clap::Args)]
#[command(after_long_help = after_help())]
pub struct Args {
    /// A file, a folder or an archive (every file in it), `-` for standard input, `local` for this machine, a
    /// machine in one line, or the name of a system; several are joined into one machine
    #[arg(value_name = "SOURCE", required_unless_present = "list")]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// List the names that the catalogue knows of one kind, instead
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "sources", num_args = 0..=1, default_missing_value = "all")]
    list: Option<show::List>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// For a reader.
    #[default]
    Text,
    /// For a script: `schemas/show.json` describes it.
    Json,
    /// A picture.
    Svg,
    /// For Graphviz.
    Dot,
    /// The devices as a tree.
    Tree,
}

fn after_help() -> String {
    report::worth_pasting().trim_start().to_owned()
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    if let Some(kind) = args.list {
        return Ok(Answer::text(show::list(kind, catalogue)));
    }
    let loaded = load::load(&args.sources, &args.open, "show", catalogue).map_err(|mut failure| {
        if args.format == Format::Json {
            failure.document = Some(json::text(&json::show::failed(&failure.diagnostics)));
        }
        failure
    })?;
    let talk = |loaded: &Loaded| report::findings(&loaded.diagnostics, &loaded.sources);
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::show::document(&loaded))),
        Format::Text => Answer {
            text: show::text(&loaded, catalogue),
            talk: talk(&loaded),
            plain: false,
            ..Answer::default()
        },
        Format::Svg | Format::Dot | Format::Tree => {
            let drawing = loaded.drawing(catalogue);
            let title = show::title(&loaded, catalogue);
            let options = weft_topology::draw::Options { title: &title, catalogue: Some(catalogue) };
            let text = match args.format {
                Format::Svg => weft_topology::draw::svg(&drawing, &options),
                Format::Dot => weft_topology::draw::dot(&drawing, &options),
                Format::Tree | Format::Text | Format::Json => weft_topology::draw::text(&drawing, &options),
            };
            Answer { text, talk: talk(&loaded), plain: true, ..Answer::default() }
        }
    })
}
