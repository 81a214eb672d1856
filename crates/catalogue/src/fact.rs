//! A value with where it comes from. There are no other numbers in the catalogue.

use serde::{Deserialize, Serialize};

/// How far a value can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Read off real hardware by the source.
    Measured,
    /// Stated by the vendor or a standard.
    Datasheet,
    /// Computed from values that are measured or from a datasheet; the note says how.
    Derived,
    /// Taken as typical because no source for this device was found; the note says from what.
    Assumed,
    /// Stated for hardware that is not shipping.
    Announced,
}

impl Grade {
    /// The word used in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Datasheet => "datasheet",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
            Self::Announced => "announced",
        }
    }
}

/// A value, its grade and its source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact<T> {
    /// The value itself.
    pub value: T,
    /// How far it can be trusted.
    pub grade: Grade,
    /// A key of `catalogue/sources.toml`.
    pub source: String,
    /// Page, section or table in the source.
    #[serde(default)]
    pub at: Option<String>,
    /// What the value counts, how it was derived, or what disagrees with it.
    #[serde(default)]
    pub note: Option<String>,
}

/// A document that facts come from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The document's title.
    pub title: String,
    /// Who published it.
    pub publisher: String,
    /// Version, revision or date; what identifies the text that was read.
    #[serde(default)]
    pub version: Option<String>,
    /// Where it is found: an address, or a repository with commit and path.
    pub address: String,
    /// Set where the text was not read for this catalogue but is quoted from general knowledge.
    #[serde(default)]
    pub unread: bool,
}
