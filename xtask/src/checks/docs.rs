//! The book is whole: every page is in the summary, every link leads somewhere, and the README's commands exist.

use anyhow::Result;

use crate::finding::Finding;
use crate::house::{House, Text};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages of `docs/` that the summary does not list.
pub fn summary(house: &House) -> Result<Vec<Finding>> {
    let Some(summary) = house.text(SUMMARY) else {
        return Ok(vec![Finding::new(SUMMARY, "does not exist")]);
    };
    let pages = house.texts.iter().filter(|text| text.path.starts_with("docs/") && text.has_extension("md"));
    Ok(unlisted(pages.map(|page| page.path.as_str()), summary))
}

fn unlisted<'a>(pages: impl Iterator<Item = &'a str>, summary: &str) -> Vec<Finding> {
    let listed: Vec<&str> = targets(summary).map(|(_, target)| target).collect();
    let inside = pages.filter(|page| *page != SUMMARY).filter_map(|page| page.strip_prefix("docs/"));
    let missing = inside.filter(|page| !listed.contains(page));
    missing
        .map(|page| Finding::new(format!("docs/{page}"), format!("is not linked from {SUMMARY}")))
        .collect()
}

/// (line from 1, target) of each `[text](target)`.
fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        line.split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(move |(target, _)| (index + 1, target))
    })
}

/// Links to files that do not exist.
pub fn links(house: &House) -> Result<Vec<Finding>> {
    let pages = house.texts.iter().filter(|text| text.has_extension("md"));
    let exists = |path: &str| {
        house.sizes.iter().any(|(file, _)| file == path || file.starts_with(&format!("{path}/")))
    };
    Ok(pages.flat_map(|page| dangling(page, exists)).collect())
}

fn dangling(page: &Text, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, target) in targets(&page.text) {
        let file = target.split('#').next().unwrap_or_default();
        if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
            continue;
        }
        if !exists(&resolve(&page.path, file)) {
            found.push(Finding::at(&page.path, line, format!("the link to `{file}` leads nowhere")));
        }
    }
    found
}

/// The path from the root that `target` means on the page `from`.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The two commands of the README, and the file that the first one reads.
pub fn readme(house: &House) -> Result<Vec<Finding>> {
    let readme = house.text("README.md").unwrap_or_default();
    Ok(commands(readme, |path| house.text(path).is_some()))
}

const PREDICT: &str = "cargo run --release --bin weft -- predict ";

fn commands(readme: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let lines: Vec<&str> = readme.lines().map(|line| line.trim().trim_start_matches("$ ")).collect();
    let mut found = Vec::new();
    if !lines.contains(&"cargo test") {
        found.push(Finding::new("README.md", "does not show the command `cargo test`"));
    }
    match lines.iter().find_map(|line| line.strip_prefix(PREDICT)) {
        None => found.push(Finding::new("README.md", format!("shows no command `{PREDICT}examples/…`"))),
        Some(arguments) => {
            let file = arguments.split_whitespace().next().unwrap_or_default();
            if !file.starts_with("examples/") || !exists(file) {
                found.push(Finding::new(
                    "README.md",
                    format!("its first command reads `{file}`: no such example"),
                ));
            }
        }
    }
    found
}

const ACCURACY: &str = "docs/models/accuracy.md";

/// What the README quotes of the measured errors stands on the page that `weft validate` writes.
pub fn quotes(house: &House) -> Result<Vec<Finding>> {
    let readme = house.text("README.md").unwrap_or_default();
    Ok(misquoted(readme, house.text(ACCURACY).unwrap_or_default()))
}

fn misquoted(readme: &str, page: &str) -> Vec<Finding> {
    let plain = page.replace("**", "");
    let quoted =
        readme.lines().enumerate().filter_map(|(index, line)| Some((index + 1, line.strip_prefix("> ")?)));
    let wrong = quoted.filter(|(_, quote)| !plain.contains(quote));
    wrong
        .map(|(line, _)| Finding::at("README.md", line, format!("quotes what {ACCURACY} does not say")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_outside_the_summary_is_found() {
        let pages = ["docs/SUMMARY.md", "docs/a.md", "docs/guides/b.md"];
        let found = unlisted(pages.into_iter(), "- [A](a.md)\n- [C](guides/c.md)\n");
        assert_eq!(found.iter().map(|found| found.place.as_str()).collect::<Vec<_>>(), ["docs/guides/b.md"]);
    }

    #[test]
    fn a_dangling_link_is_found() {
        let page = Text::new(
            "docs/models/nccl.md",
            "[a](../concepts/a.md#part) [b](b.md)\n[c](https://x.y) [d](#here) [e](../../README.md)",
        );
        let found = dangling(&page, |path| ["docs/concepts/a.md", "README.md"].contains(&path));
        assert_eq!(found, [Finding::at("docs/models/nccl.md", 1, "the link to `b.md` leads nowhere")]);
    }

    #[test]
    fn a_stale_quote_is_found() {
        let page = "**bandwidth median error 2.7 %; 0 skipped.**\n";
        assert_eq!(misquoted("Text.\n> bandwidth median error 2.7 %; 0 skipped.\n", page).len(), 0);
        assert_eq!(misquoted("> bandwidth median error 2.5 %\n", page).len(), 1);
    }

    #[test]
    fn missing_commands_are_found() {
        let good = "$ cargo run --release --bin weft -- predict examples/a.txt --gpu x\n$ cargo test\n";
        assert_eq!(commands(good, |path| path == "examples/a.txt").len(), 0);
        assert_eq!(commands(good, |_| false).len(), 1);
        assert_eq!(commands("", |_| true).len(), 2);
    }
}
