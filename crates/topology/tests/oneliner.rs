//! One-liners: what is read, and how errors point at the column and name what exists.

mod common;

use common::{all, machine, refusal, topology};
use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_topology::{NodeKind, build, oneliner, route};

/// Column, code, and whether message or hint contain all of `words`.
fn assert_refused(line: &str, column: u32, code: &str, words: &[&str]) {
    let finding: Diagnostic = refusal(line);
    let place = finding.place.as_ref().expect("an error has a place");
    assert_eq!((finding.code.name, place.column), (code, column), "{finding}");
    let text = finding.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in: {text}");
    }
}

#[test]
fn every_example_of_the_reference_page_is_read_and_built() {
    let page = include_str!("../../../docs/reference/one-liner.md");
    let mut kind = None;
    let mut counts = (0, 0);
    for line in page.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            kind = kind.is_none().then_some(fence);
        } else if kind == Some("text") {
            counts.0 += 1;
            // The largest is built by the example `scale`; here its shape is enough.
            let small = line.replace("16384 x", "64 x");
            topology(&small);
            machine(line);
        } else if kind == Some("errors") {
            counts.1 += 1;
            refusal(line);
        }
    }
    assert!(counts.0 >= 25 && counts.1 >= 8, "{counts:?}");
}

#[test]
fn typos_name_the_nearest_device_at_its_column() {
    assert_refused("8 h100-smx", 3, "unknown-name", &["`h100-smx`", "did you mean", "h100-sxm"]);
    assert_refused("2 rtx-390", 3, "unknown-name", &["`rtx-3090`"]);
    assert_refused("8 h100-sxm + 8 conectx-7", 16, "unknown-name", &["`conectx-7`", "connectx-7"]);
    assert_refused("dgx-a10", 1, "unknown-name", &["`dgx-a100`"]);
    assert_refused("8 h100-sxm @ nvswich3(4)", 14, "unknown-name", &["`nvswitch3`"]);
    assert_refused("4 x dgx-h100 @ fat-tre", 16, "unknown-name", &["`fat-tree`"]);
    assert_refused("4 x dgx-h100 @ fat-tree(switch qm9701)", 32, "unknown-name", &["`qm9701`"]);
    assert_refused("8 ???", 3, "unknown-name", &["weft show --list"]);
}

#[test]
fn a_slot_that_does_not_exist_is_refused_at_its_column() {
    assert_refused("2 rtx-3090 @ pcie4x7", 14, "unknown-name", &["`pcie4x7`", "`pcie4x8`"]);
    assert_refused("2 rtx-3090 @ pcie9x16", 14, "unknown-name", &["`pcie9x16`"]);
    assert_refused("2 rtx-3090 @ pcie4x8(2)", 14, "one-liner-syntax", &["takes no count"]);
}

#[test]
fn unfinished_lines_say_what_is_missing_and_where() {
    assert_refused("8 h100-sxm @ nvswitch3(4", 25, "one-liner-syntax", &["expected `)`", "end of the line"]);
    assert_refused("8 h100-sxm @ nvswitch3(", 24, "one-liner-syntax", &["expected a count"]);
    assert_refused("8 h100-sxm @ nvswitch3(four)", 24, "one-liner-syntax", &["found `four`"]);
    assert_refused("8 h100-sxm @", 13, "one-liner-syntax", &["expected a place"]);
    assert_refused("8 h100-sxm +", 13, "one-liner-syntax", &["expected a device"]);
    assert_refused("8", 2, "one-liner-syntax", &["expected a device"]);
    assert_refused("", 1, "one-liner-syntax", &["expected a device"]);
    assert_refused("4 x dgx-h100 @ fat-tree(leaf 64x400G", 37, "one-liner-syntax", &["expected `)`"]);
    assert_refused("4 x dgx-h100 @ fat-tree(leaf)", 25, "one-liner-syntax", &["one value", "found nothing"]);
    assert_refused("4 x dgx-h100 @ fat-tree()", 25, "one-liner-syntax", &["`leaf`"]);
    assert_refused("dgx-a100 dgx-a100", 10, "one-liner-syntax", &["found `dgx-a100`"]);
    assert_refused("0 h100-sxm", 1, "one-liner-syntax", &["found `0`"]);
}

#[test]
fn columns_count_characters_not_bytes() {
    assert_refused("8 h100-sxm @ nvswitch3(4) + 8 ñx7", 31, "unknown-name", &["`ñx7`"]);
    assert_refused("\t 8 µµµ-gpu", 5, "unknown-name", &["`µµµ-gpu`"]);
}

