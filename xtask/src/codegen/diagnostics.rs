//! The page of diagnostic codes.

use std::fmt::Write;

use anyhow::Result;

use crate::house::Text;
use crate::rust::{self, CodeConstant};

const INTRODUCTION: &str = "\
# Diagnostics

A diagnostic has a severity, a code, a message and, where there is one, a place in the input. A `note` says what was \
assumed or left aside, a `warning` what could not be read or looks wrong, an `error` why the input cannot be used. \
`weft explain CODE` prints the paragraph of a code.
";

/// One paragraph per code of the sources, sorted by name.
pub fn page(texts: &[&Text]) -> Result<String> {
    let mut all: Vec<(&str, CodeConstant)> = Vec::new();
    for text in texts {
        let codes = rust::code_constants(&text.parse_rust()?);
        all.extend(codes.into_iter().map(|code| (text.crate_name().unwrap_or_default(), code)));
    }
    all.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    let mut page = format!("{}{INTRODUCTION}", super::HEAD);
    for (owner, code) in all {
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## `{}`\n\n{}\n\nFrom the crate `{owner}`.\n", code.name, code.explanation);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_explained() {
        let source = "const B: Code = Code { name: \"late\", explanation: \"It is \\\n    late.\" };\n\
                      const A: Code = Code { name: \"early\", explanation: \"It is early.\" };";
        let text = page(&[&Text::new("crates/clock/src/codes.rs", source)]).unwrap();
        let early = "## `early`\n\nIt is early.\n\nFrom the crate `clock`.";
        assert!(text.find(early).unwrap() < text.find("## `late`\n\nIt is late.").unwrap());
    }
}
