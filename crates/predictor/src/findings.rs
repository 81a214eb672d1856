//! What a reader of a prediction should know of its limits.

use weft_base::{Code, Diagnostic};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NcclPath, NodeId, NodeKind, Topology};

use crate::contention::Fabric;
use crate::nccl::choice::Algorithm;
use crate::nccl::nics::Net;
use crate::nccl::tuning::Tuning;

/// A bridged pair of PCIe cards.
pub const BRIDGED_PAIR: Code = Code {
    name: "bridged-pair-uncertain",
    explanation: "NVLink-bridged pairs of PCIe cards were measured between 39 % (H100 PCIe) and 69 % (A100) of the line \
        rate with the same number of links; NCCL's model does not tell them apart. The prediction is near the upper end.",
};

/// Ways through host memory.
pub const STAGED: Code = Code {
    name: "staged-through-host",
    explanation: "Some GPUs cannot access each other's memory over this way (driver, or beyond one PCIe tree), so NCCL \
        copies through host memory. Rates then depend on the CPU's memory and NUMA settings as well.",
};

/// Operations that NCCL's tuning model does not price.
pub const NOT_IN_MODEL: Code = Code {
    name: "not-in-nccl-model",
    explanation: "NCCL's tuning model has no price for send/recv and all-to-all. Send/recv is priced here as one step of a \
        ring over the direct path between the two GPUs, all-to-all by the load that all pairs lay on what they share.",
};

/// An algorithm that NCCL would refuse.
pub const ALGORITHM_UNUSABLE: Code = Code {
    name: "algorithm-unusable",
    explanation: "The algorithms that `--algorithm` or NCCL_ALGO allow do not exist for this collective, or need hardware \
        that the machine lacks: NVLS needs NVSwitches that reduce. The prediction is of NCCL's own choice instead.",
};

/// GPUs of unknown model.
pub const UNKNOWN_GPU: Code = Code {
    name: "gpu-model-unknown",
    explanation: "The input does not name the GPU, so NCCL's constants for Ampere are used and peer access over PCIe is \
        taken as allowed. GeForce cards from RTX 20 on do not allow it with the stock driver. Name the GPU with --gpu.",
};

/// A host without a NIC among several.
pub const NIC_ASSUMED: Code = Code {
    name: "nic-assumed",
    explanation: "Several hosts take part, but the input names no NIC of theirs, or NCCL_IB_HCA leaves none. One NIC of \
        100 Gb/s without access to the GPUs' memory is taken for each host, which is what NCCL itself counts for a network \
        that it does not know. Name the NICs: `2 x 4 a40 + 1 cx6`.",
};

/// Nodes of several kinds.
pub const UNLIKE_NODES: Code = Code {
    name: "nodes-differ",
    explanation: "The nodes that take part are not alike: other GPUs, other links, or other NICs. NCCL takes the fewest \
        channels, the least rates and the worst path types among them, and the slowest node's figures are shown.",
};

/// A table that cannot be put beside a prediction.
pub const NOT_COMPARED: Code = Code {
    name: "not-compared",
    explanation: "A table of a benchmark was read, but cannot be put beside what is expected: the machine does not follow \
        from its ranks, the ranks do not fit the machine, or the model does not cover them. Give the machine too, as in \
        `weft predict topo.txt --measured run.txt`.",
};

/// A table of something that is not predicted.
pub const NOT_MODELLED: Code = Code {
    name: "not-modelled",
    explanation: "A table is of an operation of which no time is predicted, such as one transfer of RDMA or a collective \
        without a model. Other tables of the same file are compared.",
};

/// Flows that share cables between switches.
pub const FABRIC_CONTENDED: Code = Code {
    name: "fabric-contended",
    explanation: "Flows of the chosen algorithm share cables between switches, so that the slowest of them has less than \
        its NIC carries. The simulator played them all at once, over the ways that the network chooses: `--network` says \
        how it does, and forwarding tables (`dump_fts`) beside `ibnetdiscover` which ways those are. Where a hash or tables \
        that nobody laid out for these hosts decide, many draws give the interval.",
};

/// A network of other hosts.
pub const FABRIC_UNUSED: Code = Code {
    name: "fabric-unused",
    explanation: "The subnet in the input does not have the hosts of the machine, with as many adapters each as its NICs, so \
        what its cables and tables do to flows between them is not known. Hosts are told by node descriptions (`node-1 \
        mlx5_0`), and taken in the order of their names. Where one switch joins all, there is nothing to share.",
};

