//! What the hardware of each GPU allows: links, peers, bridges, and every spelling that people use for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use weft_base::simplify;
use weft_catalogue::{Bridge, Catalogue, Fact, Gpu};

#[expect(clippy::panic, reason = "only tests call it")]
fn gpu(name: &str) -> &'static Gpu {
    let found = Catalogue::embedded().gpu(name);
    found.unwrap_or_else(|error| panic!("{error}; near: {:?}", error.near))
}

/// Links of its fabric and what they carry together in one direction.
fn fabric(name: &str) -> Option<(String, u16, String)> {
    let attachment = gpu(name).fabric.as_ref()?;
    let link = Catalogue::embedded().link(&attachment.link).ok()?;
    let count = attachment.count.value;
    Some((link.name.clone(), count, link.rate(count).to_string()))
}

fn peers_over_pcie(name: &str) -> Option<bool> {
    gpu(name).peer_to_peer.as_ref().map(|peers| peers.pcie.value)
}

// links x (lanes x Gb/s per lane / 8) = GB/s in one direction:
//   NVLink 1 to 4: 8 x 20 / 8 = 20, 8 x 25 / 8 = 25, 4 x 50 / 8 = 25, 2 x 100 / 8 = 25
//   NVLink 3 of the GA102: 4 x 28.125 / 8 = 14.0625;  NVLink 5: 2 x 200 / 8 = 50;  NVLink 6: 50
//   xGMI: 16 x 23 / 8 = 46 (MI50 to MI100), 16 x 25 / 8 = 50 (MI200), 64 (MI300), 76.8 (MI350)
const FABRICS: &[(&str, &str, u16, &str)] = &[
    ("p100-sxm2-16gb", "nvlink1", 4, "80 GB/s"),
    ("quadro-gp100", "nvlink1", 4, "80 GB/s"),
    ("v100-sxm2-16gb", "nvlink2", 6, "150 GB/s"),
    ("v100-sxm3-32gb", "nvlink2", 6, "150 GB/s"),
    ("quadro-gv100", "nvlink2", 4, "100 GB/s"),
    ("rtx-2070-super", "nvlink2", 1, "25 GB/s"),
    ("rtx-2080", "nvlink2", 1, "25 GB/s"),
    ("rtx-2080-super", "nvlink2", 1, "25 GB/s"),
    ("rtx-2080-ti", "nvlink2", 2, "50 GB/s"),
    ("titan-rtx", "nvlink2", 2, "50 GB/s"),
    ("quadro-rtx-5000", "nvlink2", 1, "25 GB/s"),
    ("quadro-rtx-8000", "nvlink2", 2, "50 GB/s"),
    ("rtx-3090", "nvlink3-ga102", 4, "56.25 GB/s"),
    ("rtx-3090-ti", "nvlink3-ga102", 4, "56.25 GB/s"),
    ("rtx-a6000", "nvlink3-ga102", 4, "56.25 GB/s"),
    ("a40", "nvlink3-ga102", 4, "56.25 GB/s"),
    ("a30", "nvlink3", 4, "100 GB/s"),
    ("a100-sxm4-80gb", "nvlink3", 12, "300 GB/s"),
    ("a100-pcie-80gb", "nvlink3", 12, "300 GB/s"),
    ("a800-sxm4-80gb", "nvlink3", 8, "200 GB/s"),
    ("h100-sxm5-80gb", "nvlink4", 18, "450 GB/s"),
    ("h100-pcie-80gb", "nvlink4", 12, "300 GB/s"),
    ("h100-nvl-94gb", "nvlink4", 12, "300 GB/s"),
    ("h200-sxm5-141gb", "nvlink4", 18, "450 GB/s"),
    ("h200-nvl-141gb", "nvlink4", 18, "450 GB/s"),
    ("h800-sxm5-80gb", "nvlink4", 8, "200 GB/s"),
    ("h20", "nvlink4", 18, "450 GB/s"),
    ("h20-141gb", "nvlink4", 18, "450 GB/s"),
    ("gh200-96gb", "nvlink4", 18, "450 GB/s"),
    ("b200-sxm", "nvlink5", 18, "900 GB/s"),
    ("b300-sxm", "nvlink5", 18, "900 GB/s"),
    ("gb200", "nvlink5", 18, "900 GB/s"),
    ("gb300", "nvlink5", 18, "900 GB/s"),
    ("vr200", "nvlink6", 36, "1800 GB/s"),
    ("mi50", "xgmi-mi50", 2, "92 GB/s"),
    ("mi100", "xgmi-mi100", 3, "138 GB/s"),
    ("mi210", "xgmi-mi200", 3, "150 GB/s"),
    ("mi250", "xgmi-mi200", 6, "300 GB/s"),
    ("mi300x", "xgmi-mi300", 7, "448 GB/s"),
    ("mi355x", "xgmi-mi350", 7, "537.6 GB/s"),
    ("tpu-v4", "tpu-ici-v4", 6, "300 GB/s"),
    ("tpu-v5e", "tpu-ici-v5e", 4, "200 GB/s"),
    ("tpu-v5p", "tpu-ici-v5p", 6, "600 GB/s"),
    ("tpu-v6e", "tpu-ici-v6e", 4, "400 GB/s"),
    ("tpu-v7x", "tpu-ici-v7", 6, "600 GB/s"),
];

