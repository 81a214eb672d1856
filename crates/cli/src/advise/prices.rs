//! A user's prices in place of those of the catalogue.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use weft_advisor::bill::Prices;
use weft_base::{Diagnostic, Money, nearest};
use weft_catalogue::Catalogue;

use crate::codes::NO_ADVICE;
use crate::exit::{Exit, Failure};
use crate::{explain, input};

/// No file, no prices.
pub fn read(file: Option<&OsStr>, catalogue: &Catalogue) -> Result<Prices, Failure> {
    let Some(file) = file else { return Ok(Prices::default()) };
    let given = input::file(Path::new(file), false)?;
    let refused = |message: String, hint: String| {
        let finding = Diagnostic::error(NO_ADVICE, message).hint(hint);
        Failure::new(Exit::BadInput, format!("read prices from {}", given.source.name), finding)
    };
    let overrides: BTreeMap<String, Money> = toml::from_str(&given.source.text)
        .map_err(|error| refused(error.to_string(), "lines are `name = \"36000 USD\"`".to_owned()))?;
    for name in overrides.keys() {
        let known: Vec<&str> = explain::names(catalogue).collect();
        if !known.contains(&name.as_str()) {
            let near = nearest(name, known, 3).join("`, `");
            return Err(refused(format!("`{name}` is nothing that is bought"), format!("near are `{near}`")));
        }
    }
    Ok(Prices { overrides })
}
