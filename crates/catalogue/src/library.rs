//! What communication libraries assume of the hardware: constants of NCCL's channel search and tuning
//! model, by version. They are a library's own model, not measurements.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Tables of one library version; each table has one source for all its numbers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// The file's name: `nccl-2.30`.
    pub name: String,
    /// As its makers write it.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The tables, by name.
    pub tables: BTreeMap<String, Table>,
}

/// Rows of numbers under named columns.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What the numbers are.
    pub title: String,
    /// Their unit: `us`, `GB/s`, `1`.
    pub unit: String,
    /// How far they can be trusted.
    pub grade: crate::Grade,
    /// A key of `catalogue/sources.toml`.
    pub source: String,
    /// Page, section or table in the source.
    #[serde(default)]
    pub at: Option<String>,
    /// From what they are derived, or why they are assumed.
    #[serde(default)]
    pub note: Option<String>,
    /// What the columns are, in order; empty for lists of any length.
    #[serde(default)]
    pub columns: Vec<String>,
    /// The rows, by name.
    pub rows: BTreeMap<String, Vec<f64>>,
}
