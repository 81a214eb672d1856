//! Topologies of schedulers: what is read of them, and what is said of those that contradict themselves.

#![expect(clippy::disallowed_methods, reason = "tests read examples from disk")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

use std::fs;
use std::time::Instant;

use weft_base::{Diagnostic, Severity};
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Hierarchy, HierarchyKind, Located, Reading, Record, Source, Value, read};

fn reading(text: &str) -> Reading {
    read(&Source::file("t", text), Catalogue::embedded(), None)
}

fn example(path: &str) -> Vec<Hierarchy> {
    let path = format!("{}/../../examples/formats/{path}", env!("CARGO_MANIFEST_DIR"));
    let reading = reading(&fs::read_to_string(path).unwrap());
    assert_eq!(reading.diagnostics, []);
    hierarchies(&reading)
}

fn hierarchies(reading: &Reading) -> Vec<Hierarchy> {
    let hierarchy = |located: &Located<Evidence>| {
        let Evidence::Hierarchy(hierarchy) = &located.value else { return None };
        Some((**hierarchy).clone())
    };
    reading.evidence.iter().filter_map(hierarchy).collect()
}

/// Names of what a host hangs under.
fn above<'h>(hierarchy: &'h Hierarchy, host: &str) -> Vec<&'h str> {
    let leaf = hierarchy.leaves.iter().find(|leaf| leaf.name == host).unwrap();
    leaf.under.iter().map(|node| hierarchy.nodes[*node].name.as_str()).collect()
}

fn hosts_of(hierarchy: &Hierarchy) -> Vec<usize> {
    hierarchy.hosts().iter().map(Vec::len).collect()
}

/// The one finding of that code: its line and column.
fn finding<'r>(reading: &'r Reading, code: &str) -> &'r Diagnostic {
    let found: Vec<_> = reading.diagnostics.iter().filter(|finding| finding.code.name == code).collect();
    assert_eq!(found.len(), 1, "{code}: {:#?}", reading.diagnostics);
    found[0]
}

fn at(finding: &Diagnostic) -> (u32, u32) {
    let place = finding.place.as_ref().unwrap();
    (place.line, place.column)
}

#[test]
fn a_tree_with_a_lone_leaf() {
    let [tree] = &example("slurm-topology-conf/tree.conf")[..] else { panic!() };
    // 16 + (15 + login) + 8 hosts.
    assert_eq!((tree.kind, tree.leaves.len(), tree.nodes.len()), (HierarchyKind::Tree, 40, 4));
    assert_eq!(tree.levels(), [1, 0, 0, 0]);
    assert_eq!(hosts_of(tree), [0, 16, 16, 8]);
    assert_eq!(tree.roots().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["spine", "leaf3"]);
    assert_eq!(above(tree, "login"), ["leaf2"]);
    assert_eq!((tree.nodes[0].link_speed, tree.nodes[3].line), (Some(400), 8));
    assert_eq!(tree.nodes[3].alias.as_deref(), Some("test-rack-7"));
}

#[test]
fn blocks_with_their_sizes_and_real_names() {
    let [blocks] = &example("slurm-topology-conf/block.conf")[..] else { panic!() };
    assert_eq!(blocks.kind, HierarchyKind::Blocks);
    assert_eq!((blocks.block_sizes.clone(), hosts_of(blocks)), (vec![16, 32], vec![18, 18, 16]));
    assert_eq!(blocks.nodes[1].alias.as_deref(), Some("nvl-2"));
}

#[test]
fn several_topologies_of_one_yaml_file() {
    let found = example("slurm-topology-yaml/topology.yaml");
    let names: Vec<_> =
        found.iter().map(|one| (one.name.as_deref().unwrap(), one.kind, one.is_default)).collect();
    assert_eq!(
        names,
        [
            ("fabric", HierarchyKind::Tree, true),
            ("racks", HierarchyKind::Blocks, false),
            ("anywhere", HierarchyKind::Flat, false)
        ]
    );
    assert_eq!((hosts_of(&found[0]), hosts_of(&found[1])), (vec![0, 16, 16], vec![8; 4]));
    assert_eq!((above(&found[0], "gpu17"), above(&found[1], "gpu17")), (vec!["leaf2"], vec!["rack3"]));
}

