//! Outputs of benchmarks against predictions of the machines that they ran on, by a table that tells which
//! machine each file is of, and whether it ran as it should.

use std::collections::BTreeMap;

use weft_base::{Bytes, Diagnostic, Place, Rate};
use weft_catalogue::{Catalogue, Machine};
use weft_collective::Collective;
use weft_formats::Benchmark;

use super::question::{Answer, Ask, Machines};
use super::score::{Case, report};
use super::{NOT_A_NUMBER, Report};
use crate::calibrate::Calibration;
use crate::{Launch, PeerAccess, Settings};

/// What is known of a run beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The machine ran as it should.
    Sound,
    /// Something was wrong with the machine: the run is slower than what is predicted of a sound one.
    Low,
    /// Nobody knows.
    Open,
    /// Not to be predicted.
    OutOfScope,
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The file, without its ending, below the corpus.
    pub file: String,
    /// The machine as a one-liner; empty where the run is out of scope.
    pub machine: String,
    /// What is known of it.
    pub expect: Expect,
    /// The collective, where the file does not say.
    pub collective: Option<Collective>,
    /// The library's version and variables, as the run had them.
    pub settings: Settings,
    /// What is assumed, or why it is out of scope.
    pub why: String,
}

/// A run with a known fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// What was wrong.
    pub why: String,
    /// Rows with a prediction.
    pub rows: usize,
    /// Median of measured over predicted bus bandwidth of messages of 1 MiB and above.
    pub median_ratio: Option<f64>,
}

/// Runs beside their predictions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Corpus {
    /// Sound runs; each file is a group.
    pub sound: Report,
    /// Runs of which nobody knows whether they are sound.
    pub open: Report,
    /// Runs with a known fault.
    pub faults: Vec<Fault>,
}

/// Reads the table: `file,machine,expect,collective,settings,why`. `name` is only used in places.
pub fn read_runs(name: &str, text: &str) -> (Vec<Run>, Vec<Diagnostic>) {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let (mut runs, mut diagnostics) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let line = record.as_ref().ok().and_then(|record| record.position().map(csv::Position::line));
        let run = record.map_err(|error| error.to_string()).and_then(|record| run(&record));
        match run {
            Ok(run) => runs.push(run),
            Err(why) => {
                let line = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(1);
                let message = format!("cannot read the row: {why}");
                diagnostics.push(Diagnostic::warning(NOT_A_NUMBER, message).at(Place::new(name, line, 1, 0)));
            }
        }
    }
    (runs, diagnostics)
}

fn run(record: &csv::StringRecord) -> Result<Run, String> {
    let field = |index: usize| record.get(index).unwrap_or("").trim();
    let expect = match field(2) {
        "good" | "neutral" => Expect::Sound,
        "low" => Expect::Low,
        "asked" => Expect::Open,
        "out" => Expect::OutOfScope,
        other => return Err(format!("expect is `{other}`, not good, neutral, low, asked or out")),
    };
    let collective = match field(3) {
        "" => None,
        name => Some(Collective::from_name(name).ok_or_else(|| format!("no collective `{name}`"))?),
    };
    let mut settings = Settings::default();
    for word in field(4).split_whitespace() {
        match word.split_once('=') {
            Some(("nccl", version)) => {
                settings.version = Some(version.parse().map_err(|error| format!("`{word}`: {error}"))?);
            }
            Some((name, value)) => {
                settings.read(name, value).map_err(|error| error.to_string())?;
            }
            None => return Err(format!("settings: `{word}` is no NAME=VALUE")),
        }
    }
    let (file, machine, why) = (field(0).to_owned(), field(1).to_owned(), field(5).to_owned());
    Ok(Run { file, machine, expect, collective, settings, why })
}

