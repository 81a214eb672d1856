//! 64-bit names that devices are born with.

use std::fmt;
use std::str::FromStr;

/// A globally unique name of a device or a port (EUI-64), as InfiniBand gives them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(u64);

/// The text is no such name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a GUID: expected up to 16 hexadecimal digits, as in 0x506b4b0300a1b2c3")]
pub struct NotAGuid;

impl Guid {
    /// The name with these bits.
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

impl FromStr for Guid {
    type Err = NotAGuid;

    /// Hexadecimal digits, with or without `0x`, also in groups: `506b:4b03:00a1:b2c3`.
    fn from_str(text: &str) -> Result<Self, NotAGuid> {
        let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text).bytes();
        let mut bits: u64 = 0;
        let mut count = 0;
        for digit in digits.filter(|digit| *digit != b':') {
            let value = char::from(digit).to_digit(16).ok_or(NotAGuid)?;
            bits = bits << 4 | u64::from(value);
            count += 1;
        }
        if (1..=16).contains(&count) { Ok(Self(bits)) } else { Err(NotAGuid) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_is_printed_with_all_its_digits() {
        assert_eq!("0x2c903000a1".parse::<Guid>().unwrap().to_string(), "0x0000002c903000a1");
        assert_eq!("506b:4b03:00a1:b2c3".parse(), Ok(Guid::new(0x506b_4b03_00a1_b2c3)));
        for text in ["", "0x", "0x1g", "0x10000000000000000", "-1"] {
            assert_eq!(text.parse::<Guid>(), Err(NotAGuid), "{text}");
        }
    }
}
