//! Lines put together: each run of a program makes one table.

use std::collections::BTreeMap;

use weft_base::Rate;

use super::line::{Kind, collective, kind};
use super::row::{Columns, Row, number, of_tail};
use crate::evidence::{Benchmark, BenchmarkRank, BenchmarkRow};
use crate::format::{Line, Part};
use crate::prefix::body;

/// One run, while its lines come in.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub table: Benchmark,
    pub columns: Option<Columns>,
    /// Whether each half is in place, as the line above the header says.
    halves: Vec<bool>,
    /// Lines of rows that end early, or into which another process wrote.
    pub cut: Vec<u32>,
    /// The row of which only the first half came.
    torn: Option<BenchmarkRow>,
    /// Whether the column for the operation is there, but empty, as in old versions for all-to-all.
    pub is_redop_blank: bool,
    /// Whether its end was seen.
    is_over: bool,
    /// Lines with figures.
    pub lines: usize,
}

/// The runs of `part` in the order of their first lines, and the indices of lines that were used.
pub(super) fn runs(part: &Part<'_>) -> (Vec<Run>, Vec<usize>) {
    let mut all = Runs::default();
    let mut used = Vec::new();
    for (index, line) in part.lines.iter().enumerate() {
        let is_used = match kind(&line.text) {
            Some((body, kind)) => all.take(body.label, kind, line),
            None => false,
        };
        if is_used {
            used.push(index);
        }
    }
    let mut runs = all.all;
    runs.retain(|run| run.columns.is_some() || run.lines > 0 || !run.table.ranks.is_empty() || run.is_over);
    (runs, used)
}

#[derive(Debug, Default)]
struct Runs<'a> {
    all: Vec<Run>,
    /// The open run of each process; programs that were started apart print into one log.
    open: BTreeMap<&'a str, usize>,
    /// The program that a command line named, until a run takes it.
    program: Option<&'static str>,
}

impl<'a> Runs<'a> {
    /// Whether the line was used.
    fn take(&mut self, label: &'a str, kind: Kind<'a>, line: &Line<'_>) -> bool {
        let begins = matches!(
            kind,
            Kind::Version(_)
                | Kind::Starting(_)
                | Kind::Parameters
                | Kind::Using
                | Kind::Rank(_)
                | Kind::Halves(_)
        ) || matches!(kind, Kind::Header(_));
        if let Kind::Program(program) = kind {
            self.program = Some(program);
            return true;
        }
        let at = self.run_of(label, begins, line.number);
        let Some(run) = self.all.get_mut(at) else { return false };
        if run.table.program.is_none() && begins {
            run.table.program = self.program.take().map(str::to_owned);
        }
        run.take(kind, line)
    }

    /// The index of the run that a line of `label` belongs to; a new one where the open one is over.
    fn run_of(&mut self, label: &'a str, begins: bool, line: u32) -> usize {
        let open = self.open.get(label).copied();
        let last = self.all.len().checked_sub(1);
        let known = match open {
            Some(at) if begins && self.all[at].has_figures() => None,
            Some(at) => Some(at),
            // A row whose prefix is other than that of its header, as where the first line was copied alone.
            None if !begins => last,
            None => None,
        };
        let at = known.unwrap_or_else(|| {
            self.all.push(Run { table: Benchmark { line, ..Benchmark::default() }, ..Run::default() });
            self.all.len() - 1
        });
        self.open.insert(label, at);
        at
    }
}

impl Run {
    fn has_figures(&self) -> bool {
        self.lines > 0 || self.is_over
    }

    fn take(&mut self, kind: Kind<'_>, line: &Line<'_>) -> bool {
        match kind {
            Kind::Row(row) => self.take_row(&row, line.number),
            Kind::Tail(words) => return self.take_tail(&words, line.number),
            Kind::Header(columns) => {
                self.columns = Some(columns);
                self.table.line = line.number;
            }
            Kind::Halves(halves) => self.halves = halves,
            Kind::Rank(rank) => {
                self.table.ranks.push(BenchmarkRank { line: line.number, ..rank });
            }
            Kind::Parameters => {
                let body = body(&line.text).text.trim_start_matches('#');
                // Of RCCL's programs alone the first word ends with a colon.
                if body.trim_start().starts_with("nThreads:") {
                    self.table.tool = "rccl-tests";
                }
                self.table.parameters.extend(parameters(body));
            }
            Kind::Version(text) => self.take_version(text),
            Kind::Starting(program) | Kind::Concluded(program) => {
                if !program.is_empty() {
                    self.table.program = Some(program.to_owned());
                }
            }
            Kind::Average(text) => {
                self.table.averages.extend(number(text).map(Rate::from_gigabytes));
                self.is_over = true;
            }
            Kind::OutOfBounds(text) => {
                let count: Option<usize> =
                    text.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
                self.table.wrong_count = count.or(self.table.wrong_count);
            }
            Kind::Units | Kind::Using | Kind::Remark | Kind::Bare | Kind::Program(_) => {}
        }
        true
    }

