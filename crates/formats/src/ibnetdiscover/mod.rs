//! `ibnetdiscover`: every switch and adapter of an InfiniBand subnet with its cables. Net files of `ibsim` have
//! the same form and are read here too.

mod assemble;
mod ports;
mod record;
mod scan;

use weft_catalogue::Catalogue;

use crate::format::{Claim, Format, Part, Read, Text};

pub(crate) use assemble::read;
pub use ports::IbnetdiscoverPorts;
pub(crate) use scan::regions;

/// The reader.
#[derive(Debug)]
pub struct Ibnetdiscover;

impl Format for Ibnetdiscover {
    fn name(&self) -> &'static str {
        "ibnetdiscover"
    }

    fn title(&self) -> &'static str {
        "switches, adapters and cables of an InfiniBand subnet"
    }

    fn command(&self) -> Option<&'static str> {
        Some("ibnetdiscover")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["\"S-", "\"H-", "\"R-"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mine = regions(text.lines).into_iter().filter(|region| !region.is_net_file);
        mine.map(|region| Claim { runs: region.runs, ..Claim::yes(0..0) }).collect()
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        read(part, catalogue)
    }
}

#[cfg(test)]
mod tests;
