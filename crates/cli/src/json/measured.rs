//! `weft/predict-measured/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_predictor::compare::{Band, Cause, Compared, Pairs, Point, Table};

use super::DiagnosticJson;

/// The version of this document.
pub const SCHEMA: &str = "weft/predict-measured/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct MeasuredJson {
    schema: &'static str,
    tables: Vec<TableJson>,
    pairs: Vec<PairsJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct TableJson {
    collective: &'static str,
    ranks: usize,
    file: String,
    line: u32,
    rows: Vec<RowJson>,
    bands: Vec<BandJson>,
    most_busbw_bytes_per_s: u64,
    causes: Vec<CauseJson>,
    shape: Option<ShapeJson>,
    /// Where the machine follows from the ranks alone.
    assumed_machine: Option<String>,
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct RowJson {
    bytes: u64,
    line: u32,
    measured_s: f64,
    measured_busbw_bytes_per_s: u64,
    expected_s: f64,
    low_s: f64,
    high_s: f64,
    expected_busbw_bytes_per_s: u64,
    ratio: f64,
    verdict: &'static str,
    algorithm: &'static str,
    protocol: &'static str,
    bound_by: String,
}

#[derive(Debug, Serialize)]
struct BandJson {
    band: &'static str,
    row_count: usize,
    ratio: f64,
    verdict: &'static str,
    bound_by: String,
    doubt: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct CauseJson {
    as_if: &'static str,
    look_at: &'static str,
    busbw_bytes_per_s: u64,
    explains: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct ShapeJson {
    shape: &'static str,
    text: String,
    look_at: &'static str,
}

#[derive(Debug, Serialize)]
struct PairsJson {
    title: String,
    file: String,
    line: u32,
    ratio: f64,
    pair_count: usize,
}

/// The document of a comparison; what is in `diagnostics` besides came of reading.
pub fn document(compared: &Compared<'_>, diagnostics: &[Diagnostic]) -> MeasuredJson {
    MeasuredJson {
        schema: SCHEMA,
        tables: compared.tables.iter().map(table).collect(),
        pairs: compared.pairs.iter().map(pairs).collect(),
        diagnostics: super::all(diagnostics),
    }
}

fn table(Table { place, comparison, machine, .. }: &Table<'_>) -> TableJson {
    TableJson {
        collective: comparison.collective.name(),
        ranks: comparison.ranks,
        file: place.file.clone(),
        line: comparison.line.max(1),
        rows: comparison.points.iter().map(row).collect(),
        bands: comparison.bands.iter().map(band).collect(),
        most_busbw_bytes_per_s: comparison.most.get(),
        causes: comparison.causes.iter().map(cause).collect(),
        shape: comparison.shape.as_ref().map(|shape| ShapeJson {
            shape: shape.name(),
            text: shape.text(),
            look_at: shape.look(),
        }),
        assumed_machine: machine.clone(),
        left_out: comparison.left_out,
    }
}

fn row(point: &Point) -> RowJson {
    let expected = &point.expected;
    RowJson {
        bytes: point.bytes.get(),
        line: point.line.max(1),
        measured_s: point.time.as_seconds(),
        measured_busbw_bytes_per_s: point.busbw.get(),
        expected_s: expected.time.as_seconds(),
        low_s: point.expected.low.as_seconds(),
        high_s: point.expected.high.as_seconds(),
        expected_busbw_bytes_per_s: expected.busbw.get(),
        ratio: point.ratio,
        verdict: point.verdict.name(),
        algorithm: expected.algorithm.name(),
        protocol: expected.protocol.name(),
        bound_by: expected.bound_by.clone(),
    }
}

fn band(band: &Band) -> BandJson {
    BandJson {
        band: band.kind.name(),
        row_count: band.point_count,
        ratio: band.ratio,
        verdict: band.verdict.name(),
        bound_by: band.bound_by.clone(),
        doubt: band.doubt,
    }
}

fn cause(cause: &Cause) -> CauseJson {
    let explains = cause.explains.iter().map(|kind| kind.name()).collect();
    CauseJson { as_if: cause.text, look_at: cause.look, busbw_bytes_per_s: cause.busbw.get(), explains }
}

fn pairs(pairs: &Pairs) -> PairsJson {
    PairsJson {
        title: pairs.title.clone(),
        file: pairs.place.file.clone(),
        line: pairs.place.line.max(1),
        ratio: pairs.evidence.share,
        pair_count: pairs.evidence.pairs,
    }
}
