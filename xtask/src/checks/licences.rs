//! Licences of everything that is built: permissive ones only.

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::finding::Finding;
use crate::house::House;
use crate::metadata::Metadata;

/// What may be in the tree, by SPDX name; `deny.toml` holds the same list.
const ALLOWED: [&str; 12] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "BSL-1.0",
];

/// Packages that cannot be used under allowed licences alone.
pub fn check(house: &House) -> Result<Vec<Finding>> {
    Ok(refused(&house.metadata))
}

fn refused(metadata: &Metadata) -> Vec<Finding> {
    let refused = metadata.packages.iter().filter(|package| !is_allowed(&package.license));
    refused.map(|package| Finding::new(&package.name, format!("licence `{}`", package.license))).collect()
}

/// Whether some choice of the expression's alternatives holds allowed licences only. `AND` binds tighter than
/// `OR`; a slash is the old way to write `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    !words.is_empty() && alternatives(&mut rest) && rest.is_empty()
}

fn alternatives(words: &mut &[&str]) -> bool {
    let mut allowed = conjunction(words);
    while let ["OR", rest @ ..] = words {
        *words = rest;
        allowed |= conjunction(words);
    }
    allowed
}

fn conjunction(words: &mut &[&str]) -> bool {
    let mut allowed = licence(words);
    while let ["AND", rest @ ..] = words {
        *words = rest;
        allowed &= licence(words);
    }
    allowed
}

fn licence(words: &mut &[&str]) -> bool {
    match words {
        ["(", rest @ ..] => {
            *words = rest;
            let allowed = alternatives(words);
            let [")", rest @ ..] = words else { return false };
            *words = rest;
            allowed
        }
        [name, "WITH", exception, rest @ ..] => {
            let whole = format!("{name} WITH {exception}");
            *words = rest;
            ALLOWED.contains(&whole.as_str())
        }
        [name, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(name)
        }
        [] => false,
    }
}

/// `deny.toml` allows what this check allows.
pub fn deny_list(house: &House) -> Result<Vec<Finding>> {
    let text = house.text("deny.toml").context("deny.toml does not exist")?;
    differences(text)
}

fn differences(text: &str) -> Result<Vec<Finding>> {
    let table: Table = text.parse().context("failed to parse deny.toml")?;
    let allow = table.get("licenses").and_then(|licenses| licenses.get("allow")).and_then(Value::as_array);
    let listed: Vec<&str> = allow.into_iter().flatten().filter_map(Value::as_str).collect();
    let missing = ALLOWED.iter().filter(|name| !listed.contains(name));
    let surplus = listed.iter().filter(|name| !ALLOWED.contains(name));
    let differing = missing.chain(surplus);
    Ok(differing.map(|name| Finding::new("deny.toml", format!("and xtask disagree on `{name}`"))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Package;

    #[test]
    fn copyleft_is_refused_unless_there_is_a_choice() {
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "MIT OR LGPL-2.1-or-later",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MPL-2.0",
            "GPL-3.0 OR MIT AND MPL-2.0",
            "(MIT",
            "MIT)",
            "GPL-2.0 WITH Classpath-exception-2.0",
        ] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn a_package_without_a_good_licence_is_found() {
        let package = |license: &str| Package {
            name: "x".to_owned(),
            member: false,
            default_member: false,
            description: String::new(),
            license: license.to_owned(),
            needs: Vec::new(),
        };
        let metadata = Metadata { packages: vec![package("MIT"), package("AGPL-3.0")] };
        assert_eq!(refused(&metadata).len(), 1);
    }

    #[test]
    fn lists_that_differ_are_found() {
        let list = |names: &[&str]| format!("[licenses]\nallow = {names:?}\n");
        assert_eq!(differences(&list(&ALLOWED)).unwrap().len(), 0);
        assert_eq!(differences(&list(&ALLOWED[1..])).unwrap().len(), 1);
        assert_eq!(differences("[licenses]\nallow = [\"MPL-2.0\"]").unwrap().len(), ALLOWED.len() + 1);
    }
}
