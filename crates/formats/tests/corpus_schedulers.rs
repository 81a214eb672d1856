//! Topologies of schedulers, from the corpus of real inputs: every value that its notes expect is found.

#![expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]

use std::fs;
use std::path::{Path, PathBuf};

use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Hierarchy, Located, Source, read};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/D")
}

fn hierarchies(source: &Source) -> Vec<Hierarchy> {
    let evidence = read(source, Catalogue::embedded(), None).evidence;
    let hierarchy = |located: Located<Evidence>| {
        let Evidence::Hierarchy(hierarchy) = located.value else { return None };
        Some(*hierarchy)
    };
    evidence.into_iter().filter_map(hierarchy).collect()
}

/// What the notes expect and what was found, by key.
fn compare(meta: &toml::Table, found: &[Hierarchy]) -> Vec<String> {
    let expected = meta.get("expected").and_then(toml::Value::as_table);
    let of_kind = |is_block: bool| {
        found.iter().flat_map(|one| &one.nodes).filter(|node| node.is_block == is_block).count()
    };
    let values = [("topologies", found.len()), ("switches", of_kind(false)), ("blocks", of_kind(true))];
    let wanted = |key: &str| expected?.get(key)?.as_integer();
    let mut misses: Vec<String> = values
        .iter()
        .filter_map(|(key, value)| Some((key, *value, wanted(key)?)))
        .filter(|(_, value, wanted)| i64::try_from(*value) != Ok(*wanted))
        .map(|(key, value, wanted)| format!("{key}: found {value}, wanted {wanted}"))
        .collect();
    if found.is_empty() {
        misses.push("no hierarchy".to_owned());
    }
    misses
}

#[test]
fn topologies_of_the_corpus_are_read() {
    let Ok(entries) = fs::read_dir(folder()) else {
        println!("skipped: {} is not there", folder().display());
        return;
    };
    let mut metas: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    metas.retain(|path| path.to_string_lossy().ends_with(".meta.toml"));
    metas.sort();
    let (mut passed, mut failed) = (0, Vec::new());
    for path in metas {
        let meta: toml::Table = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let format = meta["format"].as_str().unwrap_or("");
        if !["slurm", "topograph"].iter().any(|word| format.to_lowercase().contains(word)) {
            continue;
        }
        let name = meta["file"].as_str().unwrap();
        let source = Source::file(name, fs::read_to_string(folder().join(name)).unwrap());
        let misses = compare(&meta, &hierarchies(&source));
        let unused: Vec<String> = read(&source, Catalogue::embedded(), None)
            .diagnostics
            .iter()
            .map(|finding| format!("{}: {}", finding.code.name, finding.message))
            .collect();
        println!("{name}: {}", if unused.is_empty() { "no findings".to_owned() } else { unused.join("; ") });
        if misses.is_empty() {
            passed += 1;
        } else {
            failed.push(format!("{name}: {}", misses.join(", ")));
        }
    }
    println!("{passed} of {} files", passed + failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
}
