//! Candidates, bills and claims.

use weft_advisor::advice::{Advice, Demand, Question, Size, advise};
use weft_advisor::bill::Prices;
use weft_advisor::candidate::Constraints;
use weft_advisor::claim::claim;
use weft_advisor::fabric::Layout;
use weft_advisor::performance::{Exchange, NoStep, Performance, StepTime};
use weft_catalogue::Catalogue;

fn layout() -> Layout {
    let length = |text: &str| text.parse().expect("a length");
    Layout { to_leaf: length("30 m"), to_spine: length("50 m"), fibre_only: true }
}

/// One GiB of all-reduce.
fn exchange() -> Exchange {
    let bytes = |text: &str| text.parse().expect("bytes");
    Exchange { all_reduce: bytes("1 GiB"), all_to_all: bytes("0 B") }
}

fn ask(constraints: &Constraints, prices: &Prices) -> Advice {
    asked(constraints, prices, &exchange())
}

fn asked(constraints: &Constraints, prices: &Prices, performance: &dyn Performance) -> Advice {
    let question = Question {
        constraints,
        size: Size::Asked,
        layout: &layout(),
        prices,
        performance,
        demand: Demand::default(),
        notice: &|_, _| {},
    };
    advise(&question, Catalogue::embedded())
}

fn h100(gpus: u32) -> Constraints {
    Constraints { gpus, models: vec!["h100-sxm5-80gb".to_owned()], ..Constraints::default() }
}

#[test]
fn a_thousand_h100_cost_what_the_public_sheet_says() {
    let advice = ask(&h100(1024), &Prices::default());
    let name = "hgx-h100-8/infiniband-ndr/rail-optimized";
    let choice = advice.choices.iter().find(|choice| choice.candidate.name == name).expect("a candidate");
    // 128 servers, 48 switches at 50,000, 1,024 links to hosts at 1,320 and 1,024 between switches at 1,240. With the
    // reseller's switches at 36,000 the sheet says 50,429,440: 12,960 USD of links and 0.014 M USD of rounding apart.
    assert!(choice.is_priced(), "{:?}", choice.bill.unpriced);
    let expected = 128.0 * 310_000.0 + 48.0 * 50_000.0 + 1024.0 * (1320.0 + 1240.0);
    assert!((choice.bill.cost.as_units() - expected).abs() < 1.0, "{}", choice.bill.cost);
    let overrides = [("quantum-2-qm9700".to_owned(), "36000 USD".parse().expect("a price"))].into();
    let cheaper = ask(&h100(1024), &Prices { overrides });
    let cheaper = cheaper.choices.iter().find(|choice| choice.candidate.name == name).expect("a candidate");
    let sheet = 1_728_000.0 + 2_621_440.0 + 128.0 * 310_000.0;
    assert!((cheaper.bill.cost.as_units() - sheet).abs() < 1.0, "{}", cheaper.bill.cost);
    // 128 x 10.2 kW, 48 x 747 W and 34.5 W of optics for each GPU.
    let watts = 128.0 * 10_200.0 + 48.0 * 747.0 + 34.5 * 1024.0;
    assert!((choice.bill.power.as_watts() - watts).abs() < 1.0, "{}", choice.bill.power);
    // Too small for the model of failures: refused, not guessed.
    assert!(choice.goodput.as_ref().is_err_and(|refusal| refusal.to_string().contains("too few")));
    let large = ask(&h100(16_384), &Prices::default());
    let (best, worst) = large.choices[0].goodput.clone().expect("large enough");
    assert!(best.share > worst.share && worst.share > 0.4, "{best:?} {worst:?}");
}

#[test]
fn whoever_is_beaten_says_by_whom() {
    let advice = ask(&h100(1024), &Prices::default());
    assert!(advice.choices.iter().any(|choice| choice.loses.is_empty()), "somebody wins");
    let beaten: Vec<&String> = advice.choices.iter().flat_map(|choice| &choice.loses).collect();
    assert!(beaten.iter().any(|reason| reason.contains("better in nothing")), "{beaten:#?}");
    // A switch without a price has a line to paste, and the price below which it would be on the front.
    let lacks: Vec<&String> = advice.choices.iter().flat_map(|choice| &choice.lacks).collect();
    assert!(lacks.iter().any(|reason| reason.contains("a file for `--prices` with")), "{lacks:#?}");
    let reason = |name: &str| {
        let found = advice.excluded.iter().find(|excluded| excluded.name == name);
        found.map(|excluded| excluded.reason.as_str()).expect("left out")
    };
    assert!(reason("aws-p5").contains("rented"));
    assert!(reason("dgx-a100").contains("not among the models"));
    // A ceiling leaves out the rest, with the figure.
    let tight = Constraints { power: Some("1 MW".parse().expect("a power")), ..h100(1024) };
    let excluded = ask(&tight, &Prices::default()).excluded;
    assert!(excluded.iter().any(|one| one.reason.starts_with("draws")), "{excluded:#?}");
}

