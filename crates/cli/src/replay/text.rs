//! A replayed step for a reader: where it goes, by rank and by group.

use std::fmt::Write as _;

use weft_base::Bytes;
use weft_predictor::replay::{CriticalTime, GroupTime, RankTime, ReplayLane};

use super::Shown;
use crate::style::{Tone, heading};
use crate::table::{Cell, Table};
use crate::train::{breakdown, span};

/// Ranks of which each has a row; of more the first.
const RANKS_MAX: usize = 16;

/// Parts of the critical path that have a row: the longest.
const CRITICAL_MAX: usize = 12;

/// The whole answer.
pub fn text(shown: &Shown<'_>) -> String {
    let replayed = shown.replayed;
    let ranks = replayed.ranks.len();
    let mut head = format!("{} on {}\n", heading(format!("A step of {ranks} ranks")), shown.machine);
    let _ = write!(head, "  {} from the first node to the last", span(replayed.step_s));
    if (shown.compute_scale - 1.0).abs() > f64::EPSILON {
        let _ = write!(head, ", computing taken {} times as long", shown.compute_scale);
    }
    head.push('\n');
    if let Some(slowest) = replayed.slowest_rank {
        let waited =
            replayed.ranks.iter().find(|rank| rank.rank == slowest).map_or(0.0, |rank| rank.waited_for_s);
        let _ =
            writeln!(head, "  rank {slowest} is waited for longest: {} of all ranks together", span(waited));
    }
    let sections = [
        head,
        mean(&replayed.ranks),
        critical(&replayed.critical, replayed.step_s),
        groups(&replayed.groups),
        by_rank(&replayed.ranks),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The mean of all ranks.
fn mean(ranks: &[RankTime]) -> String {
    #[expect(clippy::cast_precision_loss, reason = "ranks are few")]
    let count = ranks.len().max(1) as f64;
    let mean = |part: fn(&RankTime) -> f64| ranks.iter().map(part).sum::<f64>() / count;
    let parts = [
        ("computing", mean(|rank| rank.compute_s)),
        ("communication that nothing hides", mean(|rank| rank.exposed_s)),
        ("waiting for other ranks", mean(|rank| rank.waiting_s)),
        ("idle", mean(|rank| rank.idle_s)),
    ];
    breakdown("Where the time goes, mean of all ranks", &parts)
}

/// What the end of the step waits for.
fn critical(parts: &[CriticalTime], step_s: f64) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    let head = ["", "nodes", "time", "share"].map(|word| Cell::number(word).tone(Tone::Faint));
    table.row(head.into_iter().chain([Cell::new("longest").tone(Tone::Faint)]));
    for part in parts.iter().take(CRITICAL_MAX) {
        let longest = &part.longest;
        table.row([
            Cell::new(what(part)),
            Cell::number(part.nodes_count.to_string()),
            Cell::number(span(part.seconds)),
            Cell::number(format!("{:.1} %", 100.0 * part.seconds / step_s)),
            Cell::new(format!(
                "{} of node {} on rank {}",
                span(longest.to_s - longest.from_s),
                longest.node_number,
                longest.rank
            )),
        ]);
    }
    format!("{}\n{}", heading("Critical path: what the end of the step waits for"), table.lines())
}

fn what(part: &CriticalTime) -> String {
    let lane = match part.lane {
        ReplayLane::Compute => "computing",
        ReplayLane::Memory => "memory",
        ReplayLane::Host => "host",
        ReplayLane::Communication => "communication",
    };
    match (part.operation, &part.group) {
        (Some(operation), Some(group)) => format!("{operation}, {group}"),
        (Some(_), None) => "messages".to_owned(),
        (None, _) => lane.to_owned(),
    }
}

fn groups(groups: &[GroupTime]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    let head = ["group", "ranks", "operations", "data", "time", "hidden", "not hidden", "by sharing"];
    let (name, numbers) = (Cell::new(head[0]), head[1..].iter().map(|word| Cell::number(*word)));
    table.row([name].into_iter().chain(numbers).map(|cell| cell.tone(Tone::Faint)));
    for group in groups {
        table.row([
            Cell::new(group.name.as_deref().unwrap_or("messages")),
            Cell::number(group.ranks.len().to_string()),
            Cell::number(group.operations_count.to_string()),
            Cell::number(Bytes::new(group.bytes).to_string()),
            Cell::number(span(group.seconds)),
            Cell::number(span(group.hidden_s)),
            Cell::number(span(group.exposed_s)),
            Cell::number(span(group.shared_s)),
        ]);
    }
    format!("{}\n{}", heading("Communication"), table.lines())
}

fn by_rank(ranks: &[RankTime]) -> String {
    let mut table = Table::default();
    let head = ["rank", "computing", "not hidden", "waiting", "idle", "waited for"];
    table.row(head.map(|word| Cell::number(word).tone(Tone::Faint)));
    for rank in ranks.iter().take(RANKS_MAX) {
        let parts = [rank.compute_s, rank.exposed_s, rank.waiting_s, rank.idle_s, rank.waited_for_s];
        let parts = parts.map(|seconds| Cell::number(span(seconds)));
        table.row([Cell::number(rank.rank.to_string())].into_iter().chain(parts));
    }
    let more = ranks.len().saturating_sub(RANKS_MAX);
    let more =
        if more > 0 { format!("  {more} more ranks; `--format json` has all\n") } else { String::new() };
    format!("{}\n{}{more}", heading("Ranks"), table.lines())
}
