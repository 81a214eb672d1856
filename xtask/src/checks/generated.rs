//! Generated pages are what `cargo xtask codegen` would write now.

use anyhow::Result;

use crate::codegen::{self, Page};
use crate::finding::Finding;
use crate::house::House;

/// Pages that are missing or stale.
pub fn check(house: &House) -> Result<Vec<Finding>> {
    let pages = codegen::pages(house)?;
    Ok(stale(&pages, |path| house.text(path)))
}

fn stale<'a>(pages: &[Page], text: impl Fn(&str) -> Option<&'a str>) -> Vec<Finding> {
    let old = pages.iter().filter(|page| text(page.path) != Some(page.text.as_str()));
    old.map(|page| Finding::new(page.path, "is stale: run `cargo xtask codegen`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_changed_page_is_found() {
        let pages = [Page { path: "docs/a.md", text: "new".to_owned() }];
        assert_eq!(stale(&pages, |_| Some("new")).len(), 0);
        assert_eq!(stale(&pages, |_| Some("old")).len(), 1);
        assert_eq!(stale(&pages, |_| None).len(), 1);
    }
}
