//! NCCL's description of a host in XML: what `NCCL_TOPO_DUMP_FILE` writes and `NCCL_TOPO_FILE` reads. RCCL's are of
//! the same form with other links; those that clouds hand out often name PCI functions only.

mod read;
mod rewrite;
mod values;
mod write;

use weft_catalogue::Catalogue;

use crate::document::{read_xml, xml};
use crate::evidence::Evidence;
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::nccl_lint;
use crate::ranges;

pub(crate) use values::{class_of, identifier, integer, quoted_rate, speed};
pub use write::NcclTopologyWriter;

const ROOTS: [&str; 1] = ["system"];

/// The reader.
#[derive(Debug)]
pub struct NcclTopology;

impl Format for NcclTopology {
    fn name(&self) -> &'static str {
        "nccl-topology"
    }

    fn title(&self) -> &'static str {
        "a topology file of NCCL or RCCL (XML)"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["<system"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        xml(text.lines, &ROOTS).into_iter().map(Claim::yes).collect()
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        let (found, mut diagnostics) =
            read_xml(part, &ROOTS, |tree| (read::host(tree), nccl_lint::system(tree, catalogue)));
        diagnostics.extend(nccl_lint::text(part));
        let (host, findings) = found.unzip();
        diagnostics.extend(findings.into_iter().flatten());
        ranges::sort(&mut diagnostics);
        let evidence =
            host.map(|host| Located { value: Evidence::Host(Box::new(host)), place: part.start() });
        Read { evidence: evidence.into_iter().collect(), diagnostics, unused: Vec::new() }
    }
}
