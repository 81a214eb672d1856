//! Whether a matrix shows distances at all: virtual machines show one class for all pairs.

use weft_base::Diagnostic;
use weft_topology::ReportedClass;

use crate::codes;
use crate::matrix::{EndKind, Matrix};

/// As many GPUs of one class are rare enough on real boards to be worth a word.
const GPUS_MIN: usize = 4;

/// All GPUs alike to each other and to the NICs, and nothing that makes it plausible.
pub(super) fn hidden(matrix: &Matrix) -> Option<Diagnostic> {
    let word = only_class(matrix)?;
    if matrix.of_kind(EndKind::Gpu).count() < GPUS_MIN || is_plausible(word, &Places::of(matrix)) {
        return None;
    }
    let message =
        format!("all pairs are {word}: as in virtual machines, where the distances carry no meaning");
    let hint = "read the matrix on the host; NCCL can be given a topology file";
    let place = matrix.cells().first()?.place.clone();
    Some(Diagnostic::warning(codes::DISTANCES_HIDDEN, message).hint(hint).at(place))
}

/// The one PCIe class of all cells in rows of GPUs.
fn only_class(matrix: &Matrix) -> Option<ReportedClass> {
    let mut word = None;
    for cell in matrix.cells() {
        let is_gpu = matrix.ends()[cell.row].kind == EndKind::Gpu;
        let (true, Some(class)) = (is_gpu, cell.class) else { continue };
        if matches!(class, ReportedClass::Nv(_)) || *word.get_or_insert(class) != class {
            return None;
        }
    }
    word
}

/// Whether boards are built so that GPUs at these places are all of that class.
fn is_plausible(word: ReportedClass, places: &Places) -> bool {
    match word {
        // One GPU for each socket or for each die that is a NUMA node.
        ReportedClass::Sys => places.differ && !places.repeat,
        // EPYC has four root complexes for a NUMA node, each with a slot or two.
        ReportedClass::Node => !places.differ,
        // One switch or two for all; they are of one NUMA node.
        ReportedClass::Pix | ReportedClass::Pxb => !places.differ,
        // A host bridge has too few lanes for so many cards.
        ReportedClass::Phb => false,
        ReportedClass::Nv(_) | ReportedClass::Xgmi => true,
    }
}

/// What the affinities say of where GPUs are.
struct Places {
    /// Some are at different CPUs.
    differ: bool,
    /// Some are at the same.
    repeat: bool,
}

impl Places {
    fn of(matrix: &Matrix) -> Self {
        let said = |text: &Option<String>| text.clone().filter(|text| text != "N/A");
        let place = |end: usize| {
            let affinity = &matrix.ends()[end].affinity;
            said(&affinity.numa).or_else(|| said(&affinity.cpus))
        };
        let mut known: Vec<String> = matrix.of_kind(EndKind::Gpu).filter_map(place).collect();
        let count = known.len();
        known.sort();
        known.dedup();
        Self { differ: known.len() > 1, repeat: known.len() < count }
    }
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use crate::{Overrides, Source, join, read};

    /// Whether four GPUs of one class at those NUMA nodes are said to be hidden.
    fn is_hidden(word: &str, numa: [&str; 4]) -> bool {
        let row = |(row, node): (usize, &&str)| {
            let cells: Vec<&str> = (0..4).map(|column| if column == row { " X " } else { word }).collect();
            format!("GPU{row}\t{}\t{node}-{node}\t{node}\n", cells.join("\t"))
        };
        let rows: Vec<String> = numa.iter().enumerate().map(row).collect();
        let text = format!("\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n{}", rows.concat());
        let catalogue = Catalogue::embedded();
        let evidence = read(&Source::file("t", text), catalogue, None).evidence;
        let (_, findings) = join(evidence, &Overrides::default(), catalogue);
        findings.iter().any(|finding| finding.code.name == "distances-hidden")
    }

    #[test]
    fn boards_with_a_root_complex_for_each_gpu_are_real() {
        assert!(!is_hidden("NODE", ["0"; 4]));
        assert!(!is_hidden("SYS", ["0", "1", "2", "3"]));
        assert!(!is_hidden("PIX", ["1"; 4]));
    }

    #[test]
    fn one_class_that_the_nodes_do_not_bear_out_is_hidden() {
        assert!(is_hidden("PHB", ["0"; 4]));
        assert!(is_hidden("PIX", ["0", "0", "1", "1"]));
        assert!(is_hidden("NODE", ["0", "0", "1", "1"]));
        assert!(is_hidden("SYS", ["0"; 4]));
        assert!(is_hidden("SYS", ["0", "0", "1", "1"]));
    }
}
