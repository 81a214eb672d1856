//! The largest cluster that a budget or a power allows, against sums done by hand.

use weft_advisor::advice::{Advice, Choice, Demand, Question, Size, advise};
use weft_advisor::bill::{Line, Prices};
use weft_advisor::candidate::{Candidate, Constraints};
use weft_advisor::fabric::Layout;
use weft_advisor::performance::{NoStep, Performance, StepTime};
use weft_catalogue::Catalogue;

/// Sizes need no time.
struct Untimed;

impl Performance for Untimed {
    fn what(&self) -> String {
        "nothing".to_owned()
    }

    fn step(&self, _: &Candidate, _: &Catalogue) -> Result<StepTime, NoStep> {
        Err(NoStep::Unknown("nobody asked".to_owned()))
    }
}

fn largest(budget: Option<&str>, power: Option<&str>) -> Advice {
    let length = |text: &str| text.parse().expect("a length");
    let constraints = Constraints {
        models: vec!["h100-sxm5-80gb".to_owned()],
        budget: budget.map(|text| text.parse().expect("a price")),
        power: power.map(|text| text.parse().expect("a power")),
        ..Constraints::default()
    };
    let question = Question {
        constraints: &constraints,
        size: Size::Limits,
        layout: &Layout { to_leaf: length("30 m"), to_spine: length("50 m"), fibre_only: true },
        prices: &Prices::default(),
        performance: &Untimed,
        demand: Demand::default(),
        notice: &|_, _| {},
    };
    advise(&question, Catalogue::embedded())
}

fn h100(advice: &Advice) -> &Choice {
    let name = "hgx-h100-8/infiniband-ndr/rail-optimized";
    advice.choices.iter().find(|choice| choice.candidate.name == name).expect("a candidate")
}

/// Eight hosts at 310,000, a switch of 64 ports at 50,000 and 64 links at 1,320 are 2,614,480; seven hosts with 56 links
/// are 2,293,920; ten need a second tier.
#[test]
fn a_budget_buys_what_its_bill_sums_to() {
    let enough = largest(Some("2614480 USD"), None);
    let choice = h100(&enough);
    assert_eq!((choice.candidate.hosts, choice.bill.cost.to_string()), (8, "2,614,480 USD".to_owned()));
    let short = largest(Some("2614479 USD"), None);
    let choice = h100(&short);
    assert_eq!((choice.candidate.hosts, choice.bill.cost.to_string()), (7, "2,293,920 USD".to_owned()));
    // Whoever lacks a price is left out with the price to give: nobody knows how much of it a budget buys.
    assert!(short.choices.iter().all(Choice::is_priced));
    let lacks = |reason: &str| reason.starts_with("lacks a price") && reason.contains("--prices");
    assert!(short.excluded.iter().any(|one| lacks(&one.reason)), "{:#?}", short.excluded);
}

/// A host draws 10.2 kW, the switch 747 W, a module of a NIC 9 W, one of the switch 17 W for two links: 83,467 W of eight
/// hosts, 73,127 W of seven.
#[test]
fn a_power_feeds_what_its_bill_sums_to() {
    for (limit, hosts, watts) in [("83467 W", 8, 83_467.0), ("83466 W", 7, 73_127.0)] {
        let advice = largest(None, Some(limit));
        let choice = h100(&advice);
        assert_eq!(choice.candidate.hosts, hosts, "{limit}");
        assert!((choice.bill.power.as_watts() - watts).abs() < 0.5, "{}", choice.bill.power);
    }
}

#[test]
fn both_limits_hold_for_every_candidate() {
    let (budget_usd, limit_w) = (9e6, 200_000.0);
    let advice = largest(Some("9000000 USD"), Some("200 kW"));
    assert!(advice.choices.len() >= 2, "{:#?}", advice.excluded);
    let price =
        |line: &Line| line.price.as_ref().map_or(0.0, |price| price.amount.times(line.count).as_units());
    let power = |line: &Line| line.power.map_or(0.0, |each| (each * line.count).as_watts());
    for Choice { candidate, bill, .. } in &advice.choices {
        let cost = bill.lines.iter().map(price).sum::<f64>();
        let watts = bill.lines.iter().map(power).sum::<f64>();
        assert!(
            (cost - bill.cost.as_units()).abs() < 0.01 && cost <= budget_usd,
            "{} {cost}",
            candidate.name
        );
        assert!(
            (watts - bill.power.as_watts()).abs() < 0.5 && watts <= limit_w,
            "{} {watts}",
            candidate.name
        );
    }
}
