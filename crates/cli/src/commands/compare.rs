use std::ffi::OsString;
use std::path::PathBuf;
use std::slice;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::calibrate::Calibration;
use weft_predictor::compare::{Side, changes};
use weft_predictor::{NOT_COMPARED, PeerAccess, PredictError, Request};

use super::Answer;
use crate::arguments::Format;
use crate::changes as text;
use crate::exit::{Exit, Failure};
use crate::load::{self, Loaded, OpenArgs};
use crate::{calibration, json, report, settings};

/// What changed since it was fast: links, health, settings, versions and benchmarks, the likely cause first
///
/// Ends with 1 if something got slower: a benchmark beyond its spread, or what is predicted of the machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// When it was fast: a file, a folder or an archive (every file in it)
    #[arg(value_name = "BEFORE")]
    before: OsString,
    /// Now
    #[arg(value_name = "AFTER")]
    after: OsString,
    /// What this machine does differently from its kind, as `weft calibrate` writes it; of both sides
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let with_document = |mut failure: Failure| {
        if args.format == Format::Json {
            failure.document = Some(json::text(&json::changes::failed(&failure.diagnostics)));
        }
        failure
    };
    answer(args, catalogue).map_err(with_document)
}

fn answer(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let calibration = args.calibration.as_deref().map(calibration::read).transpose()?;
    let (before, was) = side(&args.before, args, calibration.clone(), catalogue)?;
    let (after, is) = side(&args.after, args, calibration, catalogue)?;
    let found =
        changes(as_side(&before, &was), as_side(&after, &is), catalogue).map_err(|error| refused(&error))?;
    let is_finding = found.is_slower();
    if args.format == Format::Json {
        let text = json::text(&json::changes::document(&found, &[]));
        return Ok(Answer { is_finding, ..Answer::plain(text) });
    }
    let mut sources = before.sources;
    sources.extend(after.sources);
    let talk = report::findings(&[], &sources);
    Ok(Answer { text: text::text(&found), talk, is_finding, plain: false })
}

fn side(
    source: &OsString,
    args: &Args,
    calibration: Option<Calibration>,
    catalogue: &Catalogue,
) -> Result<(Loaded, Request), Failure> {
    let loaded = load::load(slice::from_ref(source), &args.open, "compare", catalogue)?;
    let mut request = Request::new(Collective::AllReduce);
    request.calibration = calibration;
    request.access = PeerAccess::of_case(&loaded.case, &loaded.graph.host, catalogue);
    // What is taken from the input is compared with the other side, which tells more than that it was taken.
    request.settings = settings::settings(&[], None, &loaded, &mut Vec::new())?;
    Ok((loaded, request))
}

fn as_side<'a>(loaded: &'a Loaded, request: &'a Request) -> Side<'a> {
    Side { case: &loaded.case, topology: &loaded.graph.topology, diagnostics: &loaded.diagnostics, request }
}

fn refused(error: &PredictError) -> Failure {
    let why = Diagnostic::error(NOT_COMPARED, error.to_string());
    Failure::new(Exit::Bug, "compare", why.hint("this is a mistake of weft's own; please report it"))
}
