//! Drawings: well-formed, within their card, the same bytes each time, and saying the rates.

mod common;

use common::{machine, topology};
use weft_catalogue::Catalogue;
use weft_topology::GraphBuilder;
use weft_topology::draw::{Options, dot, svg, text};

const LINES: &[&str] = &[
    "4 x dgx-a100",
    "2 x gb200-nvl72",
    "8 x gb200-nvl72",
    "32 x dgx-h100 @ rail-optimized(leaf 64x400G)",
    "127 x dgx-h100 @ rail-optimized(switch quantum-2-qm9700)",
    "1024 x dgx-h100 @ rail-optimized(leaf 64x400G)",
    "64 x dgx-h100 @ fat-tree(leaf 64x400G, oversubscription 2:1)",
    "16 x gb200-nvl72 @ rail-optimized",
    "4 x dgx-h100 @ single",
    "32 x dgx-h100 @ rail-only",
    "128 x dgx-h100 @ rail-only(leaf 64x400G)",
    "64 x dgx-b300 @ rail-optimized(leaf 128x400G, planes 2)",
    "64 x dgx-h100 @ dragonfly+(leaf 64x400G, groups 4)",
    "512 x dgx-h100 @ dragonfly+(leaf 32x400G)",
    "64 x dgx-h100 @ torus(4x4x4)",
    "8 x dgx-h100 @ torus(2x2, links 3)",
    "4 x dgx-h100 @ single(planes 2)",
    "2 gtx-1080 @ pcie3x8 + sli-hb",
    "8 a40 + 4 xeon-ice-lake",
    "16 v100-sxm3-32gb",
    "2 cx7",
];

fn draw(line: &str) -> String {
    let catalogue = Catalogue::embedded();
    svg(&topology(line), &Options { title: &machine(line).title, catalogue: Some(catalogue) })
}

fn all_lines() -> Vec<String> {
    let systems = Catalogue::embedded().systems.iter().map(|system| system.name.clone());
    systems.chain(LINES.iter().map(|line| (*line).to_owned())).collect()
}

/// The value of an attribute of an element.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let start = element.find(&format!(" {name}=\""))? + name.len() + 3;
    element[start..].split('"').next()
}

