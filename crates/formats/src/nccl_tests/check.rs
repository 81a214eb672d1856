//! What the figures themselves say: the collective, the number of ranks, and whether they can be right.

use std::collections::BTreeSet;

use weft_base::{Diagnostic, Place};
use weft_collective::Collective;

use super::row::element_bytes;
use super::run::Run;
use crate::evidence::{Benchmark, BenchmarkRow};
use crate::format::Part;
use crate::measured_codes as codes;

/// Half of the last digit that the tools print of a rate.
const ROUNDING_GBPS: f64 = 0.005_1;
/// The tools print four to five digits of a time.
const TIME_ROUNDING_SHARE: f64 = 0.005;
/// Rates below this are mostly rounding.
const TELLING_GBPS: f64 = 0.1;

/// Where line `number` of `part` begins.
pub(super) fn at_line(part: &Part<'_>, number: u32) -> Place {
    match part.lines.binary_search_by_key(&number, |line| line.number) {
        Ok(index) => part.start_at(index),
        Err(_) => part.start(),
    }
}

/// Completes the tables and says what is odd about them.
pub(super) fn all(runs: &mut [Run], part: &Part<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut inferred: Vec<(String, u32, usize)> = Vec::new();
    let mut alone: Vec<u32> = Vec::new();
    for run in runs.iter_mut() {
        found.extend(cut(run).map(|(finding, line)| finding.at(at_line(part, line))));
        run.table.rank_count = listed(&run.table);
        let apart = separate(&run.table).map(|(finding, line)| finding.at(at_line(part, line)));
        let is_apart = apart.is_some();
        found.extend(apart);
        if run.table.collective.is_none() {
            if let Some(message) = infer(run) {
                match inferred.iter_mut().find(|(known, ..)| *known == message) {
                    Some((.., times)) => *times += 1,
                    None => inferred.push((message, run.table.line, 1)),
                }
            }
        } else if run.table.rank_count.is_none() {
            run.table.rank_count = counted(&run.table);
        }
        found.extend(rates(&run.table).map(|(finding, line)| finding.at(at_line(part, line))));
        found.extend(factors(&run.table).map(|(finding, line)| finding.at(at_line(part, line))));
        if run.table.rank_count == Some(1) && !is_apart {
            alone.push(run.table.line);
        }
    }
    for (message, line, times) in inferred {
        let more = if times > 1 { format!("; so it is with {times} tables") } else { String::new() };
        let finding = Diagnostic::note(codes::COLLECTIVE_INFERRED, message + &more);
        found.push(finding.at(at_line(part, line)));
    }
    found.extend(one_rank(&alone).map(|finding| finding.at(at_line(part, alone[0]))));
    found
}

/// Rows that end early; the last row of a run that hung has only its first half.
fn cut(run: &mut Run) -> Option<(Diagnostic, u32)> {
    let lines: BTreeSet<u32> = run.table.rows.iter().filter(|row| row.in_place).map(|row| row.line).collect();
    if let Some(last) = run.table.rows.last().filter(|row| !lines.is_empty() && !row.in_place) {
        let is_tail = lines.iter().next_back().is_some_and(|line| *line > last.line);
        if !is_tail && !run.cut.contains(&last.line) {
            run.cut.push(last.line);
        }
    }
    let first = *run.cut.first()?;
    let message = match run.cut.len() {
        1 => "this row ends early; what stands in it is used".to_owned(),
        count => format!("this row ends early, as {} more do; what stands in them is used", count - 1),
    };
    let hint = "the run hung or the paste was cut here, or another process wrote into the line";
    Some((Diagnostic::warning(codes::BENCHMARK_ROW_CUT, message).hint(hint), first))
}

/// How many ranks the list names; of separate jobs, how many each of them has.
fn listed(table: &Benchmark) -> Option<usize> {
    let ranks: BTreeSet<u32> = table.ranks.iter().map(|rank| rank.rank).collect();
    let last = usize::try_from(*ranks.last()?).ok()?;
    // A list that was cut in the middle still names its last rank.
    Some(if last < table.ranks.len().saturating_mul(1024) { last + 1 } else { ranks.len() })
}

/// A rank that is listed several times, of different processes: the program was built without MPI.
fn separate(table: &Benchmark) -> Option<(Diagnostic, u32)> {
    let first = table.ranks.first()?;
    let again =
        table.ranks.iter().skip(1).find(|rank| rank.rank == first.rank && rank.process != first.process)?;
    let times = table.ranks.iter().filter(|rank| rank.rank == first.rank).count();
    let message = format!(
        "rank {} is listed {times} times: these are {times} jobs that ran side by side, not one job of many ranks",
        first.rank
    );
    let hint =
        "the program was built without MPI: `make MPI=1 MPI_HOME=…`; its figures say nothing of the network";
    Some((Diagnostic::warning(codes::RANKS_SEPARATE, message).hint(hint), again.line))
}

