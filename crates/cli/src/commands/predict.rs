use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use weft_base::{Bytes, Diagnostic};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::compare::{Compared, plot};
use weft_predictor::export::tuner_table;
use weft_predictor::subsets::{self, Ranking};
use weft_predictor::{
    Algorithm, Launch, PREDICTED, PeerAccess, PredictError, Request, Routing, Version, predict,
};
use weft_topology::{NodeId, NodeKind};

use super::Answer;
use crate::arguments::{chosen_gpus, collective};
use crate::codes::{NO_PREDICTION, NO_SUCH_GPU};
use crate::exit::{Exit, Failure};
use crate::json::subsets::SubsetsJson;
use crate::load::{self, Loaded, OpenArgs};
use crate::measured;
use crate::{
    calibration, fabric, gpus, json, predict as text, report, settings, show, subsets as subset_text,
};

/// What should it reach: time and bandwidth of a collective per size, and what bounds it
///
/// Rates are bytes per second in one direction. algbw is the message size over the time; busbw is algbw times
/// the collective's bus factor, as nccl-tests prints them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file, a folder or an archive (every file in it), `-` for standard input, `local` for this machine, a
    /// machine in one line, or the name of a system; several are joined into one machine
    #[arg(value_name = "SOURCE", required_unless_present = "measured")]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// What a benchmark printed on the machine: each of its sizes is put beside what is expected. A log that holds
    /// the machine as well, or names its GPUs, needs no SOURCE
    #[arg(long, value_name = "FILE")]
    measured: Option<OsString>,
    /// What this machine does differently from its kind, as `weft calibrate` writes it
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all or send-recv
    #[arg(long, value_name = "NAME", default_value = "all-reduce", value_parser = predicted)]
    collective: Collective,
    /// A message size with its unit, such as `256MiB`; may be given several times [default: 8 B to 8 GiB]
    #[arg(long = "size", value_name = "SIZE", value_parser = Bytes::from_str)]
    sizes: Vec<Bytes>,
    /// The GPUs that take part: which (`0,2,4-6`), or how many (`4`): all subsets of that size are ranked by what
    /// they should reach and what they leave to others, and the first is taken [default: all]
    #[arg(long, value_name = "GPUS")]
    gpus: Option<String>,
    /// GPUs that others use (`0,2,4-6`): subsets do without them
    #[arg(long, value_name = "GPUS")]
    busy: Option<String>,
    /// Only this algorithm, as with NCCL_ALGO
    #[arg(long, ignore_case = true, value_name = "ALGORITHM", value_parser = algorithm_names())]
    algorithm: Option<String>,
    /// The version of NCCL or RCCL, such as 2.21 [default: the one that a log in the input names, else the newest]
    #[arg(long, value_name = "VERSION", value_parser = Version::from_str)]
    nccl: Option<Version>,
    /// A variable as the job sets it, such as `NCCL_ALGO=Ring`; may be given several times. Those that the
    /// input holds (`env`, `nccl.conf`, a log) are taken too, and yield to these
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = settings::variable)]
    variables: Vec<(String, String)>,
    /// Who starts the kernels, which bounds small messages: one-process (`nccl-tests -g 8`), process-per-gpu (`mpirun -np 8`), or
    /// framework (a loop that waits for each operation) [default: one-process on one host, else process-per-gpu]
    #[arg(long, value_name = "WHO", value_parser = launch)]
    launch: Option<Launch>,
    /// How the network between hosts chooses ways: `weft show --list networks` names the models, of which flows that
    /// share what they carry count [default: what is usual on its kind; with forwarding tables in the input those]
    #[arg(long, value_name = "NAME", value_parser = fabric::routing)]
    network: Option<Routing>,
    /// Write what is expected for another program instead: a table for a tuner plugin of NCCL, of all collectives
    #[arg(long, value_enum, ignore_case = true, value_name = "FORM")]
    export: Option<Export>,
    /// Show how the numbers come about, and where each of them is from
    #[arg(long)]
    explain: bool,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Form,
}

/// What is written for another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Export {
    /// CSV for the example plugin of NCCL's source (`ext-tuner/example`).
    NcclTuner,
}

/// How to print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Form {
    /// For a reader.
    #[default]
    Text,
    /// For a script: `schemas/predict.json`, and `schemas/predict-measured.json` with `--measured`.
    Json,
    /// A picture of measured and expected, with `--measured`.
    Svg,
}

fn algorithm_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Algorithm::ALL.map(Algorithm::name))
}

fn launch(text: &str) -> Result<Launch, String> {
    let names = || Launch::ALL.map(Launch::name).join(", ");
    Launch::from_name(text).ok_or_else(|| format!("expected one of {}", names()))
}

