use std::ffi::OsString;
use std::path::PathBuf;

use weft_base::Severity;
use weft_catalogue::Catalogue;
use weft_doctor::{Diagnosis, Patient, diagnose};

use super::Answer;
use crate::arguments::Format;
use crate::exit::Failure;
use crate::load::{self, OpenArgs};
use crate::{calibration, doctor, json, report};

/// Why is it slower than it should be: what is mis-set, broken or misread, with the lines that show it
///
/// Give all that is at hand: `topo -m`, lspci, logs of NCCL, tables of benchmarks, ibstat, dmesg, or the archive of
/// `weft gather`. Findings come with the lines they rest on, how sure they are, what they cost and what to do. Ends with
/// 1 if one of them is an error.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file, a folder or an archive (every file in it), `-` for standard input, or `local` for this machine; all are
    /// of one machine or one job
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// What this machine does differently from its kind, as `weft calibrate` writes it
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let with_document = |mut failure: Failure| {
        if args.format == Format::Json {
            let none = Diagnosis::default();
            failure.document = Some(json::text(&json::doctor::document(&none, &failure.diagnostics)));
        }
        failure
    };
    answer(args, catalogue).map_err(with_document)
}

fn answer(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let loaded = load::patient(&args.sources, &args.open, "examine", catalogue)?;
    let calibration = args.calibration.as_deref().map(calibration::read).transpose()?;
    let patient = Patient {
        case: &loaded.case,
        graph: &loaded.graph,
        diagnostics: &loaded.diagnostics,
        calibration: calibration.as_ref(),
    };
    let diagnosis = diagnose(patient, catalogue);
    let is_finding = diagnosis.findings.iter().any(|finding| finding.severity == Severity::Error);
    if args.format == Format::Json {
        let text = json::text(&json::doctor::document(&diagnosis, &loaded.diagnostics));
        return Ok(Answer { is_finding, ..Answer::plain(text) });
    }
    let talk = report::findings(&doctor::worth_telling(&loaded.diagnostics), &loaded.sources);
    Ok(Answer { text: doctor::text(&diagnosis), talk, is_finding, plain: false })
}
