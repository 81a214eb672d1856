//! Published measurements against predictions: one error per row, medians per group and kind.
//!
//! A row is scored on its bus bandwidth, or on the best predicted one up to 16 GiB where it names no size
//! (a peak). Where the source says how well its values could be read, the nearer edge of that interval counts.
//! Every row of NCCL or RCCL counts: one that cannot be predicted has an infinite error.

mod calibrated;
mod corpus;
mod coverage;
mod interconnect;
mod interval;
pub(crate) mod machine;
mod platform;
mod question;
mod rivals;
mod row;
mod score;
mod software;

use weft_base::{Bytes, Code, Rate};
use weft_collective::Collective;

pub use calibrated::{CalibratedReport, Kinds, Third, score_calibrated};
pub use corpus::{Corpus, Expect, Fault, Run, read_runs, score_runs};
pub use interval::ReadingError;
pub use rivals::{Rivals, rivals};
pub use row::{LeftOut, Measurement, Nodes, Rows, read_rows};
pub(crate) use score::quantile;
pub use score::{GroupScore, KindScore, Report, Skipped, score};
pub use software::Software;

use crate::{Algorithm, Protocol};

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

/// One row beside its prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Line of the CSV file.
    pub line: u64,
    /// The machine that was predicted, in words.
    pub machine: String,
    /// The collective.
    pub collective: Collective,
    /// Message size; `None` for a peak.
    pub size: Option<Bytes>,
    /// What was measured.
    pub measured: Rate,
    /// What is predicted.
    pub predicted: Rate,
    /// The least that is expected of nine in ten measurements.
    pub low: Rate,
    /// The most that is expected of them.
    pub high: Rate,
    /// How far the measured value is from the predicted one, in half-widths of that interval by logarithms.
    pub distance_factor: f64,
    /// The interval's end over its begin.
    pub width_factor: f64,
    /// What NCCL is taken to choose.
    pub algorithm: Algorithm,
    /// What NCCL is taken to choose.
    pub protocol: Protocol,
    /// |predicted - measured| / measured, of the time for small messages, else of the bandwidth; the measured value
    /// moved within its reading error.
    pub error: f64,
    /// How many times the one is the other, whichever is larger.
    pub factor: f64,
    /// Names of the warnings that the prediction printed before the measurement was read.
    pub warned: Vec<&'static str>,
}