/// Codes of this crate.
pub const CODES: &[Code] = &[
    ALGORITHM_UNUSABLE,
    UNKNOWN_GPU,
    BRIDGED_PAIR,
    STAGED,
    NOT_IN_MODEL,
    NIC_ASSUMED,
    UNLIKE_NODES,
    FABRIC_CONTENDED,
    FABRIC_UNUSED,
    crate::time::OUTSIDE,
    crate::validate::NOT_A_NUMBER,
    crate::calibrate::CALIBRATION_FILE,
    crate::replay::REPLAY_UNMATCHED,
    crate::replay::REPLAY_MISMATCH,
    crate::replay::REPLAY_STUCK,
    crate::replay::REPLAY_NO_TIMES,
    crate::replay::REPLAY_NO_PRICE,
    crate::replay::REPLAY_ASSUMED,
    NOT_COMPARED,
    NOT_MODELLED,
];

/// The findings about one prediction, made without any measured value.
pub(crate) fn of(
    topology: &Topology,
    catalogue: &Catalogue,
    gpus: &[NodeId],
    tuning: &Tuning<'_>,
    collective: Collective,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    found.extend(unusable(tuning, collective));
    found.extend(assumed(tuning));
    if gpus.iter().any(|gpu| topology.model(*gpu).is_none()) {
        let unknown = Diagnostic::warning(
            UNKNOWN_GPU,
            "the input does not name the GPU; priced as an Ampere PCIe card",
        );
        found.push(unknown.hint("name it, for example --gpu rtx-3090"));
    }
    let model = topology.model(gpus[0]).and_then(|name| catalogue.gpu(name).ok());
    let bridged = model.is_some_and(|gpu| gpu.bridges.iter().any(|bridge| bridge.carries_data));
    let by_nvlink = tuning.graphs.ring.kind == NcclPath::Nvl;
    if bridged && by_nvlink && topology.of_kind(NodeKind::GpuSwitch).next().is_none() {
        found.push(Diagnostic::warning(
            BRIDGED_PAIR,
            "bridged PCIe pairs were measured at 39 % to 69 % of the NVLink line rate; this figure is near the upper end",
        ));
    }
    if tuning.graphs.ring.staged {
        found.push(Diagnostic::note(STAGED, "some hops of the ring are copied through host memory"));
    }
    if matches!(collective, Collective::SendRecv | Collective::AllToAll) {
        found.push(Diagnostic::note(
            NOT_IN_MODEL,
            "NCCL's tuning model does not price send/recv and all-to-all; priced here by the load on what they share",
        ));
    }
    found
}

/// Where the user asks for algorithms by name and none of them can run.
fn unusable(tuning: &Tuning<'_>, collective: Collective) -> Option<Diagnostic> {
    let wanted = tuning.settings.algorithms.named(collective);
    let choices = tuning.choices(collective).unwrap_or_default();
    let runs = |wanted: &Algorithm| choices.iter().any(|choice| choice.algorithm == *wanted);
    if wanted.is_empty() || wanted.iter().any(runs) || collective == Collective::AllToAll {
        return None;
    }
    let names: Vec<&str> = wanted.iter().map(|wanted| wanted.name()).collect();
    let (names, collective) = (names.join(" and "), collective.name());
    let message = format!("{names} cannot run {collective} on these GPUs; NCCL's own choice is shown");
    Some(Diagnostic::warning(ALGORITHM_UNUSABLE, message))
}

/// Where nodes differ.
pub(crate) fn unlike(kinds: usize) -> Option<Diagnostic> {
    let message = format!("the nodes are of {kinds} kinds; the slowest of them decides");
    (kinds > 1).then(|| Diagnostic::note(UNLIKE_NODES, message))
}

/// Where flows meet between switches.
pub(crate) fn contended(text: String) -> Diagnostic {
    Diagnostic::note(FABRIC_CONTENDED, text)
}

/// Where the network in the input has other hosts than the machine.
pub(crate) fn foreign(fabric: &Fabric, nodes: u32) -> Option<Diagnostic> {
    fabric.graph.of_kind(NodeKind::NetworkSwitch).nth(1)?;
    let hosts = fabric.subnet.hosts();
    let adapters = || hosts.iter().map(|host| host.adapters.len());
    let message = format!(
        "the subnet is left out: it has {} hosts of {} to {} adapters, which are not those of the {nodes} nodes",
        hosts.len(),
        adapters().min().unwrap_or(0),
        adapters().max().unwrap_or(0)
    );
    let hint = "give the machine as so many hosts: `8 x dgx-a100`";
    Some(Diagnostic::warning(FABRIC_UNUSED, message).hint(hint))
}

/// Where the network is not in the input.
fn assumed(tuning: &Tuning<'_>) -> Option<Diagnostic> {
    let nic = tuning.system.nics.iter().find(|nic| nic.node.is_none() && nic.net == Net::Tcp)?;
    let message = format!(
        "the hosts have no NIC that is used; one of {} GB/s through host memory is taken for each",
        nic.rate
    );
    Some(Diagnostic::warning(NIC_ASSUMED, message).hint("name them, such as `2 x 4 a40 + 1 cx6`"))
}
