//! Generations of InfiniBand and what their lanes carry.

use std::fmt;
use std::str::FromStr;

use weft_base::{Rate, TransferRate};
use weft_catalogue::Catalogue;

/// A generation of InfiniBand, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// 2.5 Gb/s a lane.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 10.3125 Gb/s.
    Fdr10,
    /// 14.0625 Gb/s.
    Fdr,
    /// 25.78125 Gb/s.
    Edr,
    /// 53.125 Gb/s.
    Hdr,
    /// 106.25 Gb/s.
    Ndr,
    /// 212.5 Gb/s.
    Xdr,
}

impl Generation {
    /// All, oldest first.
    pub const ALL: [Self; 9] =
        [Self::Sdr, Self::Ddr, Self::Qdr, Self::Fdr10, Self::Fdr, Self::Edr, Self::Hdr, Self::Ndr, Self::Xdr];

    /// As tools print it: `HDR`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sdr => "SDR",
            Self::Ddr => "DDR",
            Self::Qdr => "QDR",
            Self::Fdr10 => "FDR10",
            Self::Fdr => "FDR",
            Self::Edr => "EDR",
            Self::Hdr => "HDR",
            Self::Ndr => "NDR",
            Self::Xdr => "XDR",
        }
    }

    /// The catalogue's name of four lanes of it.
    pub fn link(self) -> &'static str {
        match self {
            Self::Sdr => "infiniband-sdr",
            Self::Ddr => "infiniband-ddr",
            Self::Qdr => "infiniband-qdr",
            Self::Fdr10 => "infiniband-fdr10",
            Self::Fdr => "infiniband-fdr",
            Self::Edr => "infiniband-edr",
            Self::Hdr => "infiniband-hdr",
            Self::Ndr => "infiniband-ndr",
            Self::Xdr => "infiniband-xdr",
        }
    }

    /// The generation of that word, in either case.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|generation| generation.word().eq_ignore_ascii_case(word))
    }

    /// The generation whose lanes signal at `lane`, within a hundredth: tools round.
    pub fn of_lane(lane: TransferRate, catalogue: &Catalogue) -> Option<Self> {
        let bits = lane.bits_per_second();
        Self::ALL.into_iter().find(|generation| {
            let own = catalogue.link(generation.link()).map(|link| link.lane.value.bits_per_second());
            own.is_ok_and(|own| own.abs_diff(bits) <= own / 100)
        })
    }

    fn index(self) -> usize {
        Self::ALL.iter().position(|generation| *generation == self).unwrap_or(0)
    }
}

/// Lanes and generation of a port: `4xHDR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signalling {
    /// Lanes.
    pub lanes: u8,
    /// What each lane runs.
    pub generation: Generation,
}

impl Signalling {
    /// `lanes` of `generation`.
    pub fn new(lanes: u8, generation: Generation) -> Self {
        Self { lanes, generation }
    }
}

impl fmt::Display for Signalling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}", self.lanes, self.generation.word()))
    }
}

/// The text is no width and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a link width and generation: expected lanes, `x` and SDR to XDR, as in 4xHDR")]
pub struct NotASignalling;

impl FromStr for Signalling {
    type Err = NotASignalling;

    /// `4xHDR`, `1xSDR`, `4XNDR`.
    fn from_str(text: &str) -> Result<Self, NotASignalling> {
        let (lanes, word) = text.split_once(['x', 'X']).ok_or(NotASignalling)?;
        let lanes =
            lanes.parse().ok().filter(|lanes| [1, 2, 4, 8, 12].contains(lanes)).ok_or(NotASignalling)?;
        Ok(Self { lanes, generation: Generation::of_word(word).ok_or(NotASignalling)? })
    }
}

/// What lanes of each generation carry, looked up once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rates {
    lane: [Option<Rate>; 9],
}

impl Rates {
    /// Of the catalogue's links.
    pub fn new(catalogue: &Catalogue) -> Self {
        // Twelve lanes: the exact rate of one lane may be a fraction of a byte.
        let rate = |generation: Generation| {
            let link = catalogue.link(generation.link()).ok()?;
            let encoding = link.encoding.as_ref().map_or(weft_base::Ratio::ONE, |fact| fact.value);
            Some(link.lane.value.rate(12, encoding))
        };
        Self { lane: Generation::ALL.map(rate) }
    }

    /// The one that carries less.
    pub fn slower(&self, a: Signalling, b: Signalling) -> Signalling {
        if self.of(b) < self.of(a) { b } else { a }
    }

    /// What a port of that width and generation carries in one direction after the line encoding.
    pub fn of(&self, signalling: Signalling) -> Option<Rate> {
        let twelve = self.lane[signalling.generation.index()]?;
        Some(Rate::bytes_per_second(twelve.get() * u64::from(signalling.lanes) / 12))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_and_generations_are_read_and_ordered() {
        let read = |text: &str| text.parse::<Signalling>();
        assert_eq!(read("4xHDR"), Ok(Signalling::new(4, Generation::Hdr)));
        assert_eq!(read("12xFDR10").map(|found| found.to_string()), Ok("12xFDR10".to_owned()));
        for text in ["", "x", "4x", "xHDR", "3xHDR", "4xABC", "4 x HDR"] {
            assert_eq!(read(text), Err(NotASignalling), "{text}");
        }
    }

    #[test]
    fn rates_are_those_of_the_catalogue() {
        let catalogue = Catalogue::embedded();
        let rates = Rates::new(catalogue);
        let of = |text: &str| rates.of(text.parse().unwrap()).unwrap().get();
        // 1 lane of HDR, 50 Gb/s, is less than 4 of FDR, 54.5 Gb/s.
        let (narrow, old) = ("1xHDR".parse().unwrap(), "4xFDR".parse().unwrap());
        assert_eq!((rates.slower(narrow, old), rates.slower(old, narrow)), (narrow, narrow));
        // HDR: 200 Gb/s on four lanes; SDR: 2.5 Gb/s a lane at 8/10; EDR: 100 Gb/s.
        assert_eq!((of("4xHDR"), of("1xSDR"), of("4xEDR")), (25_000_000_000, 250_000_000, 12_500_000_000));
        for generation in Generation::ALL {
            let link = catalogue.link(generation.link()).unwrap();
            let four = rates.of(Signalling::new(4, generation)).unwrap();
            assert!(four.get().abs_diff(link.rate(1).get()) <= 1, "{generation:?}");
            assert_eq!(Generation::of_lane(link.lane.value, catalogue), Some(generation));
        }
    }
}
