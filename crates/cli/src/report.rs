//! Findings as text for standard error: each with its line of the input, its place and what to do.

use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use weft_base::{Diagnostic, Severity};
use weft_formats::{FORMATS, Source};

use crate::exit::Failure;
use crate::style;

/// Findings of one run that are shown in full; the rest is counted.
const SHOWN_MAX: usize = 20;
/// Lines that are named where the same was found again and again.
const ALIKE_MAX: usize = 8;

/// The findings, worst first, each in the order of the input.
pub fn findings(diagnostics: &[Diagnostic], sources: &[Source]) -> String {
    let mut groups: Vec<Vec<&Diagnostic>> = Vec::new();
    for finding in diagnostics {
        let alike = |group: &&mut Vec<&Diagnostic>| {
            group[0].message == finding.message
                && group[0].code == finding.code
                && group[0].place.as_ref().map(|place| &place.file)
                    == finding.place.as_ref().map(|place| &place.file)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group[0].severity));
    let mut text = String::new();
    for group in groups.iter().take(SHOWN_MAX) {
        text.push_str(&one(group, sources));
    }
    if let Some(rest) = groups.len().checked_sub(SHOWN_MAX).filter(|rest| *rest > 0) {
        let _ = writeln!(text, "… and {rest} more; `--format json` prints all of them");
    }
    text
}

/// A failure: what failed, why, and for unreadable input what would have been readable.
pub fn failure(failure: &Failure) -> String {
    let mut text = format!("weft: failed to {}\n", failure.what);
    text.push_str(&findings(&failure.diagnostics, &failure.sources));
    if failure.worth_pasting {
        text.push_str(&worth_pasting());
    }
    text
}

/// The commands whose output can be read, and what else a source may be.
pub fn worth_pasting() -> String {
    let mut text = String::from("\nWorth pasting:\n");
    for command in
        FORMATS.iter().filter(|format| format.is_first_choice()).filter_map(|format| format.command())
    {
        let _ = writeln!(text, "  {command}");
    }
    text.push_str(
        "and the output of many more commands: `weft show --list formats`; `weft gather` packs them into one file\n",
    );
    text.push_str(
        "Or describe the machine: `weft show '8 h100-sxm5-80gb @ nvswitch3(4)'`, `weft show dgx-a100`\n",
    );
    text
}

/// Findings that say the same, shown with the place of the first.
fn one(alike: &[&Diagnostic], sources: &[Source]) -> String {
    let Some(finding) = alike.first().copied() else { return String::new() };
    let level = match finding.severity {
        Severity::Note => return note(finding),
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    };
    let mut group = Group::with_title(level.primary_title(finding.message.as_str()).id(finding.code.name));
    let excerpt = excerpt(finding, sources);
    let also = alike_text(&alike[1..]);
    if let Some(Excerpt { line: Some(line), path, number, span }) = &excerpt {
        let snippet = Snippet::source(line.as_str()).line_start(*number).path(path.as_str());
        group = group.element(snippet.annotation(AnnotationKind::Primary.span(span.clone())));
        group = group.elements(also.iter().map(|also| Level::NOTE.message(also.as_str())));
        group = group.elements(finding.hint.iter().map(|hint| Level::HELP.message(hint.as_str())));
    }
    let mut text = Renderer::styled().render(&[group]);
    text.push('\n');
    if excerpt.as_ref().is_none_or(|excerpt| excerpt.line.is_none()) {
        // Without an excerpt the renderer would still leave a margin for one.
        text.extend(excerpt.map(|excerpt| format!("  in {}\n", excerpt.path)));
        text.extend(finding.hint.iter().map(|hint| format!("  = {}: {hint}\n", style::heading("help"))));
    }
    text
}

/// "the same in lines 3, 4 and 5 more": where else something was found.
fn alike_text(others: &[&Diagnostic]) -> Option<String> {
    let lines: Vec<String> =
        others.iter().filter_map(|other| other.place.as_ref()).map(|place| place.line.to_string()).collect();
    let shown = lines.iter().take(ALIKE_MAX).cloned().collect::<Vec<_>>().join(", ");
    match lines.len() {
        0 => None,
        1 => Some(format!("the same in line {shown}")),
        count if count > ALIKE_MAX => {
            Some(format!("the same in lines {shown} and {} more places", count - ALIKE_MAX))
        }
        _ => Some(format!("the same in lines {shown}")),
    }
}

/// A note is one line: it asks for nothing.
fn note(finding: &Diagnostic) -> String {
    let place = finding.place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
    let hint = finding.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
    let title = style::heading(format_args!("note[{}]", finding.code.name));
    format!("{title}: {}{hint}{}\n", finding.message, style::faint(place))
}

struct Excerpt {
    /// The line itself; absent where it is empty or no text.
    line: Option<String>,
    path: String,
    number: usize,
    span: std::ops::Range<usize>,
}

/// The line that a finding is about, and what of it.
fn excerpt(finding: &Diagnostic, sources: &[Source]) -> Option<Excerpt> {
    let place = finding.place.as_ref()?;
    let source = sources.iter().find(|source| source.name == place.file)?;
    let number = usize::try_from(place.line).ok()?.max(1);
    let line = source.text.split('\n').nth(number - 1)?.trim_end_matches('\r').to_owned();
    let offset = |characters: usize| line.char_indices().nth(characters).map_or(line.len(), |(at, _)| at);
    let first = usize::try_from(place.column).ok()?.saturating_sub(1);
    let length = usize::try_from(place.length).ok()?.max(1);
    let span = offset(first)..offset(first + length);
    let path = match source.origin {
        weft_formats::Origin::Text if source.name == "-" => "standard input".to_owned(),
        weft_formats::Origin::Text => source.name.clone(),
        weft_formats::Origin::Argument => "command line".to_owned(),
    };
    let readable = |line: &String| {
        !line.is_empty() && !line.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\u{1b}'))
    };
    let line = Some(line).filter(readable);
    Some(Excerpt { line, path, number, span })
}
