//! What a reader of a prediction should know of its limits.

use weft_base::{Code, Diagnostic};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NcclPath, NodeId, NodeKind, Topology};

use crate::nccl::tuning::{Algorithm, Tuning};
use crate::predict::Request;

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
    explanation: "NCCL's tuning model has no price for send/recv; it is priced here as one step of a ring over the \
        direct path between the two GPUs.",
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

/// Codes of this crate.
pub const CODES: &[Code] = &[
    ALGORITHM_UNUSABLE,
    UNKNOWN_GPU,
    BRIDGED_PAIR,
    STAGED,
    NOT_IN_MODEL,
    crate::validate::NOT_A_NUMBER,
    crate::calibrate::CALIBRATION_FILE,
];

/// The findings about one prediction, made without any measured value.
pub(crate) fn of(
    topology: &Topology,
    catalogue: &Catalogue,
    gpus: &[NodeId],
    tuning: &Tuning<'_>,
    request: &Request,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let runs = |wanted| match wanted {
        Algorithm::Ring => true,
        Algorithm::Tree => request.collective == Collective::AllReduce,
        Algorithm::Nvls => request.collective == Collective::AllReduce && tuning.multicasts.is_some(),
        Algorithm::CollnetDirect | Algorithm::CollnetChain | Algorithm::NvlsTree | Algorithm::Pat => false,
    };
    let wanted = request.settings.algorithms.named(request.collective);
    if !wanted.is_empty() && !wanted.iter().any(|wanted| runs(*wanted)) {
        let names: Vec<&str> = wanted.iter().map(|wanted| wanted.name()).collect();
        let (names, collective) = (names.join(" and "), request.collective.name());
        let message = format!("{names} cannot run {collective} on these GPUs; NCCL's own choice is shown");
        found.push(Diagnostic::warning(ALGORITHM_UNUSABLE, message));
    }
    if gpus.iter().any(|gpu| topology.model(*gpu).is_none()) {
        let unknown = Diagnostic::warning(
            UNKNOWN_GPU,
            "the input does not name the GPU; priced as an Ampere PCIe card",
        );
        found.push(unknown.hint("name it, for example --gpu rtx-3090"));
    }
    let model = topology.model(gpus[0]).and_then(|name| catalogue.gpu(name).ok());
    let bridged = model.is_some_and(|gpu| gpu.bridges.iter().any(|bridge| bridge.carries_data));
    let by_nvlink = tuning.rings.kind == NcclPath::Nvl;
    if bridged && by_nvlink && topology.of_kind(NodeKind::GpuSwitch).next().is_none() {
        found.push(Diagnostic::warning(
            BRIDGED_PAIR,
            "bridged PCIe pairs were measured at 39 % to 69 % of the NVLink line rate; this figure is near the upper end",
        ));
    }
    if tuning.rings.staged {
        found.push(Diagnostic::note(STAGED, "some hops of the ring are copied through host memory"));
    }
    if request.collective == Collective::SendRecv {
        found.push(Diagnostic::note(
            NOT_IN_MODEL,
            "NCCL's tuning model does not price send/recv; priced as one ring step",
        ));
    }
    found
}
