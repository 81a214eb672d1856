//! Tables made into one matrix, with what is wrong with them.

use weft_base::{Diagnostic, Rate};

use super::scan::is_address;
use super::{Output, Quantity, Row, Table};
use crate::codes;
use crate::evidence::WeightMatrix;
use crate::format::Part;
use crate::ranges::{listed, short};

/// What a cell holds.
enum Said {
    Number(u32),
    Link(String),
    Access(bool),
    Rate(Rate),
    /// The diagonal, `N/A` and `XXXX`.
    Nothing,
}

/// One matrix of all tables of an output.
pub(crate) fn assemble(
    output: &Output<'_>,
    part: &Part<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> WeightMatrix {
    let labels = labels(output);
    let mut square = Square::new(labels);
    let mut unknown = 0;
    for table in &output.tables {
        let quantity = quantity(table);
        for row in &table.rows {
            let Some(index) = square.labels.iter().position(|label| label == row.label) else { continue };
            diagnostics.extend(shape(table, row, part));
            for ((offset, text), column) in row.cells.iter().zip(&table.columns) {
                let Some(other) = square.labels.iter().position(|label| label == column) else { continue };
                if other == index || quantity == Quantity::Other {
                    continue;
                }
                unknown += usize::from(*text == "XXXX");
                match said(text, quantity) {
                    Some(said) => square.put(index, other, quantity, said),
                    None => diagnostics.push(unread(text, row, *offset, part)),
                }
            }
        }
        diagnostics.extend(missing_rows(table, part));
    }
    for index in &output.refusals {
        diagnostics.push(refusal(*index, part));
    }
    if unknown > 0 {
        let message = format!("{unknown} cells read XXXX: the driver could not tell what joins these GPUs");
        let hint = "partitions of one GPU are shown so; the cells count as unknown";
        diagnostics.push(Diagnostic::note(codes::CELL_UNKNOWN, message).hint(hint).at(part.start()));
    }
    let mut matrix = square.matrix;
    matrix.format = output.tool.format();
    numa(output, &mut matrix);
    matrix
}

/// Labels of all columns, then of rows without a column, then GPUs that only the list of NUMA nodes names.
fn labels(output: &Output<'_>) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for table in &output.tables {
        let rows = table.rows.iter().map(|row| &row.label);
        for label in table.columns.iter().chain(rows) {
            if !labels.iter().any(|known| known == label) {
                labels.push((*label).to_owned());
            }
        }
    }
    let listed = output.numa.iter().map(|numa| numa.last + 1).max().unwrap_or(0);
    if labels.is_empty() {
        labels.extend((0..listed).map(|gpu| format!("GPU{gpu}")));
    }
    labels
}

fn numa(output: &Output<'_>, matrix: &mut WeightMatrix) {
    let count = matrix.gpus.len();
    for numa in &output.numa {
        for gpu in (numa.first..=numa.last).take_while(|gpu| *gpu < count) {
            if numa.node.is_some() {
                matrix.numa.resize(count, None);
                matrix.numa[gpu] = numa.node;
            }
            if numa.affinity.is_some() {
                matrix.affinity.resize(count, None);
                matrix.affinity[gpu] = numa.affinity;
            }
        }
    }
}

/// What a table is of: the words in its cells are surer than a title, which may have lost its table.
fn quantity(table: &Table<'_>) -> Quantity {
    let cells = || table.rows.iter().flat_map(|row| row.cells.iter().map(|(_, text)| *text));
    if cells().any(|text| matches!(text, "XGMI" | "PCIE")) {
        return Quantity::Link;
    }
    if cells().any(|text| matches!(text, "ENABLED" | "DISABLED" | "True" | "False")) {
        return Quantity::Access;
    }
    table.quantity.unwrap_or_else(|| {
        let numbers = cells().filter_map(|text| text.parse::<u32>().ok()).max();
        match numbers {
            // One hop of xGMI weighs 15; no host has so many hops.
            Some(largest) if largest > 12 => Quantity::Weight,
            Some(_) => Quantity::Hops,
            None => Quantity::Other,
        }
    })
}

fn said(text: &str, quantity: Quantity) -> Option<Said> {
    if matches!(text, "N/A" | "XXXX" | "SELF" | "-") {
        return Some(Said::Nothing);
    }
    match quantity {
        Quantity::Weight | Quantity::Hops => text.parse().ok().map(Said::Number),
        Quantity::Link => {
            matches!(text, "XGMI" | "PCIE" | "PCIe").then(|| Said::Link(text.to_ascii_uppercase()))
        }
        Quantity::Access => match text {
            "ENABLED" | "True" => Some(Said::Access(true)),
            "DISABLED" | "False" => Some(Said::Access(false)),
            _ => None,
        },
        Quantity::Rate => {
            let rate = rate(text)?;
            // 0 says that nothing is known.
            Some(if rate == Rate::bytes_per_second(0) { Said::Nothing } else { Said::Rate(rate) })
        }
        Quantity::Other => Some(Said::Nothing),
    }
}

/// `50000-50000`: the least and the most in MB/s of one direction.
fn rate(text: &str) -> Option<Rate> {
    let most = text.rsplit('-').next()?.parse::<u32>().ok()?;
    Some(Rate::bytes_per_second(u64::from(most) * 1_000_000))
}

/// A matrix while its cells are filled in.
pub(crate) struct Square {
    /// The labels that the text uses.
    pub labels: Vec<String>,
    /// The matrix so far.
    pub matrix: WeightMatrix,
}

