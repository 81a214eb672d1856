//! From a case to graphs, nodes called as in the input.

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Machine};
use weft_topology::{Assumption, BuildError, NodeId, NodeKind, Topology, build};

use crate::join::Case;

/// The graphs of a case; empty where the input describes no machine.
#[derive(Debug, Clone, Default)]
pub struct CaseGraph {
    /// All hosts, with what is down taken away.
    pub topology: Topology,
    /// One of the hosts; the same as `topology` where there is only one.
    pub host: Topology,
    /// What the input does not say and was taken as usual.
    pub assumed: Vec<Assumption>,
    /// What was seen to be less than built.
    pub diagnostics: Vec<Diagnostic>,
}

impl Case {
    /// Builds the machine of this case.
    pub fn graph(&self, catalogue: &Catalogue) -> Result<CaseGraph, BuildError> {
        let Some(machine) = &self.machine else { return Ok(CaseGraph::default()) };
        let built = build(machine, catalogue)?;
        let host = one_host(machine).map(|machine| build(&machine, catalogue)).transpose()?;
        let topology = self.labelled(built.topology);
        let diagnostics = self.degraded(&topology);
        let topology = self.as_observed(topology);
        let host = host.map_or_else(|| topology.clone(), |host| self.as_observed(host.topology));
        let mut assumed = self.assumed.clone();
        assumed.extend(built.assumed.into_iter().filter(|own| !self.assumed.contains(own)));
        Ok(CaseGraph { topology, host, assumed, diagnostics })
    }

    /// With what is down taken away.
    fn as_observed(&self, topology: Topology) -> Topology {
        if self.observed.is_empty() { topology } else { self.overlay(&topology).applied(&topology) }
    }

    fn labelled(&self, topology: Topology) -> Topology {
        let of = |kind, labels: &[String]| -> Vec<(NodeId, String)> {
            topology.of_kind(kind).zip(labels.iter().cloned()).collect()
        };
        let mut labels = of(NodeKind::Gpu, &self.gpu_labels);
        labels.extend(of(NodeKind::Nic, &self.nic_labels));
        topology.labelled(labels)
    }
}

/// One of several like hosts, by itself; `None` where there is only one.
fn one_host(machine: &Machine) -> Option<Machine> {
    (machine.host.count > 1).then(|| {
        let mut one = machine.clone();
        one.host.count = 1;
        one.network = None;
        one
    })
}
