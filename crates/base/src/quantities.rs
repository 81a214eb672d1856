//! The quantities. Inside: bytes, bytes per second, picoseconds. At every border: text with a unit.

use std::fmt;
use std::ops::{Add, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::quantity::{self, QuantityError, Unit};

const KILO: u128 = 1_000;
const MEGA: u128 = 1_000_000;
const GIGA: u128 = 1_000_000_000;
const TERA: u128 = 1_000_000_000_000;
const PETA: u128 = 1_000_000_000_000_000;
/// In milliseconds.
const HOUR: u128 = 3600 * KILO;
const MONTH: u128 = 8766 * HOUR / 12;

/// Declares a newtype over an integer count of base units, with parsing, printing and serde as text.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $what:literal, $example:literal, digits $digits:literal, $units:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
            const UNITS: &'static [Unit] = $units;
        }

        impl FromStr for $name {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                quantity::parse(text, $what, $example, Self::UNITS).map(Self)
            }
        }

        impl fmt::Display for $name {
            /// In the largest unit of at least 1; honours width and alignment.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&quantity::show(self.0, f.precision().unwrap_or($digits), Self::UNITS))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, times: u64) -> Self {
                Self(self.0.saturating_mul(times))
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }
    };
}

quantity! {
    /// An amount of data, in bytes. Prints in binary units (`256 MiB`); reads decimal ones too.
    Bytes, "an amount of data", "256 MiB", digits 5, &[
        Unit::shown("B", 1),
        Unit::read("kB", KILO, 1), Unit::read("MB", MEGA, 1), Unit::read("GB", GIGA, 1), Unit::read("TB", TERA, 1),
        Unit::shown("KiB", 1 << 10), Unit::shown("MiB", 1 << 20), Unit::shown("GiB", 1 << 30), Unit::shown("TiB", 1 << 40),
        Unit::read("b", 1, 8), Unit::read("kb", KILO, 8), Unit::read("Mb", MEGA, 8), Unit::read("Gb", GIGA, 8),
    ]
}

quantity! {
    /// A data rate in one direction, in bytes per second. Prints in `GB/s`; reads bits too (`400 Gb/s`).
    Rate, "a rate", "450 GB/s", digits 4, &[
        Unit::shown("B/s", 1), Unit::shown("kB/s", KILO), Unit::shown("MB/s", MEGA), Unit::shown("GB/s", GIGA),
        Unit::read("Gb/s", GIGA, 8), Unit::read("TB/s", TERA, 1),
        Unit::read("b/s", 1, 8), Unit::read("kb/s", KILO, 8), Unit::read("Mb/s", MEGA, 8), Unit::read("Tb/s", TERA, 8),
        Unit::read("KiB/s", 1 << 10, 1), Unit::read("MiB/s", 1 << 20, 1), Unit::read("GiB/s", 1 << 30, 1),
    ]
}

quantity! {
    /// A length of time in picoseconds (at most 213 days).
    Span, "a time", "1.5 us", digits 4, &[
        Unit::shown("ps", 1), Unit::shown("ns", KILO), Unit::shown("us", MEGA), Unit::read("µs", MEGA, 1),
        Unit::shown("ms", GIGA), Unit::shown("s", TERA), Unit::read("min", 60 * TERA, 1), Unit::read("h", 3600 * TERA, 1),
    ]
}

quantity! {
    /// Electrical power, in milliwatts.
    Power, "a power", "700 W", digits 4, &[Unit::shown("mW", 1), Unit::shown("W", KILO), Unit::shown("kW", MEGA), Unit::shown("MW", GIGA)]
}

quantity! {
    /// Arithmetic rate, in floating-point (or integer) operations per second.
    ComputeRate, "an arithmetic rate", "989 TFLOP/s", digits 4, &[
        Unit::shown("FLOP/s", 1), Unit::shown("GFLOP/s", GIGA), Unit::shown("TFLOP/s", TERA), Unit::shown("PFLOP/s", PETA),
        Unit::read("TOP/s", TERA, 1),
    ]
}

