//! One row of figures, and the header that names its columns.

use weft_base::{Bytes, Rate, Span};

use crate::evidence::BenchmarkRow;

/// Types of elements, as the versions of the tools call them.
const TYPES: &[&str] = &[
    "float",
    "half",
    "double",
    "bfloat16",
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "int",
    "char",
    "float16",
    "float32",
    "float64",
    "bf16",
    "fp16",
    "fp32",
    "fp8_e4m3",
    "fp8_e5m2",
    "f8e4m3",
    "f8e5m2",
    "float8e4m3",
    "float8e5m2",
];

/// Bytes of one element; `None` for a type that is not known.
pub(super) fn element_bytes(dtype: &str) -> Option<usize> {
    Some(match dtype {
        "int8" | "uint8" | "char" => 1,
        "half" | "bfloat16" | "float16" | "bf16" | "fp16" => 2,
        "float" | "int32" | "uint32" | "int" | "float32" | "fp32" => 4,
        "double" | "int64" | "uint64" | "float64" => 8,
        _ if dtype.contains('8') => 1,
        _ => return None,
    })
}

/// Columns that one half of a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Time,
    Algbw,
    Busbw,
    Check,
    /// One that is not understood, such as a time of day.
    Other,
}

/// What a header says of the rows below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    pub has_redop: bool,
    pub has_root: bool,
    /// Columns of each half; one or two halves.
    halves: Vec<Vec<Column>>,
}

impl Columns {
    /// From the words of a header line without its `#`; `None` if it is none.
    pub fn new(text: &str) -> Option<Self> {
        if !text.contains("busbw") || !text.contains("algbw") {
            return None;
        }
        let mut columns = Self { has_redop: false, has_root: false, halves: Vec::new() };
        let mut kinds = (false, false);
        for word in text.split_ascii_whitespace() {
            let column = match word {
                "size" | "bytes" => {
                    kinds.0 = true;
                    continue;
                }
                "type" => {
                    kinds.1 = true;
                    continue;
                }
                "redop" | "op" => {
                    columns.has_redop = true;
                    continue;
                }
                "root" => {
                    columns.has_root = true;
                    continue;
                }
                "time" | "cputime" => {
                    columns.halves.push(Vec::new());
                    Column::Time
                }
                "algbw" => Column::Algbw,
                "busbw" => Column::Busbw,
                "error" | "#wrong" | "wrong" | "res" => Column::Check,
                _ => Column::Other,
            };
            if let Some(half) = columns.halves.last_mut() {
                half.push(column);
            }
        }
        // More halves than two are no table of these tools.
        (kinds == (true, true) && matches!(columns.halves.len(), 1 | 2)).then_some(columns)
    }

    /// What is taken where the header is missing: both halves with a column of wrong results.
    pub fn usual(has_root: bool) -> Self {
        let half = vec![Column::Time, Column::Algbw, Column::Busbw, Column::Check];
        Self { has_redop: true, has_root, halves: vec![half.clone(), half] }
    }
}

/// A row before its columns are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub bytes: u64,
    pub count: usize,
    pub dtype: &'a str,
    pub redop: Option<&'a str>,
    /// Root and figures.
    words: Vec<&'a str>,
    /// Whether something that is no figure follows: another process wrote into the line.
    pub is_torn: bool,
}

impl<'a> Row<'a> {
    /// From a line without its prefix; `None` if it is no row.
    pub fn new(text: &'a str) -> Option<Self> {
        let mut words = text.trim_start_matches('#').split_ascii_whitespace();
        let first = words.next()?;
        // Most lines of a log end here.
        if !first.as_bytes().first()?.is_ascii_digit() {
            return None;
        }
        let bytes = first.parse().ok()?;
        let count = words.next()?.parse().ok()?;
        let dtype = words.next().filter(|word| TYPES.contains(word))?;
        let mut row = Self { bytes, count, dtype, redop: None, words: Vec::new(), is_torn: false };
        for word in words {
            if row.words.is_empty() && row.redop.is_none() && is_redop(word) {
                row.redop = Some(word);
            } else if is_figure(word) {
                row.words.push(word);
            } else {
                row.is_torn = !row.take_glued(word);
                if row.is_torn {
                    break;
                }
            }
        }
        Some(row)
    }

