//! What several tests need.
#![allow(dead_code, clippy::panic, clippy::unwrap_used, reason = "helpers of tests; each uses some of them")]

pub mod fabric;

use weft_base::{Diagnostic, Rate};
use weft_catalogue::{Catalogue, Machine};
use weft_topology::{NodeId, NodeKind, Topology, build, oneliner};

pub fn machine(line: &str) -> Machine {
    oneliner::parse(line, Catalogue::embedded()).unwrap_or_else(|finding| panic!("{line}: {finding}"))
}

pub fn refusal(line: &str) -> Diagnostic {
    match oneliner::parse(line, Catalogue::embedded()) {
        Ok(machine) => panic!("{line} was read as {machine:?}"),
        Err(finding) => finding,
    }
}

pub fn topology(line: &str) -> Topology {
    graph(&machine(line))
}

pub fn graph(machine: &Machine) -> Topology {
    build(machine, Catalogue::embedded()).unwrap_or_else(|error| panic!("{}: {error}", machine.name)).topology
}

pub fn all(topology: &Topology, kind: NodeKind) -> Vec<NodeId> {
    topology.of_kind(kind).collect()
}

pub fn node(topology: &Topology, name: &str) -> NodeId {
    topology.find(name).unwrap_or_else(|| panic!("no node `{name}`"))
}

pub fn rate(text: &str) -> Rate {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
