use weft_base::{Diagnostic, Rate};

use super::{Mark, host_above};
use crate::evidence::{Evidence, PairDevice, PairTable};
use crate::format::{Located, Part, Read};
use crate::measured_codes as codes;
use crate::measured_grid::{Grid, GridLine, Unit, grid_line};
use crate::ranges;

/// A matrix while its lines come in.
struct Open {
    title: usize,
    text: String,
    unit: Unit,
    grid: Grid,
}

/// The runs of a part while its lines come in.
#[derive(Default)]
struct Reader {
    /// The host whose devices follow.
    host: Option<String>,
    devices: Vec<PairDevice>,
    test: Option<String>,
    open: Option<Open>,
    tables: Vec<(PairTable, usize)>,
    /// Index of the first line that tells of an error, and what it says.
    failed: Option<(usize, String)>,
    /// Index of the first line that tells of a test left out, and how many do.
    waived: Option<(usize, usize)>,
    first: usize,
    read: Read,
}

pub(super) fn read(part: &Part<'_>) -> Read {
    let mut reader = Reader::default();
    let mut used = Vec::new();
    for (index, line) in part.lines.iter().enumerate() {
        if let Some(mark) = Mark::of(&line.text) {
            reader.take(mark, part, index);
            used.push(index);
            continue;
        }
        if let Some(host) = host_above(&part.lines, index) {
            reader.host = Some(host.to_owned());
            used.push(index);
            continue;
        }
        let Some(open) = &mut reader.open else { continue };
        let due = open.grid.columns.is_empty() && open.grid.rows.is_empty();
        match grid_line(&line.text, due) {
            Some(GridLine::Header(_, columns)) => open.grid.header(&columns),
            Some(GridLine::Row(label, figures)) => open.grid.row(label, &figures, open.unit, line, index),
            None => continue,
        }
        used.push(index);
    }
    reader.finish(part);
    ranges::sort(&mut reader.read.diagnostics);
    reader.read.unused = ranges::unused(&part.lines, &used);
    reader.read
}

impl Reader {
    fn take(&mut self, mark: Mark<'_>, part: &Part<'_>, index: usize) {
        if let (Mark::Sum(test, sum), Some(open)) = (mark, &mut self.open) {
            // The sum names its test, which matters where the line above was cut off.
            self.test = Some(test.to_owned());
            let sum = Some(sum).filter(|_| open.unit == Unit::Gigabytes);
            let sum = sum.and_then(|sum| sum.parse().ok()).map(Rate::from_gigabytes);
            self.close(part, sum);
            return;
        }
        self.close(part, None);
        match mark {
            Mark::Version(_) => {
                if !self.tables.is_empty() || self.failed.is_some() {
                    self.finish(part);
                }
                (self.first, self.host) = (index, None);
            }
            Mark::Device(text, host) => {
                self.devices.extend(device(text, host.or(self.host.as_deref())));
            }
            Mark::Running(test) => self.test = Some(test.to_owned()),
            Mark::Title(text) => {
                self.open = Unit::in_title(text).map(|unit| Open {
                    title: index,
                    text: text.to_owned(),
                    unit,
                    grid: Grid::default(),
                });
            }
            Mark::Waived => {
                self.waived = Some(self.waived.map_or((index, 1), |(first, count)| (first, count + 1)));
            }
            Mark::Failed(text) => {
                self.failed.get_or_insert_with(|| (index, text.to_owned()));
            }
            Mark::Sum(..) | Mark::Note => {}
        }
    }

    fn close(&mut self, part: &Part<'_>, sum: Option<Rate>) {
        let Some(Open { title, text, mut grid, .. }) = self.open.take() else { return };
        let kinds = Kinds::of(&text);
        if kinds.row == kinds.column {
            grid.drop_empty_diagonal();
        }
        self.read.diagnostics.extend(grid.damage(
            part,
            title,
            Some(kinds.row).filter(|row| *row == kinds.column),
        ));
        let table = PairTable {
            rows: Grid::named(&grid.rows, kinds.row),
            columns: Grid::named(&grid.columns, kinds.column),
            cells: grid.cells,
            sum,
            line: part.lines.get(title).map_or(1, |line| line.number),
            ..table(text, self.test.clone())
        };
        self.tables.push((table, title));
    }

    /// Ends a run: what was said above its matrices goes into each of them.
    fn finish(&mut self, part: &Part<'_>) {
        self.close(part, None);
        if let Some((index, text)) = self.failed.take() {
            let test = self.test.as_ref().map_or_else(String::new, |test| format!(" {test}"));
            let message = format!("the test{test} ended in an error: {}", ranges::short(&text));
            let hint = "wrong data after a copy between GPUs points to ACS or an IOMMU between them";
            let finding = Diagnostic::warning(codes::TEST_FAILED, message).hint(hint);
            self.read.diagnostics.push(finding.at(part.start_at(index)));
        }
        if let Some((index, count)) = self.waived.take() {
            let message = match count {
                1 => "one test was left out: this machine cannot run it".to_owned(),
                count => format!("{count} tests were left out: this machine cannot run them"),
            };
            self.read
                .diagnostics
                .push(Diagnostic::note(codes::TEST_WAIVED, message).at(part.start_at(index)));
        }
        let mut tables = std::mem::take(&mut self.tables);
        if tables.is_empty() && !self.devices.is_empty() {
            // The devices are all that such a run tells.
            let line = part.lines.get(self.first).map_or(1, |line| line.number);
            tables.push((PairTable { line, ..table(String::new(), self.test.clone()) }, self.first));
        }
        for (table, title) in tables {
            let table = PairTable { devices: self.devices.clone(), ..table };
            self.read
                .evidence
                .push(Located { value: Evidence::Pairs(Box::new(table)), place: part.start_at(title) });
        }
        self.devices.clear();
        self.test = None;
    }
}

/// A matrix of which only the names are known.
pub(super) fn table(title: String, test: Option<String>) -> PairTable {
    PairTable {
        format: "nvbandwidth",
        // Of copies both ways the tool prints one direction's share, but for the matrices called total.
        both_directions: title.contains("Total"),
        title,
        test,
        ..PairTable::default()
    }
}

/// What the rows and the columns of a matrix are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds {
    pub row: &'static str,
    pub column: &'static str,
}

impl Kinds {
    /// From `memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)`.
    pub fn of(title: &str) -> Self {
        let kind = |mark: &str| {
            let before = title.find(mark).map_or("", |at| &title[..at]);
            if before.trim_end().ends_with("CPU") { "CPU" } else { "GPU" }
        };
        Self { row: kind("(row)"), column: kind("(column)") }
    }
}

/// `0: NVIDIA GH200 480GB (00000009:01:00)`.
pub(super) fn device(text: &str, host: Option<&str>) -> Option<PairDevice> {
    let (number, rest) = text.split_once(':')?;
    let rest = rest.trim();
    let (model, bus) = match rest.rsplit_once('(') {
        Some((model, bus)) if bus.contains(':') => (model.trim(), Some(bus.trim_end_matches(')').to_owned())),
        Some(_) | None => (rest, None),
    };
    let number = number.trim().parse().ok()?;
    Some(PairDevice { number, model: model.to_owned(), bus, host: host.map(str::to_owned) })
}
