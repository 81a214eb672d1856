//! Lists of measured pairs, one a line, as scripts print them that test all pairs of nodes:
//! `node001,node002 48.8`, `node001 <-> node002: 48.8 GB/s`, `pair_1_2_GBps: 25`.

use std::collections::BTreeMap;
use std::ops::Range;

use weft_base::{Diagnostic, Rate};
use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Measure, PairCell, PairTable};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::measured_codes as codes;
use crate::measured_unit::RateUnit;
use crate::ranges;

/// The longest line of such a list.
const LENGTH_MAX: usize = 160;

/// Lines that are enough to be a list.
const LINES_MIN: usize = 2;

/// The reader.
#[derive(Debug)]
pub struct PairList;

impl Format for PairList {
    fn name(&self) -> &'static str {
        "pair-list"
    }

    fn title(&self) -> &'static str {
        "measured pairs of nodes or GPUs, one a line"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &[",", "->", "pair_"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut claims = Vec::new();
        let mut index = 0;
        while index < text.lines.len() {
            let Some(first) = Pair::of(&text.lines[index].text) else {
                index += 1;
                continue;
            };
            let run = run_at(text.lines, index);
            let count = text.lines[run.clone()].iter().filter(|line| Pair::of(&line.text).is_some()).count();
            index = run.end;
            if count >= LINES_MIN {
                let claim = if first.unit.is_some() { Claim::yes(run) } else { Claim::maybe(run) };
                claims.push(claim.yielding());
            }
        }
        claims
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut read = Read::default();
        let mut used = Vec::new();
        let mut table =
            PairTable { format: "pair-list", title: "Pairs".to_owned(), line: 1, ..PairTable::default() };
        let mut indices: BTreeMap<String, usize> = BTreeMap::new();
        let (mut first, mut has_unit) = (None, true);
        for (index, line) in part.lines.iter().enumerate() {
            let Some(pair) = Pair::of(&line.text) else { continue };
            used.push(index);
            first.get_or_insert(index);
            has_unit &= pair.unit.is_some();
            let Some(rate) = pair.rate() else { continue };
            let mut at = |name: &str| {
                let count = indices.len();
                *indices.entry(name.to_owned()).or_insert(count)
            };
            let (row, column) = (at(pair.from), at(pair.to));
            table.cells.push(PairCell { row, column, measure: Measure::Rate(rate), line: line.number });
        }
        table.rows = vec![String::new(); indices.len()];
        for (name, index) in indices {
            table.rows[index] = name;
        }
        table.columns.clone_from(&table.rows);
        // Pairs may be listed in any order; cells are found by place.
        table.cells.sort_by_key(|cell| (cell.row, cell.column));
        read.unused = ranges::unused(&part.lines, &used);
        if let Some(first) = first.filter(|_| !table.cells.is_empty()) {
            table.line = part.lines[first].number;
            let place = part.start_at(first);
            if !has_unit {
                let message = "no unit stands at the figures of these pairs; they were taken as GB/s";
                let hint = "write the unit behind them: `node001,node002 48.8 GB/s`";
                read.diagnostics
                    .push(Diagnostic::note(codes::UNIT_ASSUMED, message).hint(hint).at(place.clone()));
            }
            read.evidence.push(Located { value: Evidence::Pairs(Box::new(table)), place });
        }
        read
    }
}

/// The lines of a list from `start` on; remarks and blank lines do not end it, but are not its end either.
fn run_at(lines: &[Line<'_>], start: usize) -> Range<usize> {
    let mut end = start + 1;
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        if Pair::of(&line.text).is_some() {
            end = index + 1;
        } else if !(line.is_blank() || line.text.trim_start().starts_with('#')) {
            break;
        }
    }
    start..end
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pair<'a> {
    from: &'a str,
    to: &'a str,
    number: f64,
    unit: Option<RateUnit>,
}

