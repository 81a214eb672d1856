//! Rows that one prediction answers are asked together: a machine is built and searched once.

use weft_base::{Bytes, Rate, Span};
use weft_catalogue::{Catalogue, Machine};
use weft_collective::Collective;
use weft_topology::Topology;

use super::{Measurement, machine};
use crate::calibrate::Calibration;
use crate::{Launch, PeerAccess, Prediction, Request, Row, Settings, default_sizes, predict};

/// The largest size to which a peak is compared.
const PEAK_SIZE_MAX: u64 = 16 << 30;

/// What is asked of the predictor for one row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ask {
    pub machine: Machine,
    pub collective: Collective,
    pub settings: Settings,
    pub access: PeerAccess,
    /// `None` for a peak.
    pub size: Option<Bytes>,
    pub calibration: Option<Calibration>,
    pub launch: Option<Launch>,
}

/// What is predicted of one row.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The machine in words.
    pub machine: String,
    pub collective: Collective,
    pub row: Row,
    /// Names of the warnings.
    pub warned: Vec<&'static str>,
}

impl Ask {
    /// The same of a machine with that calibration, where there is one.
    pub fn with(self, calibration: Option<&Calibration>) -> Self {
        Self { calibration: calibration.cloned(), ..self }
    }

    /// What is asked for a published row, from its words alone.
    pub fn of(row: &Measurement, catalogue: &Catalogue) -> Result<Self, String> {
        let collective =
            row.collective.ok_or_else(|| format!("collective: `{}` is not known", row.collective_name))?;
        Ok(Self {
            machine: machine::of(row, catalogue)?,
            collective,
            settings: row.software.settings(&row.algorithm, row.unmarked_by_sharp)?,
            access: if row.says("P2P") { PeerAccess::Everywhere } else { PeerAccess::AsUsual },
            size: row.size,
            calibration: None,
            launch: launch(row),
        })
    }
}

/// All of an [`Ask`] but the size.
#[derive(Debug, Clone, PartialEq)]
struct Question {
    machine: usize,
    collective: Collective,
    settings: Settings,
    access: PeerAccess,
    calibration: Option<Calibration>,
    launch: Option<Launch>,
}

/// Machines, each built once.
#[derive(Debug, Default)]
pub(super) struct Machines {
    built: Vec<(Machine, Result<Topology, String>)>,
}

impl Machines {
    fn index(&mut self, machine: &Machine, catalogue: &Catalogue) -> usize {
        if let Some(known) = self.built.iter().position(|(other, _)| other == machine) {
            return known;
        }
        let built = weft_topology::build(machine, catalogue);
        let topology = built.map(|built| built.topology).map_err(|error| error.to_string());
        self.built.push((machine.clone(), topology));
        self.built.len() - 1
    }

    /// Answers in the order of `asks`. No measured value is seen here.
    pub fn answer(
        &mut self,
        asks: &[Result<Ask, String>],
        catalogue: &Catalogue,
    ) -> Vec<Result<Answer, String>> {
        let mut questions: Vec<(Question, Vec<Bytes>)> = Vec::new();
        let asked: Vec<Result<usize, String>> = asks
            .iter()
            .map(|ask| match ask {
                Ok(ask) => Ok(self.add(ask, &mut questions, catalogue)),
                Err(why) => Err(why.clone()),
            })
            .collect();
        let answers: Vec<Result<Prediction, String>> = questions
            .into_iter()
            .map(|(question, sizes)| self.predict(&question, sizes, catalogue))
            .collect();
        let answer = |(ask, asked): (&Result<Ask, String>, Result<usize, String>)| {
            let prediction = answers[asked?].as_ref().map_err(Clone::clone)?;
            find(ask.as_ref().map_err(Clone::clone)?, prediction)
        };
        asks.iter().zip(asked).map(answer).collect()
    }

    /// The number of the question that answers `ask`.
    fn add(
        &mut self,
        ask: &Ask,
        questions: &mut Vec<(Question, Vec<Bytes>)>,
        catalogue: &Catalogue,
    ) -> usize {
        let question = Question {
            machine: self.index(&ask.machine, catalogue),
            collective: ask.collective,
            settings: ask.settings.clone(),
            access: ask.access.clone(),
            calibration: ask.calibration.clone(),
            launch: ask.launch,
        };
        let known = questions.iter().position(|(other, _)| *other == question);
        let index = known.unwrap_or_else(|| {
            questions.push((question, Vec::new()));
            questions.len() - 1
        });
        let sizes = &mut questions[index].1;
        match ask.size {
            Some(size) => sizes.push(size),
            None => sizes.extend(default_sizes().into_iter().chain([Bytes::new(PEAK_SIZE_MAX)])),
        }
        index
    }

    fn predict(
        &self,
        question: &Question,
        mut sizes: Vec<Bytes>,
        catalogue: &Catalogue,
    ) -> Result<Prediction, String> {
        let topology = self.built[question.machine].1.as_ref().map_err(Clone::clone)?;
        sizes.sort();
        sizes.dedup();
        let mut request = Request::new(question.collective);
        request.sizes = sizes;
        request.settings = question.settings.clone();
        request.access = question.access.clone();
        request.calibration.clone_from(&question.calibration);
        request.launch = question.launch;
        predict(topology, catalogue, &request).map_err(|error| error.to_string())
    }
}

/// The row of `prediction` that answers `ask`.
fn find(ask: &Ask, prediction: &Prediction) -> Result<Answer, String> {
    let row = match ask.size {
        Some(size) => prediction.rows.iter().find(|row| row.bytes == size),
        // The first of equals: the least message that reaches the peak.
        None => prediction.rows.iter().rev().max_by_key(|row| row.busbw),
    };
    Ok(Answer {
        machine: machine::describe(&ask.machine),
        collective: ask.collective,
        row: row.ok_or("no size was asked")?.clone(),
        warned: prediction.diagnostics.iter().map(|diagnostic| diagnostic.code.name).collect(),
    })
}

impl Answer {
    /// What a bus bandwidth of this row is as a time, in microseconds.
    pub fn time_us(&self, busbw: Rate) -> f64 {
        self.row.time.as_microseconds() * self.row.busbw.as_gigabytes() / busbw.as_gigabytes()
    }

    /// The interval of bus bandwidth that follows from that of the time.
    pub fn interval(&self) -> (Rate, Rate) {
        let at = |time: Span| {
            let share = self.row.time.as_microseconds() / time.as_microseconds();
            Rate::from_gigabytes(self.row.busbw.as_gigabytes() * share)
        };
        (at(self.row.high), at(self.row.low))
    }
}

/// Who starts the kernels: as the software says, but what runs back to back waits for nothing.
fn launch(row: &Measurement) -> Option<Launch> {
    let queued = row.algorithm.contains("back to back");
    row.software.launch.map(|launch| match launch {
        Launch::Framework if queued => Launch::ProcessPerGpu,
        Launch::Framework | Launch::ProcessPerGpu | Launch::OneProcess => launch,
    })
}
