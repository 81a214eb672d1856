//! The tree as the checks see it: every text with its path, every size, and what cargo knows.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::metadata::Metadata;

/// A file that is text.
#[derive(Debug, Clone)]
pub struct Text {
    /// From the root, with slashes.
    pub path: String,
    /// Its content.
    pub text: String,
}

impl Text {
    /// A text for a test of a check.
    #[cfg(test)]
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether the file's name ends in `.extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.path.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'))
    }

    /// The text as Rust.
    pub fn parse_rust(&self) -> Result<syn::File> {
        syn::parse_file(&self.text).with_context(|| format!("failed to parse {}", self.path))
    }

    /// `topology` for a file below `crates/topology`.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// The whole tree, read once.
pub struct House {
    /// Where it lies.
    pub root: PathBuf,
    /// Every text, in order of its path.
    pub texts: Vec<Text>,
    /// Path and bytes of every file.
    pub sizes: Vec<(String, u64)>,
    /// Packages of the workspace and of its dependencies.
    pub metadata: Metadata,
}

/// The folder of the workspace: the parent of this package's.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

impl House {
    /// Reads the tree that this package is part of.
    pub fn load() -> Result<Self> {
        let root = root();
        let (mut texts, mut sizes) = (Vec::new(), Vec::new());
        for path in files(&root)? {
            let bytes = std::fs::read(root.join(&path)).with_context(|| format!("failed to read {path}"))?;
            sizes.push((path.clone(), bytes.len() as u64));
            if let Ok(text) = String::from_utf8(bytes) {
                texts.push(Text { path, text });
            }
        }
        let metadata = Metadata::load(&root)?;
        Ok(Self { root, texts, sizes, metadata })
    }

    /// The text at exactly that path.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.iter().find(|text| text.path == path).map(|text| text.text.as_str())
    }

    /// All Rust sources.
    pub fn rust(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(|text| text.has_extension("rs"))
    }

    /// Sources of the program itself: no tests, no tools of developers.
    pub fn sources(&self) -> impl Iterator<Item = &Text> {
        self.rust().filter(|text| text.path.starts_with("crates/") && text.path.contains("/src/"))
    }
}

/// Folders that hold what tools made, wherever they lie.
const MADE_ANYWHERE: [&str; 3] = [".git", "target", "node_modules"];
/// Folders that hold what tools made, at this place.
const MADE_HERE: [&str; 3] = ["fuzz/corpus", "fuzz/artifacts", "book"];

fn is_made(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    MADE_ANYWHERE.contains(&name) || MADE_HERE.contains(&path)
}

/// Paths of all files that belong to the project, sorted.
fn files(root: &Path) -> Result<Vec<String>> {
    let (mut open, mut found) = (vec![root.to_path_buf()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir().with_context(|| format!("failed to list {}", folder.display()))? {
            let path = entry?.path();
            let inside = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            if !path.is_dir() {
                found.push(inside);
            } else if !is_made(&inside) {
                open.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_made_is_no_part_of_the_house() {
        for path in ["target", "fuzz/target", "fuzz/corpus", ".git"] {
            assert!(is_made(path), "{path}");
        }
        for path in ["crates/formats/tests/corpus", "crates/targets", "docs"] {
            assert!(!is_made(path), "{path}");
        }
        let files = files(&root()).unwrap();
        assert!(
            files.contains(&"Cargo.toml".to_owned()) && !files.iter().any(|path| path.contains("/.git/"))
        );
    }
}
