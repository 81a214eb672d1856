//! The tables as they are pasted, whole and damaged.

use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, WeightMatrix};
use crate::format::Source;

fn read(text: &str) -> (Vec<WeightMatrix>, Vec<String>) {
    let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
    let weights = reading.evidence.into_iter().filter_map(|located| {
        let Evidence::Weights(weights) = located.value else { return None };
        Some(*weights)
    });
    let said = |finding: &weft_base::Diagnostic| format!("{} {}", finding.code.name, finding.message);
    (weights.collect(), reading.diagnostics.iter().map(said).collect())
}

const LINKS: &str = "\
= Link Type between two GPUs =
       GPU0         GPU1
GPU0   0            XGMI
GPU1   XGMI         0
";

#[test]
fn prose_around_the_tables_stays_unused() {
    let (found, said) = read(&format!("my two cards:\n{LINKS}\nwhat is wrong?\n"));
    assert_eq!(found[0].links[1].as_deref(), Some("XGMI"));
    assert_eq!(found[0].links[0], None);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().all(|text| text.starts_with("lines-unused")), "{said:?}");
}

#[test]
fn prefixes_of_lines_do_not_matter() {
    for prefix in ["> ", "node-17: ", "[1,0]<stdout>:", "0: ", "  "] {
        let text: String = LINKS.lines().flat_map(|line| [prefix, line, "\n"]).collect();
        let (found, said) = read(&text);
        assert_eq!(found.len(), 1, "{prefix}: {said:?}");
        assert_eq!(found[0].links.iter().flatten().count(), 2, "{prefix}");
    }
}

#[test]
fn a_cut_row_and_a_strange_cell_are_reported() {
    let text = "\
= Weight between two GPUs =
       GPU0         GPU1         GPU2
GPU0   0            1five        15
GPU1   15           0
";
    let (found, said) = read(text);
    assert_eq!(found[0].weights, [None, None, Some(15), Some(15), None, None, None, None, None]);
    let codes: Vec<&str> = said.iter().filter_map(|text| text.split(' ').next()).collect();
    assert_eq!(codes, ["rows-missing", "cell-unknown", "row-cut"]);
}

#[test]
fn what_the_tool_refuses_is_passed_on() {
    let text = "\
================= ROCm System Management Interface =================
================= Weight between two GPUs =================
ERROR: GPU[1]\t: Cannot read Link Weight: Not supported on this machine
       GPU0         GPU1
GPU0   0            XXXX
GPU1   XXXX         0
================= Numa Nodes =================
GPU[0]\t\t: (Topology) Numa Node: 0
GPU[1]\t\t: (Topology) Numa Node: -1
================= End of ROCm SMI Log =================
";
    let (found, said) = read(text);
    assert_eq!(found[0].numa, [Some(0), None]);
    assert!(said.iter().any(|text| text.starts_with("command-refused")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("2 cells read XXXX")), "{said:?}");
    assert_eq!(said.len(), 2);
}

#[test]
fn tables_beside_each_other_are_three() {
    let text = "\
Weight between two GPUs   Hops between two GPUs   Link Type
     GPU0 GPU1                 GPU0 GPU1             GPU0 GPU1
GPU0    0   40            GPU0    0    2         GPU0    0 PCIE
GPU1   40    0            GPU1    2    0         GPU1 PCIE    0

Numa Nodes: GPU[0..1] Numa Node: 1, Numa Affinity: 1
";
    let (found, said) = read(text);
    assert_eq!(
        (found[0].weights[1], found[0].hops[2], found[0].links[1].as_deref()),
        (Some(40), Some(2), Some("PCIE"))
    );
    assert_eq!((&found[0].numa, &found[0].affinity), (&vec![Some(1); 2], &vec![Some(1); 2]));
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn a_matrix_of_nvidia_is_not_taken() {
    let (found, _) = read("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n");
    assert!(found.is_empty());
}

#[test]
fn damaged_json_is_an_error_with_its_reason() {
    let (found, said) =
        read("[{\"gpu\": 0, \"bdf\": \"0000:05:00.0\", \"links\": [{\"link_type\": \"XGMI\",\n");
    assert!(found.is_empty());
    assert!(said[0].starts_with("document-damaged"), "{said:?}");
}
