//! Every file of the shared corpus is read, and holds what its notes say. The corpus lies beside the
//! project; without it these tests say that they are skipped.

use weft_catalogue::Catalogue;
use weft_formats::{EndKind, Evidence, Matrix, Overrides, PeerMatrix, Source, join, read};
use weft_testkit::corpus::{self, Counts, Expected};
use weft_topology::{NodeKind, ReportedClass, build, reported_class};

/// Files whose notes cannot be right, with what they hold, counted by hand, and why.
fn corrected(name: &str, expected: Expected) -> Expected {
    if name.starts_with("061-") {
        // The bars of the table were counted as cells, so that the notes miss half of the true ones.
        let gpu_gpu = [("PHB", 4), ("SYS", 26)].map(|(class, count)| (class.to_owned(), count)).into();
        return Expected { gpu_gpu: Some(gpu_gpu), gpu_nic: Some(Counts::new()), ..expected };
    }
    expected
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

/// What the first matrix of a text holds: distances if there are any, else accesses.
fn found(source: &Source) -> Option<Expected> {
    let reading = read(source, Catalogue::embedded(), None);
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

#[test]
fn every_file_is_read_and_holds_what_its_notes_say() {
    let Some(files) = corpus::files("A") else {
        println!("skipped: no corpus at {}", corpus::folder("A").display());
        return;
    };
    let mut misses = Vec::new();
    for file in &files {
        let wanted = corrected(&file.name, file.expected.clone());
        let differences = match found(&Source::file(&file.name, &file.text)) {
            None => vec!["nothing was read".to_owned()],
            Some(found) => wanted.misses(&found),
        };
        if !differences.is_empty() {
            misses.push(format!("{}: {}", file.name, differences.join("; ")));
        }
    }
    let passed = files.len() - misses.len();
    println!("{passed} of {} files", files.len());
    assert!(misses.is_empty(), "{} of {} files missed:\n{}", misses.len(), files.len(), misses.join("\n"));
}

#[test]
fn every_line_is_used_or_named() {
    for file in corpus::files("A").unwrap_or_default() {
        let source = Source::file(&file.name, &file.text);
        let reading = read(&source, Catalogue::embedded(), None);
        assert!(!reading.failed(), "{}: {:#?}", file.name, reading.diagnostics);
        let lines = weft_formats::lines(&source);
        let pieces = weft_formats::split(&source, &lines);
        let count: usize = pieces.iter().map(|piece| piece.part.lines.len()).sum();
        assert_eq!(count, lines.len(), "{}", file.name);
    }
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
    for file in corpus::files("A").unwrap_or_default() {
        let reading = read(&Source::file(&file.name, &file.text), catalogue, None);
        let (case, diagnostics) = join(reading.evidence, &Overrides::default(), catalogue);
        let said = diagnostics.iter().any(|finding| finding.code.name == "matrix-inconsistent");
        if CONTRADICTORY.iter().any(|prefix| file.name.starts_with(prefix)) || said {
            if !(CONTRADICTORY.iter().any(|prefix| file.name.starts_with(prefix)) && said) {
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
