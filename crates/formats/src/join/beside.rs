//! A matrix beside a list of the same host's devices: the list gives switches, lanes and models, the matrix gives
//! classes and NVLinks, and where they contradict each other both are named.

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Machine, NicGroup};
use weft_topology::{Assumption, NodeId, NodeKind, ReportedClass, Topology, build, reported_class};

use super::{Observation, Overrides, Seen};
use crate::codes;
use crate::format::Located;
use crate::infer::{Inferred, InferredHost, infer};
use crate::matrix::{Cell, EndKind, Matrix};

/// A machine of both, and what was seen of its links. The machine's devices are numbered as in the matrix.
pub(super) struct Both {
    pub inferred: Inferred,
    pub observed: Vec<Observation>,
}

/// Joins `matrix` with what `host` lists.
pub(super) fn join(
    matrix: &Located<Matrix>,
    host: InferredHost,
    overrides: &Overrides,
    catalogue: &Catalogue,
) -> Both {
    let (gpus, listed) = (matrix.value.of_kind(EndKind::Gpu).count(), host.gpu_labels.len());
    if gpus != listed {
        let mut inferred = infer(&matrix.value, overrides, catalogue);
        let message =
            format!("the matrix has {gpus} GPUs, but the list of PCI devices {listed}; the list is not used");
        let finding = Diagnostic::warning(codes::MACHINE_SURPLUS, message);
        let hint = "give only what is of one machine; a container shows fewer GPUs than its host";
        inferred.diagnostics.push(finding.hint(hint).at(matrix.place.clone()));
        return Both { inferred, observed: Vec::new() };
    }
    let order = nic_order(&matrix.value, &host.nic_labels);
    let observed = host.observed.iter().filter_map(|seen| renumbered(seen, order.as_deref())).collect();
    let known = completed(overrides, &host.inferred);
    let mut inferred = infer(&matrix.value, &known, catalogue);
    if overrides.nic.is_none() && known.nic.is_some() {
        inferred.assumed.extend(host.inferred.assumed.iter().filter(|one| is_nic_model(one)).cloned());
    }
    if let Some(order) = order {
        let listed = reordered(host.inferred.machine, &order);
        match first_difference(&matrix.value, &listed, catalogue) {
            None => inferred.machine = merged(listed, inferred.machine),
            Some(difference) => inferred.diagnostics.push(difference),
        }
    }
    Both { inferred, observed }
}

/// The number in the list of each NIC of the matrix; `None` where the list does not name them all.
fn nic_order(matrix: &Matrix, labels: &[String]) -> Option<Vec<usize>> {
    let ends = matrix.of_kind(EndKind::Nic).map(|end| &matrix.ends()[end]);
    let number = |name: &Option<String>| labels.iter().position(|label| Some(label) == name.as_ref());
    ends.map(|end| number(&end.device)).collect()
}

fn renumbered(observation: &Observation, order: Option<&[usize]>) -> Option<Observation> {
    let seen = match observation.seen {
        seen @ (Seen::GpuLanes(..) | Seen::GpuLinks(..)) => seen,
        Seen::NicLanes(nic, lanes) => Seen::NicLanes(order?.iter().position(|old| *old == nic)?, lanes),
    };
    Some(Observation { seen, place: observation.place.clone() })
}

fn is_nic_model(one: &Assumption) -> bool {
    one.what == "model" && one.subject.starts_with("NIC")
}