#[test]
fn links_and_rates_of_every_fabric_are_those_of_the_algebra() {
    for &(name, link, count, rate) in FABRICS {
        assert_eq!(fabric(name), Some((link.to_owned(), count, rate.to_owned())), "{name}");
    }
}

#[test]
fn cards_without_a_connector_have_no_fabric_and_no_bridge() {
    let none = [
        "t4",
        "l4",
        "l20",
        "l40",
        "l40s",
        "a2",
        "a10",
        "a10g",
        "a16",
        "p4",
        "p40",
        "k80",
        "m40",
        "t600",
        "titan-v",
        "p100-pcie-16gb",
        "v100-pcie-16gb",
        "v100s-pcie-32gb",
        "gtx-1060",
        "gtx-1660-ti",
        "rtx-2060",
        "rtx-2060-super",
        "rtx-2070",
        "rtx-3060",
        "rtx-3070",
        "rtx-3080",
        "rtx-3080-ti",
        "rtx-4070-ti",
        "rtx-4080",
        "rtx-4090",
        "rtx-4090-d",
        "rtx-5070-ti",
        "rtx-5080",
        "rtx-5090",
        "rtx-a4000",
        "rtx-5000-ada",
        "rtx-6000-ada",
        "rtx-5880-ada",
        "rtx-5060",
        "rtx-3050",
        "gtx-1050-ti",
        "rtx-a2000",
        "rtx-pro-4500",
        "rtx-pro-6000-max-q",
        "rtx-pro-6000-workstation",
        "rtx-pro-6000-server",
        "gb10",
        "rx-5700-xt",
        "rx-7900-xtx",
        "r9700",
    ];
    for name in none {
        assert_eq!(fabric(name), None, "{name}");
        assert_eq!(gpu(name).bridges.len(), 0, "{name}");
    }
}

#[test]
fn a_bridge_uses_no_more_links_than_the_card_has() {
    for entry in &Catalogue::embedded().gpus {
        for bridge in entry.bridges.iter().filter(|bridge| bridge.carries_data) {
            let fabric = entry.fabric.as_ref().unwrap();
            assert_eq!(fabric.link, bridge.link, "{}", entry.name);
            // A card with a bridge of `cards` has cards - 1 peers; the rings of the MI50 have fewer links.
            let most = if entry.name.starts_with("mi50") || entry.name.starts_with("mi60") {
                2
            } else {
                bridge.cards - 1
            };
            assert!(bridge.links * most <= fabric.count.value, "{}", entry.name);
        }
    }
}

#[test]
fn peers_over_pcie_are_refused_to_the_geforce_generations_from_20_on() {
    for entry in &Catalogue::embedded().gpus {
        let denied =
            ["GeForce GTX 16", "GeForce RTX 20", "GeForce RTX 30", "GeForce RTX 40", "GeForce RTX 50"];
        if denied.contains(&entry.family.as_str()) {
            assert_eq!(peers_over_pcie(&entry.name), Some(false), "{}", entry.name);
        }
        let allowed =
            entry.vendor == "nvidia" && !entry.family.starts_with("GeForce") && entry.family != "Titan";
        if let Some(peers) = peers_over_pcie(&entry.name).filter(|_| allowed) {
            assert!(peers, "{}", entry.name);
        }
    }
    let allowed =
        ["gtx-1080-ti", "gtx-1070", "titan-xp", "a100-pcie-40gb", "t4", "l40s", "rtx-a6000", "mi210", "k80"];
    for name in allowed {
        assert_eq!(peers_over_pcie(name), Some(true), "{name}");
    }
}

fn display_bridges(name: &str, link: &str) -> Vec<&'static Bridge> {
    gpu(name).bridges.iter().filter(|bridge| bridge.link == link).collect()
}

