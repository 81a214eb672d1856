//! Parts joined into a case: one machine, what was reported of it, and what had to be assumed.

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Catalogue, GpuGroup, Machine, NotFound};
use weft_topology::Assumption;
use weft_topology::oneliner::UNKNOWN_NAME;

use crate::codes;
use crate::evidence::Evidence;
use crate::format::Located;
use crate::infer::infer;
use crate::matrix::{EndKind, Matrix};
use crate::nvidia_smi_p2p::PeerMatrix;

/// What the user says besides the input; names of the catalogue, in any spelling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--gpu`.
    pub gpu: Option<String>,
    /// `--nic`.
    pub nic: Option<String>,
    /// `--cpu`.
    pub cpu: Option<String>,
}

/// What is known of one machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Case {
    /// The machine, ready for `weft_topology::build`; `None` where the input describes none, as a benchmark's
    /// log alone.
    pub machine: Option<Machine>,
    /// Name of each GPU in the input, by its number in the machine; empty where the input names none.
    pub gpu_labels: Vec<String>,
    /// Name of each NIC in the input, by its number in the machine; empty where the input names none.
    pub nic_labels: Vec<String>,
    /// What `topo -m` reported.
    pub matrix: Option<Located<Matrix>>,
    /// What `topo -p2p` reported.
    pub peers: Vec<Located<PeerMatrix>>,
    /// All other evidence, in order of the input.
    pub evidence: Vec<Located<Evidence>>,
    /// What the input does not say. `weft_topology::build` adds its own.
    pub assumed: Vec<Assumption>,
}

/// Joins what was read of one machine. An error among the diagnostics means that the input contradicts
/// the hardware or an option names nothing; the case then holds what could be saved.
pub fn join(
    evidence: Vec<Located<Evidence>>,
    overrides: &Overrides,
    catalogue: &Catalogue,
) -> (Case, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let overrides = known(overrides, catalogue, &mut diagnostics);
    let mut case = Case::default();
    let mut machine: Option<Machine> = None;
    for Located { value, place } in evidence {
        match value {
            Evidence::Topology(matrix) => match &case.matrix {
                None => case.matrix = Some(Located { value: matrix, place }),
                Some(first) => diagnostics.push(surplus(first, &matrix, place)),
            },
            Evidence::Peers(peers) => case.peers.push(Located { value: peers, place }),
            Evidence::Machine(described) if machine.is_none() => machine = Some(*described),
            value @ (Evidence::Weights(_)
            | Evidence::Host(_)
            | Evidence::Graphs(_)
            | Evidence::Subnet(_)
            | Evidence::Forwarding(_)
            | Evidence::Hierarchy(_)
            | Evidence::Benchmark(_)
            | Evidence::Pairs(_)
            | Evidence::Log(_)
            | Evidence::Report(_)
            | Evidence::Workload(_)) => case.evidence.push(Located { value, place }),
            Evidence::Machine(_) => {
                let message = "the machine is described twice; the first description is used";
                diagnostics.push(Diagnostic::warning(codes::MACHINE_SURPLUS, message).at(place));
            }
        }
    }
    if let Some(described) = machine {
        if let Some(matrix) = &case.matrix {
            diagnostics.push(beside(&described, &matrix.value).at(matrix.place.clone()));
        }
        case.machine = Some(fill(described, &overrides, &mut diagnostics));
    } else if let Some(matrix) = &case.matrix {
        let inferred = infer(&matrix.value, &overrides, catalogue);
        case.machine = Some(inferred.machine);
        case.assumed = inferred.assumed;
        diagnostics.extend(inferred.diagnostics);
        case.gpu_labels = labels(&matrix.value, EndKind::Gpu);
        case.nic_labels = labels(&matrix.value, EndKind::Nic);
        if overrides.nic.is_some() && case.nic_labels.is_empty() {
            diagnostics.push(unused("--nic", "the input has no NIC"));
        }
    } else if let Some(peers) = case.peers.first() {
        case.gpu_labels.clone_from(&peers.value.ends);
        case.machine = Some(only_gpus(&case.gpu_labels, &overrides));
        let why = "only who may access whom is in the input, not how close devices are";
        case.assumed.push(Assumption::new("GPU", "PCIe place", "a root port each", why));
    }
    (case, diagnostics)
}

