//! What the matrices of the shared corpus hold.
//!
//! The counts of their notes were made by splitting lines at blanks. [`Expected`] brings them to what a reader should
//! find, by general rules only, so that they hold for files that no one here has seen.

use std::collections::BTreeMap;

use serde::Deserialize;
use weft_topology::ReportedClass;

pub use crate::noted::folder;
use crate::noted::{self, Noted};

/// A matrix of the corpus.
#[derive(Debug)]
pub struct CorpusFile {
    /// Its name without the folder.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What it holds.
    pub expected: Expected,
}

/// Times that each word occurs.
pub type Counts = BTreeMap<String, usize>;

/// What a file of kind A holds.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Expected {
    /// GPUs, with or without a row.
    pub gpus: usize,
    /// NICs, with or without a row.
    pub nics: usize,
    /// Cells of GPU rows and GPU columns by class; `None` where the notes do not say.
    pub gpu_gpu: Option<Counts>,
    /// Cells of GPU rows and NIC columns by class; `None` where the notes do not say.
    pub gpu_nic: Option<Counts>,
    /// Device names of the NIC legend, in order; `None` where the notes do not say.
    pub nic_legend: Option<Vec<String>>,
}

impl Expected {
    /// What differs in `found`, as far as the notes say anything.
    pub fn misses(&self, found: &Self) -> Vec<String> {
        let mut misses = Vec::new();
        let mut compare = |what: &str, wanted: String, found: String| {
            if wanted != found {
                misses.push(format!("{what}: found {found}, wanted {wanted}"));
            }
        };
        compare("GPUs", self.gpus.to_string(), found.gpus.to_string());
        compare("NICs", self.nics.to_string(), found.nics.to_string());
        if let Some(wanted) = &self.gpu_gpu {
            compare(
                "GPU to GPU",
                format!("{wanted:?}"),
                format!("{:?}", found.gpu_gpu.clone().unwrap_or_default()),
            );
        }
        if let Some(wanted) = &self.gpu_nic {
            compare(
                "GPU to NIC",
                format!("{wanted:?}"),
                format!("{:?}", found.gpu_nic.clone().unwrap_or_default()),
            );
        }
        if let Some(wanted) = &self.nic_legend {
            compare(
                "NIC legend",
                format!("{wanted:?}"),
                format!("{:?}", found.nic_legend.clone().unwrap_or_default()),
            );
        }
        misses
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawExpected {
    gpus: usize,
    nics: usize,
    nic_columns: Vec<String>,
    gpu_gpu: Option<Vec<String>>,
    gpu_nic: Option<Vec<String>>,
    nic_legend: Option<Vec<String>>,
}

/// The matrices in order of their names; `None` where the corpus is absent.
///
/// # Panics
/// If the notes of a file do not say what a matrix holds: the corpus is damaged.
#[expect(clippy::expect_used, reason = "a damaged corpus must stop the test that needs it")]
pub fn matrices() -> Option<Vec<CorpusFile>> {
    let matrix = |file: Noted| {
        let expected = expected(&file.expected).expect("the notes say what the matrix holds");
        CorpusFile { name: file.name, text: file.text, expected }
    };
    Some(noted::files("A")?.into_iter().map(matrix).collect())
}

/// What the notes of a matrix say, brought to what a reader should find.
pub fn expected(notes: &toml::Table) -> Result<Expected, toml::de::Error> {
    let raw = notes.clone().try_into::<RawExpected>()?;
    // Bars of tables and columns of affinity were counted as NICs.
    let no_nics = raw.nic_columns.iter().filter(|name| !name.contains(|c: char| c.is_ascii_digit())).count();
    Ok(Expected {
        gpus: raw.gpus,
        nics: raw.nics.saturating_sub(no_nics),
        gpu_gpu: raw.gpu_gpu.as_deref().map(normalised),
        gpu_nic: raw.gpu_nic.as_deref().map(normalised),
        nic_legend: raw.nic_legend,
    })
}

/// `["SOC:8", "NODENODE:4", "0-31:4"]` to SYS 8, NODE 8: old words in their new form, fused words apart,
/// and what is no class left out.
fn normalised(counts: &[String]) -> Counts {
    let mut found = Counts::new();
    for entry in counts {
        let Some((word, count)) = entry.rsplit_once(':') else { continue };
        let Ok(count) = count.parse::<usize>() else { continue };
        for class in classes(word).unwrap_or_default() {
            *found.entry(class).or_default() += count;
        }
    }
    found
}

/// The classes that `word` is made of; accesses of `topo -p2p` count as well.
fn classes(word: &str) -> Option<Vec<String>> {
    if matches!(word, "OK" | "CNS" | "GNS" | "TNS" | "NS" | "DR" | "U") {
        return Some(vec![word.to_owned()]);
    }
    if let Ok(class) = word.parse::<ReportedClass>() {
        return Some(vec![class.to_string()]);
    }
    // The first piece is the longest class that the word begins with.
    let piece =
        |length: usize| Some((word.get(..length)?.parse::<ReportedClass>().ok()?, word.get(length..)?));
    let (class, rest) = (3..word.len()).rev().find_map(piece)?;
    let mut found = vec![class.to_string()];
    found.extend(classes(rest)?);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_brought_to_what_a_reader_finds() {
        let counts = ["SOC:8", "NODENODE:4", "0-31,64-95:4", "|:18", "X:3", "0:4", "OK:2"].map(str::to_owned);
        let found = normalised(&counts);
        let wanted: Counts =
            [("NODE", 8), ("OK", 2), ("SYS", 8)].map(|(word, n)| (word.to_owned(), n)).into();
        assert_eq!(found, wanted);
    }

    #[test]
    fn bars_and_numa_columns_are_no_nics() {
        let notes = "gpus = 6\nnics = 3\nnic_columns = [\"|\", \"NUMA\", \"mlx5_0\"]\n";
        assert_eq!(expected(&notes.parse().unwrap()).unwrap().nics, 1);
    }
}
