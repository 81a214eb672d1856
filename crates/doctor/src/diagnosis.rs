//! All rules over one chart, weighed.

use weft_base::Severity;
use weft_catalogue::Catalogue;

use crate::chart::{Chart, Patient};
use crate::finding::{Confidence, Finding};
use crate::rules::RULES;
use crate::weigh;

/// What the doctor says.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// The costliest first.
    pub findings: Vec<Finding>,
    /// What is in order, in sentences: each run that reaches what is expected, and what bounds it.
    pub in_order: Vec<String>,
}

impl Diagnosis {
    /// Whether nothing is broken: no finding above a note.
    pub fn is_healthy(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }

    /// Findings that leave no doubt, of those above a note.
    pub fn certain_count(&self) -> usize {
        let is_certain = |finding: &&Finding| finding.confidence == Confidence::Certain;
        self.findings.iter().filter(|it| it.severity > Severity::Note).filter(is_certain).count()
    }
}

/// Looks at a patient.
pub fn diagnose(patient: Patient<'_>, catalogue: &Catalogue) -> Diagnosis {
    let chart = Chart::new(patient, catalogue);
    let findings = RULES.iter().flat_map(|rule| rule.check(&chart)).collect();
    Diagnosis { findings: weigh::weighed(findings, &chart), in_order: weigh::in_order(&chart) }
}
