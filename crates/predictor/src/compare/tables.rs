//! All tables of an input beside what is predicted of the machine that ran them.

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Catalogue, Machine};
use weft_collective::Collective;
use weft_formats::{Benchmark, Case, Evidence, Located, PairTable};
use weft_topology::{NodeId, NodeKind, Topology, build};

use super::{Comparison, RanksError, Side, compare, launch, machine_of_ranks, seats};
use crate::calibrate::{PairEvidence, pair_evidence};
use crate::findings::{NOT_COMPARED, NOT_MODELLED};
use crate::{PREDICTED, Request};

/// What was measured beside what is expected.
#[derive(Debug, Default)]
pub struct Compared {
    /// Tables of collectives.
    pub tables: Vec<Table>,
    /// Tables of copies between pairs of GPUs.
    pub pairs: Vec<Pairs>,
    /// What could not be compared, and why.
    pub diagnostics: Vec<Diagnostic>,
}

/// A table beside what is expected.
#[derive(Debug)]
pub struct Table {
    /// Where it was read.
    pub place: Place,
    /// Row by row.
    pub comparison: Comparison,
    /// The machine, where it follows from the ranks alone.
    pub machine: Option<String>,
    /// What was predicted, so that more can be asked of the same machine.
    pub asked: Asked,
}

/// The machine that ran a table, and what was asked of it.
#[derive(Debug)]
pub struct Asked {
    /// With as many hosts as took part.
    pub topology: Topology,
    /// With the collective, the GPUs and the sizes of the table.
    pub request: Request,
}

/// Copies beside what their links are known to reach.
#[derive(Debug)]
pub struct Pairs {
    /// What the tool calls it.
    pub title: String,
    /// Where it was read.
    pub place: Place,
    /// Measured by expected.
    pub evidence: PairEvidence,
}

/// Compares what the `wanted` files of a side hold with what is expected of its machine. The side's request says all but
/// the collective, the GPUs and the sizes; `fallback` is the collective of tables that name none.
pub fn tables(
    side: Side<'_>,
    wanted: impl Fn(&Place) -> bool,
    fallback: Collective,
    catalogue: &Catalogue,
) -> Compared {
    let mut found = Compared::default();
    for located in side.case.evidence.iter().filter(|located| wanted(&located.place)) {
        if let Evidence::Benchmark(benchmark) = &located.value {
            match table(side, benchmark, fallback, catalogue) {
                Ok((comparison, machine, asked)) => {
                    found.tables.push(Table { place: located.place.clone(), comparison, machine, asked });
                }
                Err(finding) => found.diagnostics.push(finding.at(located.place.clone())),
            }
        }
        if let Evidence::Pairs(table) = &located.value {
            found.pairs.extend(pairs(side.topology, table, located, catalogue));
        }
    }
    found
}

fn table(
    side: Side<'_>,
    benchmark: &Benchmark,
    fallback: Collective,
    catalogue: &Catalogue,
) -> Result<(Comparison, Option<String>, Asked), Diagnostic> {
    let collective = match benchmark.collective.as_deref().map(|name| (name, Collective::from_name(name))) {
        Some((_, Some(named))) => named,
        Some((name, None)) => return Err(not_compared(format!("`{name}` is no collective that is known"))),
        // The heading of a table that someone wrote says nothing against its being of a collective.
        None if benchmark.operation.is_some() && benchmark.tool != "bandwidth-table" => {
            let what = benchmark.operation.clone().unwrap_or_default();
            return Err(Diagnostic::note(NOT_MODELLED, format!("{what} is no collective and was left out")));
        }
        None => fallback,
    };
    if !PREDICTED.contains(&collective) {
        let message = format!("{} has no model yet and was left out", collective.name());
        return Err(Diagnostic::note(NOT_MODELLED, message));
    }
    let seated = seat(side, benchmark, catalogue)?;
    let started = side.request.launch.or_else(|| launch(benchmark));
    let request = Request { collective, gpus: seated.gpus, launch: started, ..side.request.clone() };
    let comparison = compare(benchmark, &seated.topology, catalogue, &request)
        .map_err(|error| not_compared(error.to_string()))?;
    Ok((comparison, seated.machine, Asked { topology: seated.topology, request }))
}

/// A machine with the GPUs that ran.
struct Seated {
    topology: Topology,
    gpus: Option<Vec<NodeId>>,
    /// In words, where it follows from the ranks.
    machine: Option<String>,
}

fn seat(side: Side<'_>, benchmark: &Benchmark, catalogue: &Catalogue) -> Result<Seated, Diagnostic> {
    let refused = |error: RanksError| {
        not_compared(error.to_string())
            .hint("give the machine too: `weft predict topo.txt --measured run.txt`")
    };
    let (machine, is_own) = match &side.case.machine {
        Some(machine) => (machine.clone(), true),
        None => (machine_of_ranks(benchmark, catalogue).map_err(refused)?, false),
    };
    let name = format!("{}, as its ranks name them", machine.name);
    let per_host: usize = machine.gpus.iter().map(|group| usize::from(group.count)).sum();
    let seats = seats(benchmark, per_host, machine.host.count).map_err(refused)?;
    let as_loaded = is_own && seats.hosts == machine.host.count;
    let topology =
        if as_loaded { side.topology.clone() } else { hosts(machine, seats.hosts, side.case, catalogue)? };
    let all: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let gpus = seats.gpus.map(|gpus| gpus.iter().filter_map(|gpu| all.get(*gpu).copied()).collect());
    Ok(Seated { topology, gpus, machine: (!is_own).then_some(name) })
}

/// So many hosts like the one that is described, with what is down on it down on all.
fn hosts(
    mut machine: Machine,
    count: u32,
    case: &Case,
    catalogue: &Catalogue,
) -> Result<Topology, Diagnostic> {
    machine.host.count = count;
    let built = build(&machine, catalogue).map_err(|error| error.finding())?;
    Ok(case.overlay(&built.topology).applied(&built.topology))
}

fn pairs(
    topology: &Topology,
    table: &PairTable,
    located: &Located<Evidence>,
    catalogue: &Catalogue,
) -> Option<Pairs> {
    let evidence = pair_evidence(table, topology, catalogue)?;
    Some(Pairs { title: table.title.clone(), place: located.place.clone(), evidence })
}

fn not_compared(message: String) -> Diagnostic {
    Diagnostic::warning(NOT_COMPARED, message)
}
