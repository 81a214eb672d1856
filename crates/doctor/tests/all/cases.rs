//! Public cases, written from the facts of their threads before the rules were: which cause comes first, which may
//! stand beside it, which must not be there. Prints the score; `CASE=d66 cargo test -p weft-doctor --test all --
//! --nocapture` prints what the doctor says of one.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use weft_base::Severity;
use weft_doctor::{Confidence, Diagnosis, cause_named};
use weft_formats::Source;

use crate::common;

/// The notes of a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notes {
    /// Its row in the collection of threads; none for cases from elsewhere.
    row: Option<u32>,
    /// `NVIDIA/nccl#2079`; `own` where no thread stands behind it.
    source: String,
    /// The group of questions.
    group: String,
    /// What was settled.
    fact: String,
    /// What must come first: a word, or `healthy`.
    pub cause: String,
    /// What may stand beside it.
    #[serde(default)]
    pub may: Vec<String>,
    /// What `certain` would be right for.
    #[serde(default)]
    pub certain: Vec<String>,
    /// What must not be said above a note.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Whether output that people paste holds the telling fact.
    pub expressible: bool,
    /// Which input is missing, where none holds it.
    missing: Option<String>,
}

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    First,
    AmongThree,
    Wrong,
    Silent,
    NotExpressible,
}

/// A case as it lies in its folder.
pub struct StoredCase {
    pub name: String,
    pub notes: Notes,
    pub files: Vec<Source>,
}

struct Case {
    name: String,
    notes: Notes,
    diagnosis: Diagnosis,
}

/// Begin of the names of the cases that are wanted.
#[expect(clippy::disallowed_methods, reason = "which case is asked of the developer's shell")]
fn wanted() -> Option<String> {
    env::var("CASE").ok()
}

#[expect(clippy::disallowed_methods, reason = "tests read their cases from disk")]
fn notes() -> Vec<(PathBuf, String, Notes)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"));
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let wanted = wanted();
    let one = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if wanted.as_ref().is_some_and(|wanted| !name.starts_with(wanted.as_str())) {
            return None;
        }
        let text = fs::read_to_string(path.join("case.toml")).unwrap();
        let notes: Notes = toml::from_str(&text).map_err(|error| format!("{name}: {error}")).unwrap();
        Some((path, name, notes))
    };
    paths.into_iter().filter_map(one).collect()
}

/// All cases with their files.
pub fn stored() -> Vec<StoredCase> {
    let one = |(path, name, notes): (PathBuf, String, Notes)| {
        let files = common::files(&path);
        assert_eq!(notes.expressible, !files.is_empty(), "{name}: expressible, or why not");
        assert!(notes.expressible || notes.missing.is_some(), "{name}: what is missing?");
        StoredCase { name, notes, files }
    };
    notes().into_iter().map(one).collect()
}

fn cases() -> Vec<Case> {
    let one = |StoredCase { name, notes, files }| {
        let diagnosis = if files.is_empty() { Diagnosis::default() } else { common::examine(&files) };
        Case { name, notes, diagnosis }
    };
    stored().into_iter().map(one).collect()
}

/// The words of the findings in order; `healthy` behind notes where nothing is broken.
pub fn words(diagnosis: &Diagnosis) -> Vec<&str> {
    let mut words: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.cause.word).collect();
    if diagnosis.is_healthy() {
        words.push("healthy");
    }
    words.dedup();
    words
}

fn outcome(case: &Case) -> Outcome {
    outcome_of(&case.notes, &case.diagnosis)
}

pub fn outcome_of(notes: &Notes, diagnosis: &Diagnosis) -> Outcome {
    if !notes.expressible {
        return Outcome::NotExpressible;
    }
    let words = words(diagnosis);
    if notes.cause == "healthy" {
        return if diagnosis.is_healthy() { Outcome::First } else { Outcome::Wrong };
    }
    match words.iter().position(|word| *word == notes.cause) {
        Some(0) => Outcome::First,
        Some(1 | 2) => Outcome::AmongThree,
        _ if diagnosis.is_healthy() => Outcome::Silent,
        _ => Outcome::Wrong,
    }
}

/// Findings marked certain that the notes do not know, and words that must not be there.
fn falsehoods(case: &Case) -> Vec<String> {
    let notes = &case.notes;
    let mut found = Vec::new();
    for finding in case.diagnosis.findings.iter().filter(|finding| finding.severity > Severity::Note) {
        let word = finding.cause.word.to_owned();
        let is_known = notes.cause == word || notes.may.contains(&word) || notes.certain.contains(&word);
        if finding.confidence == Confidence::Certain && !is_known {
            found.push(format!("{}: certain of {word}: {}", case.name, finding.what));
        }
        if notes.absent.contains(&word) {
            found.push(format!("{}: {word} is not so: {}", case.name, finding.what));
        }
    }
    found
}

#[test]
fn public_cases_are_told_as_their_threads_settled_them() {
    let cases = cases();
    let mut lines = Vec::new();
    let mut falsehoods_found = Vec::new();
    for case in &cases {
        let notes = &case.notes;
        let told = words(&case.diagnosis).join(", ");
        lines.push(format!("{:<44} {:<24} {:?}: {told}", case.name, notes.cause, outcome(case)));
        falsehoods_found.extend(falsehoods(case));
        if wanted().is_some() {
            lines.push(format!("  {} {:?} {}", notes.source, notes.row, notes.fact));
            for finding in &case.diagnosis.findings {
                lines.push(format!("  {finding:#?}"));
            }
        }
    }
    let count = |wanted: Outcome, is_twin: bool| {
        let own = cases.iter().filter(|case| is_twin == (case.notes.cause == "healthy"));
        own.filter(|case| outcome(case) == wanted).count()
    };
    for is_twin in [false, true] {
        let what = if is_twin { "mended twins" } else { "cases" };
        let all =
            [Outcome::First, Outcome::AmongThree, Outcome::Wrong, Outcome::Silent, Outcome::NotExpressible];
        let counts: Vec<String> = all.iter().map(|it| format!("{it:?} {}", count(*it, is_twin))).collect();
        lines.push(format!("{what}: {}", counts.join(", ")));
    }
    println!("{}\n{}", lines.join("\n"), falsehoods_found.join("\n"));
    assert!(falsehoods_found.is_empty(), "{}", falsehoods_found.join("\n"));
    if wanted().is_none() {
        let expressible = cases.iter().filter(|case| case.notes.expressible).count();
        assert!(4 * expressible >= 3 * cases.len(), "{expressible} of {} can be expressed", cases.len());
        let (first, twins) = (count(Outcome::First, false), count(Outcome::First, true));
        let ill = cases.iter().filter(|case| case.notes.expressible && case.notes.cause != "healthy").count();
        assert!(10 * first >= 9 * ill, "{first} of {ill} first");
        let well = cases.iter().filter(|case| case.notes.cause == "healthy").count();
        assert_eq!(twins, well, "healthy machines that are told ill");
    }
}

#[test]
fn the_words_of_the_notes_are_words_of_rules() {
    for (_, name, notes) in notes() {
        assert!(!notes.group.is_empty() && !notes.fact.is_empty(), "{name}");
        for word in notes.certain.iter().chain([&notes.cause]) {
            assert!(word == "healthy" || cause_named(word).is_ok(), "{name}: {word} is no cause");
        }
    }
}
