//! The library's version and settings: from the input, then from the options of a command.

use std::ffi::OsString;

use weft_base::Diagnostic;
use weft_predictor::{Settings, Taken, Version};

use crate::codes::{NO_SETTING, SETTING_WITHOUT_EFFECT, SETTINGS_TAKEN};
use crate::exit::{Exit, Failure};
use crate::load::Loaded;

/// A file of the machine's PCI tree, read as one more source.
const TOPOLOGY_FILE: &str = "NCCL_TOPO_FILE";

/// The sources of a command, and the file that `NCCL_TOPO_FILE` among the variables names.
pub fn with_topology_file(sources: &[OsString], given: &[(String, String)]) -> Vec<OsString> {
    let file = given.iter().rev().find(|(name, _)| name == TOPOLOGY_FILE).map(|(_, file)| file.into());
    sources.iter().cloned().chain(file).collect()
}

/// Reads `NAME=VALUE`.
pub fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as NCCL_ALGO=Ring")?;
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(format!("`{name}` is no name of a variable"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// What is said of the library: first by the input, over which the options have the last word. What was taken
/// from the input is among the `findings`; a value there that cannot be is left out, as the reader of the
/// format has warned of it.
pub fn settings(
    given: &[(String, String)],
    version: Option<Version>,
    loaded: &Loaded,
    findings: &mut Vec<Diagnostic>,
) -> Result<Settings, Failure> {
    let mut settings = Settings { version, ..Settings::default() };
    let taken =
        settings.take_from(&loaded.case.evidence, |name| given.iter().any(|(given, _)| given == name));
    for (name, value) in given {
        let effect = settings.read(name, value).map_err(|error| {
            let why = Diagnostic::error(NO_SETTING, error.to_string());
            Failure::new(Exit::Usage, format!("take `--env {name}={value}`"), why)
        })?;
        if effect == Taken::NoEffect && name != TOPOLOGY_FILE {
            let message = format!("{name} does not act on predictions");
            findings.push(Diagnostic::note(SETTING_WITHOUT_EFFECT, message));
        }
    }
    if let Some((_, place)) = taken.first() {
        let words: Vec<&str> = taken.iter().map(|(words, _)| words.as_str()).collect();
        let message = format!("taken from the input: {}", words.join(", "));
        let note = Diagnostic::note(SETTINGS_TAKEN, message).at(place.clone());
        findings.push(note.hint("`--nccl VERSION` and `--env NAME=VALUE` have the last word"));
    }
    Ok(settings)
}
