//! The page of `weft advise --report`: whole, by itself, with every candidate, figure and reason of the document.

#![expect(clippy::disallowed_methods, reason = "tests read what the command wrote")]

mod common;

use std::path::PathBuf;

use common::{refused, stdout};
use roxmltree::Node;
use serde_json::Value;

const ASKED: [&str; 11] = [
    "advise",
    "--gpus",
    "16",
    "--gpu",
    "h100-sxm5-80gb",
    "--gpu",
    "b200",
    "--train",
    "llama-3-8b",
    "--batch",
    "64",
];

/// The page and the document of one question.
fn written(name: &str, arguments: &[&str]) -> (String, Value) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = path.to_str().expect("a path of UTF-8");
    let document = stdout(&[arguments, &["--report", file, "--format", "json"]].concat());
    let page = std::fs::read_to_string(&path).expect("the report was written");
    (page, serde_json::from_str(&document).expect("a document"))
}

fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options).expect("all elements are closed")
}

fn all_text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|node| node.text()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_page_has_every_candidate_with_its_reasons_and_needs_nothing_else() {
    let (page, document) = written("advice.html", &ASKED);
    let tree = parsed(&page);
    let text = all_text(tree.root());
    let candidates = document["candidates"].as_array().expect("a list");
    assert!(candidates.len() > 5);
    for one in candidates {
        let name = one["name"].as_str().expect("a name");
        assert!(text.contains(name), "{name}");
        // Who is beaten whatever a price is need not have it: what it loses by comes first, and is all that is shown.
        let shown_count = if one["standing"] == "beaten" { 1 } else { usize::MAX };
        for reason in one["reasons"].as_array().expect("a list").iter().take(shown_count) {
            let reason = reason.as_str().expect("a sentence");
            assert!(text.contains(reason), "{name}: {reason}");
        }
    }
    for one in document["excluded"].as_array().expect("a list") {
        let reason = one["reason"].as_str().expect("a sentence");
        assert!(text.contains(reason), "{reason}");
    }
    // A disc for each that nobody beats, and its bill line by line.
    let front: Vec<&Value> = candidates.iter().filter(|one| one["on_front"] == true).collect();
    let discs = tree
        .descendants()
        .filter(|node| node.tag_name().name() == "circle" && node.attribute("class") == Some("forward"));
    assert!(!front.is_empty() && discs.count() == front.len());
    for line in front.iter().flat_map(|one| one["bill"].as_array().expect("a bill")) {
        let what = line["what"].as_str().expect("words");
        assert!(text.contains(what), "{what}");
    }
    // The picture of candidates, the step, the links.
    assert!(tree.descendants().filter(|node| node.tag_name().name() == "svg").count() >= 3);
    let own = page.replace("http://www.w3.org/", "");
    for outside in ["<script", "http://", "https://", "url(", "@import", " src="] {
        assert!(!own.contains(outside), "{outside}");
    }
}

#[test]
fn of_an_exchange_there_are_no_layouts_and_of_a_run_there_are_days() {
    let (page, document) = written("exchange.html", &["advise", "--gpus", "16", "--gpu", "h100-sxm5-80gb"]);
    let text = all_text(parsed(&page).root());
    assert!(text.contains("1 GiB of all-reduce, alone") && !text.contains("Memory of a GPU"), "{text}");
    assert!(document["candidates"].as_array().is_some_and(|all| !all.is_empty()));
    let (page, document) = written("run.html", &[&ASKED[..], &["--tokens", "100B"]].concat());
    let text = all_text(parsed(&page).root());
    let candidates = document["candidates"].as_array().expect("a list");
    let best = candidates.iter().find(|one| one["on_front"] == true);
    let days = best.and_then(|one| one["run"]["days"].as_f64()).expect("days");
    assert!(text.contains(&format!("{days:.1} days")) && text.contains("days of the whole run"), "{days}");
}

#[test]
fn a_page_of_nobody_says_why() {
    let (page, document) = written("nobody.html", &[&ASKED[..], &["--power", "1 kW"]].concat());
    assert_eq!(document["candidates"], Value::Array(Vec::new()));
    let text = all_text(parsed(&page).root());
    assert!(text.contains("more than 1 kW") && text.contains("Left out"), "{text}");
    let imagined = [&ASKED[..], &["--report", "x.html", "--what-if", "nvlink x2"]].concat();
    let (code, error) = refused(&imagined, b"");
    assert!(code == 2 && error.contains("--what-if"), "{error}");
}
