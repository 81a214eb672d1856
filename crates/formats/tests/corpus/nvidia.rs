//! The matrices of nvidia-smi.

use weft_catalogue::Catalogue;
use weft_formats::{EndKind, Evidence, Matrix, Overrides, PeerMatrix, Reading, join};
use weft_testkit::corpus::{self, Counts, Expected};
use weft_testkit::noted::{self, Noted};
use weft_topology::{NodeKind, ReportedClass, build, reported_class};

use crate::reading;

/// Files whose notes cannot be right, with what they hold, counted by hand, and why.
fn corrected(file: &Noted, expected: Expected) -> Expected {
    if file.is("061-") {
        // The bars of the table were counted as cells, so that the notes miss half of the true ones.
        let gpu_gpu = [("PHB", 4), ("SYS", 26)].map(|(class, count)| (class.to_owned(), count)).into();
        return Expected { gpu_gpu: Some(gpu_gpu), gpu_nic: Some(Counts::new()), ..expected };
    }
    expected
}

/// What differs from the notes of a matrix.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if file.kind != "A" {
        return None;
    }
    let misses = match (corpus::expected(&file.expected), found(reading)) {
        (Err(error), _) => vec![error.to_string()],
        (Ok(_), None) => vec!["nothing was read".to_owned()],
        (Ok(expected), Some(found)) => corrected(file, expected).misses(&found),
    };
    Some(misses)
}

/// What the first matrix holds: distances if there are any, else accesses.
fn found(reading: &Reading) -> Option<Expected> {
    let distances = reading.evidence.iter().find_map(|evidence| {
        let Evidence::Topology(matrix) = &evidence.value else { return None };
        Some(of_matrix(matrix))
    });
    distances.or_else(|| {
        reading.evidence.iter().find_map(|evidence| {
            let Evidence::Peers(matrix) = &evidence.value else { return None };
            Some(of_peers(matrix))
        })
    })
}

fn of_matrix(matrix: &Matrix) -> Expected {
    let mut found = Expected {
        gpus: matrix.of_kind(EndKind::Gpu).count(),
        nics: matrix.of_kind(EndKind::Nic).count(),
        ..Expected::default()
    };
    let (mut gpu_gpu, mut gpu_nic) = (Counts::new(), Counts::new());
    for cell in matrix.cells() {
        let Some(class) = cell.class else { continue };
        let counts = match (matrix.ends()[cell.row].kind, matrix.ends()[cell.column].kind) {
            (EndKind::Gpu, EndKind::Gpu) => &mut gpu_gpu,
            (EndKind::Gpu, EndKind::Nic) => &mut gpu_nic,
            (EndKind::Nic, EndKind::Gpu | EndKind::Nic) => continue,
        };
        *counts.entry(class.to_string()).or_default() += 1;
    }
    let named = |end: &&weft_formats::End| end.kind == EndKind::Nic && end.label.starts_with("NIC");
    let legend = matrix.ends().iter().filter(named).filter_map(|end| end.device.clone()).collect();
    (found.gpu_gpu, found.gpu_nic, found.nic_legend) = (Some(gpu_gpu), Some(gpu_nic), Some(legend));
    found
}

fn of_peers(matrix: &PeerMatrix) -> Expected {
    let mut counts = Counts::new();
    for access in matrix.cells.iter().filter_map(|cell| cell.access) {
        *counts.entry(access.word().to_owned()).or_default() += 1;
    }
    Expected { gpus: matrix.ends.len(), gpu_gpu: Some(counts), ..Expected::default() }
}

/// Matrices that no machine can have, with the reason; the reader says so itself.
const CONTRADICTORY: [&str; 1] = [
    // GPU3 and NIC1 are PXB, GPU0 and NIC1 are PXB, but GPU3 and GPU0's other NIC are NODE.
    "026-",
];

#[test]
fn the_inferred_machine_would_print_the_same_matrix() {
    let catalogue = Catalogue::embedded();
    let mut misses = Vec::new();
    for file in noted::files("A").unwrap_or_default() {
        let reading = reading(&file);
        let (case, diagnostics) = join(reading.evidence, &Overrides::default(), catalogue);
        let said = diagnostics.iter().any(|finding| finding.code.name == "matrix-inconsistent");
        if CONTRADICTORY.iter().any(|start| file.is(start)) || said {
            if !(CONTRADICTORY.iter().any(|start| file.is(start)) && said) {
                misses.push(format!("{}: contradictory: {said}", file.name));
            }
            continue;
        }
        let Some(matrix) = &case.matrix else { continue };
        match build(case.machine.as_ref().expect("a matrix makes a machine"), catalogue) {
            Ok(built) => misses.extend(differences(&file.name, &matrix.value, &built.topology)),
            Err(error) => misses.push(format!("{}: {error}", file.name)),
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

fn differences(name: &str, matrix: &Matrix, topology: &weft_topology::Topology) -> Vec<String> {
    let gpus: Vec<_> = topology.of_kind(NodeKind::Gpu).collect();
    let nics: Vec<_> = topology.of_kind(NodeKind::Nic).collect();
    let node = |end: usize| {
        let kind = matrix.ends()[end].kind;
        let place = matrix.of_kind(kind).take_while(|other| *other < end).count();
        match kind {
            EndKind::Gpu => gpus[place],
            EndKind::Nic => nics[place],
        }
    };
    let mut found = Vec::new();
    for cell in matrix.cells() {
        let Some(class) = cell.class else { continue };
        let built: Option<ReportedClass> = reported_class(topology, node(cell.row), node(cell.column));
        if built != Some(class) {
            let label = |end: usize| &matrix.ends()[end].label;
            found.push(format!(
                "{name}: {} {} is {class}, built {built:?}",
                label(cell.row),
                label(cell.column)
            ));
        }
    }
    found.truncate(3);
    found
}
