//! Rows of `coll_*.csv`: what ran where, and what was measured.

use weft_base::{Bytes, Diagnostic, Place, Rate};
use weft_collective::Collective;

use super::NOT_A_NUMBER;
use super::interval::ReadingError;
use super::software::Software;

/// How many servers took part, as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nodes {
    /// So many.
    Count(u16),
    /// More than one (`multi`).
    Several,
    /// Nothing is said.
    Unsaid,
}

/// One published measurement of a collective of NCCL or RCCL.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Line of the file, from 1.
    pub line: u64,
    /// The system, as published.
    pub system: String,
    /// The GPU, as published; empty where the source names none.
    pub gpu: String,
    /// GPUs that took part.
    pub gpus: Option<u16>,
    /// Servers that took part.
    pub nodes: Nodes,
    /// How the GPUs of a server are tied, as published.
    pub intra_link: String,
    /// How the servers are tied, as published.
    pub inter_link: String,
    /// The collective, as published.
    pub collective_name: String,
    /// The collective; `None` where the name is not known.
    pub collective: Option<Collective>,
    /// What the source says of the algorithm.
    pub algorithm: String,
    /// The library.
    pub software: Software,
    /// Whether the source marks rows with SHARP, and not this one: nothing was reduced in switches.
    pub unmarked_by_sharp: bool,
    /// Message size; `None` for a peak.
    pub size: Option<Bytes>,
    /// Measured bus bandwidth; from the time where that is given, which has more digits.
    pub busbw: Option<Rate>,
    /// How well it could be read, where the source says so.
    pub reading: Option<ReadingError>,
    /// Document and section.
    pub source: String,
}

impl Measurement {
    /// Whether the system or the link is described with that word (`patched P2P driver`).
    pub fn says(&self, word: &str) -> bool {
        [&self.system, &self.intra_link, &self.inter_link].into_iter().any(|text| {
            text.split([' ', ',', '(', ')', '+', '/']).any(|part| part.eq_ignore_ascii_case(word))
        })
    }

    /// Rows of one group weigh together as one: system, collective and section of the source.
    pub fn group(&self) -> String {
        let collective =
            self.collective.map_or(self.collective_name.as_str(), |collective| collective.name());
        format!("{} | {collective} | {}", self.system, self.section())
    }

    fn section(&self) -> &str {
        self.source.split(" line ").next().unwrap_or(&self.source)
    }
}

/// Rows that are no measurements of NCCL or RCCL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// How many of the file.
    pub rows: usize,
    /// Why.
    pub why: String,
}

/// What one file holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// Measurements of NCCL and RCCL, in the order of the file.
    pub rows: Vec<Measurement>,
    /// The others, one entry for each reason.
    pub left_out: Vec<LeftOut>,
}

/// The message of a row that says `small`: where nccl-tests starts.
const SMALLEST_BYTES: f64 = 8.0;

/// The rows of one file, and what of them could not be read. `file` is only used in places.
pub fn read_rows(file: &str, text: &str) -> (Rows, Vec<Diagnostic>) {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = reader.headers().cloned().unwrap_or_default();
    let (mut read, mut diagnostics) = (Rows::default(), Vec::new());
    for record in reader.records() {
        match record {
            Ok(record) => {
                let fields = Fields { headers: &headers, record: &record, file, whole: text };
                match fields.measurement(&mut diagnostics) {
                    Ok(row) => read.rows.push(row),
                    Err(why) => read.leave_out(why),
                }
            }
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                let place = Place::new(file, u32::try_from(line).unwrap_or(u32::MAX), 1, 0);
                diagnostics.push(
                    Diagnostic::warning(NOT_A_NUMBER, format!("cannot read the row: {error}")).at(place),
                );
            }
        }
    }
    read.mark_sharp();
    (read, diagnostics)
}

impl Rows {
    fn leave_out(&mut self, why: String) {
        match self.left_out.iter_mut().find(|known| known.why == why) {
            Some(known) => known.rows += 1,
            None => self.left_out.push(LeftOut { rows: 1, why }),
        }
    }

    /// A section that writes SHARP beside some rows says by its absence that the others ran without.
    fn mark_sharp(&mut self) {
        let marked: Vec<String> =
            self.rows.iter().filter(|row| row.says("SHARP")).map(|row| row.section().to_owned()).collect();
        for row in &mut self.rows {
            row.unmarked_by_sharp =
                !row.says("SHARP") && marked.iter().any(|section| *section == row.section());
        }
    }
}