#[test]
fn a_model_of_the_step_can_take_the_place_of_the_exchange() {
    struct Constant;
    impl Performance for Constant {
        fn what(&self) -> String {
            "nothing".to_owned()
        }
        fn step(&self, _: &weft_advisor::candidate::Candidate, _: &Catalogue) -> Result<StepTime, NoStep> {
            Ok(StepTime {
                seconds: 1.0,
                low_seconds: 0.9,
                high_seconds: 1.1,
                bound_seconds: None,
                bound_by: "a test".to_owned(),
                token_count: None,
                workloads: Vec::new(),
            })
        }
    }
    let advice = asked(&h100(64), &Prices::default(), &Constant);
    assert_eq!(advice.timed, "nothing");
    // All take as long, so that nobody who costs or draws more is left: of those with a price.
    let priced: Vec<_> =
        advice.choices.iter().filter(|choice| choice.is_priced() && choice.loses.is_empty()).collect();
    assert_eq!(
        priced.len(),
        1,
        "{:?}",
        priced.iter().map(|choice| &choice.candidate.name).collect::<Vec<_>>()
    );
}

#[test]
fn cards_are_offered_with_and_without_bridges() {
    let constraints = Constraints { gpus: 8, models: vec!["rtx-3090".to_owned()], ..Constraints::default() };
    let names: Vec<String> = ask(&constraints, &Prices::default())
        .choices
        .into_iter()
        .map(|choice| choice.candidate.name)
        .collect();
    assert!(names.iter().any(|name| name.contains("(rtx-3090)+bridges")), "{names:?}");
    let t4 = Constraints { gpus: 8, models: vec!["t4".to_owned()], ..Constraints::default() };
    let names = ask(&t4, &Prices::default()).choices.into_iter().map(|choice| choice.candidate.name);
    assert!(names.into_iter().all(|name| !name.contains("bridges")));
}

fn reply(text: &str) -> (Option<bool>, String) {
    let reply = claim(text, Catalogue::embedded()).expect("something is known of it");
    (reply.holds, reply.why)
}

#[test]
fn common_errors_are_answered_with_facts() {
    let (holds, why) = reply("take the T4, because it supports NVLink");
    assert_eq!(holds, Some(false));
    for part in ["T4 has no NVLink", "PCIe 3.0 x16", "inference", "16 GB at 70 W"] {
        assert!(why.contains(part), "{why}");
    }
    let (holds, why) = reply("the NVLink bridge of the RTX 3090 does 600 GB/s");
    assert_eq!(holds, Some(false));
    for part in [
        "56.25 GB/s in one direction",
        "112.5 GB/s in both together, not 600 GB/s",
        "600 GB/s is a figure of",
    ] {
        assert!(why.contains(part), "{why}");
    }
    let (holds, why) = reply("RTX 3090 NVLink 112.5 GB/s");
    assert!(holds == Some(true) && why.contains("adds both directions"), "{why}");
    let (holds, why) =
        reply("PCIe A100 reach 83 % of the GEMM speed, so tensor parallel training is 83 % too");
    assert!(holds.is_none() && why.contains("leaves the interconnect out"), "{why}");
    assert_eq!(claim("the sky is blue", Catalogue::embedded()), None);
}

#[test]
fn a_model_that_does_not_fit_is_left_out_with_what_takes_most() {
    let catalogue = Catalogue::embedded();
    let read =
        |text: &str| weft_advisor::workload::Workload::read(text, "workload", catalogue).expect("a workload");
    let training =
        weft_advisor::training::Training::new(vec![read("llama-3.1-405b, batch 8, sequence 8192")]);
    let advice = asked(&h100(8), &Prices::default(), &training);
    let out = advice.excluded.iter().find(|out| out.name.starts_with("hgx-h100-8/alone")).expect("left out");
    // 405 G weights with 12 B of state each are 4.9 TB, over 640 GB of eight GPUs.
    assert!(
        out.reason.starts_with("does not fit, by") && out.reason.contains("of optimizer"),
        "{}",
        out.reason
    );
}

#[test]
fn two_workloads_share_tokens_by_their_weights() {
    let catalogue = Catalogue::embedded();
    let read =
        |text: &str| weft_advisor::workload::Workload::read(text, "workload", catalogue).expect("a workload");
    let works = vec![read("llama-3-8b, batch 64, weight 3"), read("llama-2-7b, batch 128, weight 1")];
    let advice = asked(&h100(8), &Prices::default(), &weft_advisor::training::Training::new(works));
    let step = advice.choices.iter().find_map(|choice| choice.step.as_ref().ok()).expect("a step");
    let [a, b] = step.workloads.as_slice() else { panic!("two") };
    assert!((a.share - 0.75).abs() < 1e-12 && (b.share - 0.25).abs() < 1e-12);
    // Seconds of a token, three of four of the first.
    let token = 0.75 * a.seconds / a.token_count + 0.25 * b.seconds / b.token_count;
    assert!((step.seconds / step.token_count.expect("tokens") / token - 1.0).abs() < 1e-9);
}
