//! What `--format json` prints holds to the schemas of the repository, and to what the issue asks of it.

#![expect(clippy::disallowed_methods, reason = "tests read files to compare with")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use std::fs;

use common::{root, run, stdout};
use schema::{Schema, checked};
use serde_json::Value;
use weft_testkit::corpus::{self, Counts, Expected};

fn show(args: &[&str]) -> Value {
    checked("show.json", &stdout(&[&["show", "--format", "json"], args].concat()))
}

fn pair<'v>(document: &'v Value, a: &str, b: &str) -> &'v Value {
    let pairs = document["pairs"].as_array().unwrap();
    pairs.iter().find(|pair| pair["a"] == a && pair["b"] == b).unwrap_or(&Value::Null)
}

#[test]
fn every_example_and_system_holds_to_the_schema() {
    for entry in fs::read_dir(root().join("examples/topo")).unwrap() {
        show(&[&entry.unwrap().path().to_string_lossy()]);
    }
    for folder in fs::read_dir(root().join("examples/formats")).unwrap() {
        for entry in fs::read_dir(folder.unwrap().path()).unwrap() {
            show(&[&entry.unwrap().path().to_string_lossy()]);
        }
    }
    for system in &weft_catalogue::Catalogue::embedded().systems {
        show(&[&system.name]);
    }
}

#[test]
fn logs_of_nccl_hold_to_the_schema() {
    for name in ["two-hosts", "rccl", "tuning"] {
        let document = show(&[&format!("examples/formats/nccl-log/{name}.txt")]);
        assert_eq!(document["logs"].as_array().unwrap().len(), 1, "{name}");
    }
    let document = show(&["examples/formats/nccl-log/two-hosts.txt"]);
    let log = &document["logs"][0];
    assert_eq!((&log["gdr_in_use"], &log["hosts"][1]), (&Value::from("one-sided"), &Value::from("node-b")));
    assert_eq!(log["connections"].as_array().unwrap().len(), 5);
}

/// Whatever machine this test runs on; one without anything to read is refused, in the same form.
#[test]
fn this_machine_holds_to_the_schema() {
    let output = run(&["show", "local", "--format", "json"], b"");
    checked("show.json", &String::from_utf8(output.stdout).unwrap());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}", output.status);
}

#[test]
fn a_matrix_gives_one_pair_per_cell() {
    let document = show(&["examples/topo/dgx-a100.txt"]);
    let devices = document["devices"].as_array().unwrap();
    let ends =
        devices.iter().filter(|device| ["gpu", "nic"].map(Value::from).contains(&device["kind"])).count();
    assert_eq!(document["pairs"].as_array().unwrap().len(), ends * (ends - 1));
    let first = pair(&document, "GPU0", "GPU1");
    assert_eq!((&first["class"], &first["nccl_path"]), (&Value::from("NV12"), &Value::from("NVL")));
    // 12 links of 25 GB/s.
    assert_eq!(first["rate_bytes_per_s"], 300_000_000_000_u64);
    let nic = devices.iter().find(|device| device["kind"] == "nic").unwrap();
    assert!(nic["name"].as_str().unwrap().starts_with("mlx5_"), "{nic}");
    let assumed = devices[0]["assumed"].as_array().unwrap();
    assert!(assumed.iter().any(|text| text.as_str().unwrap().starts_with("model a100-sxm4-80gb")));
}

#[test]
fn both_directions_of_an_asymmetric_pair_are_there() {
    let document = show(&["examples/topo/asymmetric.txt"]);
    assert_eq!(pair(&document, "GPU1", "GPU3")["class"], "SYS");
    assert_eq!(pair(&document, "GPU3", "GPU1")["class"], "NODE");
    assert_eq!(document["diagnostics"][0]["code"], "pair-asymmetric");
    assert!(document["diagnostics"][0]["line"].as_u64().is_some());
}

