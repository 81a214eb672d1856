use std::path::{Path, PathBuf};
use std::str::FromStr;

use weft_base::{Bytes, Diagnostic};
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Source};
use weft_predictor::calibrate::Calibration;
use weft_predictor::train::{Tables, TrainReport};
use weft_predictor::validate::{
    Expect, Kind, LeftOut, Measurement, Report, read_rows, read_runs, rivals, score, score_calibrated,
    score_runs,
};

use super::Answer;
use crate::codes::FILE_UNUSED;
use crate::exit::{Exit, Failure};
use crate::validate::{self, Asked};
use crate::{calibration, input, json, report};

/// How good is the model: published measurements against predictions
///
/// Reads every `coll_*.csv` of a folder and scores all its rows of NCCL and RCCL, and the steps of training of every
/// `train_*.csv`, of which every file weighs the same. Every group (system,
/// collective, section of the source) weighs the same, and a row that cannot be predicted is infinitely wrong.
///
/// With `--machines` the folder holds outputs of benchmarks instead, and the table says which machine each of them is
/// of: `file,machine,expect,collective,settings,why`, where `expect` is good, neutral, low, asked or out.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder with the measurements
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The folder holds outputs of benchmarks of the machines in this table
    #[arg(long, value_name = "TABLE")]
    machines: Option<PathBuf>,
    /// Fit every third row by ascending size of each machine and collective, and score the others; each third in turn
    #[arg(long, conflicts_with = "machines")]
    calibrated: bool,
    /// Predict every row with what `weft calibrate` fitted to this machine
    #[arg(long, value_name = "FILE", conflicts_with = "calibrated")]
    calibration: Option<PathBuf>,
    /// Only rows of at least this size, and peaks
    #[arg(long, value_name = "SIZE", value_parser = Bytes::from_str)]
    min_size: Option<Bytes>,
    /// Only rows of this kind
    #[arg(long, value_enum, ignore_case = true, value_name = "KIND")]
    kind: Option<KindName>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// For a reader.
    #[default]
    Text,
    /// For a script: `schemas/validate.json` describes it.
    Json,
    /// The table that is kept in docs/models.
    Markdown,
    /// One line for each row, predicted or not.
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum KindName {
    /// 64 MiB and above, and peaks.
    Bandwidth,
    /// In between.
    Between,
    /// 64 KiB and below.
    Latency,
    /// Steps of training.
    Training,
}

impl KindName {
    /// The kind of collectives; `None` for steps of training.
    fn kind(self) -> Option<Kind> {
        match self {
            Self::Bandwidth => Some(Kind::Bandwidth),
            Self::Between => Some(Kind::Between),
            Self::Latency => Some(Kind::Latency),
            Self::Training => None,
        }
    }
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let known = args.calibration.as_deref().map(calibration::read).transpose()?;
    match &args.machines {
        Some(table) => corpus(args, table, known.as_ref(), catalogue),
        None => published(args, known.as_ref(), catalogue),
    }
}

/// The tables of a folder.
#[derive(Default)]
struct Folder {
    /// Rows of collectives by file.
    collectives: Vec<(String, Vec<Measurement>)>,
    left_out: Vec<(String, LeftOut)>,
    /// Texts of tables of training steps, by file.
    steps: Vec<(String, String)>,
    texts: Vec<Source>,
    diagnostics: Vec<Diagnostic>,
}

impl Folder {
    fn read(args: &Args) -> Result<Self, Failure> {
        let mut folder = Self::default();
        for path in input::folder_files(&args.folder)? {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let csv = path.extension().is_some_and(|extension| extension == "csv");
            if csv && name.starts_with("train_") && args.asks_training() {
                folder.steps.push((name, input::file(&path, true)?.source.text));
            } else if csv && name.starts_with("coll_") {
                folder.collectives(name, input::file(&path, true)?, args);
            }
        }
        if folder.collectives.is_empty() && folder.steps.is_empty() {
            let message = format!("{} holds no coll_*.csv and no train_*.csv", args.folder.display());
            let why =
                Diagnostic::error(FILE_UNUSED, message).hint("name the folder of the published measurements");
            let what = format!("validate against {}", args.folder.display());
            return Err(Failure::new(Exit::BadInput, what, why));
        }
        Ok(folder)
    }

    fn collectives(&mut self, name: String, given: input::Given, args: &Args) {
        self.diagnostics.extend(given.diagnostics);
        let (read, found) = read_rows(&given.source.name, &given.source.text);
        self.diagnostics.extend(found);
        self.left_out.extend(read.left_out.into_iter().map(|rows| (name.clone(), rows)));
        let rows = read.rows.into_iter().filter(|row| args.asks_size(row.size)).collect();
        self.collectives.push((name, rows));
        self.texts.push(given.source);
    }

