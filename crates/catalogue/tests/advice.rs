//! Prices, failure rates and optics against the publications that they come from.

use weft_base::{FailureRate, Money, Subject};
use weft_catalogue::{Catalogue, PricedBy};

fn catalogue() -> &'static Catalogue {
    Catalogue::embedded()
}

fn money(text: &str) -> Money {
    text.parse().expect("a price")
}

#[test]
fn every_price_is_dated_and_of_something_that_exists() {
    let catalogue = catalogue();
    for price in &catalogue.prices {
        let (year, month) = price.date.split_once('-').expect("a year and a month");
        assert!((2010..2030).contains(&year.parse::<u32>().expect("a year")), "{}", price.name);
        assert!((1..=12).contains(&month.parse::<u32>().expect("a month")), "{}", price.name);
        let low = price.low.as_ref().map_or(price.amount.value, |low| low.value);
        let high = price.high.as_ref().map_or(price.amount.value, |high| high.value);
        assert!(low <= price.amount.value && price.amount.value <= high, "{}", price.name);
    }
    assert_eq!(catalogue.price("quantum-2-qm9700").expect("it exists").amount.value, money("50000 USD"));
}

#[test]
fn the_electricity_of_a_large_site_is_that_of_its_article() {
    // 1.59 TWh a year at 0.078 USD: 124 million, of which the article says 123.9.
    let electricity = catalogue().price("electricity").expect("it exists");
    assert_eq!(electricity.per, PricedBy::KilowattHour);
    let cost = electricity.of_energy("1.59 TWh".parse().expect("an energy")).expect("it is sold by energy");
    assert!((cost.as_units() - 123.9e6).abs() < 0.2e6, "{cost}");
}

#[test]
fn a_nodes_rate_lies_between_those_of_the_two_clusters() {
    let node = catalogue().failure("node").expect("it exists");
    let range = [node.low.as_ref(), Some(&node.rate), node.high.as_ref()];
    let rates = range.map(|fact| fact.expect("a range").value.per_day());
    assert!(rates.is_sorted() && rates[0] < rates[2], "{rates:?}");
    // 419 in 54 days of 2,048 nodes.
    assert!((rates[1] - 419.0 / (54.0 * 2048.0)).abs() < 5e-6, "{}", rates[1]);
    let per_thousand: FailureRate = "6.5 per 1000 node-days".parse().expect("a rate");
    assert_eq!(catalogue().failure("node-rsc-1").expect("it exists").rate.value, per_thousand);
    for failure in &catalogue().failures {
        assert!(failure.rate.value.per_hour() > 0.0, "{}", failure.name);
        let same =
            |fact: &weft_catalogue::Fact<FailureRate>| fact.value.subject() == failure.rate.value.subject();
        assert!(failure.low.iter().chain(&failure.high).all(same), "{}", failure.name);
    }
    assert_eq!(catalogue().failure("link-hard").expect("it exists").rate.value.subject(), Subject::Link);
}

#[test]
fn cables_and_modules_carry_links_that_exist() {
    let catalogue = catalogue();
    let cables = catalogue.cables.iter().flat_map(|cable| &cable.links);
    for link in cables.chain(catalogue.transceivers.iter().flat_map(|module| &module.links)) {
        assert!(catalogue.link(link).is_ok(), "{link}");
    }
    for server in &catalogue.servers {
        assert!(catalogue.system(&server.name).is_ok(), "{}", server.name);
    }
    // 9 W in the NIC, and half of 17 W in the switch: the twin module of the data sheets.
    let power = |name: &str| catalogue.transceiver(name).expect("it exists").power.value.as_watts();
    assert_eq!(
        [power("mms4x00-ns400"), power("mms4x00-ns")].map(f64::to_bits),
        [9.0, 17.0].map(f64::to_bits)
    );
}
