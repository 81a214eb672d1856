//! All rules over one chart, weighed.

use weft_base::{Bytes, Rate, Severity};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::compare::Comparison;

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
    /// What each benchmark reached at its largest size.
    pub reached: Vec<Reached>,
}

/// What a benchmark reached at its largest size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// What ran.
    pub collective: Collective,
    /// How many ranks.
    pub ranks: usize,
    /// The size.
    pub bytes: Bytes,
    /// Bus bandwidth that was measured.
    pub busbw: Rate,
    /// Bus bandwidth that is expected.
    pub expected: Rate,
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
    let reached = chart.compared().filter_map(|(_, comparison)| {
        let point = comparison.points.last()?;
        let Comparison { collective, ranks, .. } = *comparison;
        Some(Reached {
            collective,
            ranks,
            bytes: point.bytes,
            busbw: point.busbw,
            expected: point.expected.busbw,
        })
    });
    let reached = reached.collect();
    Diagnosis { findings: weigh::weighed(findings, &chart), in_order: weigh::in_order(&chart), reached }
}
