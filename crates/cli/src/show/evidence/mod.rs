//! Evidence that is no machine, for a reader: one file per kind.

mod benchmark;
mod functions;
mod hierarchy;
mod host;
mod infrastructure;
mod log;
mod nccl_graph;
mod pairs;
mod report;
mod subnet;
mod weights;
mod workload;

use weft_base::Place;
use weft_formats::{Evidence, Located};

/// One section for each piece of evidence that has something to show.
/// A host whose devices are shown as a machine is not listed again.
pub fn sections(evidence: &[Located<Evidence>], has_machine: bool) -> Vec<String> {
    let section = |located| section(located, has_machine);
    evidence.iter().filter_map(section).chain(subnet::forwarding(evidence)).collect()
}

fn section(Located { value, place }: &Located<Evidence>, has_machine: bool) -> Option<String> {
    match value {
        // These make the machine, and are shown with it.
        Evidence::Topology(_) | Evidence::Peers(_) | Evidence::Machine(_) => None,
        Evidence::Weights(weights) => weights::section(weights, place),
        Evidence::Host(host) => host::section(host, place, has_machine),
        Evidence::Graphs(graphs) => nccl_graph::section(graphs, place),
        Evidence::Subnet(subnet) => Some(subnet::section(subnet, place)),
        // All tables make one section, behind the others.
        Evidence::Forwarding(_) => None,
        Evidence::Benchmark(table) => benchmark::section(table, place),
        Evidence::Hierarchy(hierarchy) => Some(hierarchy::section(hierarchy, place)),
        Evidence::Pairs(table) => pairs::section(table, place),
        Evidence::Log(log) => log::section(log, place),
        Evidence::Infrastructure(infrastructure) => Some(infrastructure::section(infrastructure, place)),
        Evidence::Report(report) => report::section(report, place),
        Evidence::Workload(workload) => Some(workload::section(workload, place)),
    }
}

/// `lspci of gpu-01 (line 3)`; this machine has no lines.
fn title(format: &str, host: Option<&str>, place: &Place) -> String {
    let of = host.map_or_else(String::new, |host| format!(" of {host}"));
    if format == weft_probe::SOURCE {
        return host.map_or_else(|| "This machine".to_owned(), |host| format!("This machine, {host}"));
    }
    format!("{format}{of} (line {})", place.line)
}
