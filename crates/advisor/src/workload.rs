//! What is to be trained, in one line: `llama-3-70b, batch 1024, sequence 8192, precision fp8, weight 0.7`.

use weft_base::{Code, Diagnostic, Place, nearest};
use weft_catalogue::{Catalogue, Framework, Model, NotFound};
use weft_workload::Precision;

/// A workload that cannot be read.
pub const WORKLOAD_UNREADABLE: Code = Code {
    name: "workload-unreadable",
    explanation: "A workload is a model and what is said of it, with commas between: `llama-3-70b, batch 1024, sequence 8192, \
        precision bf16, framework megatron-core, weight 0.7`. Only the batch must be given: sequences of a step over all \
        GPUs. The weight is the workload's share of all tokens, over the sum of the weights.",
};

/// Tokens of a sequence where none are given.
const USUAL_SEQUENCE: u32 = 4096;
/// The program where none is given.
const USUAL_FRAMEWORK: &str = "megatron-core";
const KEYS: [&str; 5] = ["batch", "sequence", "precision", "framework", "weight"];
const PRECISIONS: [(&str, Precision); 7] = [
    ("bf16", Precision::Half),
    ("fp16", Precision::Half),
    ("fp8", Precision::Fp8),
    ("nvfp4", Precision::Fp4),
    ("fp4", Precision::Fp4),
    ("tf32", Precision::Tf32),
    ("fp32", Precision::Fp32),
];

/// A model that is trained in steps of some batch.
#[derive(Debug, Clone)]
pub struct Workload<'c> {
    /// The model.
    pub model: &'c Model,
    /// The program.
    pub framework: &'c Framework,
    /// Of what matrices are multiplied.
    pub precision: Precision,
    /// Sequences of a step, over all GPUs.
    pub batch: u32,
    /// Tokens of a sequence.
    pub sequence_tokens: u32,
    /// Tokens of it, in proportion to the weights of all.
    pub weight: f64,
}

impl<'c> Workload<'c> {
    /// Reads one line; `source` is what the line is called in a diagnostic.
    pub fn read(text: &str, source: &str, catalogue: &'c Catalogue) -> Result<Self, Diagnostic> {
        let mut fields = fields(text);
        let model = fields.next().filter(|field| !field.text.is_empty());
        let Some(model) = model else {
            let place = Place::new(source, 1, 1, 0);
            return Err(Diagnostic::error(WORKLOAD_UNREADABLE, "a workload begins with a model")
                .hint("for example `llama-3-70b, batch 1024`; `weft show --list models` names them")
                .at(place));
        };
        let mut read = Self {
            model: catalogue.model(model.text).map_err(|error| model.unknown(source, &error))?,
            framework: catalogue.framework(USUAL_FRAMEWORK).map_err(|error| model.unknown(source, &error))?,
            precision: Precision::Half,
            batch: 0,
            sequence_tokens: USUAL_SEQUENCE,
            weight: 1.0,
        };
        for field in fields {
            read.set(field, source, catalogue)?;
        }
        if read.batch == 0 {
            let end = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
            return Err(Diagnostic::error(WORKLOAD_UNREADABLE, "the batch is missing")
                .hint("add `, batch 1024`: sequences of a step, over all GPUs")
                .at(Place::new(source, 1, end + 1, 0)));
        }
        Ok(read)
    }

    fn set(&mut self, field: Field<'_>, source: &str, catalogue: &'c Catalogue) -> Result<(), Diagnostic> {
        let (key, value) = field.pair();
        let counted = |what: &str| {
            let number = value.text.replace('_', "").parse::<u32>().ok().filter(|number| *number > 0);
            number.ok_or_else(|| {
                value.wrong(
                    source,
                    format!("`{}` is no number of {what}", value.text),
                    "a whole number from 1 on",
                )
            })
        };
        match key.text {
            "batch" => self.batch = counted("sequences")?,
            "sequence" => self.sequence_tokens = counted("tokens")?,
            "framework" => {
                let found = catalogue.framework(value.text);
                self.framework = found.map_err(|error| value.unknown(source, &error))?;
            }
            "precision" => {
                let found = PRECISIONS.iter().find(|(word, _)| value.text.eq_ignore_ascii_case(word));
                let words: Vec<&str> = PRECISIONS.iter().map(|(word, _)| *word).collect();
                let hint = format!("one of {}", words.join(", "));
                let wrong = || value.wrong(source, format!("`{}` is no precision", value.text), hint);
                self.precision = found.ok_or_else(wrong)?.1;
            }
            "weight" => {
                let number =
                    value.text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
                let wrong = || {
                    value.wrong(
                        source,
                        format!("`{}` is no weight", value.text),
                        "a number above 0, such as 0.7",
                    )
                };
                self.weight = number.ok_or_else(wrong)?;
            }
            other => {
                let near = nearest(other, KEYS, 1).first().map_or("batch", |near| *near).to_owned();
                let what = format!("`{other}` is nothing that a workload has");
                return Err(key.wrong(source, what, format!("`{near}`? It has {}", KEYS.join(", "))));
            }
        }
        Ok(())
    }

