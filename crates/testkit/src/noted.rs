//! Files of the shared corpus with what their notes say, for kinds whose notes are plain keys and values.

use std::fs;
use std::path::PathBuf;

use crate::corpus::folder;

/// A file and its notes.
#[derive(Debug)]
pub struct Noted {
    /// Its name without the folder.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The keys of `[expected]`.
    pub expected: toml::Table,
}

impl Noted {
    /// A number of the notes.
    pub fn number(&self, key: &str) -> Option<f64> {
        let value = self.expected.get(key)?;
        #[expect(clippy::cast_precision_loss, reason = "counts and sizes of notes are small")]
        value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
    }

    /// Whether the notes have this key with this value; nothing if they do not have it. `found` is what the reader found.
    pub fn miss(&self, key: &str, found: Option<f64>) -> Option<String> {
        let wanted = self.number(key)?;
        let near = |found: f64| (found - wanted).abs() <= wanted.abs() * 1e-5 + 1e-12;
        (!found.is_some_and(near)).then(|| format!("{key}: found {found:?}, wanted {wanted}"))
    }
}

/// The files of one kind in order of their names; `None` where the corpus is absent.
///
/// # Panics
/// If a file of the corpus has no readable `.meta.toml`: the corpus is damaged.
#[expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]
#[expect(clippy::expect_used, reason = "a damaged corpus must stop the test that needs it")]
pub fn files(kind: &str) -> Option<Vec<Noted>> {
    let entries = fs::read_dir(folder(kind)).ok()?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension != "toml"));
    paths.sort();
    let read = |path: &PathBuf| {
        let meta = fs::read_to_string(path.with_extension("meta.toml")).expect("each file has notes");
        let meta: toml::Table = meta.parse().expect("the notes are TOML");
        Noted {
            name: path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            text: String::from_utf8_lossy(&fs::read(path).expect("a corpus file can be read")).into_owned(),
            expected: meta.get("expected").and_then(toml::Value::as_table).cloned().unwrap_or_default(),
        }
    };
    Some(paths.iter().map(read).collect())
}
