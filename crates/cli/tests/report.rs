//! Reports and timelines of `weft train`: pages that are whole, and say what the document says.

#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]
#![expect(clippy::disallowed_methods, reason = "tests read what the command wrote")]

mod common;

use std::path::PathBuf;

use common::{refused, stdout};
use serde_json::Value;

const RUN: [&str; 14] = [
    "train",
    "4 x dgx-a100 @ rail-optimized(leaf 40x200G)",
    "--model",
    "llama-3.1-8b",
    "--batch",
    "64",
    "--sequence",
    "4096",
    "--tp",
    "2",
    "--pp",
    "4",
    "--recompute",
    "selective",
];

fn written(name: &str, option: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    stdout(&[&RUN[..], &[option, path.to_str().unwrap()]].concat());
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_report_is_one_whole_page_with_the_figures_of_the_document() {
    let document: Value = serde_json::from_str(&stdout(&[&RUN[..], &["--format", "json"]].concat())).unwrap();
    let page = written("report.html", "--report");
    let tree = roxmltree::Document::parse_with_options(
        &page,
        roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() },
    )
    .unwrap();
    let text: String = tree.descendants().filter_map(|node| node.text()).collect::<Vec<_>>().join(" ");
    let mfu = format!("{:.1} %", 100.0 * document["mfu"].as_f64().unwrap());
    assert!(text.contains(&mfu), "{mfu}");
    let tokens = format!("{:.0}", document["tokens_per_s_per_gpu"].as_f64().unwrap());
    assert!(text.contains(&tokens), "{tokens}");
    assert!(tree.descendants().any(|node| node.tag_name().name() == "svg"));
    for outside in ["<script", "http://", "https://"] {
        let own = page.replace("http://www.w3.org/", "");
        assert!(!own.contains(outside), "{outside}");
    }
}

#[test]
fn a_timeline_ends_where_the_step_does() {
    let document: Value = serde_json::from_str(&stdout(&[&RUN[..], &["--format", "json"]].concat())).unwrap();
    let trace: Value = serde_json::from_str(&written("step.json", "--timeline")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let end = events.map(|event| event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap());
    let end = end.fold(0.0, f64::max) / 1e6;
    let step = document["step_s"].as_f64().unwrap();
    assert!((end / step - 1.0).abs() < 1e-6, "{end} s of {step} s");
    let picture = written("step.svg", "--timeline");
    let tree = roxmltree::Document::parse(&picture).unwrap();
    assert_eq!(tree.root_element().tag_name().name(), "svg");
}

#[test]
fn a_timeline_of_another_kind_is_refused() {
    let (code, error) = refused(&[&RUN[..], &["--timeline", "step.png"]].concat(), b"");
    assert_eq!(code, 2);
    assert!(error.contains(".svg") && error.contains(".json"), "{error}");
}
