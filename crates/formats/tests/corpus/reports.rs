//! Outputs that say how a machine fares.

use weft_formats::{Evidence, Reading, Record, Value};
use weft_testkit::noted::Noted;

/// Formats of these readers, as the notes name them.
const OURS: [&str; 4] = ["nvidia-smi nvlink", "nvidia-smi -q", "dmesg", "ethtool"];

/// Whether a file is of this topic.
pub fn is_own(file: &Noted) -> bool {
    file.is_of(&OURS)
}

/// What differs from the notes of a report.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if !is_own(file) {
        return None;
    }
    let reports = reading.evidence.iter().filter_map(|found| {
        let Evidence::Report(report) = &found.value else { return None };
        Some(&report.records)
    });
    let found: Vec<&Record> = reports.flatten().collect();
    if found.is_empty() {
        return Some(vec!["nothing was read".to_owned()]);
    }
    let wrong = file.expected.iter().filter(|(key, value)| !says(&found, key, value));
    Some(wrong.map(|(key, value)| format!("{key}: wanted {value:?} of {found:#?}")).collect())
}

/// Whether a record says `key` with that value, whatever headings stand before the key.
fn says(records: &[&Record], key: &str, wanted: &toml::Value) -> bool {
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
