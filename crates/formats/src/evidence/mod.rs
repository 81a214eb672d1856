//! What readers recover, whatever format it came from: one file per kind.

mod benchmark;
mod hierarchy;
mod host;
mod infrastructure;
mod nccl_graph;
mod nccl_log;
mod pair_table;
mod pci;
mod report;
mod weights;
mod workload;

use weft_catalogue::Machine;
use weft_topology::{ForwardingTable, Subnet};

pub use benchmark::{Benchmark, BenchmarkRank, BenchmarkRow};
pub use hierarchy::{Hierarchy, HierarchyKind, HierarchyLeaf, HierarchyNode};
pub use host::{
    Adapter, Device, DeviceRole, Gpu, GpuLink, GpuLinkEnd, Host, NumaNode, OsDevice, OsDeviceKind, Package,
    PcieState, VirtualAdapter,
};
pub use infrastructure::{
    InfraComponent, InfraDevice, InfraEdge, InfraEnd, InfraInstance, InfraLink, Infrastructure,
};
pub use nccl_graph::{ChannelEnd, NcclChannel, NcclGraph, NcclGraphs};
pub use nccl_log::{
    AdapterList, ChannelCount, Communicator, Connection, Gdr, GdrFact, GraphSearch, LibraryVersion,
    LogAdapter, LogInterface, LogRank, LoggedSetting, NcclLog, Problem, Ring, Said, SystemGraph, SystemNode,
    Transport, TransportKind, TreePlace, TuningCell, TuningChoice, TuningRow, TuningTable,
};
pub use pair_table::{Measure, PairCell, PairDevice, PairTable};
pub use pci::{BusRange, PciDetails, Region, VirtualFunctions};
pub use report::{Field, Record, Report, Value};
pub use weights::WeightMatrix;
pub use workload::{Workload, WorkloadCollective, WorkloadCount, WorkloadNodeKind};

use crate::matrix::Matrix;
use crate::nvidia_smi_p2p::PeerMatrix;

/// A fact or a set of facts that a reader recovered.
#[derive(Debug, Clone, PartialEq)]
pub enum Evidence {
    /// `nvidia-smi topo -m`.
    Topology(Matrix),
    /// `nvidia-smi topo -p2p`: who may access whom.
    Peers(PeerMatrix),
    /// `rocm-smi --showtopo` and its like: weights, hops and kinds of links between GPUs.
    Weights(Box<WeightMatrix>),
    /// A whole machine: one-liner, machine file or catalogue system.
    Machine(Box<Machine>),
    /// The devices of one host: an NCCL topology file, hwloc, lspci, sysfs.
    Host(Box<Host>),
    /// NCCL's chosen channels: a graph file.
    Graphs(Box<NcclGraphs>),
    /// Switches, adapters and cables of a network: ibnetdiscover, iblinkinfo, ibsim.
    Subnet(Box<Subnet>),
    /// Routes that switches hold: `dump_fts`, `ibroute`.
    Forwarding(Box<ForwardingTable>),
    /// Which hosts hang under which switches or in which blocks: Slurm, topograph, node labels.
    Hierarchy(Box<Hierarchy>),
    /// A table of nccl-tests and its like.
    Benchmark(Box<Benchmark>),
    /// Measured rates or latencies between pairs of devices.
    Pairs(Box<PairTable>),
    /// What NCCL said.
    Log(Box<NcclLog>),
    /// What any other tool says of devices, ports, settings and events.
    Report(Box<Report>),
    /// A cluster as a design tool describes it: InfraGraph.
    Infrastructure(Box<Infrastructure>),
    /// A trace of a training step.
    Workload(Box<Workload>),
}