/// Line of the record that begins at `byte`, from 1; the reader's position may be at the line end before it.
fn line_of(text: &str, byte: u64) -> u64 {
    let byte = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
    let begins =
        byte + text.as_bytes()[byte..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let before = text[..begins].matches('\n').count();
    u64::try_from(before).unwrap_or(u64::MAX) + 1
}

struct Fields<'a> {
    headers: &'a csv::StringRecord,
    record: &'a csv::StringRecord,
    file: &'a str,
    whole: &'a str,
}

impl Fields<'_> {
    fn text(&self, name: &str) -> &str {
        let index = self.headers.iter().position(|header| header == name);
        index.and_then(|index| self.record.get(index)).unwrap_or("").trim()
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, |position| line_of(self.whole, position.byte()))
    }

    /// A number, or nothing where the field is empty; anything else is diagnosed.
    fn number(&self, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<f64> {
        let text = self.text(name);
        if text.is_empty() {
            return None;
        }
        let number = text.parse().ok().filter(|number: &f64| is_measured(*number));
        if number.is_none() && text.parse::<f64>() != Ok(0.0) {
            let line = u32::try_from(self.line()).unwrap_or(u32::MAX);
            let message = format!("`{text}` in {name} is no number");
            diagnostics
                .push(Diagnostic::warning(NOT_A_NUMBER, message).at(Place::new(self.file, line, 1, 0)));
        }
        number
    }

    /// The row, or why it is none of NCCL or RCCL.
    fn measurement(&self, diagnostics: &mut Vec<Diagnostic>) -> Result<Measurement, String> {
        if !self.headers.iter().any(|header| header == "collective") {
            return Err("the file has no column `collective`: not of NCCL or RCCL".to_owned());
        }
        if ["time_us", "busbw_GBps", "algbw_GBps"].iter().all(|name| self.number(name, diagnostics).is_none())
        {
            return Err("no time and no bandwidth".to_owned());
        }
        let algorithm = self.text("algo");
        let software =
            Software::read(self.text("software"), algorithm).map_err(|name| format!("{name}, not NCCL"))?;
        let collective = Collective::from_name(self.text("collective"));
        let gpus: Option<u16> = self.text("num_gpus").parse().ok();
        let size = match self.text("size_bytes") {
            "small" => Some(SMALLEST_BYTES),
            _ => self.number("size_bytes", diagnostics),
        };
        Ok(Measurement {
            line: self.line(),
            system: self.text("system").to_owned(),
            gpu: self.text("gpu").to_owned(),
            gpus,
            nodes: nodes(self.text("num_nodes")),
            intra_link: self.text("intra_link").to_owned(),
            inter_link: self.text("inter_link").to_owned(),
            collective_name: self.text("collective").to_owned(),
            collective,
            algorithm: algorithm.to_owned(),
            software,
            unmarked_by_sharp: false,
            size: size.map(|size| Bytes::new(Rate::from_gigabytes(size / 1e9).get())),
            busbw: self.busbw(collective, gpus, size),
            reading: [self.text("method"), self.text("notes")].into_iter().find_map(ReadingError::read),
            source: self.text("source").to_owned(),
        })
    }

    /// From the time where it is given, else as printed, else from algbw.
    fn busbw(&self, collective: Option<Collective>, gpus: Option<u16>, size: Option<f64>) -> Option<Rate> {
        let factor = collective.zip(gpus).map(|(collective, gpus)| collective.bus_factor(gpus.into()));
        let number = |name: &str| self.text(name).parse().ok().filter(|number: &f64| is_measured(*number));
        let (time_us, busbw, algbw) = (number("time_us"), number("busbw_GBps"), number("algbw_GBps"));
        let from_time = time_us.zip(size).map(|(time_us, size)| size / time_us / 1000.0);
        let of_algbw = |algbw: Option<f64>| algbw.zip(factor).map(|(algbw, factor)| algbw * factor);
        of_algbw(from_time).or(busbw).or(of_algbw(algbw)).map(Rate::from_gigabytes)
    }
}

/// Nothing takes no time: a printed 0.00 is a figure with too few digits.
fn is_measured(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

fn nodes(text: &str) -> Nodes {
    match text.parse() {
        Ok(count) => Nodes::Count(count),
        Err(_) if text.is_empty() => Nodes::Unsaid,
        Err(_) => Nodes::Several,
    }
}
