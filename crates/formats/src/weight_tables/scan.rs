//! Finds the tables, line by line.

use super::{Numa, Output, Quantity, Row, Table, Tool};
use crate::format::Line;
use crate::words::{Token, tokens};

/// No host has more; beyond it text is something else.
const GPUS_MAX: usize = 256;

/// Lines without anything of the tool's after which its output is over.
const FOREIGN_MAX: usize = 60;

/// The outputs in `lines`, in order.
pub(crate) fn scan<'a>(lines: &'a [Line<'a>]) -> Vec<Output<'a>> {
    let mut scanner = Scanner::default();
    for (index, line) in lines.iter().enumerate() {
        // Most lines of a long log hold none of these, and are passed at once.
        let text = line.text.as_ref();
        if scanner.current.is_some() || is_candidate(text) {
            // `mpirun` puts its tag before a line without a blank.
            scanner.base = text.find(">:").filter(|_| text.starts_with('[')).map_or(0, |at| at + 2);
            scanner.take(index, &text[scanner.base..]);
        }
    }
    scanner.close();
    scanner.done
}

#[derive(Default)]
struct Scanner<'a> {
    done: Vec<Output<'a>>,
    current: Option<Output<'a>>,
    /// Titles that no table followed yet.
    titles: Vec<Quantity>,
    /// Tables whose rows are being read: those beside each other in one header.
    open: usize,
    in_legend: bool,
    foreign: usize,
    /// Bytes of the line before what is looked at.
    base: usize,
}

const BANNER: &str = "ROCm System Management Interface";
const END: &str = "End of ROCm SMI Log";

/// Titles of `rocm-smi`, of which several may stand beside each other.
const TITLES: [(&str, Quantity); 5] = [
    ("Weight between two GPUs", Quantity::Weight),
    ("Hops between two GPUs", Quantity::Hops),
    ("Link Type", Quantity::Link),
    ("Link accessibility between two GPUs", Quantity::Access),
    ("Link Accessibility", Quantity::Access),
];

impl<'a> Scanner<'a> {
    fn take(&mut self, index: usize, text: &'a str) {
        if text.trim().is_empty() {
            return;
        }
        let found = self.banner(index, text)
            || self.title(index, text)
            || self.numa(index, text)
            || self.row(index, text)
            || self.header(index, text)
            || self.remark(index, text);
        self.foreign = if found { 0 } else { self.foreign + 1 };
        if self.foreign > FOREIGN_MAX {
            self.close();
        }
    }

    fn banner(&mut self, index: usize, text: &str) -> bool {
        if text.contains(BANNER) {
            self.close();
            self.begin(Tool::RocmSmi).lines.push(index);
            return true;
        }
        let ends = text.contains(END);
        if ends {
            if let Some(current) = &mut self.current {
                current.lines.push(index);
            }
            self.close();
        }
        ends
    }

