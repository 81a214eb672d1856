//! Slurm's topologies written and read again, and those of machines and networks.

#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

use proptest::prelude::*;
use weft_base::Place;
use weft_catalogue::Catalogue;
use weft_formats::{
    Case, Evidence, Hierarchy, HierarchyKind, HierarchyLeaf, HierarchyNode, Located, Overrides, Source,
    WriterInput, join, read, writer,
};

fn hierarchies(text: &str) -> Vec<Hierarchy> {
    let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
    assert_eq!(reading.diagnostics, [], "{text}");
    let hierarchy = |located: Located<Evidence>| {
        let Evidence::Hierarchy(hierarchy) = located.value else { return None };
        Some(*hierarchy)
    };
    reading.evidence.into_iter().filter_map(hierarchy).collect()
}

fn written(case: &Case, to: &str) -> String {
    let catalogue = Catalogue::embedded();
    let built =
        case.machine.as_ref().map(|machine| weft_topology::build(machine, catalogue).unwrap().topology);
    let topology = built.unwrap_or_default();
    let input = WriterInput { case, topology: &topology, host: &topology };
    writer(to).unwrap().write(&input, catalogue).unwrap()
}

fn of(hierarchy: Hierarchy) -> Case {
    let value = Evidence::Hierarchy(Box::new(hierarchy));
    Case { evidence: vec![Located { value, place: Place::new("t", 1, 1, 0) }], ..Case::default() }
}

/// One machine in one line.
fn machine(line: &str) -> Case {
    let reading = read(&Source::argument(line), Catalogue::embedded(), None);
    let (case, _) = join(reading.evidence, &Overrides::default(), Catalogue::embedded());
    assert!(case.machine.is_some(), "{line}");
    case
}

/// What both formats can say, in one order: nodes with those above, hosts with those above.
type Said = (Vec<(String, Vec<String>)>, Vec<(String, Vec<String>)>, Vec<u32>);

fn said(hierarchy: &Hierarchy) -> Said {
    let names = |under: &[usize]| -> Vec<String> {
        let mut names: Vec<String> = under.iter().map(|node| hierarchy.nodes[*node].name.clone()).collect();
        names.sort();
        names
    };
    let mut nodes: Vec<_> =
        hierarchy.nodes.iter().map(|node| (node.name.clone(), names(&node.under))).collect();
    let mut leaves: Vec<_> =
        hierarchy.leaves.iter().map(|leaf| (leaf.name.clone(), names(&leaf.under))).collect();
    nodes.sort();
    leaves.sort();
    (nodes, leaves, hierarchy.block_sizes.clone())
}

/// A tree or blocks, with numbers of hosts that make ranges, gaps and paddings.
fn hierarchy() -> impl Strategy<Value = Hierarchy> {
    let leaves = prop::collection::vec((0usize..4, prop::collection::btree_set(0u32..400, 1..20)), 1..12);
    (leaves, any::<bool>(), 1usize..4).prop_map(|(groups, is_block, width)| {
        let kind = if is_block { HierarchyKind::Blocks } else { HierarchyKind::Tree };
        let mut made = Hierarchy { kind, ..Hierarchy::default() };
        let node = |name: String, under: Vec<usize>| HierarchyNode {
            name,
            under,
            is_block,
            ..HierarchyNode::default()
        };
        if !is_block {
            // Four spines, of which those are kept that have a leaf.
            let used: std::collections::BTreeSet<usize> = groups.iter().map(|(spine, _)| *spine).collect();
            made.nodes.extend(used.iter().map(|spine| node(format!("spine{spine}"), Vec::new())));
        }
        for (number, (spine, hosts)) in groups.into_iter().enumerate() {
            let spine = made.nodes.iter().position(|node| node.name == format!("spine{spine}"));
            let own = made.nodes.len();
            made.nodes.push(node(format!("s{number}-x"), spine.into_iter().collect()));
            let leaf =
                |host: u32| HierarchyLeaf { name: format!("n{number}-{host:0width$}"), under: vec![own] };
            made.leaves.extend(hosts.into_iter().map(leaf));
        }
        made
    })
}

