//! A bare number in a public signature says its unit in its name: `time_us`, `bytes`, `share`.

use anyhow::Result;

use crate::finding::Finding;
use crate::house::{House, Text};
use crate::rust::{self, RawNumber};

/// Last words of a name that say what the number counts, or that it has no unit.
const WORDS: &[&str] = &[
    // units
    "bytes",
    "bits",
    // As in seconds per byte.
    "byte",
    "days",
    "hours",
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "picoseconds",
    "s",
    "ms",
    "us",
    "ns",
    "ps",
    "mib",
    // Thousandths of a core or of a GPU, as Kubernetes counts them.
    "milli",
    "gigabytes",
    "megabytes",
    "gbps",
    "gigabits",
    "megabits",
    "watts",
    "db",
    "hertz",
    "flops",
    "inches",
    "metres",
    "percent",
    // Parts per million.
    "ppm",
    "years",
    // counts and positions
    "count",
    "counts",
    "row",
    "devices",
    "line",
    "column",
    "index",
    "rank",
    "ranks",
    "seed",
    "capacity",
    "length",
    // pure numbers
    "share",
    "ratio",
    "factor",
    "efficiency",
    "error",
    "weight",
    "power",
    "scale",
    "numerator",
    "denominator",
    "value",
    "number",
];

/// Numbers that need no unit in their name: file, `Type.field` or `function(argument)`, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Public `f64`, `f32` and `u64` whose name says no unit.
pub fn check(house: &House) -> Result<Vec<Finding>> {
    without_unit(house.sources(), EXCEPTIONS)
}

fn without_unit<'a>(
    texts: impl Iterator<Item = &'a Text>,
    exceptions: &[(&str, &str, &str)],
) -> Result<Vec<Finding>> {
    let (mut found, mut needed) = (Vec::new(), Vec::new());
    for text in texts {
        for number in
            rust::raw_numbers(&text.parse_rust()?).into_iter().filter(|number| !says_unit(&number.name))
        {
            let excepted =
                |(path, owner, _): &&(&str, &str, &str)| *path == text.path && *owner == number.owner;
            match exceptions.iter().find(excepted) {
                Some(exception) => needed.push(*exception),
                None => found.push(finding(text, &number)),
            }
        }
    }
    let stale = exceptions.iter().filter(|exception| !needed.contains(exception));
    found.extend(stale.map(|(path, owner, _)| Finding::new(*path, format!("`{owner}` needs no exception"))));
    Ok(found)
}

fn says_unit(name: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or(name);
    WORDS.contains(&last)
}

fn finding(text: &Text, number: &RawNumber) -> Finding {
    let message = format!(
        "`{}` is a bare {} whose name says no unit: use a quantity of base, or end the name in one",
        number.owner, number.kind
    );
    Finding::at(&text.path, number.line, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_unit_is_found() {
        let count = |code: &str, exceptions| {
            without_unit([Text::new("crates/x/src/lib.rs", code)].iter(), exceptions).unwrap().len()
        };
        assert_eq!(count("pub struct A { pub time: f64 }", &[]), 1);
        assert_eq!(count("pub fn f(limit: u64) {}", &[]), 1);
        assert_eq!(count("pub struct A { pub time_us: f64, pub bytes: u64 }", &[]), 0);
        let listed = [("crates/x/src/lib.rs", "A.time", "of a foreign file format")];
        assert_eq!(count("pub struct A { pub time: f64 }", &listed), 0);
        assert_eq!(count("pub struct A {}", &listed), 1);
    }
}
