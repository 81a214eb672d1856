//! Where a step runs: GPUs in domains that their own links join, and the network between these.

use std::rc::Rc;

use weft_catalogue::{Catalogue, Form, Gpu, Machine};
use weft_topology::{NodeId, NodeKind, Topology, build};

use weft_workload::Precision;

use super::fabric::Fabric;
use super::network::{Curves, Looked};
use super::torus::Torus;
use super::{TrainError, compute};
use crate::nccl::cluster;
use crate::nccl::constants::Constants;
use crate::nccl::system::PeerAccess;
use crate::time::Launch;

/// Hosts that are built of a cluster of servers: enough for one to talk with another.
const HOSTS: u32 = 2;
/// The same where a GPU fabric spans hosts: two racks of eighteen.
const RACK_HOSTS: u32 = 36;

/// What was asked of sites once. Those of equal hosts may share one, however many there are and whatever tiers join
/// them.
#[derive(Clone, Default)]
pub struct Asked {
    curves: Rc<Curves>,
    looked: Rc<Looked>,
}

/// A machine that steps run on.
pub struct Site<'c> {
    pub(crate) catalogue: &'c Catalogue,
    pub(super) topology: Topology,
    /// Who starts the collectives' kernels.
    pub(super) launch: Launch,
    /// Who may access whose memory.
    pub(super) access: PeerAccess,
    /// Times of collectives that were asked for.
    pub(super) curves: Rc<Curves>,
    /// Channels of groups that were asked for.
    pub(super) looked: Rc<Looked>,
    /// What the network between domains makes slower.
    pub(super) fabric: Fabric,
    /// How chips of TPUs are joined: all of them are one domain.
    pub(super) torus: Option<Torus>,
    /// The GPUs of each domain that was built, in order.
    pub(super) domains: Vec<Vec<NodeId>>,
    /// Their model.
    pub gpu: &'c Gpu,
    /// GPUs that a GPU fabric or one server joins.
    pub domain_gpus: u32,
    /// GPUs of the whole machine.
    pub gpus: u32,
}

impl<'c> Site<'c> {
    /// Looks at `machine`, for training. Its domains are alike, so that only two of them are built.
    pub fn new(machine: &Machine, catalogue: &'c Catalogue) -> Result<Self, TrainError> {
        Self::with(machine, catalogue, &Asked::default())
    }

    /// The same with what was asked before of a site for training of as many built hosts of the same kind.
    pub fn with(machine: &Machine, catalogue: &'c Catalogue, asked: &Asked) -> Result<Self, TrainError> {
        Self::started(machine, catalogue, (Launch::Framework, PeerAccess::AsUsual), asked)
    }

    /// The same for serving: kernels wait for no host, and a patched driver may make cards peers.
    pub fn serving(
        machine: &Machine,
        catalogue: &'c Catalogue,
        access: PeerAccess,
    ) -> Result<Self, TrainError> {
        Self::started(machine, catalogue, (Launch::ProcessPerGpu, access), &Asked::default())
    }

    fn started(
        machine: &Machine,
        catalogue: &'c Catalogue,
        (launch, access): (Launch, PeerAccess),
        asked: &Asked,
    ) -> Result<Self, TrainError> {
        let mut few = machine.clone();
        few.host.count = built_hosts(machine);
        let topology = build(&few, catalogue)?.topology;
        let gpus: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
        let model = machine.gpus.first().and_then(|group| group.model.as_deref()).ok_or(TrainError::NoGpu)?;
        let gpu = catalogue.gpu(model).map_err(crate::PredictError::from)?;
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let each: u32 = machine.gpus.iter().map(|group| u32::from(group.count)).sum();
        let all = each * machine.host.count.max(1);
        let torus = torus(gpu, catalogue)?;
        let domains = if torus.is_some() { Vec::new() } else { cluster::nodes(&topology, &gpus) };
        let domain_gpus = domains.first().map_or(all, |domain| count(domain.len()));
        let joined = topology.of_kind(NodeKind::GpuSwitch).next().is_some()
            || gpu.fabric.is_some() && gpu.form != Form::Card;
        let fabric = Fabric::new(machine, domain_gpus, joined)?;
        let (curves, looked) = (Rc::clone(&asked.curves), Rc::clone(&asked.looked));
        Ok(Self {
            catalogue,
            topology,
            launch,
            access,
            curves,
            looked,
            fabric,
            domains,
            torus,
            gpu,
            domain_gpus,
            gpus: all,
        })
    }

    /// Dense peak of one GPU in that precision; `None` where it has none.
    pub fn peak_flops(&self, precision: Precision) -> Option<f64> {
        compute::peak(self.gpu, precision).ok()
    }

    /// Bytes per second of one GPU's memory.
    pub fn memory_bytes_per_s(&self) -> f64 {
        compute::rate(self.gpu)
    }

    /// Bytes of one GPU's memory.
    pub fn gpu_bytes(&self) -> f64 {
        self.gpu.memory.value.as_f64()
    }

    /// GPUs that form a domain for a run of so many: all of a small run, else the most that divide it.
    pub fn domain_of(&self, gpus: u32) -> u32 {
        if gpus <= self.domain_gpus {
            return gpus;
        }
        (1..=self.domain_gpus).rev().find(|part| gpus.is_multiple_of(*part)).unwrap_or(1)
    }
}

/// Hosts of so many that a site builds; sites that build as many of the same host may share what they are asked.
pub fn built_hosts(machine: &Machine) -> u32 {
    let spans = machine.fabric.as_ref().is_some_and(|fabric| fabric.spans_hosts);
    machine.host.count.min(if spans { RACK_HOSTS } else { HOSTS })
}

/// The links between chips of a TPU; `None` for GPUs.
fn torus(gpu: &Gpu, catalogue: &Catalogue) -> Result<Option<Torus>, TrainError> {
    let Some(port) = gpu.fabric.as_ref().filter(|_| gpu.form == Form::Tpu) else { return Ok(None) };
    let link = catalogue.link(&port.link).map_err(crate::PredictError::from)?;
    let share = Constants::of(catalogue, "step-time")?.only("torus", "share")?;
    Ok(Some(Torus::new(link, port.count.value, share)))
}