proptest! {
    #[test]
    fn what_was_written_reads_back(given in hierarchy()) {
        let conf = written(&of(given.clone()), "slurm-topology-conf");
        let from_conf = hierarchies(&conf);
        prop_assert_eq!(from_conf.len(), 1);
        prop_assert_eq!(said(&from_conf[0]), said(&given), "{}", conf);
        let yaml = written(&of(from_conf[0].clone()), "slurm-topology-yaml");
        let from_yaml = hierarchies(&yaml);
        prop_assert_eq!(said(&from_yaml[0]), said(&given), "{}", yaml);
        prop_assert_eq!(from_yaml[0].kind, given.kind);
        prop_assert_eq!(written(&of(from_yaml[0].clone()), "slurm-topology-conf"), conf);
    }
}

#[test]
fn a_tree_and_blocks_of_the_same_hosts_are_two_topologies() {
    let model = "switches:\n  spine:\n    switches: [a, b]\nblocks:\n\
                 - {switch: a, nodes: [\"n[1-4]\"], labels: {nvidia.com/gpu.clique: c1}}\n\
                 - {switch: b, nodes: [\"n[5-8]\"], labels: {nvidia.com/gpu.clique: c2}}\n";
    let case = of(hierarchies(model).remove(0));
    let both = hierarchies(&written(&case, "slurm-topology-yaml"));
    assert_eq!(
        both.iter().map(|one| (one.kind, one.is_default)).collect::<Vec<_>>(),
        [(HierarchyKind::Tree, true), (HierarchyKind::Blocks, false)]
    );
    let conf = written(&case, "slurm-topology-conf");
    assert!(
        conf.contains("SwitchName=a Nodes=n[1-4]\n") && conf.contains("# The input holds 1 more"),
        "{conf}"
    );
}

#[test]
fn rails_are_one_switch_and_the_text_says_so() {
    let rails = "SwitchName=spine Switches=leaf[1-4]\nSwitchName=leaf1 Nodes=n[1-4]\nSwitchName=leaf2 Nodes=n[1-4]\n\
                 SwitchName=leaf3 Nodes=n[5-8]\nSwitchName=leaf4 Nodes=n[5-8]\n";
    let reading = read(&Source::file("t", rails), Catalogue::embedded(), None);
    let (case, _) = join(reading.evidence, &Overrides::default(), Catalogue::embedded());
    let conf = written(&case, "slurm-topology-conf");
    for line in [
        "# Hosts have ports on several leaves",
        "# leaf1=leaf[1-2]\nSwitchName=leaf1 Nodes=n[1-4]\n",
        "# leaf3=leaf[3-4]\nSwitchName=leaf3 Nodes=n[5-8]\n",
        "SwitchName=spine Switches=leaf[1,3]\n",
    ] {
        assert!(conf.contains(line), "{line}\n{conf}");
    }
}

#[test]
fn a_rack_of_one_fabric_is_a_block() {
    let conf = written(&machine("gb200-nvl72"), "slurm-topology-conf");
    // 18 trays, and one block has no group of blocks above it.
    assert!(conf.contains("BlockName=block-0 Nodes=host-[0-17]\nBlockSizes=18\n"), "{conf}");
}

#[test]
fn networks_of_machines_are_trees() {
    for design in ["fat-tree", "rail-optimized"] {
        let conf = written(&machine(&format!("64 x dgx-h100 @ {design}")), "slurm-topology-conf");
        let tree = hierarchies(&conf).remove(0);
        assert_eq!(tree.leaves.len(), 64, "{conf}");
        assert!(tree.leaves.iter().all(|leaf| leaf.under.len() == 1), "{conf}");
        assert_eq!(tree.roots().count(), 1, "{conf}");
    }
}
