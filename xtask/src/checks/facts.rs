//! Every number of the catalogue has a grade and a source; every source exists and is used.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::finding::Finding;
use crate::house::{House, Text};

const FOLDER: &str = "catalogue/";
const SOURCES: &str = "catalogue/sources/";
const GRADES: [&str; 5] = ["measured", "datasheet", "derived", "assumed", "announced"];

/// Numbers that identify rather than measure: no unit, nothing to doubt.
const IDENTITIES: [&str; 3] = ["year", "widths", "compute_capability"];
/// Counts and positions of a system, whose structure as a whole has a grade and a source.
const STRUCTURE: [&str; 18] = [
    "count",
    "sockets",
    "socket",
    "host_bridge",
    "lanes",
    "device_lanes",
    "gpus",
    "nics",
    "switches",
    "links",
    "boards",
    "trunk_links",
    "a",
    "b",
    "radix",
    "oversubscription",
    "amount",
    "cards",
];
/// What a bridge joins, for which its `rule` has a grade and a source.
const BRIDGE: [&str; 2] = ["links", "cards"];
/// Texts in which a figure is a name or a remark.
const PROSE: [&str; 7] = ["title", "aliases", "note", "at", "version", "unit", "columns"];

/// Numbers outside facts, and facts without a grade or a source.
pub fn check(house: &House) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for text in house.texts.iter().filter(|text| is_facts(text)) {
        found.extend(of_file(text)?);
    }
    Ok(found)
}

fn is_facts(text: &Text) -> bool {
    text.path.starts_with(FOLDER) && text.has_extension("toml") && !text.path.starts_with(SOURCES)
}

fn of_file(text: &Text) -> Result<Vec<Finding>> {
    let table = parse(text)?;
    let kind = text.path.trim_start_matches(FOLDER).split('/').next().unwrap_or_default();
    let structure = kind == "systems" && has_origin(&table);
    let mut walk = Walk { path: &text.path, structure, found: Vec::new() };
    if kind == "systems" && !structure {
        walk.complain("", "a system needs a grade and a source for its structure");
    }
    // The shape of a model comes whole from one place.
    walk.table("", &table, kind == "models" && has_origin(&table));
    Ok(walk.found)
}

fn parse(text: &Text) -> Result<Table> {
    text.text.parse().with_context(|| format!("failed to parse {}", text.path))
}

fn has_origin(table: &Table) -> bool {
    let graded = table.get("grade").and_then(Value::as_str).is_some_and(|grade| GRADES.contains(&grade));
    graded && table.get("source").and_then(Value::as_str).is_some_and(|source| !source.is_empty())
}

struct Walk<'a> {
    path: &'a str,
    /// Whether counts of a system are covered by its own source.
    structure: bool,
    found: Vec<Finding>,
}

impl Walk<'_> {
    fn complain(&mut self, key: &str, message: &str) {
        let place = if key.is_empty() { self.path.to_owned() } else { format!("{}: {key}", self.path) };
        self.found.push(Finding::new(place, message));
    }

    /// `covered`: whether a table around this one has the grade and the source for its numbers.
    fn table(&mut self, place: &str, table: &Table, covered: bool) {
        let is_fact = table.contains_key("value");
        if (is_fact || table.contains_key("grade")) && !has_origin(table) {
            self.complain(place, "a value needs a grade (one of the five) and a source");
        }
        // A fact's value may be a table of its source, such as the places of MIG slices.
        let table_of_source = if is_fact { "value" } else { "rows" };
        for (key, value) in table {
            let inner = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            let whole = covered || (key == table_of_source && has_origin(table));
            let direct = whole
                || (is_fact && key == "value")
                || IDENTITIES.contains(&key.as_str())
                || (self.structure && STRUCTURE.contains(&key.as_str()))
                || (table.contains_key("rule") && BRIDGE.contains(&key.as_str()));
            if !PROSE.contains(&key.as_str()) {
                self.value(&inner, value, Cover { direct, whole });
            }
        }
    }

    fn value(&mut self, place: &str, value: &Value, cover: Cover) {
        match value {
            Value::Table(table) => self.table(place, table, cover.whole),
            Value::Array(values) => values.iter().for_each(|value| self.value(place, value, cover)),
            Value::Integer(_) | Value::Float(_) if !cover.direct => {
                self.complain(place, "a number outside a fact: write { value, grade, source }");
            }
            Value::String(text) if !cover.direct && is_quantity(text) => {
                self.complain(place, "a quantity outside a fact: write { value, grade, source }");
            }
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_) => {}
        }
    }
}

/// What the grade and the source around a value hold for.
#[derive(Clone, Copy)]
struct Cover {
    /// The value itself, or the numbers of a list.
    direct: bool,
    /// All tables below it too.
    whole: bool,
}

/// `16 GT/s`, `0.85`, `128/130`: digits, then at most one word.
fn is_quantity(text: &str) -> bool {
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit() || ".,_/".contains(digit));
    rest.len() < text.len() && rest.trim().chars().all(|letter| letter.is_alphabetic() || letter == '/')
}

