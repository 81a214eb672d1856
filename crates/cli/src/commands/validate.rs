use std::path::PathBuf;
use std::str::FromStr;

use weft_base::{Bytes, Diagnostic};
use weft_catalogue::Catalogue;
use weft_predictor::validate::{Kind, LeftOut, Measurement, read_rows, score};

use super::Answer;
use crate::codes::FILE_UNUSED;
use crate::exit::{Exit, Failure};
use crate::validate::{self, Asked};
use crate::{input, json, report};

/// How good is the model: published measurements against predictions
///
/// Reads every `coll_*.csv` of a folder and scores all its rows of NCCL and RCCL. Every group (system,
/// collective, section of the source) weighs the same, and a row that cannot be predicted is infinitely wrong.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder with the measurements
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
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
}

impl KindName {
    fn kind(self) -> Kind {
        match self {
            Self::Bandwidth => Kind::Bandwidth,
            Self::Between => Kind::Between,
            Self::Latency => Kind::Latency,
        }
    }
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let (mut files, mut diagnostics) = (Vec::new(), Vec::new());
    let mut left_out: Vec<(String, LeftOut)> = Vec::new();
    let mut texts = Vec::new();
    for path in input::folder_files(&args.folder)? {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if !name.starts_with("coll_") || path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let given = input::file(&path, true)?;
        diagnostics.extend(given.diagnostics);
        let (read, found) = read_rows(&given.source.name, &given.source.text);
        diagnostics.extend(found);
        left_out.extend(read.left_out.into_iter().map(|rows| (name.clone(), rows)));
        let rows: Vec<Measurement> = read.rows.into_iter().filter(|row| args.asks(row)).collect();
        files.push((name, rows));
        texts.push(given.source);
    }
    if files.is_empty() {
        let message = format!("{} holds no coll_*.csv", args.folder.display());
        let why =
            Diagnostic::error(FILE_UNUSED, message).hint("name the folder of the published measurements");
        return Err(Failure::new(Exit::BadInput, format!("validate against {}", args.folder.display()), why));
    }
    let scores = score(&files, catalogue);
    let kind = args.kind.map(KindName::kind);
    let asked = Asked { min_size: args.min_size, kind, left_out: &left_out };
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::validate::document(&scores))),
        Format::Csv => Answer::plain(validate::csv(&scores)),
        Format::Markdown => Answer::plain(validate::markdown(&scores, &asked)),
        Format::Text => {
            let talk = report::findings(&diagnostics, &texts);
            Answer { text: validate::text(&scores, &asked), talk, plain: false, ..Answer::default() }
        }
    })
}

impl Args {
    /// A row without a size is a peak, and counts whatever the least size is.
    fn asks(&self, row: &Measurement) -> bool {
        let large = row.size.is_none_or(|size| self.min_size.is_none_or(|least| size >= least));
        large && self.kind.is_none_or(|kind| kind.kind() == Kind::of(row.size))
    }
}
