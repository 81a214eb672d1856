//! `weft serve` as a user sees it: a layout, a search, what does not fit, and what cannot be.

#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use common::{refused, stdout};
use schema::checked;
use serde_json::Value;

const PAIR: &str = "2 rtx-3090 @ pcie4x16 + nvlink-bridge";

fn json(args: &[&str]) -> Value {
    checked("serve.json", &stdout(&[&["serve", "--format", "json"], args].concat()))
}

#[test]
fn a_layout_has_times_that_add_up_and_memory() {
    let document = json(&[PAIR, "--model", "qwen3-32b", "--weights", "int4", "--tp", "2"]);
    let first = &document["quickest"][0];
    let token = first["tpot_s"].as_f64().unwrap();
    let parts: f64 =
        first["decode"].as_array().unwrap().iter().map(|part| part["seconds"].as_f64().unwrap()).sum();
    assert!((parts / token - 1.0).abs() < 1e-9);
    assert!(first["tpot_low_s"].as_f64().unwrap() < token && token < first["tpot_high_s"].as_f64().unwrap());
    // 31.2 billion weights in layers at 4.16 bits, 1.56 billion in tables at 16, over two GPUs: 9.7 GB.
    let weights = first["memory"]["weights_bytes"].as_f64().unwrap();
    assert!((weights / 9.7e9 - 1.0).abs() < 0.03, "{weights}");
    assert!(document["most"].as_array().unwrap().is_empty());
}

#[test]
fn a_search_finds_the_quickest_and_what_serves_most() {
    let document = json(&["dgx-h100", "--model", "llama-3.3-70b", "--batch", "16", "--prompt", "2048"]);
    assert_eq!(document["quickest"][0]["layout"]["tensor"], 8);
    let requests: Vec<f64> = document["quickest"]
        .as_array()
        .unwrap()
        .iter()
        .map(|candidate| candidate["request_s"].as_f64().unwrap())
        .collect();
    assert!(requests.len() > 3 && requests.is_sorted());
    let batch = |of: &str| document[of][0]["batch"].as_u64().unwrap();
    assert!(batch("most") > 10 * batch("quickest"));
}

#[test]
fn what_does_not_fit_says_by_how_much_and_what_needs_less() {
    let (code, error) = refused(&["serve", PAIR, "--model", "llama-3.3-70b"], b"");
    assert_eq!(code, 1);
    assert!(
        error.contains("does-not-fit") && error.contains("no layout fits; the nearest (TP 2) by"),
        "{error}"
    );
    assert!(error.contains("weights 65.7 GiB") && error.contains("--weights int4"), "{error}");
}

#[test]
fn what_cannot_be_says_why() {
    let base = ["serve", PAIR, "--model", "qwen3-32b", "--weights", "int4"];
    let with = |more: &[&str]| refused(&[&base, more].concat(), b"").1;
    assert!(with(&["--tp", "3"]).contains("attention heads (64) cannot be split by tensor (3)"));
    assert!(with(&["--ep", "2"]).contains("a dense model has no experts to share"));
    assert!(with(&["--tp", "4"]).contains("the layout takes 4 GPUs, the machine has 2"));
    assert!(with(&["--engine", "llama-cpp", "--tp", "2"]).contains("splits layers over GPUs"));
    assert!(with(&["--engine", "vlm"]).contains("did you mean `vllm`"));
}
