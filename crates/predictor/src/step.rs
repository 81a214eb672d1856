//! Steps of a derivation, each with what it rests on.

use weft_catalogue::{Catalogue, Grade};

/// One step of a derivation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What is stated, as a sentence without a full stop, with its numbers.
    pub text: String,
    /// Where it comes from, in words: titles of sources with grades; empty for arithmetic.
    pub source: String,
    /// Keys of the catalogue's sources that it rests on.
    pub keys: Vec<String>,
}

/// A source's key, and the grade of the fact that is taken from it.
pub(crate) type Cite<'a> = (&'a str, Grade);

impl Step {
    /// What follows from the steps above it.
    pub(crate) fn arithmetic(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: String::new(), keys: Vec::new() }
    }

    /// What follows from how the algorithm moves data.
    pub(crate) fn modelled(text: impl Into<String>) -> Self {
        Self { source: "the model; see docs/models/nccl.md".to_owned(), ..Self::arithmetic(text) }
    }

    /// What documents say.
    pub(crate) fn cited(text: impl Into<String>, catalogue: &Catalogue, cites: &[Cite<'_>]) -> Self {
        let mut titles: Vec<String> = Vec::new();
        let mut keys: Vec<String> = Vec::new();
        for (key, grade) in cites {
            let title = catalogue.sources.get(*key).map_or(*key, |source| source.title.as_str());
            let words = format!("{title} ({})", grade.word());
            if !titles.contains(&words) {
                titles.push(words);
                keys.push((*key).to_owned());
            }
        }
        Self { text: text.into(), source: titles.join("; "), keys }
    }
}
