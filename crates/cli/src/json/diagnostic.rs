use serde::Serialize;
use weft_base::Diagnostic;

/// A finding.
#[derive(Debug, Serialize)]
pub struct DiagnosticJson {
    code: &'static str,
    severity: &'static str,
    message: String,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

/// The findings, in the order in which they were made.
pub fn all(diagnostics: &[Diagnostic]) -> Vec<DiagnosticJson> {
    let one = |finding: &Diagnostic| DiagnosticJson {
        code: finding.code.name,
        severity: finding.severity.word(),
        message: finding.message.clone(),
        file: finding.place.as_ref().map(|place| place.file.clone()),
        line: finding.place.as_ref().map(|place| place.line),
        column: finding.place.as_ref().map(|place| place.column),
    };
    diagnostics.iter().map(one).collect()
}
