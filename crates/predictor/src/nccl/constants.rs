//! The library's constants, read from the catalogue once per prediction.

use weft_catalogue::{Catalogue, Library, Table};

use crate::PredictError;
use crate::step::Cite;

/// Which library's constants are used.
const LIBRARY: &str = "nccl-2.30";

/// Access to the tables of one library version.
#[derive(Clone, Copy)]
pub(crate) struct Constants<'c> {
    library: &'c Library,
}

/// Columns of the tables by protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    First,
    Second,
    Third,
}

impl<'c> Constants<'c> {
    /// The constants of NCCL's newest version.
    pub fn new(catalogue: &'c Catalogue) -> Result<Self, PredictError> {
        Self::of(catalogue, LIBRARY)
    }

    /// The constants of one library.
    pub fn of(catalogue: &'c Catalogue, library: &str) -> Result<Self, PredictError> {
        Ok(Self { library: catalogue.library(library)? })
    }

    /// As its makers write it: `NCCL 2.30`.
    pub fn title(self) -> &'c str {
        &self.library.title
    }

    fn table(self, table: &str) -> Result<&'c Table, PredictError> {
        self.library.tables.get(table).ok_or_else(|| self.missing(table, ""))
    }

    /// All values of a row.
    pub fn row(self, table: &str, row: &str) -> Result<&'c [f64], PredictError> {
        self.table(table)?.rows.get(row).map(Vec::as_slice).ok_or_else(|| self.missing(table, row))
    }

    /// One value of a row.
    pub fn value(self, table: &str, row: &str, column: Column) -> Result<f64, PredictError> {
        self.row(table, row)?.get(column as usize).copied().ok_or_else(|| self.missing(table, row))
    }

    /// The only value of a row.
    pub fn only(self, table: &str, row: &str) -> Result<f64, PredictError> {
        self.value(table, row, Column::First)
    }

    /// The value of a row at `index`, the last one beyond its end.
    pub fn at(self, table: &str, row: &str, index: usize) -> Result<f64, PredictError> {
        let values = self.row(table, row)?;
        values.get(index).or(values.last()).copied().ok_or_else(|| self.missing(table, row))
    }

    /// The key of the table's source, and the table's grade.
    pub fn cite(self, table: &str) -> Option<Cite<'c>> {
        self.library.tables.get(table).map(|table| (table.source.as_str(), table.grade))
    }

    fn missing(self, table: &str, row: &str) -> PredictError {
        PredictError::Constant { name: format!("{}: {table} {row}", self.library.name).trim_end().to_owned() }
    }
}
