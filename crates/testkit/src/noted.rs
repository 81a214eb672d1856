//! Files of the shared corpus with what their notes say. The corpus lies beside the project and is never part
//! of it.

use std::fs;
use std::path::PathBuf;

/// A file and its notes.
#[derive(Debug, Clone)]
pub struct Noted {
    /// The folder of the corpus that it lies in: `A` to `G`.
    pub kind: String,
    /// Its name without the folder.
    pub name: String,
    /// Its format, as the notes call it.
    pub format: String,
    /// Its text.
    pub text: String,
    /// The keys of `[expected]`.
    pub expected: toml::Table,
}

impl Noted {
    /// Whether anything in it can be read: a file without a word holds nothing, and numbers without a unit mean
    /// nothing, since a bare number never parses.
    pub fn is_readable(&self) -> bool {
        let is_bare =
            |line: &str| line.split_once(": ").is_some_and(|(_, value)| value.parse::<f64>().is_ok());
        let has_unit = ["bps", "Bps", "B/s"].iter().any(|unit| self.text.contains(unit));
        has_unit || self.text.lines().any(|line| !line.trim().is_empty() && !is_bare(line))
    }

    /// A number of the notes.
    pub fn number(&self, key: &str) -> Option<f64> {
        let value = self.expected.get(key)?;
        #[expect(clippy::cast_precision_loss, reason = "counts and sizes of notes are small")]
        value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
    }

    /// A count of the notes.
    pub fn count(&self, key: &str) -> Option<usize> {
        usize::try_from(self.expected.get(key)?.as_integer()?).ok()
    }

    /// A list of the notes, its numbers as text.
    pub fn words(&self, key: &str) -> Option<Vec<String>> {
        let list = self.expected.get(key)?.as_array()?;
        let word = |value: &toml::Value| match value.as_integer() {
            Some(number) => number.to_string(),
            None => value.as_str().map_or_else(|| format!("{value:?}"), str::to_owned),
        };
        Some(list.iter().map(word).collect())
    }

    /// What differs between the notes and what the reader found; nothing if they do not have this key.
    pub fn miss(&self, key: &str, found_value: Option<f64>) -> Option<String> {
        let wanted = self.number(key)?;
        let near = |found: f64| (found - wanted).abs() <= wanted.abs() * 1e-5 + 1e-12;
        (!found_value.is_some_and(near)).then(|| format!("{key}: found {found_value:?}, wanted {wanted}"))
    }

    /// Whether its name begins so; names begin with the number of the file.
    pub fn is(&self, start: &str) -> bool {
        self.name.starts_with(start)
    }

    /// Whether its format begins with one of these words.
    pub fn is_of(&self, formats: &[&str]) -> bool {
        formats.iter().any(|format| self.format.starts_with(format))
    }
}

/// The folder of the corpus beside the project.
pub fn folder(kind: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")).join(kind)
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
        let format = meta.get("format").and_then(toml::Value::as_str).expect("the notes name the format");
        Noted {
            kind: kind.to_owned(),
            name: path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            format: format.to_owned(),
            text: String::from_utf8_lossy(&fs::read(path).expect("a corpus file can be read")).into_owned(),
            expected: meta.get("expected").and_then(toml::Value::as_table).cloned().unwrap_or_default(),
        }
    };
    Some(paths.iter().map(read).collect())
}
