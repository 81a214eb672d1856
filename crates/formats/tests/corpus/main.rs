//! Every file of the shared corpus is read, each of its lines is accounted for, and what was read holds what the
//! notes beside the file say. The corpus lies beside the project; without it these tests say that they are skipped.
//!
//! Each module compares one topic. Where notes are wrong, a module lists the file, what is wrong and why.

mod amd;
mod benchmarks;
mod hosts;
mod infiniband;
mod logs;
mod nccl_files;
mod nvidia;
mod pairs;
mod reports;
mod schedulers;
mod subnets;
mod tally;

use std::ops::RangeInclusive;

use toml::Value;
use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_formats::{Overrides, Reading, Source, join, lines, read, split};
use weft_testkit::noted::{self, Noted};

use crate::tally::Tally;

/// What differs from the notes; `None` where the file is none of this topic.
type Topic = fn(&Noted, &Reading) -> Option<Vec<String>>;

const TOPICS: [Topic; 11] = [
    nvidia::misses,
    amd::misses,
    nccl_files::misses,
    subnets::misses,
    infiniband::misses,
    hosts::misses,
    schedulers::misses,
    benchmarks::misses,
    logs::misses,
    pairs::misses,
    reports::misses,
];

const KINDS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];

fn source(file: &Noted) -> Source {
    Source::file(&file.name, &file.text)
}

/// All that is read of a file.
pub fn reading(file: &Noted) -> Reading {
    read(&source(file), Catalogue::embedded(), None)
}

/// What all topics miss; `None` where the file is none of theirs.
fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    let found: Vec<Vec<String>> = TOPICS.iter().filter_map(|topic| topic(file, reading)).collect();
    (!found.is_empty()).then(|| found.concat())
}

/// The lines that a finding names as unused.
fn unused(finding: &Diagnostic) -> Option<RangeInclusive<u32>> {
    if finding.code.name != "lines-unused" {
        return None;
    }
    let first = finding.place.as_ref()?.line;
    let last = finding.message.strip_prefix("lines ").and_then(|rest| rest.split(' ').nth(2));
    Some(first..=last.map_or(Some(first), |last| last.parse().ok())?)
}

/// Lines that are in no part or in several, or that nobody claimed and no finding names.
fn lost(file: &Noted, reading: &Reading) -> Vec<String> {
    let source = source(file);
    let lines = lines(&source);
    let pieces = split(&source, &lines);
    let mut faults = Vec::new();
    let mut numbers: Vec<u32> =
        pieces.iter().flat_map(|piece| piece.part.lines.iter().map(|line| line.number)).collect();
    numbers.sort_unstable();
    if !numbers.into_iter().eq(lines.iter().map(|line| line.number)) {
        faults.push("not every line is in exactly one part".to_owned());
    }
    if reading.evidence.is_empty() {
        // The one reason why nothing was read is enough; a list of all lines would bury it.
        return faults;
    }
    let named: Vec<RangeInclusive<u32>> = reading.diagnostics.iter().filter_map(unused).collect();
    let unclaimed = pieces.iter().filter(|piece| piece.format.is_none()).flat_map(|piece| &*piece.part.lines);
    let silent = unclaimed.filter(|line| !line.says_nothing());
    let mut silent = silent.filter(|line| !named.iter().any(|range| range.contains(&line.number)));
    faults.extend(silent.next().map(|line| format!("nobody says that line {} is unused", line.number)));
    faults
}

/// What is wrong with the reading of a file, whatever its format.
fn faults(file: &Noted, reading: &Reading) -> Vec<String> {
    let mut faults = Vec::new();
    if reading.failed() == file.is_readable() {
        faults.push(format!("reading failed or should have: {:?}", reading.diagnostics));
    }
    faults.extend(lost(file, reading));
    // Whatever was read, joining it must not panic.
    let (_, _) = join(reading.evidence.clone(), &Overrides::default(), Catalogue::embedded());
    if misses(file, reading).is_none() && !file.expected.is_empty() {
        faults.push("no topic compares this format".to_owned());
    }
    faults
}

/// A value that no reader can have found.
fn other(value: &Value) -> Value {
    match value {
        Value::Integer(number) => Value::Integer(number + 1_000_003),
        Value::Float(number) => Value::Float(number + 1_000_003.0),
        Value::Boolean(flag) => Value::Boolean(!flag),
        Value::Array(_) => Value::Array(vec![Value::String("no such".to_owned())]),
        Value::String(_) | Value::Datetime(_) | Value::Table(_) => Value::String("no such".to_owned()),
    }
}

/// The keys that are compared: those whose value cannot be changed without a miss.
fn compared(file: &Noted, reading: &Reading) -> Vec<String> {
    let before = misses(file, reading);
    let is_compared = |key: &&String| {
        let mut changed = file.clone();
        changed.expected.insert((*key).clone(), other(&file.expected[*key]));
        misses(&changed, reading) != before
    };
    file.expected.keys().filter(is_compared).cloned().collect()
}

#[test]
fn every_file_is_read_and_holds_what_its_notes_say() {
    let mut tally = Tally::default();
    for kind in KINDS {
        let Some(files) = noted::files(kind) else {
            println!("skipped: no corpus at {}", noted::folder(kind).display());
            continue;
        };
        for file in &files {
            let reading = reading(file);
            let mut found = faults(file, &reading);
            found.extend(misses(file, &reading).unwrap_or_default());
            tally.add(file, &compared(file, &reading), found);
        }
    }
    println!("{tally}");
    assert!(tally.misses.is_empty(), "{} misses:\n{}", tally.misses.len(), tally.misses.join("\n"));
}