#[test]
fn an_unknown_cell_is_null_and_a_row_that_is_not_there_has_no_pairs() {
    let text = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tP1X\nGPU1\tPIX\t X \tPHB\n";
    let output = run(&["show", "-", "--format", "json"], text.as_bytes());
    let document = checked("show.json", &String::from_utf8(output.stdout).unwrap());
    assert!(output.status.success() && output.stderr.is_empty());
    assert_eq!(pair(&document, "GPU0", "GPU2")["class"], Value::Null);
    assert_eq!(pair(&document, "GPU0", "GPU2")["nccl_path"], Value::Null);
    assert_eq!(pair(&document, "GPU1", "GPU2")["class"], "PHB");
    assert_eq!(*pair(&document, "GPU2", "GPU0"), Value::Null);
}

#[test]
fn accesses_alone_are_the_classes_of_their_pairs() {
    let text = " \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tCNS\tX\n";
    let output = run(&["show", "-", "--format", "json"], text.as_bytes());
    let document = checked("show.json", &String::from_utf8(output.stdout).unwrap());
    assert_eq!(pair(&document, "GPU0", "GPU1")["class"], "OK");
    assert_eq!(pair(&document, "GPU1", "GPU0")["class"], "CNS");
}

#[test]
fn a_described_machine_has_pairs_of_one_host_and_devices_of_all() {
    let document = show(&["4 x hgx-a100-4"]);
    let count = |kind: &str| {
        document["devices"].as_array().unwrap().iter().filter(|device| device["kind"] == kind).count()
    };
    assert_eq!(count("gpu"), 16);
    let nics = count("nic") / 4;
    assert_eq!(document["pairs"].as_array().unwrap().len(), 4 * (3 + nics));
}

#[test]
fn rankings_of_subsets_hold_to_the_schema() {
    let ranked = |gpus: &str| {
        checked(
            "predict.json",
            &stdout(&["predict", "dgx-1", "--size", "1GiB", "--gpus", gpus, "--format", "json"]),
        )
    };
    let four = ranked("4");
    // 8 over 4 is 70.
    let classes = four["subsets"]["classes"].as_array().unwrap();
    let counted: u64 = classes.iter().map(|class| class["subset_count"].as_u64().unwrap()).sum();
    assert_eq!((counted, four["ranks"].as_u64()), (70, Some(4)));
    assert_eq!(classes[0]["busbw_bytes_per_s"], four["rows"][0]["busbw_bytes_per_s"]);
    assert_eq!(ranked("1")["rows"].as_array().map(Vec::len), Some(0));
    assert!(ranked("0-3")["subsets"].is_null());
}

