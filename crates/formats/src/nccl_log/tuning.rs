//! What the library predicts and chooses: tables of latency and bandwidth, algorithm and protocol by size.

use weft_base::{Bytes, Span};

use super::line::{Speaker, word_after};
use super::system::gigabytes;
use super::tally::Tally;
use crate::evidence::{TuningCell, TuningChoice, TuningRow, TuningTable};
use crate::find::cut;

/// Tables, their rows, and different choices that are kept.
const TABLES_MAX: usize = 64;
const ROWS_MAX: usize = 64;
const CHOICES_MAX: usize = 1 << 16;

/// The numbers of the algorithms and protocols, in NCCL's order (`src/include/nccl_common.h`).
const ALGORITHMS: [&str; 7] = ["Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"];
const PROTOCOLS: [&str; 3] = ["LL", "LL128", "Simple"];

/// What is said of tuning.
#[derive(Debug)]
pub(super) struct Tuning<'a> {
    tables: Vec<TuningTable>,
    /// Who prints the last table.
    printer: Option<Speaker<'a>>,
    /// Whether the last table found room.
    open: bool,
    choices: Tally<Choice<'a>>,
}

/// Collective, bytes, algorithm, protocol and time, as printed.
type Choice<'a> = (Option<&'a str>, u64, &'a str, &'a str, Option<&'a str>);

impl<'a> Tuning<'a> {
    pub fn new() -> Self {
        Self { tables: Vec::new(), printer: None, open: false, choices: Tally::new(CHOICES_MAX) }
    }

    /// Whether `text` is of tuning; it was read then.
    pub fn take(&mut self, text: &'a str, speaker: Option<Speaker<'a>>, line: u32) -> bool {
        if let Some((before, after)) = cut(text, " Bytes -> ") {
            return self.take_choice(before, after, line);
        }
        if !text.contains('|') {
            return false;
        }
        let mut cells = text.split('|').map(str::trim);
        let title = cells.next().unwrap_or("");
        let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
        if title == "Algorithm" {
            self.printer = speaker;
            self.open = self.tables.len() < TABLES_MAX;
            if self.open {
                let algorithms = cells.iter().map(|cell| (*cell).to_owned()).collect();
                self.tables.push(TuningTable { algorithms, line, ..TuningTable::default() });
            }
            return true;
        }
        match title {
            "Protocol" => {
                let Some(table) = self.tables.last_mut().filter(|_| self.open && self.printer == speaker)
                else {
                    return true;
                };
                // An algorithm's name stands over all of its protocols.
                let each = cells.len().checked_div(table.algorithms.len()).unwrap_or(0);
                let wide = |name: &String| vec![name.clone(); each];
                table.algorithms = table.algorithms.iter().flat_map(wide).collect();
                table.protocols = cells.iter().map(|cell| (*cell).to_owned()).collect();
                true
            }
            "Max NThreads" => true,
            _ => self.take_row(title, &cells, speaker),
        }
    }

    fn take_row(&mut self, title: &str, cells: &[&str], speaker: Option<Speaker<'a>>) -> bool {
        let named = !title.is_empty() && title.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !named || cells.is_empty() {
            return false;
        }
        let read: Option<Vec<TuningCell>> = cells.iter().map(|cell| tuning_cell(cell)).collect();
        let Some(cells) = read else { return false };
        if let Some(table) = self.tables.last_mut().filter(|_| self.open && self.printer == speaker) {
            if table.rows.len() < ROWS_MAX {
                table.rows.push(TuningRow { collective: title.to_owned(), cells });
            }
        }
        true
    }

    /// `AllReduce: 4096 Bytes -> Algo 1 proto 2 time 45.6`, `… -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}`.
    fn take_choice(&mut self, before: &'a str, after: &'a str, line: u32) -> bool {
        let (collective, bytes) = match before.rsplit_once(' ') {
            Some((collective, bytes)) => (Some(collective.trim_end_matches([':', ' '])), bytes),
            None => (None, before),
        };
        let Ok(bytes) = bytes.parse::<u64>() else { return false };
        let (Some(algorithm), Some(protocol)) = (word_after(after, "Algo "), word_after(after, "proto "))
        else {
            return false;
        };
        let time = word_after(after, " time ");
        self.choices.add((collective, bytes, algorithm, protocol, time), line);
        true
    }

    pub fn finish(self) -> (Vec<TuningTable>, Vec<TuningChoice>) {
        let mut tables: Vec<TuningTable> = Vec::new();
        for table in self.tables {
            let same = |other: &TuningTable| {
                (&other.algorithms, &other.protocols, &other.rows)
                    == (&table.algorithms, &table.protocols, &table.rows)
            };
            if !tables.iter().any(same) {
                tables.push(table);
            }
        }
        let choices =
            self.choices.map(|(collective, bytes, algorithm, protocol, time), times| TuningChoice {
                collective: collective.map(str::to_owned),
                bytes: Bytes::new(bytes),
                algorithm: named(algorithm, &ALGORITHMS),
                protocol: named(protocol, &PROTOCOLS),
                time: time.and_then(|time| time.parse().ok()).map(Span::from_microseconds),
                count: times.count,
                line: times.line,
            });
        (tables, choices)
    }
}

/// `45.1/  10.2`: microseconds and gigabytes per second.
fn tuning_cell(text: &str) -> Option<TuningCell> {
    let (latency, bandwidth) = text.split_once('/')?;
    let latency = Span::from_microseconds(latency.trim().parse().ok()?);
    Some(TuningCell { latency, bandwidth: gigabytes(bandwidth.trim())? })
}

/// The name behind a number or another spelling.
fn named(word: &str, names: &[&str]) -> String {
    let number = word.parse::<usize>().ok().and_then(|number| names.get(number));
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let spelt = names.iter().find(|name| plain(name) == plain(word));
    number.or(spelt).map_or_else(|| word.to_owned(), |name| (*name).to_owned())
}
