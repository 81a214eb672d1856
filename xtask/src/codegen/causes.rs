//! The page of the doctor's causes.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};

use crate::house::Text;
use crate::rust::{self, CauseConstant};

/// Where the rules are.
pub const RULES: &str = "crates/doctor/src/rules/";
/// Where the cases are.
pub const CASES: &str = "crates/doctor/tests/cases/";

const INTRODUCTION: &str = "\
# Causes

What `weft doctor` can find. Each cause has a code for tickets and a word for programs; both are stable, and \
`weft explain CODE` prints the paragraph. A *fault* can be mended; a *limit* is what the hardware or its place cannot do; \
a *misreading* is a figure that is taken for what it is not, while nothing is wrong. The public threads are those of the \
cases by which the rule is tested.
";

/// A section for each cause, by code, with the public threads of its cases.
pub fn page(rules: &[&Text], cases: &[&Text]) -> Result<String> {
    let mut all: Vec<CauseConstant> = Vec::new();
    for text in rules {
        all.extend(rust::cause_constants(&text.parse_rust()?));
    }
    all.sort_by(|a, b| a.code.cmp(&b.code));
    let mut threads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in cases {
        let notes: toml::Table = case.text.parse().with_context(|| format!("{} is no TOML", case.path))?;
        let word = |key: &str| notes.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        // Cases that were made without a thread call themselves their source.
        let source = word("source").filter(|source| source != "own");
        if let (Some(cause), Some(source)) = (word("cause"), source) {
            threads.entry(cause).or_default().push(source);
        }
    }
    let mut page = format!("{}{INTRODUCTION}", super::HEAD);
    page.push_str("\n| code | word | what | kind |\n|---|---|---|---|\n");
    for cause in &all {
        let (code, word) = (&cause.code, &cause.word);
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            page,
            "| [{code}](#{}-{word}) | `{word}` | {} | {} |",
            code.to_lowercase(),
            cause.title,
            kind(cause)
        );
    }
    for cause in &all {
        let _ =
            write!(page, "\n## {} {}\n\n{}. {}\n", cause.code, cause.word, cause.title, cause.explanation);
        let mut sources = threads.remove(&cause.word).unwrap_or_default();
        sources.sort();
        sources.dedup();
        if !sources.is_empty() {
            let _ = write!(page, "\nCases: {}.\n", sources.join(", "));
        }
    }
    Ok(page)
}

fn kind(cause: &CauseConstant) -> String {
    format!("{} of {}", cause.nature.to_lowercase(), cause.effect.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_come_by_code_with_the_threads_of_their_cases() {
        let source = "const A: Cause = Cause { code: \"D002\", word: \"mtu\", title: \"Small packets\", nature: \
                      Nature::Fault, effect: Effect::Bandwidth, explanation: \"It is.\" };";
        let rules = Text::new("crates/doctor/src/rules/mtu.rs", source);
        let case =
            Text::new("crates/doctor/tests/cases/x/case.toml", "cause = \"mtu\"\nsource = \"a/b#1\"\n");
        let text = page(&[&rules], &[&case]).unwrap();
        assert!(
            text.contains("| [D002](#d002-mtu) | `mtu` | Small packets | fault of bandwidth |"),
            "{text}"
        );
        assert!(text.ends_with("## D002 mtu\n\nSmall packets. It is.\n\nCases: a/b#1.\n"), "{text}");
    }
}
