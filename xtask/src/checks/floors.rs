//! The floors: which crate may use which.

use anyhow::{Context, Result};

use crate::finding::Finding;
use crate::house::House;
use crate::metadata::{Metadata, Need, Package};

/// A crate, and the crates of this workspace that it may use.
struct Floor {
    name: &'static str,
    uses: &'static [&'static str],
}

const fn floor(name: &'static str, uses: &'static [&'static str]) -> Floor {
    Floor { name, uses }
}

/// From the ground up, those to come included. A crate that is not listed may not exist.
const FLOORS: &[Floor] = &[
    floor("base", &[]),
    floor("catalogue", &["base"]),
    floor("collective", &["base"]),
    floor("reliability", &["base"]),
    floor("topology", &["base", "catalogue"]),
    floor("workload", &["base", "catalogue", "collective"]),
    floor("formats", &["base", "catalogue", "topology", "collective"]),
    floor("simulator", &["base", "topology", "collective"]),
    floor("probe", &["base", "catalogue", "topology", "formats"]),
    floor("predictor", &["base", "catalogue", "topology", "collective", "formats", "simulator", "workload"]),
    floor("runtime", &["base", "topology", "collective", "predictor"]),
    floor("doctor", &["base", "catalogue", "topology", "collective", "formats", "predictor"]),
    floor("advisor", &["base", "catalogue", "topology", "workload", "predictor", "reliability"]),
    floor(
        "scheduler",
        &[
            "base",
            "catalogue",
            "topology",
            "collective",
            "formats",
            "simulator",
            "workload",
            "predictor",
            "reliability",
        ],
    ),
    floor("kube", &["base", "topology", "formats", "probe", "scheduler"]),
    floor("web", BELOW_WEB),
    floor("weftwork", BELOW_WEB),
    floor(
        "cli",
        &[
            "base",
            "catalogue",
            "collective",
            "reliability",
            "topology",
            "workload",
            "formats",
            "simulator",
            "probe",
            "predictor",
            "runtime",
            "doctor",
            "advisor",
            "scheduler",
            "web",
            "weftwork",
        ],
    ),
    floor("testkit", &["base", "catalogue", "collective", "topology", "formats"]),
];

/// What the topmost libraries may use: all but each other, `kube` and `cli`.
const BELOW_WEB: &[&str] = &[
    "base",
    "catalogue",
    "collective",
    "reliability",
    "topology",
    "workload",
    "formats",
    "simulator",
    "probe",
    "predictor",
    "runtime",
    "doctor",
    "advisor",
    "scheduler",
];

/// Crates for developers: tests may use the first, and nothing uses the second.
const FOR_TESTS: &str = "testkit";
const FOR_DEVELOPERS: &str = "xtask";

/// The one crate that plain `cargo build` leaves out, for its weight.
const NOT_DEFAULT: &str = "kube";

/// Checks the workspace's packages against the table.
pub fn check(house: &House) -> Result<Vec<Finding>> {
    Ok(findings(&house.metadata))
}

fn findings(metadata: &Metadata) -> Vec<Finding> {
    metadata.members().filter(|package| package.name != FOR_DEVELOPERS).flat_map(of_package).collect()
}

fn of_package(package: &Package) -> Vec<Finding> {
    let name = short(&package.name);
    let Some(floor) = FLOORS.iter().find(|floor| Some(floor.name) == name) else {
        return vec![Finding::new(&package.name, "stands on no floor: add it to the table of floors first")];
    };
    let mut found = Vec::new();
    for (needed, need) in &package.needs {
        let Some(used) = short(needed) else { continue };
        let for_tests = *need == Need::Tests && used == FOR_TESTS;
        if !floor.uses.contains(&used) && !for_tests {
            let allowed = floor.uses.join(", ");
            let message = format!("may not use `{needed}`; its floor allows: {allowed}");
            found.push(Finding::new(&package.name, message));
        }
    }
    if package.default_member == (floor.name == NOT_DEFAULT) {
        found.push(Finding::new(&package.name, "default-members should hold every crate but kube"));
    }
    found
}

const DRAWING: &str = "ARCHITECTURE.md";

/// The table of ARCHITECTURE.md has every crate that exists, with what it may use.
pub fn drawing(house: &House) -> Result<Vec<Finding>> {
    let text = house.text(DRAWING).context("there is no ARCHITECTURE.md")?;
    let members: Vec<&str> = house.metadata.members().filter_map(|package| short(&package.name)).collect();
    Ok(undrawn(text, &members))
}

fn undrawn(text: &str, members: &[&str]) -> Vec<Finding> {
    let mut found = Vec::new();
    for floor in FLOORS.iter().filter(|floor| members.contains(&floor.name)) {
        let cell = format!("| `{}` |", floor.name);
        let row = text.lines().find(|line| line.starts_with("| ") && line.contains(&cell));
        let Some(uses) = row.and_then(|row| row.trim_end_matches(" |").rsplit("| ").next()) else {
            found.push(Finding::new(DRAWING, format!("has no row for `{}`", floor.name)));
            continue;
        };
        let built: Vec<&str> = floor.uses.iter().copied().filter(|used| members.contains(used)).collect();
        let expected = if built.is_empty() { "–".to_owned() } else { built.join(" ") };
        if uses != expected && uses != "all below" {
            let message = format!("says `{}` may use `{uses}`; the floors say `{expected}`", floor.name);
            found.push(Finding::new(DRAWING, message));
        }
    }
    found
}

/// `topology` of `weft-topology`; `None` for a package of others.
fn short(package: &str) -> Option<&str> {
    match package {
        FOR_DEVELOPERS | "weftwork" => Some(package),
        _ => package.strip_prefix("weft-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, needs: &[(&str, Need)]) -> Package {
        Package {
            name: name.to_owned(),
            member: true,
            default_member: true,
            description: String::new(),
            license: String::new(),
            needs: needs.iter().map(|(name, need)| ((*name).to_owned(), *need)).collect(),
        }
    }

    fn count(name: &str, needs: &[(&str, Need)]) -> usize {
        findings(&Metadata { packages: vec![package(name, needs)] }).len()
    }

    #[test]
    fn a_lower_floor_may_not_use_a_higher_one() {
        let needs = [("weft-base", Need::Program), ("serde", Need::Program)];
        assert_eq!(count("weft-catalogue", &needs), 0);
        assert_eq!(count("weft-catalogue", &[("weft-topology", Need::Program)]), 1);
        assert_eq!(count("weft-catalogue", &[("weft-topology", Need::Tests)]), 1);
        assert_eq!(count("weft-base", &[("xtask", Need::Tests)]), 1);
    }

    #[test]
    fn the_test_kit_is_for_tests_only() {
        assert_eq!(count("weft-formats", &[("weft-testkit", Need::Tests)]), 0);
        assert_eq!(count("weft-formats", &[("weft-testkit", Need::Program)]), 1);
    }

    #[test]
    fn an_unlisted_crate_may_not_exist() {
        assert_eq!(count("weft-utilities", &[]), 1);
        assert_eq!(count("helpers", &[]), 1);
    }

    #[test]
    fn only_kube_stays_out_of_the_default_members() {
        let mut kube = package("weft-kube", &[]);
        assert_eq!(findings(&Metadata { packages: vec![kube.clone()] }).len(), 1);
        kube.default_member = false;
        assert_eq!(findings(&Metadata { packages: vec![kube] }).len(), 0);
    }

    #[test]
    fn a_drawing_that_differs_is_found() {
        let count = |text: &str| undrawn(text, &["base", "catalogue"]).len();
        assert_eq!(count("| 0 | `base` | x | – |\n| 1 | `catalogue` | y | base |"), 0);
        assert_eq!(count("| 0 | `base` | x | – |\n| 1 | `catalogue` | y | – |"), 1);
        assert_eq!(count("| 0 | `base` | x | – |"), 1);
    }

    #[test]
    fn the_table_itself_goes_one_way() {
        let position = |name: &str| FLOORS.iter().position(|floor| floor.name == name);
        for floor in FLOORS {
            for used in floor.uses {
                assert!(position(used).unwrap() < position(floor.name).unwrap(), "{} {used}", floor.name);
            }
        }
    }
}
