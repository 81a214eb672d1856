//! Files of the corpus with what their notes expect, in whatever shape a test reads it.

use std::fs;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::corpus::folder;

/// A file of the corpus and its notes.
#[derive(Debug)]
pub struct NotedFile<E> {
    /// Its name without the folder.
    pub name: String,
    /// What the notes call its format; empty where they do not.
    pub format: String,
    /// Its text.
    pub text: String,
    /// `[expected]` of its notes.
    pub expected: E,
}

#[derive(Deserialize)]
struct Notes<E> {
    file: String,
    #[serde(default)]
    format: String,
    expected: E,
}

/// All files of one kind that have notes, in order of their names; `None` where the corpus is absent.
///
/// # Panics
/// If notes cannot be read: the corpus is damaged, or `E` has not its shape.
#[expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]
#[expect(clippy::expect_used, reason = "a damaged corpus must stop the test that needs it")]
pub fn files<E: DeserializeOwned>(kind: &str) -> Option<Vec<NotedFile<E>>> {
    let entries = fs::read_dir(folder(kind)).ok()?;
    let mut paths: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".meta.toml"));
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let notes = fs::read_to_string(path).expect("notes can be read");
        let notes: Notes<E> = toml::from_str(&notes).expect("notes parse");
        let bytes = fs::read(path.with_file_name(&notes.file)).expect("a corpus file can be read");
        NotedFile {
            name: notes.file,
            format: notes.format,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            expected: notes.expected,
        }
    };
    Some(paths.iter().map(read).collect())
}
