use std::collections::BTreeSet;

use weft_base::Diagnostic;

use super::Mark;
use crate::evidence::{Evidence, Measure, PairDevice, PairTable};
use crate::format::{Located, Part, Read};
use crate::measured_codes as codes;
use crate::measured_grid::{Grid, GridLine, Unit, grid_line};
use crate::ranges;

/// Rates this close to each other are the same measurement twice.
const SAME_SHARE: f64 = 0.03;

/// What is said above the matrices of one run.
#[derive(Debug, Default)]
struct Run {
    devices: Vec<PairDevice>,
    /// Pairs of GPUs, by number, of which the first cannot access the second.
    refused: BTreeSet<(String, String)>,
    tables: Vec<(PairTable, usize)>,
}

/// A matrix while its lines come in.
struct Open {
    title: usize,
    unit: Unit,
    text: String,
    half: Option<&'static str>,
    grid: Grid,
}

pub(super) fn read(part: &Part<'_>) -> Read {
    let mut read = Read::default();
    let mut used = Vec::new();
    let mut run = Run::default();
    let mut open: Option<Open> = None;
    for (index, line) in part.lines.iter().enumerate() {
        let mark = Mark::of(&line.text);
        let begins = match mark {
            Some(Mark::Begin) => true,
            Some(Mark::Device(_) | Mark::Connectivity(_)) => !run.tables.is_empty() || open.is_some(),
            Some(Mark::Access(_) | Mark::Title(_) | Mark::Note) | None => false,
        };
        if mark.is_some() {
            close(&mut open, &mut run, part, &mut read.diagnostics);
            used.push(index);
        }
        if begins {
            finish(std::mem::take(&mut run), part, &mut read);
        }
        match mark {
            Some(Mark::Device(text)) => run.devices.extend(device(text)),
            Some(Mark::Access(text)) => run.refused.extend(refusal(text)),
            Some(Mark::Connectivity(title)) => open = Some(Open::new(index, Unit::Access, title)),
            Some(Mark::Title(title)) => {
                open = Unit::in_title(title).map(|unit| Open::new(index, unit, title));
            }
            Some(Mark::Begin | Mark::Note) => {}
            None => {
                let Some(matrix) = &mut open else { continue };
                let due = matrix.grid.rows.is_empty() && matrix.grid.columns.is_empty();
                match grid_line(&line.text, due) {
                    Some(GridLine::Header(corner, columns)) => {
                        if !due {
                            let title = matrix.title;
                            let (unit, text) = (matrix.unit, matrix.text.clone());
                            close(&mut open, &mut run, part, &mut read.diagnostics);
                            open = Some(Open::new(title, unit, &text));
                        }
                        if let Some(matrix) = &mut open {
                            matrix.half = corner.and_then(half);
                            matrix.grid.header(&columns);
                        }
                        used.push(index);
                    }
                    Some(GridLine::Row(label, figures)) => {
                        matrix.grid.row(label, &figures, matrix.unit, line, index);
                        used.push(index);
                    }
                    None => {}
                }
            }
        }
    }
    close(&mut open, &mut run, part, &mut read.diagnostics);
    finish(run, part, &mut read);
    ranges::sort(&mut read.diagnostics);
    read.unused = ranges::unused(&part.lines, &used);
    read
}

impl Open {
    fn new(title: usize, unit: Unit, text: &str) -> Self {
        Self { title, unit, text: text.to_owned(), half: None, grid: Grid::default() }
    }
}

/// Latencies are measured twice: by the GPU's clock and by the CPU's.
fn half(corner: &str) -> Option<&'static str> {
    match corner {
        "GPU" => Some("by the GPU's clock"),
        "CPU" => Some("by the CPU's clock"),
        _ => None,
    }
}

fn close(open: &mut Option<Open>, run: &mut Run, part: &Part<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(Open { title, unit, text, half, grid }) = open.take() else { return };
    diagnostics.extend(grid.damage(part, title, Some("GPU")));
    if unit == Unit::Access {
        for cell in grid.cells.iter().filter(|cell| cell.measure == Measure::Access(false)) {
            run.refused.insert((grid.rows[cell.row].clone(), grid.columns[cell.column].clone()));
        }
    }
    let table = PairTable {
        format: "p2p-bandwidth-latency-test",
        both_directions: text.starts_with("Bidirectional"),
        is_direct: if text.contains("P2P=Enabled") {
            Some(true)
        } else {
            text.contains("P2P=Disabled").then_some(false)
        },
        title: text,
        test: half.map(str::to_owned),
        rows: Grid::named(&grid.rows, "GPU"),
        columns: Grid::named(&grid.columns, "GPU"),
        cells: grid.cells,
        line: part.lines.get(title).map_or(1, |line| line.number),
        ..PairTable::default()
    };
    run.tables.push((table, title));
}

