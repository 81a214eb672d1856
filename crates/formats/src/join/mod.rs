//! Parts joined into a case: one machine, what was reported of it, and what had to be assumed.

mod beside;
mod graph;
mod hosts;
mod machine;
mod observed;
mod overrides;
mod ports;
mod reported;

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Catalogue, Machine};
use weft_topology::Assumption;

pub use graph::CaseGraph;
pub use observed::{Observation, Seen};
pub use ports::{Port, Tie};

use crate::codes;
use crate::evidence::Evidence;
use crate::format::Located;
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
    /// What was seen of devices' links, on the first host.
    pub observed: Vec<Observation>,
    /// Which switch ports its NICs are cabled to, where the input has both ends.
    pub ties: Vec<Tie>,
    /// All other evidence, in order of the input; that of other hosts than the machine's behind it.
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
    let overrides = overrides::known(overrides, catalogue, &mut diagnostics);
    let (own, others) = of_one_host(evidence);
    let (mut case, described) = sorted(own, &mut diagnostics);
    let mut found = Vec::new();
    if let Some(described) = described {
        machine::settle(&mut case, Some(described), &overrides, catalogue, &mut found);
    } else {
        let named = reported::completed(&overrides, &case.evidence, catalogue);
        machine::settle(&mut case, None, &named, catalogue, &mut found);
        if let Some(doubt) = reported::doubted(&overrides, &found) {
            found = vec![doubt];
            case.assumed.clear();
            machine::settle(&mut case, None, &overrides, catalogue, &mut found);
        }
    }
    diagnostics.extend(found);
    let observed = reported::observations(&case);
    case.observed.extend(observed);
    network(&mut case, catalogue);
    keep(&mut case, others, &mut diagnostics);
    (case, diagnostics)
}

/// What is of the host of which most is known, or of all; and what is of the others.
fn of_one_host(evidence: Vec<Located<Evidence>>) -> (Vec<Located<Evidence>>, Others) {
    let owners = hosts::owners(&evidence);
    let richest = hosts::richest(&evidence, &owners);
    let (mut own, mut others) = (Vec::new(), Others::new());
    for (located, owner) in evidence.into_iter().zip(owners) {
        if owner.is_none() || owner == richest { own.push(located) } else { others.push(located) }
    }
    (own, others)
}

type Others = Vec<Located<Evidence>>;

/// Puts what is of other hosts into the case: it makes no machine, but it is asked all the same.
fn keep(case: &mut Case, others: Others, diagnostics: &mut Vec<Diagnostic>) {
    for Located { value, place } in others {
        if let Evidence::Topology(matrix) = value {
            diagnostics.extend(case.matrix.as_ref().map(|first| surplus(first, &matrix, place)));
        } else if let Evidence::Peers(peers) = value {
            case.peers.push(Located { value: peers, place });
        } else {
            case.evidence.push(Located { value, place });
        }
    }
}

/// What the ports run, and where they lead.
fn network(case: &mut Case, catalogue: &Catalogue) {
    let ports = ports::ports(&case.evidence);
    let names = case.nic_names();
    if let Some(machine) = &mut case.machine {
        ports::set_rates(machine, &names, &ports, catalogue);
    }
    let subnets = case.evidence.iter().filter_map(|located| {
        let Evidence::Subnet(subnet) = &located.value else { return None };
        Some(subnet)
    });
    case.ties = subnets.flat_map(|subnet| ports::ties(&ports, &names, subnet)).collect();
}

impl Case {
    /// What the operating system calls each NIC of the machine (`mlx5_0`), by its number; `None` where the input
    /// does not say.
    pub fn nic_names(&self) -> Vec<Option<String>> {
        let named = |label: &String| {
            let ends = self.matrix.iter().flat_map(|matrix| matrix.value.ends());
            let end = ends.into_iter().find(|end| end.kind == EndKind::Nic && end.label == *label);
            end.map_or_else(|| Some(label.clone()), |end| end.device.clone())
        };
        self.nic_labels.iter().map(named).collect()
    }
}

/// The evidence in its places, and the machine if the input describes one outright.
fn sorted(evidence: Vec<Located<Evidence>>, diagnostics: &mut Vec<Diagnostic>) -> (Case, Option<Machine>) {
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
            Evidence::Machine(_) => {
                let message = "the machine is described twice; the first description is used";
                diagnostics.push(Diagnostic::warning(codes::MACHINE_SURPLUS, message).at(place));
            }
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
            | Evidence::Infrastructure(_)
            | Evidence::Workload(_)) => case.evidence.push(Located { value, place }),
        }
    }
    (case, machine)
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
