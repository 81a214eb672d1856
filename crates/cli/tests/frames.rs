//! `weft frames` as a user sees it: which link, how fast, what limits, and what cannot be.

#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

mod common;
mod schema;

use common::{refused, stdout};
use schema::checked;
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    checked("frames.json", &stdout(&[&["frames", "--format", "json"], args].concat()))
}

#[test]
fn two_cards_on_a_bridge_of_high_bandwidth() {
    let document = json(&["2 gtx-1080 @ pcie3x8 + sli-hb", "--frame-time", "20 ms", "--refresh", "144"]);
    assert_eq!(document["link"]["title"], "SLI HB bridge");
    // 3840 x 2160 x 3 bytes; 3.25 GB/s of them are 130.6 Hz.
    assert!((document["frame_bytes"].as_f64().unwrap() - 24_883_200.0).abs() < 1.0);
    assert!((document["most_hz"].as_f64().unwrap() - 130.6).abs() < 0.1);
    assert!((document["pictures"]["scaling"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(document["pictures"]["bound_by"], "the GPUs");
}

#[test]
fn without_a_frame_time_only_the_link_is_judged() {
    let document = json(&["2 gtx-1080 @ pcie3x8 + sli", "--resolution", "3840x2160"]);
    assert!(document["pictures"].is_null());
    let text = stdout(&["frames", "2 gtx-1080 @ pcie3x8 + sli"]);
    assert!(text.contains("it carries up to 40.2 Hz: too little for this screen at its full rate"), "{text}");
}

#[test]
fn one_card_shares_with_nobody_and_sizes_are_checked() {
    let (code, error) = refused(&["frames", "1 gtx-1080 @ pcie3x16"], b"");
    assert_eq!(code, 1);
    assert!(error.contains("no-frames") && error.contains("at least 2 GPUs, the machine has 1"), "{error}");
    let (code, error) = refused(&["frames", "2 gtx-1080 @ pcie3x8", "--resolution", "4K"], b"");
    assert_eq!(code, 2);
    assert!(error.contains("3840x2160"), "{error}");
}
