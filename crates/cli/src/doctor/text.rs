//! Findings as text.

use std::fmt::Write as _;

use weft_base::Severity;
use weft_doctor::{Diagnosis, Finding};

use crate::style::{Tone, faint, heading, paint};

/// Characters of a line.
const WIDTH: usize = 110;
/// Where the text of a part begins.
const INDENT: usize = 13;

/// All findings, the costliest first; what is in order where nothing is wrong.
pub fn text(diagnosis: &Diagnosis) -> String {
    let folder = folder(diagnosis);
    let mut text = format!("{}\n", heading(summary(diagnosis)));
    if !folder.is_empty() {
        let _ = writeln!(text, "{}", faint(format!("files are in {folder}")));
    }
    for finding in &diagnosis.findings {
        text.push('\n');
        one(&mut text, finding, &folder);
    }
    if !diagnosis.in_order.is_empty() {
        text.push('\n');
        let short = |line: &String| if folder.is_empty() { line.clone() } else { line.replace(&folder, "") };
        let lines: Vec<String> = diagnosis.in_order.iter().map(short).collect();
        part(&mut text, "in order", lines.iter().map(String::as_str));
    }
    text
}

/// The folder that all files of the findings are in, with a slash behind it; empty where there is none.
fn folder(diagnosis: &Diagnosis) -> String {
    let evidence = diagnosis.findings.iter().flat_map(|finding| &finding.evidence);
    let mut files = evidence.filter_map(|evidence| Some(evidence.place.as_ref()?.file.as_str()));
    let of = |file: &str| file.rfind('/').map_or(String::new(), |slash| file[..=slash].to_owned());
    let Some(mut common) = files.next().map(of) else { return String::new() };
    for file in files {
        while !file.starts_with(&common) {
            common.pop();
            common.truncate(common.rfind('/').map_or(0, |slash| slash + 1));
        }
    }
    common
}

fn summary(diagnosis: &Diagnosis) -> String {
    let above = diagnosis.findings.iter().filter(|finding| finding.severity > Severity::Note).count();
    let notes = diagnosis.findings.len() - above;
    let certain = diagnosis.certain_count();
    match (above, notes) {
        (0, 0) if diagnosis.in_order.is_empty() => "nothing wrong in what was given".to_owned(),
        (0, 0) => "all in order".to_owned(),
        (0, 1) => "nothing wrong; 1 thing to know".to_owned(),
        (0, notes) => format!("nothing wrong; {notes} things to know"),
        (1, _) => format!("1 finding, {}", if certain == 1 { "certain" } else { "not certain" }),
        (count, _) => format!("{count} findings, {certain} certain"),
    }
}

fn one(text: &mut String, finding: &Finding, folder: &str) {
    let tone = match finding.severity {
        Severity::Error => Tone::Slow,
        Severity::Warning => Tone::Heading,
        Severity::Note => Tone::Faint,
    };
    let mark = format!("{}[{}]", finding.severity.word(), finding.cause.code);
    let width = INDENT.max(mark.chars().count() + 2);
    let lines = wrapped(&finding.what, WIDTH - INDENT - 10);
    for (number, line) in lines.iter().enumerate() {
        let lead = if number == 0 { paint(&mark, tone) } else { String::new() };
        let gap = " ".repeat(width - if number == 0 { mark.chars().count() } else { 0 });
        let tail = if number == 0 { format!("    {}", finding.confidence.word()) } else { String::new() };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{lead}{gap}{}{}", heading(line), faint(tail));
    }
    let evidence: Vec<String> = finding
        .evidence
        .iter()
        .map(|evidence| match &evidence.place {
            Some(place) => {
                let file = place.file.strip_prefix(folder).unwrap_or(&place.file);
                format!("{file}:{}  {}", place.line, evidence.says)
            }
            None => evidence.says.clone(),
        })
        .collect();
    part(text, "evidence", evidence.iter().map(String::as_str));
    if let (Some(expected), Some(measured)) = (&finding.expected, &finding.measured) {
        let line = format!("{} where {} is expected: {}", measured.value, expected.value, measured.of);
        // Where a line of the input says it, it stands among the evidence.
        let is_told = finding.evidence.iter().any(|evidence| evidence.says.contains(&measured.value));
        part(text, "measured", Some(line.as_str()).filter(|_| !is_told));
    }
    part(text, "cost", finding.cost.iter().map(|cost| cost.text.as_str()));
    part(text, "fix", [finding.fix.as_str()]);
    part(text, "check", finding.check.as_deref());
    if finding.confidence != weft_doctor::Confidence::Certain {
        part(text, "to be sure", finding.settle.as_deref());
    }
    part(text, "more", [format!("weft explain {}", finding.cause.code).as_str()]);
}

/// A part of a finding: its name once, then its lines; a text may have several, as commands have.
fn part<'a>(text: &mut String, name: &str, lines: impl IntoIterator<Item = &'a str>) {
    let mut name = Some(name);
    for line in lines.into_iter().flat_map(str::lines).filter(|line| !line.is_empty()) {
        for (number, piece) in wrapped(line, WIDTH - INDENT).iter().enumerate() {
            let lead = name.take().unwrap_or_default();
            let hang = if number == 0 { "" } else { "  " };
            let gap = " ".repeat(INDENT - 2 - lead.chars().count());
            let lead = if lead.is_empty() { String::new() } else { faint(lead) };
            let _ = writeln!(text, "  {lead}{gap}{hang}{piece}");
        }
    }
}

/// Words in lines of at most `width` characters; a longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use weft_base::Place;
    use weft_doctor::{Confidence, Finding, cause_named};

    use super::*;

    fn found(files: &[&str]) -> Diagnosis {
        let cause = cause_named("acs-iommu").unwrap();
        let mut finding = Finding::new(cause, Confidence::Likely, "it is on").fix("one\ntwo");
        for file in files {
            finding = finding.at(Place::new(*file, 3, 1, 0), "a line");
        }
        Diagnosis { findings: vec![finding], ..Diagnosis::default() }
    }

    #[test]
    fn a_folder_that_all_files_share_is_said_once() {
        let text = text(&found(&["case/node1/a.txt", "case/node2/b.txt"]));
        assert!(text.contains("files are in case/") && text.contains("node2/b.txt:3  a line"), "{text}");
        assert_eq!(folder(&found(&["a.txt", "case/b.txt"])), "");
        assert_eq!(folder(&found(&["cases/a.txt", "case/b.txt"])), "");
        assert_eq!(folder(&found(&["x/cases/a.txt", "x/case/b.txt"])), "x/");
    }

    #[test]
    fn commands_have_a_line_each() {
        let text = text(&found(&["a.txt"]));
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.contains("fix")).collect();
        assert!(lines[0].ends_with(" one") && lines[1] == "             two", "{text}");
    }
}
