//! Amounts of money, each in its currency; amounts of two currencies do not add up.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::quantity::{QuantityError, decimal};

const MILLION: u128 = 1_000_000;
const WHAT: &str = "a price";
const EXAMPLE: &str = "36000 USD";

/// A currency by its three letters (ISO 4217): `USD`, `EUR`; `XXX` is no currency, for prices in units of a paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// The dollar of the United States, in which nearly all published prices are.
    pub const USD: Self = Self(*b"USD");

    /// The three letters.
    pub fn word(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or("XXX")
    }

    fn parse(text: &str) -> Option<Self> {
        let letters: [u8; 3] = text.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Self(letters))
    }
}

/// An amount of money, exact to a millionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money {
    currency: Currency,
    millionths: u64,
}

impl Money {
    /// No money, in that currency.
    pub const fn zero(currency: Currency) -> Self {
        Self { currency, millionths: 0 }
    }

    /// The currency.
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// The amount, in units of the currency.
    #[expect(clippy::cast_precision_loss, reason = "printing and JSON only need 53 bits")]
    pub const fn as_units(self) -> f64 {
        self.millionths as f64 / 1e6
    }

    /// The sum; `None` where the currencies differ.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let millionths = self.millionths.saturating_add(other.millionths);
        (self.currency == other.currency).then_some(Self { millionths, ..self })
    }

    /// So many times this amount.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self { millionths: self.millionths.saturating_mul(count), ..self }
    }

    /// This amount times a factor; negative and non-finite factors give nothing.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturating float cast"
    )]
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { millionths: (self.millionths as f64 * factor).round() as u64, ..self }
    }
}

impl FromStr for Money {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || "._,".contains(c))).unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim());
        let Some((mantissa, scale)) = ungrouped(number).and_then(|number| decimal(&number)) else {
            return Err(QuantityError::NotANumber {
                text: text.to_owned(),
                quantity: WHAT,
                example: EXAMPLE,
            });
        };
        let suggestions = format!("`{number} USD` or `{number} EUR`");
        if unit.is_empty() {
            return Err(QuantityError::BareNumber { number: number.to_owned(), suggestions });
        }
        let Some(currency) = Currency::parse(unit) else {
            return Err(QuantityError::UnknownUnit { unit: unit.to_owned(), quantity: WHAT, suggestions });
        };
        let millionths = u64::try_from(mantissa * MILLION / scale)
            .map_err(|_| QuantityError::OutOfRange { text: text.to_owned(), quantity: WHAT })?;
        Ok(Self { currency, millionths })
    }
}

/// `1,234.5` without its commas; `None` where a comma does not stand before three digits.
fn ungrouped(number: &str) -> Option<String> {
    let whole = number.split('.').next().unwrap_or(number);
    let grouped = whole.split(',').skip(1).all(|group| group.len() == 3);
    let stray = number[whole.len()..].contains(',') || number.starts_with(',');
    (grouped && !stray).then(|| number.replace(',', ""))
}

impl fmt::Display for Money {
    /// `1,234,567 USD`; cents only below a hundred.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = if self.millionths >= 100_000_000 { 0 } else { 3 };
        let number = format!("{:.*}", places, self.as_units());
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        let mut text = String::new();
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        let fraction = fraction.trim_end_matches('0');
        if !fraction.is_empty() {
            text = format!("{text}.{fraction}");
        }
        f.pad(&format!("{text} {}", self.currency.word()))
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    #[test]
    fn money_has_a_currency_and_adds_only_within_it() {
        assert_eq!(money("310,000 USD"), money("310000 USD"));
        assert_eq!(money("310000 USD").checked_add(money("1.5 USD")).map(Money::as_units), Some(310_001.5));
        assert_eq!(money("1 USD").checked_add(money("1 EUR")), None);
        assert_eq!(money("0.078 USD").times(1_000_000), money("78000 USD"));
        assert_eq!(money("10 USD").scaled(1.25).to_string(), "12.5 USD");
        assert_eq!(money("1234567 USD").to_string(), "1,234,567 USD");
    }

    #[test]
    fn what_is_no_price_is_refused() {
        assert!("36000".parse::<Money>().unwrap_err().to_string().contains("has no unit"));
        for text in ["", "USD 5", "5 dollars", "1,23 USD", "1.2,345 USD", ",123 USD"] {
            assert!(text.parse::<Money>().is_err(), "{text}");
        }
    }
}
