//! Text with a unit to an exact integer in the base unit, and back. A bare number never parses.

use thiserror::Error;

/// One accepted unit: its spelling and its size as a fraction of the quantity's base unit.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Exact spelling, case included.
    pub symbol: &'static str,
    /// Numerator of its size in base units.
    pub numerator: u128,
    /// Denominator of its size in base units.
    pub denominator: u128,
    /// Whether `show` may choose it.
    pub shown: bool,
}

impl Unit {
    /// A unit of a whole number of base units that output may use.
    pub const fn shown(symbol: &'static str, numerator: u128) -> Self {
        Self { symbol, numerator, denominator: 1, shown: true }
    }

    /// A unit that is read but never printed.
    pub const fn read(symbol: &'static str, numerator: u128, denominator: u128) -> Self {
        Self { symbol, numerator, denominator, shown: false }
    }
}

/// Why a text is not a quantity. Reads as "failed to parse {what}: {error}".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// A number without a unit.
    #[error("`{number}` has no unit; did you mean {suggestions}?")]
    BareNumber {
        /// The number as given.
        number: String,
        /// The likely readings, joined by "or".
        suggestions: String,
    },
    /// A unit of another kind, or none at all.
    #[error("`{unit}` is not a unit of {quantity}; did you mean {suggestions}?")]
    UnknownUnit {
        /// The unit as given.
        unit: String,
        /// What was expected, e.g. `a rate`.
        quantity: &'static str,
        /// The likely readings, joined by "or".
        suggestions: String,
    },
    /// No number at the start.
    #[error("`{text}` does not start with a number; expected {quantity}, for example `{example}`")]
    NotANumber {
        /// The text as given.
        text: String,
        /// What was expected.
        quantity: &'static str,
        /// An example that parses.
        example: &'static str,
    },
    /// Does not fit the quantity's range.
    #[error("`{text}` is out of range for {quantity}")]
    OutOfRange {
        /// The text as given.
        text: String,
        /// What was expected.
        quantity: &'static str,
    },
}

/// Parses `text` against `units` and returns the value in base units, rounded to the nearest.
pub(crate) fn parse(
    text: &str,
    quantity: &'static str,
    example: &'static str,
    units: &[Unit],
) -> Result<u64, QuantityError> {
    let text = text.trim();
    let (number, unit) = split(text);
    let Some((mantissa, scale)) = decimal(number) else {
        return Err(QuantityError::NotANumber { text: text.to_owned(), quantity, example });
    };
    if unit.is_empty() {
        return Err(QuantityError::BareNumber {
            number: number.to_owned(),
            suggestions: readings(number, units.iter().filter(|unit| unit.shown)),
        });
    }
    let Some(unit) = units.iter().find(|known| known.symbol == unit) else {
        return Err(unknown_unit(number, unit, quantity, units));
    };
    scaled(mantissa, scale, unit).ok_or_else(|| QuantityError::OutOfRange { text: text.to_owned(), quantity })
}

/// `1.5 us` to (`1.5`, `us`).
pub(crate) fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `1.25` to (125, 100). At most 18 digits, so that nothing overflows later.
pub(crate) fn decimal(number: &str) -> Option<(u128, u128)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: String = whole.chars().chain(fraction.chars()).filter(|c| *c != '_').collect();
    let plain = !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_digit());
    if !plain {
        return None;
    }
    let places = fraction.bytes().filter(u8::is_ascii_digit).count();
    Some((digits.parse().ok()?, 10u128.pow(u32::try_from(places).ok()?)))
}

fn scaled(mantissa: u128, scale: u128, unit: &Unit) -> Option<u64> {
    let numerator = mantissa.checked_mul(unit.numerator)?;
    let denominator = scale.checked_mul(unit.denominator)?;
    u64::try_from((numerator + denominator / 2) / denominator).ok()
}

fn unknown_unit(number: &str, unit: &str, quantity: &'static str, units: &[Unit]) -> QuantityError {
    let spelled = |known: &&Unit| known.symbol.eq_ignore_ascii_case(unit);
    let started = |known: &&Unit| {
        let same = |a: Option<char>, b: Option<char>| {
            a.map(|c| c.to_ascii_lowercase()) == b.map(|c| c.to_ascii_lowercase())
        };
        same(known.symbol.chars().next(), unit.chars().next())
    };
    let mut suggestions = readings(number, units.iter().filter(spelled));
    if suggestions.is_empty() {
        suggestions = readings(number, units.iter().filter(started));
    }
    if suggestions.is_empty() {
        suggestions = readings(number, units.iter().filter(|known| known.shown));
    }
    QuantityError::UnknownUnit { unit: unit.to_owned(), quantity, suggestions }
}

/// "`450 GB/s` or `450 Gb/s`", at most four.
fn readings<'a>(number: &str, units: impl Iterator<Item = &'a Unit>) -> String {
    let named: Vec<String> = units.take(4).map(|unit| format!("`{number} {}`", unit.symbol)).collect();
    named.join(" or ")
}

/// Prints `value` base units in the largest shown unit of at least 1, to `digits` significant digits,
/// trailing zeros cut. `units` are ordered from small to large.
pub(crate) fn show(value: u64, digits: usize, units: &[Unit]) -> String {
    let fits = |unit: &&Unit| unit.shown && u128::from(value) * unit.denominator >= unit.numerator;
    let smallest = units.iter().find(|unit| unit.shown);
    let Some(unit) = units.iter().rev().find(fits).or(smallest) else { return value.to_string() };
    format!("{} {}", significant(u128::from(value) * unit.denominator, unit.numerator, digits), unit.symbol)
}

/// `numerator / denominator` in plain decimal notation with `digits` significant digits.
fn significant(numerator: u128, denominator: u128, digits: usize) -> String {
    let whole_digits = (numerator / denominator).max(1).to_string().len();
    let places = digits.saturating_sub(whole_digits);
    let scale = 10u128.pow(u32::try_from(places).unwrap_or(0));
    let rounded = (numerator * scale + denominator / 2) / denominator;
    let (whole, fraction) = (rounded / scale, rounded % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{fraction:0places$}").trim_end_matches('0').to_owned()
}
