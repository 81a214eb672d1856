//! A matrix of measured pairs as CSV: names in the first row and the first column, the unit in the corner or in a
//! comment above.

use std::ops::Range;

use memchr::{memchr, memchr3};
use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use crate::codes;
use crate::evidence::{Evidence, Measure, PairCell, PairTable};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::measured_codes::UNIT_ASSUMED;
use crate::measured_unit::RateUnit;
use crate::prefix::body;
use crate::ranges;

/// More columns than any such matrix has.
const COLUMNS_MAX: usize = 4096;

/// The longest name of a row or a column.
const NAME_MAX: usize = 64;

/// The reader.
#[derive(Debug)]
pub struct PairCsv;

impl Format for PairCsv {
    fn name(&self) -> &'static str {
        "pair-csv"
    }

    fn title(&self) -> &'static str {
        "a matrix of measured pairs as CSV, names in the first row and column"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &[","]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut claims = Vec::new();
        let mut index = 0;
        while index < text.lines.len() {
            match matrix_at(text.lines, index) {
                Some((run, has_unit)) => {
                    index = run.end;
                    claims.push(if has_unit { Claim::yes(run) } else { Claim::maybe(run) });
                }
                None => index += 1,
            }
        }
        claims
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut read = Read::default();
        let mut used = Vec::new();
        let mut index = 0;
        while index < part.lines.len() {
            let Some((run, has_unit)) = matrix_at(&part.lines, index) else {
                index += 1;
                continue;
            };
            used.extend(run.clone());
            index = run.end;
            let place = part.start_at(run.start);
            if !has_unit {
                let message = "no unit stands in this matrix; its figures were taken as GB/s";
                let hint = "write the unit into the corner: `GB/s,node001,node002`";
                read.diagnostics.push(Diagnostic::note(UNIT_ASSUMED, message).hint(hint).at(place.clone()));
            }
            let table = matrix(part, run, &mut read.diagnostics);
            read.evidence.push(Located { value: Evidence::Pairs(Box::new(table)), place });
        }
        read.unused = ranges::unused(&part.lines, &used);
        read
    }
}

fn cells(text: &str) -> Vec<&str> {
    body(text)
        .text
        .trim_end()
        .split([',', ';'])
        .take(COLUMNS_MAX)
        .map(|cell| cell.trim().trim_matches('"'))
        .collect()
}

/// The names of a header; `None` if it is none: a corner, and names. Where the corner has no
/// unit, each name has a digit, as columns of other tables have not.
fn header(text: &str) -> Option<(&str, Vec<&str>)> {
    // Most lines of a log end here: behind their first comma stands no name.
    let at = memchr(b',', text.as_bytes()).or_else(|| memchr(b';', text.as_bytes()))?;
    if !may_be_name(&text[at + 1..]) {
        return None;
    }
    let cells = cells(text);
    let (corner, names) = cells.split_first()?;
    let has_unit = RateUnit::within(corner).is_some();
    let is_name = |name: &&str| {
        !name.is_empty()
            && name.len() <= 64
            && !name.contains(' ')
            && (has_unit || name.contains(|c: char| c.is_ascii_digit()))
    };
    if !names.iter().all(is_name) {
        return None;
    }
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == names.len()).then(|| (*corner, names.to_vec()))
}

/// Whether the first cell of `rest` is one word that is not too long.
fn may_be_name(rest: &str) -> bool {
    let rest = rest.trim_start();
    let end = memchr3(b',', b';', b' ', rest.as_bytes()).unwrap_or(rest.len());
    let behind = rest[end..].trim_start();
    let word = rest[..end].trim_end();
    (behind.is_empty() || behind.starts_with([',', ';'])) && !word.is_empty() && word.len() <= NAME_MAX
}

fn is_figure(cell: &str) -> bool {
    matches!(cell, "" | "-" | "N/A" | "n/a" | "nan" | "NaN" | "X" | "x") || cell.parse::<f64>().is_ok()
}

fn row(text: &str) -> Option<(&str, Vec<&str>)> {
    let cells = cells(text);
    let (label, figures) = cells.split_first()?;
    let has_number = figures.iter().any(|cell| cell.parse::<f64>().is_ok());
    (!label.is_empty() && figures.len() >= 2 && has_number && figures.iter().all(|cell| is_figure(cell)))
        .then(|| (*label, figures.to_vec()))
}

