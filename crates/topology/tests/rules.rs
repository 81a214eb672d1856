//! What the hardware allows: bridges, link counts, switches.

mod common;

use common::{all, graph, machine, node, rate, refusal, topology};
use weft_catalogue::{BridgeUse, Catalogue, Fabric, Machine};
use weft_topology::{BuildError, NodeKind, build, reported_class, route, widest};

fn error(machine: &Machine) -> BuildError {
    build(machine, Catalogue::embedded()).expect_err("the hardware refuses this")
}

#[track_caller]
fn assert_impossible(line: &str, words: &[&str]) {
    let finding = refusal(line);
    assert_eq!(finding.code.name, "impossible-machine", "{finding}");
    for word in words {
        assert!(finding.message.contains(word), "`{word}` is missing in: {}", finding.message);
    }
}

#[test]
fn two_gtx_1080_take_an_sli_hb_bridge_and_data_does_not_use_it() {
    let sli = topology("2 gtx-1080 @ pcie3x8 + sli-hb");
    let (a, b) = (node(&sli, "GPU0"), node(&sli, "GPU1"));
    assert!(sli.links_from(a).any(|(_, link)| link.to == b && sli.kind(link.kind).name == "sli-hb"));
    // The bridge carries frames: data goes over PCIe 3 x8, 8 GT/s x 8 x 128/130 / 8 = 7.877 GB/s.
    assert_eq!(format!("{}", route(&sli, a, b).unwrap().rate), "7.877 GB/s");
    assert_eq!(format!("{}", widest(&sli, a, b).unwrap().0), "7.877 GB/s");
    assert_eq!(reported_class(&sli, a, b).unwrap().to_string(), "PHB");
}

#[test]
fn bridges_are_refused_with_the_rule_that_they_break() {
    assert_impossible("2 rtx-4090 + sli-hb", &["RTX 4090", "takes no sli-hb bridge"]);
    assert_impossible("2 rtx-4090 + nvlink-bridge", &["RTX 4090", "takes no nvlink-bridge"]);
    assert_impossible("2 rtx-3080 + nvlink-bridge", &["RTX 3080"]);
    assert_impossible("2 rtx-3090 + sli-hb", &["takes no sli-hb bridge"]);
    assert_impossible("1 gtx-1080 + 1 gtx-1080-ti + sli-hb", &["same model", "GTX 1080 Ti"]);
    assert_impossible("3 gtx-1080 + sli-hb", &["joins 2", "not 3"]);
    assert_impossible("4 rtx-3090 + nvlink-bridge", &["joins 2", "not 4"]);
    assert_impossible("1 rtx-3090 + nvlink-bridge", &["not 1"]);
    // XDMA cards need no bridge, and form a pair by family, not by model.
    topology("1 r9-290x + 1 r9-390x + crossfire");
}

#[test]
fn what_the_hardware_refuses_comes_with_what_it_takes() {
    for (line, hint) in [
        ("2 rtx-3090 + sli", "it takes `nvlink-bridge`"),
        ("2 rtx-2080-ti + sli", "it takes `nvlink-bridge`"),
        ("2 t4 + nvlink-bridge", "such cards talk over PCIe"),
        ("2 gtx-1080 + nvlink-bridge", "it takes `sli-hb` or `sli`"),
        ("4 rtx-3090 + nvlink-bridge", "`2 nvlink-bridge` join them in groups"),
        ("4 t4 @ mesh(2)", "such cards talk over PCIe"),
        ("4 a100-sxm4-40gb @ mesh(5)", "are 12 together"),
        ("8 h100-sxm @ nvswitch3(100)", "--list systems"),
    ] {
        let found = refusal(line).hint.unwrap_or_default();
        assert!(found.contains(hint), "{line}: {found}");
    }
    // Three cards are no pairs, whatever the number of bridges.
    assert_eq!(refusal("3 gtx-1080 + sli-hb").hint, None);
}

#[test]
fn a_bridge_between_unknown_cards_is_not_laid_in_silence() {
    let mut unknown = machine("2 rtx-3090 + nvlink-bridge");
    unknown.gpus[0].model = None;
    assert!(error(&unknown).to_string().contains("known model"));
    let mut missing = machine("2 rtx-3090");
    missing.bridges.push(BridgeUse { kind: "nvlink-bridge".into(), gpus: vec![0, 7], links: None });
    assert_eq!(error(&missing).to_string(), "bridge names GPU 7, but there are 2");
}

