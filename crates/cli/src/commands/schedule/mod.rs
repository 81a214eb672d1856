//! `weft schedule`.

mod fgd;
mod philly;
mod scenario;

use std::path::{Path, PathBuf};

use weft_base::{Diagnostic, nearest};
use weft_scheduler::philly::Locality;
use weft_scheduler::{STRATEGIES, Strategy};

use super::Answer;
use crate::codes::NO_SUCH_POLICY;
use crate::exit::{Exit, Failure};
use crate::json;

/// Who gets which GPUs: a scenario or a published trace under scheduling policies
///
/// A scenario in TOML has a cluster, queues, jobs and what breaks; tables of jobs (CSV) may stand beside it. It is played
/// in virtual time under each policy, and the report compares them; `--explain JOB` tells the story of one job with the
/// reasons for each step.
///
/// `--study fgd` repeats the study of fragmentation gradient descent (ATC'23): the pods of a trace come in random order,
/// one at a time, and stay, until 130 % of the cluster's GPUs have been asked for. The table says which share of the GPUs
/// is not allocated when so much has been asked for: what is left is too small, or lacks the CPU beside it. A pod that
/// fits somewhere is placed, none is moved, and no policy knows later pods.
///
/// `--study philly` plays the Philly trace (ATC'19), each of its virtual clusters on nodes of eight GPUs of its own, and
/// says how long jobs of each size wait.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A scenario in TOML and tables of its jobs; for a study the trace, or the folder in which it is
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// What is studied, instead of a scenario
    #[arg(long, value_enum, ignore_case = true, value_name = "STUDY")]
    study: Option<StudyName>,
    /// Only this policy; several are given one by one [default: those of the scenario, or all]
    #[arg(long, value_name = "NAME")]
    policy: Vec<String>,
    /// Tell the story of this job of the scenario
    #[arg(long, value_name = "JOB", conflicts_with = "study")]
    explain: Option<String>,
    /// fgd: only this trace, `default` for `openb_pod_list_default.csv`; several are given one by one [default: all]
    #[arg(long, value_name = "NAME")]
    trace: Vec<String>,
    /// fgd: orders of arrivals
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// fgd: the first seed; the others follow it
    #[arg(long, value_name = "NUMBER", default_value_t = 42)]
    first_seed: u64,
    /// fgd: what policies learn the usual pods from
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "PODS")]
    learn: LearnFrom,
    /// philly: GPUs of each cluster, as a share of its 95th-percentile demand; several are given one by one [default: 0.8
    /// and 1]
    #[arg(long, value_name = "SHARE", value_parser = percent)]
    size: Vec<u32>,
    /// philly: whether GPUs of a job have to be on the fewest nodes [default: both]
    #[arg(long, value_enum, ignore_case = true, value_name = "LOCALITY")]
    locality: Option<LocalityName>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StudyName {
    /// How much of the GPUs stays unallocated (Weng et al., ATC'23).
    Fgd,
    /// How long jobs wait (trace of Jeon et al., ATC'19).
    Philly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum LearnFrom {
    /// All pods of the trace, as in the study.
    #[default]
    All,
    /// One half of them; the other half comes.
    Half,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LocalityName {
    /// On the fewest nodes that can hold them.
    Required,
    /// Anywhere.
    Relaxed,
}

impl LocalityName {
    fn locality(self) -> Locality {
        match self {
            Self::Required => Locality::Required,
            Self::Relaxed => Locality::Relaxed,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// For a reader.
    #[default]
    Text,
    /// For a script: `schemas/schedule.json` describes it for the study fgd, `schedule-philly.json`, `schedule-run.json`.
    Json,
    /// A line for each job and policy.
    Csv,
    /// Plots over time.
    Svg,
    /// A page that compares policies.
    Html,
}

/// A share of demand, in percent.
fn percent(text: &str) -> Result<u32, String> {
    let share: f64 = text.parse().map_err(|_| "a share is a number such as 0.8".to_owned())?;
    let percent = (share * 100.0).round();
    if !(1.0..=10_000.0).contains(&percent) {
        return Err("a share is between 0.01 and 100".to_owned());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
    Ok(percent as u32)
}

pub fn run(args: &Args) -> Result<Answer, Failure> {
    answer(args).map_err(|mut failure| {
        if args.format == Format::Json {
            failure.document = Some(match args.study {
                Some(StudyName::Fgd) => json::text(&json::schedule::failed(&failure.diagnostics)),
                Some(StudyName::Philly) => json::text(&json::schedule_philly::failed(&failure.diagnostics)),
                None => json::text(&json::schedule_run::failed(&failure.diagnostics)),
            });
        }
        failure
    })
}

fn answer(args: &Args) -> Result<Answer, Failure> {
    match args.study {
        Some(study) => {
            let is_shown = matches!(args.format, Format::Text | Format::Json);
            if !is_shown {
                let message = "a study is printed as text or JSON";
                return Err(usage(message, "`--format text` or `--format json`"));
            }
            let only = only(&args.sources)?;
            match study {
                StudyName::Fgd => fgd::run(args, only),
                StudyName::Philly => philly::run(args, only),
            }
        }
        None => scenario::run(args),
    }
}

fn only(sources: &[PathBuf]) -> Result<&Path, Failure> {
    match sources {
        [only] => Ok(only),
        _ => Err(usage("a study takes one source", "give the trace, or the folder in which it is")),
    }
}

fn usage(message: &str, hint: &str) -> Failure {
    let why = Diagnostic::error(crate::codes::SCHEDULE_OPTIONS, message).hint(hint);
    Failure::new(Exit::Usage, "schedule", why)
}

fn unknown_policy(name: &str, known: &[&str]) -> Failure {
    let hint = match nearest(name, known.iter().copied(), 1).first() {
        Some(near) => format!("did you mean `{near}`? Policies are {}", known.join(", ")),
        None => format!("policies are {}", known.join(", ")),
    };
    let why = Diagnostic::error(NO_SUCH_POLICY, format!("there is no policy `{name}`"));
    Failure::new(Exit::Usage, "schedule", why.hint(hint))
}

/// Strategies by their names; all of them if none is named.
fn strategies(names: &[String]) -> Result<Vec<&'static Strategy>, Failure> {
    if names.is_empty() {
        return Ok(STRATEGIES.iter().collect());
    }
    let known: Vec<&str> = STRATEGIES.iter().map(|strategy| strategy.name).collect();
    names.iter().map(|name| Strategy::named(name).ok_or_else(|| unknown_policy(name, &known))).collect()
}