#[test]
fn predictions_hold_to_the_schema() {
    let text = stdout(&["predict", "dgx-a100", "--format", "json"]);
    let document = checked("predict.json", &text);
    let rows = document["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &document["ranks"]), (31, &Value::from(8)));
    assert_eq!((&rows[0]["bytes"], &rows[30]["bytes"]), (&Value::from(8), &Value::from(8_u64 << 30)));
    let (bytes, time) = (rows[30]["bytes"].as_f64().unwrap(), rows[30]["time_s"].as_f64().unwrap());
    let algbw = rows[30]["algbw_bytes_per_s"].as_f64().unwrap();
    assert!((algbw / (bytes / time) - 1.0).abs() < 1e-6);
    let seconds = |row: &Value, name: &str| row[name].as_f64().expect("seconds");
    assert!(rows.iter().all(|row| seconds(row, "low_s") < seconds(row, "time_s")));
    assert!(rows.iter().all(|row| seconds(row, "time_s") < seconds(row, "high_s")));
    // All-reduce over 8 ranks: busbw = 1.75 algbw.
    assert!((rows[30]["busbw_bytes_per_s"].as_f64().unwrap() / algbw - 1.75).abs() < 1e-6);
    for collective in ["all-gather", "reduce-scatter", "broadcast", "send-recv"] {
        let args = ["predict", "dgx-h100", "--collective", collective, "--format", "json"];
        checked("predict.json", &stdout(&args));
    }
}

#[test]
fn plans_hold_to_the_schema() {
    let all = weft_collective::Collective::ALL;
    for name in all.map(weft_collective::Collective::name) {
        let args = ["plan", "dgx-h100", "--gpus", "4", "-c", name, "--size", "1MiB", "--format", "json"];
        let document = checked("plan.json", &stdout(&args));
        let compared =
            document["plans"].as_array().unwrap().len() + document["unsuited"].as_array().unwrap().len();
        assert_eq!(compared, weft_collective::ALGORITHMS.len(), "{name}");
    }
    for algorithm in ["synthesised", "nvls", "double-binary-tree"] {
        let args = [
            "plan",
            "dgx-h100",
            "--size",
            "1MiB",
            "--algorithm",
            algorithm,
            "--rank",
            "3",
            "--format",
            "json",
        ];
        let document = checked("plan.json", &stdout(&args));
        assert_eq!(document["plans"][0]["rank"]["rank"], 3);
    }
    let file = "examples/formats/msccl-algorithm/all-pairs.xml";
    checked("plan.json", &stdout(&["plan", file, "--on", "dgx-h100", "--format", "json"]));
    let output = run(&["plan", "dgx-h100", "--algorithm", "rings", "--format", "json"], b"");
    let document = checked("plan.json", &String::from_utf8(output.stdout).unwrap());
    assert_eq!(document["diagnostics"][0]["code"], "no-such-algorithm");
}

#[test]
fn simulations_hold_to_the_schema() {
    for name in ["slow-nic", "checkpoints", "two-jobs", "flapping-link"] {
        let file = format!("examples/scenarios/{name}.toml");
        let document = checked("simulate.json", &stdout(&["simulate", &file, "--format", "json"]));
        let job = &document["jobs"][0];
        let shares = job["critical_path"]["parts"].as_array().unwrap().iter();
        let whole: f64 = shares.map(|part| part["share"].as_f64().unwrap()).sum();
        assert!((whole - 1.0).abs() < 1e-9, "{file}: the parts of the critical path are the whole time");
        // busbw is algbw times the bus factor, and never above the limit of the links.
        if let Some(limit) = job["limit"]["busbw_bytes_per_s"].as_f64() {
            assert!(job["busbw_bytes_per_s"].as_f64().unwrap() <= limit * (1.0 + 1e-9), "{file}");
        }
    }
}

#[test]
fn refusals_hold_to_the_schemas_too() {
    let cases: [(&str, &[&str], &[u8], i32); 4] = [
        ("show.json", &["show", "-", "--format", "json"], b"prose", 3),
        ("show.json", &["show", "nowhere/topo.txt", "--format", "json"], b"", 4),
        ("predict.json", &["predict", "-", "--format", "json"], b"", 3),
        ("predict.json", &["predict", "8 gaudi2", "--format", "json"], b"", 1),
    ];
    for (schema, args, input, code) in cases {
        let output = run(args, input);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        let document = checked(schema, &String::from_utf8(output.stdout).unwrap());
        assert_eq!(document["diagnostics"].as_array().unwrap().last().unwrap()["severity"], "error");
    }
}

#[test]
fn comparisons_hold_to_the_schema() {
    let text = stdout(&["validate", "crates/cli/tests/measured", "--format", "json"]);
    let document = checked("validate.json", &text);
    let groups = document["groups"].as_array().unwrap();
    let skipped: usize = groups.iter().map(|group| group["skipped"].as_array().unwrap().len()).sum();
    let rows: u64 = groups.iter().map(|group| group["rows"].as_u64().unwrap()).sum();
    let scored: u64 = groups.iter().map(|group| group["scored"].as_u64().unwrap()).sum();
    assert_eq!(rows, scored + skipped as u64);
    if let Some(folder) = common::measured() {
        let text = stdout(&["validate", &folder.to_string_lossy(), "--kind", "latency", "--format", "json"]);
        checked("validate.json", &text);
    }
}

#[test]
fn the_check_itself_finds_what_is_wrong() {
    let schema = Schema::new(serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "type": ["integer", "null"], "minimum": 1 }, "b": { "enum": ["x"] } }
    }));
    assert_eq!(schema.errors(&serde_json::json!({ "a": 1, "b": "x" })), Vec::<String>::new());
    assert_eq!(schema.errors(&serde_json::json!({ "a": null })), Vec::<String>::new());
    for wrong in
        [r#"{}"#, r#"{"a": 0}"#, r#"{"a": 1.5}"#, r#"{"a": 1, "b": "y"}"#, r#"{"a": 1, "c": 1}"#, "[]"]
    {
        assert_eq!(schema.errors(&serde_json::from_str(wrong).unwrap()).len(), 1, "{wrong}");
    }
}

