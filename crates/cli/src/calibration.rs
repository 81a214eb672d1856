//! A calibration from a file that the user names.

use std::path::Path;

use weft_base::Diagnostic;
use weft_formats::Source;
use weft_predictor::calibrate::Calibration;

use crate::codes::FILE_UNREADABLE;
use crate::exit::{Exit, Failure};

/// Of predictions of NCCL.
pub fn read(path: &Path) -> Result<Calibration, Failure> {
    read_as(path, Calibration::parse)
}

/// Reads it as `parse` does; a file that says what cannot be is shown with the line.
#[expect(clippy::disallowed_methods, reason = "the command line is where files are read")]
pub fn read_as<T>(
    path: &Path,
    parse: impl FnOnce(&str, &str) -> Result<T, Diagnostic>,
) -> Result<T, Failure> {
    let name = path.display().to_string();
    let what = format!("read `{name}`");
    let text = std::fs::read_to_string(path).map_err(|error| {
        let why = Diagnostic::error(FILE_UNREADABLE, error.to_string());
        Failure::new(Exit::Environment, what.clone(), why)
    })?;
    parse(&name, &text)
        .map_err(|why| Failure::because(Exit::BadInput, what, vec![why], vec![Source::file(name, text)]))
}
