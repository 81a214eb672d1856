//! Every file of the shared corpus can be shown as JSON, and the JSON holds to the schema. What the files must
//! hold is tested where they are read, in weft-formats.

#![expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use std::collections::BTreeMap;
use std::fs;

use common::{root, run};
use schema::Schema;
use serde_json::Value;
use weft_testkit::noted::{self, Noted};

const KINDS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];

/// What is wrong with the answer for a file.
fn fault(file: &Noted, schema: &Schema) -> Option<String> {
    let path = noted::folder(&file.kind).join(&file.name);
    let output = run(&["show", &path.to_string_lossy(), "--format", "json"], b"");
    let text = String::from_utf8_lossy(&output.stdout);
    let Ok(document) = serde_json::from_str::<Value>(&text) else { return Some("no JSON".to_owned()) };
    let errors = schema.errors(&document);
    if !errors.is_empty() {
        return Some(errors.join("; "));
    }
    let wanted = if file.is_readable() { 0 } else { 3 };
    let code = output.status.code();
    (code != Some(wanted)).then(|| format!("exit {code:?}: {}", document["diagnostics"]))
}

#[test]
fn every_file_is_shown() {
    let schema = Schema::new(
        serde_json::from_str(&fs::read_to_string(root().join("schemas/show.json")).unwrap()).unwrap(),
    );
    let mut faults = Vec::new();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for kind in KINDS {
        for file in noted::files(kind).unwrap_or_default() {
            let count = counts.entry(kind).or_default();
            count.0 += 1;
            match fault(&file, &schema) {
                None => count.1 += 1,
                Some(fault) => faults.push(format!("{kind}/{}: {fault}", file.name)),
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