/// The matrix whose comment or header is the line at `start`, and whether it says its unit.
fn matrix_at(lines: &[Line<'_>], start: usize) -> Option<(Range<usize>, bool)> {
    let first = &lines.get(start)?.text;
    let comment = first.trim_start().starts_with('#');
    let has_unit = comment && RateUnit::within(first).is_some();
    if comment && !has_unit {
        return None;
    }
    let top = start + usize::from(comment);
    let (corner, names) = header(&lines.get(top)?.text)?;
    let is_row = |line: &&Line<'_>| {
        row(&line.text).is_some_and(|(label, figures)| {
            figures.len() <= names.len() && (names.contains(&label) || names.len() > 64)
        })
    };
    let rows = lines[top + 1..].iter().take(COLUMNS_MAX).take_while(is_row).count();
    (rows >= 2).then(|| (start..top + 1 + rows, has_unit || RateUnit::within(corner).is_some()))
}

fn matrix(part: &Part<'_>, run: Range<usize>, diagnostics: &mut Vec<Diagnostic>) -> PairTable {
    let lines = &part.lines[run.clone()];
    let mut unit = RateUnit::GIGABYTES;
    let mut table = PairTable { format: "pair-csv", line: lines[0].number, ..PairTable::default() };
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        if text.starts_with('#') {
            unit = RateUnit::within(text).map_or(unit, |(unit, _)| unit);
            text.trim_start_matches('#').trim().clone_into(&mut table.title);
        } else if table.columns.is_empty() {
            let Some((corner, names)) = header(text) else { continue };
            unit = RateUnit::within(corner).map_or(unit, |(unit, _)| unit);
            table.columns = names.into_iter().map(str::to_owned).collect();
            if table.title.is_empty() {
                corner.clone_into(&mut table.title);
            }
        } else if let Some((label, figures)) = row(text) {
            let row = table.rows.len();
            table.rows.push(label.to_owned());
            if figures.len() < table.columns.len() {
                let message = format!("row {label} ends before column {}", table.columns[figures.len()]);
                diagnostics
                    .push(Diagnostic::warning(codes::ROW_CUT, message).at(part.start_at(run.start + at)));
            }
            for (column, cell) in figures.iter().enumerate() {
                let rate = cell.parse().ok().and_then(|number: f64| unit.rate(number));
                // What a device has to itself is often left at 0.
                let is_empty = table.columns.get(column).is_some_and(|name| name == label)
                    && rate == Some(weft_base::Rate::ZERO);
                let measure = rate.filter(|_| !is_empty).map(Measure::Rate);
                table.cells.extend(measure.map(|measure| PairCell {
                    row,
                    column,
                    measure,
                    line: line.number,
                }));
            }
        }
    }
    if table.title.is_empty() {
        "Pairs".clone_into(&mut table.title);
    }
    table
}

#[cfg(test)]
mod tests {
    use weft_base::Rate;

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
    fn the_unit_stands_in_the_corner_or_in_a_comment() {
        for text in [
            "GB/s,n1,n2,n3\nn1,,48.5,20\nn2,48,,21\nn3,20,21,0\n",
            "# all pairs (Gb/s)\nfrom\\to,n1,n2,n3\nn1,-,388,160\nn2,384,-,168\nn3,160,168,-\n",
        ] {
            let table = table(text).unwrap();
            assert_eq!((table.rows.len(), table.cells.len()), (3, 6), "{text}");
            assert_eq!(
                table.cell(0, 1).map(|cell| cell.measure),
                Some(Measure::Rate(Rate::from_gigabytes(48.5)))
            );
            assert!(read(text).diagnostics.is_empty());
        }
    }

    #[test]
    fn names_without_digits_need_a_unit_in_the_corner() {
        let matrix = "GB/s,anna,bert,carl\nanna,,48.5,20\nbert,48,,21\ncarl,20,21,\n";
        assert_eq!(table(matrix).unwrap().columns, ["anna", "bert", "carl"]);
        assert_eq!(table(&matrix.replace("GB/s", "from")), None);
    }

    #[test]
    fn damage_and_a_missing_unit_are_said() {
        let codes =
            |text: &str| read(text).diagnostics.iter().map(|finding| finding.code.name).collect::<Vec<_>>();
        assert_eq!(codes(",n1,n2\nn1,,48.5\nn2,48,\n"), ["unit-assumed"]);
        assert_eq!(codes("GB/s,n1,n2,n3\nn1,0,48.5,20\nn2,48,0\n"), ["row-cut"]);
    }

    #[test]
    fn other_csv_is_left_alone() {
        for text in ["name,a1,a2\nx,1,2\ny,3,4\n", "n1,n2,n3\n", "a,b,c\n1,2,3\n"] {
            assert_eq!(table(text), None, "{text}");
        }
    }
}