fn one_rank(lines: &[u32]) -> Option<Diagnostic> {
    let message = match lines.len() {
        0 => return None,
        1 => "only one rank ran: busbw is 0 by its formula, and nothing was sent".to_owned(),
        count => {
            format!("{count} tables are of one rank each: busbw is 0 by its formula, and nothing was sent")
        }
    };
    let hint =
        "run it on several GPUs: `-g 8` on one host, or one process per GPU and a program built with MPI=1";
    Some(Diagnostic::warning(codes::RANK_ALONE, message).hint(hint))
}

/// busbw / algbw of a collective over `ranks` ranks; `None` for one that is not known.
fn factor(collective: &str, ranks: usize) -> Option<f64> {
    if let Some(collective) = Collective::from_name(collective) {
        return Some(collective.bus_factor(ranks));
    }
    match collective {
        "reduce" => Some(Collective::Broadcast.bus_factor(ranks)),
        // Everyone keeps its own part of what it is sent or sends.
        "all-to-all" | "gather" | "scatter" | "hypercube" => Some(Collective::AllGather.bus_factor(ranks)),
        _ => None,
    }
}

/// Bounds of busbw / algbw by the row with the largest rate.
fn ratio(table: &Benchmark) -> Option<(f64, f64)> {
    let row = table.rows.iter().filter(|row| row.algbw.is_some()).max_by_key(|row| row.algbw)?;
    let (algbw, busbw) = (row.algbw?.as_gigabytes(), row.busbw?.as_gigabytes());
    (algbw > TELLING_GBPS).then(|| {
        ((busbw - ROUNDING_GBPS) / (algbw + ROUNDING_GBPS), (busbw + ROUNDING_GBPS) / (algbw - ROUNDING_GBPS))
    })
}

