//! What is asked: workloads, sizes, demands.

use std::fmt::Write as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weft_advisor::advice::{Demand, Size};
use weft_advisor::workload::Workload;
use weft_base::{Bytes, Diagnostic, Period};
use weft_catalogue::Catalogue;
use weft_formats::Source;

use crate::codes::NO_ADVICE;
use crate::exit::{Exit, Failure};

/// What is timed.
#[derive(Debug, clap::Args)]
pub struct WorkArgs {
    /// A model that is trained: `llama-3-70b`; its step is timed in the best layout of each candidate
    #[arg(long, value_name = "MODEL", requires = "batch")]
    train: Option<String>,
    /// Sequences of a step, over all GPUs
    #[arg(long, value_name = "SEQUENCES", requires = "train")]
    batch: Option<u32>,
    /// Tokens of a sequence [default: 4096]
    #[arg(long, value_name = "TOKENS", requires = "train")]
    sequence: Option<u32>,
    /// Of what matrices are multiplied: bf16, fp8, nvfp4, tf32, fp32 [default: bf16]
    #[arg(long, value_name = "PRECISION", requires = "train")]
    precision: Option<String>,
    /// The program that trains [default: megatron-core]
    #[arg(long, value_name = "NAME", requires = "train")]
    framework: Option<String>,
    /// The same in one line, one by one for several: `llama-3-70b, batch 1024, sequence 8192, weight 0.7`; weights share
    /// the tokens
    #[arg(long, value_name = "TEXT", conflicts_with = "train")]
    workload: Vec<String>,
    /// Tokens to train on: `15e12`, `15T`
    #[arg(long, value_name = "COUNT", value_parser = token_count)]
    tokens: Option<f64>,
    /// Within which time: `60 days`; without `--gpus` the smallest cluster of each kind is found
    #[arg(long, value_name = "TIME", requires = "tokens", value_parser = <Period as std::str::FromStr>::from_str)]
    deadline: Option<Period>,
    /// How long the system is used: `4 years`; gives the price of a million tokens
    #[arg(long, value_name = "TIME", value_parser = <Period as std::str::FromStr>::from_str)]
    lifetime: Option<Period>,
    /// Instead of a model: what each GPU adds up with all others in a step, alone
    #[arg(long, value_name = "SIZE", default_value = "1 GiB", value_parser = <Bytes as std::str::FromStr>::from_str)]
    pub all_reduce: Bytes,
    /// Instead of a model: what each GPU exchanges with all others in a step, alone
    #[arg(long, value_name = "SIZE", default_value = "0 B", value_parser = <Bytes as std::str::FromStr>::from_str)]
    pub all_to_all: Bytes,
}

/// `15e12`, `15T`, `300 B`.
fn token_count(text: &str) -> Result<f64, String> {
    let text = text.trim().trim_end_matches("tokens").trim();
    let (number, factor) = match text.char_indices().next_back() {
        Some((end, 'T')) => (&text[..end], 1e12),
        Some((end, 'B' | 'G')) => (&text[..end], 1e9),
        Some((end, 'M')) => (&text[..end], 1e6),
        Some(_) | None => (text, 1.0),
    };
    let count = number.trim().parse::<f64>().ok().filter(|count| count.is_finite() && *count > 0.0);
    count
        .map(|count| count * factor)
        .ok_or_else(|| format!("`{text}` is no number of tokens; write `15e12` or `15T`"))
}

impl WorkArgs {
    /// The workloads, none where an exchange is timed.
    pub fn workloads<'c>(&self, catalogue: &'c Catalogue) -> Result<Vec<Workload<'c>>, Failure> {
        let lines = self.composed().map_or_else(|| self.workload.clone(), |line| vec![line]);
        let read = |(index, line): (usize, &String)| {
            let name = if index == 0 { "workload".to_owned() } else { format!("workload {}", index + 1) };
            Workload::read(line, &name, catalogue).map_err(|error| {
                let source = Source::file(name.clone(), line.clone());
                Failure::because(Exit::Usage, "read the workload", vec![error], vec![source])
            })
        };
        lines.iter().enumerate().map(read).collect()
    }

    /// The line that the single options stand for.
    fn composed(&self) -> Option<String> {
        let mut line = self.train.clone()?;
        let numbers = [("batch", self.batch), ("sequence", self.sequence)];
        let words = [("precision", &self.precision), ("framework", &self.framework)];
        let numbers = numbers.into_iter().filter_map(|(key, number)| Some((key, number?.to_string())));
        let words = words.into_iter().filter_map(|(key, word)| Some((key, word.clone()?)));
        for (key, value) in numbers.chain(words) {
            let _ = write!(line, ", {key} {value}");
        }
        Some(line)
    }

    /// What is asked for besides the system.
    pub fn demand(&self) -> Demand {
        Demand { token_count: self.tokens, deadline: self.deadline, life: self.lifetime }
    }

    /// How large clusters are; what is missing to know that.
    pub fn size(&self, gpus: Option<u32>, is_limited: bool) -> Result<Size, Failure> {
        let is_trained = self.train.is_some() || !self.workload.is_empty();
        let wrong = |message: &str, hint: &str| {
            let finding = Diagnostic::error(NO_ADVICE, message).hint(hint);
            Failure::new(Exit::Usage, "give advice", finding)
        };
        if !is_trained && (self.tokens.is_some() || self.lifetime.is_some()) {
            return Err(wrong(
                "tokens need a model that is trained",
                "`--train llama-3-70b --batch 1024` names one",
            ));
        }
        match (gpus, self.deadline, is_limited) {
            (Some(_), _, _) => Ok(Size::Asked),
            (None, Some(_), _) => Ok(Size::Deadline),
            (None, None, true) if is_trained => Ok(Size::Limits),
            (None, None, _) => Err(wrong(
                "how large is it to be",
                "`--gpus 1024`; or with a model that is trained `--tokens 15e12 --deadline '60 days'`, or `--budget '40000000 USD'` for the most that it buys",
            )),
        }
    }
}

/// A line on standard error while candidates are looked at; nothing where that is no terminal.
pub fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} of {len} candidates")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4)).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::token_count;

    #[test]
    fn tokens_are_read_as_people_write_them() {
        for (text, count) in
            [("15e12", 15e12), ("15T", 15e12), ("300 B", 3e11), ("300B tokens", 3e11), ("500M", 5e8)]
        {
            assert_eq!(token_count(text), Ok(count), "{text}");
        }
        for text in ["", "many", "-3T", "0", "T"] {
            assert!(token_count(text).is_err(), "{text}");
        }
    }
}
