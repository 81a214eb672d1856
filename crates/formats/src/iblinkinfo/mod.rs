//! `iblinkinfo`: every port of an InfiniBand subnet with its link and what is at the other end; also with `-l` (one
//! line per port) and after `grep`, which takes the headers away.

mod assemble;
mod line;
#[cfg(test)]
mod tests;

use weft_catalogue::Catalogue;

use crate::format::{Claim, Format, Part, Read, Text};

/// The reader.
#[derive(Debug)]
pub struct Iblinkinfo;

impl Format for Iblinkinfo {
    fn name(&self) -> &'static str {
        "iblinkinfo"
    }

    fn title(&self) -> &'static str {
        "ports and links of an InfiniBand subnet"
    }

    fn command(&self) -> Option<&'static str> {
        Some("iblinkinfo")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["==("]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut indices = Vec::new();
        // A header counts if a port follows.
        let mut header = None;
        for (index, line) in text.lines.iter().enumerate() {
            if line::port(&line.text).is_some() {
                indices.extend(header.take());
                indices.push(index);
            } else if line::header(&line.text).is_some() {
                header = Some(index);
            } else if !line.is_blank() {
                header = None;
            }
        }
        if indices.is_empty() { Vec::new() } else { vec![Claim::lines(indices)] }
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        assemble::read(part, catalogue)
    }
}
