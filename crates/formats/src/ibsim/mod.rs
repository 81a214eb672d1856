//! Net files of `ibsim`, the simulator of InfiniBand subnets. They have the form of `ibnetdiscover`, and names
//! where that has GUIDs.

mod write;

use weft_catalogue::Catalogue;

use crate::format::{Claim, Format, Part, Read, Text};
use crate::ibnetdiscover::{read, regions};

pub use write::{IbsimWriter, ibsim_net};

/// The reader.
#[derive(Debug)]
pub struct IbsimNet;

impl Format for IbsimNet {
    fn name(&self) -> &'static str {
        "ibsim"
    }

    fn title(&self) -> &'static str {
        "net file of ibsim, with names in place of GUIDs"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Switch\t", "Switch ", "Hca\t", "Hca ", "Ca\t", "Ca "]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mine = regions(text.lines).into_iter().filter(|region| region.is_net_file);
        mine.map(|region| Claim { runs: region.runs, ..Claim::yes(0..0) }).collect()
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        read(part, catalogue)
    }
}

#[cfg(test)]
mod tests;
