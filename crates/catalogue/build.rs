//! Embeds every file of `catalogue/<kind>/` as one JSON document: adding a fact is adding a file.

use std::path::{Path, PathBuf};
use std::{env, fs};

const KINDS: &[&str] = &[
    "links",
    "gpus",
    "nics",
    "switches",
    "cpus",
    "retimers",
    "channels",
    "systems",
    "libraries",
    "models",
    "frameworks",
    "engines",
    "transceivers",
    "cables",
    "servers",
    "prices",
    "failures",
    "restarts",
];

#[expect(clippy::disallowed_methods, reason = "a build script reads the files it embeds")]
fn main() {
    let root = Path::new("../../catalogue");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut document = serde_json::Map::new();
    for kind in KINDS {
        let entries: Vec<serde_json::Value> = files(&root.join(kind)).iter().map(|path| read(path)).collect();
        document.insert((*kind).to_owned(), entries.into());
    }
    document.insert("sources".to_owned(), sources(&root.join("sources")));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let text = serde_json::Value::Object(document).to_string();
    fs::write(out.join("catalogue.json"), text).expect("OUT_DIR is writable");
}

/// All keys of all files; the same key in two files would hide one of them.
fn sources(folder: &Path) -> serde_json::Value {
    let mut merged = serde_json::Map::new();
    for path in files(folder) {
        for (key, source) in table(&path) {
            if merged.insert(key.clone(), source).is_some() {
                stop(&path, &format!("the source `{key}` stands in two files"));
            }
        }
    }
    merged.into()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    paths
}

/// The file with its name as the entry's `name`, so that the two cannot differ.
fn read(path: &Path) -> serde_json::Value {
    let mut entry = table(path);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    entry.insert("name".to_owned(), stem.into());
    entry.into()
}

#[expect(clippy::disallowed_methods, reason = "a build script reads the files it embeds")]
fn table(path: &Path) -> serde_json::Map<String, serde_json::Value> {
    println!("cargo::rerun-if-changed={}", path.display());
    let text = fs::read_to_string(path).unwrap_or_else(|error| stop(path, &error.to_string()));
    let table: toml::Table =
        text.parse().unwrap_or_else(|error: toml::de::Error| stop(path, &error.to_string()));
    match serde_json::to_value(table) {
        Ok(serde_json::Value::Object(object)) => object,
        Ok(_) | Err(_) => stop(path, "is not a table of plain values"),
    }
}

fn stop(path: &Path, reason: &str) -> ! {
    println!("cargo::error={}: {reason}", path.display());
    std::process::exit(1)
}
