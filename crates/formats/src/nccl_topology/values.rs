use weft_base::{Rate, TransferRate};

/// A whole number as C's `strtol` reads it with base 0: blanks and a sign before it, `0x` for hexadecimal, and
/// whatever follows is left. `None` where no digit stands.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = i64::from_str_radix(&digits[..end], radix).ok()?;
    Some(if negative { -value } else { value })
}

/// The same, if it fits.
pub(super) fn number<T: TryFrom<i64>>(text: &str) -> Option<T> {
    integer(text).and_then(|value| T::try_from(value).ok())
}

/// A hexadecimal identifier of four digits, with or without `0x`.
pub(crate) fn identifier(text: &str) -> Option<u16> {
    u16::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// Base class and subclass of a PCI class with or without its interface: `0x030200`, `0302`.
pub(crate) fn class_of(text: &str) -> Option<u16> {
    let digits = text.trim().trim_start_matches("0x");
    u16::from_str_radix(digits.get(..4)?, 16).ok()
}

/// `0000:1b:00.0` of any spelling: in lower case, with the domain.
pub(super) fn address(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    match lower.matches(':').count() {
        1 => format!("0000:{lower}"),
        _ => match lower.split_once(':') {
            // NVML prints eight digits.
            Some((domain, rest)) if domain.len() == 8 => {
                format!("{}:{rest}", domain.strip_prefix("0000").unwrap_or(domain))
            }
            Some(_) | None => lower,
        },
    }
}

/// The signalling rate in the many spellings of kernels and people: `16.0 GT/s PCIe`, `16 GT/s`, `2.5/5.0 GT/s`
/// (of which the last counts). `None` where it is empty or unknown.
pub(crate) fn speed(text: &str) -> Option<TransferRate> {
    let value = text.split("GT/s").next().filter(|value| value.len() < text.len())?;
    let value = value.trim().rsplit('/').next().unwrap_or_default();
    format!("{value} GT/s").parse().ok()
}

/// Gigabytes per second, written without a unit, as NCCL counts.
pub(crate) fn quoted_rate(text: &str) -> Option<Rate> {
    let value: f64 = text.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then(|| Rate::from_gigabytes(value))
}

/// A flag: 0 or not.
pub(super) fn flag(text: &str) -> Option<bool> {
    integer(text).map(|value| value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        assert_eq!(integer(" 0x1f, rest"), Some(31));
        assert_eq!((integer("-1"), integer("16 lanes"), integer("")), (Some(-1), Some(16), None));
        assert_eq!((number::<u16>("70000"), number::<u32>("-1")), (None, None));
    }

    #[test]
    fn addresses_and_classes_have_one_spelling() {
        assert_eq!(address("00000000:1B:00.0"), "0000:1b:00.0");
        assert_eq!(address("1b:00.0"), "0000:1b:00.0");
        assert_eq!(address("10000:e1:00.0"), "10000:e1:00.0");
        assert_eq!(
            (class_of("0x030200"), class_of("0302"), class_of("3d")),
            (Some(0x302), Some(0x302), None)
        );
    }

    #[test]
    fn speeds_of_all_spellings() {
        let read = |text| speed(text).map(|speed| speed.bits_per_second() / 100_000_000);
        assert_eq!(read("16.0 GT/s PCIe"), Some(160));
        assert_eq!(read("32 GT/s PCIe/s"), Some(320));
        assert_eq!(read("2.5/5.0 GT/s PCIe"), Some(50));
        assert_eq!((read(""), read("Unknown"), read("fast GT/s")), (None, None, None));
    }
}