#[test]
fn models_place_hosts_under_switches_and_in_blocks() {
    let [model] = &example("topograph-model/two-racks.yaml")[..] else { panic!() };
    assert_eq!(model.leaves.len(), 18 + 18 + 5);
    assert_eq!(above(model, "tray101"), ["leaf-a", "rack-a"]);
    assert_eq!(above(model, "login"), ["leaf-c"]);
    assert_eq!(model.roots().filter(|node| !node.is_block).count(), 1);
    // `leaf-b` is only named, and is there all the same.
    assert_eq!(model.nodes.iter().filter(|node| !node.is_block).count(), 4);
}

#[test]
fn instances_name_the_switches_above_them() {
    let [aws] = &example("instance-topology/describe-instance-topology.json")[..] else { panic!() };
    assert_eq!(aws.roots().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["nn-0000000000000001"]);
    assert_eq!(above(aws, "i-0000000000000000c"), ["nn-0000000000000121"]);
    let [graph] = &example("instance-topology/graph.json")[..] else { panic!() };
    assert_eq!(above(graph, "srv-3"), ["nvl-2", "leaf-b"]);
    assert_eq!(graph.roots().filter(|node| !node.is_block).count(), 1);
}

#[test]
fn netq_graphs_have_tiers_and_its_nodes_domains() {
    let [graph] = &example("netq/topology-graph.json")[..] else { panic!() };
    assert_eq!((above(graph, "gpu-3"), graph.levels()), (vec!["leaf-2"], vec![0, 0, 1]));
    let [domain] = &example("netq/compute-nodes.json")[..] else { panic!() };
    assert_eq!((domain.kind, hosts_of(domain)), (HierarchyKind::Blocks, vec![2]));
}

#[test]
fn what_scontrol_prints_is_read_too() {
    let reading = reading(
        "$ scontrol show topology\n\
         SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]\n\
         SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[2-3]\n\
         SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=s[0-1]\n\
         $ exit\n",
    );
    let tree = &hierarchies(&reading)[0];
    assert_eq!((hosts_of(tree), tree.levels()), (vec![2, 2, 0], vec![0, 0, 1]));
    // The two prompts belong to nobody.
    assert_eq!(reading.diagnostics.iter().filter(|finding| finding.code.name == "lines-unused").count(), 2);
}

#[test]
fn damage_in_a_tree_is_named_with_its_place() {
    let conf = reading(
        "switchname=top switches=s[1-3]\n\
         SwitchName=s1 Nodes=n[1-2] Swiches=x\n\
         SwitchName=s2 Nodes=n[2-4],m[5-\n\
         SwitchName=s2 Nodes=n9\n\
         SwitchName=s5 LinkSpeed=1\n",
    );
    assert_eq!(at(finding(&conf, "hierarchy-undefined")), (1, 25));
    let key = finding(&conf, "hierarchy-key");
    assert_eq!((at(key), key.hint.as_deref()), ((2, 28), Some("did you mean `Switches`?")));
    assert_eq!(at(finding(&conf, "hierarchy-host-twice")), (3, 21));
    assert_eq!(at(finding(&conf, "host-list")), (3, 28));
    assert_eq!(at(finding(&conf, "hierarchy-name-twice")), (4, 12));
    assert_eq!(at(finding(&conf, "hierarchy-empty")), (5, 12));
    assert_eq!(hosts_of(&hierarchies(&conf)[0]), [0, 2, 3, 0]);
}

#[test]
fn circles_and_block_sizes_are_named() {
    let circle =
        reading("SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a Nodes=n1\n");
    assert_eq!(finding(&circle, "hierarchy-cycle").severity, Severity::Warning);
    assert_eq!(hierarchies(&circle)[0].levels(), [2, 1, 0]);
    let sizes = reading("BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-7]\nBlockSizes=4,12\n");
    let found: Vec<_> = sizes.diagnostics.iter().map(|finding| (finding.code.name, at(finding))).collect();
    assert_eq!(found, [("block-sizes", (3, 12)), ("block-sizes", (3, 14)), ("block-sizes", (3, 14))]);
}

