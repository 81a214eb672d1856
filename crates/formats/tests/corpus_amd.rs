//! The tables of AMD's tools in the corpus: each expected value is found.

use std::collections::BTreeSet;

use serde::Deserialize;
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Overrides, Source, WeightMatrix, join, read};
use weft_testkit::notes;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Expected {
    gpus: Option<usize>,
    link_types: Option<Vec<String>>,
    weights: Option<Vec<String>>,
}

fn misses(expected: &Expected, weights: &WeightMatrix) -> Vec<String> {
    let mut misses = Vec::new();
    if expected.gpus.is_some_and(|gpus| gpus != weights.gpus.len()) {
        misses.push(format!("GPUs: {:?}", weights.gpus));
    }
    if let Some(wanted) = &expected.link_types {
        // `N/A` was counted from the table of rates.
        let wanted: BTreeSet<&str> =
            wanted.iter().map(String::as_str).filter(|link| *link != "N/A").collect();
        let found: BTreeSet<&str> = weights.links.iter().flatten().map(String::as_str).collect();
        if wanted != found {
            misses.push(format!("links: {found:?}"));
        }
    }
    if let Some(wanted) = &expected.weights {
        let wanted: BTreeSet<String> = wanted.iter().cloned().collect();
        let found: BTreeSet<String> = weights.weights.iter().flatten().map(u32::to_string).collect();
        if wanted != found {
            misses.push(format!("weights: {found:?}"));
        }
    }
    misses
}

#[test]
fn tables_of_amd_give_what_the_notes_say() {
    let Some(files) = notes::files::<Expected>("B") else {
        println!("no corpus here");
        return;
    };
    let mut failures = Vec::new();
    for file in &files {
        let reading = read(&Source::file(file.name.clone(), file.text.clone()), Catalogue::embedded(), None);
        let weights = reading.evidence.iter().find_map(|located| match &located.value {
            Evidence::Weights(weights) => Some(weights),
            _ => None,
        });
        let found = weights
            .map_or_else(|| vec!["nothing read".to_owned()], |weights| misses(&file.expected, weights));
        failures.extend(found.into_iter().map(|miss| format!("{}: {miss}", file.name)));
        let (case, diagnostics) = join(reading.evidence, &Overrides::default(), Catalogue::embedded());
        match case.machine.map(|machine| weft_topology::build(&machine, Catalogue::embedded()).map(|_| ())) {
            Some(Ok(())) => {}
            other => failures.push(format!("{}: {other:?} {diagnostics:?}", file.name)),
        }
    }
    println!("{} files, {} misses", files.len(), failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
