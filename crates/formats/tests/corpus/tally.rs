//! The table that the test of all files prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use weft_testkit::noted::Noted;

/// Files matched and missed, and what of their notes is compared.
#[derive(Debug, Default)]
pub struct Tally {
    /// Files and those missed, by kind and format.
    formats: BTreeMap<(String, String), (usize, usize)>,
    /// Whether a key of a kind is compared in any of its files.
    keys: BTreeMap<(String, String), bool>,
    /// Files of whose notes nothing is compared, though they expect something.
    bare: BTreeSet<String>,
    /// What differs, with the file.
    pub misses: Vec<String>,
}

impl Tally {
    /// Counts a file of whose notes the keys `compared` are compared, and where `misses` differ.
    pub fn add(&mut self, file: &Noted, compared: &[String], misses: Vec<String>) {
        let (files, missed) = self.formats.entry((file.kind.clone(), file.format.clone())).or_default();
        *files += 1;
        *missed += usize::from(!misses.is_empty());
        for key in file.expected.keys() {
            *self.keys.entry((file.kind.clone(), key.clone())).or_default() |= compared.contains(key);
        }
        let name = format!("{}/{}", file.kind, file.name);
        if compared.is_empty() && !file.expected.is_empty() {
            self.bare.insert(name.clone());
        }
        self.misses.extend(misses.into_iter().map(|miss| format!("{name}: {miss}")));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<52} {:>5} {:>7} {:>6}", "format", "files", "matched", "missed")?;
        let mut row = |format: &str, files: usize, missed: usize| {
            writeln!(f, "{format:<52} {files:>5} {:>7} {missed:>6}", files - missed)
        };
        for ((kind, format), (files, missed)) in &self.formats {
            row(&format!("{kind} {format}"), *files, *missed)?;
        }
        let (files, missed) =
            self.formats.values().fold((0, 0), |sums, (files, missed)| (sums.0 + files, sums.1 + missed));
        row("all", files, missed)?;
        let mut unheld: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for ((kind, key), _) in self.keys.iter().filter(|(_, is_compared)| !**is_compared) {
            unheld.entry(kind).or_default().push(key);
        }
        for (kind, keys) in unheld {
            writeln!(f, "keys of {kind} that nothing compares: {}", keys.join(", "))?;
        }
        for name in &self.bare {
            writeln!(f, "nothing of its notes is compared: {name}")?;
        }
        Ok(())
    }
}