    fn title(&mut self, index: usize, text: &str) -> bool {
        let (tool, titles) = titles_of(text);
        if titles.is_empty() {
            // `===== Numa Nodes =====`, and what the other options of the tool print below its banner.
            let ruled = self.current.is_some() && text.trim().starts_with("====");
            let numa = text.trim().trim_matches('=').trim() == "Numa Nodes";
            if numa || ruled {
                self.begin_if_none(Tool::RocmSmi).lines.push(index);
                self.open = 0;
            }
            return numa || ruled;
        }
        let again = |current: &Output<'_>| {
            current.tool != tool
                || titles
                    .iter()
                    .any(|title| current.tables.iter().any(|table| table.quantity == Some(*title)))
        };
        if self.current.as_ref().is_some_and(|current| tool == Tool::AmdSmi || !current.tables.is_empty())
            && self.current.as_ref().is_some_and(again)
            && !titles.contains(&Quantity::Other)
        {
            self.close();
        }
        self.begin_if_none(tool).lines.push(index);
        self.titles = titles;
        self.open = 0;
        self.in_legend = false;
        true
    }

    fn header(&mut self, index: usize, text: &'a str) -> bool {
        let found = tokens(text);
        let start = found.iter().position(|token| is_label(token.text)).unwrap_or(found.len());
        let labels = &found[start..];
        if labels.is_empty()
            || !labels.iter().all(|token| is_label(token.text))
            || !are_prefix(&found[..start])
        {
            return false;
        }
        // A header without a title is one only below tables of the same kind.
        if self.current.is_none() || labels.len() > GPUS_MAX {
            return false;
        }
        let mut beside: Vec<Vec<&'a str>> = Vec::new();
        for token in labels {
            match beside.last_mut() {
                Some(columns) if columns.first() != Some(&token.text) => columns.push(token.text),
                Some(_) | None => beside.push(vec![token.text]),
            }
        }
        self.open = beside.len();
        let mut titles = std::mem::take(&mut self.titles).into_iter();
        let Some(current) = &mut self.current else { return false };
        for columns in beside {
            let quantity = titles.next();
            current.tables.push(Table { quantity, columns, rows: Vec::new(), header: index });
        }
        current.lines.push(index);
        true
    }

    fn row(&mut self, index: usize, text: &'a str) -> bool {
        let Some(current) = &mut self.current else { return false };
        let count = current.tables.len();
        let open = &mut current.tables[count - self.open.min(count)..];
        let Some(first) = open.first() else { return false };
        let found = tokens(text);
        let is_known = |token: &Token<'_>| first.columns.contains(&token.text);
        let Some(start) = found.iter().position(is_known).filter(|start| are_prefix(&found[..*start])) else {
            return false;
        };
        // A header has labels only, a row has cells.
        if found.get(start + 1).is_none_or(|next| is_label(next.text)) {
            return false;
        }
        let mut at = 0;
        for token in &found[start..] {
            if is_label(token.text) {
                let Some(table) = open.get_mut(at) else { break };
                at += 1;
                table.rows.push(Row {
                    label: token.text,
                    line: index,
                    cells: Vec::new(),
                    end: self.base + text.len(),
                });
            } else if let Some(row) = at.checked_sub(1).and_then(|at| open.get_mut(at)?.rows.last_mut()) {
                row.cells.push((self.base + token.offset, token.text));
            }
        }
        current.lines.push(index);
        true
    }

    fn numa(&mut self, index: usize, text: &str) -> bool {
        let Some(numa) = numa_of(text) else { return false };
        let current = self.begin_if_none(Tool::RocmSmi);
        current.numa.push(numa);
        current.lines.push(index);
        true
    }

    /// What the tool says beside its tables.
    fn remark(&mut self, index: usize, text: &str) -> bool {
        let text = text.trim();
        let Some(current) = &mut self.current else { return false };
        let refuses = text.contains("ot supported") || text.starts_with("ERROR");
        if text == "Legend:" && current.tool == Tool::AmdSmi {
            self.in_legend = true;
        } else if refuses || text.starts_with("WARNING:") {
            if refuses && !self.in_legend {
                current.refusals.push(index);
            }
        } else if !(self.in_legend && is_legend(text)) {
            return false;
        }
        current.lines.push(index);
        true
    }

    fn begin(&mut self, tool: Tool) -> &mut Output<'a> {
        self.current.insert(Output::new(tool))
    }

    fn begin_if_none(&mut self, tool: Tool) -> &mut Output<'a> {
        self.current.get_or_insert_with(|| Output::new(tool))
    }

    fn close(&mut self) {
        (self.titles, self.open, self.in_legend, self.foreign) = (Vec::new(), 0, false, 0);
        let Some(mut output) = self.current.take() else { return };
        output.tables.retain(|table| !table.rows.is_empty());
        if !output.tables.is_empty() || !output.numa.is_empty() {
            self.done.push(output);
        }
    }
}

/// Whether an output may begin on that line.
fn is_candidate(text: &str) -> bool {
    ["GPU", " TABLE:", BANNER].iter().any(|mark| text.contains(mark)) || address_first(text)
}

