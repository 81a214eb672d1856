//! The tables of AMD's tools in the corpus: each expected value is found.

use std::collections::BTreeSet;

use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Overrides, Source, WeightMatrix, join, read};
use weft_testkit::noted::{self, Noted};

fn words(file: &Noted, key: &str) -> Option<BTreeSet<String>> {
    let list = file.expected.get(key)?.as_array()?;
    Some(list.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect())
}

fn misses(file: &Noted, weights: &WeightMatrix) -> Vec<String> {
    let mut misses = Vec::new();
    let gpus = file.expected.get("gpus").and_then(toml::Value::as_integer);
    if gpus.is_some_and(|gpus| usize::try_from(gpus) != Ok(weights.gpus.len())) {
        misses.push(format!("GPUs: {:?}", weights.gpus));
    }
    if let Some(mut wanted) = words(file, "link_types") {
        // `N/A` was counted from the table of rates.
        wanted.remove("N/A");
        let found: BTreeSet<String> = weights.links.iter().flatten().cloned().collect();
        if wanted != found {
            misses.push(format!("links: {found:?}"));
        }
    }
    if let Some(wanted) = words(file, "weights") {
        let found: BTreeSet<String> = weights.weights.iter().flatten().map(u32::to_string).collect();
        if wanted != found {
            misses.push(format!("weights: {found:?}"));
        }
    }
    misses
}

#[test]
fn tables_of_amd_give_what_the_notes_say() {
    let Some(files) = noted::files("B") else {
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
        let found = weights.map_or_else(|| vec!["nothing read".to_owned()], |weights| misses(file, weights));
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
