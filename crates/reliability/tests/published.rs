//! The models against what operators counted, where the files are beside the repository.

use std::collections::BTreeMap;

use weft_reliability::{Bursts, Class, class};

#[expect(clippy::disallowed_methods, reason = "a test reads its facts")]
fn facts(name: &str) -> Option<String> {
    let path = format!("{}/../../../shared/facts/advice/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).ok()
}

#[test]
fn fire_flyers_flaps_come_in_bursts() {
    let Some(text) = facts("fireflyer_ib_flash_cuts_daily.csv") else {
        println!("skipped: the file is not beside the repository");
        return;
    };
    let events: Vec<u32> =
        text.lines().skip(1).filter_map(|row| row.split(',').nth(1)?.parse().ok()).collect();
    // The file has the days with an event; the period is 2023-04-19 to 2024-03-31, 348 days.
    let mut days = events.clone();
    days.resize(348, 0);
    assert_eq!((days.iter().sum::<u32>(), days.iter().max()), (213, Some(&10)));
    let bursts = Bursts::of_counts(&days).expect("there are events");
    println!("mean {}, variance over mean {}", bursts.mean_count, bursts.dispersion_ratio);
    assert!((bursts.mean_count - 0.612).abs() < 0.001);
    assert!((bursts.dispersion_ratio - 3.31).abs() < 0.02, "{}", bursts.dispersion_ratio);
    assert!((bursts.size_ratio().expect("bursts") - 0.27).abs() < 0.01);
    let quiet = u32::try_from(days.iter().filter(|count| **count == 0).count()).expect("few");
    let expected = bursts.chance_of(0) * 348.0;
    println!("days without one: {quiet} counted, {expected:.1} by the model");
    assert!((expected - f64::from(quiet)).abs() < 0.03 * 348.0);
    let wild = u32::try_from(days.iter().filter(|count| **count >= 5).count()).expect("few");
    let expected = bursts.chance_of_at_least(5) * 348.0;
    println!("days with five or more: {wild} counted, {expected:.1} by the model");
    assert!((expected - f64::from(wild)).abs() < 5.0);
}

#[test]
fn each_xid_that_fire_flyer_counted_has_the_papers_class() {
    let Some(text) = facts("fireflyer_xid_counts.csv") else {
        println!("skipped: the file is not beside the repository");
        return;
    };
    let mut counts: BTreeMap<Class, u32> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let xid: u32 = cells[0].parse().expect("a number");
        let found = class(xid).unwrap_or_else(|| panic!("Xid {xid} has no class"));
        let fits = match cells[1] {
            "NVLink" => found == Class::NvLink,
            "software" => found == Class::Software,
            "GPU ECC" => matches!(found, Class::ContainedMemory | Class::UncontainedMemory),
            // The paper counts double-bit errors and GPUs off the bus among these.
            "uncorrectable" => matches!(found, Class::Uncorrectable | Class::Bus | Class::UncontainedMemory),
            "GSP" => found == Class::Firmware,
            other => panic!("a class `{other}`"),
        };
        assert!(fits, "{row}: {found:?}");
        *counts.entry(found).or_default() += cells[2].parse::<u32>().expect("a count");
    }
    let all: u32 = counts.values().sum();
    let hardware = all - counts[&Class::Software];
    assert_eq!((all, counts[&Class::NvLink]), (12_970, 5521));
    // 94 % of what is not software.
    assert!((f64::from(5521) / f64::from(hardware) - 0.943).abs() < 0.001);
}