#[test]
fn a_system_is_no_part_of_a_server() {
    assert_refused("2 dgx-a100", 3, "one-liner-syntax", &["whole server", "`2 x dgx-a100`"]);
    assert_refused("dgx-a100 + 2 cx7", 1, "one-liner-syntax", &["whole server"]);
}

#[test]
fn nothing_that_is_written_is_ignored() {
    assert_refused("8 h100-sxm + 2 epyc-genoa @ pcie5x16", 29, "one-liner-syntax", &["a CPU"]);
    assert_refused("2 rtx-3090 + nvlink-bridge @ pcie4x8", 30, "one-liner-syntax", &["a bridge"]);
    assert_refused("4 cx7 @ nvswitch3(4)", 9, "impossible-machine", &["a NIC has no links"]);
    assert_refused("8 a40 @ quantum-2-qm9700", 9, "one-liner-syntax", &["network switch", "fat-tree(switch"]);
    assert_refused("8 a40 @ pcie-switch(9)", 9, "impossible-machine", &["9 switches for 8 devices"]);
    assert_refused(
        "8 a40 @ pcie-switch(4) + 2 cx6 @ pcie-switch(2)",
        34,
        "impossible-machine",
        &["4 of the same"],
    );
    assert_refused("8 a40 @ pcie4x16 @ pcie4x8", 3, "impossible-machine", &["two PCIe branches"]);
    assert_refused("2 rtx-3090 + 3 nvlink-bridge", 16, "impossible-machine", &["3 bridges for 2 GPUs"]);
    assert_refused("4 x 8 a40 @ fat-tree", 13, "impossible-machine", &["have none"]);
    assert_refused("2000 a40", 6, "impossible-machine", &["2000 devices do not fit one server"]);
    assert_refused("4 a40 + 99 epyc-genoa", 12, "impossible-machine", &["99 CPUs"]);
}

#[test]
fn the_leaf_rate_is_what_the_nics_run() {
    let link = |line| machine(line).nics[0].link.clone();
    assert_eq!(link("4 x dgx-h100 @ fat-tree(leaf 64x400G)"), None);
    assert_eq!(link("4 x dgx-h100 @ fat-tree(leaf 64x200G)").as_deref(), Some("infiniband-ndr200"));
    assert_eq!(link("4 x dgx-h100 @ fat-tree(leaf 64)"), None);
    assert_refused(
        "4 x dgx-h100 @ fat-tree(leaf 64x300G)",
        30,
        "impossible-machine",
        &["300G", "it runs 400G, 200G"],
    );
    assert_refused("4 x dgx-h100 @ fat-tree(leaf 64x400)", 30, "one-liner-syntax", &["`64x400G`"]);
    assert_refused("4 x dgx-h100 @ fat-tree(oversubscription 0:1)", 42, "one-liner-syntax", &["`2:1`"]);
    assert_refused("4 x dgx-h100 @ fat-tree(width 3)", 25, "one-liner-syntax", &["no option"]);
}