/// `0, NVIDIA GeForce RTX 4090, pciBusID: 81, pciDeviceID: 0, pciDomainID:0`.
fn device(text: &str) -> Option<PairDevice> {
    let (number, rest) = text.split_once(',')?;
    let (model, ids) = rest.split_once(", pciBusID:")?;
    let behind = |mark: &str| ids.split_once(mark).map(|(_, rest)| rest.trim());
    let bus = ids.split(',').next()?.trim();
    let domain = behind("pciDomainID:")
        .and_then(|text| text.split([',', ' ']).next())
        .filter(|domain| !domain.is_empty());
    let device = behind("pciDeviceID:").and_then(|text| text.split(',').next()).map(str::trim);
    Some(PairDevice {
        number: number.trim().parse().ok()?,
        model: model.trim().to_owned(),
        bus: Some(format!("{}:{bus}:{}", domain.unwrap_or("0"), device.unwrap_or("0"))),
        host: None,
    })
}

/// `0 CANNOT Access Peer Device=1` to (0, 1).
fn refusal(text: &str) -> Option<(String, String)> {
    let (from, rest) = text.split_once(' ')?;
    let to = rest.split_once("Device=")?.1.trim();
    rest.starts_with("CANNOT").then(|| (from.to_owned(), to.to_owned()))
}

/// Puts what was said above into each matrix, and says which figures are not what their title promises.
fn finish(mut run: Run, part: &Part<'_>, read: &mut Read) {
    let refused: BTreeSet<(String, String)> = run
        .refused
        .iter()
        .map(|(a, b)| (format!("GPU{a}"), format!("GPU{b}")))
        .filter(|(a, b)| a != b)
        .collect();
    let mut told = false;
    for at in 0..run.tables.len() {
        let (table, title) = &run.tables[at];
        if table.is_direct != Some(true) || table.cells.is_empty() {
            continue;
        }
        let pairs: Vec<(&String, &String)> =
            table.between().map(|cell| (&table.rows[cell.row], &table.columns[cell.column])).collect();
        let is_refused = |(a, b): &(&String, &String)| refused.contains(&((*a).clone(), (*b).clone()));
        let count = pairs.iter().filter(|pair| is_refused(pair)).count();
        let (is_all, place) = (count > 0 && count == pairs.len(), part.start_at(*title));
        if count > 0 && !told {
            let message = if is_all {
                "no GPU can access another directly: `P2P=Enabled` measures copies through the memory of the CPU".to_owned()
            } else {
                format!(
                    "{count} of {} pairs cannot access each other directly: under `P2P=Enabled` they are copies \
                     through the memory of the CPU",
                    pairs.len()
                )
            };
            let hint = "`nvidia-smi topo -p2p r` says why";
            read.diagnostics
                .push(Diagnostic::warning(codes::PEER_ACCESS_REFUSED, message).hint(hint).at(place.clone()));
            told = true;
        }
        if is_all {
            run.tables[at].0.is_direct = Some(false);
        } else if count == 0 && is_same_without(&run, at) {
            let message =
                "the figures are those of `P2P=Disabled`: direct access is refused, or gains nothing";
            let hint = "`nvidia-smi topo -p2p r` says whether these GPUs may access each other";
            read.diagnostics.push(Diagnostic::note(codes::PEER_ACCESS_USELESS, message).hint(hint).at(place));
        }
    }
    if run.tables.is_empty() && !run.devices.is_empty() {
        run.tables
            .push((PairTable { format: "p2p-bandwidth-latency-test", line: 1, ..PairTable::default() }, 0));
    }
    for (table, title) in run.tables {
        let table = PairTable { devices: run.devices.clone(), ..table };
        let evidence = Evidence::Pairs(Box::new(table));
        read.evidence.push(Located { value: evidence, place: part.start_at(title) });
    }
}

/// Whether the rates of table `at` are those of the table without direct access, of the same directions.
fn is_same_without(run: &Run, at: usize) -> bool {
    let (table, _) = &run.tables[at];
    let without = run.tables.iter().map(|(other, _)| other).find(|other| {
        other.is_direct == Some(false)
            && other.both_directions == table.both_directions
            && other.rows == table.rows
    });
    let Some(without) = without else { return false };
    let mut pairs = table.between().peekable();
    let is_same = |cell: &crate::evidence::PairCell| {
        let other = without.cell(cell.row, cell.column).map(|cell| cell.measure);
        match (cell.measure, other) {
            (Measure::Rate(rate), Some(Measure::Rate(other))) => {
                let (rate, other) = (rate.as_gigabytes(), other.as_gigabytes());
                (rate - other).abs() <= other * SAME_SHARE
            }
            (Measure::Rate(_) | Measure::Span(_) | Measure::Access(_), _) => false,
        }
    };
    pairs.peek().is_some() && pairs.all(is_same)
}