impl Square {
    /// Without any cell; PCI addresses become numbered GPUs.
    pub fn new(labels: Vec<String>) -> Self {
        let addresses: Vec<Option<String>> = labels.iter().map(|label| address(label)).collect();
        let name = |(index, label): (usize, &String)| {
            if is_address(label) { format!("GPU{index}") } else { label.clone() }
        };
        let gpus = labels.iter().enumerate().map(name).collect();
        let addresses = if addresses.iter().any(Option::is_some) { addresses } else { Vec::new() };
        Self { labels, matrix: WeightMatrix { gpus, addresses, ..WeightMatrix::default() } }
    }

    fn put(&mut self, row: usize, column: usize, quantity: Quantity, said: Said) {
        match (said, quantity) {
            (Said::Number(number), Quantity::Hops) => self.hops(row, column, number),
            (Said::Number(number), _) => self.weight(row, column, number),
            (Said::Link(link), _) => self.link(row, column, link),
            (Said::Access(access), _) => self.access(row, column, access),
            (Said::Rate(rate), _) => self.rate(row, column, rate),
            (Said::Nothing, _) => {}
        }
    }

    /// Sets a weight.
    pub fn weight(&mut self, row: usize, column: usize, weight: u32) {
        set(&mut self.matrix.weights, self.labels.len(), (row, column), Some(weight));
    }

    /// Sets a number of hops.
    pub fn hops(&mut self, row: usize, column: usize, hops: u32) {
        set(&mut self.matrix.hops, self.labels.len(), (row, column), Some(hops));
    }

    /// Sets a kind of link.
    pub fn link(&mut self, row: usize, column: usize, link: String) {
        set(&mut self.matrix.links, self.labels.len(), (row, column), Some(link));
    }

    /// Sets whether one may access the other.
    pub fn access(&mut self, row: usize, column: usize, access: bool) {
        set(&mut self.matrix.access, self.labels.len(), (row, column), Some(access));
    }

    /// Sets a rate, written as the tools do: `50000-50000`.
    pub fn rate_text(&mut self, row: usize, column: usize, text: &str) {
        if let Some(Said::Rate(rate)) = said(text, Quantity::Rate) {
            self.rate(row, column, rate);
        }
    }

    fn rate(&mut self, row: usize, column: usize, rate: Rate) {
        set(&mut self.matrix.rates, self.labels.len(), (row, column), Some(rate));
    }
}

fn set<T: Clone>(table: &mut Vec<Option<T>>, count: usize, (row, column): (usize, usize), value: Option<T>) {
    if table.is_empty() {
        table.resize(count * count, None);
    }
    if let Some(slot) = table.get_mut(row * count + column) {
        // The first one counts where a row is there twice.
        if slot.is_none() {
            *slot = value;
        }
    }
}

/// A PCI address in the form in which evidence has it.
pub(crate) fn address(text: &str) -> Option<String> {
    is_address(text).then(|| text.to_ascii_lowercase())
}

fn shape(table: &Table<'_>, row: &Row<'_>, part: &Part<'_>) -> Option<Diagnostic> {
    let line = part.lines.get(row.line)?;
    let (has, wanted) = (row.cells.len(), table.columns.len());
    if has < wanted {
        let labels = listed(&table.columns[has..]);
        let message = format!("the row of {} ends before the cells of {labels}", row.label);
        let hint = "the line was cut; paste the whole output";
        return Some(
            Diagnostic::warning(codes::ROW_CUT, message).hint(hint).at(part.place(line, row.end, 0)),
        );
    }
    let (offset, text) = row.cells.get(wanted)?;
    let message =
        format!("the row of {} has {} more cells than the header has GPUs", row.label, has - wanted);
    let place = part.place(line, *offset, u32::try_from(text.chars().count()).unwrap_or(0));
    Some(Diagnostic::warning(codes::CELLS_SURPLUS, message).hint("they are left out").at(place))
}

fn missing_rows(table: &Table<'_>, part: &Part<'_>) -> Option<Diagnostic> {
    let has_row = |label: &&&str| !table.rows.iter().any(|row| row.label == **label);
    let missing: Vec<&str> = table.columns.iter().filter(has_row).copied().collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!("the table has no row of {}", listed(&missing));
    let hint = "the paste was cut; what other rows say of them is used";
    Some(Diagnostic::warning(codes::ROWS_MISSING, message).hint(hint).at(part.start_at(table.header)))
}

fn unread(text: &str, row: &Row<'_>, offset: usize, part: &Part<'_>) -> Diagnostic {
    let finding = Diagnostic::warning(codes::CELL_UNKNOWN, format!("cannot read the cell `{}`", short(text)))
        .hint("expected a number, XGMI, PCIE, ENABLED, DISABLED or N/A; the cell counts as unknown");
    let length = u32::try_from(text.chars().count()).unwrap_or(0);
    match part.lines.get(row.line) {
        Some(line) => finding.at(part.place(line, offset, length)),
        None => finding,
    }
}

fn refusal(index: usize, part: &Part<'_>) -> Diagnostic {
    let text = part.lines.get(index).map_or("", |line| line.text.trim());
    let message = format!("the command could not read something: `{}`", short(text));
    Diagnostic::note(codes::COMMAND_REFUSED, message)
        .hint("run it as root, and outside partition modes, or use `amd-smi topology`")
        .at(part.start_at(index))
}
