//! Every file of the shared corpus can be shown as JSON, and the JSON holds to the schema. What the files must
//! hold is tested where they are read, in weft-formats.

#![expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use common::{root, run};
use schema::Schema;
use serde_json::Value;

const KINDS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];

fn files(kind: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root().join("../shared/corpus").join(kind)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| !path.to_string_lossy().ends_with(".meta.toml"));
    paths.sort();
    paths
}

/// What is wrong with the answer for `path`.
fn fault(path: &PathBuf, schema: &Schema) -> Option<String> {
    let output = run(&["show", &path.to_string_lossy(), "--format", "json"], b"");
    let text = String::from_utf8_lossy(&output.stdout);
    let Ok(document) = serde_json::from_str::<Value>(&text) else { return Some("no JSON".to_owned()) };
    let errors = schema.errors(&document);
    if !errors.is_empty() {
        return Some(errors.join("; "));
    }
    let wanted = if is_unreadable(path) { 3 } else { 0 };
    let code = output.status.code();
    (code != Some(wanted)).then(|| format!("exit {code:?}: {}", document["diagnostics"]))
}

/// A file without a word in it holds nothing, and numbers without a unit mean nothing: a bare number never parses.
fn is_unreadable(path: &PathBuf) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let is_bare = |line: &str| line.split_once(": ").is_some_and(|(_, value)| value.parse::<f64>().is_ok());
    let has_unit = |text: &str| text.contains("bps") || text.contains("Bps") || text.contains("B/s");
    text.lines().all(|line| line.trim().is_empty() || is_bare(line)) && !has_unit(&text)
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is what this test is run for")]
fn every_file_is_shown() {
    let schema = Schema::new(
        serde_json::from_str(&fs::read_to_string(root().join("schemas/show.json")).unwrap()).unwrap(),
    );
    let mut faults = Vec::new();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for kind in KINDS {
        for path in files(kind) {
            let count = counts.entry(kind).or_default();
            count.0 += 1;
            match fault(&path, &schema) {
                None => count.1 += 1,
                Some(fault) => faults.push(format!("{}: {fault}", path.display())),
            }
        }
    }
    if counts.is_empty() {
        println!("skipped: there is no corpus");
    }
    for (kind, (all, good)) in counts {
        println!("{kind}  {good} of {all} files");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
