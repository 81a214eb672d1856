//! The tables of AMD's tools.

use std::collections::BTreeSet;

use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Overrides, Reading, WeightMatrix, join};
use weft_testkit::noted::Noted;

/// What differs from the notes of a table of weights, hops and kinds of links.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if file.kind != "B" {
        return None;
    }
    let weights = reading.evidence.iter().find_map(|located| {
        let Evidence::Weights(weights) = &located.value else { return None };
        Some(weights)
    });
    let mut found =
        weights.map_or_else(|| vec!["nothing read".to_owned()], |weights| differences(file, weights));
    let (case, diagnostics) = join(reading.evidence.clone(), &Overrides::default(), Catalogue::embedded());
    match case.machine.map(|machine| weft_topology::build(&machine, Catalogue::embedded()).map(|_| ())) {
        Some(Ok(())) => {}
        other => found.push(format!("machine: {other:?} {diagnostics:?}")),
    }
    Some(found)
}

fn differences(file: &Noted, weights: &WeightMatrix) -> Vec<String> {
    let words = |key: &str| file.words(key).map(BTreeSet::from_iter);
    let mut misses = Vec::new();
    if file.count("gpus").is_some_and(|gpus| gpus != weights.gpus.len()) {
        misses.push(format!("GPUs: {:?}", weights.gpus));
    }
    if let Some(mut wanted) = words("link_types") {
        // `N/A` was counted from the table of rates.
        wanted.remove("N/A");
        let found: BTreeSet<String> = weights.links.iter().flatten().cloned().collect();
        if wanted != found {
            misses.push(format!("links: {found:?}"));
        }
    }
    if let Some(wanted) = words("weights") {
        let found: BTreeSet<String> = weights.weights.iter().flatten().map(u32::to_string).collect();
        if wanted != found {
            misses.push(format!("weights: {found:?}"));
        }
    }
    misses
}
