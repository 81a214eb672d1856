//! The inputs that the project owns, each with what is in it: the same shapes as the corpus, for
//! everyone who does not have that.

use std::fmt::Write;

use weft_catalogue::Catalogue;
use weft_formats::{Case, EndKind, Evidence, Matrix, Overrides, Source, join, read};
use weft_topology::ReportedClass;

fn example(name: &str) -> Source {
    let path = format!("{}/../../examples/topo/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    #[expect(clippy::disallowed_methods, reason = "tests read the examples from disk")]
    let text = std::fs::read_to_string(path).unwrap_or_default();
    Source::file(name, text)
}

/// The case of an example, and its findings as `line:column severity[code]`.
fn case(name: &str, overrides: &Overrides) -> (Case, Vec<String>) {
    let catalogue = Catalogue::embedded();
    let reading = read(&example(name), catalogue, None);
    let (case, more) = join(reading.evidence, overrides, catalogue);
    let shown = |finding: &weft_base::Diagnostic| {
        let mut text = String::new();
        if let Some(place) = &finding.place {
            let _ = write!(text, "{}:{} ", place.line, place.column);
        }
        let _ = write!(text, "{} {}", finding.severity.word(), finding.code.name);
        text
    };
    (case, reading.diagnostics.iter().chain(&more).map(shown).collect())
}

/// `8 GPUs, 10 NICs; NV12 56, PXB 32, SYS 120`: cells of GPU rows by class, `?` for unknown ones.
fn summary(matrix: &Matrix) -> String {
    let count = |kind| matrix.of_kind(kind).count();
    let mut text = format!("{} GPUs, {} NICs", count(EndKind::Gpu), count(EndKind::Nic));
    let mut classes: Vec<Option<ReportedClass>> = matrix
        .cells()
        .iter()
        .filter(|cell| matrix.ends()[cell.row].kind == EndKind::Gpu)
        .map(|cell| cell.class)
        .collect();
    classes.sort();
    for same in classes.chunk_by(|a, b| a == b) {
        let word = same[0].map_or_else(|| "?".to_owned(), |class| class.to_string());
        let _ = write!(text, "; {word} {}", same.len());
    }
    text
}

/// Checks counts and findings of one example.
fn check(name: &str, wanted: &str, findings: &[&str]) -> Case {
    let (case, found) = case(name, &Overrides::default());
    let matrix = case.matrix.as_ref().map(|matrix| summary(&matrix.value)).unwrap_or_default();
    assert_eq!(matrix, wanted, "{name}");
    assert_eq!(found, findings, "{name}");
    let catalogue = Catalogue::embedded();
    assert!(
        case.machine.as_ref().is_some_and(|machine| weft_topology::build(machine, catalogue).is_ok()),
        "{name}: {:?}",
        case.machine
    );
    case
}

fn assumed(case: &Case) -> Vec<String> {
    case.assumed.iter().map(|it| format!("{} {}: {}", it.subject, it.what, it.value)).collect()
}

#[test]
fn a_dgx_a100_has_affinities_in_its_own_order() {
    let case = check("dgx-a100", "8 GPUs, 10 NICs; NV12 56; PXB 16; SYS 64", &[]);
    let matrix = &case.matrix.as_ref().unwrap().value;
    let numa: Vec<&str> =
        matrix.ends()[..8].iter().map(|end| end.affinity.numa.as_deref().unwrap()).collect();
    assert_eq!(numa, ["3", "3", "1", "1", "7", "7", "5", "5"]);
    assert_eq!(matrix.ends()[4].affinity.cpus.as_deref(), Some("112-127,240-255"));
    assert_eq!(matrix.ends()[17].device.as_deref(), Some("mlx5_9"));
    let fabric = case.machine.as_ref().unwrap().fabric.as_ref().unwrap();
    assert_eq!((fabric.switch.as_deref(), fabric.switches), (Some("nvswitch2"), 6));
    assert!(assumed(&case).contains(&"GPU model: a100-sxm4-80gb".to_owned()), "{:?}", assumed(&case));
}

#[test]
fn a_cut_paste_keeps_what_it_has() {
    let findings = ["1:1 warning rows-missing", "1:1 note nic-rows-missing"];
    let case = check("h100-truncated", "8 GPUs, 6 NICs; NV18 21; PIX 3; NODE 9; SYS 6", &findings);
    let matrix = &case.matrix.as_ref().unwrap().value;
    assert!(matrix.ends()[2].has_row && !matrix.ends()[3].has_row);
    assert_eq!(case.gpu_labels.len(), 8);
    assert!(assumed(&case).iter().any(|it| it.contains("socket")), "{:?}", assumed(&case));
}

#[test]
fn two_cards_with_a_bridge_are_a_mesh() {
    let case = check("2x3090-nvlink", "2 GPUs, 0 NICs; NV4 2", &[]);
    assert_eq!(case.machine.as_ref().unwrap().fabric.as_ref().unwrap().mesh.len(), 1);
    let matrix = &case.matrix.as_ref().unwrap().value;
    let affinity = &matrix.ends()[1].affinity;
    assert_eq!(affinity.cpus.as_deref(), Some("0-15"));
    assert_eq!((affinity.numa.as_deref(), affinity.gpu_numa.as_deref()), (Some("0"), Some("N/A")));
}

#[test]
fn a_virtual_machine_that_hides_everything_is_told_so() {
    check("vm-all-phb", "4 GPUs, 0 NICs; PHB 12", &["2:17 warning distances-hidden"]);
}

#[test]
fn a_markdown_table_is_read_by_its_bars() {
    let findings = ["3:1 note nic-rows-missing", "1:1 note lines-unused"];
    let case = check("markdown-table", "4 GPUs, 2 NICs; NV4 12; PHB 2; SYS 6", &findings);
    let matrix = &case.matrix.as_ref().unwrap().value;
    assert_eq!(matrix.ends()[1].affinity.cpus.as_deref(), Some("16-23,48-55"));
    assert_eq!(matrix.class(1, 4), Some(ReportedClass::Phb));
    assert!(assumed(&case).contains(&"GPU model: a100-sxm4-80gb".to_owned()));
}

#[test]
fn a_glued_header_comes_apart() {
    let case = check("glued-header", "4 GPUs, 2 NICs; NV2 4; PHB 4; SYS 12", &["1:5 note header-glued"]);
    assert_eq!(case.nic_labels, ["mlx5_0", "mlx5_2"]);
    assert_eq!(case.matrix.as_ref().unwrap().value.columns(), ["CPU Affinity"]);
}

#[test]
fn fused_cells_come_apart_and_are_named() {
    let findings = ["1:1 note nic-rows-missing", "2:17 warning cells-fused", "6:9 warning cells-fused"];
    check("fused-cells", "6 GPUs, 1 NICs; NODE 15; SYS 21", &findings);
}

#[test]
fn both_cells_of_an_asymmetric_pair_are_kept() {
    let findings = ["5:17 warning pair-asymmetric"];
    let case = check("asymmetric", "4 GPUs, 0 NICs; PIX 4; NODE 1; SYS 7", &findings);
    let matrix = &case.matrix.as_ref().unwrap().value;
    assert_eq!(matrix.cell(3, 1).unwrap().class, Some(ReportedClass::Node));
    assert_eq!(matrix.cell(1, 3).unwrap().class, Some(ReportedClass::Sys));
    assert_eq!(case.machine.as_ref().unwrap().host.sockets, 2);
}

#[test]
fn a_terminal_capture_keeps_true_columns() {
    let case = check("ansi", "4 GPUs, 1 NICs; PHB 4; NODE 2; SYS 10", &[]);
    assert_eq!(case.matrix.as_ref().unwrap().value.ends()[4].device.as_deref(), Some("rocep24s0"));
}

#[test]
fn access_is_not_distance() {
    let case = check("p2p-after-topo", "4 GPUs, 0 NICs; NODE 4; SYS 8", &[]);
    let peers = &case.peers[0].value;
    assert_eq!(peers.mode, Some(weft_formats::PeerMode::Read));
    let cells: Vec<&str> = peers.cells.iter().take(3).map(|cell| cell.access.unwrap().word()).collect();
    assert_eq!(cells, ["OK", "CNS", "CNS"]);
}

#[test]
fn prefixes_are_noise_and_a_gap_is_found() {
    let case = check("prefixed", "4 GPUs, 0 NICs; ? 1; PIX 4; SYS 7", &["3:31 warning cell-missing"]);
    let matrix = &case.matrix.as_ref().unwrap().value;
    assert_eq!(matrix.cell(1, 2).unwrap().class, None);
    assert_eq!(matrix.class(1, 2), Some(ReportedClass::Sys));
}

#[test]
fn lines_that_a_terminal_wrapped_are_joined() {
    check("wrapped", "4 GPUs, 4 NICs; NV6 12; PIX 4; NODE 12", &["1:1 note nic-rows-missing"]);
}

#[test]
fn every_example_is_checked_above() {
    #[expect(clippy::disallowed_methods, reason = "tests read the examples from disk")]
    let entries = std::fs::read_dir(format!("{}/../../examples/topo", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let me = include_str!("examples.rs");
    for entry in entries {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stem = name.strip_suffix(".txt").unwrap();
        assert!(me.contains(&format!("check(\"{stem}\"")), "{name} has no test");
    }
}

#[test]
fn a_model_that_cannot_have_so_many_nvlinks_is_refused() {
    let with = |gpu: &str| Overrides { gpu: Some(gpu.to_owned()), ..Overrides::default() };
    let (_, found) = case("h100-truncated", &with("v100-sxm2-16gb"));
    assert!(found.contains(&"2:17 error impossible-nvlink".to_owned()), "{found:?}");
    let (_, found) = case("2x3090-nvlink", &with("t4"));
    assert!(found.contains(&"2:10 error impossible-nvlink".to_owned()), "{found:?}");
    let (case, found) = case("2x3090-nvlink", &with("rtx-3090"));
    assert_eq!((found.len(), case.assumed.iter().filter(|it| it.subject == "GPU").count()), (0, 0));
    assert!(matches!(&case.matrix, Some(matrix) if matrix.place.line == 1));
}

#[test]
fn evidence_of_a_paste_comes_in_order() {
    let reading = read(&example("p2p-after-topo"), Catalogue::embedded(), None);
    let kinds: Vec<bool> =
        reading.evidence.iter().map(|it| matches!(it.value, Evidence::Topology(_))).collect();
    assert_eq!(kinds, [true, false]);
}
