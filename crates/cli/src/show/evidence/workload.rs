//! What a training step did: nodes by kind, collectives, times.

use weft_base::Place;
use weft_formats::Workload;

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Collectives that are shown; the rest is counted.
const COLLECTIVES_MAX: usize = 20;

/// Counts and times of a trace.
pub fn section(workload: &Workload, place: &Place) -> String {
    let mut table = Table::default();
    let mut row = |name: &str, text: String| {
        table.row([Cell::new(name).tone(Tone::Faint), Cell::new(text).wide()]);
    };
    for own in &workload.counts {
        row(own.kind.word(), format!("{} nodes, {} in all", own.count, own.time));
    }
    row("dependencies", workload.dependencies.to_string());
    row("compute", format!("{} on accelerators, {} on the CPU", workload.compute_time, workload.host_time));
    row("communication", workload.communication_time.to_string());
    if !workload.groups.is_empty() {
        row("groups", workload.groups.join(", "));
    }
    for own in workload.collectives.iter().take(COLLECTIVES_MAX) {
        let bytes = own.bytes.map_or_else(|| "of unknown size".to_owned(), |bytes| format!("of {bytes}"));
        let group = own.group.as_ref().map_or_else(String::new, |group| format!(" in {group}"));
        row(
            own.kind.as_deref().unwrap_or("collective"),
            format!("{} {bytes}{group}, {} in all", own.count, own.time),
        );
    }
    let left = workload.collectives.len().saturating_sub(COLLECTIVES_MAX);
    if left > 0 {
        row("and", format!("{left} other sizes or groups"));
    }
    let version =
        if workload.version.is_empty() { String::new() } else { format!(", version {}", workload.version) };
    titled(&format!("{}: execution trace {}{version}", workload.format, place.file), &table.lines())
}
