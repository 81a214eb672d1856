//! The library's constants, read from the catalogue once per prediction.

use std::collections::BTreeMap;

use weft_catalogue::{Catalogue, Library, Table};

use crate::PredictError;
use crate::settings::{Library as Maker, Version};
use crate::step::Cite;

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
    /// The constants of a version: of the nearest that the catalogue has at or below it, else of the oldest;
    /// of the newest where none is named.
    pub fn of_version(
        catalogue: &'c Catalogue,
        maker: Maker,
        version: Option<Version>,
    ) -> Result<Self, PredictError> {
        let known = catalogue.libraries.iter().filter_map(|library| {
            let version = library.name.strip_prefix(maker.prefix())?.parse::<Version>().ok()?;
            Some((version, library))
        });
        let is_wanted = |known: Version| version.is_none_or(|wanted| known <= wanted);
        let by_version: BTreeMap<Version, &Library> = known.collect();
        let below = by_version.iter().rev().find(|(known, _)| is_wanted(**known));
        let found = below.or_else(|| by_version.first_key_value()).map(|(_, library)| *library);
        let name = || format!("{} of any version", maker.name());
        found.map(|library| Self { library }).ok_or_else(|| PredictError::Constant { name: name() })
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
