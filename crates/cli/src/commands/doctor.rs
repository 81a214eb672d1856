use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::slice;

use weft_base::Severity;
use weft_catalogue::Catalogue;
use weft_doctor::{Diagnosis, Fleet, Patient, diagnose};
use weft_predictor::calibrate::Calibration;
use weft_predictor::pairs::rounds;

use super::Answer;
use crate::bench::hosts::listed;
use crate::exit::Failure;
use crate::load::{self, Loaded, OpenArgs};
use crate::{calibration, doctor, json, report};

/// Why is it slower than it should be: what is mis-set, broken or misread, with the lines that show it
///
/// Give all that is at hand: `topo -m`, lspci, logs of NCCL, tables of benchmarks, ibstat, dmesg, or the archive of
/// `weft gather`. Findings come with the lines they rest on, how sure they are, what they cost and what to do. Several
/// folders or archives are machines that should be alike: each is looked at, and what one has otherwise than the others
/// is told. Ends with 1 if a finding is an error.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file, a folder or an archive (every file in it), `-` for standard input, or `local` for this machine; files are
    /// of one machine or one job, several folders or archives of a machine each
    #[arg(value_name = "SOURCE", required_unless_present_any = ["matrix", "schedule"])]
    sources: Vec<OsString>,
    /// Rates of all pairs of hosts or GPUs (CSV, as `weft bench pairs --format csv` or a spreadsheet writes it): names
    /// the host, the link or the switch that is slow
    #[arg(long, value_name = "FILE")]
    matrix: Option<OsString>,
    /// Which pairs of these hosts to measure at a time, so that no host is in two of them: `node[01-16]`, or names with
    /// commas
    #[arg(long, value_name = "HOSTS", conflicts_with_all = ["sources", "matrix"])]
    schedule: Option<String>,
    /// Several folders or archives are of one machine or one job
    #[arg(long)]
    together: bool,
    #[command(flatten)]
    open: OpenArgs,
    /// What this machine does differently from its kind, as `weft calibrate` writes it
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// A health check: nothing where all is in order, else one line of the worst finding
    #[arg(long)]
    quiet: bool,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Form,
}

/// How to print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Form {
    /// For a reader.
    #[default]
    Text,
    /// For a script: `schemas/doctor.json`.
    Json,
    /// For Prometheus' collector of text files: one sample for each finding and each benchmark.
    Prometheus,
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    if let Some(hosts) = &args.schedule {
        return schedule(hosts);
    }
    let with_document = |mut failure: Failure| {
        if args.format == Form::Json {
            let none = Diagnosis::default();
            failure.document = Some(json::text(&json::doctor::document(&none, &failure.diagnostics)));
        }
        failure
    };
    let is_fleet = args.sources.len() > 1 && !args.together && args.sources.iter().all(is_of_many_files);
    let answer = if is_fleet { fleet(args, catalogue) } else { one(args, catalogue) };
    answer.map_err(with_document)
}

/// A folder or an archive: what is gathered of a machine.
fn is_of_many_files(source: &OsString) -> bool {
    let path = Path::new(source);
    let is_archive =
        [".tar.gz", ".tgz", ".tar", ".zip"].iter().any(|end| source.to_string_lossy().ends_with(end));
    path.is_dir() || is_archive
}

fn patient<'a>(loaded: &'a Loaded, calibration: Option<&'a Calibration>) -> Patient<'a> {
    Patient { case: &loaded.case, graph: &loaded.graph, diagnostics: &loaded.diagnostics, calibration }
}

fn one(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let sources: Vec<OsString> = args.sources.iter().chain(&args.matrix).cloned().collect();
    let loaded = load::patient(&sources, &args.open, "examine", catalogue)?;
    let calibration = args.calibration.as_deref().map(calibration::read).transpose()?;
    let diagnosis = diagnose(patient(&loaded, calibration.as_ref()), catalogue);
    let is_finding = diagnosis.findings.iter().any(|finding| finding.severity == Severity::Error);
    let answer = match args.format {
        _ if args.quiet => return Ok(Answer { is_finding, ..Answer::plain(doctor::line(&diagnosis)) }),
        Form::Json => Answer::plain(json::text(&json::doctor::document(&diagnosis, &loaded.diagnostics))),
        Form::Prometheus => Answer::plain(doctor::prometheus(&diagnosis)),
        Form::Text => {
            let talk = report::findings(&doctor::worth_telling(&loaded.diagnostics), &loaded.sources);
            Answer { text: doctor::text(&diagnosis), talk, ..Answer::default() }
        }
    };
    Ok(Answer { is_finding, ..answer })
}

/// Several machines, each in a folder or an archive.
fn fleet(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let calibration = args.calibration.as_deref().map(calibration::read).transpose()?;
    let machines: Vec<Loaded> = args
        .sources
        .iter()
        .map(|source| load::patient(slice::from_ref(source), &args.open, "examine", catalogue))
        .collect::<Result<_, _>>()?;
    let names = doctor::names(&args.sources);
    let patients: Vec<(String, Patient<'_>)> = names
        .into_iter()
        .zip(&machines)
        .map(|(name, loaded)| (name, patient(loaded, calibration.as_ref())))
        .collect();
    let fleet = Fleet::new(&patients, catalogue);
    let is_finding = fleet.has_error();
    let text = match args.format {
        _ if args.quiet => doctor::fleet_lines(&fleet),
        Form::Json => json::text(&json::doctor::fleet(&fleet)),
        Form::Prometheus => doctor::fleet_prometheus(&fleet),
        Form::Text => return Ok(Answer { is_finding, ..Answer::text(doctor::fleet_text(&fleet)) }),
    };
    Ok(Answer { is_finding, ..Answer::plain(text) })
}

/// The rounds in which all pairs of the hosts are measured, one line each.
fn schedule(hosts: &str) -> Result<Answer, Failure> {
    let names = listed(hosts)?;
    Ok(Answer::text(doctor::schedule(&names, &rounds(u32::try_from(names.len()).unwrap_or(u32::MAX)))))
}
