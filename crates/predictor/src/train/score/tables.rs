//! From the texts of published tables to their score.

use std::collections::BTreeMap;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_topology::oneliner;
use weft_workload::{Memory, Parameters, Precision, Training};

use super::ratio::summaries;
use super::{Ratio, TrainReport, score};
use crate::train::published::{Left, Published, read, read_memory, read_rates};
use crate::train::{Pricer, Site, replicas};

/// A row with its predicted seconds, or why there are none.
pub type Answered = (Published, Result<f64, String>);

/// What a GPU keeps, as published and as counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The file's name.
    pub file: String,
    /// Its line.
    pub line: u64,
    /// `activations`, or `weights, gradients and optimizer`.
    pub what: &'static str,
    /// As published.
    pub published_bytes: f64,
    /// As counted.
    pub counted_bytes: f64,
}

impl Kept {
    /// |counted - published| / published.
    pub fn error(&self) -> f64 {
        (self.counted_bytes / self.published_bytes - 1.0).abs()
    }
}

/// What published tables hold, priced.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// Rows that can be predicted.
    pub rows: Vec<Answered>,
    /// The others, with file and line.
    pub left: Vec<(String, u64, Left)>,
    /// What GPUs keep.
    pub memory: Vec<Kept>,
    /// How throughputs scale of which only that is to be predicted.
    pub copies: Vec<Ratio>,
    /// What could not be read.
    pub diagnostics: Vec<Diagnostic>,
}

impl Tables {
    /// Reads and prices tables, each with its file's name.
    pub fn of(tables: &[(String, String)], catalogue: &Catalogue) -> Self {
        let (mut all, mut sites) = (Self::default(), Sites::default());
        for (file, text) in tables {
            all.keep(file, text, catalogue);
            all.copies.extend(replicas::ratios(&read_rates(file, text).0, &mut sites, catalogue));
            let (rows, left, diagnostics) = read(file, text, catalogue);
            all.left.extend(left.into_iter().map(|(line, left)| (file.clone(), line, left)));
            all.diagnostics.extend(diagnostics);
            all.rows.extend(rows.into_iter().map(|row| {
                let predicted = sites.predict(&row, catalogue);
                (row, predicted)
            }));
        }
        all
    }

    /// Their score.
    pub fn score(&self, catalogue: &Catalogue) -> TrainReport {
        let mut report = score(&self.rows, &self.left, catalogue);
        report.memory.clone_from(&self.memory);
        (report.copies, report.departing_copies) = summaries(&self.copies);
        report.copied.clone_from(&self.copies);
        report
    }

    /// Counts what GPUs keep where a table says it; of those who trained these models the program is known.
    fn keep(&mut self, file: &str, text: &str, catalogue: &Catalogue) {
        let Ok(framework) = catalogue.framework("megatron-2021") else { return };
        for row in read_memory(file, text).0 {
            let training =
                Training { model: &row.model, layout: row.layout, precision: Precision::Half, framework };
            let memory = Memory::of(&training);
            // The paper's figure spreads the state evenly over stages, the embedding's too.
            let stages = f64::from(training.layout.tensor * training.layout.pipeline);
            let held = memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes;
            let whole = Parameters::of(&row.model).total(&row.model) / stages;
            let state = held * whole / weft_workload::weights(&training).total();
            let kept = |what, published_bytes, counted_bytes| Kept {
                file: file.to_owned(),
                line: row.line,
                what,
                published_bytes,
                counted_bytes,
            };
            self.memory.push(kept("weights, gradients and optimizer", row.state_bytes, state));
            self.memory.push(kept("activations", row.activation_bytes, memory.activations_bytes));
        }
    }
}

/// Machines that were built, by their one-liners.
#[derive(Default)]
pub(in crate::train) struct Sites<'c> {
    known: BTreeMap<String, Result<Site<'c>, String>>,
}

impl<'c> Sites<'c> {
    /// The machine of that one-liner.
    pub(in crate::train) fn of(&mut self, line: &str, catalogue: &'c Catalogue) -> Result<&Site<'c>, String> {
        let build = || {
            let machine = oneliner::parse(line, catalogue).map_err(|error| error.message)?;
            Site::new(&machine, catalogue).map_err(|error| error.to_string())
        };
        self.known.entry(line.to_owned()).or_insert_with(build).as_ref().map_err(Clone::clone)
    }

    fn predict(&mut self, row: &Published, catalogue: &'c Catalogue) -> Result<f64, String> {
        let site = self.of(&row.machine, catalogue)?;
        let framework = catalogue.framework(&row.framework).map_err(|error| error.to_string())?;
        let pricer = Pricer::new(site, row.layout.gpus, &row.model, row.precision, framework);
        let time = pricer.and_then(|pricer| pricer.step(&row.layout)).map_err(|error| error.to_string())?;
        Ok(time.seconds)
    }
}
