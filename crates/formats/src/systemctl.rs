//! `systemctl status UNIT`: whether a service runs, since when, how it ended, and its last lines of log.

use crate::block::{Block, BlockFormat, Own, Step, field_name, is_prefix, pair};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const SYSTEMCTL_STATUS: BlockFormat = BlockFormat {
    name: "systemctl-status",
    title: "whether a service runs: systemctl status",
    command: Some("systemctl status nvidia-fabricmanager"),
    marks: &[".service - ", ".service", "could not be found"],
    starts,
    step,
    records,
};

/// What stands before a unit's name, by its state.
const BULLETS: [char; 6] = ['●', '○', '×', '*', '↻', '◌'];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Unit and description of `● nvidia-fabricmanager.service - NVIDIA fabric manager service`.
fn unit(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix(BULLETS)?.trim_start();
    let (name, description) = rest.split_once(" - ").unwrap_or((rest.trim_end(), ""));
    (name.ends_with(".service") && !name.contains(' ')).then(|| (name, description.trim()))
}

/// The unit of `Unit nvidia-fabricmanager.service could not be found.`.
fn missing(text: &str) -> Option<&str> {
    let (name, _) = text.trim().strip_prefix("Unit ")?.split_once(" could not be found")?;
    Some(name)
}

/// `Mar 12 10:00:00 host unit[123]: …`.
fn is_log(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let month = words.next().is_some_and(|word| MONTHS.contains(&word));
    let day =
        words.next().is_some_and(|word| word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit()));
    month && day && words.next().is_some_and(|time| time.matches(':').count() == 2)
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    if !text.contains(".service") {
        return None;
    }
    let offset =
        text.find(BULLETS).or_else(|| text.find("Unit ")).filter(|offset| is_prefix(&text[..*offset]))?;
    let own = &text[offset..];
    if missing(own).is_some() {
        return Some(offset);
    }
    unit(own)?;
    let below = lines.get(index + 1).map_or("", |line| &line.text);
    below.contains("Loaded:").then_some(offset)
}

fn step(text: &str, last: &str) -> Step {
    if missing(last).is_some() || unit(text).is_some() {
        return Step::End;
    }
    if text.trim().is_empty() {
        return Step::Perhaps;
    }
    if text.starts_with([' ', '\t']) || is_log(text) { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let Some(first) =
        block.lines.iter().find(|line| unit(line.text).is_some() || missing(line.text).is_some())
    else {
        return Vec::new();
    };
    first.using();
    if let Some(name) = missing(first.text) {
        let mut record = Record::new("service", name, first.number);
        record.push("active", Value::Text("not found".to_owned()), first.number);
        return vec![record];
    }
    let (name, description) = unit(first.text).unwrap_or_default();
    let mut record = Record::new("service", name, first.number);
    if !description.is_empty() {
        record.push("description", Value::Text(description.to_owned()), first.number);
    }
    let mut in_group = false;
    for line in &block.lines {
        let text = line.text.trim();
        if is_log(line.text) {
            line.using();
            record.push("log", Value::Text(text.to_owned()), line.number);
        } else if text.starts_with(['├', '└', '│', '|', '`']) || (in_group && !text.contains(": ")) {
            // Processes of the service.
            line.using();
        } else if let Some((key, said)) = pair(text).filter(|_| unit(line.text).is_none()) {
            line.using();
            in_group = key == "CGroup" || key == "Drop-In";
            statement(&mut record, key, said, line);
        }
    }
    vec![record]
}

fn statement(record: &mut Record, key: &str, said: &str, line: &Own<'_>) {
    let mut push = |name: &str, text: &str| record.push(name, Value::Text(text.to_owned()), line.number);
    if key != "Active" {
        push(&field_name(key), said);
        if let Some((_, status)) =
            said.split_once("status=").filter(|_| key.ends_with("PID") || key == "Process")
        {
            push("exit-status", status.trim_end_matches([')', ' ']));
        }
        return;
    }
    // `active (running) since Tue 2024-03-12 10:00:00 UTC; 3 days ago`, `failed (Result: exit-code) since …`.
    let (state, since) = said.split_once(" since ").unwrap_or((said, ""));
    let (state, how) = state.split_once(" (").unwrap_or((state, ""));
    push("active", state.trim());
    for (name, text) in [
        ("sub-state", how.trim_end_matches(')').trim_start_matches("Result: ")),
        ("since", since.split(';').next().unwrap_or_default()),
    ] {
        if !text.is_empty() {
            push(name, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evidence, Source};

    fn record(text: &str) -> (Record, usize) {
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        (report.records[0].clone(), reading.diagnostics.len())
    }

    #[test]
    fn a_failed_service_says_since_when_and_why() {
        let text = "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n\
                    \x20    Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled; vendor preset: enabled)\n\
                    \x20    Active: failed (Result: exit-code) since Tue 2024-03-12 10:00:00 UTC; 3min ago\n\
                    \x20   Process: 2211 ExecStart=/usr/bin/nv-fabricmanager (code=exited, status=1/FAILURE)\n\n\
                    Mar 12 10:00:00 node-1 nv-fabricmanager[2211]: request to query NVSwitch device information failed\n\nwhy?\n";
        let (found, left) = record(text);
        assert_eq!((found.text("active"), found.text("sub-state")), (Some("failed"), Some("exit-code")));
        assert_eq!(found.text("since"), Some("Tue 2024-03-12 10:00:00 UTC"));
        assert_eq!(found.text("exit-status"), Some("1/FAILURE"));
        assert!(found.text("log").is_some_and(|log| log.ends_with("information failed")));
        assert_eq!(left, 1);
    }

    #[test]
    fn a_service_that_is_not_there_is_said() {
        let (found, _) = record("Unit nvidia-fabricmanager.service could not be found.\n");
        assert_eq!(
            (found.subject.as_str(), found.text("active")),
            ("nvidia-fabricmanager.service", Some("not found"))
        );
    }
}
