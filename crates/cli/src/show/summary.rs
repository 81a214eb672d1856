//! The first lines: what it is.

use weft_catalogue::Catalogue;
use weft_topology::{NodeId, NodeKind, Subnet, SubnetNodeKind, Topology};

use crate::load::Loaded;
use crate::names;
use crate::pairs::only_peers;
use crate::style::heading;

/// Title, and what the machine is made of.
pub fn section(loaded: &Loaded, catalogue: &Catalogue) -> String {
    let title = title(loaded, catalogue);
    let made_of = composition(loaded, catalogue);
    if title == made_of {
        format!("{}\n", heading(title))
    } else {
        format!("{}\n{made_of}\n", heading(title))
    }
}

/// What to call the machine: its name, else what it is made of.
pub fn title(loaded: &Loaded, catalogue: &Catalogue) -> String {
    let title = own_title(loaded);
    if loaded.case.machine.is_none() {
        return loaded.subnet().map_or_else(String::new, subnet_title);
    }
    if title.is_empty() { composition(loaded, catalogue) } else { title.to_owned() }
}

/// `InfiniBand subnet of 4 hosts and 6 switches`.
fn subnet_title(subnet: &Subnet) -> String {
    let switches = subnet.of_kind(SubnetNodeKind::Switch).count();
    let hosts = names::count(subnet.hosts().len(), "host");
    format!("InfiniBand subnet of {hosts} and {}", names::count(switches, "switch"))
}

fn own_title(loaded: &Loaded) -> &str {
    loaded.case.machine.as_ref().map_or("", |machine| &machine.title)
}

/// `8 x NVIDIA A100 SXM4 80GB, 10 NICs, 2 sockets`, of all hosts.
pub fn composition(loaded: &Loaded, catalogue: &Catalogue) -> String {
    let topology = &loaded.graph.topology;
    let assumed = loaded.graph.assumed.iter().any(|one| one.subject == "GPU" && one.what == "model");
    let mark = if assumed { " (assumed)" } else { "" };
    let mut parts = models(topology, NodeKind::Gpu, |name| {
        format!("{}{mark}", catalogue.gpu(name).map_or(name, |gpu| gpu.title.as_str()))
    });
    let count = |kind| topology.of_kind(kind).count();
    if count(NodeKind::Nic) > 0 {
        parts.push(names::count(count(NodeKind::Nic), "NIC"));
    }
    let hosts = usize::try_from(topology.hosts()).unwrap_or(0);
    if hosts > 1 {
        parts.push(format!("{hosts} hosts"));
    } else if only_peers(loaded).is_none() {
        parts.push(names::count(count(NodeKind::Cpu), cpu_word(loaded)));
    }
    parts.join(", ")
}

/// What a CPU node stands for: a matrix shows NUMA nodes, of which a socket may have several.
pub fn cpu_word(loaded: &Loaded) -> &'static str {
    if loaded.case.matrix.is_some() && own_title(loaded).is_empty() { "NUMA node" } else { "socket" }
}

/// `8 x TITLE` for each model of a kind, in order of first appearance.
fn models(topology: &Topology, kind: NodeKind, title: impl Fn(&str) -> String) -> Vec<String> {
    let mut counts: Vec<(Option<&str>, usize)> = Vec::new();
    for model in topology.of_kind(kind).map(|node: NodeId| topology.model(node)) {
        match counts.iter_mut().find(|(known, _)| *known == model) {
            Some((_, count)) => *count += 1,
            None => counts.push((model, 1)),
        }
    }
    let word = |(model, count): (Option<&str>, usize)| match model {
        Some(model) => format!("{count} x {}", title(model)),
        None => names::count(count, "unknown GPU"),
    };
    counts.into_iter().map(word).collect()
}
