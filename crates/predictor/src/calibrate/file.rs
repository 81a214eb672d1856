//! The file of a calibration: TOML that people can read and mend.

use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use weft_base::{Code, Diagnostic, Place};
use weft_collective::Collective;

use super::growth::Growth;
use super::{Calibration, CalibrationSource, Correction, Fitted, Knot};
use crate::{Algorithm, Protocol};

/// A file of a calibration that cannot be read.
pub const CALIBRATION_FILE: Code = Code {
    name: "calibration-file",
    explanation: "A file of what a machine does differently, as `weft calibrate` writes it, has a key, a value or a version \
        that is not known. docs/reference/calibration-file.md lists all keys. Calibrate again, or mend the line that is named.",
};

/// The version of the file.
const VERSION: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: toml::Spanned<u32>,
    machine: Option<String>,
    #[serde(default)]
    source: Vec<SourceFile>,
    parameters: ParametersFile,
    #[serde(default)]
    growth: Vec<toml::Spanned<GrowthFile>>,
    #[serde(default)]
    correction: Vec<toml::Spanned<CorrectionFile>>,
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
    launch_us: toml::Spanned<FittedFile>,
    step_scale: toml::Spanned<FittedFile>,
    ramp_scale: toml::Spanned<FittedFile>,
    intra_efficiency: toml::Spanned<FittedFile>,
    inter_efficiency: toml::Spanned<FittedFile>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct FittedFile {
    value: f64,
    spread: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrowthFile {
    collective: String,
    bytes: Vec<f64>,
    factor: Vec<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CorrectionFile {
    collective: String,
    algorithm: Option<String>,
    protocol: Option<String>,
    time_us: Vec<f64>,
    factor: Vec<f64>,
    spread: Vec<f64>,
}

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
        let file: File = toml::from_str(text)
            .map_err(|error| wrong(error.message().trim_end().to_owned(), error.span()))?;
        if *file.version.get_ref() != VERSION {
            let message = format!("this is version {} of the file, not {VERSION}", file.version.get_ref());
            return Err(wrong(message, Some(file.version.span())));
        }
        let factor = |fitted: &toml::Spanned<FittedFile>| {
            let FittedFile { value, spread } = *fitted.get_ref();
            let is_sound = value > 0.0 && value.is_finite() && spread >= 0.0 && spread.is_finite();
            let message =
                || wrong("a factor is above 0, and its spread not below".into(), Some(fitted.span()));
            if is_sound { Ok(Fitted { value, standard_error: spread }) } else { Err(message()) }
        };
        let launch = *file.parameters.launch_us.get_ref();
        if !launch.value.is_finite() || !(0.0..f64::INFINITY).contains(&launch.spread) {
            let span = file.parameters.launch_us.span();
            return Err(wrong("the launch is a number of microseconds".into(), Some(span)));
        }
        let corrections = file
            .correction
            .iter()
            .map(|it| correction(it.get_ref()).map_err(|message| wrong(message, Some(it.span()))));
        let growths = file
            .growth
            .iter()
            .map(|it| growth(it.get_ref()).map_err(|message| wrong(message, Some(it.span()))));
        Ok(Self {
            growths: growths.collect::<Result<_, _>>()?,
            machine: file.machine,
            sources: file
                .source
                .into_iter()
                .map(|it| CalibrationSource { file: it.file, rows: it.rows })
                .collect(),
            launch_us: Fitted { value: launch.value, standard_error: launch.spread },
            step_scale: factor(&file.parameters.step_scale)?,
            ramp_scale: factor(&file.parameters.ramp_scale)?,
            intra_efficiency: factor(&file.parameters.intra_efficiency)?,
            inter_efficiency: factor(&file.parameters.inter_efficiency)?,
            corrections: corrections.collect::<Result<_, _>>()?,
        })
    }

    /// The file's text; reads as the same calibration to the digits that it has.
    pub fn to_toml(&self) -> String {
        let mut text = String::from(
            "# What this machine does differently from what is predicted of its kind, by `weft calibrate`.\n\
             # Spreads are standard deviations: of a factor's logarithm, of the launch in microseconds.\n",
        );
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "version = {VERSION}");
        if let Some(machine) = &self.machine {
            let _ = writeln!(text, "machine = {}", quoted(machine));
        }
        for source in &self.sources {
            let _ = writeln!(text, "\n[[source]]\nfile = {}\nrows = {}", quoted(&source.file), source.rows);
        }
        text.push_str("\n[parameters]\n");
        for (name, fitted) in self.parameters() {
            let Fitted { value, standard_error: spread } = fitted;
            let _ = writeln!(text, "{name} = {{ value = {value:.4}, spread = {spread:.4} }}");
        }
        for growth in &self.growths {
            let list = |value: &dyn Fn(&(f64, f64)) -> String| {
                growth.knots.iter().map(value).collect::<Vec<_>>().join(", ")
            };
            let _ = writeln!(text, "\n[[growth]]\ncollective = \"{}\"", growth.collective.name());
            let _ = writeln!(text, "bytes = [{}]", list(&|(bytes, _)| format!("{bytes:.1}")));
            let _ = writeln!(text, "factor = [{}]", list(&|(_, factor)| format!("{factor:.4}")));
        }
        for correction in &self.corrections {
            let _ = writeln!(text, "\n[[correction]]\ncollective = \"{}\"", correction.collective.name());
            if let Some((algorithm, protocol)) = correction.choice {
                let _ = writeln!(
                    text,
                    "algorithm = \"{}\"\nprotocol = \"{}\"",
                    algorithm.name(),
                    protocol.name()
                );
            }
            let list = |value: &dyn Fn(&Knot) -> String| {
                correction.knots.iter().map(value).collect::<Vec<_>>().join(", ")
            };
            let _ = writeln!(text, "time-us = [{}]", list(&|knot| format!("{:.3}", knot.time_us)));
            let _ = writeln!(text, "factor = [{}]", list(&|knot| format!("{:.4}", knot.factor)));
            let _ = writeln!(text, "spread = [{}]", list(&|knot| format!("{:.4}", knot.spread)));
        }
        text
    }

    /// The parameters by their names in the file, in its order.
    pub fn parameters(&self) -> [(&'static str, Fitted); 5] {
        [
            ("launch-us", self.launch_us),
            ("step-scale", self.step_scale),
            ("ramp-scale", self.ramp_scale),
            ("intra-efficiency", self.intra_efficiency),
            ("inter-efficiency", self.inter_efficiency),
        ]
    }
}

