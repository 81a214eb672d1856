use weft_base::Diagnostic;

use super::{Mark, verdicts};
use crate::evidence::{Evidence, PairDevice, PairTable};
use crate::format::{Line, Located, Part, Read};
use crate::measured_codes as codes;
use crate::measured_grid::{Grid, GridLine, Unit, grid_line};
use crate::ranges;

/// Words in the names of CPUs; the tool numbers them among the GPUs, before these.
const CPU_WORDS: [&str; 7] = ["EPYC", "Xeon", "Processor", "CPU", "Ryzen", "Core(TM)", "Threadripper"];

/// What a line of figures belongs to.
#[derive(Debug)]
enum Open {
    None,
    /// Its title, its line and its figures.
    Rates(Unit, String, usize, Grid),
    Validation(Vec<String>),
    Other,
}

/// A run while its lines come in.
#[derive(Debug)]
struct Run {
    /// Number and name of each device, and the PCI address of GPUs.
    devices: Vec<(String, String, Option<String>)>,
    open: Open,
    tables: Vec<(PairTable, usize)>,
    /// The first pair between which data did not arrive as sent, its line, and how many pairs there are.
    wrong: Option<(String, String, usize, usize)>,
}

impl Default for Run {
    fn default() -> Self {
        Self { devices: Vec::new(), open: Open::None, tables: Vec::new(), wrong: None }
    }
}

pub(super) fn read(part: &Part<'_>) -> Read {
    let (mut read, mut used, mut run) = (Read::default(), Vec::new(), Run::default());
    for (index, line) in part.lines.iter().enumerate() {
        let Some(mark) = Mark::of(&line.text) else {
            if run.take(line, index) {
                used.push(index);
            }
            continue;
        };
        used.push(index);
        run.close(part, &mut read.diagnostics);
        match mark {
            Mark::Begin => std::mem::take(&mut run).finish(part, &mut read),
            Mark::Device(text) => run.devices.extend(device(text)),
            Mark::Title(unit, title) => {
                run.open = Open::Rates(unit, title.to_owned(), index, Grid::default());
            }
            Mark::Validation => run.open = Open::Validation(Vec::new()),
            Mark::Other => run.open = Open::Other,
            Mark::Note => {}
        }
    }
    run.close(part, &mut read.diagnostics);
    run.finish(part, &mut read);
    ranges::sort(&mut read.diagnostics);
    read.unused = ranges::unused(&part.lines, &used);
    read
}

/// `2,  Arcturus GL-XL [Instinct MI100],  GPU-3a1f5c2200000000,  27:0.0`: number, name and address.
fn device(text: &str) -> Option<(String, String, Option<String>)> {
    let mut parts = text.split(',').map(str::trim);
    let number = parts.next().filter(|number| number.parse::<u16>().is_ok())?;
    let name = parts.next()?;
    let is_address = |part: &&str| part.contains(':') && part.contains('.');
    Some((number.to_owned(), name.to_owned(), parts.find(is_address).map(str::to_owned)))
}

fn is_cpu(name: &str) -> bool {
    CPU_WORDS.iter().any(|word| name.contains(word))
}

impl Run {
    /// Whether the line is one of the open matrix.
    fn take(&mut self, line: &Line<'_>, index: usize) -> bool {
        let found = grid_line(&line.text, false);
        match (&mut self.open, found) {
            (Open::None, _) => false,
            (Open::Rates(_, _, _, grid), Some(GridLine::Header(_, columns))) => {
                grid.header(&columns);
                true
            }
            (Open::Rates(unit, _, _, grid), Some(GridLine::Row(label, figures))) => {
                grid.row(label, &figures, *unit, line, index);
                true
            }
            (Open::Validation(columns), Some(GridLine::Header(_, names))) => {
                *columns = names.into_iter().map(str::to_owned).collect();
                true
            }
            (Open::Validation(columns), _) => {
                let Some((row, words)) = verdicts(&line.text) else { return false };
                let failed = columns.iter().zip(&words).filter(|(_, word)| **word == "FAIL");
                for (column, _) in failed {
                    let (_, _, _, count) =
                        self.wrong.get_or_insert_with(|| (row.to_owned(), column.clone(), index, 0));
                    *count += 1;
                }
                true
            }
            (Open::Other, found) => found.is_some(),
            (Open::Rates(..), None) => false,
        }
    }

    /// What the tool numbers by itself, by kind: `GPU0` is the first GPU.
    fn named(&self, number: &str) -> String {
        let Some(at) = self.devices.iter().position(|(own, ..)| own == number) else {
            return format!("device {number}");
        };
        let kind = is_cpu(&self.devices[at].1);
        let before = self.devices[..at].iter().filter(|(_, name, _)| is_cpu(name) == kind).count();
        format!("{}{before}", if kind { "CPU" } else { "GPU" })
    }

    fn close(&mut self, part: &Part<'_>, diagnostics: &mut Vec<Diagnostic>) {
        let Open::Rates(unit, title, index, grid) = std::mem::replace(&mut self.open, Open::None) else {
            return;
        };
        let kind = (unit == Unit::Gigabytes).then_some("device ");
        diagnostics.extend(grid.damage(part, index, kind));
        let names =
            |numbers: &[String]| -> Vec<String> { numbers.iter().map(|number| self.named(number)).collect() };
        let table = PairTable {
            format: "rocm-bandwidth-test",
            both_directions: title.starts_with("Bidirectional"),
            rows: names(&grid.rows),
            columns: names(&grid.columns),
            cells: grid.cells,
            title,
            line: part.lines.get(index).map_or(1, |line| line.number),
            ..PairTable::default()
        };
        self.tables.push((table, index));
    }

    fn finish(self, part: &Part<'_>, read: &mut Read) {
        if let Some((row, column, index, count)) = &self.wrong {
            let more =
                if *count > 1 { format!(", and between {} more pairs", count - 1) } else { String::new() };
            let (from, to) = (self.named(row), self.named(column));
            let message = format!("data from {from} to {to} did not arrive as sent{more}");
            let hint = "wrong data after a copy point to the link: a riser, a slot, or an IOMMU between them";
            let finding = Diagnostic::warning(codes::TEST_FAILED, message).hint(hint);
            read.diagnostics.push(finding.at(part.start_at(*index)));
        }
        let gpus = self.devices.iter().filter(|(_, name, _)| !is_cpu(name));
        let devices: Vec<PairDevice> = (0..)
            .zip(gpus)
            .map(|(number, (_, model, bus))| PairDevice {
                number,
                model: model.clone(),
                bus: bus.clone(),
                host: None,
            })
            .collect();
        let mut tables = self.tables;
        if tables.is_empty() && !devices.is_empty() {
            tables.push((PairTable { format: "rocm-bandwidth-test", line: 1, ..PairTable::default() }, 0));
        }
        for (table, index) in tables {
            let table = PairTable { devices: devices.clone(), ..table };
            let place = part.start_at(index);
            read.evidence.push(Located { value: Evidence::Pairs(Box::new(table)), place });
        }
    }
}
