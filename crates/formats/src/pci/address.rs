//! `0000:1b:00.0`.

use std::fmt;
use std::str::FromStr;

/// Where a PCI function stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// The domain (segment); virtual machines and some servers have many.
    pub domain: u32,
    /// The bus.
    pub bus: u8,
    /// The device on the bus, below 32.
    pub device: u8,
    /// The function of the device, below 8.
    pub function: u8,
}

/// The text is no address of a PCI function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a PCI address: expected one as in 0000:1b:00.0")]
pub struct NotAnAddress;

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for PciAddress {
    type Err = NotAnAddress;

    /// With or without a domain.
    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let (rest, function) = text.rsplit_once('.').ok_or(NotAnAddress)?;
        let (rest, device) = rest.rsplit_once(':').ok_or(NotAnAddress)?;
        let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0000", rest));
        let domain = hexadecimal(domain, 4..=8).ok_or(NotAnAddress)?;
        let small =
            |text, digits| hexadecimal(text, digits..=digits).and_then(|value| u8::try_from(value).ok());
        let bus = small(bus, 2).ok_or(NotAnAddress)?;
        let device = small(device, 2).filter(|device| *device < 32).ok_or(NotAnAddress)?;
        let function = small(function, 1).filter(|function| *function < 8).ok_or(NotAnAddress)?;
        Ok(Self { domain, bus, device, function })
    }
}

/// A number of so many hexadecimal digits.
pub(crate) fn hexadecimal(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let plain = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_a_domain() {
        let address: PciAddress = "000F:01:1f.7".parse().unwrap();
        assert_eq!((address.domain, address.bus, address.device, address.function), (15, 1, 31, 7));
        assert_eq!("1B:00.0".parse::<PciAddress>().unwrap().to_string(), "0000:1b:00.0");
        assert_eq!("10000:e0:06.0".parse::<PciAddress>().unwrap().to_string(), "10000:e0:06.0");
        for text in ["", "1b:00", "1b:20.0", "1b:00.8", "001:1b:00.0", "1:00.0", "+b:00.0", "é:00.0"] {
            assert_eq!(text.parse::<PciAddress>(), Err(NotAnAddress), "{text}");
        }
    }
}
