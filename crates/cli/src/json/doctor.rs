//! `weft/doctor/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_doctor::{Diagnosis, Figure, Finding};

use super::DiagnosticJson;

/// The version of this document.
pub const SCHEMA: &str = "weft/doctor/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct DoctorJson {
    schema: &'static str,
    healthy: bool,
    findings: Vec<FindingJson>,
    in_order: Vec<String>,
    diagnostics: Vec<DiagnosticJson>,
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
        diagnostics: super::all(diagnostics),
    }
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
