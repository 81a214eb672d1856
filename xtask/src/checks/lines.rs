//! What no line may hold: an open end that nobody tracks, a path of one person's machine.

use anyhow::Result;

use crate::finding::Finding;
use crate::house::{House, Text};

/// Markers of unfinished work; in two pieces, so that this file does not hold them.
const OPEN_ENDS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];
/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: [&str; 6] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/t", "mp"),
    concat!("C:", "\\"),
];
/// Texts that people write for this project; examples and test data are what machines printed.
const WRITTEN: [&str; 5] = ["rs", "toml", "md", "sh", "run"];

/// An open end names the issue that will close it.
pub fn todos(house: &House) -> Result<Vec<Finding>> {
    Ok(lines(written(house), |line| {
        let open = OPEN_ENDS.iter().find(|marker| holds_word(line, marker))?;
        (!names_issue(line)).then(|| format!("{open} without an issue: write `{open}(#7)`, or do it"))
    }))
}

/// No absolute path of a machine, no temporary folder.
pub fn machine_paths(house: &House) -> Result<Vec<Finding>> {
    Ok(lines(written(house), |line| {
        let path = MACHINE_PATHS.iter().find(|path| holds_path(line, path))?;
        Some(format!("`{path}` exists on one machine only"))
    }))
}

fn written(house: &House) -> impl Iterator<Item = &Text> {
    let is_written =
        |text: &&Text| WRITTEN.iter().any(|kind| text.has_extension(kind)) || text.path == ".ci/run";
    house.texts.iter().filter(is_written)
}

fn lines<'a>(texts: impl Iterator<Item = &'a Text>, judge: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    for text in texts {
        for (index, line) in text.text.lines().enumerate() {
            found.extend(judge(line).map(|message| Finding::at(&text.path, index + 1, message)));
        }
    }
    found
}

fn holds_word(line: &str, word: &str) -> bool {
    let mut parts = line.split(word).peekable();
    while let (Some(before), Some(after)) = (parts.next(), parts.peek()) {
        let bounded = |edge: Option<char>| edge.is_none_or(|edge| !edge.is_alphanumeric() && edge != '_');
        if bounded(before.chars().last()) && bounded(after.chars().next()) {
            return true;
        }
    }
    false
}

fn names_issue(line: &str) -> bool {
    line.split('#').skip(1).any(|after| after.starts_with(|first: char| first.is_ascii_digit()))
}

/// A path begins after something that is no part of a longer path or address.
fn holds_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().last();
        before.is_none_or(|before| !before.is_alphanumeric() && !"./-_~".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_end_needs_an_issue() {
        let text = format!("// {0}: later\n// {0}(#12): later\nlet x = \"{0}S\";\n", OPEN_ENDS[0]);
        let found = lines([Text::new("a.rs", &text)].iter(), |line| {
            (holds_word(line, OPEN_ENDS[0]) && !names_issue(line)).then(String::new)
        });
        assert_eq!(found.iter().map(|found| found.place.as_str()).collect::<Vec<_>>(), ["a.rs:1"]);
    }

    #[test]
    fn machine_paths_are_found_but_not_parts_of_others() {
        for path in MACHINE_PATHS {
            assert!(holds_path(&format!("let x = \"{path}a\";"), path), "{path}");
        }
        assert!(!holds_path("see https://example.org/home/page", MACHINE_PATHS[0]));
        assert!(!holds_path("open ../home/x", MACHINE_PATHS[0]));
    }
}
