//! What is found on a machine before anything is priced: the GPUs, their channels, the network between hosts.

use std::sync::Arc;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NodeId, NodeKind, Topology};

use crate::contention::{Between, Fabric, Routing};
use crate::nccl::cluster::Cluster;
use crate::nccl::constants::Constants;
use crate::nccl::system::{PeerAccess, Scene};
use crate::settings::{Library, Settings};
use crate::{PredictError, Request, explain, findings};

/// All that of a request decides what is found: where it is equal, the same is found on the same machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Search {
    pub gpus: Vec<NodeId>,
    /// Only those that a search may look at.
    settings: Settings,
    access: PeerAccess,
    nic_names: Vec<Option<String>>,
    routing: Option<Routing>,
    fabric: Option<Arc<Fabric>>,
}

/// What was found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub gpus: Vec<NodeId>,
    pub cluster: Cluster,
    pub narrow: Option<(String, f64)>,
    pub between: Option<Between>,
    /// The network in the input, where it is not that of the machine's hosts.
    pub foreign: Option<Diagnostic>,
}

impl Search {
    pub fn of(topology: &Topology, request: &Request) -> Result<Self, PredictError> {
        let gpus = participants(topology, request)?;
        let settings = request.settings.of_search();
        let Request { access, nic_names, routing, fabric, .. } = request;
        let (access, nic_names, fabric) = (access.clone(), nic_names.clone(), fabric.clone());
        Ok(Self { gpus, settings, access, nic_names, routing: *routing, fabric })
    }

    /// Finds it, for a library and its constants.
    pub fn run(
        &self,
        topology: &Topology,
        catalogue: &Catalogue,
        (library, constants): (Library, Constants<'_>),
    ) -> Result<Found, PredictError> {
        let Self { gpus, settings, access, nic_names, routing, fabric } = self;
        let scene = Scene { topology, catalogue, constants, access, settings, nic_names };
        let cluster = Cluster::new(scene, gpus, library)?;
        let narrow = explain::narrowest(topology, &cluster);
        let between = Between::new(topology, &cluster, gpus, (*routing, fabric.as_ref()));
        let foreign = match (&between, fabric) {
            (None, Some(fabric)) => findings::foreign(fabric, cluster.nodes),
            (_, _) => None,
        };
        Ok(Found { gpus: gpus.clone(), cluster, narrow, between, foreign })
    }
}

fn participants(topology: &Topology, request: &Request) -> Result<Vec<NodeId>, PredictError> {
    let mut gpus = request.gpus.clone().unwrap_or_else(|| topology.of_kind(NodeKind::Gpu).collect());
    if request.collective == Collective::SendRecv {
        gpus.truncate(2);
    }
    if gpus.len() < 2 {
        return Err(PredictError::TooFewGpus { gpus: gpus.len() });
    }
    Ok(gpus)
}
