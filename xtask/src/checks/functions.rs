//! Functions stay short enough to be seen at once.

use anyhow::Result;

use crate::finding::Finding;
use crate::house::{House, Text};
use crate::rust;

/// Lines from the signature to the closing brace.
const LINES_MAX: usize = 70;
/// Of all functions, so many of a hundred may be excepted.
const EXCEPTIONS_PERCENT_MAX: usize = 1;
/// Functions that may be longer: file, name, reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[];

/// Functions of at most 70 lines.
pub fn check(house: &House) -> Result<Vec<Finding>> {
    let (mut found, total) = too_long(house.rust(), LONG_FUNCTIONS)?;
    if LONG_FUNCTIONS.len() * 100 > total * EXCEPTIONS_PERCENT_MAX {
        found
            .push(Finding::new("LONG_FUNCTIONS", format!("more than 1 % of {total} functions are excepted")));
    }
    Ok(found)
}

/// Findings, and how many functions there are.
fn too_long<'a>(
    texts: impl Iterator<Item = &'a Text>,
    exceptions: &[(&str, &str, &str)],
) -> Result<(Vec<Finding>, usize)> {
    let (mut found, mut total, mut needed) = (Vec::new(), 0, Vec::new());
    for text in texts {
        for function in rust::functions(&text.parse_rust()?) {
            total += 1;
            if function.lines <= LINES_MAX {
                continue;
            }
            let excepted =
                |(path, name, _): &&(&str, &str, &str)| *path == text.path && *name == function.name;
            match exceptions.iter().find(excepted) {
                Some(exception) => needed.push(*exception),
                None => found.push(Finding::at(
                    &text.path,
                    function.line,
                    format!(
                        "`{}` has {} lines, more than {LINES_MAX}: split it",
                        function.name, function.lines
                    ),
                )),
            }
        }
    }
    let stale = exceptions.iter().filter(|exception| !needed.contains(exception));
    found.extend(stale.map(|(path, name, _)| Finding::new(*path, format!("`{name}` needs no exception"))));
    Ok((found, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_function_is_found_unless_excepted() {
        let text =
            |lines: usize| Text::new("a.rs", &format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2)));
        let count = |lines, exceptions| too_long([text(lines)].iter(), exceptions).unwrap().0.len();
        assert_eq!((count(70, &[]), count(71, &[])), (0, 1));
        let listed = [("a.rs", "f", "a table")];
        assert_eq!((count(71, &listed), count(70, &listed)), (0, 1));
    }
}
