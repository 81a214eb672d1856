//! What `cargo metadata` says of the workspace and its dependencies.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Why a package depends on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The program itself, or its build script.
    Program,
    /// Tests, examples and benchmarks only.
    Tests,
}

/// A package.
#[derive(Debug, Clone)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Whether it is a member of this workspace.
    pub member: bool,
    /// Whether plain `cargo build` builds it.
    pub default_member: bool,
    /// Its `description`.
    pub description: String,
    /// Its `license`, an SPDX expression.
    pub license: String,
    /// What it depends on.
    pub needs: Vec<(String, Need)>,
}

/// All packages.
#[derive(Debug, Clone)]
pub struct Metadata {
    /// Members and dependencies.
    pub packages: Vec<Package>,
}

impl Metadata {
    /// Asks cargo. Only what a Linux build needs, so that nothing is fetched that was not built.
    pub fn load(root: &Path) -> Result<Self> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let target = "x86_64-unknown-linux-gnu";
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--filter-platform", target])
            .current_dir(root)
            .output()
            .context("failed to run cargo metadata")?;
        ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        Self::parse(&String::from_utf8(output.stdout)?)
    }

    /// Reads the JSON that cargo prints.
    pub fn parse(json: &str) -> Result<Self> {
        let document: Value = serde_json::from_str(json).context("failed to read cargo metadata")?;
        let listed = |key: &str, id: &Value| {
            document[key].as_array().is_some_and(|members| members.iter().any(|member| member == id))
        };
        let reached = reached(&document);
        let packages = document["packages"].as_array().into_iter().flatten();
        let packages = packages
            .filter(|package| {
                listed("workspace_members", &package["id"])
                    || package["id"].as_str().is_some_and(|id| reached.contains(&id))
            })
            .map(|package| Package {
                name: text(package, "name"),
                member: listed("workspace_members", &package["id"]),
                default_member: listed("workspace_default_members", &package["id"]),
                description: text(package, "description"),
                license: text(package, "license"),
                needs: needs(package),
            })
            .collect();
        Ok(Self { packages })
    }

    /// The workspace's own packages.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.member)
    }
}

/// Packages that the resolution for this platform really uses.
fn reached(document: &Value) -> Vec<&str> {
    let nodes = document["resolve"]["nodes"].as_array().into_iter().flatten();
    nodes.filter_map(|node| node["id"].as_str()).collect()
}

fn text(package: &Value, key: &str) -> String {
    package[key].as_str().unwrap_or_default().to_owned()
}

fn needs(package: &Value) -> Vec<(String, Need)> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies
        .map(|dependency| {
            let need = if dependency["kind"] == "dev" { Need::Tests } else { Need::Program };
            (text(dependency, "name"), need)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_dependencies_and_their_kinds_are_read() {
        let json = r#"{
            "packages": [
                {"id": "a", "name": "weft-base", "description": "d", "license": "MIT", "dependencies": [
                    {"name": "serde", "kind": null}, {"name": "proptest", "kind": "dev"},
                    {"name": "toml", "kind": "build"}]},
                {"id": "b", "name": "serde", "license": "MIT OR Apache-2.0", "dependencies": []},
                {"id": "c", "name": "for-another-platform", "license": "GPL-3.0", "dependencies": []}],
            "workspace_members": ["a"],
            "workspace_default_members": ["a"],
            "resolve": {"nodes": [{"id": "a"}, {"id": "b"}]}
        }"#;
        let metadata = Metadata::parse(json).unwrap();
        let names: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["weft-base", "serde"]);
        let base = metadata.members().next().unwrap();
        assert!(base.default_member && base.description == "d");
        let expected = [("serde", Need::Program), ("proptest", Need::Tests), ("toml", Need::Program)];
        assert_eq!(base.needs, expected.map(|(name, need)| (name.to_owned(), need)));
    }
}