    /// `-1[0]`: a figure, and the label of the next piece that was written. Whether that is all of `word`.
    fn take_glued(&mut self, word: &'a str) -> bool {
        let end = word.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-'))).unwrap_or(word.len());
        let (figure, rest) = word.split_at(end);
        if !figure.is_empty() {
            self.words.push(figure);
        }
        let is_label = rest.starts_with('[') && (rest.ends_with(']') || rest.ends_with(':'));
        let is_time = word.bytes().all(|byte| byte.is_ascii_digit() || b":-T".contains(&byte));
        is_label || is_time || (figure.is_empty() && word.ends_with(':'))
    }

    /// Whether the header is missing and this row has a root: it is negative, or the figures do not come out even.
    pub fn shows_root(&self) -> bool {
        self.words.first().is_some_and(|word| word.starts_with('-')) || self.words.len() % 4 == 1
    }

    /// The halves of this row that hold a figure, and whether it was cut before its end.
    pub fn halves(
        &self,
        columns: &Columns,
        halves_in_place: &[bool],
        line: u32,
    ) -> (Vec<BenchmarkRow>, bool) {
        let mut words = self.words.as_slice();
        let mut root = None;
        if columns.has_root && !words.is_empty() {
            root = words[0].parse().ok();
            words = &words[1..];
        }
        let mut rows = Vec::new();
        let mut is_cut = self.is_torn;
        for (index, half) in columns.halves.iter().enumerate() {
            let (mine, rest) = words.split_at(half.len().min(words.len()));
            words = rest;
            let mut row = BenchmarkRow {
                bytes: Bytes::new(self.bytes),
                count: Some(self.count),
                dtype: Some(self.dtype.to_owned()),
                redop: self.redop.filter(|word| *word != "none").map(str::to_owned),
                root,
                in_place: halves_in_place.get(index).copied().unwrap_or(index == 1),
                line,
                ..BenchmarkRow::default()
            };
            fill(&mut row, half, mine);
            // Runs that skip the second half leave all of it out.
            is_cut |= mine.len() < half.len() && (index == 0 || !mine.is_empty());
            if row.time.is_some() && row.algbw.is_some() {
                rows.push(row);
            }
        }
        (rows, is_cut)
    }
}

/// Puts the words of one half where its columns say.
fn fill(row: &mut BenchmarkRow, half: &[Column], words: &[&str]) {
    for (column, word) in half.iter().zip(words) {
        match column {
            Column::Time => row.time = number(word).map(Span::from_microseconds),
            Column::Algbw => row.algbw = number(word).map(Rate::from_gigabytes),
            Column::Busbw => row.busbw = number(word).map(Rate::from_gigabytes),
            Column::Check => row.check = Some((*word).to_owned()),
            Column::Other => {}
        }
    }
}

/// A line of nothing but figures that end a torn row: `2040.1  0.00  0.00  0`.
pub(super) fn tail(text: &str) -> Option<Vec<&str>> {
    if !text.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().take(10).collect();
    let all = words.iter().all(|word| is_figure(word));
    (all && matches!(words.len(), 3 | 4 | 7 | 8)).then_some(words)
}

/// The in-place half of a torn row, from its tail.
pub(super) fn of_tail(head: &BenchmarkRow, words: &[&str], columns: &Columns) -> Option<BenchmarkRow> {
    let half = columns.halves.get(1).filter(|half| half.len() == words.len())?;
    let mut row = BenchmarkRow { in_place: true, ..head.clone() };
    (row.time, row.algbw, row.busbw, row.check) = (None, None, None, None);
    fill(&mut row, half, words);
    (row.time.is_some() && row.algbw.is_some()).then_some(row)
}

fn is_redop(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase()) && !matches!(word, "inf" | "nan")
}

fn is_figure(word: &str) -> bool {
    matches!(word, "N/A" | "n/a" | "nan" | "-nan" | "inf" | "TIMEOUT")
        || word.bytes().all(|byte| byte.is_ascii_digit() || b".e+-*".contains(&byte))
            && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// A finite number of a table; the asterisk marks an error above the threshold.
pub(super) fn number(word: &str) -> Option<f64> {
    let value: f64 = word.trim_end_matches('*').parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}
