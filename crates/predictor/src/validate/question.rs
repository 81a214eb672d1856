//! Rows that one prediction answers are asked together: a machine is built and searched once.

use weft_base::{Bytes, Rate};
use weft_catalogue::{Catalogue, Machine};
use weft_collective::Collective;
use weft_topology::Topology;

use super::{Measurement, Scored, machine};
use crate::{PeerAccess, Prediction, Request, Settings, default_sizes, predict};

/// The largest size to which a peak is compared.
const PEAK_SIZE_MAX: u64 = 16 << 30;

/// What is asked of the predictor for a row, all but the size.
#[derive(Debug, Clone, PartialEq)]
struct Question {
    machine: usize,
    collective: Collective,
    settings: Settings,
    access: PeerAccess,
}

/// Machines, each built once, with what was asked of them.
#[derive(Debug, Default)]
pub(super) struct Answers {
    machines: Vec<(Machine, Result<Topology, String>)>,
    asked: Vec<(Question, Result<Prediction, String>)>,
}

impl Answers {
    /// Predicts what every row measured, in the order of `rows`; the measured values are read only afterwards.
    pub fn of(rows: &[&Measurement], catalogue: &Catalogue) -> (Self, Vec<Result<usize, String>>) {
        let mut answers = Self::default();
        let mut sizes: Vec<Vec<Bytes>> = Vec::new();
        let questions: Vec<Result<usize, String>> =
            rows.iter()
                .map(|row| {
                    let question = answers.question(row, catalogue)?;
                    let known = answers.asked.iter().position(|(other, _)| *other == question);
                    let index = known.unwrap_or_else(|| {
                        answers.asked.push((question, Err(String::new())));
                        sizes.push(Vec::new());
                        answers.asked.len() - 1
                    });
                    match row.size {
                        Some(size) => sizes[index].push(size),
                        None => sizes[index]
                            .extend(default_sizes().into_iter().chain([Bytes::new(PEAK_SIZE_MAX)])),
                    }
                    Ok(index)
                })
                .collect();
        for (index, mut sizes) in sizes.into_iter().enumerate() {
            sizes.sort();
            sizes.dedup();
            answers.asked[index].1 = answers.predict(&answers.asked[index].0, sizes, catalogue);
        }
        (answers, questions)
    }

    fn question(&mut self, row: &Measurement, catalogue: &Catalogue) -> Result<Question, String> {
        let collective =
            row.collective.ok_or_else(|| format!("collective: `{}` is not known", row.collective_name))?;
        let machine = machine::of(row, catalogue)?;
        let known = self.machines.iter().position(|(other, _)| *other == machine);
        let machine = known.unwrap_or_else(|| {
            let built = weft_topology::build(&machine, catalogue);
            let topology = built.map(|built| built.topology).map_err(|error| error.to_string());
            self.machines.push((machine, topology));
            self.machines.len() - 1
        });
        let settings = row.software.settings(&row.algorithm, row.unmarked_by_sharp)?;
        let access = if row.says("P2P") { PeerAccess::Everywhere } else { PeerAccess::AsUsual };
        Ok(Question { machine, collective, settings, access })
    }

    fn predict(
        &self,
        question: &Question,
        sizes: Vec<Bytes>,
        catalogue: &Catalogue,
    ) -> Result<Prediction, String> {
        let topology = self.machines[question.machine].1.as_ref().map_err(Clone::clone)?;
        let mut request = Request::new(question.collective);
        request.sizes = sizes;
        request.access = question.access.clone();
        request.settings = question.settings.clone();
        predict(topology, catalogue, &request).map_err(|error| error.to_string())
    }

    /// The machine of a question in words.
    pub fn machine(&self, question: usize) -> String {
        machine::describe(&self.machines[self.asked[question].0.machine].0)
    }

    /// The answer to `question` beside what `row` measured.
    pub fn score(&self, question: usize, row: &Measurement) -> Result<Scored, String> {
        let prediction = self.asked[question].1.as_ref().map_err(Clone::clone)?;
        let answer = match row.size {
            Some(size) => prediction.rows.iter().find(|answer| answer.bytes == size),
            // The first of equals: the least message that reaches the peak.
            None => prediction.rows.iter().rev().max_by_key(|answer| answer.busbw),
        };
        let answer = answer.ok_or("no size was asked")?;
        let measured = row.busbw.ok_or("busbw_GBps, algbw_GBps and time_us are empty")?;
        let target = row.reading.as_ref().map_or(measured, |reading| {
            let (low, high) = reading.interval(measured);
            answer.busbw.clamp(low, high)
        });
        Ok(Scored {
            line: row.line,
            machine: self.machine(question),
            collective: prediction.collective,
            size: row.size,
            measured,
            predicted: answer.busbw,
            algorithm: answer.algorithm,
            protocol: answer.protocol,
            error: relative(answer.busbw, target),
            factor: factor(answer.busbw, target),
            warned: prediction.diagnostics.iter().map(|diagnostic| diagnostic.code.name).collect(),
        })
    }
}

/// |predicted - measured| / measured.
fn relative(predicted: Rate, measured: Rate) -> f64 {
    (predicted.as_gigabytes() - measured.as_gigabytes()).abs() / measured.as_gigabytes()
}

/// How many times the one is the other, whichever is larger.
fn factor(predicted: Rate, measured: Rate) -> f64 {
    let ratio = predicted.as_gigabytes() / measured.as_gigabytes();
    if ratio < 1.0 { 1.0 / ratio } else { ratio }
}
