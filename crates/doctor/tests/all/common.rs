//! Reads a folder as `weft doctor` does.

use std::fs;
use std::path::{Path, PathBuf};

use weft_catalogue::Catalogue;
use weft_doctor::{Diagnosis, Patient, diagnose};
use weft_formats::{CaseGraph, Overrides, Source, join, read};

/// What the doctor says of texts, which are of one machine or one job.
pub fn examine(sources: &[Source]) -> Diagnosis {
    let catalogue = Catalogue::embedded();
    let (mut evidence, mut diagnostics) = (Vec::new(), Vec::new());
    for source in sources {
        let reading = read(source, catalogue, None);
        evidence.extend(reading.evidence);
        diagnostics.extend(reading.diagnostics);
    }
    let (case, found) = join(evidence, &Overrides::default(), catalogue);
    diagnostics.extend(found);
    let graph = case.graph(catalogue).unwrap_or_else(|error| {
        diagnostics.push(error.finding());
        CaseGraph::default()
    });
    diagnostics.extend(graph.diagnostics.iter().cloned());
    let patient = Patient { case: &case, graph: &graph, diagnostics: &diagnostics, calibration: None };
    diagnose(patient, catalogue)
}

/// The files of a folder and of the folders in it, but for the notes of the case, called by their names in the folder.
#[expect(clippy::disallowed_methods, reason = "tests read their cases from disk")]
pub fn files(folder: &Path) -> Vec<Source> {
    let mut paths = Vec::new();
    collect(folder, &mut paths);
    paths.sort();
    let name = |path: &PathBuf| path.strip_prefix(folder).unwrap().display().to_string();
    let read = |path: &PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Source::file(name(path), text)
    };
    paths.iter().filter(|path| name(path) != "case.toml").map(read).collect()
}

#[expect(clippy::disallowed_methods, reason = "tests read their cases from disk")]
fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, found) } else { found.push(path) }
    }
}
