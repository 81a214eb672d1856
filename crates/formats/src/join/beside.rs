//! A matrix beside a list of the same host's devices: the list gives switches, lanes and models, the matrix gives
//! classes and NVLinks, and where they contradict each other both are named.

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Machine, NicGroup};
use weft_topology::{Assumption, NodeId, NodeKind, ReportedClass, Topology, build, reported_class};

use super::{Observation, Overrides, Seen};
use crate::codes;
use crate::evidence::Host;
use crate::format::Located;
use crate::infer::{Inferred, InferredHost, Said, infer, machine_of_host, said, with_sockets};
use crate::matrix::{Cell, EndKind, Matrix};

/// A machine of both, and what was seen of its links. The machine's devices are numbered as in the matrix.
pub(super) struct Both {
    pub inferred: Inferred,
    pub observed: Vec<Observation>,
}

/// A list of one host's devices and what it makes of them.
pub(super) struct Listed<'e> {
    pub host: &'e Host,
    pub file: &'e str,
    pub found: InferredHost,
}

/// Joins `matrix` with what `list` says.
pub(super) fn join(
    matrix: &Located<Matrix>,
    list: Listed<'_>,
    overrides: &Overrides,
    catalogue: &Catalogue,
) -> Both {
    let Listed { host, file, found } = list;
    let (gpus, listed) = (matrix.value.of_kind(EndKind::Gpu).count(), found.gpu_labels.len());
    if gpus != listed {
        let mut inferred = infer(&matrix.value, overrides, catalogue);
        let message =
            format!("the matrix has {gpus} GPUs, but the list of PCI devices {listed}; the list is not used");
        let finding = Diagnostic::warning(codes::MACHINE_SURPLUS, message);
        let hint = "give only what is of one machine; a container shows fewer GPUs than its host";
        inferred.diagnostics.push(finding.hint(hint).at(matrix.place.clone()));
        return Both { inferred, observed: Vec::new() };
    }
    let order = nic_order(&matrix.value, &found.nic_labels);
    let observed = found.observed.iter().filter_map(|seen| renumbered(seen, order.as_deref())).collect();
    let known = completed(overrides, &found.inferred);
    let mut inferred = infer(&matrix.value, &known, catalogue);
    if overrides.nic.is_none() && known.nic.is_some() {
        inferred.assumed.extend(found.inferred.assumed.iter().filter(|one| is_nic_model(one)).cloned());
    }
    if let Some(order) = order {
        let (gpus, nics) = said(host, catalogue);
        let said = Told { gpus, nics: order.iter().filter_map(|old| nics.get(*old).copied()).collect() };
        let placed = said.is_silent_on_nodes().then(|| {
            let host = with_sockets(host, &as_listed(&inferred.machine, &order), catalogue);
            machine_of_host(&host, file, overrides, catalogue)
        });
        let machine = placed.flatten().map_or(found.inferred.machine, |found| found.inferred.machine);
        let listed = reordered(machine, &order);
        match differences(&matrix.value, &listed, &said, catalogue) {
            Differences::None => inferred.machine = merged(listed, inferred.machine),
            Differences::Unsaid => lend_ports(&listed, &mut inferred.machine),
            Differences::First(difference) => inferred.diagnostics.push(*difference),
        }
    }
    Both { inferred, observed }
}

/// What the list says of each device of the matrix.
struct Told {
    gpus: Vec<Said>,
    nics: Vec<Said>,
}

impl Told {
    fn is_silent_on_nodes(&self) -> bool {
        self.gpus.iter().chain(&self.nics).all(|said| !said.node)
    }

    /// For each end of the matrix.
    fn of_ends(&self, matrix: &Matrix) -> Vec<Option<Said>> {
        let (mut gpus, mut nics) = (self.gpus.iter(), self.nics.iter());
        let said = |end: &crate::matrix::End| match end.kind {
            EndKind::Gpu => gpus.next().copied(),
            EndKind::Nic => nics.next().copied(),
        };
        matrix.ends().iter().map(said).collect()
    }
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

/// The machine with the numbers that its NICs have in the list.
fn as_listed(machine: &Machine, order: &[usize]) -> Machine {
    let mut listed = machine.clone();
    for branch in &mut listed.pcie {
        let old = |new: &u16| order.get(usize::from(*new)).and_then(|old| u16::try_from(*old).ok());
        branch.nics = branch.nics.iter().filter_map(old).collect();
    }
    listed
}

/// What is known of ports counts although the tree above them is not: where all devices of a branch have like ones.
fn lend_ports(listed: &Machine, machine: &mut Machine) {
    let has = |own: &[u16], number: &u16| own.contains(number);
    for branch in &mut machine.pcie {
        let gpus = branch.gpus.iter().map(|gpu| listed.pcie.iter().find(|other| has(&other.gpus, gpu)));
        let nics = branch.nics.iter().map(|nic| listed.pcie.iter().find(|other| has(&other.nics, nic)));
        let mut ports = gpus
            .chain(nics)
            .map(|other| other.map_or((None, None), |other| (other.device_link.clone(), other.device_lanes)));
        let Some(first) = ports.next() else { continue };
        if ports.all(|other| other == first) {
            (branch.device_link, branch.device_lanes) = first;
        }
    }
}

/// How the list's tree differs from the matrix.
enum Differences {
    None,
    /// Only where the list does not say enough to tell.
    Unsaid,
    First(Box<Diagnostic>),
}

fn differences(matrix: &Matrix, listed: &Machine, told: &Told, catalogue: &Catalogue) -> Differences {
    // NVLink hides the PCIe class of a pair; without it the list's tree shows what the matrix cannot.
    let bare = Machine { fabric: None, bridges: Vec::new(), ..listed.clone() };
    let Ok(built) = build(&bare, catalogue) else { return Differences::None };
    let nodes = nodes(matrix, &built.topology);
    let said = told.of_ends(matrix);
    let class_of = |cell: &Cell| {
        let (from, to) = nodes[cell.row].zip(nodes[cell.column])?;
        reported_class(&built.topology, from, to)
    };
    let differs = |cell: &&Cell| {
        let is_pcie = |class| !matches!(class, ReportedClass::Nv(_) | ReportedClass::Xgmi);
        cell.class.is_some_and(|class| is_pcie(class) && class_of(cell).is_some_and(|built| built != class))
    };
    let is_told = |cell: &&Cell| {
        let Some((from, to)) = said[cell.row].zip(said[cell.column]) else { return true };
        let is_far = |class| matches!(class, Some(ReportedClass::Sys | ReportedClass::Node));
        let by_nodes_alone = is_far(cell.class) && is_far(class_of(cell));
        from.way && to.way && (!by_nodes_alone || from.node && to.node)
    };
    let mut differing = matrix.cells().iter().filter(differs).peekable();
    if differing.peek().is_none() {
        return Differences::None;
    }
    let first = differing.find(is_told);
    let found = first.and_then(|cell| contradiction(matrix, cell, class_of(cell)?));
    found.map_or(Differences::Unsaid, |found| Differences::First(Box::new(found)))
}

fn contradiction(matrix: &Matrix, cell: &Cell, built: ReportedClass) -> Option<Diagnostic> {
    let (row, column, class) =
        (&matrix.ends()[cell.row].label, &matrix.ends()[cell.column].label, cell.class?);
    let message = format!(
        "the matrix calls {row} to {column} {class}, but by the list of PCI devices they are {built}; the matrix was \
         believed"
    );
    let hint = "are both of one machine? in a virtual machine the list shows the guest's buses and not the host's switches: \
                NCCL needs the host's tree there, by NCCL_TOPO_FILE";
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