#[test]
fn a_network_that_cannot_be_is_refused_at_the_option_that_asks_for_it() {
    let refused =
        |line: &str, column, words: &[&str]| assert_refused(line, column, "impossible-machine", words);
    refused("16 x dgx-h100 @ single", 17, &["128 NICs do not fit one switch of 64 ports", "`fat-tree`"]);
    refused(
        "64 x dgx-h100 @ fat-tree(leaf 8)",
        17,
        &["more than three tiers of 8-port switches", "at most 32"],
    );
    let words = ["2 planes of 400G are 800G", "ConnectX-7 NDR 400 has 400G", "64x200G"];
    refused("8 x dgx-h100 @ fat-tree(leaf 64x400G, planes 2)", 39, &words);
    refused("8 x dgx-h100 @ fat-tree(planes 16)", 25, &["400G for 16 planes, but no port of 25G"]);
    refused("8 x dgx-h100 @ fat-tree(groups 4)", 25, &["`groups` is an option of `dragonfly+` alone"]);
    refused(
        "8 x dgx-h100 @ rail-only(leaves 4)",
        26,
        &["`leaves` is an option of `fat-tree` and `dragonfly+`"],
    );
    refused("8 x dgx-h100 @ fat-tree(leaves 9)", 25, &["8 hosts cannot be spread over 9 leaves"]);
    refused("16 x dgx-h100 @ fat-tree(leaves 2)", 26, &["2 leaves need 64 ports for NICs each, but have 32"]);
    refused("8 x dgx-h100 @ fat-tree(leaves 4, spines 40)", 35, &["32 uplinks, too few for 40 spines"]);
    refused(
        "8 x dgx-h100 @ fat-tree(leaves 4, spines 1)",
        35,
        &["1 spines need 128 ports each, but have 64"],
    );
    refused("8 x dgx-h100 @ fat-tree(links 4)", 25, &["`links` is an option of `torus` alone"]);
    let words = ["spines that face no core", "leave `spine-oversubscription` out"];
    refused("64 x dgx-h100 @ fat-tree(spine-oversubscription 2:1)", 26, &words);
    refused("8 x dgx-h100 @ torus", 16, &["two or three sizes", "`torus(4x4x4)`"]);
    refused("8 x dgx-h100 @ torus(1x8)", 16, &["two or three sizes"]);
    refused("8 x dgx-h100 @ torus(4x4x4)", 22, &["a torus of 64 switches, but only 8 hosts"]);
    refused("8 x dgx-h100 @ torus(2x4, links 30)", 27, &["leave 14 links for each of 4 directions"]);
    refused("8 x dgx-h100 @ torus(2x4, oversubscription 2:1)", 27, &["no tiers", "`links N`"]);
    refused(
        "8 x dgx-h100 @ dragonfly+(groups 9)",
        27,
        &["9 groups, but 8 hosts fill no more than 2 leaves", "`leaves`"],
    );
    refused("64 x dgx-h100 @ dragonfly+(groups 2, leaves 2)", 38, &["4 leaves hold too few NICs", "need 16"]);
    refused("8 x dgx-h100 @ dragonfly+(groups 2, leaves 5)", 37, &["10 leaves, but only 8 hosts"]);
    refused("64 x dgx-h100 @ dragonfly+(spines 40)", 28, &["40 spines in a group, but a leaf has 32 ports"]);
    refused("64 x dgx-h100 @ dragonfly+(spines 1)", 28, &["cannot hold 512 links of its 16 leaves"]);
    let words = ["`256x400G` is more than the ports", "64 ports of 800G"];
    refused("64 x dgx-h100 @ fat-tree(leaf 256x400G, switch sn5600)", 31, &words);
    // `+` belongs to the word `dragonfly` alone, and only without a blank.
    assert_refused("8 x dgx-h100 @ dragonfly + (groups 2)", 16, "unknown-name", &["dragonfly+"]);
    let syntax = |line: &str, column, words: &[&str]| assert_refused(line, column, "one-liner-syntax", words);
    syntax("8 x dgx-h100 @ torus(4x4, 4x4x)", 27, &["`4x4x` is no option", "`links N`"]);
    syntax("8 x dgx-h100 @ fat-tree(4x4)", 25, &["`4x4` is no option"]);
    syntax("8 x dgx-h100 @ fat-tree(planes two)", 32, &["a number from 1 to 16", "`two`"]);
}

#[test]
fn a_switch_is_split_as_the_leaf_says() {
    let radix = |network: &str| {
        machine(&format!("8 x dgx-b300 @ fat-tree({network})")).network.expect("a network").radix
    };
    assert_eq!(radix("switch sn5600"), 64);
    assert_eq!(radix("switch sn5600, leaf 128x400G"), 128);
    assert_eq!(radix("leaf 128x400G, switch sn5600"), 128);
    let network = machine("8 x dgx-h100 @ dragonfly+(leaf 64)").network.expect("a network");
    assert_eq!(network.design, weft_catalogue::NetworkDesign::DragonflyPlus);
    assert_eq!(machine("8 x dgx-h100 @ dragonfly-plus(leaf 64)").network, Some(network));
}

#[test]
fn parts_of_one_model_keep_their_own_places() {
    let machine = machine("2 rtx-3090 @ pcie4x16 + 2 rtx-3090 @ pcie4x8");
    let seats: Vec<_> =
        machine.pcie.iter().map(|branch| (branch.device_lanes, branch.gpus.clone())).collect();
    assert_eq!(seats, [(Some(16), vec![0, 1]), (Some(8), vec![2, 3])]);
}

#[test]
fn devices_are_spread_evenly_over_sockets_and_switches() {
    let groups = |line: &str| -> Vec<(u16, usize)> {
        machine(line).pcie.iter().map(|branch| (branch.socket, branch.gpus.len())).collect()
    };
    assert_eq!(groups("5 a40"), [(0, 3), (1, 2)]);
    assert_eq!(groups("6 a40 @ pcie-switch(4)"), [(0, 2), (0, 1), (1, 2), (1, 1)]);
    assert_eq!(groups("1 a40 + 2 epyc-milan"), [(0, 1)]);
}

