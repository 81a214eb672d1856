//! From files to the traces of ranks: `NAME.RANK.et`, and groups of ranks beside them.

use std::ffi::OsString;
use std::path::Path;

use weft_base::{Diagnostic, Place, Severity};
use weft_catalogue::Catalogue;
use weft_formats::{Origin, Source, execution_trace, rank_groups};
use weft_predictor::replay::Recording;

use crate::codes::{FILE_UNREADABLE, NO_REPLAY};
use crate::exit::{Exit, Failure};
use crate::input::{self, Given};

/// Traces, and the files that findings point into.
pub struct Traces {
    pub recording: Recording,
    pub sources: Vec<Source>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Nodes of all ranks together when one trace is played on each of several.
const NODES_MAX: usize = 1 << 22;

/// Reads all that `arguments` name; `ranks` plays the only trace on each of so many.
pub fn read(
    arguments: &[OsString],
    ranks: Option<u32>,
    compute_scale: f64,
    catalogue: &Catalogue,
) -> Result<Traces, Failure> {
    let mut traces = Traces {
        recording: Recording { compute_scale, ..Recording::default() },
        sources: Vec::new(),
        diagnostics: Vec::new(),
    };
    for argument in arguments {
        for given in input::read(argument, catalogue)? {
            traces.take(given);
        }
    }
    if let Some(ranks) = ranks {
        traces.repeat(ranks);
    }
    let failed = traces.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    if !failed && traces.recording.traces.is_empty() {
        let why = Diagnostic::error(NO_REPLAY, "there is no trace of a rank among the files".to_owned());
        traces.diagnostics.push(why.hint("traces are called `NAME.RANK.et` or `NAME.RANK.json`"));
    }
    if failed || traces.recording.traces.is_empty() {
        return Err(Failure::because(Exit::BadInput, "read the traces", traces.diagnostics, traces.sources));
    }
    Ok(traces)
}

impl Traces {
    /// The only trace becomes that of each of so many ranks.
    fn repeat(&mut self, ranks: u32) {
        let mut all = std::mem::take(&mut self.recording.traces).into_values();
        let (Some(trace), rest) = (all.next(), all.len()) else { return };
        let nodes = trace.nodes.len().saturating_mul(usize::try_from(ranks).unwrap_or(usize::MAX));
        let why = if rest > 0 {
            format!("`--ranks` repeats one trace, but there are {}", rest + 1)
        } else if nodes > NODES_MAX {
            format!("{ranks} ranks of {} nodes are more than {NODES_MAX} nodes", trace.nodes.len())
        } else {
            self.recording.traces = (0..ranks).map(|rank| (rank, trace.clone())).collect();
            return;
        };
        self.recording.traces.insert(0, trace);
        let hint = "give the trace of one rank, or those of all ranks without `--ranks`";
        self.diagnostics.push(Diagnostic::error(NO_REPLAY, why).hint(hint));
    }

    fn take(&mut self, given: Given) {
        let source = given.source;
        if source.origin == Origin::Argument {
            let why = Diagnostic::error(FILE_UNREADABLE, format!("there is no file `{}`", source.name));
            self.diagnostics.push(why.hint("the machine is named with `--on`"));
            return;
        }
        let has_nodes = ["\"id\"", "\"Id\""].iter().any(|key| source.text.contains(key));
        if source.bytes.is_empty()
            && !has_nodes
            && let Some(groups) = rank_groups(&source.text)
        {
            self.recording.groups.extend(groups);
            return;
        }
        match rank_of(&source.name) {
            Some(rank) => self.trace(rank, source),
            None if given.from_folder => {
                let message = format!("{} was left out: its name has no rank", source.name);
                self.diagnostics.push(Diagnostic::note(NO_REPLAY, message));
            }
            None => {
                let message = format!("the name of {} does not say of which rank it is", source.name);
                let why = Diagnostic::error(NO_REPLAY, message).at(Place::new(source.name.clone(), 1, 1, 0));
                self.diagnostics
                    .push(why.hint("call it `NAME.RANK.et` or `NAME.RANK.json`, such as `step.0.et`"));
            }
        }
    }

    fn trace(&mut self, rank: u32, source: Source) {
        if let Some(other) = self.recording.traces.get(&rank) {
            let message = format!("{} and {} are both of rank {rank}", other.file, source.name);
            let why = Diagnostic::error(NO_REPLAY, message).at(Place::new(source.name, 1, 1, 0));
            self.diagnostics.push(why.hint("give the traces of one run"));
            return;
        }
        let bytes = if source.bytes.is_empty() { source.text.as_bytes() } else { &source.bytes };
        let (trace, found) = execution_trace(&source.name, bytes);
        self.diagnostics.extend(found);
        self.recording.traces.insert(rank, trace);
        // Findings show lines of text only.
        if source.bytes.is_empty() {
            self.sources.push(source);
        }
    }
}

/// The number before the ending: 3 of `step.3.et`, `step.3.et.json` and `step.3.json`.
fn rank_of(name: &str) -> Option<u32> {
    let last = Path::new(name).file_name()?.to_str()?;
    let last = last.strip_suffix(".json").unwrap_or(last);
    let last = last.strip_suffix(".et").unwrap_or(last);
    last.rsplit_once('.').map_or(last, |(_, rank)| rank).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::rank_of;

    #[test]
    fn ranks_stand_before_the_ending() {
        for (name, rank) in [
            ("step.3.et", Some(3)),
            ("a/b.c.12.json", Some(12)),
            ("x.0.et.json", Some(0)),
            ("7.et", Some(7)),
            ("step.et", None),
            ("groups.json", None),
        ] {
            assert_eq!(rank_of(name), rank, "{name}");
        }
    }
}
