//! Outputs of the corpus that say how a machine fares: what the notes beside them expect is found.

use std::fs;
use std::path::PathBuf;

use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Record, Source, Value, read};

/// Formats of these readers, as the notes of the corpus name them.
const OURS: [&str; 4] = ["nvidia-smi nvlink", "nvidia-smi -q", "dmesg", "ethtool"];

fn records(text: &str) -> Vec<Record> {
    let reading = read(&Source::file("corpus", text), Catalogue::embedded(), None);
    let found = reading.evidence.into_iter().filter_map(|found| {
        let Evidence::Report(report) = found.value else { return None };
        Some(report.records)
    });
    found.flatten().collect()
}

/// Whether a record says `key` with that value, whatever headings stand before the key.
fn says(records: &[Record], key: &str, wanted: &toml::Value) -> bool {
    let key = key.replace('_', "-").to_lowercase();
    let text = wanted
        .as_str()
        .map(str::to_owned)
        .or_else(|| wanted.as_integer().map(|number| number.to_string()))
        .or_else(|| wanted.as_bool().map(|flag| flag.to_string()))
        .unwrap_or_default();
    let value = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        Value::Count(count) => count.to_string(),
        Value::Rate(rate) => rate.to_string(),
        Value::Flag(flag) => flag.to_string(),
    };
    let sum = |name: &str| records.iter().filter_map(|record| record.count(name)).sum::<u64>().to_string();
    match key.as_str() {
        "links" => sum("links") == text,
        "inactive" => sum("inactive-links") == text,
        _ => records.iter().flat_map(|record| &record.fields).any(|field| {
            field.name.replace('-', "").ends_with(&key.replace('-', "")) && value(&field.value) == text
        }),
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]
fn what_the_notes_expect_is_found() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus"));
    if !folder.is_dir() {
        println!("skipped: no corpus at {}", folder.display());
        return;
    }
    let (mut files, mut passed, mut missed) = (0, 0, Vec::new());
    for kind in fs::read_dir(&folder).expect("the corpus").flatten().filter(|entry| entry.path().is_dir()) {
        for entry in fs::read_dir(kind.path()).expect("a folder of the corpus").flatten() {
            let path = entry.path();
            if !path.to_string_lossy().ends_with(".meta.toml") {
                continue;
            }
            let meta: toml::Table = fs::read_to_string(&path).expect("a note").parse().expect("TOML");
            let format = meta.get("format").and_then(toml::Value::as_str).unwrap_or_default();
            if !OURS.iter().any(|ours| format.starts_with(ours)) {
                continue;
            }
            files += 1;
            let file = meta.get("file").and_then(toml::Value::as_str).expect("the file's name");
            let found = records(&fs::read_to_string(kind.path().join(file)).expect("the file"));
            let expected = meta.get("expected").and_then(toml::Value::as_table).cloned().unwrap_or_default();
            let wrong: Vec<&String> = expected
                .iter()
                .filter(|(key, value)| !says(&found, key, value))
                .map(|(key, _)| key)
                .collect();
            if found.is_empty() || !wrong.is_empty() {
                missed.push(format!("{file}: {wrong:?} of {found:#?}"));
            } else {
                passed += 1;
            }
        }
    }
    println!("{passed} of {files} files");
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
