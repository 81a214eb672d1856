//! The rules of the house. Each check is a function from text to findings, listed once: `tidy` runs the list,
//! and `cargo test` runs each entry as a test of its own.

mod codes;
mod docs;
mod facts;
mod floors;
mod functions;
mod generated;
mod licences;
mod lines;
mod manifests;
mod modules;
mod numbers;
mod sizes;

use anyhow::Result;

use crate::finding::Finding;
use crate::house::House;

/// A rule and how it is checked.
pub struct Check {
    /// What `tidy` and the test call it.
    pub name: &'static str,
    /// Looks at the whole house.
    pub run: fn(&House) -> Result<Vec<Finding>>,
}

macro_rules! checks {
    ($($name:ident: $run:path),* $(,)?) => {
        /// Every check, in the order in which `tidy` prints them.
        pub const CHECKS: &[Check] = &[$(Check { name: stringify!($name), run: $run }),*];

        #[cfg(test)]
        mod house_rules {
            use super::*;

            $(
                #[test]
                fn $name() {
                    super::assert_holds(&Check { name: stringify!($name), run: $run });
                }
            )*
        }
    };
}

checks! {
    floors: floors::check,
    floors_are_drawn: floors::drawing,
    file_lengths: sizes::lengths,
    file_sizes: sizes::bytes,
    function_lengths: functions::check,
    unit_suffixes: numbers::check,
    dead_modules: modules::check,
    todos_name_issues: lines::todos,
    no_machine_paths: lines::machine_paths,
    facts_have_sources: facts::check,
    sources_are_used: facts::sources,
    codes_are_listed: codes::listed,
    codes_are_explained: codes::explained,
    codes_are_tested: codes::tested,
    generated_pages_fresh: generated::check,
    docs_are_linked: docs::summary,
    links_lead_somewhere: docs::links,
    readme_commands_exist: docs::readme,
    readme_quotes_hold: docs::quotes,
    manifests: manifests::packages,
    dependencies_say_why: manifests::dependencies,
    no_linker_is_set: manifests::cargo_config,
    licences: licences::check,
    deny_list_agrees: licences::deny_list,
}

/// Fails with all findings of one check.
#[cfg(test)]
#[track_caller]
fn assert_holds(check: &Check) {
    use std::sync::OnceLock;
    static HOUSE: OnceLock<House> = OnceLock::new();
    let house = HOUSE.get_or_init(|| House::load().unwrap());
    let findings = (check.run)(house).unwrap();
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}: {} findings\n{}", check.name, lines.len(), lines.join("\n"));
}