#[test]
fn a_superchip_hangs_off_its_cpu_unless_a_port_is_asked_for() {
    let coherent = topology("1 gh200-96gb + 1 grace");
    let gpu = all(&coherent, NodeKind::Gpu)[0];
    let (_, link) = coherent.links_from(gpu).next().expect("a link");
    assert_eq!(coherent.kind(link.kind).name, "nvlink-c2c");
}

#[test]
fn a_superchip_brings_its_own_cpu() {
    // Each GH200 has a Grace of its own; on GB200 boards two GPUs share one.
    for (line, sockets) in [("2 gh200-96gb", 2), ("4 gb200", 2), ("1 gb10", 1), ("2 gh200-144gb + 2 cx7", 2)]
    {
        let host = machine(line).host;
        assert!(host.cpu.as_deref().is_some_and(|cpu| cpu.starts_with("grace")), "{line}: {host:?}");
        assert_eq!(host.sockets, sockets, "{line}");
    }
}

#[test]
fn an_assumed_cpu_never_narrows_a_port() {
    // PCIe 5.0 x16: 32 GT/s x 16 x 128/130 / 8 = 63.02 GB/s; PCIe 4.0 x16 half of that.
    for (line, rate) in
        [("2 rtx-5090", "63.02 GB/s"), ("2 h100-pcie-80gb", "63.02 GB/s"), ("2 a40", "31.51 GB/s")]
    {
        let pair = topology(line);
        let gpus = all(&pair, NodeKind::Gpu);
        assert_eq!(route(&pair, gpus[0], gpus[1]).unwrap().rate.to_string(), rate, "{line}");
    }
}

#[test]
fn counts_and_blanks_in_the_wrong_place_are_put_right_by_the_hint() {
    for (line, meant) in [
        ("8xH100", "`8 h100-sxm5-80gb`"),
        ("8x H100", "`8 h100-sxm5-80gb`"),
        ("8rtx4090", "`8 rtx-4090`"),
        ("4090", "`1 rtx-4090`"),
        ("4 x 4090", "`4 rtx-4090`"),
        ("DGX A100", "`dgx-a100`"),
        ("2x dgx-a100", "`2 x dgx-a100`"),
        ("8 NVIDIA H100 80GB HBM3", "`8 h100-sxm5-80gb`"),
        ("2 rtx 3090 @ pcie4x8", "`2 rtx-3090`"),
    ] {
        let hint = refusal(line).hint.unwrap_or_default();
        assert!(hint.contains(meant), "{line}: {hint}");
    }
}

#[test]
fn a_count_beyond_all_reason_is_named_as_written() {
    assert_refused("8 h100-sxm @ nvswitch3(1000000)", 24, "one-liner-syntax", &["1 to 65535", "`1000000`"]);
    assert_refused("99999999999 t4", 1, "one-liner-syntax", &["from 1 to 9999999"]);
}

#[test]
fn a_cluster_is_named_after_what_was_written() {
    let cluster = machine("2048 x dgx-h100 @ rail-optimized");
    assert_eq!(cluster.host.count, 2048);
    assert!(cluster.title.starts_with("2,048 × NVIDIA DGX H100"), "{}", cluster.title);
    let error = build(&machine("9000000 x dgx-h100"), Catalogue::embedded()).expect_err("too large");
    assert!(error.to_string().contains("devices are more than"), "{error}");
}

#[test]
fn any_text_is_read_or_refused_at_a_place_within_it() {
    use proptest::prelude::*;
    let word = prop_oneof![
        Just("8".to_owned()),
        Just("x".into()),
        Just("+".into()),
        Just("@".into()),
        Just("(".into()),
        Just(")".into()),
        Just(",".into()),
        Just("h100-sxm".into()),
        Just("nvswitch3".into()),
        Just("pcie5x16".into()),
        Just("mesh".into()),
        Just("dgx-a100".into()),
        Just("4 x dgx-h100 @".into()),
        Just("fat-tree".into()),
        Just("dragonfly+".into()),
        Just("torus".into()),
        Just("2x2".into()),
        Just("planes 2".into()),
        Just("groups 2".into()),
        Just("leaf".into()),
        Just("64x400G".into()),
        Just("cx7".into()),
        Just("nvlink-bridge".into()),
        ".{0,6}",
    ];
    proptest!(ProptestConfig::with_cases(800), |(words in prop::collection::vec(word, 0..9))| {
        let line = words.join(" ");
        match oneliner::parse(&line, Catalogue::embedded()) {
            Ok(machine) => { let _ = build(&machine, Catalogue::embedded()); }
            Err(finding) => {
                let place = finding.place.expect("a place");
                let end = u32::try_from(line.chars().count()).unwrap() + 1;
                prop_assert!(place.column >= 1 && place.column + place.length <= end + 1);
            }
        }
    });
}
