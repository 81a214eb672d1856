//! `weft/doctor/1` and `weft/doctor-fleet/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_doctor::{Diagnosis, Figure, Finding, Fleet, Member, Reached};

use super::DiagnosticJson;

/// The version of this document.
pub const SCHEMA: &str = "weft/doctor/1";
/// The version of the document of several machines.
pub const FLEET_SCHEMA: &str = "weft/doctor-fleet/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct DoctorJson {
    schema: &'static str,
    healthy: bool,
    findings: Vec<FindingJson>,
    in_order: Vec<String>,
    benchmarks: Vec<ReachedJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct ReachedJson {
    collective: &'static str,
    ranks: usize,
    bytes: u64,
    busbw_bytes_per_s: u64,
    expected_busbw_bytes_per_s: u64,
}

/// The document of several machines.
#[derive(Debug, Serialize)]
pub struct FleetJson {
    schema: &'static str,
    healthy: bool,
    machines: Vec<MachineJson>,
    differences: Vec<DifferenceJson>,
}

#[derive(Debug, Serialize)]
struct MachineJson {
    name: String,
    healthy: bool,
    findings: Vec<FindingJson>,
    in_order: Vec<String>,
    benchmarks: Vec<ReachedJson>,
}

#[derive(Debug, Serialize)]
struct DifferenceJson {
    machine: String,
    kind: &'static str,
    what: String,
    subjects: Vec<String>,
    says: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    usual: Option<String>,
    usual_count: usize,
    weight: u16,
}

#[derive(Debug, Serialize)]
struct FindingJson {
    cause: &'static str,
    code: &'static str,
    severity: &'static str,
    confidence: &'static str,
    what: String,
    evidence: Vec<EvidenceJson>,
    expected: Option<FigureJson>,
    measured: Option<FigureJson>,
    cost: Option<CostJson>,
    fix: String,
    check: Option<String>,
    settle: Option<String>,
}

#[derive(Debug, Serialize)]
struct EvidenceJson {
    file: Option<String>,
    line: Option<u32>,
    says: String,
}

#[derive(Debug, Serialize)]
struct FigureJson {
    of: String,
    value: String,
}

#[derive(Debug, Serialize)]
struct CostJson {
    text: String,
    share: f64,
}

/// The document of one patient.
pub fn document(diagnosis: &Diagnosis, diagnostics: &[Diagnostic]) -> DoctorJson {
    DoctorJson {
        schema: SCHEMA,
        healthy: diagnosis.is_healthy(),
        findings: diagnosis.findings.iter().map(finding).collect(),
        in_order: diagnosis.in_order.clone(),
        benchmarks: benchmarks(diagnosis),
        diagnostics: super::all(diagnostics),
    }
}

/// The document of several machines.
pub fn fleet(fleet: &Fleet) -> FleetJson {
    let name =
        |machine: usize| fleet.members.get(machine).map_or_else(String::new, |member| member.name.clone());
    FleetJson {
        schema: FLEET_SCHEMA,
        healthy: fleet.members.iter().all(|member| member.diagnosis.is_healthy()),
        machines: fleet
            .members
            .iter()
            .map(|Member { name, diagnosis }| MachineJson {
                name: name.clone(),
                healthy: diagnosis.is_healthy(),
                findings: diagnosis.findings.iter().map(finding).collect(),
                in_order: diagnosis.in_order.clone(),
                benchmarks: benchmarks(diagnosis),
            })
            .collect(),
        differences: fleet
            .differences
            .iter()
            .map(|difference| {
                let place = difference.odd.as_ref().and_then(|said| said.place.as_ref());
                DifferenceJson {
                    machine: name(difference.machine),
                    kind: difference.kind.name(),
                    what: difference.what.clone(),
                    subjects: difference.subjects.clone(),
                    says: difference.odd.as_ref().map(|said| said.text.clone()),
                    file: place.map(|place| place.file.clone()),
                    line: place.map(|place| place.line),
                    usual: difference.usual.as_ref().map(|said| said.text.clone()),
                    usual_count: difference.usual_count,
                    weight: difference.weight,
                }
            })
            .collect(),
    }
}

fn benchmarks(diagnosis: &Diagnosis) -> Vec<ReachedJson> {
    let one = |run: &Reached| ReachedJson {
        collective: run.collective.name(),
        ranks: run.ranks,
        bytes: run.bytes.get(),
        busbw_bytes_per_s: run.busbw.get(),
        expected_busbw_bytes_per_s: run.expected.get(),
    };
    diagnosis.reached.iter().map(one).collect()
}

fn finding(finding: &Finding) -> FindingJson {
    let figure = |figure: &Figure| FigureJson { of: figure.of.clone(), value: figure.value.clone() };
    FindingJson {
        cause: finding.cause.word,
        code: finding.cause.code,
        severity: finding.severity.word(),
        confidence: finding.confidence.word(),
        what: finding.what.clone(),
        evidence: finding
            .evidence
            .iter()
            .map(|evidence| EvidenceJson {
                file: evidence.place.as_ref().map(|place| place.file.clone()),
                line: evidence.place.as_ref().map(|place| place.line),
                says: evidence.says.clone(),
            })
            .collect(),
        expected: finding.expected.as_ref().map(figure),
        measured: finding.measured.as_ref().map(figure),
        cost: finding.cost.as_ref().map(|cost| CostJson { text: cost.text.clone(), share: cost.share }),
        fix: finding.fix.clone(),
        check: finding.check.clone(),
        settle: finding.settle.clone(),
    }
}
