//! The table of GPUs that TransferBench prints when it is started without arguments.

use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, WeightMatrix};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;
use crate::weight_tables::{address, barred};

/// The reader.
#[derive(Debug)]
pub struct TransferBenchTopology;

const NAME: &str = "transferbench-topology";
/// The column that only this table has.
const COLUMN: &str = "PCIe Bus ID";

impl Format for TransferBenchTopology {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "links between AMD GPUs, by TransferBench"
    }

    fn command(&self) -> Option<&'static str> {
        Some("TransferBench")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[COLUMN]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        barred(text.lines, COLUMN).into_iter().map(|table| Claim::lines(table.lines)).collect()
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let tables = barred(&part.lines, COLUMN);
        let Some(table) = tables.first() else {
            return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        };
        let mut diagnostics = Vec::new();
        let mut square = table.square();
        for (row, column, text) in table.cells(part, |text| link(text).is_some(), &mut diagnostics) {
            if let Some((kind, hops)) = link(text) {
                square.link(row, column, kind.to_owned());
                square.hops(row, column, hops);
            }
        }
        let nodes = ["Closest NUMA", "ClosestNUMA", "NUMA"].map(|title| table.column(title));
        let nodes = nodes.into_iter().find(|nodes| nodes.iter().any(Option::is_some)).unwrap_or_default();
        let numa: Vec<Option<u32>> = nodes.into_iter().map(|cell| cell?.parse().ok()).collect();
        let addresses = table.column(COLUMN).into_iter().map(|cell| address(cell?)).collect();
        let arch = table.above.iter().flatten().map(|arch| Some((*arch).to_owned())).collect();
        let matrix = WeightMatrix { format: NAME, numa, addresses, arch, ..square.matrix };
        let place = part.start_at(table.lines.first().copied().unwrap_or(0));
        let evidence = vec![Located { value: Evidence::Weights(Box::new(matrix)), place }];
        Read { evidence, diagnostics, unused: ranges::unused(&part.lines, &table.lines) }
    }
}

/// `XGMI-1`: the kind of link and the hops.
fn link(text: &str) -> Option<(&'static str, u32)> {
    let (kind, hops) = text.rsplit_once('-')?;
    let kind = ["XGMI", "PCIE"].into_iter().find(|known| kind.eq_ignore_ascii_case(known))?;
    Some((kind, hops.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_kind_of_link_and_hops() {
        assert_eq!(link("XGMI-1"), Some(("XGMI", 1)));
        assert_eq!(link("PCIe-2"), Some(("PCIE", 2)));
        for text in ["-", "", "XGMI", "HT-1", "XGMI-"] {
            assert_eq!(link(text), None, "{text}");
        }
    }
}
