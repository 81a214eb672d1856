//! Manifests say what a crate is for and why a dependency is taken, and leave the linker to the user.

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::finding::Finding;
use crate::house::{House, Text};
use crate::metadata::Package;

/// Every package describes itself and obeys the lints of the workspace.
pub fn packages(house: &House) -> Result<Vec<Finding>> {
    let mut found: Vec<Finding> = house.metadata.members().filter_map(description).collect();
    let manifests = house
        .texts
        .iter()
        .filter(|text| text.path.ends_with("/Cargo.toml") && !text.path.starts_with("fuzz"));
    for manifest in manifests {
        found.extend(lints(manifest)?);
    }
    Ok(found)
}

fn description(package: &Package) -> Option<Finding> {
    let good = package.description.len() > 20 && package.description.ends_with('.');
    (!good).then(|| Finding::new(&package.name, "needs a `description`, as a sentence"))
}

fn lints(manifest: &Text) -> Result<Option<Finding>> {
    let table = parse(&manifest.path, &manifest.text)?;
    let obeys =
        table.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool) == Some(true);
    Ok((!obeys).then(|| Finding::new(&manifest.path, "needs `[lints] workspace = true`")))
}

fn parse(path: &str, text: &str) -> Result<Table> {
    text.parse().with_context(|| format!("failed to parse {path}"))
}

/// Every dependency of the workspace has a line before its block that says why, and is used.
pub fn dependencies(house: &House) -> Result<Vec<Finding>> {
    let path = "Cargo.toml";
    let text = house.text(path).context("the workspace has no Cargo.toml")?;
    let mut found = unexplained(text);
    let needs = house.metadata.members().flat_map(|package| &package.needs);
    let used: Vec<&str> = needs.map(|(name, _)| name.as_str()).collect();
    found.extend(unused(&parse(path, text)?, &used));
    Ok(found)
}

fn unused(manifest: &Table, used: &[&str]) -> Vec<Finding> {
    let listed = manifest.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let names = listed.and_then(Value::as_table).into_iter().flat_map(Table::keys);
    let unused = names.filter(|name| !used.contains(&name.as_str()));
    unused.map(|name| Finding::new("Cargo.toml", format!("no crate uses the dependency `{name}`"))).collect()
}

fn unexplained(text: &str) -> Vec<Finding> {
    let (mut found, mut inside, mut explained) = (Vec::new(), false, false);
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            inside = line == "[workspace.dependencies]";
        } else if line.trim().is_empty() {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if inside && !explained && !line.contains("path = ") {
            found.push(Finding::at("Cargo.toml", index + 1, "a dependency without a comment that says why"));
        }
    }
    found
}

/// A linker or flags of one machine would break the build on all others.
pub fn cargo_config(house: &House) -> Result<Vec<Finding>> {
    let path = ".cargo/config.toml";
    let Some(text) = house.text(path) else { return Ok(Vec::new()) };
    Ok(machine_settings(path, &parse(path, text)?))
}

const MACHINE_SETTINGS: [&str; 6] =
    ["linker", "rustflags", "runner", "rustc-wrapper", "target-dir", "target"];

fn machine_settings(path: &str, table: &Table) -> Vec<Finding> {
    let mut found = Vec::new();
    for (key, value) in table {
        if MACHINE_SETTINGS.contains(&key.as_str()) && !value.is_table() {
            found.push(Finding::new(path, format!("sets `{key}`, which differs from machine to machine")));
        }
        if let Value::Table(inner) = value {
            found.extend(machine_settings(path, inner));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_description_or_lints_is_found() {
        let mut package = Package {
            name: "weft-x".to_owned(),
            member: true,
            default_member: true,
            description: String::new(),
            license: String::new(),
            needs: Vec::new(),
        };
        assert!(description(&package).is_some());
        package.description = "Does a thing that others need.".to_owned();
        assert!(description(&package).is_none());
        assert!(lints(&Text::new("a/Cargo.toml", "[lints]\nworkspace = true")).unwrap().is_none());
        assert!(lints(&Text::new("a/Cargo.toml", "[package]")).unwrap().is_some());
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let text = "[workspace.dependencies]\nown = { path = \"x\" }\n\n# Why.\na = \"1\"\nb = \"1\"\n\nc = \"1\"\n[other]\nd = 1\n";
        let found = unexplained(text);
        assert_eq!(found.iter().map(|found| found.place.as_str()).collect::<Vec<_>>(), ["Cargo.toml:8"]);
    }

    #[test]
    fn an_unused_dependency_is_found() {
        let manifest = "[workspace.dependencies]\nserde = \"1\"\nrand = \"1\"".parse().unwrap();
        assert_eq!(unused(&manifest, &["serde", "rand"]).len(), 0);
        assert_eq!(unused(&manifest, &["serde"]).len(), 1);
    }

    #[test]
    fn a_linker_is_found() {
        let count = |text: &str| machine_settings("c", &text.parse().unwrap()).len();
        assert_eq!(count("[alias]\nxtask = \"run\""), 0);
        assert_eq!(count("[target.x86_64-unknown-linux-gnu]\nlinker = \"clang\""), 1);
        assert_eq!(count("[build]\nrustflags = [\"-Ctarget-cpu=native\"]"), 1);
    }
}
