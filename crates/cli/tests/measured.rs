//! `weft predict --measured`, `weft compare` and `weft calibrate` as a whole.

#![expect(clippy::disallowed_methods, reason = "tests read and write files")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use std::fs;

use common::{refused, root, run, stdout, weft};
use schema::checked;
use serde_json::Value;

const BEFORE: [&str; 2] = ["examples/compare/before/topo.txt", "examples/compare/before/run.txt"];
const AFTER: [&str; 2] = ["examples/compare/after/topo.txt", "examples/compare/after/run.txt"];

fn measured(args: &[&str]) -> Value {
    checked("predict-measured.json", &stdout(&[&["predict", "--format", "json"], args].concat()))
}

#[test]
fn a_run_is_put_beside_its_machine() {
    let document = measured(&[AFTER[0], "--measured", AFTER[1]]);
    let table = &document["tables"][0];
    assert_eq!((table["collective"].as_str(), table["ranks"].as_u64()), (Some("all-reduce"), Some(4)));
    assert_eq!(table["rows"].as_array().unwrap().len(), 8);
    assert_eq!(table["bands"][2]["verdict"], "as-expected");
    // Against the machine as it was, three of four links between two pairs are missed.
    let document = measured(&[BEFORE[0], "--measured", AFTER[1]]);
    assert_eq!(document["tables"][0]["bands"][2]["verdict"], "low");
    assert!(!document["tables"][0]["causes"].as_array().unwrap().is_empty(), "{document}");
}

#[test]
fn a_list_of_ranks_is_a_machine() {
    let document = measured(&["--measured", "examples/formats/nccl-tests/all-reduce-8xh100.txt"]);
    assert_eq!(document["tables"][0]["ranks"], 8);
    assert_eq!(document["tables"][0]["bands"][2]["verdict"], "as-expected");
}

#[test]
fn figures_in_bits_are_too_good() {
    let text = fs::read_to_string(root().join("examples/formats/bandwidth-table/sizes.md")).unwrap();
    assert!(text.contains("467.1"), "{text}");
    let rows: Vec<String> =
        (24..30).map(|power| format!("| {} B | {} |", 1_u64 << power, 1900 + power)).collect();
    let file = std::env::temp_dir().join(format!("weft-bits-{}.md", std::process::id()));
    fs::write(&file, format!("| size | busbw (GB/s) |\n|---|---|\n{}\n", rows.join("\n"))).unwrap();
    let document = measured(&["dgx-a100", "--measured", &file.to_string_lossy()]);
    fs::remove_file(&file).unwrap();
    let band = &document["tables"][0]["bands"][1];
    assert_eq!(band["verdict"], "too-good");
    assert!(band["doubt"].is_string());
}

#[test]
fn copies_between_gpus_are_put_beside_their_links() {
    let run = "examples/formats/p2p-bandwidth-latency-test/two-bridges.txt";
    let document = measured(&["4 a40 @ pcie4x16 + 2 nvlink-bridge", "--measured", run]);
    assert!(!document["pairs"].as_array().unwrap().is_empty(), "{document}");
    assert!(document["tables"].as_array().unwrap().is_empty());
}

#[test]
fn what_cannot_be_compared_says_why() {
    // not-compared: nothing in the file tells which machine it is of.
    let output = weft(&["predict", "--measured", "examples/formats/bandwidth-table/sizes.md"]);
    assert!(output.contains("[not-compared]") && output.ends_with("exit 1\n"), "{output}");
    // not-modelled: a transfer of RDMA is no collective.
    let output = weft(&["predict", "dgx-a100", "--measured", "examples/formats/perftest/write-bw.txt"]);
    assert!(output.contains("[not-modelled]") && output.ends_with("exit 1\n"), "{output}");
    let failed = run(
        &["predict", "dgx-a100", "--measured", "examples/formats/perftest/write-bw.txt", "--format", "json"],
        b"",
    );
    checked("predict-measured.json", &String::from_utf8(failed.stdout).unwrap());
    let (code, talk) = refused(&["predict", "dgx-a100", "--format", "svg"], b"");
    assert!(code == 2 && talk.contains("--measured run.txt"), "{talk}");
}

#[test]
fn the_picture_is_a_picture() {
    let text = stdout(&["predict", AFTER[0], "--measured", AFTER[1], "--format", "svg"]);
    assert!(text.starts_with("<svg ") && text.matches("<circle").count() == 8 + 4, "{text}");
}

#[test]
fn what_changed_is_told_with_its_place_and_ends_with_one() {
    let args = ["compare", "examples/compare/before", "examples/compare/after"];
    let output = weft(&args);
    assert!(
        output.starts_with("Something got slower: 4 of 8 sizes are slower") && output.ends_with("exit 1\n"),
        "{output}"
    );
    let output = run(&[&args[..], &["--format", "json"]].concat(), b"");
    assert_eq!(output.status.code(), Some(1));
    let document = checked("compare.json", &String::from_utf8(output.stdout).unwrap());
    let first = &document["changes"][0];
    assert_eq!(
        (&first["before"]["text"], &first["after"]["text"]),
        (&Value::from("NV4"), &Value::from("NV3"))
    );
    assert_eq!(first["after"]["file"], "examples/compare/after/topo.txt");
    let same = weft(&["compare", "examples/compare/before", "examples/compare/before"]);
    assert!(same.starts_with("Nothing got slower") && same.ends_with("exit 0\n"), "{same}");
    let back = weft(&["compare", "examples/compare/after", "examples/compare/before"]);
    assert!(back.starts_with("Nothing got slower") && back.ends_with("exit 0\n"), "{back}");
    let missing = run(&["compare", "examples/compare/before", "none.txt", "--format", "json"], b"");
    checked("compare.json", &String::from_utf8(missing.stdout).unwrap());
}

#[test]
fn a_calibration_fits_the_run_that_it_is_of() {
    let file = std::env::temp_dir().join(format!("weft-calibration-{}.toml", std::process::id()));
    let name = file.to_string_lossy().into_owned();
    let output = weft(&["calibrate", BEFORE[1], "--machine", BEFORE[0], "--save", &name]);
    assert!(output.contains("median error over these 8 rows") && output.ends_with("exit 0\n"), "{output}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("rows = 8") && text.contains("intra-efficiency"), "{text}");
    let with = measured(&[BEFORE[0], "--measured", BEFORE[1], "--calibration", &name]);
    for row in with["tables"][0]["rows"].as_array().unwrap() {
        let ratio = row["ratio"].as_f64().unwrap();
        assert!((0.97..=1.03).contains(&ratio), "{row}");
    }
    fs::write(&file, text.replace("version = 2", "version = 1")).unwrap();
    let (code, talk) = refused(&["predict", BEFORE[0], "--calibration", &name], b"");
    assert!(code == 3 && talk.contains("calibration-file") && talk.contains(":3:"), "{code} {talk}");
    fs::remove_file(&file).unwrap();
    let (code, talk) =
        refused(&["calibrate", "examples/formats/perftest/write-bw.txt", "--machine", "dgx-a100"], b"");
    assert!(code == 3 && talk.contains("no row of the runs"), "{code} {talk}");
}