fn number(element: &str, name: &str) -> i32 {
    attribute(element, name).and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// Walks through the elements: every one is closed in order, and no box leaves the card.
fn check(picture: &str, what: &str) {
    let mut open: Vec<(&str, (i32, i32))> = Vec::new();
    let (width, height) = (number(picture, "width"), number(picture, "height"));
    assert!(width > 0 && height > 0, "{what}");
    for piece in picture.split('<').skip(1) {
        let (element, text) = piece.split_once('>').expect("an element ends");
        assert!(!text.contains('>'), "{what}: {text}");
        if let Some(name) = element.strip_prefix('/') {
            assert_eq!(open.pop().map(|(open, _)| open), Some(name), "{what}");
            continue;
        }
        let name = element.split([' ', '/']).next().unwrap_or_default();
        let (x, y) = open.last().map_or((0, 0), |(_, offset)| *offset);
        if name == "rect" {
            let (left, top) = (x + number(element, "x"), y + number(element, "y"));
            let (right, bottom) = (left + number(element, "width"), top + number(element, "height"));
            assert!(number(element, "width") > 0, "{what}: {element}");
            assert!(left >= 0 && top >= 0 && right <= width && bottom <= height, "{what}: {element}");
        }
        if name == "text" {
            let (left, top) = (x + number(element, "x"), y + number(element, "y"));
            assert!((0..=width).contains(&left) && (0..=height).contains(&top), "{what}: {element}");
            assert!(!text.trim().is_empty(), "{what}: an empty text");
        }
        if !element.ends_with('/') {
            let moved = attribute(element, "transform")
                .and_then(|transform| {
                    transform.strip_prefix("translate(")?.strip_suffix(')')?.split_once(' ')
                })
                .and_then(|(x, y)| Some((x.parse::<i32>().ok()?, y.parse::<i32>().ok()?)));
            let by = moved.unwrap_or((0, 0));
            open.push((name, (x + by.0, y + by.1)));
        }
    }
    assert!(open.is_empty(), "{what}: {open:?}");
}

#[test]
fn every_system_and_cluster_is_drawn_within_its_card() {
    for line in all_lines() {
        let picture = draw(&line);
        check(&picture, &line);
        assert!(picture.starts_with("<svg xmlns=") && picture.contains("viewBox="), "{line}");
        assert!(picture.contains("Rates are per direction"), "{line}");
        assert!(picture.len() < 400_000, "{line}: {} bytes", picture.len());
        assert_eq!(picture, draw(&line), "{line}");
    }
}

#[test]
fn text_and_dot_say_every_device_and_its_rate() {
    for line in all_lines() {
        let topology = topology(&line);
        let options = Options { title: "T", catalogue: Some(Catalogue::embedded()) };
        let tree = text(&topology, &options);
        assert!(tree.starts_with("T: all rates are per direction\n"), "{tree}");
        assert!(tree.lines().count() < 200, "{line}: hosts that are alike are written once");
        let graph = dot(&topology, &options);
        assert_eq!(graph.matches(" -- ").count(), topology.links().len() / 2, "{line}");
        assert_eq!(graph.matches('{').count(), graph.matches('}').count(), "{line}");
    }
}

#[test]
fn a_dgx_a100_has_one_bundle_for_each_gpu() {
    let picture = draw("dgx-a100");
    assert!(picture.contains("6 × NVSwitch, second generation"));
    assert!(picture.contains("12 × NVLink 3 from each GPU, 300 GB/s"));
    assert!(picture.contains("300 GB/s per GPU"));
    let bundles = picture.matches("switches: 12 × NVLink 3, 300 GB/s per direction</title></line>").count();
    assert_eq!(bundles, 8);
    for name in
        ["GPU7", "NIC9", "CPU1", "AMD EPYC 7002 (Rome)", "PCIe 4.0 x16", "31.51 GB/s", "A100 SXM4 80GB"]
    {
        assert!(picture.contains(name), "{name}");
    }
}

#[test]
fn a_rack_is_trays_round_a_bar_and_a_large_cluster_is_counted() {
    let rack = draw("gb200-nvl72");
    assert_eq!(rack.matches("18 × NVLink 5, 900 GB/s per direction</title></line>").count(), 72);
    assert!(rack.contains(">host17</text>"));
    let cluster = draw("1024 x dgx-h100 @ rail-optimized(leaf 64x400G)");
    for text in ["128 core switches", "32 spine switches", "× 32 hosts", "5 more pods", "640 hosts"] {
        assert!(cluster.contains(text), "{text}");
    }
}

#[test]
fn titles_cannot_break_out_of_the_picture() {
    let topology = topology("desktop-2x3090");
    let labelled = {
        let gpu = topology.find("GPU0").expect("a GPU");
        topology.labelled([(gpu, "<script>\"&'\u{7}".to_owned())])
    };
    let options = Options { title: "a < b & \"c\"", catalogue: None };
    let picture = svg(&labelled, &options);
    check(&picture, "escaped");
    assert!(picture.contains("a &lt; b &amp; &quot;c&quot;") && !picture.contains("<script"));
    assert!(dot(&labelled, &options).contains(r#"label = "a < b & \"c\"";"#));
}

#[test]
fn an_empty_graph_is_drawn_too() {
    let nothing = GraphBuilder::default().finish();
    check(&svg(&nothing, &Options::default()), "nothing");
    assert_eq!(text(&nothing, &Options::default()), "all rates are per direction\n");
    assert!(dot(&nothing, &Options::default()).starts_with("graph topology {"));
}

#[test]
fn the_tree_of_a_desktop_reads_like_this() {
    let topology = topology("desktop-2x3090");
    let options = Options { title: "Desktop", catalogue: Some(Catalogue::embedded()) };
    insta::assert_snapshot!(text(&topology, &options), @r"
    Desktop: all rates are per direction
    CPU0 (AMD Ryzen 5000)
      memory, 51.2 GB/s
      host bridge RC0
        GPU0 (NVIDIA GeForce RTX 3090) over PCIe 4.0 x8, 15.75 GB/s
        GPU1 (NVIDIA GeForce RTX 3090) over PCIe 4.0 x8, 15.75 GB/s
    between GPUs
      GPU0 – GPU1: 4 × NVLink 3 of the GA102 bridge, 56.25 GB/s
    ");
}