fn growth(file: &GrowthFile) -> Result<Growth, String> {
    let collective = Collective::from_name(&file.collective)
        .ok_or_else(|| format!("there is no collective `{}`", file.collective))?;
    if file.bytes.len() != file.factor.len() {
        return Err("`bytes` and `factor` have as many numbers each".to_owned());
    }
    let knots: Vec<(f64, f64)> = file.bytes.iter().copied().zip(file.factor.iter().copied()).collect();
    let is_sound = |(bytes, factor): &(f64, f64)| {
        [bytes, factor].into_iter().all(|value| *value > 0.0 && value.is_finite())
    };
    let grows = |two: &[(f64, f64)]| two[0].0 < two[1].0 && two[0].1 <= two[1].1;
    if !knots.iter().all(is_sound) || !knots.windows(2).all(grows) {
        return Err("`bytes` ascend above 0, and `factor` does not fall".to_owned());
    }
    Ok(Growth { collective, knots })
}

fn correction(file: &CorrectionFile) -> Result<Correction, String> {
    let collective = Collective::from_name(&file.collective)
        .ok_or_else(|| format!("there is no collective `{}`", file.collective))?;
    let algorithm = file
        .algorithm
        .as_ref()
        .map(|name| Algorithm::from_name(name).ok_or_else(|| format!("there is no algorithm `{name}`")));
    let protocol = file
        .protocol
        .as_ref()
        .map(|name| Protocol::from_name(name).ok_or_else(|| format!("there is no protocol `{name}`")));
    let choice = match (algorithm.transpose()?, protocol.transpose()?) {
        (Some(algorithm), Some(protocol)) => Some((algorithm, protocol)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err("a correction names an algorithm and a protocol, or neither".to_owned());
        }
    };
    let lengths = [file.time_us.len(), file.factor.len(), file.spread.len()];
    if lengths[0] == 0 || lengths.iter().any(|length| *length != lengths[0]) {
        return Err("`time-us`, `factor` and `spread` have as many numbers each, at least one".to_owned());
    }
    let knots: Vec<Knot> = file
        .time_us
        .iter()
        .zip(&file.factor)
        .zip(&file.spread)
        .map(|((time_us, factor), spread)| Knot { time_us: *time_us, factor: *factor, spread: *spread })
        .collect();
    let is_sound = |knot: &Knot| {
        [knot.time_us, knot.factor].iter().all(|value| *value > 0.0 && value.is_finite())
            && (0.0..f64::INFINITY).contains(&knot.spread)
    };
    if !knots.iter().all(is_sound) {
        return Err("times and factors are above 0, spreads not below".to_owned());
    }
    // A longer time must stay the longer one.
    let grows = |two: &[Knot]| {
        two[0].time_us < two[1].time_us && two[0].time_us * two[0].factor < two[1].time_us * two[1].factor
    };
    if !knots.windows(2).all(grows) {
        return Err("`time-us` ascends, and so does `time-us` times `factor`".to_owned());
    }
    Ok(Correction { collective, choice, knots })
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
