//! A health check's line, and samples for a collector.

use std::fmt::Write as _;

use weft_base::Severity;
use weft_doctor::{Diagnosis, Finding};

/// Bytes that Kubernetes' node problem detector keeps of a plugin's output by default.
const LINE_MAX: usize = 80;

/// The worst finding in one line, with how many more there are; nothing where all is in order.
pub fn line(diagnosis: &Diagnosis) -> String {
    let mut broken = diagnosis.findings.iter().filter(|finding| finding.severity > Severity::Note);
    let Some(worst) = broken.next() else { return String::new() };
    format!("{}\n", short(worst, broken.count()))
}

/// `D014 acs-iommu (certain): ACS redirects … +2`, cut to what fits.
pub(super) fn short(finding: &Finding, more: usize) -> String {
    let cause = finding.cause;
    let head = format!("{} {} ({}): ", cause.code, cause.word, finding.confidence.word());
    let tail = if more > 0 { format!(" +{more}") } else { String::new() };
    let room = LINE_MAX.saturating_sub(head.len() + tail.len());
    let mut what = finding.what.clone();
    if what.len() > room {
        let kept = what.char_indices().map(|(at, _)| at).take_while(|at| at + '…'.len_utf8() <= room).last();
        what.truncate(kept.unwrap_or(0));
        what.push('…');
    }
    format!("{head}{what}{tail}")
}

/// Samples of one machine.
pub fn prometheus(diagnosis: &Diagnosis) -> String {
    let mut text = heads();
    samples(&mut text, diagnosis, "");
    text
}

/// What each metric is, once.
pub(super) fn heads() -> String {
    let heads = [
        ("weft_doctor_healthy", "Whether nothing is broken: no finding above a note."),
        (
            "weft_doctor_finding",
            "A finding of the doctor, by cause; the value is the share of bandwidth that it costs.",
        ),
        ("weft_doctor_busbw_bytes_per_second", "Bus bandwidth that a benchmark reached at its largest size."),
        (
            "weft_doctor_expected_busbw_bytes_per_second",
            "Bus bandwidth that is expected of it on this machine.",
        ),
    ];
    let mut text = String::new();
    for (name, help) in heads {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
    }
    text
}

/// The samples of a machine; `node` is a label with a comma behind it, or nothing.
pub(super) fn samples(text: &mut String, diagnosis: &Diagnosis, node: &str) {
    let own = node.trim_end_matches(',');
    let braces = if own.is_empty() { String::new() } else { format!("{{{own}}}") };
    let _ = writeln!(text, "weft_doctor_healthy{braces} {}", u8::from(diagnosis.is_healthy()));
    let mut told: Vec<&str> = Vec::new();
    for finding in &diagnosis.findings {
        // A cause is one sample: the costliest of its findings comes first.
        if told.contains(&finding.cause.word) {
            continue;
        }
        told.push(finding.cause.word);
        let share = finding.cost.as_ref().map_or(0.0, |cost| cost.share);
        let _ = writeln!(
            text,
            "weft_doctor_finding{{{node}cause=\"{}\",code=\"{}\",severity=\"{}\",confidence=\"{}\"}} {share}",
            finding.cause.word,
            finding.cause.code,
            finding.severity.word(),
            finding.confidence.word()
        );
    }
    for (number, run) in diagnosis.reached.iter().enumerate() {
        let labels = format!(
            "{node}run=\"{number}\",collective=\"{}\",ranks=\"{}\",bytes=\"{}\"",
            run.collective.name(),
            run.ranks,
            run.bytes.get()
        );
        let _ = writeln!(text, "weft_doctor_busbw_bytes_per_second{{{labels}}} {}", run.busbw.get());
        let _ =
            writeln!(text, "weft_doctor_expected_busbw_bytes_per_second{{{labels}}} {}", run.expected.get());
    }
}

/// A value of a label.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