/// `given`, completed by models that the list names rather than assumes.
fn completed(given: &Overrides, listed: &Inferred) -> Overrides {
    let is_assumed = |subject: &str| {
        listed.assumed.iter().any(|one| one.what == "model" && one.subject.starts_with(subject))
    };
    let mut gpus = listed.machine.gpus.iter().map(|group| group.model.clone());
    let gpu = gpus.next().flatten().filter(|first| gpus.all(|other| other.as_ref() == Some(first)));
    let mut nics = listed.machine.nics.iter().map(|group| group.model.clone());
    let nic = nics.next().flatten().filter(|first| nics.all(|other| other.as_ref() == Some(first)));
    Overrides {
        gpu: given.gpu.clone().or(gpu.filter(|_| !is_assumed("GPU"))),
        // Numbers of the hardware name a NIC's family; what is assumed beyond that is said with the machine.
        nic: given.nic.clone().or(nic),
        cpu: given.cpu.clone().or(listed.machine.host.cpu.clone().filter(|_| !is_assumed("CPU"))),
    }
}

/// The machine with the NICs at `order` (old numbers), in that order, and no others.
fn reordered(mut machine: Machine, order: &[usize]) -> Machine {
    let each = machine.nics.iter().flat_map(|group| {
        std::iter::repeat_n(NicGroup { count: 1, ..group.clone() }, usize::from(group.count))
    });
    let each: Vec<NicGroup> = each.collect();
    machine.nics = order.iter().filter_map(|old| each.get(*old).cloned()).collect();
    for branch in &mut machine.pcie {
        let new = |old: &u16| order.iter().position(|kept| *kept == usize::from(*old));
        branch.nics = branch.nics.iter().filter_map(|old| u16::try_from(new(old)?).ok()).collect();
    }
    machine
}

/// The list's tree with the links between GPUs that the matrix counts, where the list has none.
fn merged(listed: Machine, inferred: Machine) -> Machine {
    let has_links = listed.fabric.is_some() || !listed.bridges.is_empty();
    let (fabric, bridges) =
        if has_links { (listed.fabric, listed.bridges) } else { (inferred.fabric, inferred.bridges) };
    let gpus =
        if inferred.gpus.iter().all(|group| group.model.is_some()) { inferred.gpus } else { listed.gpus };
    Machine { name: inferred.name, fabric, bridges, gpus, ..listed }
}

/// The first pair of which the list's tree gives another PCIe class than the matrix.
fn first_difference(matrix: &Matrix, listed: &Machine, catalogue: &Catalogue) -> Option<Diagnostic> {
    // NVLink hides the PCIe class of a pair; without it the list's tree shows what the matrix cannot.
    let bare = Machine { fabric: None, bridges: Vec::new(), ..listed.clone() };
    let topology = build(&bare, catalogue).ok()?.topology;
    let nodes = nodes(matrix, &topology);
    let differs = |cell: &&Cell| {
        let (Some(class), Some(from), Some(to)) = (cell.class, nodes[cell.row], nodes[cell.column]) else {
            return false;
        };
        let is_pcie = !matches!(class, ReportedClass::Nv(_) | ReportedClass::Xgmi);
        is_pcie && reported_class(&topology, from, to).is_some_and(|built| built != class)
    };
    let cell = matrix.cells().iter().find(differs)?;
    let (row, column) = (&matrix.ends()[cell.row].label, &matrix.ends()[cell.column].label);
    let built = reported_class(&topology, nodes[cell.row]?, nodes[cell.column]?)?;
    let class = cell.class?;
    let message = format!(
        "the matrix calls {row} to {column} {class}, but by the list of PCI devices they are {built}; the matrix was \
         believed"
    );
    let hint = "virtual machines and containers hide switches from one of the two; are both of one machine?";
    Some(Diagnostic::warning(codes::CLASSES_CONTRADICTED, message).hint(hint).at(cell.place.clone()))
}

/// The node of each end of the matrix.
fn nodes(matrix: &Matrix, topology: &Topology) -> Vec<Option<NodeId>> {
    let (mut gpus, mut nics) = (topology.of_kind(NodeKind::Gpu), topology.of_kind(NodeKind::Nic));
    let node = |end: &crate::matrix::End| match end.kind {
        EndKind::Gpu => gpus.next(),
        EndKind::Nic => nics.next(),
    };
    matrix.ends().iter().map(node).collect()
}
