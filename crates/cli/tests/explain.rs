//! `weft explain`: codes and facts.

mod common;

use common::{refused, stdout, weft};

#[test]
fn a_code_is_explained_in_a_paragraph() {
    insta::assert_snapshot!(weft(&["explain", "file-unreadable"]), @r#"
    file-unreadable
    A source looks like a path, but there is no such file, or it cannot be opened. A source is a file, a
    folder, `-` for standard input, a machine in one line, or the name of a system.
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn a_link_shows_each_fact_with_grade_and_source() {
    insta::assert_snapshot!(weft(&["explain", "nvlink3"]), @r#"
    NVLink 3  gpu-fabric link, `nvlink3`
      one lane signals   50 GT/s                                                    datasheet  [1]
                         4 differential pairs per direction at 50 Gb/s, twice NVLink 2's rate on half the pairs
      lanes of one link  4                                                          datasheet  [1]
                         so 25 GB/s per link and direction; "50 GB/s per link" adds both directions
      achieved           0.913                                                      measured   [2]
                         A100 SXM p2p copy: 274 of 300 GB/s one direction; copies by SMs reach 20 of 25 GB/s (nccl-tests#149)
      latency, one way   300 ns                                                     assumed    [3]
                         half of the 0.6 us that NCCL counts for one LL step over NVLink, the other half being the polling; no figure for the wire is published
      one link carries   25 GB/s per direction, of which programs reach 22.83 GB/s
      also called NVLink 3.0, third-generation NVLink
    Sources
      [1]  NVIDIA A100 Tensor Core GPU Architecture (NVIDIA, V1.0, 2020) (quoted from general knowledge)
           https://images.nvidia.com/aem-dam/en-zz/Solutions/data-center/nvidia-ampere-architecture-whitepaper.pdf
      [2]  Machine Learning Engineering Open Book: inter-node and intra-node networking (Stas Bekman, commit 744d01e18b79)
           github.com/stas00/ml-engineering: network/README.md
      [3]  NCCL: src/graph/topo.h, search.cc and tuning.cc (NVIDIA, v2.30.7, commit 5067397c2676)
           github.com/NVIDIA/nccl: src/graph
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn devices_and_systems_are_found_under_any_spelling() {
    for (what, holds) in [
        ("A100 SXM4 80GB", "12 x nvlink3"),
        ("cx7", "PCIe port"),
        ("nvswitch3", "reduces in flight"),
        ("epyc-rome", "links to the other socket"),
        ("dgx-a100", "pex88096: GPU0, GPU1, NIC0, NIC1"),
        ("gb200-nvl72", "hosts"),
        ("nccl-2.30", "speeds-intra"),
        ("trace-mid-loss", "per inch"),
        ("nvidia-a100-whitepaper", "published by"),
    ] {
        let text = stdout(&["explain", what]);
        assert!(text.contains(holds), "{what}: {text}");
    }
}

#[test]
fn words_need_no_quotes() {
    assert_eq!(stdout(&["explain", "A100", "80GB"]), stdout(&["explain", "A100 80GB"]));
}

#[test]
fn every_entry_of_the_catalogue_can_be_explained() {
    let catalogue = weft_catalogue::Catalogue::embedded();
    let systems = catalogue.systems.iter().map(|entry| &entry.name);
    for name in systems.chain(catalogue.libraries.iter().map(|entry| &entry.name)) {
        assert!(stdout(&["explain", name]).contains(name.as_str()), "{name}");
    }
}

#[test]
fn a_typo_names_what_is_near() {
    // nothing-to-explain
    let (code, talk) = refused(&["explain", "nvlnk3"], b"");
    assert_eq!(code, 3);
    assert!(talk.contains("did you mean `nvlink3`"), "{talk}");
}