impl<'a> Pair<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let text = text.trim_start();
        // Most lines of a log end here: behind their first word stands no separator.
        let length = text.bytes().take(LENGTH_MAX).take_while(|byte| is_name_byte(*byte)).count();
        let (from, rest) = text.split_at(length);
        // The dash of an arrow that touches the name.
        let (from, rest) = match from.strip_suffix('-').filter(|_| rest.starts_with('>')) {
            Some(name) => (name, &text[name.len()..]),
            None => (from, rest.trim_start()),
        };
        if let Some(rest) = text.strip_prefix("pair_") {
            return Self::of_key(rest.trim_end());
        }
        let separator = ["<->", "->", ","].into_iter().find(|separator| rest.starts_with(separator))?;
        if text.len() > LENGTH_MAX {
            return None;
        }
        let rest = &rest[separator.len()..];
        let rest = rest.split_once(" #").map_or(rest, |(rest, _)| rest).trim_end();
        let rest = rest.trim_start();
        let end = rest.find([' ', '\t', ',', ':', '='])?;
        let (to, figure) = rest.split_at(end);
        let figure = figure.trim_start_matches([' ', '\t', ',', ':', '=']);
        let end = figure.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(figure.len());
        let (number, behind) = figure.split_at(end);
        let unit = match behind.trim() {
            "" => None,
            behind => Some(RateUnit::within(behind).filter(|(_, spelled)| *spelled == behind)?.0),
        };
        // Without a unit only a fraction is a rate; a whole number may count anything.
        let is_figure = unit.is_some() || number.contains('.');
        let names = is_name(from) && is_name(to) && from != to;
        (names && is_figure).then_some(())?;
        Some(Self { from, to, number: number.parse().ok()?, unit })
    }

    /// `1_2_GBps: 25`.
    fn of_key(text: &'a str) -> Option<Self> {
        let (key, number) = text.split_once(':')?;
        let mut words = key.split('_');
        let (from, to, unit) = (words.next()?, words.next()?, words.next()?);
        let (unit, _) = RateUnit::within(unit).filter(|(_, spelled)| *spelled == unit)?;
        let is_plain = words.next().is_none() && !from.is_empty() && !to.is_empty() && from != to;
        Some(Self { from, to, number: number.trim().parse().ok()?, unit: Some(unit) }).filter(|_| is_plain)
    }

    fn rate(self) -> Option<Rate> {
        self.unit.unwrap_or(RateUnit::GIGABYTES).rate(self.number)
    }
}

/// `node001`, `gpu-a12:3`: a name of a machine or a device has a letter and a digit, and no blank.
fn is_name(text: &str) -> bool {
    let has = |of: fn(&u8) -> bool| text.bytes().any(|byte| of(&byte));
    has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit) && text.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;

    fn read(text: &str) -> crate::Reading {
        crate::read(&Source::file("t", text), Catalogue::embedded(), None)
    }

    fn table(text: &str) -> Option<PairTable> {
        let evidence = read(text).evidence.into_iter().next()?.value;
        if let Evidence::Pairs(table) = evidence { Some(*table) } else { None }
    }

    #[test]
    fn pairs_are_read_in_the_shapes_of_scripts() {
        for text in [
            "n1,n2   49.36\nn3,n1  88.5  # crossing racks\n",
            "n1 <-> n2: 49.36 GB/s\n\nn3 <-> n1: 88.5 GB/s\n",
            "n1,n2,394.88 Gbps\nn3,n1,708 Gbps\n",
        ] {
            let table = table(text).unwrap();
            assert_eq!(table.rows, ["n1", "n2", "n3"], "{text}");
            assert_eq!(
                table.cell(0, 1).map(|cell| cell.measure),
                Some(Measure::Rate(Rate::from_gigabytes(49.36)))
            );
            assert_eq!(
                table.cell(2, 0).map(|cell| cell.measure),
                Some(Measure::Rate(Rate::from_gigabytes(88.5)))
            );
        }
        let table = table("pair_1_2_GBps: 25\npair_1_3_GBps: 39\n").unwrap();
        assert_eq!((table.rows.len(), table.cells.len()), (3, 2));
    }

    #[test]
    fn a_unit_that_is_not_there_is_said() {
        let found = read("n1,n2 49.36\nn3,n1 88.5\n").diagnostics;
        assert_eq!(found.iter().map(|finding| finding.code.name).collect::<Vec<_>>(), ["unit-assumed"]);
        assert!(read("n1,n2 49.36 GB/s\nn3,n1 88.5 GB/s\n").diagnostics.is_empty());
    }

    #[test]
    fn other_lists_are_left_alone() {
        for text in [
            "a,b 1.5\nc,d 2.5\n",
            "n1,n2 49\nn3,n1 88\n",
            "well, it is 1.5\nand, so on 2.5\n",
            "n1,n2 49.36\n",
        ] {
            assert_eq!(table(text), None, "{text}");
        }
    }
}