quantity! {
    /// Attenuation of a signal, in millidecibels.
    Loss, "a loss", "28 dB", digits 4, &[Unit::read("mdB", 1, 1), Unit::shown("dB", KILO)]
}

quantity! {
    /// A length of time of jobs, failures and prices, in milliseconds. A month is a twelfth of a year of 365.25 days.
    Period, "a time", "3.09 h", digits 3, &[
        Unit::shown("ms", 1), Unit::shown("s", KILO), Unit::shown("min", 60 * KILO), Unit::shown("h", HOUR),
        Unit::shown("d", 24 * HOUR), Unit::read("day", 24 * HOUR, 1), Unit::read("days", 24 * HOUR, 1),
        Unit::read("months", MONTH, 1), Unit::read("month", MONTH, 1), Unit::read("years", 12 * MONTH, 1),
        Unit::read("year", 12 * MONTH, 1),
    ]
}

quantity! {
    /// Electrical energy, in joules.
    Energy, "an energy", "12 kWh", digits 4, &[
        Unit::shown("J", 1), Unit::shown("Wh", 3600), Unit::shown("kWh", 3600 * KILO), Unit::shown("MWh", 3600 * MEGA),
        Unit::shown("GWh", 3600 * GIGA), Unit::shown("TWh", 3600 * TERA),
    ]
}

quantity! {
    /// A length of cable, in millimetres.
    Length, "a length", "3 m", digits 4, &[
        Unit::shown("mm", 1), Unit::read("cm", 10, 1), Unit::shown("m", KILO), Unit::shown("km", MEGA),
    ]
}

/// A point in simulated or measured time, in picoseconds from its start.
pub type Time = Span;

/// A point in time of jobs and failures, in milliseconds from the start of what is looked at.
pub type Moment = Period;

