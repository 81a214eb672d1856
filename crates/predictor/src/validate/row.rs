//! Rows of `coll_*.csv`: what ran where, and what was measured.

use weft_base::{Bytes, Diagnostic, Place, Rate};
use weft_collective::Collective;

use super::NOT_A_NUMBER;
use crate::PREDICTED;

/// One published measurement of a collective on one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Line of the file, from 1.
    pub line: u64,
    /// The system, as published.
    pub system: String,
    /// The GPU, as published.
    pub gpu: String,
    /// GPUs that took part.
    pub gpus: Option<u16>,
    /// How they are tied, as published.
    pub intra_link: String,
    /// The collective.
    pub collective: Collective,
    /// What the source says of the algorithm.
    pub algorithm: Option<String>,
    /// Message size; `None` for a peak.
    pub size: Option<Bytes>,
    /// Measured bus bandwidth; from algbw or the time where only those are given.
    pub busbw: Option<Rate>,
    /// Document and section.
    pub source: String,
}

impl Measurement {
    /// Whether the system or the link is described with that word (`patched P2P driver`).
    pub fn says(&self, word: &str) -> bool {
        [&self.system, &self.intra_link]
            .into_iter()
            .any(|text| text.split([' ', ',', '(', ')']).any(|part| part == word))
    }

    /// Rows of one group weigh together as one: system, collective and section of the source.
    pub fn group(&self) -> String {
        let section = self.source.split(" line ").next().unwrap_or(&self.source);
        format!("{} | {} | {section}", self.system, self.collective.name())
    }
}

/// The rows of one file that are of one server, name a GPU and a modelled collective; and what of them could
/// not be read. `file` is only used in places.
pub fn read_rows(file: &str, text: &str) -> (Vec<Measurement>, Vec<Diagnostic>) {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = reader.headers().cloned().unwrap_or_default();
    let (mut rows, mut diagnostics) = (Vec::new(), Vec::new());
    for record in reader.records() {
        match record {
            Ok(record) => {
                let fields = Fields { headers: &headers, record: &record, file, whole: text };
                rows.extend(fields.measurement(&mut diagnostics));
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
    (rows, diagnostics)
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
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        if number.is_none() && text.parse::<f64>() != Ok(0.0) {
            let line = u32::try_from(self.line()).unwrap_or(u32::MAX);
            let message = format!("`{text}` in {name} is no number");
            diagnostics
                .push(Diagnostic::warning(NOT_A_NUMBER, message).at(Place::new(self.file, line, 1, 0)));
        }
        number
    }

    fn measurement(&self, diagnostics: &mut Vec<Diagnostic>) -> Option<Measurement> {
        let collective =
            Collective::from_name(self.text("collective")).filter(|known| PREDICTED.contains(known))?;
        if self.text("num_nodes") != "1" || self.text("gpu").is_empty() {
            return None;
        }
        let gpus: Option<u16> = self.text("num_gpus").parse().ok();
        let factor = gpus.map(|gpus| collective.bus_factor(gpus.into()));
        let size = self.number("size_bytes", diagnostics);
        let algbw = self.number("algbw_GBps", diagnostics);
        let time_us = self.number("time_us", diagnostics);
        let from_time = time_us.zip(size).map(|(time_us, size)| size / time_us / 1000.0);
        let busbw = self.number("busbw_GBps", diagnostics);
        let busbw = busbw.or(algbw.or(from_time).zip(factor).map(|(algbw, factor)| algbw * factor));
        let algorithm = Some(self.text("algo").to_owned()).filter(|text| !text.is_empty());
        Some(Measurement {
            line: self.line(),
            system: self.text("system").to_owned(),
            gpu: self.text("gpu").to_owned(),
            gpus,
            intra_link: self.text("intra_link").to_owned(),
            collective,
            algorithm,
            size: size.map(|size| Bytes::new(Rate::from_gigabytes(size / 1e9).get())),
            busbw: busbw.map(Rate::from_gigabytes),
            source: self.text("source").to_owned(),
        })
    }
}
