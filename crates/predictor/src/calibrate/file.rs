//! The file of a calibration: TOML that people can read and mend.

use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use weft_base::{Code, Diagnostic, Place};
use weft_collective::Collective;

use super::fit::{Copies, Fit, Kept, Observation};
use super::model::{COUNT, Model, Parameter, Values};
use super::{Calibration, CalibrationSource, Fitted, PairEvidence, Parts, Regime, Wire};
use crate::{Algorithm, Protocol};

/// A file of a calibration that cannot be read.
pub const CALIBRATION_FILE: Code = Code {
    name: "calibration-file",
    explanation: "A file of what a machine does differently, as `weft calibrate` writes it, has a key, a value or a version \
        that is not known. docs/reference/calibration-file.md lists all keys. Calibrate again, or mend the line that is named.",
};

/// The version of the file.
const VERSION: u32 = 2;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    version: toml::Spanned<u32>,
    machine: Option<String>,
    process_per_gpu: toml::Spanned<f64>,
    #[serde(default)]
    source: Vec<SourceFile>,
    parameters: ParametersFile,
    model: toml::Spanned<ModelFile>,
    #[serde(default)]
    copies: Vec<toml::Spanned<CopiesFile>>,
    #[serde(default)]
    measured: Vec<toml::Spanned<MeasuredFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceFile {
    file: String,
    rows: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ParametersFile {
    host_scale: toml::Spanned<FittedFile>,
    kernel_scale: toml::Spanned<FittedFile>,
    step_scale: toml::Spanned<FittedFile>,
    filling_scale: toml::Spanned<FittedFile>,
    stores_efficiency: toml::Spanned<FittedFile>,
    intra_efficiency: toml::Spanned<FittedFile>,
    inter_efficiency: toml::Spanned<FittedFile>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct FittedFile {
    value: f64,
    spread: f64,
}

/// [`Model`] as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ModelFile {
    deviations: Vec<f64>,
    unexplained: Vec<f64>,
    unexplained_at_turn: f64,
    unexplained_by_ranks: f64,
    turn: f64,
    doublings: f64,
    by_collective: f64,
    by_choice: f64,
    unexplained_by_collective: f64,
    unexplained_by_choice: f64,
    noise: f64,
    wider: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CopiesFile {
    share: f64,
    pairs: usize,
    spread: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MeasuredFile {
    collective: String,
    algorithm: String,
    protocol: String,
    wire: String,
    ranks: u32,
    bytes: Vec<f64>,
    measured_us: Vec<f64>,
    call_us: Vec<f64>,
    host_us: Vec<f64>,
    least_host_us: Vec<f64>,
    kernel_us: Vec<f64>,
    steps_us: Vec<f64>,
    filling_us: Vec<f64>,
    wire_us: Vec<f64>,
    count: Vec<f64>,
    weight: Vec<f64>,
}

/// A mistake, and where it is.
type Wrong = (String, Range<usize>);

impl Calibration {
    /// From the text of a file of that name.
    pub fn parse(name: &str, text: &str) -> Result<Self, Diagnostic> {
        let wrong = |message: String, span: Option<Range<usize>>| {
            let finding = Diagnostic::error(CALIBRATION_FILE, message)
                .hint("write it with `weft calibrate RUN… --machine SOURCE`");
            match span {
                Some(span) => finding.at(place(name, text, &span)),
                None => finding,
            }
        };
        let file: File = toml::from_str(text).map_err(|error| {
            // A file of another version has other keys: the version is what is wrong with it.
            match version(text) {
                Some((version, span)) if version != VERSION => wrong(other_version(version), Some(span)),
                Some(_) | None => wrong(error.message().trim_end().to_owned(), error.span()),
            }
        })?;
        file.calibration().map_err(|(message, span)| wrong(message, Some(span)))
    }

    /// The file's text; reads as the same calibration to the digits that it has.
    pub fn to_toml(&self) -> String {
        let mut text = String::from(
            "# What this machine does differently from what is predicted of its kind, by `weft calibrate`.\n\
             # Spreads are standard deviations of logarithms.\n",
        );
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "version = {VERSION}");
        if let Some(machine) = &self.machine {
            let _ = writeln!(text, "machine = {}", quoted(machine));
        }
        let _ = writeln!(text, "process-per-gpu = {:.4}", self.least_host_share);
        for source in &self.sources {
            let _ = writeln!(text, "\n[[source]]\nfile = {}\nrows = {}", quoted(&source.file), source.rows);
        }
        text.push_str("\n[parameters]\n");
        for parameter in Parameter::ALL {
            let Fitted { value, standard_error: spread } = self.fitted(parameter);
            let _ = writeln!(text, "{} = {{ value = {value:.5}, spread = {spread:.4} }}", parameter.name());
        }
        let Some(model) = &self.model else { return text };
        model.write(&mut text);
        for copies in &self.copies {
            let PairEvidence { share, pairs } = copies.evidence;
            let spread = copies.noise.sqrt();
            let _ = writeln!(text, "\n[[copies]]\nshare = {share:.4}\npairs = {pairs}\nspread = {spread:.4}");
        }
        let key = |kept: &Kept| (kept.row.regime, kept.row.parts.wire, kept.row.parts.ranks);
        for like in self.rows.chunk_by(|a, b| key(a) == key(b)) {
            write_rows(&mut text, like);
        }
        text
    }
}

impl File {
    fn calibration(self) -> Result<Calibration, Wrong> {
        if *self.version.get_ref() != VERSION {
            return Err((other_version(*self.version.get_ref()), self.version.span()));
        }
        let least_host_share = *self.process_per_gpu.get_ref();
        if !(0.0..=1.0).contains(&least_host_share) {
            return Err(("`process-per-gpu` is a share from 0 to 1".into(), self.process_per_gpu.span()));
        }
        let (mut factors, mut deviations): (Values, Values) = ([0.0; COUNT], [0.0; COUNT]);
        for (parameter, fitted) in Parameter::ALL.into_iter().zip(self.parameters.all()) {
            let FittedFile { value, spread } = *fitted.get_ref();
            let is_sound = value > 0.0 && value.is_finite() && spread >= 0.0 && spread.is_finite();
            if !is_sound {
                return Err(("a factor is above 0, and its spread not below".into(), fitted.span()));
            }
            let sign = if parameter.is_rate() { -1.0 } else { 1.0 };
            factors[parameter as usize] = sign * libm::log(value);
            deviations[parameter as usize] = spread;
        }
        let span = self.model.span();
        let model = self.model.get_ref().model().map_err(|message| (message, span.clone()))?;
        let mut copies = Vec::new();
        for it in &self.copies {
            copies.push(it.get_ref().copies().map_err(|message| (message, it.span()))?);
        }
        let mut rows = Vec::new();
        for it in &self.measured {
            rows.extend(it.get_ref().rows().map_err(|message| (message, it.span()))?);
        }
        let fit = Fit { model, least_host: least_host_share > 0.5, factors, kept: rows };
        let process = fit
            .process(&copies)
            .ok_or_else(|| ("the rows and the model contradict each other".to_owned(), span.clone()))?;
        let source = |it: SourceFile| CalibrationSource { file: it.file, rows: it.rows };
        Ok(Calibration {
            machine: self.machine,
            sources: self.source.into_iter().map(source).collect(),
            factors,
            deviations,
            least_host_share,
            model: Some(model),
            rows: fit.kept,
            copies,
            process: Some(process),
        })
    }
}

impl ParametersFile {
    /// In the order of [`Parameter::ALL`].
    fn all(&self) -> [&toml::Spanned<FittedFile>; COUNT] {
        [
            &self.host_scale,
            &self.kernel_scale,
            &self.step_scale,
            &self.filling_scale,
            &self.stores_efficiency,
            &self.intra_efficiency,
            &self.inter_efficiency,
        ]
    }
}

impl Model {
    fn write(&self, text: &mut String) {
        let list =
            |values: &Values| values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "\n[model]\ndeviations = [{}]", list(&self.deviations));
        let _ = writeln!(text, "unexplained = [{}]", list(&self.unexplained));
        for (name, value) in [
            ("unexplained-at-turn", self.unexplained_at_turn),
            ("unexplained-by-ranks", self.unexplained_by_ranks),
            ("turn", self.turn),
            ("doublings", self.length),
            ("by-collective", self.by_collective),
            ("by-choice", self.by_choice),
            ("unexplained-by-collective", self.unexplained_by_collective),
            ("unexplained-by-choice", self.unexplained_by_choice),
            ("noise", self.noise),
            ("wider", self.wider),
        ] {
            let _ = writeln!(text, "{name} = {value:.4}");
        }
    }
}

impl ModelFile {
    fn model(&self) -> Result<Model, String> {
        let values = |list: &[f64], name: &str| {
            let values: Option<Values> = list.try_into().ok();
            let sound = values.filter(|all| all.iter().all(|it| (0.0..f64::INFINITY).contains(it)));
            sound.ok_or_else(|| format!("`{name}` has {COUNT} numbers, one for each parameter, not below 0"))
        };
        let model = Model {
            deviations: values(&self.deviations, "deviations")?,
            by_collective: self.by_collective,
            by_choice: self.by_choice,
            unexplained: values(&self.unexplained, "unexplained")?,
            unexplained_at_turn: self.unexplained_at_turn,
            length: self.doublings,
            unexplained_by_collective: self.unexplained_by_collective,
            unexplained_by_choice: self.unexplained_by_choice,
            turn: self.turn,
            unexplained_by_ranks: self.unexplained_by_ranks,
            noise: self.noise,
            wider: self.wider,
        };
        let above = [
            model.length,
            model.turn,
            model.noise,
            model.wider,
            model.unexplained_at_turn,
            model.unexplained_by_ranks,
        ];
        if above.iter().any(|value| !(*value > 0.0 && value.is_finite())) {
            return Err("the numbers of the model are above 0".to_owned());
        }
        let shares = [
            (model.by_collective, model.by_choice),
            (model.unexplained_by_collective, model.unexplained_by_choice),
        ];
        let is_share = |(a, b): &(f64, f64)| *a >= 0.0 && *b >= 0.0 && a + b <= 1.0;
        if !shares.iter().all(is_share) {
            return Err(
                "what collectives and choices have by themselves are shares that add up to 1 at most".into(),
            );
        }
        Ok(model)
    }
}

impl CopiesFile {
    fn copies(&self) -> Result<Copies, String> {
        let is_sound = |value: f64| value > 0.0 && value.is_finite();
        if !is_sound(self.share) || !is_sound(self.spread) {
            return Err("the share of copies and its spread are above 0".to_owned());
        }
        let evidence = PairEvidence { share: self.share, pairs: self.pairs };
        Ok(Copies { evidence, noise: self.spread * self.spread })
    }
}

/// The columns of a table of rows, in the file's order.
const COLUMNS: [&str; 11] = [
    "bytes",
    "measured-us",
    "call-us",
    "host-us",
    "least-host-us",
    "kernel-us",
    "steps-us",
    "filling-us",
    "wire-us",
    "count",
    "weight",
];

/// Rows of one regime.
fn write_rows(text: &mut String, rows: &[Kept]) {
    let Some(Kept { row: Observation { regime, parts, .. }, .. }) = rows.first() else { return };
    let Regime { collective, algorithm, protocol } = regime;
    let _ = writeln!(
        text,
        "\n[[measured]]\ncollective = \"{}\"\nalgorithm = \"{}\"\nprotocol = \"{}\"\nwire = \"{}\"\nranks = {}",
        collective.name(),
        algorithm.name(),
        protocol.name(),
        parts.wire.name(),
        parts.ranks
    );
    let values: Vec<[f64; COLUMNS.len()]> = rows.iter().map(columns).collect();
    for (index, name) in COLUMNS.into_iter().enumerate() {
        let digits = if index == 0 { 0 } else { 4 };
        let list: Vec<String> = values.iter().map(|row| format!("{:.digits$}", row[index])).collect();
        let point = if index == 0 { ".0" } else { "" };
        let list: Vec<String> = list.into_iter().map(|value| value + point).collect();
        let _ = writeln!(text, "{name} = [{}]", list.join(", "));
    }
}

fn columns(kept: &Kept) -> [f64; COLUMNS.len()] {
    let Observation { parts, measured_us, .. } = kept.row;
    [
        parts.bytes,
        measured_us,
        parts.call_us,
        parts.host_us,
        parts.least_host_us,
        parts.kernel_us,
        parts.steps_us,
        parts.filling_us,
        parts.wire_us,
        kept.count,
        kept.weight,
    ]
}

impl MeasuredFile {
    fn rows(&self) -> Result<Vec<Kept>, String> {
        let unknown = |what: &str, name: &str| format!("there is no {what} `{name}`");
        let regime = Regime {
            collective: Collective::from_name(&self.collective)
                .ok_or_else(|| unknown("collective", &self.collective))?,
            algorithm: Algorithm::from_name(&self.algorithm)
                .ok_or_else(|| unknown("algorithm", &self.algorithm))?,
            protocol: Protocol::from_name(&self.protocol)
                .ok_or_else(|| unknown("protocol", &self.protocol))?,
        };
        let wire = Wire::from_name(&self.wire).ok_or_else(|| unknown("wire", &self.wire))?;
        let lists = [
            &self.bytes,
            &self.measured_us,
            &self.call_us,
            &self.host_us,
            &self.least_host_us,
            &self.kernel_us,
            &self.steps_us,
            &self.filling_us,
            &self.wire_us,
            &self.count,
            &self.weight,
        ];
        let count = self.bytes.len();
        if count == 0 || lists.iter().any(|list| list.len() != count) {
            return Err("all lists of measured rows have as many numbers each, at least one".to_owned());
        }
        let row = |index: usize| {
            let [
                bytes,
                measured_us,
                call_us,
                host_us,
                least_host_us,
                kernel_us,
                steps_us,
                filling_us,
                wire_us,
                count,
                weight,
            ] = lists.map(|list| list[index]);
            let ranks = self.ranks;
            let parts = Parts {
                ranks,
                bytes,
                call_us,
                host_us,
                least_host_us,
                kernel_us,
                steps_us,
                filling_us,
                wire_us,
                wire,
            };
            Kept { row: Observation { regime, parts, measured_us }, count, weight }
        };
        let rows: Vec<Kept> = (0..count).map(row).collect();
        if !rows.iter().all(is_sound) {
            return Err(
                "bytes, measured times, counts and weights are above 0, parts of times not below".to_owned()
            );
        }
        Ok(rows)
    }
}

/// Whether a row's numbers are what such numbers can be.
fn is_sound(kept: &Kept) -> bool {
    let all = columns(kept);
    let above = [all[0], all[1], kept.count, kept.weight, kept.row.parts.total_us()];
    all.iter().all(|value| (0.0..f64::INFINITY).contains(value)) && above.iter().all(|value| *value > 0.0)
}

fn other_version(version: u32) -> String {
    format!("this is version {version} of the file, not {VERSION}")
}

/// The version that a text claims, whatever else it holds.
fn version(text: &str) -> Option<(u32, Range<usize>)> {
    #[derive(Deserialize)]
    struct Claim {
        version: toml::Spanned<u32>,
    }
    let claim: Claim = toml::from_str(text).ok()?;
    Some((*claim.version.get_ref(), claim.version.span()))
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn place(name: &str, text: &str, span: &Range<usize>) -> Place {
    let before = text.get(..span.start).unwrap_or(text);
    let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let marked = text.get(span.clone()).and_then(|marked| marked.lines().next()).unwrap_or_default();
    Place::new(name, narrow(before.matches('\n').count() + 1), narrow(column), narrow(marked.chars().count()))
}
