//! All tables of an input beside what is predicted of the machine that ran them.

use std::rc::Rc;

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Catalogue, Machine};
use weft_collective::Collective;
use weft_formats::{Benchmark, Case, Evidence, Located, PairTable};
use weft_topology::{NodeId, NodeKind, Topology, build};

use super::asked::Asked;
use super::measured::compare_with;
use super::{Comparison, RanksError, Side, launch, machine_of_ranks, seats};
use crate::calibrate::{PairEvidence, pair_evidence};
use crate::findings::{NOT_COMPARED, NOT_MODELLED};
use crate::{KnownMachine, Launch, PREDICTED, Request};

/// What was measured beside what is expected.
#[derive(Debug, Default)]
pub struct Compared<'c> {
    /// Tables of collectives.
    pub tables: Vec<Table<'c>>,
    /// Tables of copies between pairs of GPUs.
    pub pairs: Vec<Pairs>,
    /// What could not be compared, and why.
    pub diagnostics: Vec<Diagnostic>,
}

/// A table beside what is expected.
#[derive(Debug)]
pub struct Table<'c> {
    /// Where it was read.
    pub place: Place,
    /// Row by row.
    pub comparison: Comparison,
    /// The machine, where it follows from the ranks alone.
    pub machine: Option<String>,
    /// What was predicted, so that more can be asked of the same machine.
    pub asked: Rc<Asked<'c>>,
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
pub fn tables<'c>(
    side: Side<'_>,
    wanted: impl Fn(&Place) -> bool,
    fallback: Collective,
    catalogue: &'c Catalogue,
) -> Compared<'c> {
    let mut found = Compared::default();
    let mut desk = Desk { side, fallback, catalogue, machines: Vec::new(), asked: Vec::new() };
    for located in side.case.evidence.iter().filter(|located| wanted(&located.place)) {
        if let Evidence::Benchmark(benchmark) = &located.value {
            match desk.table(benchmark, &located.place) {
                Ok(table) => found.tables.push(table),
                Err(finding) => found.diagnostics.push(finding.at(located.place.clone())),
            }
        }
        if let Evidence::Pairs(table) = &located.value {
            found.pairs.extend(pairs(side.topology, table, located, catalogue));
        }
    }
    found
}

/// Where tables are compared: each machine and each question of them is there once.
struct Desk<'s, 'c> {
    side: Side<'s>,
    fallback: Collective,
    catalogue: &'c Catalogue,
    machines: Vec<(Machine, Result<KnownMachine<'c>, Diagnostic>)>,
    asked: Vec<Rc<Asked<'c>>>,
}

/// A machine with the GPUs that ran.
struct Seated<'c> {
    machine: KnownMachine<'c>,
    gpus: Option<Vec<NodeId>>,
    /// In words, where it follows from the ranks.
    name: Option<String>,
}

impl<'c> Desk<'_, 'c> {
    fn table(&mut self, benchmark: &Benchmark, place: &Place) -> Result<Table<'c>, Diagnostic> {
        let collective = collective(benchmark, self.fallback)?;
        let Seated { machine, gpus, name } = self.seat(benchmark)?;
        let started = self.side.request.launch.or_else(|| launch(benchmark));
        let asked = self.ask(machine, collective, gpus, started);
        let comparison = compare_with(benchmark, &asked).map_err(|error| not_compared(error.to_string()))?;
        Ok(Table { place: place.clone(), comparison, machine: name, asked })
    }

    /// The question, which other tables may have put before.
    fn ask(
        &mut self,
        machine: KnownMachine<'c>,
        collective: Collective,
        gpus: Option<Vec<NodeId>>,
        launch: Option<Launch>,
    ) -> Rc<Asked<'c>> {
        let same = self.asked.iter().find(|asked| {
            let Request { collective: own, launch: started, gpus: ran, .. } = &asked.request;
            asked.machine.is(&machine) && *own == collective && *started == launch && *ran == gpus
        });
        if let Some(asked) = same {
            return Rc::clone(asked);
        }
        let request = Request { collective, gpus, launch, ..self.side.request.clone() };
        let asked = Rc::new(Asked::new(machine, request));
        self.asked.push(Rc::clone(&asked));
        asked
    }

    fn seat(&mut self, benchmark: &Benchmark) -> Result<Seated<'c>, Diagnostic> {
        let refused = |error: RanksError| {
            not_compared(error.to_string())
                .hint("give the machine too: `weft predict topo.txt --measured run.txt`")
        };
        let (machine, is_own) = match &self.side.case.machine {
            Some(machine) => (machine.clone(), true),
            None => (machine_of_ranks(benchmark, self.catalogue).map_err(refused)?, false),
        };
        let name = format!("{}, as its ranks name them", machine.name);
        let per_host: usize = machine.gpus.iter().map(|group| usize::from(group.count)).sum();
        let seats = seats(benchmark, per_host, machine.host.count).map_err(refused)?;
        let as_loaded = is_own && seats.hosts == machine.host.count;
        let machine = self.machine(machine, seats.hosts, as_loaded)?;
        let all: Vec<NodeId> = machine.topology().of_kind(NodeKind::Gpu).collect();
        let gpus = seats.gpus.map(|gpus| gpus.iter().filter_map(|gpu| all.get(*gpu).copied()).collect());
        Ok(Seated { machine, gpus, name: (!is_own).then_some(name) })
    }

    /// So many hosts of a machine: as it was loaded, or built.
    fn machine(
        &mut self,
        mut machine: Machine,
        count: u32,
        as_loaded: bool,
    ) -> Result<KnownMachine<'c>, Diagnostic> {
        machine.host.count = count;
        if let Some((_, known)) = self.machines.iter().find(|(known, _)| *known == machine) {
            return known.clone();
        }
        let topology = if as_loaded {
            Ok(self.side.topology.clone())
        } else {
            hosts(&machine, self.side.case, self.catalogue)
        };
        let known = topology.map(|topology| KnownMachine::new(topology, self.catalogue));
        self.machines.push((machine, known.clone()));
        known
    }
}

fn collective(benchmark: &Benchmark, fallback: Collective) -> Result<Collective, Diagnostic> {
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
    Ok(collective)
}

/// Hosts like the one that is described, with what is down on it down on all.
fn hosts(machine: &Machine, case: &Case, catalogue: &Catalogue) -> Result<Topology, Diagnostic> {
    let built = build(machine, catalogue).map_err(|error| error.finding())?;
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
