//! Settings of NCCL, RCCL and what they rest on: `env`, `export` lines, `-x` of mpirun, `nccl.conf`. Other
//! variables of an environment may hold secrets: they are counted, never shown.

mod line;
mod names;
#[cfg(test)]
mod tests;
mod values;

use std::ops::Range;

use weft_base::{Diagnostic, nearest};
use weft_catalogue::Catalogue;

use crate::codes;
use crate::evidence::{Evidence, Record, Report, Value};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::ranges;

use self::line::{Assignment, assignments, is_variable, matters};
use self::names::{NUMBERS, WORDS};

/// Lines in a row from which on variables are the output of `env`.
const BLOCK_MIN: usize = 5;

/// Lines of a value that go on below its variable, as certificates do.
const VALUE_MAX: usize = 64;

/// Variables that every environment has.
const EVERYDAY: [&str; 10] =
    ["PATH=", "HOME=", "PWD=", "USER=", "SHELL=", "LANG=", "TERM=", "HOSTNAME=", "SHLVL=", "LOGNAME="];

/// The reader.
#[derive(Debug)]
pub struct NcclSettings;

impl Format for NcclSettings {
    fn name(&self) -> &'static str {
        "nccl-settings"
    }

    fn title(&self) -> &'static str {
        "settings of NCCL, RCCL, libfabric, UCX: env, export lines, nccl.conf"
    }

    fn command(&self) -> Option<&'static str> {
        Some("env | grep -E 'NCCL|RCCL|FI_|UCX_|CUDA_VISIBLE|HSA_'")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["NCCL_", "RCCL_", "FI_", "UCX_", "GLOO_", "HSA_", "_VISIBLE_DEVICES"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mine: Vec<usize> =
            (0..text.lines.len()).filter(|index| is_setting(&text.lines[*index])).collect();
        let (Some(first), Some(last)) = (mine.first(), mine.last()) else { return Vec::new() };
        let whole = is_whole_file(text.lines);
        let mut blocks = if whole { Vec::new() } else { environments(text.lines) };
        blocks.retain(|block| mine.iter().any(|index| block.contains(index)));
        let inside = |index: usize| blocks.iter().any(|block| block.contains(&index));
        let range = if whole { 0..text.lines.len() } else { span(&blocks, *first, *last) };
        let mut own = mine.iter().copied().peekable();
        let claimed = range.filter(|index| {
            let is_own = own.next_if_eq(index).is_some();
            whole || is_own || inside(*index)
        });
        vec![Claim::lines(claimed).yielding()]
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let mut report = Report { format: self.name(), ..Report::default() };
        let mut read = Read::default();
        let (mut used, mut others) = (Vec::new(), Vec::new());
        for (index, line) in part.lines.iter().enumerate() {
            let text = line.text.trim();
            let found = assignments(&line.text);
            if found.is_empty() {
                if text.starts_with('#') {
                    used.push(index);
                } else if !text.is_empty() {
                    others.push(index);
                }
                continue;
            }
            used.push(index);
            for assignment in found {
                read.diagnostics.extend(doubts(&assignment, line, part));
                let mut record = Record::new("setting", assignment.name, line.number);
                record.push("value", Value::Text(assignment.value.to_owned()), line.number);
                report.records.push(record);
            }
        }
        if report.records.is_empty() {
            return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        }
        if let Some(first) = others.first() {
            let message = format!(
                "{} lines of an environment are not about communication and were left out, unshown: they may \
                 hold secrets",
                others.len()
            );
            read.diagnostics
                .push(Diagnostic::note(codes::SETTINGS_LEFT_OUT, message).at(part.start_at(*first)));
        }
        ranges::sort(&mut read.diagnostics);
        let place = part.start_at(used.first().copied().unwrap_or(0));
        read.evidence.push(Located { value: Evidence::Report(Box::new(report)), place });
        read
    }
}

fn is_setting(line: &Line<'_>) -> bool {
    matters(&line.text) && !assignments(&line.text).is_empty()
}

/// Whether there is nothing but settings and comments, as in `nccl.conf`.
fn is_whole_file(lines: &[Line<'_>]) -> bool {
    // The first line that is something else ends the search.
    lines.iter().all(|line| {
        let text = line.text.trim();
        text.is_empty() || text.starts_with('#') && !text.starts_with("#!") || is_setting(line)
    })
}

/// From the first line of all blocks and of `first..=last` to the last.
fn span(blocks: &[Range<usize>], first: usize, last: usize) -> Range<usize> {
    let start = blocks.first().map_or(first, |block| block.start.min(first));
    let end = blocks.last().map_or(last + 1, |block| block.end.max(last + 1));
    start..end
}

/// Where `env` was printed: many variables in a row, some of them such as every environment has. Values may
/// go on over several lines.
fn environments(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut start, mut end, mut count, mut everyday) = (0, 0, 0, 0);
    let mut close = |start: usize, end: usize, count: usize, everyday: usize| {
        if count >= BLOCK_MIN && everyday >= 2 {
            found.push(start..end);
        }
    };
    for (index, line) in lines.iter().enumerate() {
        let text = line::unprefixed(&line.text);
        if is_variable(text) {
            if count > 0 && index - end > VALUE_MAX {
                close(start, end, count, everyday);
                count = 0;
            }
            if count == 0 {
                (start, everyday) = (index, 0);
            }
            count += 1;
            everyday += usize::from(EVERYDAY.iter().any(|name| text.starts_with(name)));
            end = index + 1;
        } else if count > 0 && (count < BLOCK_MIN || everyday < 2 || line.is_blank()) {
            close(start, end, count, everyday);
            count = 0;
        }
    }
    close(start, end, count, everyday);
    found
}

/// What is doubtful in a setting: a name that NCCL does not know, a value that it cannot take.
fn doubts(assignment: &Assignment<'_>, line: &Line<'_>, part: &Part<'_>) -> Option<Diagnostic> {
    let Assignment { name, value, offset } = *assignment;
    let length = |text: &str| u32::try_from(text.chars().count()).unwrap_or(0);
    if !name.starts_with("NCCL_") {
        return None;
    }
    let known = || NUMBERS.iter().chain(WORDS).copied();
    if !known().any(|known| known == name) {
        let near = nearest(name, known().filter(|known| is_near(name, known)), 1);
        let near = near.first()?;
        let message = format!("NCCL knows no variable {name}");
        let hint = format!("did you mean {near}? NCCL ignores names that it does not know");
        return Some(Diagnostic::warning(codes::SETTING_UNKNOWN, message).hint(hint).at(part.place(
            line,
            offset,
            length(name),
        )));
    }
    let wanted = values::wanted(name, value, NUMBERS.contains(&name))?;
    let message = format!("{name} cannot be `{}`", ranges::short(value));
    Some(
        Diagnostic::warning(codes::SETTING_VALUE, message).hint(format!("expected {wanted}")).at(part.place(
            line,
            offset,
            length(name),
        )),
    )
}

/// Whether `known` is `name` but for a slip: most names share their beginning, so that being alike says little.
fn is_near(name: &str, known: &str) -> bool {
    let (a, b) = (name.as_bytes(), known.as_bytes());
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (a.len().saturating_sub(start + end), b.len().saturating_sub(start + end));
    rest_a <= 3 && rest_b <= 3
}
