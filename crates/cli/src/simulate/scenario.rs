//! Scenario files: a cluster, jobs on it, and what goes wrong when.

use serde::Deserialize;
use toml::Spanned;
use weft_base::{Bytes, Diagnostic, Place, Rate, Ratio, Span};

use crate::codes::SCENARIO;

/// A scenario, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// A one-liner, a system's name, or a file beside the scenario.
    pub cluster: Spanned<String>,
    /// How the network behaves: a name of `weft show --list networks`.
    #[serde(default)]
    pub network: Option<Spanned<String>>,
    /// The share of packets that are lost for no fault of other traffic.
    #[serde(default)]
    pub loss: Option<Spanned<f64>>,
    /// How NICs send again what was lost.
    #[serde(default)]
    pub recovery: Option<RecoveryName>,
    /// Of all that is random.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// What runs.
    #[serde(default, rename = "job")]
    pub jobs: Vec<JobSpec>,
    /// What goes wrong.
    #[serde(default, rename = "fault")]
    pub faults: Vec<FaultSpec>,
}

fn first_seed() -> u64 {
    1
}

/// A job: a collective, alone or again and again with computation before it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct JobSpec {
    /// What it is called in the report.
    #[serde(default)]
    pub name: Option<String>,
    /// Its GPUs: `0-31`, a list, or `all`.
    #[serde(default)]
    pub gpus: Option<Spanned<String>>,
    /// What it does.
    pub collective: Spanned<String>,
    /// The message as nccl-tests counts it: the whole buffer.
    pub size: Spanned<Bytes>,
    /// How; the quickest that suits where none is said.
    #[serde(default)]
    pub algorithm: Option<Spanned<String>>,
    /// How often.
    #[serde(default = "once")]
    pub repeat: Spanned<u32>,
    /// What each rank computes before each time.
    #[serde(default)]
    pub compute: Span,
    /// When it begins.
    #[serde(default)]
    pub start: Span,
    /// What it does when a way is dead.
    #[serde(default)]
    pub on_fault: OnFault,
    /// How long a link must be dead until a job notices that fails over or begins again; the timeouts of NCCL's queue
    /// pairs, or of TCP, where it is not said.
    #[serde(default)]
    pub notice: Option<Spanned<Span>>,
    /// From then until a job begins again that does so.
    #[serde(default)]
    pub restart: Option<Spanned<Span>>,
    /// After every so many repetitions there is a state from which it can begin again.
    #[serde(default)]
    pub checkpoint: Option<Spanned<u32>>,
}

fn once() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

/// How NICs send again what was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryName {
    /// Everything from the lost packet on.
    GoBackN,
    /// The lost packet alone.
    SelectiveRepeat,
}

/// What a job does when a resource of its ways carries nothing any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFault {
    /// Waits until it carries again.
    #[default]
    Stall,
    /// Takes another way, where there is one, once the fault has been noticed.
    FailOver,
    /// Stops all ranks once the fault has been noticed, and begins again after a restart.
    Rerun,
}

impl OnFault {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stall => "stall",
            Self::FailOver => "fail-over",
            Self::Rerun => "rerun",
        }
    }
}

/// Something that goes wrong, and may come back.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FaultSpec {
    /// When.
    pub at: Span,
    /// A device or a link: `host3/NIC0`, `NET4`, `NET0 -> NET8`.
    pub what: Spanned<String>,
    /// What its links carry from then on: `down`, `50 %`, `25 GB/s`.
    pub carries: Spanned<String>,
    /// How long; for good where it is not said.
    #[serde(default, rename = "for")]
    pub lasts: Option<Span>,
    /// How often it comes again, as long after it has come back as it lasts: a flapping link.
    #[serde(default)]
    pub again: u32,
}

/// What links carry after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// A share of what they carry when whole.
    Share(Ratio),
    /// So much each.
    Rate(Rate),
}

impl Carries {
    /// Reads `down`, `50 %` or `25 GB/s`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "down" {
            return Ok(Self::Rate(Rate::ZERO));
        }
        if text.trim_end().ends_with('%') {
            return text
                .parse()
                .map(Self::Share)
                .map_err(|error: weft_base::QuantityError| error.to_string());
        }
        text.parse().map(Self::Rate).map_err(|error: weft_base::QuantityError| error.to_string())
    }

    /// What a link of that capacity carries then.
    pub fn of(self, capacity: Rate) -> Rate {
        match self {
            Self::Share(share) => capacity.times(share),
            Self::Rate(rate) => rate.min(capacity),
        }
    }
}

/// Whether a text is a scenario and not a machine.
pub fn is_scenario(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| line == "[[job]]")
}

/// Reads a scenario.
pub fn parse(name: &str, text: &str) -> Result<Scenario, Diagnostic> {
    let scenario: Scenario = toml::from_str(text).map_err(|error| {
        let message = error.message().trim_end().to_owned();
        let finding = Diagnostic::error(SCENARIO, message).hint("docs/reference/scenario.md lists all keys");
        match error.span() {
            Some(span) => finding.at(Place::in_text(name, text, &span)),
            None => finding,
        }
    })?;
    if scenario.jobs.is_empty() {
        return Err(Diagnostic::error(SCENARIO, "a scenario needs a job").hint("add a table `[[job]]`"));
    }
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cluster = \"4 x dgx-h100 @ single\"\n[[job]]\ncollective = \"all-reduce\"\nsize = \"1 GiB\"\n\
        [[fault]]\nat = \"1 ms\"\nwhat = \"host1/NIC0\"\ncarries = \"50 %\"\nfor = \"2 ms\"\n";

    #[test]
    fn a_scenario_is_read_with_its_defaults() {
        assert!(is_scenario(TEXT));
        let scenario = parse("s.toml", TEXT).unwrap();
        assert_eq!(scenario.seed, 1);
        assert_eq!(scenario.jobs[0].size.get_ref().get(), 1 << 30);
        assert_eq!(*scenario.jobs[0].repeat.get_ref(), 1);
        assert_eq!(scenario.jobs[0].on_fault, OnFault::Stall);
        assert_eq!(scenario.faults[0].lasts.map(Span::as_microseconds), Some(2000.0));
    }

    #[test]
    fn faults_say_what_is_left() {
        let link = Rate::bytes_per_second(50_000_000_000);
        assert_eq!(Carries::parse("down").map(|carries| carries.of(link)), Ok(Rate::ZERO));
        let half = Carries::parse("50 %").map(|carries| carries.of(link));
        assert_eq!(half, Ok(Rate::bytes_per_second(25_000_000_000)));
        let some = Carries::parse("12.5 GB/s").map(|carries| carries.of(link));
        assert_eq!(some, Ok(Rate::bytes_per_second(12_500_000_000)));
        assert!(Carries::parse("half").is_err());
    }

    #[test]
    fn wrong_keys_and_units_are_shown_where_they_stand() {
        let wrong = TEXT.replace("size = \"1 GiB\"", "size = \"1\"");
        let finding = parse("s.toml", &wrong).unwrap_err();
        assert_eq!(finding.place.map(|place| (place.line, place.column)), Some((4, 8)));
        let wrong = TEXT.replace("carries", "carry");
        assert_eq!(parse("s.toml", &wrong).unwrap_err().code.name, SCENARIO.name);
        assert!(parse("s.toml", "cluster = \"dgx-h100\"").is_err());
    }
}
