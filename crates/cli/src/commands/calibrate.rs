use std::ffi::OsString;
use std::fmt::Write as _;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::calibrate::{
    Calibration, CalibrationSource, Fitted, Observation, PairEvidence, Parameter, Regime, fit,
};
use weft_predictor::compare::Compared;
use weft_predictor::{NOT_COMPARED, PREDICTED, PeerAccess, Request};

use super::Answer;
use crate::arguments::collective;
use crate::exit::{Exit, Failure};
use crate::load::{self, Loaded, OpenArgs};
use crate::measured;
use crate::style::{faint, heading};
use crate::table::{Cell, Table};
use crate::{output, report, settings};

/// Fits what this machine does differently from its kind, from benchmarks that ran on it
///
/// Prints a small TOML, which `--calibration` of other commands takes. nccl-tests, rccl-tests, nvbandwidth and
/// p2pBandwidthLatencyTest are read, and every other table with a size and a time or a busbw.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the benchmarks printed: files, folders or archives
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<OsString>,
    /// The machine, where the runs do not describe it: a file, a machine in one line, the name of a system
    #[arg(long, value_name = "SOURCE")]
    machine: Vec<OsString>,
    /// The collective of tables that do not name theirs
    #[arg(long, value_name = "NAME", default_value = "all-reduce", value_parser = predicted)]
    collective: Collective,
    /// Where to write it instead of standard output
    #[arg(long, value_name = "FILE")]
    save: Option<std::path::PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
}

fn predicted(text: &str) -> Result<Collective, String> {
    collective(text, &PREDICTED)
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let sources: Vec<OsString> = args.machine.iter().chain(&args.runs).cloned().collect();
    let loaded = load::load(&sources, &args.open, "calibrate by", catalogue)?;
    let mut findings = Vec::new();
    let mut request = Request::new(args.collective);
    request.settings = settings::settings(&[], None, &loaded, &mut findings)?;
    request.access = PeerAccess::of_case(&loaded.case, &loaded.graph.host, catalogue);
    let mut read: Vec<(CalibrationSource, Vec<Observation>)> = Vec::new();
    let mut pairs: Vec<PairEvidence> = Vec::new();
    for run in &args.runs {
        let file = run.to_string_lossy();
        let compared = measured::compared(&loaded, &file, args.collective, &request, catalogue);
        let rows = observations(&compared);
        let pair_count: usize = compared.pairs.iter().map(|pairs| pairs.evidence.pairs).sum();
        pairs.extend(compared.pairs.iter().map(|pairs| pairs.evidence));
        findings.extend(compared.diagnostics);
        read.push((CalibrationSource { file: file.into_owned(), rows: rows.len() + pair_count }, rows));
    }
    let all: Vec<Observation> = read.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    if all.is_empty() && pairs.is_empty() {
        findings.push(Diagnostic::error(NOT_COMPARED, "no row of the runs can be put beside a prediction"));
        let failure = Failure::because(Exit::BadInput, "calibrate", findings, loaded.sources);
        return Err(failure);
    }
    let mut calibration = fit(&all, &pairs, catalogue).map_err(|error| {
        Failure::new(Exit::Bug, "calibrate", Diagnostic::error(NOT_COMPARED, error.to_string()))
    })?;
    calibration.machine = machine(args, &loaded);
    calibration.sources = read.into_iter().map(|(source, _)| source).collect();
    let mut talk = report::findings(&findings, &loaded.sources);
    talk.push_str(&summary(&calibration, &all));
    let text = calibration.to_toml();
    match &args.save {
        Some(path) => {
            output::file(path, text.as_bytes())?;
            let _ = writeln!(talk, "written to {}; use it with `--calibration {0}`", path.display());
            Ok(Answer { talk, ..Answer::default() })
        }
        None => Ok(Answer { talk, ..Answer::plain(text) }),
    }
}

/// What the user calls the machine.
fn machine(args: &Args, loaded: &Loaded) -> Option<String> {
    let given = args.machine.first().map(|source| source.to_string_lossy().into_owned());
    given
        .or_else(|| loaded.case.machine.as_ref().map(|machine| machine.name.clone()))
        .filter(|name| !name.is_empty())
}

fn observations(compared: &Compared<'_>) -> Vec<Observation> {
    let points = compared.tables.iter().flat_map(|table| {
        let collective = table.comparison.collective;
        table.comparison.points.iter().map(move |point| (collective, point))
    });
    points
        .map(|(collective, point)| {
            let row = &point.expected;
            let regime = Regime { collective, algorithm: row.algorithm, protocol: row.protocol };
            Observation { regime, parts: row.parts, measured_us: point.time.as_seconds() * 1e6 }
        })
        .collect()
}

/// The parameters, and how far rows are from them before and after.
fn summary(calibration: &Calibration, rows: &[Observation]) -> String {
    let mut table = Table::default();
    for parameter in Parameter::ALL {
        let Fitted { value, standard_error } = calibration.fitted(parameter);
        let spread = format!("± {:.1} %", 100.0 * standard_error);
        table.row([Cell::new(parameter.name()), Cell::number(format!("{value:.3}")), Cell::number(spread)]);
    }
    let mut text = format!("{}\n{}", heading("Parameters"), table.lines());
    let middle = |expected: &dyn Fn(&Observation) -> f64| {
        let mut errors: Vec<f64> =
            rows.iter().map(|row| (expected(row) / row.measured_us - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).map_or(0.0, |error| 100.0 * error)
    };
    let (before, by_parameters, after) = (
        middle(&|row| row.parts.total_us()),
        middle(&|row| calibration.scaled_us(&row.parts)),
        middle(&|row| calibration.time_us(row.regime, &row.parts)),
    );
    let _ = writeln!(
        text,
        "{}",
        faint(format_args!(
            "median error over these {} rows: {before:.1} % as predicted, {by_parameters:.1} % by the parameters, {after:.1} % with the correction",
            rows.len()
        ))
    );
    text
}