#[test]
fn sli_joins_two_cards_of_one_model() {
    for name in ["gtx-1070", "gtx-1070-ti", "gtx-1080", "gtx-1080-ti", "titan-x-pascal", "titan-xp"] {
        let bridges = display_bridges(name, "sli-hb");
        assert_eq!(bridges.len(), 1, "{name}");
        let bridge = bridges[0];
        assert!(bridge.same_model && !bridge.carries_data && bridge.cards == 2, "{name}");
    }
    let nvlink = [
        ("rtx-2070-super", "nvlink2", 1),
        ("rtx-2080", "nvlink2", 1),
        ("rtx-2080-super", "nvlink2", 1),
        ("rtx-2080-ti", "nvlink2", 2),
        ("rtx-3090", "nvlink3-ga102", 4),
        ("rtx-3090-ti", "nvlink3-ga102", 4),
    ];
    for (name, link, links) in nvlink {
        let bridges = display_bridges(name, link);
        let bridge = bridges[0];
        assert!(bridge.same_model && bridge.carries_data && bridge.cards == 2, "{name}");
        assert_eq!(bridge.links, links, "{name}");
    }
    let later = |entry: &&Gpu| entry.family == "GeForce RTX 40" || entry.family == "GeForce RTX 50";
    assert!(Catalogue::embedded().gpus.iter().filter(later).all(|entry| entry.bridges.is_empty()));
    let thirty = |entry: &&Gpu| entry.family == "GeForce RTX 30" && !entry.bridges.is_empty();
    let names: BTreeSet<&str> =
        Catalogue::embedded().gpus.iter().filter(thirty).map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["rtx-3090", "rtx-3090-ti"]));
}

#[test]
fn crossfire_needs_a_bridge_until_the_r9_280_and_none_from_the_r9_285_and_290_on() {
    let expected = [
        ("hd-7970", false, 4),
        ("r9-280x", false, 4),
        ("r9-285", true, 2),
        ("r9-290x", true, 4),
        ("r9-380", true, 2),
        ("r9-390x", true, 4),
        ("r9-fury-x", true, 4),
        ("rx-480", true, 4),
        ("rx-580", true, 4),
        ("rx-vega-64", true, 2),
    ];
    for (name, bridgeless, cards) in expected {
        let bridges = display_bridges(name, "crossfire");
        assert_eq!(bridges.len(), 1, "{name}");
        let bridge = bridges[0];
        assert!(!bridge.same_model && !bridge.carries_data, "{name}");
        assert_eq!((bridge.bridgeless, bridge.cards), (bridgeless, cards), "{name}");
    }
    // Same family rather than same model: these pairs run together.
    for (one, other) in
        [("hd-7970", "r9-280x"), ("r9-290x", "r9-390x"), ("r9-285", "r9-380"), ("rx-480", "rx-580")]
    {
        assert_eq!(gpu(one).family, gpu(other).family);
    }
    assert_ne!(gpu("r9-280x").family, gpu("r9-290x").family);
}

#[test]
fn pcie_ports_are_those_of_the_generation() {
    let expected = [
        ("gtx-1080", "pcie3", 16),
        ("t4", "pcie3", 16),
        ("v100-sxm2-32gb", "pcie3", 16),
        ("l4", "pcie4", 16),
        ("a100-sxm4-40gb", "pcie4", 16),
        ("rtx-3090", "pcie4", 16),
        ("rtx-4060-ti", "pcie4", 8),
        ("rtx-4090", "pcie4", 16),
        ("rtx-5090", "pcie5", 16),
        ("h100-sxm5-80gb", "pcie5", 16),
        ("b200-sxm", "pcie5", 16),
        ("b300-sxm", "pcie6", 16),
        ("gb300", "pcie6", 16),
        ("mi250x", "pcie4", 16),
        ("mi300x", "pcie5", 16),
        ("rtx-pro-6000-server", "pcie5", 16),
    ];
    for (name, link, lanes) in expected {
        let port = gpu(name).pcie.as_ref().unwrap();
        assert_eq!((port.link.as_str(), port.count.value), (link, lanes), "{name}");
    }
}

#[test]
fn coherent_links_to_the_cpu_carry_what_the_superchip_states() {
    // 45 GB/s per link and direction: 10 x 45 = 450 for the one GPU of a Grace, half for each of two.
    let link = Catalogue::embedded().link("nvlink-c2c").unwrap();
    for (name, rate) in [("gh200-96gb", "450 GB/s"), ("gb200", "225 GB/s"), ("gb300", "225 GB/s")] {
        let coherent = gpu(name).coherent.as_ref().unwrap();
        assert_eq!(link.rate(coherent.count.value).to_string(), rate, "{name}");
    }
}

