//! Files stay short enough to be read, and small enough to be cloned.

use anyhow::Result;

use crate::finding::Finding;
use crate::house::{House, Text};

/// Lines of a source file, its tests included.
const LINES_MAX: usize = 600;
/// Lines of a file that is listed below.
const LINES_MAX_EXCEPTION: usize = 800;
/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];
/// Bytes of any file.
const BYTES_MAX: u64 = 1 << 20;
/// What people write; lock files, facts and pages follow other rules.
const WRITTEN: [&str; 2] = ["rs", "sh"];

/// Source files of at most 600 lines, listed exceptions of at most 800.
pub fn lengths(house: &House) -> Result<Vec<Finding>> {
    let written = house.texts.iter().filter(|text| WRITTEN.iter().any(|kind| text.has_extension(kind)));
    Ok(too_long(written, LONG_FILES))
}

fn too_long<'a>(texts: impl Iterator<Item = &'a Text>, exceptions: &[(&str, &str)]) -> Vec<Finding> {
    let (mut found, mut needed) = (Vec::new(), Vec::new());
    for text in texts {
        let lines = text.text.lines().count();
        let excepted = exceptions.iter().any(|(path, _)| *path == text.path);
        let limit = if excepted { LINES_MAX_EXCEPTION } else { LINES_MAX };
        if lines > limit {
            found.push(Finding::new(&text.path, format!("has {lines} lines, more than {limit}: split it")));
        }
        if excepted && lines > LINES_MAX {
            needed.push(text.path.as_str());
        }
    }
    let stale = exceptions.iter().filter(|(path, _)| !needed.contains(path));
    found.extend(stale.map(|(path, _)| Finding::new(*path, "needs no exception any more")));
    found
}

/// No file above 1 MB.
pub fn bytes(house: &House) -> Result<Vec<Finding>> {
    Ok(too_big(&house.sizes))
}

fn too_big(sizes: &[(String, u64)]) -> Vec<Finding> {
    let big = sizes.iter().filter(|(_, bytes)| *bytes > BYTES_MAX);
    big.map(|(path, bytes)| Finding::new(path, format!("has {bytes} bytes, more than {BYTES_MAX}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_found_and_an_exception_ends_at_800() {
        let text = |lines: usize| Text::new("a.rs", &"x\n".repeat(lines));
        let count = |lines, exceptions| too_long([text(lines)].iter(), exceptions).len();
        assert_eq!((count(600, &[]), count(601, &[])), (0, 1));
        let listed = [("a.rs", "a table")];
        assert_eq!((count(800, &listed), count(801, &listed)), (0, 1));
        assert_eq!(count(600, &listed), 1, "an exception that is not needed is a finding too");
    }

    #[test]
    fn a_big_file_is_found() {
        let sizes = [("small".to_owned(), BYTES_MAX), ("big".to_owned(), BYTES_MAX + 1)];
        let found = too_big(&sizes);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "big");
    }
}