/// The overrides under their catalogue names; those that name nothing are reported and left out.
fn known(given: &Overrides, catalogue: &Catalogue, diagnostics: &mut Vec<Diagnostic>) -> Overrides {
    let mut check =
        |name: &Option<String>, look: &dyn Fn(&str) -> Result<String, NotFound>| match look(name.as_deref()?)
        {
            Ok(name) => Some(name),
            Err(error) => {
                let mut finding = Diagnostic::error(UNKNOWN_NAME, error.to_string());
                finding.hint = Some(error.hint());
                diagnostics.push(finding);
                None
            }
        };
    Overrides {
        gpu: check(&given.gpu, &|name| catalogue.gpu(name).map(|gpu| gpu.name.clone())),
        nic: check(&given.nic, &|name| catalogue.nic(name).map(|nic| nic.name.clone())),
        cpu: check(&given.cpu, &|name| catalogue.cpu(name).map(|cpu| cpu.name.clone())),
    }
}

fn labels(matrix: &Matrix, kind: EndKind) -> Vec<String> {
    matrix.of_kind(kind).map(|end| matrix.ends()[end].label.clone()).collect()
}

fn surplus(first: &Located<Matrix>, second: &Matrix, place: Place) -> Diagnostic {
    let line = first.place.line;
    if first.value.says_the_same(second) {
        let message = format!("the matrix of line {line} is here again");
        return Diagnostic::note(codes::MATRIX_SURPLUS, message).at(place);
    }
    let message = format!("a second matrix, other than that of line {line}, is not used");
    let hint = "give each machine its own file";
    Diagnostic::warning(codes::MATRIX_SURPLUS, message).hint(hint).at(place)
}

/// What becomes of a matrix beside a description: it is shown if it can be of the same machine.
fn beside(described: &Machine, matrix: &Matrix) -> Diagnostic {
    let gpus: usize = described.gpus.iter().map(|group| usize::from(group.count)).sum();
    let nics: usize = described.nics.iter().map(|group| usize::from(group.count)).sum();
    let (rows, more) = (matrix.of_kind(EndKind::Gpu).count(), matrix.of_kind(EndKind::Nic).count());
    if (rows, more) == (gpus, nics) {
        let message =
            "the machine is also described by a file or a line, which is used; the matrix is shown only";
        return Diagnostic::note(codes::MACHINE_SURPLUS, message);
    }
    let message = format!(
        "the matrix has {rows} GPUs and {more} NICs, but the description beside it {gpus} and {nics}; the matrix \
         is not used"
    );
    Diagnostic::warning(codes::MACHINE_SURPLUS, message).hint("give only what is of one machine")
}

/// Puts the given models where the description leaves them open.
fn fill(mut machine: Machine, overrides: &Overrides, diagnostics: &mut Vec<Diagnostic>) -> Machine {
    let mut settled = |name: &str, given: &Option<String>, open: Vec<&mut Option<String>>| {
        let Some(given) = given else { return };
        if open.is_empty() {
            diagnostics.push(unused(name, "the description names the model itself, or has no such device"));
        }
        for slot in open {
            *slot = Some(given.clone());
        }
    };
    let gpus = machine.gpus.iter_mut().map(|group| &mut group.model).filter(|model| model.is_none());
    settled("--gpu", &overrides.gpu, gpus.collect());
    let nics = machine.nics.iter_mut().map(|group| &mut group.model).filter(|model| model.is_none());
    settled("--nic", &overrides.nic, nics.collect());
    let cpu = Some(&mut machine.host.cpu).filter(|cpu| cpu.is_none());
    settled("--cpu", &overrides.cpu, cpu.into_iter().collect());
    machine
}

fn unused(option: &str, why: &str) -> Diagnostic {
    Diagnostic::warning(codes::OVERRIDE_UNUSED, format!("{option} changes nothing: {why}"))
}

fn only_gpus(labels: &[String], overrides: &Overrides) -> Machine {
    let count = u16::try_from(labels.len()).unwrap_or(u16::MAX);
    let mut machine = Machine { name: "from topo -p2p".to_owned(), ..Machine::default() };
    machine.gpus.push(GpuGroup { model: overrides.gpu.clone(), count });
    machine.host.cpu.clone_from(&overrides.cpu);
    machine
}
