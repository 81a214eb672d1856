//! Machines in one line, and names of systems: `8 h100-sxm5-80gb @ nvswitch3(4)`, `dgx-a100`.

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Catalogue, Machine};
use weft_topology::oneliner;

use crate::codes;
use crate::evidence::Evidence;
use crate::format::{Claim, Fit, Format, Line, Located, Origin, Part, Read, Text};

/// The reader.
#[derive(Debug)]
pub struct OneLiner;

impl Format for OneLiner {
    fn name(&self) -> &'static str {
        "one-liner"
    }

    fn title(&self) -> &'static str {
        "a machine in one line, or the name of a system"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &[]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut written = text.lines.iter().enumerate().filter(|(_, line)| !line.is_blank());
        let (Some((index, line)), None) = (written.next(), written.next()) else { return Vec::new() };
        let fit = match text.origin {
            Origin::Argument => Fit::Yes,
            Origin::Text if could_be(line) => Fit::Maybe,
            Origin::Text => return Vec::new(),
        };
        vec![Claim { fit, ..Claim::yes(index..index + 1) }]
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        let Some(line) = part.lines.iter().find(|line| !line.is_blank()) else { return Read::default() };
        let text = line.text.trim();
        match oneliner::parse(text, catalogue) {
            Ok(machine) => {
                let place = part.place(line, line.indent(), 0);
                let diagnostics: Vec<Diagnostic> =
                    hosts_of_one(&machine).map(|finding| finding.at(place.clone())).into_iter().collect();
                let evidence = Evidence::Machine(Box::new(machine));
                Read { evidence: vec![Located { value: evidence, place }], diagnostics, ..Read::default() }
            }
            Err(mut finding) => {
                // The parser counts columns of the line that it was given.
                let place = finding.place.take().map(|place| {
                    let before =
                        text.chars().take(place.column.saturating_sub(1) as usize).map(char::len_utf8);
                    let offset = line.indent() + before.sum::<usize>();
                    Place { length: place.length, ..part.place(line, offset, 0) }
                });
                finding.place = Some(place.unwrap_or_else(|| part.place(line, line.indent(), 0)));
                Read { diagnostics: vec![finding], ..Read::default() }
            }
        }
    }
}

/// `8 x t4` is often meant to be eight cards in one server.
fn hosts_of_one(machine: &Machine) -> Option<Diagnostic> {
    let [group] = machine.gpus.as_slice() else { return None };
    let hosts = machine.host.count;
    let alone = group.count == 1 && hosts > 1 && machine.nics.is_empty() && machine.network.is_none();
    let model = group.model.as_deref().filter(|_| alone)?;
    let message = format!("`{hosts} x` means {hosts} hosts, each with one {model}");
    let hint = format!("for one server with {hosts} of them write `{hosts} {model}`");
    Some(Diagnostic::note(codes::HOSTS_OF_ONE, message).hint(hint))
}

/// A line of a file is taken for a one-liner only if it looks like one: a count and a name, or one name.
fn could_be(line: &Line<'_>) -> bool {
    let mut words = line.text.split_whitespace();
    let Some(first) = words.next() else { return false };
    let named = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let counted = first.bytes().all(|byte| byte.is_ascii_digit());
    match words.next() {
        Some(second) => counted && (second == "x" || named(second)),
        None => named(first) && first.len() <= 40,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;
    use crate::text;

    fn claims(text_of: &str) -> usize {
        let source = Source::file("-", text_of);
        let lines = text::lines(&source);
        OneLiner.find(&Text { origin: Origin::Text, lines: &lines }).len()
    }

    #[test]
    fn one_written_line_that_looks_like_one_is_claimed() {
        for text in ["2 rtx-3090 @ pcie4x8 + nvlink-bridge\n", "\n  dgx-a100\n", "32 x 8 h100"] {
            assert_eq!(claims(text), 1, "{text}");
        }
        for text in ["", "two lines\nhere", "hello world", "8: no", "GPU0 X"] {
            assert_eq!(claims(text), 0, "{text}");
        }
    }
}
