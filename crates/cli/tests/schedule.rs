//! `weft schedule` as a user sees it: a study, its document, and what it refuses.

#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use common::{refused, stdout};
use schema::checked;
use serde_json::Value;

const STUDY: [&str; 4] = ["schedule", "examples/openb", "--study", "fgd"];

fn json(more: &[&str]) -> Value {
    checked("schedule.json", &stdout(&[&STUDY[..], &["--format", "json"], more].concat()))
}

#[test]
fn a_study_is_the_same_each_time_and_has_all_policies() {
    let found = json(&["--seeds", "2"]);
    assert_eq!(found, json(&["--seeds", "2"]));
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 7 * 12);
    let at = |policy: &str, percent: u64| {
        let row = rows.iter().find(|row| row["policy"] == policy && row["arrived_percent"] == percent);
        row.unwrap()["unallocated_percent"].as_f64().unwrap()
    };
    assert!(at("headroom", 100) < at("random", 100));
    assert!(at("random", 130) <= at("random", 100), "nothing leaves");
    let mean =
        rows[0]["by_seed"].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).sum::<f64>() / 2.0;
    assert!((mean - rows[0]["unallocated_percent"].as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn seeds_and_what_is_learnt_matter() {
    let all = json(&["--seeds", "2", "--policy", "headroom"]);
    assert_ne!(all["rows"], json(&["--seeds", "2", "--policy", "headroom", "--first-seed", "7"])["rows"]);
    let half = json(&["--seeds", "2", "--policy", "headroom", "--learn", "half"]);
    assert_eq!((&half["learnt_from"], &all["learnt_from"]), (&"half".into(), &"all".into()));
    assert_ne!(all["rows"], half["rows"]);
}

#[test]
fn what_is_not_there_is_named() {
    let (code, error) = refused(&[&STUDY[..], &["--policy", "fdg"]].concat(), b"");
    assert_eq!(code, 2);
    assert!(error.contains("no-such-policy") && error.contains("best-fit"), "{error}");
    let (code, error) = refused(&["schedule", "examples/topo", "--study", "fgd"], b"");
    assert_eq!(code, 4);
    assert!(error.contains("openb_node_list_gpu_node.csv"), "{error}");
    let (code, error) = refused(&[&STUDY[..], &["--trace", "cpu999"]].concat(), b"");
    assert_eq!(code, 4);
    assert!(error.contains("openb_pod_list_cpu999.csv"), "{error}");
}