impl Bytes {
    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }
    /// The count of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The count of bytes, for arithmetic; exact up to 2^53.
    #[expect(clippy::cast_precision_loss, reason = "a plan of 8 PiB in one message does not exist")]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Rate {
    /// `count` bytes per second.
    pub const fn bytes_per_second(count: u64) -> Self {
        Self(count)
    }
    /// The count of bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// In gigabytes (10^9 bytes) per second.
    #[expect(clippy::cast_precision_loss, reason = "rates stay far below 2^53 B/s")]
    pub const fn as_gigabytes(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// From gigabytes (10^9 bytes) per second; negative and non-finite values become zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating float cast")]
    pub fn from_gigabytes(gigabytes_per_s: f64) -> Self {
        Self((gigabytes_per_s * 1e9).round() as u64)
    }
    /// This rate times an efficiency or a sharing factor, rounded down.
    #[must_use]
    pub fn times(self, ratio: Ratio) -> Self {
        let scaled = u128::from(self.0) * u128::from(ratio.numerator) / u128::from(ratio.denominator);
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
    /// How long `bytes` take at this rate; `None` at rate zero or beyond 213 days.
    pub fn span_for(self, bytes: Bytes) -> Option<Span> {
        let picoseconds = (u128::from(bytes.0) * TERA).checked_div(u128::from(self.0))?;
        u64::try_from(picoseconds).ok().map(Span)
    }
}

impl Span {
    /// `count` picoseconds.
    pub const fn picoseconds(count: u64) -> Self {
        Self(count)
    }
    /// The count of picoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// In seconds.
    #[expect(clippy::cast_precision_loss, reason = "printing and JSON only need 53 bits")]
    pub const fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// In microseconds.
    pub const fn as_microseconds(self) -> f64 {
        self.as_seconds() * 1e6
    }
    /// From microseconds; negative and non-finite values become zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating float cast")]
    pub fn from_microseconds(microseconds: f64) -> Self {
        Self((microseconds * 1e6).round() as u64)
    }
}

impl Power {
    /// In watts.
    #[expect(clippy::cast_precision_loss, reason = "printing and JSON only need 53 bits")]
    pub const fn as_watts(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Power {
    /// From milliwatts.
    pub const fn milliwatts(count: u64) -> Self {
        Self(count)
    }
    /// The energy that this power takes for a length of time, rounded down.
    pub fn during(self, period: Period) -> Energy {
        Energy(u64::try_from(u128::from(self.0) * u128::from(period.0) / MEGA).unwrap_or(u64::MAX))
    }
}

impl Energy {
    /// In kilowatt-hours.
    #[expect(clippy::cast_precision_loss, reason = "printing and JSON only need 53 bits")]
    pub const fn as_kilowatt_hours(self) -> f64 {
        self.0 as f64 / 3.6e6
    }
}

impl Period {
    /// A year of 365.25 days.
    pub const YEAR: Self = Self(8766 * 3_600_000);

    /// `count` milliseconds.
    pub const fn milliseconds(count: u64) -> Self {
        Self(count)
    }
    /// The count of milliseconds.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// In seconds.
    #[expect(clippy::cast_precision_loss, reason = "printing and JSON only need 53 bits")]
    pub const fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In hours.
    #[expect(clippy::cast_precision_loss, reason = "printing and JSON only need 53 bits")]
    pub const fn as_hours(self) -> f64 {
        self.0 as f64 / 3.6e6
    }
    /// From hours; negative and non-finite values become zero, and what is too long the longest there is.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating float cast")]
    pub fn from_hours(hours: f64) -> Self {
        Self((hours * 3.6e6).round() as u64)
    }
}

impl From<Span> for Period {
    /// The one way between the clock of fabrics and that of jobs; rounded to the nearest millisecond.
    fn from(span: Span) -> Self {
        Self(span.0.saturating_add(500_000_000) / 1_000_000_000)
    }
}

impl Loss {
    /// This loss times an amount, rounded down to a millidecibel.
    #[must_use]
    pub fn times(self, amount: Ratio) -> Self {
        let scaled = u128::from(self.0) * u128::from(amount.numerator) / u128::from(amount.denominator);
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
    /// In decibels.
    #[expect(clippy::cast_precision_loss, reason = "printing and JSON only need 53 bits")]
    pub const fn as_decibels(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl ComputeRate {
    /// In operations per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// In operations per second, rounded to a floating-point number.
    #[expect(clippy::cast_precision_loss, reason = "no rate is known to 53 bits")]
    pub const fn as_flops(self) -> f64 {
        self.0 as f64
    }
}

/// An exact fraction: an encoding (`128/130`), an efficiency (`0.92`, `92 %`), a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u32,
    denominator: u32,
}

impl Ratio {
    /// The whole.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// `numerator / denominator`; `None` if the denominator is zero.
    pub const fn new(numerator: u32, denominator: u32) -> Option<Self> {
        if denominator == 0 { None } else { Some(Self { numerator, denominator }) }
    }

    /// Numerator and denominator, which is not zero.
    pub const fn parts(self) -> (u32, u32) {
        (self.numerator, self.denominator)
    }

    /// As a floating-point number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }
}

impl FromStr for Ratio {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error =
            || QuantityError::NotANumber { text: text.to_owned(), quantity: "a ratio", example: "128/130" };
        let (text, hundred) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim(), 100),
            None => (text.trim(), 1),
        };
        let (numerator, denominator) = match text.split_once('/') {
            Some((numerator, denominator)) => (
                numerator.trim().parse().map_err(|_| error())?,
                denominator.trim().parse().map_err(|_| error())?,
            ),
            None => decimal_ratio(text).ok_or_else(error)?,
        };
        Self::new(numerator, denominator.checked_mul(hundred).ok_or_else(error)?).ok_or_else(error)
    }
}

/// `0.92` to (92, 100); at most six places.
fn decimal_ratio(text: &str) -> Option<(u32, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 6 {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    Some((digits.parse().ok()?, 10u32.pow(u32::try_from(fraction.len()).ok()?)))
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator.is_power_of_two() && self.denominator > 1
            || self.denominator == 130
            || self.denominator == 66
        {
            return f.pad(&format!("{}/{}", self.numerator, self.denominator));
        }
        f.pad(&format!("{}", self.as_f64()))
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