#[test]
fn a_range_beyond_all_reason_is_refused_at_once() {
    let start = Instant::now();
    for text in [
        "SwitchName=s Nodes=n[0-4294967295]\n",
        "- topology: t\n  tree:\n    switches:\n    - switch: s\n      nodes: n[0-99999][0-99999]\n",
    ] {
        let reading = reading(text);
        assert_eq!(finding(&reading, "host-list").severity, Severity::Error, "{text}");
    }
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn broken_documents_say_where() {
    let cut = reading("- topology: t\n  block:\n    blocks: [{block: b, nodes: n1}, {block: \"c\n");
    assert_eq!(finding(&cut, "document-syntax").severity, Severity::Warning);
    assert_eq!(hierarchies(&cut)[0].leaves.len(), 1);
    let typo = reading("- topology: t\n  tree:\n    swiches:\n    - switch: s\n      nodes: n1\n");
    assert_eq!(finding(&typo, "hierarchy-key").hint.as_deref(), Some("did you mean `switches`?"));
}

fn records(path: &str) -> Vec<Record> {
    let path = format!("{}/../../examples/formats/{path}", env!("CARGO_MANIFEST_DIR"));
    let reading = reading(&fs::read_to_string(path).unwrap());
    let record = |located: &Located<Evidence>| {
        let Evidence::Report(report) = &located.value else { return None };
        Some(report.records.clone())
    };
    reading.evidence.iter().filter_map(record).flatten().collect()
}

#[test]
fn kubernetes_nodes_have_places_gpus_and_taints() {
    let [tree] = &example("kubernetes-nodes/nodes.yaml")[..] else { panic!() };
    assert_eq!(above(tree, "tray-1"), ["nvl-1", "leaf-a"]);
    assert_eq!(above(tree, "login"), [""; 0]);
    assert_eq!(
        tree.roots().filter(|node| !node.is_block).map(|node| node.name.as_str()).collect::<Vec<_>>(),
        ["hall-1"]
    );
    let records = records("kubernetes-nodes/nodes.yaml");
    assert_eq!(records.len(), 3);
    let first = &records[0];
    assert_eq!((first.count("gpus-capacity"), first.count("gpus-allocatable")), (Some(4), Some(3)));
    assert_eq!(first.text("gpu-model"), Some("NVIDIA-GB200"));
    assert_eq!(first.text("taint"), Some("nvidia.com/gpu=present:NoSchedule"));
    assert_eq!(first.get("ready"), Some(&Value::Flag(true)));
    assert_eq!(
        (records[1].get("ready"), records[1].get("cordoned")),
        (Some(&Value::Flag(false)), Some(&Value::Flag(true)))
    );
}

#[test]
fn kubernetes_tables_and_json_are_read_too() {
    let [tree] = &example("kubernetes-nodes/show-labels.txt")[..] else { panic!() };
    assert_eq!((above(tree, "gpu-3"), tree.levels()), (vec!["s2"], vec![0, 1, 0]));
    let table = records("kubernetes-nodes/show-labels.txt");
    let ready: Vec<_> = table.iter().map(|record| record.get("ready") == Some(&Value::Flag(true))).collect();
    assert_eq!((ready, table[0].count("gpus")), (vec![true, true, false], Some(8)));
    let [json] = &example("kubernetes-nodes/node.json")[..] else { panic!() };
    assert_eq!((above(json, "gpu-9"), json.levels()), (vec!["north-a"], vec![0, 1]));
    assert_eq!(records("kubernetes-nodes/node.json")[0].count("gpus-capacity"), Some(8));
    let shown = reading(
        "NAME   STATUS   ROLES    AGE   VERSION   ZONE   TIER-0\nn1     Ready    <none>   1d    v1.33     a1     l7\n",
    );
    assert_eq!(above(&hierarchies(&shown)[0], "n1"), ["l7"]);
}
