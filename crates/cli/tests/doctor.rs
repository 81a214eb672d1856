//! `weft doctor` as a user sees it: exit codes, documents, health checks, fleets.

#![expect(clippy::disallowed_methods, reason = "tests write what they examine")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use std::fs;
use std::path::PathBuf;

use common::{root, run, stdout, weft};
use schema::checked;
use serde_json::Value;

/// A machine whose switches redirect peer-to-peer traffic, and the same one mended.
const ILL: &str = "crates/doctor/tests/cases/b034-a800-inside-slower-than-across";
const MENDED: &str = "crates/doctor/tests/cases/b034-a800-inside-slower-than-across-mended";

fn json(args: &[&str], schema: &str) -> (Value, Option<i32>) {
    let output = run(&[&["doctor", "--format", "json"], args].concat(), b"");
    (checked(schema, &String::from_utf8(output.stdout).unwrap()), output.status.code())
}

#[test]
fn findings_hold_to_the_schema_and_end_with_one() {
    let (document, code) = json(&[ILL], "doctor.json");
    assert_eq!((code, &document["healthy"]), (Some(1), &Value::from(false)));
    let first = &document["findings"][0];
    assert_eq!((&first["cause"], &first["code"]), (&Value::from("acs-iommu"), &Value::from("D014")));
    assert!(first["evidence"][0]["line"].as_u64().unwrap() > 1, "{first}");
    let (document, code) = json(&[MENDED], "doctor.json");
    assert_eq!((code, &document["healthy"]), (Some(0), &Value::from(true)), "{document}");
}

/// A few of them: what the doctor says of each is tested beside it.
#[test]
fn findings_of_many_kinds_hold_to_the_schema() {
    let entries = fs::read_dir(root().join("crates/doctor/tests/cases")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| fs::read_dir(folder).unwrap().count() > 1);
    folders.sort();
    for folder in folders.iter().step_by(9) {
        json(&[&folder.to_string_lossy()], "doctor.json");
    }
}

#[test]
fn what_is_no_input_is_refused_in_the_same_form() {
    let (document, code) = json(&["LICENSE-MIT"], "doctor.json");
    assert_eq!(code, Some(3));
    assert!(!document["diagnostics"].as_array().unwrap().is_empty());
}

#[test]
fn a_health_check_has_one_line_or_none() {
    let output = run(&["doctor", "--quiet", ILL], b"");
    let line = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(line.starts_with("D014 acs-iommu (") && line.lines().count() == 1 && line.len() <= 81, "{line}");
    assert_eq!(stdout(&["doctor", "--quiet", MENDED]), "");
}

#[test]
fn metrics_are_as_prometheus_reads_them() {
    let text = String::from_utf8(run(&["doctor", "--format", "prometheus", ILL], b"").stdout).unwrap();
    assert!(text.contains("\nweft_doctor_healthy 0\n"), "{text}");
    assert!(text.contains("weft_doctor_finding{cause=\"acs-iommu\",code=\"D014\","), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let is_name = name.starts_with("weft_doctor_") && name.ends_with(['}', 'y']);
        assert!(is_name && value.parse::<f64>().is_ok(), "{line}");
    }
}

/// Folders of machines, made for a test, gone with it.
struct Fleet(PathBuf);

impl Fleet {
    fn new(name: &str, texts: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("weft-fleet-{}-{name}", std::process::id()));
        for (number, text) in texts.iter().enumerate() {
            let node = folder.join(format!("node{number}"));
            fs::create_dir_all(&node).unwrap();
            fs::write(node.join("topo.txt"), text).unwrap();
        }
        Self(folder)
    }

    fn nodes(&self) -> Vec<String> {
        let mut nodes: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().path().to_string_lossy().into_owned())
            .collect();
        nodes.sort();
        nodes
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn of_a_fleet_the_machine_that_differs_is_told() {
    let good = fs::read_to_string(root().join("examples/compare/before/topo.txt")).unwrap();
    let lame = fs::read_to_string(root().join("examples/compare/after/topo.txt")).unwrap();
    let fleet = Fleet::new("odd", &[&good, &good, &lame, &good]);
    let nodes = fleet.nodes();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let (document, _) = json(&nodes, "doctor-fleet.json");
    assert_eq!(document["machines"].as_array().unwrap().len(), 4);
    let first = &document["differences"][0];
    assert_eq!(
        (&first["machine"], &first["usual_count"]),
        (&Value::from("node2"), &Value::from(3)),
        "{first}"
    );
    assert_eq!((&first["usual"], &first["says"]), (&Value::from("NV4"), &Value::from("NV3")), "{first}");
    let text = weft(&[&["doctor"], &nodes[..]].concat());
    assert!(text.starts_with("4 machines, ") && text.contains("otherwise than most\n  node2 "), "{text}");
    let same = Fleet::new("same", &[&good, &good, &good]);
    let nodes = same.nodes();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    assert!(weft(&[&["doctor"], &nodes[..]].concat()).contains("no machine differs from the others"));
}

#[test]
fn the_schedule_of_pairs_has_each_pair_once() {
    let text = stdout(&["doctor", "--schedule", "n[1-5]"]);
    assert_eq!((text.lines().count(), text.matches("n3").count()), (5, 4), "{text}");
    let (code, error) = common::refused(&["doctor", "--schedule", "n[1-"], b"");
    assert!(code == 2 && error.contains("failed to read the hosts"), "{error}");
}