/// Sources that are cited but missing, and those that nothing cites.
pub fn sources(house: &House) -> Result<Vec<Finding>> {
    let (mut cited, mut known) = (Vec::new(), Vec::new());
    for text in house.texts.iter().filter(|text| text.path.starts_with(FOLDER) && text.has_extension("toml"))
    {
        let table = parse(text)?;
        if text.path.starts_with(SOURCES) {
            known.extend(table.keys().map(|key| (text.path.clone(), key.clone())));
        } else {
            cite(&text.path, &Value::Table(table), &mut cited);
        }
    }
    Ok(mismatches(&cited, &known))
}

/// Collects (file, source) of everything below `value`.
fn cite(path: &str, value: &Value, cited: &mut Vec<(String, String)>) {
    if let Value::Table(table) = value {
        let source = table.get("source").and_then(Value::as_str);
        cited.extend(source.map(|source| (path.to_owned(), source.to_owned())));
        for inner in table.values() {
            cite(path, inner, cited);
        }
    }
    for inner in value.as_array().into_iter().flatten() {
        cite(path, inner, cited);
    }
}

/// Both lists are (file, source).
fn mismatches(cited: &[(String, String)], known: &[(String, String)]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (path, key) in known {
        if !seen.insert(key) {
            found.push(Finding::new(path, format!("the source `{key}` stands twice")));
        }
        if !cited.iter().any(|(_, source)| source == key) {
            found.push(Finding::new(path, format!("nothing cites the source `{key}`")));
        }
    }
    let missing = cited.iter().filter(|(_, source)| !seen.contains(source));
    found.extend(
        missing.map(|(path, source)| Finding::new(path, format!("the source `{source}` does not exist"))),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        of_file(&Text::new(path, text)).unwrap().len()
    }

    #[test]
    fn a_value_without_grade_or_source_is_found() {
        let link = |text| count("catalogue/links/x.toml", text);
        assert_eq!(link("lane = { value = \"16 GT/s\", grade = \"datasheet\", source = \"s\" }"), 0);
        assert_eq!(link("lane = { value = \"16 GT/s\", grade = \"datasheet\" }"), 1);
        assert_eq!(link("lane = { value = \"16 GT/s\", source = \"s\" }"), 1);
        assert_eq!(link("lane = { value = \"16 GT/s\", grade = \"certain\", source = \"s\" }"), 1);
    }

    #[test]
    fn a_number_outside_a_fact_is_found() {
        let link = |text| count("catalogue/links/x.toml", text);
        assert_eq!(link("year = 2020\nwidths = [1, 16]\naliases = [\"16 GT/s\"]"), 0);
        assert_eq!(link("lanes = 4"), 1);
        assert_eq!(link("lane = \"16 GT/s\""), 1);
        assert_eq!(link("encoding = \"128/130\""), 1);
        assert_eq!(link("[extra]\nlist = [{ speed = 1.5 }]"), 1);
        assert_eq!(link("link = \"pcie4\"\nname = \"100g-nic of 2020\""), 0);
    }

    #[test]
    fn a_system_has_one_source_for_its_structure() {
        let system = |text: &str| count("catalogue/systems/x.toml", text);
        let origin = "grade = \"measured\"\nsource = \"s\"\n";
        assert_eq!(system(&format!("{origin}gpus = [{{ model = \"t4\", count = 8 }}]")), 0);
        assert_eq!(system(&format!("{origin}gpus = [{{ model = \"t4\", speed = 8 }}]")), 1);
        assert_eq!(system("gpus = [{ model = \"t4\", count = 8 }]"), 2, "no source, and so a bare number");
    }

    #[test]
    fn tables_of_libraries_and_bridges_are_covered_by_their_own_source() {
        let library = |text: &str| count("catalogue/libraries/x.toml", text);
        assert_eq!(library("[tables.a]\ngrade = \"measured\"\nsource = \"s\"\nrows.x = [1.0]"), 0);
        assert_eq!(library("[tables.a]\nsource = \"s\"\nrows.x = [1.0]"), 1);
        let rule = "rule = { value = \"joins two\", grade = \"datasheet\", source = \"s\" }";
        assert_eq!(
            count("catalogue/gpus/x.toml", &format!("bridges = [{{ links = 4, cards = 2, {rule} }}]")),
            0
        );
        assert_eq!(count("catalogue/gpus/x.toml", "bridges = [{ links = 4, cards = 2 }]"), 2);
    }

    #[test]
    fn missing_unused_and_repeated_sources_are_found() {
        let pair = |file: &str, key: &str| (file.to_owned(), key.to_owned());
        let known = [pair("s.toml", "used"), pair("s.toml", "unused"), pair("t.toml", "used")];
        let cited = [pair("a.toml", "used"), pair("a.toml", "missing")];
        let messages: Vec<String> =
            mismatches(&cited, &known).into_iter().map(|found| found.message).collect();
        let expected = [
            "nothing cites the source `unused`",
            "the source `used` stands twice",
            "the source `missing` does not exist",
        ];
        assert_eq!(messages, expected);
        let mut found = Vec::new();
        let table: Table = "a = [{ source = \"x\" }]\n[b.c]\nsource = \"y\"".parse().unwrap();
        cite("f", &Value::Table(table), &mut found);
        assert_eq!(found, [pair("f", "x"), pair("f", "y")]);
    }
}