fn predicted(text: &str) -> Result<Collective, String> {
    collective(text, &PREDICTED)
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let json = args.format == Form::Json;
    let with_document = |mut failure: Failure| {
        if json {
            let document = match args.measured {
                Some(_) => json::text(&json::measured::document(&Compared::default(), &failure.diagnostics)),
                None => json::text(&json::predict::failed(args.collective, &failure.diagnostics)),
            };
            failure.document = Some(document);
        }
        failure
    };
    let answer = match &args.measured {
        Some(run) => beside(args, run, catalogue),
        None => answer(args, catalogue),
    };
    answer.map_err(with_document)
}

/// What a benchmark measured beside what is expected.
fn beside(args: &Args, run: &OsString, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let mut sources = settings::with_topology_file(&args.sources, &args.variables);
    if !sources.contains(run) {
        sources.push(run.clone());
    }
    let loaded = load::load(&sources, &args.open, "compare", catalogue)?;
    let mut diagnostics = loaded.diagnostics.clone();
    let mut request = Request::new(args.collective);
    request.settings = settings::settings(&args.variables, args.nccl, &loaded, &mut diagnostics)?;
    if let Some(algorithm) = args.algorithm.as_deref().and_then(Algorithm::from_name) {
        request.settings = request.settings.only(algorithm);
    }
    request.access = PeerAccess::of_case(&loaded.case, &loaded.graph.host, catalogue);
    request.launch = args.launch;
    fabric::set(&mut request, args.network, &loaded, catalogue);
    request.calibration = args.calibration.as_deref().map(calibration::read).transpose()?;
    let compared = measured::compared(&loaded, &run.to_string_lossy(), args.collective, &request, catalogue);
    diagnostics.extend(compared.diagnostics.iter().cloned());
    if compared.tables.is_empty() && compared.pairs.is_empty() {
        let what = format!("compare {}", run.to_string_lossy());
        return Err(Failure::because(Exit::Findings, what, diagnostics, loaded.sources));
    }
    let machine = match &loaded.case.machine {
        Some(_) => show::composition(&loaded, catalogue),
        None => compared.tables.iter().find_map(|table| table.machine.clone()).unwrap_or_default(),
    };
    match args.format {
        Form::Json => Ok(Answer::plain(json::text(&json::measured::document(&compared, &diagnostics)))),
        Form::Svg => {
            let tables: Vec<_> = compared.tables.iter().map(|table| table.comparison.clone()).collect();
            Ok(Answer::plain(plot(&tables, &machine)))
        }
        Form::Text => {
            let talk = report::findings(&diagnostics, &loaded.sources);
            Ok(Answer { text: measured::text(&compared, &machine), talk, ..Answer::default() })
        }
    }
}

fn answer(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    if args.format == Form::Svg {
        let why =
            Diagnostic::error(NO_PREDICTION, "the picture is of what was measured beside what is expected");
        let hint = "add `--measured run.txt`; `weft show --format svg` draws the machine";
        return Err(Failure::new(Exit::Usage, "draw a prediction", why.hint(hint)));
    }
    let sources = settings::with_topology_file(&args.sources, &args.variables);
    let loaded = load::machine(&sources, &args.open, "predict for", catalogue)?;
    let mut request = Request::new(args.collective);
    request.calibration = args.calibration.as_deref().map(calibration::read).transpose()?;
    if !args.sizes.is_empty() {
        request.sizes.clone_from(&args.sizes);
    }
    let mut findings = Vec::new();
    request.settings = settings::settings(&args.variables, args.nccl, &loaded, &mut findings)?;
    if let Some(algorithm) = args.algorithm.as_deref().and_then(Algorithm::from_name) {
        request.settings = request.settings.only(algorithm);
    }
    request.access = PeerAccess::of_case(&loaded.case, &loaded.graph.host, catalogue);
    request.launch = args.launch;
    fabric::set(&mut request, args.network, &loaded, catalogue);
    request.nic_names = loaded.case.nic_names();
    let ranking = ranking(args, &loaded, &request, catalogue)?;
    let topology = if ranking.is_some() { &loaded.graph.host } else { &loaded.graph.topology };
    request.gpus = match &ranking {
        Some(ranking) => ranking.classes.first().map(|class| class.gpus.clone()),
        None => args.gpus.as_deref().map(|text| chosen_gpus(text, topology)).transpose()?,
    };
    if let Some(ranking) = ranking.as_ref().filter(|ranking| ranking.count < 2) {
        return Ok(only_ranked(args, ranking, &loaded, &findings, catalogue));
    }
    if args.export == Some(Export::NcclTuner) {
        let table = tuner_table(topology, catalogue, &request)
            .map_err(|error| refused(&error, args.collective, &loaded))?;
        let machine = show::composition(&loaded, catalogue);
        let talk = report::findings(&loaded.diagnostics, &loaded.sources);
        return Ok(Answer { talk, ..Answer::plain(table.to_csv(&machine)) });
    }
    let prediction =
        predict(topology, catalogue, &request).map_err(|error| refused(&error, args.collective, &loaded))?;
    let mut diagnostics = loaded.diagnostics.clone();
    diagnostics.extend(findings);
    diagnostics.extend(prediction.diagnostics.iter().cloned());
    if args.format == Form::Json {
        let subsets = ranking.map(|ranking| SubsetsJson::of(&ranking, topology, catalogue));
        return Ok(Answer::plain(json::text(&json::predict::document(&prediction, subsets, &diagnostics))));
    }
    let talk = report::findings(&diagnostics, &loaded.sources);
    let mut text = text::text(&prediction, &loaded, args.explain, catalogue);
    if let Some(ranking) = &ranking {
        let section = subset_text::section(ranking, topology, args.collective.name(), catalogue);
        text = format!("{section}\n{text}");
    }
    Ok(Answer { text, talk, plain: false, ..Answer::default() })
}