/// Predicts every row of `runs`, each given with the tables of its file, of machines as their kind is or all with that
/// calibration.
pub fn score_runs(
    runs: &[(Run, Vec<Benchmark>)],
    calibration: Option<&Calibration>,
    catalogue: &Catalogue,
) -> Corpus {
    let cases: Vec<(&Run, Case)> = runs
        .iter()
        .flat_map(|(run, tables)| cases(run, tables, catalogue).into_iter().map(move |case| (run, case)))
        .collect();
    let asks: Vec<Result<Ask, String>> =
        cases.iter().map(|(_, case)| case.ask.clone().map(|ask| ask.with(calibration))).collect();
    let answers = Machines::default().answer(&asks, catalogue);
    let of = |expect: Expect| {
        let pairs = cases.iter().zip(&answers).filter(move |((run, _), _)| run.expect == expect);
        pairs.map(|((run, case), answer)| (*run, case, answer))
    };
    let scored = |expect: Expect| report(of(expect).map(|(_, case, answer)| (case, answer.clone())));
    let mut ratios: BTreeMap<&str, (&Run, Vec<f64>, usize)> = BTreeMap::new();
    for (run, case, answer) in of(Expect::Low) {
        let fault = ratios.entry(&run.file).or_insert_with(|| (run, Vec::new(), 0));
        fault.2 += usize::from(answer.is_ok());
        fault.1.extend(answer.as_ref().ok().and_then(|answer| ratio(case, answer)));
    }
    let fault = |(run, ratios, rows): (&Run, Vec<f64>, usize)| Fault {
        file: run.file.clone(),
        why: run.why.clone(),
        rows,
        median_ratio: median(ratios),
    };
    Corpus {
        sound: scored(Expect::Sound),
        open: scored(Expect::Open),
        faults: ratios.into_values().map(fault).collect(),
    }
}

/// From here on bandwidth shows.
const LARGE_BYTES: u64 = 1 << 20;

/// Measured over predicted, of a large message.
fn ratio(case: &Case, answer: &Answer) -> Option<f64> {
    let measured = case.measured.filter(|_| case.size.is_some_and(|size| size.get() >= LARGE_BYTES))?;
    Some(measured.as_gigabytes() / answer.row.busbw.as_gigabytes())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// One case for each size of the tables of one file: out of place where both were run.
fn cases(run: &Run, tables: &[Benchmark], catalogue: &Catalogue) -> Vec<Case> {
    let machine = weft_topology::oneliner::parse(&run.machine, catalogue).map_err(|error| error.message);
    let mut rows = BTreeMap::new();
    // A collective of the table says that what has another name is one all the same.
    let is_collective = |table: &&Benchmark| table.operation.is_none() || run.collective.is_some();
    for table in tables.iter().filter(is_collective) {
        let ask = ask(run, table, machine.as_ref());
        let factor = ask.as_ref().ok().map(|ask| ask.collective.bus_factor(ranks(&ask.machine)));
        let collective = ask.as_ref().map_or("unnamed", |ask| ask.collective.name());
        let group = format!("{} | {collective} | {}", run.file, run.machine);
        for row in table.rows.iter().filter(|row| row.bytes > Bytes::ZERO) {
            let time_us = row.time.map(weft_base::Span::as_microseconds).filter(|time_us| *time_us > 0.0);
            let algbw = time_us.map(|time_us| row.bytes.as_f64() / time_us / 1000.0);
            let busbw = algbw.zip(factor).map(|(algbw, factor)| Rate::from_gigabytes(algbw * factor));
            let case = Case {
                file: run.file.clone(),
                group: group.clone(),
                system: run.machine.clone(),
                collective: collective.to_owned(),
                line: row.line.into(),
                size: Some(row.bytes),
                measured: busbw.or(row.busbw),
                reading: None,
                ask: ask.clone().map(|ask| Ask { size: Some(row.bytes), ..ask }),
            };
            if case.measured.is_some() {
                rows.entry(row.bytes).or_insert(case);
            }
        }
    }
    rows.into_values().collect()
}

/// A thread of nccl-tests starts the kernels of its GPUs one after the other, and has `nGpus` of them.
fn launch(table: &Benchmark) -> Option<Launch> {
    let (_, gpus) = table.parameters.iter().find(|(name, _)| name == "nGpus")?;
    let gpus: u16 = gpus.parse().ok()?;
    Some(if gpus > 1 { Launch::OneProcess } else { Launch::ProcessPerGpu })
}

fn ranks(machine: &Machine) -> usize {
    let per_host: usize = machine.gpus.iter().map(|group| usize::from(group.count)).sum();
    per_host * machine.host.count.max(1) as usize
}

/// What is asked of a table, all but the size.
fn ask(run: &Run, table: &Benchmark, machine: Result<&Machine, &String>) -> Result<Ask, String> {
    let machine = machine.map_err(Clone::clone)?;
    let own = table.collective.as_deref().and_then(Collective::from_name);
    let collective = run.collective.or(own).ok_or("the file does not name the collective")?;
    if let Some(count) = table.rank_count.filter(|count| *count != ranks(machine)) {
        return Err(format!("{count} ranks ran, but the machine has {} GPUs", ranks(machine)));
    }
    Ok(Ask {
        machine: machine.clone(),
        collective,
        settings: run.settings.clone(),
        access: PeerAccess::AsUsual,
        size: None,
        calibration: None,
        launch: launch(table),
    })
}
