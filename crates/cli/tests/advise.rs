//! `weft advise` as a user sees it: the document, what it explains, what it refuses.

mod common;
mod schema;

use std::process::{Command, Output};

use schema::checked;

fn advise(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command
        .current_dir(common::root())
        .arg("advise")
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .expect("it runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

const H100: [&str; 4] = ["--gpus", "1024", "--gpu", "h100-sxm5-80gb"];

#[test]
fn the_document_has_cost_power_step_and_reasons() {
    let output = advise(&[&H100[..], &["--format", "json", "--what-if", "infiniband x0.5"]].concat());
    let document = checked("advise.json", &String::from_utf8_lossy(&output.stdout));
    let candidates = document["candidates"].as_array().expect("a list");
    let named = |name: &str| candidates.iter().find(|one| one["name"] == name).expect("a candidate");
    let best = named("hgx-h100-8/infiniband-ndr/rail-optimized");
    assert_eq!((&best["switches"], &best["hosts"]), (&serde_json::json!([32, 16]), &serde_json::json!(128)));
    assert_eq!(best["cost"].as_f64(), Some(128.0 * 310_000.0 + 48.0 * 50_000.0 + 1024.0 * 2560.0));
    let seconds = best["step_s"].as_f64().expect("a time");
    assert!(best["low_s"].as_f64() < Some(seconds) && Some(seconds) < best["high_s"].as_f64());
    assert!(best["no_goodput"].as_str().is_some_and(|why| why.contains("too few")));
    assert!(candidates.iter().any(|one| one["on_front"] == true));
    assert!(candidates.iter().all(|one| one["on_front"] == true || one["reasons"][0].is_string()));
    // Half the network, nearly twice the time.
    let slow = document["what_if"]["steps"].as_array().expect("a list").iter();
    let slow = slow
        .filter(|one| one["name"] == best["name"])
        .find_map(|one| one["step_s"].as_f64())
        .expect("a time");
    assert!((1.7..2.1).contains(&(slow / seconds)), "{slow} {seconds}");
}

#[test]
fn a_bill_says_what_its_prices_are() {
    let output = text(&advise(&[&H100[..], &["--why", "hgx-h100-8/infiniband-ndr/rail-optimized"]].concat()));
    for part in
        ["310,000 USD", "as of 2024-08, assumed", "in the price of the links", "draws 1.377 MW", "too few"]
    {
        assert!(output.contains(part), "{output}");
    }
    let output = text(&advise(
        &[&H100[..], &["--prices", "examples/prices.toml", "--why", "hgx-h100-8/infiniband-ndr/rail-o"]]
            .concat(),
    ));
    assert!(output.contains("36,000 USD") && output.contains("yours"), "{output}");
}

#[test]
fn a_small_job_has_a_goodput_with_the_rate_of_its_software() {
    let why = ["--why", "hgx-h100-8/infiniband-ndr/rail-optimized"];
    let output = text(&advise(&[&H100[..], &why, &["--software", "2.2 per job-day"]].concat()));
    assert!(output.contains("% of the time is work") && !output.contains("no goodput"), "{output}");
    // A bare number and one of another thing are refused before anything is computed.
    let output = advise(&[&H100[..], &["--software", "0.0065"]].concat());
    assert!(
        output.status.code() == Some(2) && text(&output).contains("a thousand times less"),
        "{}",
        text(&output)
    );
    let output = text(&advise(&[&H100[..], &why, &["--software", "0.0065 per node-day"]].concat()));
    assert!(output.contains("no goodput: the rate is of a node, not of a job"), "{output}");
}

#[test]
fn common_errors_and_names_that_are_not_there_are_answered() {
    let output = advise(&["--claim", "T4, because it supports NVLink"]);
    assert!(text(&output).starts_with("no: NVIDIA T4 has no NVLink"), "{}", text(&output));
    for (arguments, reason) in [
        (&["--claim", "the sky is blue"][..], "nothing in it is of a GPU"),
        (&["--gpus", "8", "--gpu", "h101"], "`h101` is not in the catalogue"),
        (&[&H100[..], &["--what-if", "warp x2"]].concat(), "no link of the catalogue begins with `warp`"),
        (
            &[&H100[..], &["--why", "dgx-a100"]].concat(),
            "is no candidate: it has a GPU that is not among the models",
        ),
    ] {
        let output = advise(arguments);
        let (code, text) = (output.status.code(), text(&output));
        assert!(code == Some(2) && text.contains(reason) && text.contains("no-advice"), "{code:?} {text}");
    }
}

#[test]
fn a_trained_model_has_layouts_runs_and_a_document_even_when_refused() {
    let train = ["--gpus", "64", "--train", "llama-3-8b", "--batch", "128", "--gpu", "h100-sxm5-80gb"];
    let run = ["--tokens", "1T", "--deadline", "60 days", "--lifetime", "4 years", "--format", "json"];
    let output = advise(&[&train[..], &run].concat());
    let document = checked("advise.json", &String::from_utf8_lossy(&output.stdout));
    let candidates = document["candidates"].as_array().expect("a list");
    let best = candidates.iter().find(|one| one["cost"].is_number()).expect("a candidate");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    // 10^12 tokens in steps of 128 x 4096, one after another, in days of 86,400 s.
    let days = 1e12 / (128.0 * 4096.0) * number(&best["step_s"]) / 86_400.0;
    assert!((number(&best["run"]["days"]) / days - 1.0).abs() < 1e-9 && days <= 60.0, "{days}");
    assert!(best["run"]["work_share"].is_null(), "too small for published rates");
    // Watts for the time of a step; price and four years of electricity over their tokens.
    let energy = number(&best["power_w"]) * number(&best["step_s"]) / 3.6e6;
    assert!((number(&best["step_energy_kwh"]) / energy - 1.0).abs() < 1e-3);
    let tokens = 4.0 * 365.25 * 86_400.0 / number(&best["step_s"]) * 128.0 * 4096.0;
    let cost = (number(&best["cost"]) + 4.0 * number(&best["yearly_energy_cost"])) / tokens * 1e6;
    assert!((number(&best["million_tokens_cost"]) - cost).abs() < 2e-6, "{cost}");
    let refused = advise(&["--gpus", "8", "--workload", "llama-3-8b, bacth 8", "--format", "json"]);
    let document = checked("advise.json", &String::from_utf8_lossy(&refused.stdout));
    let finding = &document["diagnostics"][0];
    assert_eq!(
        (finding["code"].as_str(), finding["column"].as_u64()),
        (Some("workload-unreadable"), Some(13))
    );
    assert_eq!(refused.status.code(), Some(2));
}