#[test]
fn a_3090_bridge_carries_56_gigabytes_per_second_each_way() {
    // 4 links x 4 lanes x 28.125 Gb/s / 8 = 56.25 GB/s; "112.5 GB/s" adds both directions.
    let pair = topology("2 rtx-3090 @ pcie4x8 + nvlink-bridge");
    let (a, b) = (node(&pair, "GPU0"), node(&pair, "GPU1"));
    assert_eq!(route(&pair, a, b).unwrap().rate, rate("56.25 GB/s"));
    assert_eq!(reported_class(&pair, a, b).unwrap().to_string(), "NV4");
}

#[test]
fn gpus_without_links_are_not_meshed() {
    assert_impossible("4 t4 @ mesh(2)", &["NVIDIA T4 has no links to other GPUs"]);
    assert_impossible("8 l40s @ nvswitch3(4)", &["L40S has no links to other GPUs"]);
}

#[test]
fn no_gpu_uses_more_links_than_it_has() {
    // A V100 has 6 NVLinks: 18 to a switch, or 18 to another card, cannot be.
    assert_impossible("2 v100-sxm2-32gb @ mesh(18)", &["has 6 NVLink 2 links, but 18 are used"]);
    assert_impossible("8 a100-sxm4-80gb @ mesh(2)", &["has 12 NVLink 3 links, but 14 are used"]);
    // Far too many must not wrap round.
    assert_impossible("8 a100-sxm4-80gb @ mesh(65535)", &["has 12 NVLink 3 links"]);
    let mut switched = machine("8 v100-sxm3-32gb @ nvswitch1(6)");
    if let Some(fabric) = &mut switched.fabric {
        fabric.links = Some(18);
    }
    assert_eq!(
        error(&switched).to_string(),
        "NVIDIA Tesla V100 SXM3 32GB has 6 NVLink 2 links, but 18 are used"
    );
}

#[test]
fn switches_have_ports_of_their_own_generation_and_only_so_many() {
    assert_impossible("8 a100-sxm4-80gb @ nvswitch3(6)", &["has NVLink 4 ports", "A100", "NVLink 3 links"]);
    // 18 links of 8 GPUs are 144 ports; one NVSwitch of the third generation has 64.
    assert_impossible("8 h100-sxm @ nvswitch3(1)", &["of 64 ports cannot join 8 GPUs of 18 links"]);
    assert_impossible("8 h100-sxm @ nvswitch3(40)", &["40 "]);
    // A card without links beside those that have them stays outside.
    let mixed = topology("8 h100-sxm @ nvswitch3(4) + 1 t4");
    let t4 = all(&mixed, NodeKind::Gpu)[8];
    assert!(mixed.links_from(t4).all(|(_, link)| mixed.node(link.to).kind == NodeKind::HostBridge));
}

#[test]
fn links_are_spread_over_switches_as_evenly_as_they_go() {
    // 18 links over 4 switches: 5 + 5 + 4 + 4.
    let h100 = topology("8 h100-sxm @ nvswitch3(4)");
    let gpu = node(&h100, "GPU3");
    let mut counts: Vec<u16> = h100
        .links_from(gpu)
        .filter(|(_, link)| h100.node(link.to).kind == NodeKind::GpuSwitch)
        .map(|(_, link)| link.count)
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [4, 4, 5, 5]);
}

#[test]
fn descriptions_that_contradict_themselves_are_refused() {
    let mut machine = machine("4 a40 @ pcie-switch(2)");
    machine.pcie[1].gpus = vec![1, 3];
    assert_eq!(error(&machine).to_string(), "GPU 1 hangs off two PCIe branches");
    machine.pcie[1].gpus = vec![2, 4];
    assert_eq!(error(&machine).to_string(), "pcie branch any-1 names GPU 4, but there are 4");
    machine.pcie[1].gpus = vec![2, 3];
    machine.pcie[1].socket = 3;
    assert_eq!(error(&machine).to_string(), "pcie branch `any-1` is on socket 3, but there are 1");
    machine.pcie[1].socket = 0;
    machine.pcie[1].under = Some("any-7".into());
    assert!(error(&machine).to_string().contains("`any-7`, which is no switch named before it"));
    machine.pcie[1].under = Some("any-0".into());
    machine.fabric = Some(Fabric { switch: Some("nvswitch9".into()), ..Fabric::default() });
    let missing = error(&machine);
    assert_eq!(missing.finding().code.name, "unknown-name");
    assert!(missing.finding().hint.unwrap().contains("nvswitch"));
    machine.fabric = None;
    graph(&machine);
}
