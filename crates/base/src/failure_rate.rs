//! How often things fail: events per thing and time, never a bare number.
//!
//! Published rates differ in what they count (nodes, GPUs, links) and per how much of it (a day, a month, a thousand
//! node-days), and a rate that is quoted without saying so is off by a thousand more often than not.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::quantity::{QuantityError, decimal, split};

const EXAMPLE: &str = "0.0065 per node-day";
const WHAT: &str = "a failure rate";

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A server.
    Node,
    /// A GPU.
    Gpu,
    /// A link between a NIC and a switch, or between switches: both ends and the cable.
    Link,
    /// A network adapter.
    Nic,
    /// A switch.
    Switch,
    /// One module of an optical link.
    Transceiver,
    /// A whole job.
    Job,
}

impl Subject {
    const ALL: [Self; 7] =
        [Self::Node, Self::Gpu, Self::Link, Self::Nic, Self::Switch, Self::Transceiver, Self::Job];

    /// The word used in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Gpu => "GPU",
            Self::Link => "link",
            Self::Nic => "NIC",
            Self::Switch => "switch",
            Self::Transceiver => "transceiver",
            Self::Job => "job",
        }
    }
}

/// The times that rates are published for, and their hours.
const TIMES: [(&str, u128, u128); 4] =
    [("hour", 1, 1), ("day", 24, 1), ("month", 1461, 2), ("year", 8766, 1)];

/// Events per subject and time: `0.0065 per node-day`, `6.5 per 1000 node-days`, `0.057 % per link-month`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureRate {
    subject: Subject,
    /// Events in 10^15 hours of one subject.
    per_quadrillion_hours: u64,
    /// Index of the time that it was given for, for printing.
    time: u8,
    percent: bool,
}

const QUADRILLION: u128 = 1_000_000_000_000_000;

impl FailureRate {
    /// What fails.
    pub fn subject(self) -> Subject {
        self.subject
    }

    /// Expected events in an hour of one subject.
    #[expect(clippy::cast_precision_loss, reason = "rates are known to three digits")]
    pub fn per_hour(self) -> f64 {
        self.per_quadrillion_hours as f64 / 1e15
    }

    /// Expected events in a day of one subject.
    pub fn per_day(self) -> f64 {
        self.per_hour() * 24.0
    }
}

impl FromStr for FailureRate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        let (number, rest) = split(text);
        let Some((mantissa, scale)) = decimal(number) else {
            return Err(QuantityError::NotANumber {
                text: text.to_owned(),
                quantity: WHAT,
                example: EXAMPLE,
            });
        };
        let suggestions =
            format!("`{number} per node-day` or, a thousand times less, `{number} per 1000 node-days`");
        if rest.is_empty() {
            return Err(QuantityError::BareNumber { number: number.to_owned(), suggestions });
        }
        let unknown = || QuantityError::UnknownUnit {
            unit: rest.to_owned(),
            quantity: WHAT,
            suggestions: suggestions.clone(),
        };
        let (percent, after) = match rest.strip_prefix('%') {
            Some(after) => (true, after.trim_start()),
            None => (false, rest),
        };
        let of = after.strip_prefix("of links").map_or(after, str::trim_start);
        let per = of.strip_prefix("per ").ok_or_else(unknown)?;
        let (count, unit) = split(per.trim_start());
        let count: u128 = if count.is_empty() { 1 } else { count.parse().map_err(|_| unknown())? };
        let (subject, time) = subject_time(unit).ok_or_else(unknown)?;
        let (_, hours, halves) = TIMES[usize::from(time)];
        let numerator = mantissa * halves * QUADRILLION;
        let denominator = scale * hours * count * if percent { 100 } else { 1 };
        let per_quadrillion_hours =
            numerator.checked_div(denominator).and_then(|rate| u64::try_from(rate).ok());
        let out_of_range = QuantityError::OutOfRange { text: text.to_owned(), quantity: WHAT };
        Ok(Self { subject, per_quadrillion_hours: per_quadrillion_hours.ok_or(out_of_range)?, time, percent })
    }
}

/// `node-days` to (node, day).
fn subject_time(unit: &str) -> Option<(Subject, u8)> {
    let (subject, time) = unit.split_once('-')?;
    let subject = Subject::ALL.into_iter().find(|known| known.word().eq_ignore_ascii_case(subject))?;
    let time = time.strip_suffix('s').unwrap_or(time);
    let index = TIMES.iter().position(|(word, _, _)| *word == time)?;
    Some((subject, u8::try_from(index).ok()?))
}

impl fmt::Display for FailureRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, hours, halves) = TIMES[usize::from(self.time)];
        #[expect(clippy::cast_precision_loss, reason = "at most 8766")]
        let events = self.per_hour() * (hours as f64) / (halves as f64);
        let (value, sign) = if self.percent { (events * 100.0, " %") } else { (events, "") };
        // Three significant digits, which is more than any rate is known to.
        let (mut places, mut left) = (0, value);
        while left < 100.0 && places < 15 {
            (places, left) = (places + 1, left * 10.0);
        }
        let number = format!("{value:.places$}");
        let whole = |number: &str| number.trim_end_matches('0').trim_end_matches('.').to_owned();
        let number = if places > 0 { whole(&number) } else { number };
        f.pad(&format!("{number}{sign} per {}-{word}", self.subject.word()))
    }
}

impl Serialize for FailureRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FailureRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> FailureRate {
        text.parse().unwrap()
    }

    #[test]
    fn a_thousand_node_days_are_not_one() {
        assert_eq!(rate("6.5 per 1000 node-days"), rate("0.0065 per node-day"));
        assert!((rate("0.0065 per node-day").per_day() - 0.0065).abs() < 1e-12);
        let error = "0.0065".parse::<FailureRate>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`0.0065` has no unit; did you mean `0.0065 per node-day` or, a thousand times less, \
             `0.0065 per 1000 node-days`?"
        );
    }

    #[test]
    fn months_and_years_are_those_of_365_25_days() {
        // 0.057 % a month: 0.00057 / 730.5 h.
        let monthly = rate("0.057 % per link-month");
        assert_eq!(
            (monthly.subject(), monthly.to_string().as_str()),
            (Subject::Link, "0.057 % per link-month")
        );
        assert!((monthly.per_hour() - 0.00057 / 730.5).abs() < 1e-13);
        assert!((rate("0.173 per GPU-year").per_hour() - 0.173 / 8766.0).abs() < 1e-13);
        assert_eq!(rate("6.5 per 1000 node-days").to_string(), "0.0065 per node-day");
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in
            ["", "x", "0.1 per day", "0.1 per rack-day", "0.1 node-days", "0.1 per 0 node-days", "9 kg"]
        {
            assert!(text.parse::<FailureRate>().is_err(), "{text}");
        }
    }
}