    /// Tokens of a step.
    pub fn step_tokens(&self) -> f64 {
        f64::from(self.batch) * f64::from(self.sequence_tokens)
    }

    /// `llama-3-70b, batch 1024, sequence 8192, bf16`.
    pub fn words(&self) -> String {
        let Self { model, batch, sequence_tokens, precision, framework, .. } = self;
        let program =
            if framework.name == USUAL_FRAMEWORK { String::new() } else { format!(", {}", framework.name) };
        format!("{}, batch {batch}, sequence {sequence_tokens}, {}{program}", model.name, precision.word())
    }
}

/// A piece of the line with the column at which it begins, from 1.
#[derive(Debug, Clone, Copy)]
struct Field<'t> {
    text: &'t str,
    column: usize,
}

/// What stands between commas, without the space around it.
fn fields(text: &str) -> impl Iterator<Item = Field<'_>> {
    let mut column = 1;
    text.split(',').map(move |piece| {
        let start = column;
        column += piece.chars().count() + 1;
        Field { text: piece, column: start }.trimmed()
    })
}

impl Field<'_> {
    fn trimmed(self) -> Self {
        let text = self.text.trim_start();
        let skipped = self.text.chars().count() - text.chars().count();
        Self { text: text.trim_end(), column: self.column + skipped }
    }

    /// The word before the first space or `=`, and what is behind it.
    fn pair(self) -> (Self, Self) {
        let end = self.text.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(self.text.len());
        let (key, rest) = self.text.split_at(end);
        let key = Self { text: key, ..self };
        let mut rest = Self { text: rest, column: self.column + key.text.chars().count() }.trimmed();
        if let Some(behind) = rest.text.strip_prefix('=') {
            rest = Self { text: behind, column: rest.column + 1 }.trimmed();
        }
        (key, rest)
    }

    fn place(self, source: &str) -> Place {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Place::new(source, 1, count(self.column), count(self.text.chars().count()))
    }

    fn wrong(self, source: &str, message: String, hint: impl Into<String>) -> Diagnostic {
        Diagnostic::error(WORKLOAD_UNREADABLE, message).hint(hint).at(self.place(source))
    }

    fn unknown(self, source: &str, error: &NotFound) -> Diagnostic {
        self.wrong(source, error.to_string(), error.hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Workload<'static>, Diagnostic> {
        Workload::read(text, "--workload", Catalogue::embedded())
    }

    #[test]
    fn a_line_is_read_whatever_its_spaces() {
        let read = read("llama-3-70b ,batch 1024,  sequence=8192, precision FP8, weight 0.7").unwrap();
        assert_eq!((read.model.name.as_str(), read.batch, read.sequence_tokens), ("llama-3-70b", 1024, 8192));
        assert_eq!((read.precision, read.framework.name.as_str()), (Precision::Fp8, "megatron-core"));
        assert!((read.weight - 0.7).abs() < 1e-12 && (read.step_tokens() - 8_388_608.0).abs() < 0.5);
        assert_eq!(read.words(), "llama-3-70b, batch 1024, sequence 8192, fp8");
    }

    #[test]
    fn errors_say_the_column_and_what_to_write() {
        let at = |text: &str| {
            let error = read(text).unwrap_err();
            let place = error.place.clone().unwrap();
            assert_eq!(error.code.name, "workload-unreadable");
            (place.column, place.length, error.hint.unwrap())
        };
        // Columns counted by hand, from 1.
        for (text, column, length, hint) in [
            ("llama-3-70c, batch 8", 1, 11, "llama-3-70b"),
            ("llama-3-70b, bacth 8", 14, 5, "`batch`?"),
            ("llama-3-70b, batch many", 20, 4, "whole number"),
            ("llama-3-70b, batch 0", 20, 1, "whole number"),
            ("llama-3-70b, batch 8, precision fp7", 33, 3, "fp8"),
            ("llama-3-70b, batch 8, weight -1", 30, 2, "above 0"),
            ("llama-3-70b, sequence 8192", 27, 0, "batch 1024"),
            ("", 1, 0, "llama-3-70b"),
        ] {
            let found = at(text);
            assert!(found.0 == column && found.1 == length && found.2.contains(hint), "{text}: {found:?}");
        }
    }
}
