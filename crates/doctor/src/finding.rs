//! A finding: a cause, what it rests on, what it costs, what to do.

use std::fmt;

use weft_base::{Place, Severity};

use crate::cause::{Cause, Nature};

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It would explain what is seen; other causes would too.
    Possible,
    /// Most who see this have that cause.
    Likely,
    /// The evidence leaves no other reading.
    Certain,
}

impl Confidence {
    /// The word used in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// A line of the input that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Where; absent for what the input lacks.
    pub place: Option<Place>,
    /// What stands there, in few words.
    pub says: String,
}

/// A figure, as text with its unit: `11.8 GB/s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// What it is of: `busbw of all-reduce at 1 GiB`.
    pub of: String,
    /// With its unit.
    pub value: String,
}

/// What a cause costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// In words: `about half of the bandwidth between GPU0 and GPU3`.
    pub text: String,
    /// The share of the bandwidth (or of the time) that is lost, from 0 to 1; 1 where nothing runs.
    pub share: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What is the matter.
    pub cause: &'static Cause,
    /// What exactly, on which devices: a sentence without a full stop.
    pub what: String,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it rests on, the most telling first.
    pub evidence: Vec<Evidence>,
    /// What should be.
    pub expected: Option<Figure>,
    /// What is.
    pub measured: Option<Figure>,
    /// What it costs.
    pub cost: Option<Cost>,
    /// What to do, with the command.
    pub fix: String,
    /// How to see that it worked.
    pub check: Option<String>,
    /// Where it is not certain: what output would settle it, with the command.
    pub settle: Option<String>,
}

impl Finding {
    /// A finding whose severity follows from its cause and from how sure it is: an error for what is broken and at least
    /// likely, a warning for what is possible, a note where nothing is wrong.
    pub fn new(cause: &'static Cause, confidence: Confidence, what: impl Into<String>) -> Self {
        Self {
            cause,
            what: what.into(),
            severity: severity(cause.nature, confidence),
            confidence,
            evidence: Vec::new(),
            expected: None,
            measured: None,
            cost: None,
            fix: String::new(),
            check: None,
            settle: None,
        }
    }

    /// The same with a line that it rests on.
    #[must_use]
    pub fn at(mut self, place: Place, says: impl Into<String>) -> Self {
        self.evidence.push(Evidence { place: Some(place), says: says.into() });
        self
    }

    /// The same with something that the input does not hold.
    #[must_use]
    pub fn without(mut self, says: impl Into<String>) -> Self {
        self.evidence.push(Evidence { place: None, says: says.into() });
        self
    }

    /// The same with what it costs; `share` from 0 to 1.
    #[must_use]
    pub fn costs(mut self, share: f64, text: impl Into<String>) -> Self {
        self.cost = Some(Cost { text: text.into(), share: share.clamp(0.0, 1.0) });
        self
    }

    /// The same with what to do.
    #[must_use]
    pub fn fix(mut self, text: impl Into<String>) -> Self {
        self.fix = text.into();
        self
    }

    /// The same with how to see that the fix worked.
    #[must_use]
    pub fn check(mut self, text: impl Into<String>) -> Self {
        self.check = Some(text.into());
        self
    }

    /// The same with what would settle it.
    #[must_use]
    pub fn settle(mut self, text: impl Into<String>) -> Self {
        self.settle = Some(text.into());
        self
    }

    /// The same with a figure that should be and one that is.
    #[must_use]
    pub fn figures(mut self, of: &str, expected: impl fmt::Display, measured: impl fmt::Display) -> Self {
        self.expected = Some(Figure { of: of.to_owned(), value: format!("{expected}") });
        self.measured = Some(Figure { of: of.to_owned(), value: format!("{measured}") });
        self
    }

    /// The same, surer or less sure; the severity follows.
    #[must_use]
    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self.severity = severity(self.cause.nature, confidence);
        self
    }

    /// The same with another severity than follows from its cause.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

fn severity(nature: Nature, confidence: Confidence) -> Severity {
    match (nature, confidence) {
        (Nature::Misreading, _) => Severity::Note,
        (Nature::Fault | Nature::Limit, Confidence::Possible) => Severity::Warning,
        (Nature::Fault | Nature::Limit, Confidence::Likely | Confidence::Certain) => Severity::Error,
    }
}
