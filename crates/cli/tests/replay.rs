//! `weft replay` as a user sees it: a step on two fabrics, and what is wrong with traces.
#![expect(clippy::disallowed_methods, reason = "tests write files to read")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use std::fs;
use std::path::{Path, PathBuf};

use common::{refused, root, stdout};
use schema::checked;
use serde_json::Value;

const SERVER: &str = "dgx-h100";
const HOSTS: &str = "2 x 2 a40 + 1 cx6";

fn json(args: &[&str]) -> Value {
    checked("replay.json", &stdout(&[&["replay", "--format", "json"], args].concat()))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// A folder of its own with the example in it, changed by `change`.
fn changed(name: &str, change: impl Fn(&str, String) -> Option<String>) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(root().join("examples/chakra")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        if let Some(text) = change(&file, fs::read_to_string(&path).unwrap()) {
            fs::write(folder.join(file), text).unwrap();
        }
    }
    folder
}

fn said(folder: &Path) -> (i32, String) {
    refused(&["replay", folder.to_str().unwrap(), "--on", SERVER], b"")
}

#[test]
fn parts_of_each_rank_add_up_to_the_step() {
    for machine in [SERVER, HOSTS] {
        let document = json(&["examples/chakra", "--on", machine]);
        let step = number(&document["step_s"]);
        for rank in document["ranks"].as_array().unwrap() {
            let parts = ["compute_s", "exposed_s", "waiting_s", "idle_s"].map(|part| number(&rank[part]));
            assert!((parts.iter().sum::<f64>() - step).abs() < 1e-9, "{rank}");
        }
        // 1.8 + 1.8 + 3.6 + 3.6 + 0.9 ms; rank 3 is 6 % slower.
        assert!((number(&document["ranks"][0]["compute_s"]) - 11.7e-3).abs() < 1e-9);
        assert!((number(&document["ranks"][3]["compute_s"]) - 12.402e-3).abs() < 1e-9);
        assert_eq!(document["slowest_rank"], 3);
    }
}

/// What `weft predict` says of the same GPUs and size, launched by a framework as steps are.
fn predicted(machine: &str, collective: &str, more: &[&str]) -> f64 {
    let asked = ["predict", machine, "--launch", "framework", "--format", "json", "--collective", collective];
    let document: Value = serde_json::from_str(&stdout(&[&asked[..], more].concat())).unwrap();
    number(&document["rows"][0]["time_s"])
}

#[test]
fn a_group_takes_what_is_predicted_for_its_gpus() {
    // 32 MiB of GPUs 0 and 1 of a server, twice; and 64 MiB of 0 and 2, one in each of two servers.
    let alone = |document: &Value, name: &str| {
        let groups = document["groups"].as_array().unwrap();
        let group = groups.iter().find(|group| group["name"] == name).unwrap();
        (number(&group["seconds"]) - number(&group["shared_s"])) / number(&group["operations"])
    };
    for (machine, group, gpus, size) in [(SERVER, "tp-0", "0,1", "32MiB"), (HOSTS, "dp-0", "0,2", "64MiB")] {
        let played = alone(&json(&["examples/chakra", "--on", machine]), group);
        let predicted = predicted(machine, "all-reduce", &["--gpus", gpus, "--size", size]);
        assert!((played / predicted - 1.0).abs() < 1e-6, "{machine}: {played} {predicted}");
    }
}

/// One node on each of eight ranks; what one of them puts in is what the trace says, which of an all-gather is an
/// eighth of what nccl-tests counts.
#[test]
fn a_trace_of_one_collective_takes_what_is_predicted() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let kinds = [(0, "all-reduce", "1MiB"), (2, "all-gather", "8MiB"), (6, "all-to-all", "1MiB")];
    for (kind, collective, size) in kinds {
        let path = folder.join(format!("one-{collective}.0.json"));
        let node = format!("{{\"id\": 1, \"type\": 7, \"comm_type\": {kind}, \"comm_size\": 1048576}}");
        fs::write(&path, format!("{{\"nodes\": [{node}]}}")).unwrap();
        let document = json(&[path.to_str().unwrap(), "--ranks", "8", "--on", SERVER]);
        let predicted = predicted(SERVER, collective, &["--size", size]);
        let step = number(&document["step_s"]);
        assert!((step / predicted - 1.0).abs() < 1e-6, "{collective}: {step} {predicted}");
    }
    let twice = ["replay", "examples/chakra", "--ranks", "8", "--on", SERVER];
    let (code, text) = refused(&twice, b"");
    assert!(code == 3 && text.contains("`--ranks` repeats one trace, but there are 4"), "{text}");
}

