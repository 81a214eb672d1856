//! Units of rates and sizes as people write them into tables of their own.

use memchr::memchr_iter;
use weft_base::{Bytes, Rate};

/// A unit of rates: how many bytes per second one of it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateUnit {
    bytes_per_s: f64,
}

/// Spellings and their size in bytes per second; those that hold others come first.
const RATES: &[(&str, f64)] = &[
    ("GiB/s", 1_073_741_824.0),
    ("MiB/s", 1_048_576.0),
    ("TB/s", 1e12),
    ("GB/s", 1e9),
    ("GBytes/s", 1e9),
    ("GBps", 1e9),
    ("GB_s", 1e9),
    ("MB/s", 1e6),
    ("MBps", 1e6),
    ("Gb/s", 1.25e8),
    ("Gbit/s", 1.25e8),
    ("Gbps", 1.25e8),
    ("gbps", 1.25e8),
    ("Mb/s", 1.25e5),
    ("Mbps", 1.25e5),
];

impl RateUnit {
    /// What tables of NCCL are in.
    pub const GIGABYTES: Self = Self { bytes_per_s: 1e9 };
    /// What perftest calls `MB/sec`.
    pub const MEBIBYTES: Self = Self { bytes_per_s: 1_048_576.0 };
    /// What perftest calls `Gb/sec`.
    pub const GIGABITS: Self = Self { bytes_per_s: 1.25e8 };

    /// The unit that `text` names anywhere, and how it is written there.
    pub fn within(text: &str) -> Option<(Self, &'static str)> {
        // All of them end in one of these; lines of logs rarely hold any.
        let bytes = text.as_bytes();
        let ends = |at: usize| at.checked_sub(1).is_some_and(|before| b"/p_".contains(&bytes[before]));
        if !memchr_iter(b's', bytes).any(ends) {
            return None;
        }
        let known = RATES.iter().find(|(name, _)| text.contains(name))?;
        Some((Self { bytes_per_s: known.1 }, known.0))
    }

    /// `number` of this unit; `None` for what is no rate.
    pub fn rate(self, number: f64) -> Option<Rate> {
        let bytes = number * self.bytes_per_s;
        (bytes.is_finite() && bytes >= 0.0).then(|| Rate::from_gigabytes(bytes / 1e9))
    }

    /// A figure, with or without a unit of its own.
    pub fn parse(self, text: &str) -> Option<Rate> {
        let text = text.trim().trim_matches('*');
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let number: f64 = text[..end].parse().ok()?;
        match text[end..].trim() {
            "" => self.rate(number),
            rest => Self::within(rest)?.0.rate(number),
        }
    }
}

/// A size as in a table: a number and what stands behind it (`K`, `MiB`, nothing).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    number: f64,
    /// Thousands: 1 for `K`, 2 for `M`.
    thousands: i32,
    /// Whether the letters say that thousands are of 1024.
    is_binary: bool,
}

impl Size {
    /// From a cell.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let number: f64 = text[..end].parse().ok()?;
        let letters = text[end..].trim();
        let is_binary = letters.ends_with("iB") || letters.ends_with('i');
        let plain = letters.trim_end_matches("iB").trim_end_matches('i').trim_end_matches(['B', 'b']);
        let thousands = match plain {
            "" | "yte" | "ytes" | "bytes" | "Bytes" => 0,
            "K" | "k" => 1,
            "M" => 2,
            "G" => 3,
            "T" => 4,
            _ => return None,
        };
        (number < 1e18).then_some(Self { number, thousands, is_binary })
    }

    /// Whether it would be a size that programs use if its thousands were of 1024.
    #[expect(clippy::float_cmp, reason = "whole numbers of a table are compared with powers of two")]
    fn is_round(self) -> bool {
        (0..10).any(|power| self.number == f64::from(1 << power))
    }

    fn bytes(self, of_1024: bool) -> Bytes {
        let thousand: f64 = if of_1024 || self.is_binary { 1024.0 } else { 1000.0 };
        let bytes = (0..self.thousands).fold(self.number, |bytes, _| bytes * thousand);
        // Sizes of tables are whole; a rate of one second each is the way from floating point.
        Bytes::new(Rate::from_gigabytes(bytes / 1e9).get())
    }
}

/// Sizes of one column: `K` is 1024 where all of them are powers of two then, as in 4K, 8K, 16K; else 1000.
pub(crate) fn sizes(column: &[Size]) -> Vec<Bytes> {
    let of_1024 = column.iter().filter(|size| size.thousands > 0).all(|size| size.is_round());
    column.iter().map(|size| size.bytes(of_1024)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_of_1024_where_all_sizes_are_powers_of_two() {
        let of = |texts: &[&str]| sizes(&texts.iter().filter_map(|text| Size::new(text)).collect::<Vec<_>>());
        assert_eq!(of(&["1K", "64 KB", "1M"]), [1024, 65_536, 1 << 20].map(Bytes::new));
        assert_eq!(of(&["1K", "65K", "134M"]), [1000, 65_000, 134_000_000].map(Bytes::new));
        assert_eq!(of(&["3KiB", "8", "512 B", "1073741824"]), [3072, 8, 512, 1 << 30].map(Bytes::new));
        assert_eq!((Size::new("x"), Size::new("2 nodes"), Size::new("")), (None, None, None));
    }

    #[test]
    fn bits_and_bytes_are_told_apart() {
        let unit = RateUnit::within("busbw (Gb/s)").unwrap().0;
        assert_eq!(unit.parse("400"), Some(Rate::bytes_per_second(50_000_000_000)));
        assert_eq!(unit.parse("52 GB/s"), Some(Rate::bytes_per_second(52_000_000_000)));
        assert_eq!((unit.parse("fast"), unit.parse("-3")), (None, None));
    }
}
