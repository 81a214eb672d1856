//! `weft simulate`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use weft_base::{Bytes, Diagnostic};
use weft_catalogue::Catalogue;
use weft_formats::Source;

use super::Answer;
use crate::exit::{Exit, Failure};
use crate::load::{self, Loaded, OpenArgs};
use crate::simulate::{self, Progress, Setup, scenario};
use crate::{calibration, input, json, output, report, show};

/// Play collectives on a cluster in virtual time: how long, where the time goes, what a fault costs
///
/// With a scenario file: its jobs and faults on its cluster. With a machine: one collective over all of its GPUs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A scenario in TOML, or a machine or cluster as every command takes it
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// What all GPUs do, without a scenario
    #[arg(long, short, value_name = "NAME", default_value = "all-reduce")]
    collective: String,
    /// The message, as nccl-tests counts it, without a scenario
    #[arg(long, short, value_name = "BYTES", default_value = "1 GiB")]
    size: Bytes,
    /// The algorithm, without a scenario; else the quickest that suits
    #[arg(long, short, value_name = "NAME")]
    algorithm: Option<String>,
    /// How the network behaves, without a scenario; `weft show --list networks` names the models
    #[arg(long, short, value_name = "NAME")]
    network: Option<String>,
    /// What this machine does differently from its kind, as `weft calibrate` writes it: its links carry as much more
    /// or less as it says; launches and steps are not played
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Write a timeline for Perfetto (ui.perfetto.dev) to this file
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// For a reader.
    #[default]
    Text,
    /// For a script: `schemas/simulate.json` describes it.
    Json,
    /// The timeline as a picture.
    Svg,
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    answer(args, catalogue).map_err(|mut failure| {
        if args.format == Format::Json {
            failure.document = Some(json::text(&json::simulate::failed(&failure.diagnostics)));
        }
        failure
    })
}

fn answer(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let (name, text) = written(args, catalogue)?;
    let refused = |exit: Exit, findings: Vec<Diagnostic>| {
        let sources = vec![Source::file(name.clone(), text.clone())];
        Failure::because(exit, format!("simulate {name}"), findings, sources)
    };
    let scenario = scenario::parse(&name, &text).map_err(|finding| refused(Exit::BadInput, vec![finding]))?;
    let mut loaded = cluster(args, &name, scenario.cluster.get_ref(), catalogue)?;
    if let Some(path) = &args.calibration {
        loaded.graph.topology = calibration::read(path)?.on_links(&loaded.graph.topology);
    }
    let setup = simulate::prepare((&name, &text), &scenario, &loaded.graph.topology, catalogue)
        .map_err(|findings| refused(Exit::BadInput, findings))?;
    let progress = Progress::new();
    let report = simulate::run(&setup, &loaded.graph.topology, catalogue, &progress);
    progress.end();
    let report = report.map_err(|finding| refused(Exit::Findings, vec![finding]))?;
    if let Some(path) = &args.trace {
        output::file(path, simulate::trace(&report).to_string().as_bytes())?;
    }
    let talk = report::findings(&loaded.diagnostics, &loaded.sources);
    let never = report.jobs.iter().any(|job| job.took.is_none());
    let answer = match args.format {
        Format::Json => Answer::plain(json::text(&json::simulate::document(&report, &loaded.diagnostics))),
        Format::Svg => Answer::plain(simulate::svg(&report)),
        Format::Text => {
            let cluster = show::composition(&loaded, catalogue);
            Answer { talk, ..Answer::text(simulate::text(&report, &cluster, &network(&setup))) }
        }
    };
    Ok(Answer { is_finding: never, ..answer })
}

/// The network in words.
fn network(setup: &Setup) -> String {
    let model = setup.network.model;
    format!("{}: {}; seed {}", model.name(), model.title(), setup.seed)
}

/// The scenario: the file that is named, or one that the options amount to.
fn written(args: &Args, catalogue: &Catalogue) -> Result<(String, String), Failure> {
    if let [only] = args.sources.as_slice()
        && let Some(given) = input::read(only, catalogue)?.into_iter().next()
        && scenario::is_scenario(&given.source.text)
    {
        return Ok((given.source.name, given.source.text));
    }
    let quoted = |text: &str| format!("{text:?}");
    let network = args.network.as_ref().map(|name| format!("network = {}\n", quoted(name)));
    let mut text = format!(
        "cluster = {}\n{}[[job]]\ncollective = {}\nsize = {}\n",
        quoted("the machine of the command line"),
        network.unwrap_or_default(),
        quoted(&args.collective),
        quoted(&args.size.to_string())
    );
    if let Some(algorithm) = &args.algorithm {
        text.extend(["algorithm = ", &quoted(algorithm), "\n"]);
    }
    Ok(("the command line".to_owned(), text))
}

/// The cluster of a scenario; a file is looked for beside the scenario.
fn cluster(args: &Args, scenario: &str, named: &str, catalogue: &Catalogue) -> Result<Loaded, Failure> {
    if scenario == "the command line" {
        return load::machine(&args.sources, &args.open, "simulate", catalogue);
    }
    let beside = Path::new(scenario).parent().map(|folder| folder.join(named)).filter(|path| path.exists());
    let source = beside.map_or_else(|| OsString::from(named), PathBuf::into_os_string);
    load::machine(&[source], &args.open, "simulate", catalogue)
}