#[test]
fn arithmetic_rates_are_dense() {
    // With sparsity each would be twice as much: 624, 1979, 3958, 330 and 660 TFLOP/s.
    let fp16 = |name: &str| gpu(name).compute.fp16.as_ref().unwrap().value.to_string();
    let fp8 = |name: &str| gpu(name).compute.fp8.as_ref().unwrap().value.to_string();
    assert_eq!(fp16("A100 SXM"), "312 TFLOP/s");
    assert_eq!(fp16("H100 SXM"), "989 TFLOP/s");
    assert_eq!(fp8("H100 SXM"), "1.979 PFLOP/s");
    assert_eq!(fp16("RTX 4090"), "165.2 TFLOP/s");
    // Professional cards add in 32 bits at the full rate, GeForce cards at half of it.
    assert_eq!(fp16("RTX 6000 Ada"), "364.2 TFLOP/s");
    assert_eq!(fp8("RTX 4090"), "330.4 TFLOP/s");
}

#[test]
fn every_fact_names_a_source_and_every_derived_or_assumed_one_says_from_what() {
    fn check<T>(name: &str, fact: &Fact<T>) {
        assert!(Catalogue::embedded().sources.contains_key(&fact.source), "{name}: {}", fact.source);
        let explained = fact.note.is_some() || !matches!(fact.grade.word(), "derived" | "assumed");
        assert!(explained, "{name}: a {} value without a note", fact.grade.word());
    }
    let catalogue = Catalogue::embedded();
    for entry in &catalogue.gpus {
        let name = entry.name.as_str();
        check(name, &entry.memory);
        check(name, &entry.memory_rate);
        entry.board_power.iter().for_each(|fact| check(name, fact));
        for attachment in [&entry.pcie, &entry.fabric, &entry.coherent].into_iter().flatten() {
            assert!(
                catalogue.link(&attachment.link).is_ok_and(|link| link.name == attachment.link),
                "{name}"
            );
            check(name, &attachment.count);
        }
        entry.bridges.iter().for_each(|bridge| check(name, &bridge.rule));
        entry.peer_to_peer.iter().for_each(|peers| check(name, &peers.pcie));
        let rates = &entry.compute;
        [&rates.fp32, &rates.fp16, &rates.fp8, &rates.fp4]
            .into_iter()
            .flatten()
            .for_each(|fact| check(name, fact));
    }
}

#[test]
fn no_spelling_means_two_gpus() {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for entry in &Catalogue::embedded().gpus {
        for spelling in entry.aliases.iter().chain([&entry.name, &entry.title]) {
            let owner = owners.entry(simplify(spelling)).or_insert(&entry.name);
            assert_eq!(*owner, entry.name, "`{spelling}` means two GPUs");
        }
    }
}

