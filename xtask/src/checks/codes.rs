//! Every diagnostic code is in its crate's list, so that `weft explain` knows it, and occurs in a test.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::finding::Finding;
use crate::house::{House, Text};
use crate::rust;

/// Codes that stand in no `CODES` list of their crate, and names that two codes have.
pub fn listed(house: &House) -> Result<Vec<Finding>> {
    unlisted(&house.sources().collect::<Vec<_>>())
}

fn unlisted(texts: &[&Text]) -> Result<Vec<Finding>> {
    let mut lists: BTreeSet<(Option<&str>, String)> = BTreeSet::new();
    for text in texts {
        let listed = rust::listed_codes(&text.parse_rust()?);
        lists.extend(listed.into_iter().map(|constant| (text.crate_name(), constant)));
    }
    let (mut found, mut owners) = (Vec::new(), BTreeMap::new());
    for text in texts {
        for code in rust::code_constants(&text.parse_rust()?) {
            if !lists.contains(&(text.crate_name(), code.constant.clone())) {
                let message = format!("the code `{}` is in no `CODES` of its crate", code.name);
                found.push(Finding::at(&text.path, code.line, message));
            }
            if let Some(owner) = owners.insert(code.name.clone(), &text.path) {
                let message = format!("the code `{}` stands in {owner} too", code.name);
                found.push(Finding::at(&text.path, code.line, message));
            }
        }
    }
    Ok(found)
}

/// Paragraphs that are no text for a reader.
pub fn explained(house: &House) -> Result<Vec<Finding>> {
    unexplained(&house.sources().collect::<Vec<_>>())
}

fn unexplained(texts: &[&Text]) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for text in texts {
        for code in rust::code_constants(&text.parse_rust()?) {
            let explanation = &code.explanation;
            let whole = explanation.len() > 40 && explanation.ends_with('.');
            if !whole || explanation.contains("  ") || explanation.contains('\n') {
                let message = format!("the paragraph of `{}` is not whole sentences in one line", code.name);
                found.push(Finding::at(&text.path, code.line, message));
            }
        }
    }
    Ok(found)
}

/// Codes that no test mentions, by name or by constant.
pub fn tested(house: &House) -> Result<Vec<Finding>> {
    let mut tests = String::new();
    for text in house.texts.iter().filter(|text| text.path.starts_with("crates/")) {
        tests.push_str(&test_part(text)?);
    }
    untested(house.sources(), &tests)
}

fn untested<'a>(texts: impl Iterator<Item = &'a Text>, tests: &str) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for text in texts {
        for code in rust::code_constants(&text.parse_rust()?) {
            if !mentions(tests, &code.name) && !mentions(tests, &code.constant) {
                let message = format!("no test mentions the code `{}`", code.name);
                found.push(Finding::at(&text.path, code.line, message));
            }
        }
    }
    Ok(found)
}

/// What of a file is a test: everything below `tests/` and in `tests.rs`, and `#[cfg(test)]` items elsewhere.
fn test_part(text: &Text) -> Result<String> {
    if text.path.contains("/tests/") || text.path.ends_with("/tests.rs") {
        return Ok(text.text.clone());
    }
    if !text.has_extension("rs") {
        return Ok(String::new());
    }
    let parts = rust::test_lines(&text.parse_rust()?);
    let inside = |index: usize| parts.iter().any(|(first, last)| (*first..=*last).contains(&(index + 1)));
    let lines = text.text.lines().enumerate().filter(|(index, _)| inside(*index)).map(|(_, line)| line);
    Ok(lines.fold(String::new(), |joined, line| joined + line + "\n"))
}

/// The word stands alone: `row-cut` is not in `row-cut-short`.
fn mentions(text: &str, word: &str) -> bool {
    let part_of_word = |edge: char| edge.is_alphanumeric() || edge == '-' || edge == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().last();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "const ROW_CUT: Code = Code { name: \"row-cut\", explanation: \"\" };\n";

    #[test]
    fn a_code_outside_the_lists_is_found() {
        let count = |sources: &[(&str, &str)]| {
            let texts: Vec<Text> = sources.iter().map(|(path, text)| Text::new(path, text)).collect();
            unlisted(&texts.iter().collect::<Vec<_>>()).unwrap().len()
        };
        let code = ("crates/a/src/codes.rs", SOURCE);
        let list = "pub const CODES: &[Code] = &[codes::ROW_CUT];";
        assert_eq!(count(&[code, ("crates/a/src/lib.rs", list)]), 0);
        assert_eq!(count(&[code]), 1);
        assert_eq!(count(&[code, ("crates/b/src/lib.rs", list)]), 1);
        let twice =
            ("crates/a/src/more.rs", "const B: Code = Code { name: \"row-cut\", explanation: \"\" };");
        assert_eq!(
            count(&[code, twice, ("crates/a/src/lib.rs", "const CODES: &[Code] = &[ROW_CUT, B];")]),
            1
        );
    }

    #[test]
    fn a_paragraph_with_gaps_is_found() {
        let count = |explanation: &str| {
            let source = format!("const A: Code = Code {{ name: \"a\", explanation: \"{explanation}\" }};");
            unexplained(&[&Text::new("crates/a/src/lib.rs", &source)]).unwrap().len()
        };
        assert_eq!(count("A row ends before the last device of the header."), 0);
        assert_eq!(count("A row ends before the last   device of the header."), 1);
        assert_eq!(count("A row ends before the last device of the header"), 1);
        assert_eq!(count("Too short."), 1);
    }

    #[test]
    fn a_code_without_a_test_is_found() {
        let text = Text::new("crates/a/src/lib.rs", SOURCE);
        let count = |tests: &str| untested([&text].into_iter(), tests).unwrap().len();
        assert_eq!(count("assert_eq!(code, \"row-cut\")"), 0);
        assert_eq!(count("assert_eq!(code, ROW_CUT)"), 0);
        assert_eq!(count("row-cut-short and NARROW_CUT"), 1);
    }

    #[test]
    fn only_test_parts_count_as_tests() {
        let inner = format!("{SOURCE}#[cfg(test)]\nmod tests {{\n    // seen\n}}\n");
        assert_eq!(test_part(&Text::new("crates/a/src/lib.rs", &inner)).unwrap().lines().count(), 3);
        let whole = Text::new("crates/a/tests/data/x.txt", "seen");
        assert_eq!(test_part(&whole).unwrap(), "seen");
    }
}