/// Classes of the cells from GPUs to devices of `kind`.
fn classes(document: &Value, kind: &str) -> Counts {
    let devices = document["devices"].as_array().unwrap();
    let is = |id: &Value, kind: &str| devices.iter().any(|one| one["id"] == *id && one["kind"] == kind);
    let mut counts = Counts::new();
    for pair in document["pairs"].as_array().unwrap() {
        if let Some(class) = pair["class"].as_str().filter(|_| is(&pair["a"], "gpu") && is(&pair["b"], kind))
        {
            *counts.entry(class.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn every_file_of_the_corpus_is_shown_with_what_its_notes_say() {
    let Some(files) = corpus::matrices() else {
        println!("skipped: no corpus at {}", corpus::folder("A").display());
        return;
    };
    let mut misses = Vec::new();
    for file in &files {
        let document = show(&[&corpus::folder("A").join(&file.name).to_string_lossy()]);
        let count = |kind: &str| {
            document["devices"].as_array().unwrap().iter().filter(|device| device["kind"] == kind).count()
        };
        let found = Expected {
            gpus: count("gpu"),
            nics: count("nic"),
            gpu_gpu: Some(classes(&document, "gpu")),
            gpu_nic: Some(classes(&document, "nic")),
            nic_legend: None,
        };
        let mut wanted = Expected { nic_legend: None, ..file.expected.clone() };
        if file.name.starts_with("061-") {
            // The bars of this table were counted as cells; the reader's own test has the true numbers.
            (wanted.gpu_gpu, wanted.gpu_nic) = (None, None);
        }
        misses.extend(wanted.misses(&found).into_iter().map(|miss| format!("{}: {miss}", file.name)));
    }
    assert!(misses.is_empty(), "{} of {} files:\n{}", misses.len(), files.len(), misses.join("\n"));
}

#[test]
fn topology_and_graph_files_of_nccl_are_shown_whole() {
    let document = show(&["examples/formats/nccl-topology/server.xml"]);
    let host = &document["hosts"][0];
    let devices = host["devices"].as_array().unwrap();
    assert_eq!((devices.len(), devices[2]["address"].as_str()), (20, Some("0000:05:00.0")));
    assert_eq!(devices[2]["parent"], "0000:03:00.0");
    assert_eq!(devices[2]["gpus"][0]["sm"], 80);
    // 200,000 Mb/s.
    assert_eq!(devices[4]["adapters"][0]["rate_bytes_per_s"], 25_000_000_000_u64);
    let link = &host["gpu_links"][0];
    assert_eq!((&link["kind"], &link["count"]), (&Value::from("switch"), &Value::from(2)));
    let document = show(&["examples/formats/nccl-graph/rings.xml"]);
    let graph = &document["graphs"][0]["graphs"][0];
    assert_eq!(graph["speed_intra_bytes_per_s"], 22_000_000_000_u64);
    assert_eq!(graph["channels"][1][0], "net 1");
}
