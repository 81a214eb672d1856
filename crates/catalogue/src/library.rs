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
    /// The library of which this one states only the differences: tables and rows that it has not are those.
    #[serde(default)]
    pub based_on: Option<String>,
    /// The tables, by name. In a loaded catalogue they are complete.
    pub tables: BTreeMap<String, Table>,
}

/// Gives each library the tables and rows of the one that it is based on. A base that does not exist, or a
/// circle of them, leaves a library as it stands in its file.
pub(crate) fn inherit(libraries: &mut [Library]) {
    for index in 0..libraries.len() {
        let mut next = libraries[index].based_on.clone();
        // No chain of bases is longer than the list.
        for _ in 0..libraries.len() {
            let Some(base) = next.and_then(|name| libraries.iter().find(|base| base.name == name)) else {
                break;
            };
            let (tables, base_of_base) = (base.tables.clone(), base.based_on.clone());
            libraries[index].take(tables);
            next = base_of_base;
        }
    }
}

impl Library {
    fn take(&mut self, tables: BTreeMap<String, Table>) {
        for (name, table) in tables {
            match self.tables.get_mut(&name) {
                None => {
                    self.tables.insert(name, table);
                }
                Some(own) => {
                    for (row, values) in table.rows {
                        own.rows.entry(row).or_insert(values);
                    }
                }
            }
        }
    }
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
