//! Traces of clusters as plain rows: jobs that ran somewhere, read for whoever plays them again.
//!
//! A row that cannot be read is left out with a warning that has its place; a table without the columns that it needs is
//! refused as a whole.

mod jobs;
mod philly;
mod table;
mod tiresias;

use weft_base::{Code, Diagnostic, Severity};

pub use jobs::{JOB_KEYS, JobLine, JobRow, Names, jobs};
pub use philly::{PhillyRow, philly};
pub use table::Table;
pub use tiresias::{TiresiasCluster, TiresiasRow, tiresias, tiresias_cluster};

/// A table of a trace is not as it must be.
pub const TRACE_MALFORMED: Code = Code {
    name: "trace-malformed",
    explanation: "A table of a trace lacks a column, or a cell is no number or outside what is possible. Nothing is left out \
        silently. A table of jobs is read without the rows that are wrong, each of which is named; a table of nodes or pods \
        (openb) is refused for one wrong row. Nodes have `cpu_milli`, `memory_mib`, `gpu` and `model`; pods `cpu_milli`, \
        `memory_mib`, `num_gpu`, `gpu_milli`, and perhaps `gpu_spec`, the models it runs on with `|` between them.",
};

/// Rows that could be read, and what is wrong with the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<T> {
    /// The rows, in the order of the file.
    pub rows: Vec<T>,
    /// A warning for each row that was left out or looks wrong; an error if nothing was read.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Rows<T> {
    /// Whether the table can be used at all.
    pub fn is_usable(&self) -> bool {
        self.diagnostics.iter().all(|finding| finding.severity < Severity::Error)
    }

    fn refused(why: Diagnostic) -> Self {
        Self { rows: Vec::new(), diagnostics: vec![why] }
    }

    /// Reads each row of a table. One that cannot be read becomes a warning; none at all is an error.
    fn of(table: &Table<'_>, mut read: impl FnMut(&csv::StringRecord) -> Result<T, Diagnostic>) -> Self {
        let mut diagnostics = table.ragged().to_vec();
        let mut rows = Vec::with_capacity(table.rows().len());
        for row in table.rows() {
            match read(row) {
                Ok(row) => rows.push(row),
                Err(why) => diagnostics.push(why),
            }
        }
        diagnostics.sort_by_key(|finding| finding.place.as_ref().map(|place| (place.line, place.column)));
        for finding in &mut diagnostics {
            finding.severity = Severity::Warning;
            finding.message = format!("the row was left out: {}", finding.message);
        }
        if rows.is_empty() {
            let why = Diagnostic::error(TRACE_MALFORMED, "the table has no row that can be read")
                .at(weft_base::Place::new(table.file(), 1, 1, 1))
                .hint("below its head every line is one job");
            diagnostics.insert(0, why);
        }
        Self { rows, diagnostics }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{jobs, philly, tiresias, tiresias_cluster};

    proptest! {
        /// No text makes a reader panic, and what it does not read it says.
        #[test]
        fn any_text_is_read_or_refused(head in 0..5_usize, text in "([-0-9a-f:. ,\"\n]{0,40}|\\PC{0,40})") {
            let heads = [
                "timestamp,duration,num_gpus,cluster",
                "job_id,num_gpu,submit_time,duration,model_name",
                "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node",
                "job,duration,gpus,models,memory,one-numa",
                "",
            ];
            let text = format!("{}\n{text}", heads[head]);
            let counts = [
                { let found = philly("t", &text); (found.rows.len(), found.diagnostics.len()) },
                { let found = jobs("t", &text); (found.rows.len(), found.diagnostics.len()) },
                { let found = tiresias("t", &text); (found.rows.len(), found.diagnostics.len()) },
                { let found = tiresias_cluster("t", &text); (usize::from(found.is_ok()), usize::from(found.is_err())) },
            ];
            for (rows, diagnostics) in counts {
                prop_assert!(rows > 0 || diagnostics > 0);
            }
        }
    }
}
