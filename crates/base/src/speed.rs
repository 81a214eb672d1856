//! Signalling rates as links print them: `16 GT/s`, `16 GT/s x16`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::quantity::{self, QuantityError, Unit};
use crate::{Rate, Ratio};

/// Signalling rate of one lane in one direction, in transfers (bits before encoding) per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferRate(u64);

const UNITS: &[Unit] = &[
    Unit::shown("MT/s", 1_000_000),
    Unit::shown("GT/s", 1_000_000_000),
    Unit::read("Mb/s", 1_000_000, 1),
    Unit::read("Gb/s", 1_000_000_000, 1),
];

impl TransferRate {
    /// Bits on the wire per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// This rate times a factor, rounded down: of links that do not exist yet.
    #[must_use]
    pub fn times(self, factor: Ratio) -> Self {
        let (numerator, denominator) = factor.parts();
        let scaled = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// What `lanes` carry in one direction after `encoding`.
    pub fn rate(self, lanes: u16, encoding: Ratio) -> Rate {
        Rate::bytes_per_second(self.0 * u64::from(lanes) / 8).times(encoding)
    }
}

impl FromStr for TransferRate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        quantity::parse(text, "a signalling rate", "16 GT/s", UNITS).map(Self)
    }
}

impl fmt::Display for TransferRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&quantity::show(self.0, 7, UNITS))
    }
}

impl Serialize for TransferRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TransferRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// A signalling rate and a number of lanes: `16 GT/s x16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkSpeed {
    /// Of one lane in one direction.
    pub lane: TransferRate,
    /// How many lanes.
    pub lanes: u16,
}

impl FromStr for LinkSpeed {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError::NotANumber {
            text: text.to_owned(),
            quantity: "a link speed",
            example: "16 GT/s x16",
        };
        let (lane, lanes) = text.rsplit_once(['x', 'X']).ok_or_else(error)?;
        let lanes = lanes.trim().parse().ok().filter(|lanes| (1..=32).contains(lanes)).ok_or_else(error)?;
        Ok(Self { lane: lane.parse()?, lanes })
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} x{}", self.lane, self.lanes))
    }
}
