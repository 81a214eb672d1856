//! Published measurements against predictions: one error per row, medians per group and kind.
//!
//! A row is scored on its bus bandwidth, or on the best predicted one up to 16 GiB where it names no size
//! (a peak). It is skipped only where a field that it needs is empty or names nothing known.

mod machine;
mod row;
mod score;

use weft_base::{Bytes, Code, Rate};
use weft_catalogue::Catalogue;

pub use row::{Measurement, read_rows};
pub use score::{GroupScore, KindScore, Report, Skipped, score};

use crate::{Algorithm, PeerAccess, PredictError, Request, default_sizes, predict};

/// A field of a measurement that should be a number.
pub const NOT_A_NUMBER: Code = Code {
    name: "measurement-not-a-number",
    explanation: "A field of a published measurement that must be a number is something else, so the row is not scored. \
        The line is that of the CSV file.",
};

/// What is scored by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// 64 MiB and above, and peaks.
    Bandwidth,
    /// In between.
    Between,
    /// 64 KiB and below.
    Latency,
}

impl Kind {
    /// The kind of a row of that size; `None` is a peak.
    pub fn of(size: Option<Bytes>) -> Self {
        match size.map(Bytes::get) {
            Some(size) if size <= 64 << 10 => Self::Latency,
            Some(size) if size < 64 << 20 => Self::Between,
            Some(_) | None => Self::Bandwidth,
        }
    }

    /// The name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Between => "between",
            Self::Latency => "latency",
        }
    }
}

/// The error of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Line of the CSV file.
    pub line: u64,
    /// What was measured.
    pub measured: Rate,
    /// What is predicted.
    pub predicted: Rate,
    /// |predicted - measured| / measured.
    pub error: f64,
    /// Names of the warnings that the prediction printed before the measurement was read.
    pub warned: Vec<&'static str>,
}

/// The largest size to which a peak is compared.
const PEAK_SIZE_MAX: u64 = 16 << 30;

/// Predicts what `row` measured; the measured value itself is read only afterwards.
pub fn predict_row(row: &Measurement, catalogue: &Catalogue) -> Result<Scored, String> {
    let machine = machine::of(row, catalogue)?;
    let built = weft_topology::build(&machine, catalogue).map_err(|error| error.to_string())?;
    let mut request = Request::new(row.collective);
    if let Some(algorithm) = row.algorithm.as_deref().and_then(stated_algorithm) {
        request.settings = request.settings.only(algorithm);
    }
    if row.says("P2P") {
        request.access = PeerAccess::Everywhere;
    }
    request.sizes = match row.size {
        Some(size) => vec![size],
        None => default_sizes().into_iter().chain([Bytes::new(PEAK_SIZE_MAX)]).collect(),
    };
    let prediction =
        predict(&built.topology, catalogue, &request).map_err(|error: PredictError| error.to_string())?;
    let predicted = prediction.rows.iter().map(|row| row.busbw).max().unwrap_or_default();
    let warned = prediction.diagnostics.iter().map(|diagnostic| diagnostic.code.name).collect();
    let measured = row.busbw.ok_or("busbw_GBps, algbw_GBps and time_us are empty")?;
    let error = (predicted.as_gigabytes() - measured.as_gigabytes()).abs() / measured.as_gigabytes();
    Ok(Scored { line: row.line, measured, predicted, error, warned })
}

/// The algorithm that a row says was forced or left (`Ring (NCCL_NVLS_ENABLE=0)`). NVLS says that it was
/// allowed: whole tables carry the word, down to sizes where NCCL takes a ring all the same.
fn stated_algorithm(text: &str) -> Option<Algorithm> {
    let word = text.split([' ', '(']).next()?;
    Algorithm::from_name(word).filter(|algorithm| *algorithm != Algorithm::Nvls)
}