/// What drivers print, vendors write and published tables use, and the entry that is meant.
const SPELLINGS: &[(&str, &str)] = &[
    ("NVIDIA GeForce GTX 1080 Ti", "gtx-1080-ti"),
    ("1080ti", "gtx-1080-ti"),
    ("GTX 1060 6GB", "gtx-1060"),
    ("TITAN Xp", "titan-xp"),
    ("NVIDIA TITAN X (Pascal)", "titan-x-pascal"),
    ("Tesla K80", "k80"),
    ("Tesla P40", "p40"),
    ("Tesla P100-SXM2-16GB", "p100-sxm2-16gb"),
    ("P100-SXM2", "p100-sxm2-16gb"),
    ("Tesla P100-PCIE-16GB", "p100-pcie-16gb"),
    ("Tesla T4", "t4"),
    ("T4", "t4"),
    ("Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
    ("V100-SXM2-32GB", "v100-sxm2-32gb"),
    ("V100", "v100-sxm2-32gb"),
    ("Tesla V100-SXM3-32GB-H", "v100-sxm3-32gb"),
    ("Tesla V100-PCIE-16GB", "v100-pcie-16gb"),
    ("Tesla V100S-PCIE-32GB", "v100s-pcie-32gb"),
    ("Quadro RTX 8000", "quadro-rtx-8000"),
    ("NVIDIA TITAN RTX", "titan-rtx"),
    ("NVIDIA GeForce RTX 2080 SUPER", "rtx-2080-super"),
    ("GeForce RTX 3090", "rtx-3090"),
    ("RTX3090", "rtx-3090"),
    ("NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti"),
    ("rtx 4090", "rtx-4090"),
    ("NVIDIA GeForce RTX 4090 D", "rtx-4090-d"),
    ("RTX 5090", "rtx-5090"),
    ("NVIDIA RTX A6000", "rtx-a6000"),
    ("A6000", "rtx-a6000"),
    ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
    ("RTX 6000 Ada", "rtx-6000-ada"),
    ("NVIDIA T600", "t600"),
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-workstation"),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"),
    ("NVIDIA A10G", "a10g"),
    ("NVIDIA A40", "a40"),
    ("NVIDIA L4", "l4"),
    ("NVIDIA L40S", "l40s"),
    ("A100", "a100-sxm4-80gb"),
    ("A100 SXM", "a100-sxm4-80gb"),
    ("A100-80GB SXM", "a100-sxm4-80gb"),
    ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
    ("a100_80gb", "a100-sxm4-80gb"),
    ("a100_40gb", "a100-sxm4-40gb"),
    ("A100-SXM4-40GB", "a100-sxm4-40gb"),
    ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
    ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
    ("NVIDIA A800-SXM4-80GB", "a800-sxm4-80gb"),
    ("H100", "h100-sxm5-80gb"),
    ("H100 SXM", "h100-sxm5-80gb"),
    ("H100 80GB HBM3", "h100-sxm5-80gb"),
    ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
    ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
    ("NVIDIA H100 NVL", "h100-nvl-94gb"),
    ("NVIDIA H200", "h200-sxm5-141gb"),
    ("H200 141GB", "h200-sxm5-141gb"),
    ("NVIDIA H200 NVL", "h200-nvl-141gb"),
    ("NVIDIA H800", "h800-sxm5-80gb"),
    ("H800 SXM", "h800-sxm5-80gb"),
    ("NVIDIA H20", "h20"),
    ("NVIDIA H20-3e", "h20-141gb"),
    ("NVIDIA GH200 480GB", "gh200-96gb"),
    ("NVIDIA GH200 120GB", "gh200-96gb"),
    ("NVIDIA GH200 144G HBM3e", "gh200-144gb"),
    ("NVIDIA GB10", "gb10"),
    ("B200 SXM", "b200-sxm"),
    ("NVIDIA B200", "b200-sxm"),
    ("NVIDIA B300 SXM6 AC", "b300-sxm"),
    ("GB200", "gb200"),
    ("GB200 185GB", "gb200"),
    ("NVIDIA GB300", "gb300"),
    ("AMD Instinct MI250X/MI250", "mi250x"),
    ("MI300X", "mi300x"),
    ("AMD Instinct MI300X VF", "mi300x"),
    ("MI355X", "mi355x"),
    ("gfx908", "mi100"),
    ("TPU v5p", "tpu-v5p"),
    ("Trillium", "tpu-v6e"),
    ("TPU7x (Ironwood)", "tpu-v7x"),
    ("Gaudi 3", "gaudi3"),
    ("Radeon R9 290X", "r9-290x"),
    ("AMD Radeon RX 7900 XTX", "rx-7900-xtx"),
];

#[test]
fn spellings_of_drivers_vendors_and_tables_are_understood() {
    for (spelling, name) in SPELLINGS {
        assert_eq!(gpu(spelling).name, *name, "{spelling}");
    }
    // Two products carry this name; neither may be picked silently.
    for ambiguous in ["RTX 6000", "RTX 5000", "RTX 4000"] {
        assert!(Catalogue::embedded().gpu(ambiguous).is_err(), "{ambiguous}");
    }
}

/// Cells of one line of CSV; quotes may hold commas.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    cells
}

#[test]
#[expect(clippy::disallowed_methods, reason = "reads published measurements where they are at hand")]
fn gpus_of_published_collective_measurements_are_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/measured");
    let Ok(entries) = folder.read_dir() else {
        println!("skipped: {} is absent", folder.display());
        return;
    };
    // Not NCCL, and its column mixes GPU and NIC.
    let skipped = "coll_deepep_moe_alltoall.csv";
    // Rows that name no GPU.
    let unnamed = ["", "H100 class (not stated)"];
    let mut files = 0;
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let table = path.extension().is_some_and(|extension| extension == "csv");
        if !table || !name.starts_with("coll_") || name == skipped {
            continue;
        }
        files += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let column = cells(lines.next().unwrap()).iter().position(|cell| cell == "gpu").unwrap();
        for spelling in lines.map(|line| cells(line)[column].clone()) {
            let known = unnamed.contains(&spelling.as_str()) || Catalogue::embedded().gpu(&spelling).is_ok();
            assert!(known, "{name}: `{spelling}`");
        }
    }
    assert!(files > 0, "{} has no coll_*.csv", folder.display());
}
