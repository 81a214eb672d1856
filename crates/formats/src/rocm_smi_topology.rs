//! `rocm-smi --showtopo`, `--showtopoweight`, `--showtopohops`, `--showtopotype`, `--showtopoaccess`,
//! `--showtoponuma`: how AMD GPUs are linked.

use weft_catalogue::Catalogue;

use crate::evidence::Evidence;
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;
use crate::weight_tables::{Tool, assemble, scan};

/// The reader.
#[derive(Debug)]
pub struct RocmSmiTopology;

impl Format for RocmSmiTopology {
    fn name(&self) -> &'static str {
        Tool::RocmSmi.format()
    }

    fn title(&self) -> &'static str {
        "links between AMD GPUs, by rocm-smi"
    }

    fn command(&self) -> Option<&'static str> {
        Some("rocm-smi --showtopo")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["between two GPUs", "Numa Node:", "Numa Affinity:"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        claims(text, Tool::RocmSmi)
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        read(part, Tool::RocmSmi)
    }
}

/// The outputs of one of AMD's tools.
pub(crate) fn claims(text: &Text<'_>, tool: Tool) -> Vec<Claim> {
    let outputs = scan(text.lines).into_iter().filter(|output| output.tool == tool);
    outputs.map(|output| Claim::lines(output.lines)).collect()
}

/// Reads the first output in `part`.
pub(crate) fn read(part: &Part<'_>, tool: Tool) -> Read {
    let outputs = scan(&part.lines);
    let Some(output) = outputs.iter().find(|output| output.tool == tool) else {
        return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
    };
    let mut diagnostics = Vec::new();
    let matrix = assemble(output, part, &mut diagnostics);
    ranges::sort(&mut diagnostics);
    let place = part.start_at(output.lines.first().copied().unwrap_or(0));
    let evidence = vec![Located { value: Evidence::Weights(Box::new(matrix)), place }];
    Read { evidence, diagnostics, unused: ranges::unused(&part.lines, &output.lines) }
}
