//! Clusters as InfraGraph describes them.

#![allow(clippy::panic, reason = "what is not as expected must stop the test")]
#![expect(clippy::disallowed_methods, reason = "tests read examples from disk")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

use std::fs;

use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Infrastructure, Reading, Source, read};

fn reading(text: &str) -> (Infrastructure, Reading) {
    let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
    let Evidence::Infrastructure(found) = &reading.evidence[0].value else { panic!("{text}") };
    (*found.clone(), reading)
}

fn example(name: &str) -> Infrastructure {
    let path = format!("{}/../../examples/formats/infragraph/{name}", env!("CARGO_MANIFEST_DIR"));
    let (found, reading) = reading(&fs::read_to_string(path).unwrap());
    assert_eq!(reading.diagnostics, []);
    found
}

#[test]
fn instances_components_and_links_are_counted() {
    let clos = example("clos.yaml");
    // 4 servers of 1 CPU, 4 GPUs, 4 NICs and a controller; 3 switches of a chip and 16 ports.
    let totals: Vec<_> = clos.totals().into_iter().collect();
    let wanted = [("cpu", 4), ("management", 4), ("nic", 16), ("port", 48), ("switch", 3), ("xpu", 16)];
    assert_eq!(totals, wanted.map(|(kind, count)| (kind.to_owned(), count)));
    // Two servers have eight NICs; each leaf has four ports to the spine.
    assert_eq!(clos.edges.iter().map(|edge| edge.count).collect::<Vec<_>>(), [8, 8, 8]);
    assert_eq!(clos.devices[0].edges.iter().map(|edge| edge.count).collect::<Vec<_>>(), [4, 4, 1]);
    // 400 Gb/s are 50 GB/s; 100 GB/s are as given.
    let rates: Vec<_> = clos.links.iter().map(|link| link.rate.unwrap().get()).collect();
    assert_eq!(rates, [50_000_000_000, 100_000_000_000]);
    assert_eq!(clos.links[0].latency.unwrap().get(), 500_000);
    assert_eq!(clos.devices[0].links[0].transfers.unwrap().to_string(), "32 GT/s");
}

#[test]
fn devices_within_devices_are_counted_too() {
    let composed = example("composed.json");
    let totals: Vec<_> = composed.totals().into_iter().collect();
    // 2 servers of 2 CPUs and 4 cards, each card with a chip and 2 ports.
    assert_eq!(totals, [("cpu", 4), ("nic", 8), ("port", 16)].map(|(kind, count)| (kind.to_owned(), count)));
    assert_eq!(composed.devices[1].edges.iter().map(|edge| edge.count).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(composed.edges[0].count, 4);
}

#[test]
fn what_is_not_there_is_named_with_its_place() {
    let text = "devices:\n- name: a\n  components: [{name: nic, count: 2, choice: nic}]\n  links: [{name: p}]\n  edges: []\n\
                instances: [{name: h, device: b, count: 1}, {name: g, device: a, count: 2}]\nlinks: [{name: wire}]\nedges:\n\
                - ep1: {instance: \"g[0:3]\", component: nic}\n  ep2: {instance: g, component: nik}\n  scheme: one2one\n  link: wires\n";
    let (_, reading) = reading(text);
    let found: Vec<_> = reading
        .diagnostics
        .iter()
        .map(|finding| (finding.code.name, finding.place.as_ref().unwrap().line))
        .collect();
    let wanted = [
        ("infrastructure-undefined", 6),
        ("infrastructure-slice", 9),
        ("infrastructure-undefined", 10),
        ("infrastructure-undefined", 12),
    ];
    assert_eq!(found, wanted);
}
