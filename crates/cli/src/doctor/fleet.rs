//! Several machines: each in a line, and in what one differs from the others.

use std::fmt::Write as _;

use weft_base::Severity;
use weft_doctor::Fleet;
use weft_predictor::compare::{Difference, Said};

use super::health::{escaped, heads, samples, short};
use super::text::text;
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Differences that are shown in full.
const SHOWN_MAX: usize = 20;
/// Devices that are named of each.
const SUBJECTS_MAX: usize = 3;

/// The machines, the findings of each that has any, and the differences.
pub fn fleet_text(fleet: &Fleet) -> String {
    let ill = fleet.members.iter().filter(|member| !member.diagnosis.is_healthy());
    let mut out = format!(
        "{}\n\n",
        heading(format!("{} machines, {} with findings", fleet.members.len(), ill.clone().count()))
    );
    let mut table = Table::default();
    for member in &fleet.members {
        let mut broken = member.diagnosis.findings.iter().filter(|finding| finding.severity > Severity::Note);
        let (says, tone) = match broken.next() {
            Some(worst) => (short(worst, broken.count()), Tone::Slow),
            None => ("nothing wrong".to_owned(), Tone::Plain),
        };
        table.row([Cell::new(&member.name).tone(Tone::Heading), Cell::new(says).tone(tone)]);
    }
    out.push_str(&table.lines());
    differences(&mut out, fleet);
    for member in ill {
        // Writing to a string cannot fail, here and below.
        let _ = write!(out, "\n{}\n{}", heading(format!("== {} ==", member.name)), text(&member.diagnosis));
    }
    out
}

fn differences(out: &mut String, fleet: &Fleet) {
    let weighty: Vec<&Difference> = fleet.weighty().collect();
    if fleet.differences.is_empty() {
        out.push_str("\nno machine differs from the others\n");
        return;
    }
    if !weighty.is_empty() {
        let _ = writeln!(out, "\n{}", heading("otherwise than most"));
    }
    let mut table = Table::default();
    let said = |said: &Option<Said>| said.as_ref().map_or("nothing".to_owned(), |said| said.text.clone());
    for difference in weighty.iter().take(SHOWN_MAX) {
        let subjects = match difference.subjects.len() {
            0 => String::new(),
            count if count > SUBJECTS_MAX => {
                format!(
                    " of {} and {} more",
                    difference.subjects[..SUBJECTS_MAX].join(", "),
                    count - SUBJECTS_MAX
                )
            }
            _ => format!(": {}", difference.subjects.join(", ")),
        };
        let name = fleet.members.get(difference.machine).map_or("", |member| member.name.as_str());
        let place = difference.odd.as_ref().and_then(|said| said.place.as_ref());
        let place = place.map_or_else(String::new, |place| format!("{}:{}", place.file, place.line));
        table.row([
            Cell::new(name).tone(Tone::Heading),
            Cell::new(format!("{}{subjects}", difference.what)),
            Cell::new(said(&difference.odd)).tone(Tone::Slow),
            Cell::new(format!("{} have {}", difference.usual_count, said(&difference.usual))),
            Cell::new(place).tone(Tone::Faint),
        ]);
    }
    out.push_str(&table.lines());
    let rest = fleet.differences.len() - weighty.len().min(SHOWN_MAX);
    if rest > 0 {
        let line = format!("{rest} more differences, of which fewer cost; `--format json` has all of them");
        let _ = writeln!(out, "{}", faint(line));
    }
}

/// A line for each machine with a finding.
pub fn fleet_lines(fleet: &Fleet) -> String {
    let mut text = String::new();
    for member in &fleet.members {
        let line = super::line(&member.diagnosis);
        if !line.is_empty() {
            let _ = write!(text, "{}: {line}", member.name);
        }
    }
    text
}

/// Samples of all machines, each with its name.
pub fn fleet_prometheus(fleet: &Fleet) -> String {
    let mut text = heads();
    for member in &fleet.members {
        samples(&mut text, &member.diagnosis, &format!("node=\"{}\",", escaped(&member.name)));
    }
    text
}
