//! `weft/compare/1`.

use serde::Serialize;
use weft_base::{Diagnostic, Place};
use weft_predictor::compare::{Change, Changes, ExpectedChange, Moved, PairsChange, Said, TableChange};

use super::DiagnosticJson;

/// The version of this document.
pub const SCHEMA: &str = "weft/compare/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct ChangesJson {
    schema: &'static str,
    slower: Option<bool>,
    changes: Vec<ChangeJson>,
    tables: Vec<TableJson>,
    pairs: Vec<PairsJson>,
    expected: Vec<ExpectedJson>,
    one_sided: Vec<OneSidedJson>,
    unmatched: Vec<SaidJson>,
    left_out: usize,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct ChangeJson {
    kind: &'static str,
    what: String,
    subjects: Vec<String>,
    before: Option<SaidJson>,
    after: Option<SaidJson>,
    weight: u16,
}

#[derive(Debug, Serialize)]
struct SaidJson {
    text: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Debug, Serialize)]
struct TableJson {
    what: String,
    ranks_before: Option<usize>,
    ranks_after: Option<usize>,
    before: PlaceJson,
    after: PlaceJson,
    limit_ratio: f64,
    rows: Vec<RowJson>,
    unmatched_count: usize,
}

#[derive(Debug, Serialize)]
struct PlaceJson {
    file: String,
    line: u32,
}

#[derive(Debug, Serialize)]
struct RowJson {
    bytes: u64,
    before_s: f64,
    before_line: u32,
    after_s: f64,
    after_line: u32,
    ratio: f64,
    moved: &'static str,
}

#[derive(Debug, Serialize)]
struct PairsJson {
    what: String,
    before: PlaceJson,
    after: PlaceJson,
    pair_count: usize,
    ratio: f64,
    slower: Vec<PairJson>,
    quicker_count: usize,
}

#[derive(Debug, Serialize)]
struct PairJson {
    from: String,
    to: String,
    ratio: f64,
}

#[derive(Debug, Serialize)]
struct ExpectedJson {
    bytes: u64,
    before_busbw_bytes_per_s: u64,
    after_busbw_bytes_per_s: u64,
}

#[derive(Debug, Serialize)]
struct OneSidedJson {
    tool: &'static str,
    side: &'static str,
}

/// The document of two sides.
pub fn document(found: &Changes, diagnostics: &[Diagnostic]) -> ChangesJson {
    let one_sided = found
        .one_sided
        .iter()
        .map(|(tool, is_before)| OneSidedJson { tool, side: if *is_before { "before" } else { "after" } });
    ChangesJson {
        schema: SCHEMA,
        slower: Some(found.is_slower()),
        changes: found.changes.iter().map(change).collect(),
        tables: found.tables.iter().map(table).collect(),
        pairs: found.pairs.iter().map(pairs).collect(),
        expected: found.expected.iter().map(expected).collect(),
        one_sided: one_sided.collect(),
        unmatched: found.unmatched.iter().map(said).collect(),
        left_out: found.left_out,
        diagnostics: super::all(diagnostics),
    }
}

/// The document where a side could not be read.
pub fn failed(diagnostics: &[Diagnostic]) -> ChangesJson {
    ChangesJson { slower: None, ..document(&Changes::default(), diagnostics) }
}

fn change(change: &Change) -> ChangeJson {
    ChangeJson {
        kind: change.kind.name(),
        what: change.what.clone(),
        subjects: change.subjects.clone(),
        before: change.before.as_ref().map(said),
        after: change.after.as_ref().map(said),
        weight: change.weight,
    }
}

fn said(said: &Said) -> SaidJson {
    SaidJson {
        text: said.text.clone(),
        file: said.place.as_ref().map(|place| place.file.clone()),
        line: said.place.as_ref().map(|place| place.line.max(1)),
    }
}

fn place(place: &Place) -> PlaceJson {
    PlaceJson { file: place.file.clone(), line: place.line.max(1) }
}

fn table(table: &TableChange) -> TableJson {
    let moved = |moved: Moved| match moved {
        Moved::Same => "same",
        Moved::Slower => "slower",
        Moved::Quicker => "quicker",
    };
    let rows = table.rows.iter().map(|row| RowJson {
        bytes: row.bytes.get(),
        before_s: row.before.0.as_seconds(),
        before_line: row.before.1.max(1),
        after_s: row.after.0.as_seconds(),
        after_line: row.after.1.max(1),
        ratio: row.ratio,
        moved: moved(row.moved),
    });
    TableJson {
        what: table.what.clone(),
        ranks_before: table.ranks.0,
        ranks_after: table.ranks.1,
        before: place(&table.before),
        after: place(&table.after),
        limit_ratio: table.limit_ratio,
        rows: rows.collect(),
        unmatched_count: table.unmatched_count,
    }
}

fn pairs(change: &PairsChange) -> PairsJson {
    let slower = change.slower.iter().map(|(from, to, ratio)| PairJson {
        from: from.clone(),
        to: to.clone(),
        ratio: *ratio,
    });
    PairsJson {
        what: change.what.clone(),
        before: place(&change.before),
        after: place(&change.after),
        pair_count: change.pair_count,
        ratio: change.ratio,
        slower: slower.collect(),
        quicker_count: change.quicker_count,
    }
}

fn expected(change: &ExpectedChange) -> ExpectedJson {
    ExpectedJson {
        bytes: change.bytes.get(),
        before_busbw_bytes_per_s: change.before.get(),
        after_busbw_bytes_per_s: change.after.get(),
    }
}
