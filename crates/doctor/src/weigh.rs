//! What the rules found, held against each other and against what was measured.

use std::cmp::Ordering;

use weft_base::Severity;
use weft_predictor::compare::Verdict;

use crate::cause::{Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Evidence, Figure, Finding};
use crate::rules::UNEXPLAINED;

/// The findings in order: what is broken before what only might be, the costlier first.
pub fn weighed(findings: Vec<Finding>, chart: &Chart<'_>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = findings.into_iter().map(|finding| measured(finding, chart)).collect();
    // What has a cause, be it only a possible one, is not unexplained.
    let is_unexplained = |finding: &Finding| finding.cause.word == UNEXPLAINED.word;
    if kept.iter().any(|finding| finding.cause.nature != Nature::Misreading && !is_unexplained(finding)) {
        kept.retain(|finding| !is_unexplained(finding));
    }
    // Where something is wrong, a guess at what was misread only stands in the way: what is sure stays.
    let is_guess = |finding: &Finding| {
        finding.cause.nature == Nature::Misreading && finding.confidence < Confidence::Certain
    };
    if kept.iter().any(|finding| finding.severity > Severity::Note) {
        kept.retain(|finding| !is_guess(finding));
    }
    kept.sort_by(order);
    kept
}

/// A cause of low bandwidth gets what was measured; where that is as expected, it is no more than worth knowing.
fn measured(mut finding: Finding, chart: &Chart<'_>) -> Finding {
    if finding.cause.nature == Nature::Misreading || finding.cause.effect == Effect::Running {
        return finding;
    }
    if chart.is_fast() && finding.cause.effect == Effect::Bandwidth && finding.measured.is_none() {
        finding.severity = Severity::Note;
        finding.confidence = finding.confidence.min(Confidence::Possible);
        finding.evidence.push(Evidence {
            place: None,
            says: "the benchmarks in the input reach what is expected nevertheless".to_owned(),
        });
        return finding;
    }
    if let (None, Some((point, place, comparison))) = (&finding.measured, chart.shortfall()) {
        let name = comparison.collective.name();
        let of = format!("busbw of {name} over {} GPUs at {}", comparison.ranks, point.bytes);
        finding.evidence.push(Evidence {
            place: Some(place),
            says: format!(
                "{} where {} is expected ({:.0} %)",
                point.busbw,
                point.expected.busbw,
                100.0 * point.ratio
            ),
        });
        finding.expected = Some(Figure { of: of.clone(), value: point.expected.busbw.to_string() });
        finding.measured = Some(Figure { of, value: point.busbw.to_string() });
    }
    finding
}

/// Severity, then cost by how sure it is, then the code, so that the order is always the same.
fn order(a: &Finding, b: &Finding) -> Ordering {
    let weight = |finding: &Finding| {
        // What figures of this very input show to be read wrongly tells most, and a guess at it least. Their codes are in
        // the order in which they tell.
        match (finding.cause.nature, finding.confidence) {
            (Nature::Misreading, Confidence::Certain) => return 1.0,
            (Nature::Misreading, Confidence::Likely | Confidence::Possible) => return 0.001,
            (Nature::Fault | Nature::Limit, _) => {}
        }
        let sure = match finding.confidence {
            Confidence::Certain => 1.0,
            Confidence::Likely => 0.7,
            Confidence::Possible => 0.3,
        };
        sure * finding.cost.as_ref().map_or(0.1, |cost| cost.share.max(0.01))
    };
    b.severity
        .cmp(&a.severity)
        .then_with(|| weight(b).total_cmp(&weight(a)))
        .then_with(|| a.cause.code.cmp(b.cause.code))
        .then_with(|| a.what.cmp(&b.what))
}

/// What reaches what is expected, in a sentence each.
pub fn in_order(chart: &Chart<'_>) -> Vec<String> {
    let good = chart.compared().filter_map(|(run, comparison)| {
        let point = comparison.points.last().filter(|point| point.verdict != Verdict::Low)?;
        Some(format!(
            "{} over {} GPUs{} reaches {} of {} expected at {} ({}); limited by {}",
            comparison.collective.name(),
            comparison.ranks,
            run.assumed.as_ref().map_or(String::new(), |machine| format!(" of {machine}")),
            point.busbw,
            point.expected.busbw,
            point.bytes,
            at(run.place, point.line),
            point.expected.bound_by
        ))
    });
    good.collect()
}
