//! Outputs of benchmarks of the shared corpus against predictions, where that folder is present.
#![allow(clippy::print_stdout, reason = "says that it is skipped, and what was found")]
#![allow(clippy::disallowed_methods, reason = "a test reads its inputs")]

use std::path::{Path, PathBuf};

use weft_catalogue::Catalogue;
use weft_formats::{Benchmark, Evidence, Reading, Source, Value};
use weft_predictor::validate::{Expect, Kind, Run, read_runs, score_runs};

const TABLE: &str = include_str!("data/corpus_machines.csv");

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: ../shared/corpus is absent");
    None
}

fn runs() -> Vec<Run> {
    let (runs, diagnostics) = read_runs("corpus_machines.csv", TABLE);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    runs
}

fn read(folder: &Path, file: &str) -> Reading {
    let text = std::fs::read_to_string(folder.join(format!("{file}.txt"))).expect("a file of the table");
    weft_formats::read(&Source::file(file, &text), Catalogue::embedded(), None)
}

/// The tables of a file.
fn tables(folder: &Path, run: &Run) -> Vec<Benchmark> {
    let reading = read(folder, &run.file);
    reading
        .evidence
        .into_iter()
        .filter_map(
            |located| if let Evidence::Benchmark(table) = located.value { Some(*table) } else { None },
        )
        .collect()
}

#[test]
fn every_file_has_its_machine_or_the_reason_why_not() {
    let Some(folder) = folder() else { return };
    let runs = runs();
    for letter in ["E", "G"] {
        for entry in folder.join(letter).read_dir().unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let Some(name) = name.strip_suffix(".meta.toml") else { continue };
            let file = format!("{letter}/{name}");
            let run = runs.iter().find(|run| run.file == file).unwrap_or_else(|| panic!("{file}"));
            let meta = std::fs::read_to_string(&path).unwrap();
            let verdict = meta.lines().find_map(|line| line.strip_prefix("verdict = \"")).unwrap_or("");
            let is_sound = verdict.starts_with("good") || verdict.starts_with("neutral");
            // What is out of scope though sound says why.
            assert!(!is_sound || run.expect != Expect::Low, "{file}: {verdict}");
            assert!(run.expect != Expect::Sound || is_sound, "{file}: {verdict}");
            assert_eq!(run.machine.is_empty(), run.expect == Expect::OutOfScope, "{file}");
            assert!(run.expect != Expect::OutOfScope || !run.why.is_empty(), "{file}");
        }
    }
}

#[test]
fn sound_runs_are_near_and_faulty_ones_low() {
    let Some(folder) = folder() else { return };
    let asked: Vec<(Run, Vec<Benchmark>)> = runs()
        .into_iter()
        .filter(|run| run.expect != Expect::OutOfScope)
        .map(|run| (run.clone(), tables(&folder, &run)))
        .collect();
    let corpus = score_runs(&asked, None, Catalogue::embedded());
    let rows: usize = corpus.sound.kinds.iter().map(|kind| kind.rows).sum();
    assert!(rows > 450, "only {rows} rows");
    for kind in &corpus.sound.kinds {
        println!("{kind:?}");
    }
    let group = |file: &str, kind: Kind| {
        let mut groups = corpus.sound.groups.iter();
        groups.find(|group| group.file == file && group.kind == kind).unwrap_or_else(|| panic!("{file}"))
    };
    // Healthy servers with a whole GPU fabric: what published rows of the same machines reach.
    for file in ["E/011-a100x8-superbench-allreduce", "E/028-dgxc-h100", "E/007-h800x8-broadcast"] {
        let median = group(file, Kind::Bandwidth).median_error.unwrap();
        assert!(median <= 0.08, "{file}: {median}");
    }
    for fault in corpus.faults.iter().filter(|fault| fault.rows > 0) {
        assert!(fault.median_ratio.unwrap() < 0.5, "{fault:?}");
    }
}

#[test]
fn copies_between_host_and_gpu_are_what_the_link_carries() {
    // G/019 is the one file of copies whose verdict is "good": nvbandwidth of an H200, PCIe 5.0 x16.
    let Some(folder) = folder() else { return };
    let reading = read(&folder, "G/019-azure-nd-h200-v5-nvbandwidth");
    let expected = Catalogue::embedded().link("pcie5").expect("a link").usable(16).as_gigabytes();
    let mut found = Vec::new();
    for located in reading.evidence {
        let Evidence::Report(report) = located.value else { continue };
        for record in report.records.iter().filter(|record| record.subject.contains("Host")) {
            for field in &record.fields {
                let Value::Rate(rate) = field.value else { continue };
                let error = (rate.as_gigabytes() - expected).abs() / rate.as_gigabytes();
                assert!(error <= 0.08, "{}: {rate} measured, {expected} expected", record.subject);
                found.push(record.subject.clone());
            }
        }
    }
    assert_eq!(found, ["Host to Device", "Device to Host"]);
}

#[test]
fn a_table_with_a_wrong_word_says_where() {
    let text = "file,machine,expect,collective,settings,why\n\
                a,dgx-1,fine,,,\n\
                b,dgx-1,good,all-redux,,\n\
                c,dgx-1,good,,NCCL_ALGO=Rings,\n\
                d,dgx-1,good,all-reduce,nccl=2.21 NCCL_ALGO=Ring,\n";
    let (runs, diagnostics) = read_runs("table.csv", text);
    assert_eq!(runs.iter().map(|run| run.file.as_str()).collect::<Vec<_>>(), ["d"]);
    let shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    let begin =
        |line: usize| format!("table.csv:{line}:1: warning[measurement-not-a-number]: cannot read the row: ");
    assert_eq!(shown[0], begin(2) + "expect is `fine`, not good, neutral, low, asked or out");
    assert_eq!(shown[1], begin(3) + "no collective `all-redux`");
    assert!(shown[2].starts_with(&(begin(4) + "NCCL_ALGO cannot be `Rings`")), "{}", shown[2]);
}