#[test]
fn the_critical_path_is_as_long_as_the_step() {
    for machine in [SERVER, HOSTS] {
        let document = json(&["examples/chakra", "--on", machine]);
        let parts = document["critical_path"].as_array().unwrap();
        let all: f64 = parts.iter().map(|part| number(&part["seconds"])).sum();
        assert!((all - number(&document["step_s"])).abs() < 1e-9, "{document}");
    }
    // In one server, all of rank 3's computing, two sums of activations and the last sum of gradients.
    let parts = json(&["examples/chakra", "--on", SERVER])["critical_path"].clone();
    let part = |group: Value| {
        let parts = parts.as_array().unwrap();
        parts.iter().find(|part| part["group"] == group).map(|part| part["nodes"].clone())
    };
    let of = |group: &str| part(Value::from(group));
    assert_eq!((part(Value::Null), of("tp-1"), of("dp-1")), (Some(5.into()), Some(2.into()), Some(1.into())));
    assert!((number(&parts[0]["seconds"]) - 12.402e-3).abs() < 1e-9 && parts[0]["longest"]["rank"] == 3);
}

#[test]
fn groups_on_one_port_share_it() {
    // `dp-0` and `dp-1` leave both servers over one NIC each, at the same time; in one server they do not.
    let groups = |machine| {
        let document = json(&["examples/chakra", "--on", machine]);
        let own = |name: &str| {
            let all = document["groups"].as_array().unwrap();
            all.iter().find(|group| group["name"] == name).map(|group| number(&group["shared_s"])).unwrap()
        };
        [own("dp-0"), own("dp-1"), own("tp-0")]
    };
    let [first, second, inside] = groups(HOSTS);
    assert!(first > 1e-3 && second > 1e-3 && inside < 1e-9, "{first} {second} {inside}");
    assert!(groups(SERVER).iter().all(|shared| *shared < 1e-9));
}

#[test]
fn computing_may_be_taken_slower() {
    let step =
        |scale: &str| number(&json(&["examples/chakra", "--on", SERVER, "--compute-scale", scale])["step_s"]);
    let (whole, none) = (step("1"), step("0"));
    // Rank 3 computes 12.402 ms, of which communication hides nothing that comes after it.
    assert!(none > 0.0 && whole > 12.402e-3 && whole < none + 12.402e-3 + 1e-9, "{whole} {none}");
    let (code, text) = refused(&["replay", "examples/chakra", "--on", SERVER, "--compute-scale=-1"], b"");
    assert!(code == 2 && text.contains("expected a factor"), "{text}");
}

#[test]
fn missing_ranks_and_contradictions_are_named() {
    let folder = changed("replay-missing", |file, text| (file != "step.2.json").then_some(text));
    let (code, text) = said(&folder);
    assert!(
        code == 3 && text.contains("replay-mismatch") && text.contains("for rank 2: they have no trace"),
        "{text}"
    );
    let cut = "\"pg_name\": \"dp-1\"}";
    let folder = changed("replay-cut", |file, text| {
        Some(if file == "step.3.json" { text.replacen(cut, "\"pg_name\": \"tp-1\"}", 1) } else { text })
    });
    let (code, text) = said(&folder);
    assert!(code == 3 && text.contains("waits for ever in group `dp-1` for rank 3"), "{text}");
    let circle = changed("replay-circle", |_, text| {
        Some(text.replace(
            "\"type\": \"COMP_NODE\", \"data_deps\": [2]",
            "\"type\": \"COMP_NODE\", \"data_deps\": [4]",
        ))
    });
    let (code, text) = said(&circle);
    assert!(code == 3 && text.contains("3 (`layer 2 forward`) before 4 (`layer 2 activations`)"), "{text}");
    assert!(text.contains("step.0.json:7:"), "{text}");
    let lost = changed("replay-lost", |_, text| {
        Some(text.replace("\"data_deps\": [6, 8]", "\"data_deps\": [6, 18]"))
    });
    let (code, text) = said(&lost);
    assert!(code == 3 && text.contains("node 9 (`optimizer`) needs the result of node 18"), "{text}");
}

#[test]
fn files_that_are_no_trace_of_a_rank_say_so() {
    let (code, text) = refused(&["replay", "examples/topo", "--on", SERVER], b"");
    assert!(code == 3 && text.contains("no-replay"), "{text}");
    let (code, text) = refused(&["replay", "examples/formats/chakra/step.et", "--on", SERVER], b"");
    assert!(code == 3 && text.contains("does not say of which rank"), "{text}");
    let twice = ["replay", "examples/chakra", "examples/chakra/step.0.json", "--on", SERVER];
    let (code, text) = refused(&twice, b"");
    assert!(code == 3 && text.contains("are both of rank 0"), "{text}");
    let (code, text) = refused(&["replay", "examples/chakra", "--on", "2 a40"], b"");
    assert!(code == 1 && text.contains("rank 3 has no GPU: the machine has 2"), "{text}");
}

#[test]
fn the_timeline_is_a_picture_and_events() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (svg, events) = (folder.join("replay.svg"), folder.join("replay-events.json"));
    for path in [&svg, &events] {
        stdout(&["replay", "examples/chakra", "--on", HOSTS, "--timeline", path.to_str().unwrap()]);
    }
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.contains("rank 3") && svg.contains("all-reduce, node 6 layer 2 gradients"), "{svg}");
    let events: Value = serde_json::from_str(&fs::read_to_string(events).unwrap()).unwrap();
    // Nine nodes of each of four ranks take time; five names of each: the rank's and four threads'.
    assert_eq!(events["traceEvents"].as_array().unwrap().len(), 4 * (9 + 5));
}
