//! No source file that nothing compiles.

use anyhow::Result;

use crate::finding::Finding;
use crate::house::{House, Text};

/// Every `src/**/x.rs` is declared as `mod x` in the file above it.
pub fn check(house: &House) -> Result<Vec<Finding>> {
    let texts: Vec<&Text> = house.rust().collect();
    Ok(dead(&texts))
}

fn dead(texts: &[&Text]) -> Vec<Finding> {
    let modules = texts.iter().filter_map(|text| Some((*text, parents(&text.path)?)));
    let unreached = modules.filter(|(text, (name, parents))| {
        let above = texts.iter().filter(|other| parents.contains(&other.path));
        !above.into_iter().any(|parent| parent.path != text.path && declares(&parent.text, name))
    });
    unreached
        .map(|(text, _)| Finding::new(&text.path, "is declared by no `mod`: dead, or forgotten"))
        .collect()
}

fn declares(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        line.strip_suffix(';')
            .and_then(|line| line.strip_suffix(name))
            .is_some_and(|rest| rest.ends_with("mod "))
    })
}

/// The module's name and the files that may declare it; `None` for roots of a target.
fn parents(path: &str) -> Option<(String, Vec<String>)> {
    let (package, inside) = path.split_once("/src/")?;
    let inside = inside.strip_suffix(".rs")?;
    if matches!(inside, "lib" | "main") || inside.starts_with("bin/") {
        return None;
    }
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    let (folder, name) = inside.rsplit_once('/').unwrap_or(("", inside));
    let above = if folder.is_empty() {
        vec![format!("{package}/src/lib.rs"), format!("{package}/src/main.rs")]
    } else {
        vec![format!("{package}/src/{folder}.rs"), format!("{package}/src/{folder}/mod.rs")]
    };
    Some((name.to_owned(), above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_mod_is_found() {
        let texts = [
            Text::new("crates/a/src/lib.rs", "mod one;\npub(crate) mod two;\n"),
            Text::new("crates/a/src/one.rs", ""),
            Text::new("crates/a/src/two/mod.rs", "mod inner;"),
            Text::new("crates/a/src/two/inner.rs", ""),
            Text::new("crates/a/src/two/lost.rs", ""),
            Text::new("crates/a/src/someone.rs", ""),
            Text::new("crates/a/tests/t.rs", ""),
        ];
        let found: Vec<String> =
            dead(&texts.iter().collect::<Vec<_>>()).into_iter().map(|found| found.place).collect();
        assert_eq!(found, ["crates/a/src/two/lost.rs", "crates/a/src/someone.rs"]);
    }
}
