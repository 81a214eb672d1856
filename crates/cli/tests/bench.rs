//! `weft bench` as a user sees it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use common::{refused, run, stdout};
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    let short = ["--repeats", "1", "--format", "json"];
    serde_json::from_str(&stdout(&[&["bench"], args, &short].concat())).unwrap()
}

#[test]
fn every_collective_is_measured_and_right() {
    for collective in ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all"] {
        let document =
            json(&[collective, "--ranks", "3", "--min", "96B", "--max", "96KiB", "--factor", "32"]);
        let rows = document["rows"].as_array().unwrap();
        // 96 B, 3 KiB, 96 KiB; out of place and in place.
        assert_eq!(rows.len(), 6, "{collective}");
        for row in rows {
            assert_eq!(row["wrong"], 0, "{collective}: {row}");
            assert!(row["least_s"].as_f64().unwrap() <= row["time_s"].as_f64().unwrap(), "{row}");
        }
    }
}

#[test]
fn types_and_reductions_are_right() {
    for (element, reduction) in [
        ("half", "sum"),
        ("bfloat16", "avg"),
        ("double", "max"),
        ("int32", "prod"),
        ("int64", "min"),
        ("uint8", "avg"),
    ] {
        let document =
            json(&["-d", element, "-o", reduction, "--min", "4KiB", "--max", "4KiB", "-a", "ring"]);
        let rows = document["rows"].as_array().unwrap();
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row["wrong"] == 0),
            "{element} {reduction}: {document}"
        );
        assert!(rows.iter().all(|row| row["algorithm"] == "ring"));
    }
}

#[test]
fn predictions_stand_beside_what_was_measured() {
    let document = json(&["all", "--compare", "--min", "4KiB", "--max", "4KiB"]);
    let rows = document["rows"].as_array().unwrap();
    // Six collectives and a barrier.
    assert_eq!(rows.len(), 7, "{document}");
    for row in rows {
        let seconds = |key: &str| row[key].as_f64().unwrap();
        let (time, predicted) = (seconds("time_s"), seconds("predicted_s"));
        assert!((seconds("ratio") - time / predicted).abs() < 1e-9 * seconds("ratio"), "{row}");
        let close = (predicted / time - 1.0).abs() <= 0.1
            || (seconds("least_s")..=seconds("most_s")).contains(&predicted);
        assert_eq!(row["verdict"] == "as predicted", close, "{row}");
    }
    assert!(document["median_error"].as_f64().unwrap() >= 0.0);
}

#[test]
fn costs_are_saved_and_chosen_by() {
    let path = std::env::temp_dir().join(format!("weft-costs-{}.toml", std::process::id()));
    let file = path.to_str().unwrap();
    let table = stdout(&["bench", "--calibrate", "--repeats", "1", "--max", "4KiB", "--save", file]);
    assert!(table.contains("a call") && table.contains("copied twice"), "{table}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("version = 1\ntransport = \"shared memory\"\nhost = "), "{text}");
    let document = json(&["--calibration", file, "--min", "4KiB", "--max", "4KiB"]);
    assert!(document["latency_s"].as_f64().unwrap() > 0.0, "{document}");
    // The processors stand behind three comments and keys, and a number needs no quotes.
    std::fs::write(&path, text.replace("processors = ", "processors = a")).unwrap();
    let (code, error) = refused(&["bench", "--calibration", file], b"");
    assert!(code == 3 && error.contains("calibration") && error.contains(":5:"), "{code} {error}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_table_is_read_as_one_of_nccl_tests() {
    let table = stdout(&["bench", "all-gather", "--repeats", "1", "--min", "1KiB", "--max", "4KiB"]);
    let shown = run(&["show", "-", "--format", "json"], table.as_bytes());
    let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let benchmark = &document["benchmarks"][0];
    assert_eq!(benchmark["collective"], "all-gather", "{table}");
    assert_eq!(benchmark["ranks"], 2, "{table}");
    // 1 KiB and 4 KiB, out of place and in place.
    assert_eq!(benchmark["rows"].as_array().unwrap().len(), 4, "{table}");
}

#[test]
fn ranks_started_by_hand_meet_and_measure_over_tcp() {
    let place = std::env::temp_dir().join(format!("weft-bench-test-{}", std::process::id()));
    let place = place.to_str().unwrap();
    let args =
        ["bench", "--tcp", "--repeats", "1", "--min", "4KiB", "--max", "4KiB", "--join", place, "--rank"];
    let other = std::thread::scope(|scope| {
        let other = scope.spawn(|| stdout(&[&args[..], &["1"]].concat()));
        let table = stdout(&[&args[..], &["0"]].concat());
        assert!(
            table.contains("2 processes, TCP") && table.contains("Out of bounds values : 0 OK"),
            "{table}"
        );
        other.join().unwrap()
    });
    // Only the first rank prints.
    assert_eq!(other, "");
}

#[test]
fn what_cannot_be_measured_is_said() {
    for (args, what) in [
        (&["bench", "all-redcue"][..], "did you mean `all-reduce`"),
        (&["bench", "-d", "flaot"], "did you mean `float`"),
        (&["bench", "-o", "median"], "no reduction called `median`"),
        (&["bench", "-a", "rign"], "did you mean `ring`"),
        (&["bench", "--root", "2"], "no rank called `2`"),
        (&["bench", "--max", "4B"], "gives each of 2 ranks an element"),
        (&["bench", "-a", "rails"], "`rails` has no plan for all-reduce"),
        (&["bench", "-a", "nvls"], "nvls needs a switch"),
    ] {
        let (code, message) = refused(args, b"");
        assert!(code == 1 || code == 2, "{args:?}: {code}");
        assert!(message.contains(what), "{args:?}: {message}");
        assert!(message.contains("not-measured") || message.contains("measuring-failed"), "{message}");
    }
}