/// The titles on a line, from left to right, and whose they are.
fn titles_of(text: &str) -> (Tool, Vec<Quantity>) {
    if let Some(name) = text.trim_end().strip_suffix(" TABLE:") {
        let has = |word: &str| name.trim_end().ends_with(word);
        let kept = [
            ("WEIGHT", Quantity::Weight),
            ("HOPS", Quantity::Hops),
            ("LINK TYPE", Quantity::Link),
            ("ACCESS", Quantity::Access),
            ("NUMA BW", Quantity::Rate),
        ];
        let other = ["COHERANCY", "COHERENCY", "ATOMICS", "DMA", "BI-DIRECTIONAL", "BI-DIR"];
        let kept = kept.into_iter().find(|(word, _)| has(word)).map(|(_, quantity)| quantity);
        let found = kept.or_else(|| other.into_iter().any(has).then_some(Quantity::Other));
        return (Tool::AmdSmi, found.into_iter().collect());
    }
    let is_title = text.contains("between two GPUs") || text.trim_start().starts_with("==");
    let mut found: Vec<(usize, Quantity)> = Vec::new();
    if is_title {
        found.extend(TITLES.iter().filter_map(|(title, quantity)| Some((text.find(title)?, *quantity))));
        if text.trim().trim_matches('=').trim() == "Bandwidth" {
            found.push((0, Quantity::Rate));
        }
        found.sort_by_key(|(offset, _)| *offset);
    }
    (Tool::RocmSmi, found.into_iter().map(|(_, quantity)| quantity).collect())
}

/// `GPU0`, `0000:0c:00.0`.
fn is_label(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.strip_prefix("GPU").is_some_and(digits) || is_address(text)
}

/// `0000:0c:00.0`.
pub(super) fn is_address(text: &str) -> bool {
    let shape: Vec<&str> = text.split([':', '.']).collect();
    let hex = |text: &str, lengths: &[usize]| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match shape.as_slice() {
        [domain, bus, device, function] => {
            hex(domain, &[4, 8]) && hex(bus, &[2]) && hex(device, &[2]) && hex(function, &[1])
        }
        _ => false,
    }
}

/// Whether the line begins with a PCI address, seen cheaply.
fn address_first(text: &str) -> bool {
    text.split_ascii_whitespace().next().is_some_and(|first| first.len() >= 12 && is_address(first))
}

/// What mailers, `srun` and `pdsh` put before a line: `>`, `node-17:`, `[1,0]<stdout>:`.
fn are_prefix(before: &[Token<'_>]) -> bool {
    let marks = |token: &Token<'_>| token.text.ends_with([':', '>', ']']) || token.text.starts_with('[');
    before.len() <= 3 && before.iter().all(marks)
}

/// `SELF = Current GPU`, `<BW from>-<BW to>`.
fn is_legend(text: &str) -> bool {
    text.contains(" = ") || (text.starts_with('<') && text.ends_with('>'))
}

/// `GPU[0] : (Topology) Numa Node: 0`, `GPU 0`, `GPU[0..3] Numa Node: 1, Numa Affinity: 1`.
fn numa_of(text: &str) -> Option<Numa> {
    let named = |name: &str| {
        let rest = text.split_once(name)?.1.trim_start_matches([' ', '\t', ':']);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest[..digits].parse::<u32>().ok()
    };
    if !text.contains("Numa Node:") && !text.contains("Numa Affinity:") {
        return None;
    }
    let rest = text.split_once("GPU")?.1.trim_start_matches([' ', '[']);
    let number = |text: &str| {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        Some((text[..digits].parse::<usize>().ok().filter(|number| *number < GPUS_MAX)?, digits))
    };
    let (first, length) = number(rest)?;
    let last = rest[length..].strip_prefix("..").and_then(number).map_or(first, |(last, _)| last.max(first));
    Some(Numa { first, last, node: named("Numa Node:"), affinity: named("Numa Affinity:") })
}
