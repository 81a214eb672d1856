//! The machine: from the description that says most.

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, GpuGroup, Machine};
use weft_topology::Assumption;

use super::beside::{self, Listed};
use super::overrides::{fill, unused};
use super::{Case, Overrides};
use crate::codes;
use crate::evidence::{Evidence, WeightMatrix};
use crate::format::Located;
use crate::infer::{infer, machine_of, machine_of_host};
use crate::matrix::{EndKind, Matrix};

/// Sets the machine of `case`, its labels and what was assumed: a description counts before a matrix, a matrix
/// before what says only which GPUs there are.
pub(super) fn settle(
    case: &mut Case,
    described: Option<Machine>,
    overrides: &Overrides,
    catalogue: &Catalogue,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if let Some(described) = described {
        if let Some(matrix) = &case.matrix {
            diagnostics.push(surplus(&described, &matrix.value).at(matrix.place.clone()));
        }
        case.machine = Some(fill(described, overrides, diagnostics));
    } else if let Some(matrix) = &case.matrix {
        let beside = of_host(&case.evidence, Some(&matrix.value), overrides, catalogue)
            .filter(|list| !list.found.gpu_labels.is_empty());
        let inferred = match beside {
            Some(list) => {
                let both = beside::join(matrix, list, overrides, catalogue);
                case.observed.extend(both.observed);
                both.inferred
            }
            None => infer(&matrix.value, overrides, catalogue),
        };
        case.machine = Some(inferred.machine);
        case.assumed = inferred.assumed;
        diagnostics.extend(inferred.diagnostics);
        case.gpu_labels = labels(&matrix.value, EndKind::Gpu);
        case.nic_labels = labels(&matrix.value, EndKind::Nic);
        if overrides.nic.is_some() && case.nic_labels.is_empty() {
            diagnostics.push(unused("--nic", "the input has no NIC"));
        }
    } else if let Some(weights) = tables(&case.evidence, diagnostics) {
        let inferred = machine_of(&weights, overrides, catalogue);
        case.machine = Some(inferred.machine);
        case.assumed = inferred.assumed;
        diagnostics.extend(inferred.diagnostics);
        case.gpu_labels = weights.value.gpus;
        if overrides.nic.is_some() {
            diagnostics.push(unused("--nic", "the input has no NIC"));
        }
    } else if let Some(Listed { found, .. }) = of_host(&case.evidence, None, overrides, catalogue) {
        case.machine = Some(found.inferred.machine);
        case.assumed = found.inferred.assumed;
        diagnostics.extend(found.inferred.diagnostics);
        (case.gpu_labels, case.nic_labels) = (found.gpu_labels, found.nic_labels);
        case.observed.extend(found.observed);
    } else if let Some(peers) = case.peers.first() {
        case.gpu_labels.clone_from(&peers.value.ends);
        case.machine = Some(only_gpus(&case.gpu_labels, overrides));
        let why = "only who may access whom is in the input, not how close devices are";
        case.assumed.push(Assumption::new("GPU", "PCIe place", "a root port each", why));
    }
}

/// The tables of AMD's or Intel's tool that say most. Others of the same tool are of another machine.
fn tables(
    evidence: &[Located<Evidence>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Located<WeightMatrix>> {
    let mut best: Option<(usize, Located<WeightMatrix>)> = None;
    let mut formats: Vec<&str> = Vec::new();
    for Located { value, place } in evidence {
        let Evidence::Weights(weights) = value else { continue };
        if formats.contains(&weights.format) {
            let message = format!("a second output of {} is not used", weights.format);
            let finding = Diagnostic::warning(codes::MATRIX_SURPLUS, message);
            diagnostics.push(finding.hint("give each machine its own file").at(place.clone()));
            continue;
        }
        formats.push(weights.format);
        let tables = [weights.links.is_empty(), weights.weights.is_empty(), weights.numa.is_empty()];
        let says = tables.iter().filter(|is_empty| !**is_empty).count();
        if best.as_ref().is_none_or(|(most, _)| *most < says) {
            best = Some((says, Located { value: weights.as_ref().clone(), place: place.clone() }));
        }
    }
    best.map(|(_, weights)| weights)
}

/// The list of devices with the most GPUs, then the most NICs; the first of equals. With a matrix, one of as many GPUs
/// comes first: a hypervisor and its guest list others.
fn of_host<'e>(
    evidence: &'e [Located<Evidence>],
    matrix: Option<&Matrix>,
    overrides: &Overrides,
    catalogue: &Catalogue,
) -> Option<Listed<'e>> {
    let wanted = matrix.map(|matrix| matrix.of_kind(EndKind::Gpu).count());
    let mut best: Option<((bool, usize, usize), Listed<'e>)> = None;
    for Located { value, place } in evidence {
        let Evidence::Host(host) = value else { continue };
        let Some(found) = machine_of_host(host, &place.file, overrides, catalogue) else { continue };
        let (gpus, nics) = (found.gpu_labels.len(), found.nic_labels.len());
        let worth = (wanted == Some(gpus), gpus, nics);
        if best.as_ref().is_none_or(|(most, _)| *most < worth) {
            best = Some((worth, Listed { host, file: &place.file, found }));
        }
    }
    best.map(|(_, listed)| listed)
}

fn labels(matrix: &Matrix, kind: EndKind) -> Vec<String> {
    matrix.of_kind(kind).map(|end| matrix.ends()[end].label.clone()).collect()
}

/// What becomes of a matrix beside a description: it is shown if it can be of the same machine.
fn surplus(described: &Machine, matrix: &Matrix) -> Diagnostic {
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

fn only_gpus(labels: &[String], overrides: &Overrides) -> Machine {
    let count = u16::try_from(labels.len()).unwrap_or(u16::MAX);
    let mut machine = Machine { name: "from topo -p2p".to_owned(), ..Machine::default() };
    machine.gpus.push(GpuGroup { model: overrides.gpu.clone(), count });
    machine.host.cpu.clone_from(&overrides.cpu);
    machine
}
