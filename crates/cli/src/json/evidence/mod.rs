//! Evidence that is no machine, as `weft show --format json` prints it: one file per kind.

mod benchmark;
mod hierarchy;
mod host;
mod infrastructure;
mod log;
mod nccl_graph;
mod pairs;
mod pci;
mod report;
mod subnet;
mod weights;
mod workload;

use serde::Serialize;
use weft_formats::{Evidence, Located};

use benchmark::BenchmarkJson;
use hierarchy::HierarchyJson;
use host::HostJson;
use infrastructure::InfrastructureJson;
use log::LogJson;
use nccl_graph::GraphsJson;
use pairs::PairTableJson;
use report::ReportJson;
use subnet::{ForwardingJson, SubnetJson};
use weights::WeightsJson;
use workload::WorkloadJson;

/// All of it, by kind; kinds that the input does not have are left out.
#[derive(Debug, Default, Serialize)]
pub struct EvidenceJson {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<BenchmarkJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pair_tables: Vec<PairTableJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<GraphsJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hierarchies: Vec<HierarchyJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub infrastructures: Vec<InfrastructureJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ReportJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<SubnetJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forwarding: Vec<ForwardingJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<WeightsJson>,
}

impl EvidenceJson {
    /// Of the evidence that the case keeps.
    pub fn new(evidence: &[Located<Evidence>]) -> Self {
        let mut all = Self::default();
        for Located { value, place } in evidence {
            match value {
                // These make the machine, and are shown as its devices and pairs.
                Evidence::Topology(_) | Evidence::Peers(_) | Evidence::Machine(_) => {}
                Evidence::Weights(weights) => all.weights.push(WeightsJson::new(weights, place)),
                Evidence::Host(host) => all.hosts.push(HostJson::new(host, place)),
                Evidence::Graphs(graphs) => all.graphs.push(GraphsJson::new(graphs, place)),
                Evidence::Subnet(subnet) => all.subnets.push(SubnetJson::new(subnet, place)),
                Evidence::Forwarding(table) => all.forwarding.push(ForwardingJson::new(table, place)),
                Evidence::Benchmark(table) => all.benchmarks.push(BenchmarkJson::new(table, place)),
                Evidence::Pairs(table) => all.pair_tables.push(PairTableJson::new(table, place)),
                Evidence::Hierarchy(hierarchy) => all.hierarchies.push(HierarchyJson::new(hierarchy, place)),
                Evidence::Log(log) => all.logs.push(LogJson::new(log, place)),
                Evidence::Infrastructure(infrastructure) => {
                    all.infrastructures.push(InfrastructureJson::new(infrastructure, place));
                }
                Evidence::Report(report) => all.reports.push(ReportJson::new(report, place)),
                Evidence::Workload(workload) => all.workloads.push(WorkloadJson::new(workload, place)),
            }
        }
        all
    }
}