    fn take_version(&mut self, text: &str) {
        if text.starts_with("rccl") {
            self.table.tool = "rccl-tests";
        }
        let mut words = text
            .split_ascii_whitespace()
            .skip_while(|word| !word.to_ascii_lowercase().starts_with("version"));
        words.next();
        self.table.version = words.next().map(str::to_owned);
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            self.table.parameters.push((name.to_owned(), value.to_owned()));
        }
    }

    fn take_row(&mut self, row: &Row<'_>, line: u32) {
        let columns = self.columns.get_or_insert_with(|| Columns::usual(row.shows_root()));
        self.is_redop_blank |= columns.has_redop && row.redop.is_none();
        let (halves, is_cut) = row.halves(columns, &self.halves, line);
        if is_cut {
            self.cut.push(line);
        }
        self.torn = if row.is_torn { halves.first().filter(|_| halves.len() == 1).cloned() } else { None };
        self.lines += 1;
        self.table.rows.extend(halves);
    }

    /// The half that a log line kept apart from its row.
    fn take_tail(&mut self, words: &[&str], line: u32) -> bool {
        let Some((head, columns)) = self.torn.take().zip(self.columns.as_ref()) else { return false };
        let row = of_tail(&head, words, columns).map(|row| BenchmarkRow { line, ..row });
        self.table.rows.extend(row);
        true
    }
}

/// `step: 2(factor) warmup iters: 5 graph: 0` to names and values: a value has a digit or follows a colon.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut name: Vec<&str> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let follows_colon = name.last().is_some_and(|last| last.ends_with(':'));
        if follows_colon || (!name.is_empty() && word.starts_with(|c: char| c.is_ascii_digit())) {
            found.push((name.join(" ").trim_end_matches(':').to_owned(), word.to_owned()));
            name.clear();
        } else {
            name.push(word);
        }
    }
    found
}

/// Runs of one size each that follow each other, put into one table; and each table's names.
pub(super) fn joined(runs: Vec<Run>) -> Vec<Run> {
    let mut found: Vec<Run> = Vec::new();
    for mut run in runs {
        finish(&mut run);
        match found.last_mut() {
            Some(last) if continues(last, &run) => {
                last.table.rows.append(&mut run.table.rows);
                last.table.averages.append(&mut run.table.averages);
                last.table.wrong_count = match (last.table.wrong_count, run.table.wrong_count) {
                    (Some(a), Some(b)) => Some(a + b),
                    (one, other) => one.or(other),
                };
                last.cut.append(&mut run.cut);
                last.lines += run.lines;
            }
            Some(_) | None => found.push(run),
        }
    }
    for run in &mut found {
        if run.table.averages.len() > 1 {
            run.table.parameters.retain(|(name, _)| !matches!(name.as_str(), "minBytes" | "maxBytes"));
        }
    }
    found
}

fn finish(run: &mut Run) {
    let table = &mut run.table;
    table.collective = table.program.as_deref().and_then(collective).map(str::to_owned);
    let is_amd = |gpu: &str| ["AMD", "Instinct", "gfx"].iter().any(|mark| gpu.contains(mark));
    if table.ranks.iter().filter_map(|rank| rank.gpu.as_deref()).any(is_amd) {
        table.tool = "rccl-tests";
    }
    if table.tool.is_empty() {
        table.tool = "nccl-tests";
    }
}

/// Whether `next` is the same run as `last` with larger sizes, of which it has one.
fn continues(last: &Run, next: &Run) -> bool {
    let sizes = |run: &Run| run.table.rows.iter().map(|row| row.bytes).collect::<Vec<_>>();
    let (before, after) = (sizes(last), sizes(next));
    let Some((largest, first)) = before.iter().max().zip(after.first()) else { return false };
    let place = |run: &Run| {
        let ranks = run.table.ranks.iter();
        ranks
            .map(|rank| (rank.rank, rank.host.clone(), rank.device, rank.bus.clone(), rank.gpu.clone()))
            .collect::<Vec<_>>()
    };
    let settings = |run: &Run| {
        let size = |name: &str| matches!(name, "minBytes" | "maxBytes");
        run.table.parameters.iter().filter(|(name, _)| !size(name)).cloned().collect::<Vec<_>>()
    };
    first > largest
        && after.iter().all(|size| size == first)
        && last.lines == last.table.averages.len().max(1)
        && next.lines == 1
        && last.columns == next.columns
        && last.table.program == next.table.program
        && place(last) == place(next)
        && settings(last) == settings(next)
}