/// The subsets of one server, where `--gpus` is a number that leaves a choice.
fn ranking(
    args: &Args,
    loaded: &Loaded,
    request: &Request,
    catalogue: &Catalogue,
) -> Result<Option<Ranking>, Failure> {
    let all: Vec<NodeId> = loaded.graph.host.of_kind(NodeKind::Gpu).collect();
    let count = args.gpus.as_deref().and_then(|text| text.trim().parse::<usize>().ok());
    let Some(count) = count.filter(|count| (1..=all.len()).contains(count)) else { return Ok(None) };
    let busy = match args.busy.as_deref() {
        None => Vec::new(),
        Some(text) => gpus::listed(text, &all, &loaded.graph.host).map_err(|message| {
            let why = Diagnostic::error(NO_SUCH_GPU, message);
            Failure::new(Exit::Usage, format!("leave out the GPUs `{text}`"), why)
        })?,
    };
    if request.collective == Collective::SendRecv || (busy.is_empty() && count == all.len()) {
        return Ok(None);
    }
    let ranking = subsets::rank(&loaded.graph.host, catalogue, request, count, &busy)
        .map_err(|error| refused(&error, args.collective, loaded))?;
    if ranking.classes.is_empty() {
        let message = format!("there are not {count} GPUs that nobody uses");
        let why = Diagnostic::error(NO_SUCH_GPU, message).hint(format!(
            "the machine has {}, of which {} are free",
            all.len(),
            ranking.free.len()
        ));
        return Err(Failure::new(Exit::Findings, format!("choose {count} GPUs"), why));
    }
    Ok(Some(ranking))
}

/// Where one GPU is wanted, there is nothing to predict.
fn only_ranked(
    args: &Args,
    ranking: &Ranking,
    loaded: &Loaded,
    findings: &[Diagnostic],
    catalogue: &Catalogue,
) -> Answer {
    let mut diagnostics = loaded.diagnostics.clone();
    diagnostics.extend(findings.iter().cloned());
    if args.format == Form::Json {
        let subsets = SubsetsJson::of(ranking, &loaded.graph.host, catalogue);
        return Answer::plain(json::text(&json::predict::ranked(args.collective, subsets, &diagnostics)));
    }
    let text = subset_text::section(ranking, &loaded.graph.host, args.collective.name(), catalogue);
    Answer { text, talk: report::findings(&diagnostics, &loaded.sources), ..Answer::default() }
}

/// A refusal of the predictor: the input was good, the answer is missing.
fn refused(error: &PredictError, collective: Collective, loaded: &Loaded) -> Failure {
    let all = loaded.graph.topology.of_kind(NodeKind::Gpu).count();
    let links = "`weft show` says what the links of this machine carry";
    let (exit, hint) = match error {
        PredictError::NoLibrary { .. } | PredictError::NoPath { .. } => (Exit::Findings, links.to_owned()),
        PredictError::TooFewGpus { .. } if all < 2 => (Exit::Findings, links.to_owned()),
        PredictError::TooFewGpus { .. } => {
            (Exit::Findings, format!("the machine has {all}; choose at least two with `--gpus`"))
        }
        PredictError::TooManySubsets { .. } => {
            (Exit::Findings, "name the GPUs with `--gpus`, such as `0-3`".to_owned())
        }
        PredictError::Collective { .. } => (Exit::Usage, "choose one of these".to_owned()),
        // A name or a constant that our own crates ask for must exist.
        PredictError::NotFound(_) | PredictError::Constant { .. } => {
            (Exit::Bug, "this is a mistake of weft's own; please report it".to_owned())
        }
    };
    let why = Diagnostic::error(NO_PREDICTION, error.to_string()).hint(hint);
    loaded.refused(exit, format!("predict {}", collective.name()), why)
}
