//! `xpu-smi topology -m`: how the tiles of Intel GPUs are linked. Known from Intel's documentation only.

use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, WeightMatrix};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;
use crate::weight_tables::{Barred, barred};

/// The reader.
#[derive(Debug)]
pub struct XpuSmiTopology;

const NAME: &str = "xpu-smi-topology";
const COLUMN: &str = "CPU Affinity";

impl Format for XpuSmiTopology {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "links between Intel GPUs, by xpu-smi"
    }

    fn command(&self) -> Option<&'static str> {
        Some("xpu-smi topology -m")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["|CPU Affinity", "| CPU Affinity"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        tables(text.lines).into_iter().map(|table| Claim::lines(table.lines)).collect()
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let tables = tables(&part.lines);
        let Some(table) = tables.first() else {
            return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        };
        let mut diagnostics = Vec::new();
        let mut square = table.square();
        for (row, column, text) in table.cells(part, is_word, &mut diagnostics) {
            square.link(row, column, text.to_owned());
        }
        let cpus = table.column(COLUMN).into_iter().map(|cell| cell.map(str::to_owned)).collect();
        let matrix = WeightMatrix { format: NAME, cpus, ..square.matrix };
        let place = part.start_at(table.lines.first().copied().unwrap_or(0));
        let evidence = vec![Located { value: Evidence::Weights(Box::new(matrix)), place }];
        Read { evidence, diagnostics, unused: ranges::unused(&part.lines, &table.lines) }
    }
}

/// Those of Intel's: NVIDIA's matrix between bars has the same header.
fn tables<'a>(lines: &'a [crate::format::Line<'a>]) -> Vec<Barred<'a>> {
    let own = |table: &Barred<'_>| {
        let gpus = table.gpus();
        table
            .rows
            .iter()
            .flat_map(|(_, _, cells)| cells.iter().take(gpus))
            .any(|cell| *cell == "S" || is_word(cell))
    };
    barred(lines, COLUMN).into_iter().filter(own).collect()
}

/// `MDF`, `XL16`, `XL*`, and the words of PCIe.
fn is_word(text: &str) -> bool {
    let lanes = |rest: &str| rest == "*" || rest.parse::<u16>().is_ok();
    matches!(text, "MDF" | "PIX" | "PXB" | "PHB" | "NODE" | "SYS")
        || text.strip_prefix("XL").is_some_and(lanes)
}