    /// Steps of training, priced; `None` without any.
    fn training(&mut self, catalogue: &Catalogue) -> Option<TrainReport> {
        if self.steps.is_empty() {
            return None;
        }
        let tables = Tables::of(&self.steps, catalogue);
        self.diagnostics.extend(tables.diagnostics.iter().cloned());
        Some(tables.score(catalogue))
    }
}

fn published(args: &Args, known: Option<&Calibration>, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let mut folder = Folder::read(args)?;
    let training = folder.training(catalogue);
    let others = rivals(catalogue).unwrap_or_default();
    let command = "weft validate ../shared/measured";
    let asked = Asked {
        rivals: &others,
        command: &format!("{command}{}", if args.calibrated { " --calibrated" } else { "" }),
        what: "all of NCCL and RCCL",
        min_size: args.min_size,
        kind: args.kind.and_then(KindName::kind),
        left_out: &folder.left_out,
    };
    let talk = || report::findings(&folder.diagnostics, &folder.texts);
    if args.calibrated {
        let scores = score_calibrated(&folder.collectives, catalogue);
        return Ok(match args.format {
            Format::Json => Answer::plain(json::text(&json::validate::calibrated(&scores))),
            Format::Csv => Answer::plain(validate::csv_calibrated(&scores)),
            Format::Markdown => Answer::plain(validate::calibrated_markdown(&scores, &asked)),
            Format::Text => {
                Answer { text: validate::calibrated_text(&scores, &asked), talk: talk(), ..Answer::default() }
            }
        });
    }
    let only_training = args.kind == Some(KindName::Training);
    let scores = if only_training { Report::default() } else { score(&folder.collectives, known, catalogue) };
    let both = |of_collectives: fn(&Report, &Asked<'_>) -> String,
                of_training: fn(&TrainReport) -> String| {
        let collectives = (!only_training).then(|| of_collectives(&scores, &asked));
        let parts = collectives.into_iter().chain(training.as_ref().map(of_training));
        parts.collect::<Vec<_>>().join("\n")
    };
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::validate::document(&scores, training.as_ref()))),
        Format::Csv => Answer::plain(validate::csv(&scores)),
        Format::Markdown => Answer::plain(both(validate::markdown, validate::training_markdown)),
        Format::Text => {
            Answer { text: both(validate::text, validate::training_text), talk: talk(), ..Answer::default() }
        }
    })
}

/// Outputs of benchmarks, each of the machine that a line of `table` tells.
fn corpus(
    args: &Args,
    table: &Path,
    known: Option<&Calibration>,
    catalogue: &Catalogue,
) -> Result<Answer, Failure> {
    let given = input::file(table, false)?;
    let (runs, mut diagnostics) = read_runs(&given.source.name, &given.source.text);
    let mut texts = vec![given.source];
    let (mut asked, mut left_out) = (Vec::new(), Vec::new());
    for run in runs {
        if run.expect == Expect::OutOfScope {
            left_out.push((run.file, LeftOut { rows: 0, why: run.why }));
            continue;
        }
        let given = input::file(&args.folder.join(format!("{}.txt", run.file)), true)?;
        let reading = weft_formats::read(&given.source, catalogue, None);
        let tables = reading.evidence.into_iter().filter_map(|located| {
            let Evidence::Benchmark(mut table) = located.value else { return None };
            table.rows.retain(|row| args.asks_size(Some(row.bytes)));
            Some(*table)
        });
        asked.push((run, tables.collect()));
        diagnostics.extend(given.diagnostics);
        texts.push(given.source);
    }
    let scores = score_runs(&asked, known, catalogue);
    let asked = Asked {
        rivals: &[],
        command: "weft validate ../shared/corpus --machines crates/predictor/tests/data/corpus_machines.csv",
        what: "sound runs",
        min_size: args.min_size,
        kind: args.kind.and_then(KindName::kind),
        left_out: &left_out,
    };
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::validate::document(&scores.sound, None))),
        Format::Csv => Answer::plain(validate::csv(&scores.sound) + &validate::csv_rows(&scores.open)),
        Format::Markdown => Answer::plain(validate::corpus_markdown(&scores, &asked)),
        Format::Text => {
            let talk = report::findings(&diagnostics, &texts);
            Answer { text: validate::corpus_text(&scores, &asked), talk, plain: false, ..Answer::default() }
        }
    })
}

impl Args {
    /// Steps of training are asked for with all else, or alone; no calibration of collectives and no size is theirs.
    fn asks_training(&self) -> bool {
        match self.kind {
            Some(kind) => kind == KindName::Training,
            None => !self.calibrated && self.calibration.is_none() && self.min_size.is_none(),
        }
    }

    /// A row without a size is a peak, and counts whatever the least size is.
    fn asks_size(&self, size: Option<Bytes>) -> bool {
        let large = size.is_none_or(|size| self.min_size.is_none_or(|least| size >= least));
        large && self.kind.is_none_or(|kind| kind.kind() == Some(Kind::of(size)))
    }
}