/// The only number of ranks for which busbw / algbw of an all-reduce lies within `bounds`.
fn ranks_of_all_reduce((low, high): (f64, f64)) -> Option<usize> {
    let fits = |ranks: &usize| (low..=high).contains(&Collective::AllReduce.bus_factor(*ranks));
    let mut found = (1..=2048).filter(fits);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The number of ranks of a named collective whose list is missing.
fn counted(table: &Benchmark) -> Option<usize> {
    let parts = parts(table);
    match table.collective.as_deref()? {
        "all-reduce" => ranks_of_all_reduce(ratio(table)?),
        "all-gather" | "reduce-scatter" | "all-to-all" | "gather" | "scatter" => parts,
        _ => None,
    }
}

/// How many times the elements of one rank are in the size: the ranks, for collectives that count so.
fn parts(table: &Benchmark) -> Option<usize> {
    let row = table
        .rows
        .iter()
        .rev()
        .find(|row| row.bytes.get() > 0 && row.count.is_some_and(|count| count > 0))?;
    let one = row.count?.checked_mul(element_bytes(row.dtype.as_deref()?)?)?;
    let bytes = usize::try_from(row.bytes.get()).ok()?;
    (bytes % one == 0).then_some(bytes / one)
}

/// Whether results were checked out of place only: of collectives that cannot run in place.
fn is_in_place_unchecked(table: &Benchmark) -> bool {
    let all = |in_place: bool, wanted: bool| {
        let mut checks =
            table.rows.iter().filter(|row| row.in_place == in_place).filter_map(|row| row.check.as_deref());
        checks.clone().next().is_some() && checks.all(|check| (check == "N/A") == wanted)
    };
    all(true, true) && all(false, false)
}

/// Tells the collective, and from that the number of ranks if no list says it; why, for the user.
fn infer(run: &mut Run) -> Option<String> {
    let (has_redop_column, is_redop_blank) =
        (run.columns.as_ref().is_some_and(|columns| columns.has_redop), run.is_redop_blank);
    let table = &mut run.table;
    let row: &BenchmarkRow = table.rows.first()?;
    let parts = parts(table)?;
    let bounds = ratio(table);
    let is_one = |(low, high): (f64, f64)| (low..=high).contains(&1.0);
    let collective = match (row.redop.is_some(), row.root.is_some(), parts > 1) {
        (true, true, _) => "reduce",
        (true, false, true) => "reduce-scatter",
        (true, false, false) if is_in_place_unchecked(table) && bounds.is_none_or(is_one) => "send-recv",
        (true, false, false) => "all-reduce",
        (false, true, false) => "broadcast",
        (false, false, true) if is_redop_blank || is_in_place_unchecked(table) => "all-to-all",
        (false, false, true)
            if !has_redop_column || table.rows.iter().any(|row| row.check.as_deref() == Some("0")) =>
        {
            "all-gather"
        }
        // Whole messages without a sum or a root, whose rate is that of the bus.
        (false, false, false) if bounds.is_some_and(is_one) => "send-recv",
        (false, true, true) | (false, false, _) => return None,
    };
    let ranks = table.rank_count.or(if parts > 1 { Some(parts) } else { None });
    let ranks = match (ranks, collective) {
        (None, "all-reduce") => bounds.and_then(ranks_of_all_reduce),
        (known, _) => known,
    };
    if let Some(((low, high), factor)) = bounds.zip(ranks.and_then(|ranks| factor(collective, ranks))) {
        if !(low..=high).contains(&factor) {
            return None;
        }
    }
    table.collective = Some(collective.to_owned());
    table.is_inferred = true;
    let is_listed = table.rank_count.is_some();
    table.rank_count = ranks;
    let by = match (bounds, ranks) {
        (Some((low, high)), Some(ranks)) if is_listed => {
            format!("its columns and busbw / algbw = {:.3} over {ranks} ranks", f64::midpoint(low, high))
        }
        (_, Some(ranks)) if !is_listed => format!("its columns and figures, over {ranks} ranks"),
        _ => "its columns".to_owned(),
    };
    Some(format!("the table does not name its collective; by {by} it is {collective}"))
}

/// Rows whose algbw is not size by time.
fn rates(table: &Benchmark) -> Option<(Diagnostic, u32)> {
    let expected = |row: &BenchmarkRow| {
        let seconds = row.time.map(weft_base::Span::as_seconds).filter(|seconds| *seconds > 0.0)?;
        Some(row.bytes.as_f64() / seconds / 1e9)
    };
    let is_odd = |row: &&BenchmarkRow| {
        let Some((expected, found)) = expected(row).zip(row.algbw) else { return false };
        (found.as_gigabytes() - expected).abs() > ROUNDING_GBPS + expected * TIME_ROUNDING_SHARE
    };
    let odd: Vec<&BenchmarkRow> = table.rows.iter().filter(is_odd).collect();
    let first = odd.first()?;
    let message = format!(
        "algbw is {:.2} GB/s, but {} in {} are {:.2} GB/s{}",
        first.algbw?.as_gigabytes(),
        first.bytes,
        first.time?,
        expected(first)?,
        others(odd.len())
    );
    let hint = "a column was moved or a figure mistyped: compare with the original output";
    Some((Diagnostic::warning(codes::BENCHMARK_RATE, message).hint(hint), first.line))
}

/// Rows whose busbw is not that of their collective.
fn factors(table: &Benchmark) -> Option<(Diagnostic, u32)> {
    let ranks = table.rank_count.filter(|ranks| *ranks > 1)?;
    let name = table.collective.as_deref()?;
    let factor = factor(name, ranks)?;
    let is_odd = |row: &&BenchmarkRow| {
        let Some((algbw, busbw)) = row.algbw.zip(row.busbw) else { return false };
        let (algbw, busbw) = (algbw.as_gigabytes(), busbw.as_gigabytes());
        algbw > TELLING_GBPS
            && (busbw - algbw * factor).abs() > ROUNDING_GBPS * (1.0 + factor) + busbw * 0.001
    };
    let odd: Vec<&BenchmarkRow> = table.rows.iter().filter(is_odd).collect();
    let first = odd.iter().max_by_key(|row| row.algbw)?;
    let message = format!(
        "busbw is {:.3} times algbw, but of {name} over {ranks} ranks it is {factor:.3} times{}",
        first.busbw?.as_gigabytes() / first.algbw?.as_gigabytes(),
        others(odd.len())
    );
    let hint = match ratio(table).and_then(ranks_of_all_reduce) {
        Some(fits) if name == "all-reduce" => {
            format!("it fits {fits} ranks: the list of ranks is of another run")
        }
        Some(_) | None => "the figures are of another collective, or of another number of ranks".to_owned(),
    };
    Some((Diagnostic::warning(codes::BENCHMARK_FACTOR, message).hint(hint), first.line))
}

fn others(count: usize) -> String {
    if count > 1 { format!("; so it is with {count} rows") } else { String::new() }
}
