//! Whatever matrix is printed, in whatever shape, is read back; whatever is done to a text, reading it
//! does not panic and loses no line in silence.

use proptest::prelude::*;
use weft_catalogue::Catalogue;
use weft_formats::{EndKind, Evidence, Matrix, Overrides, Source, join, read};
use weft_testkit::print::{DIALECTS, Dialect, Table, print};
use weft_topology::ReportedClass;

/// More are run by setting `PROPTEST_CASES`.
const CASES: u32 = 128;

fn class(gpus: bool) -> impl Strategy<Value = ReportedClass> {
    use ReportedClass::{Node, Nv, Phb, Pix, Pxb, Sys};
    let far = prop_oneof![Just(Pix), Just(Pxb), Just(Phb), Just(Node), Just(Sys)];
    let near = (1u8..=18).prop_map(Nv);
    if gpus { prop_oneof![near, far].boxed() } else { far.boxed() }
}

/// Up to 9 GPUs and 5 NICs under one of three ways of naming NICs; symmetric, as hardware is.
fn table() -> impl Strategy<Value = Table> {
    (1usize..=9, 0usize..=5, 0usize..3).prop_flat_map(|(gpus, nics, naming)| {
        let count = gpus + nics;
        let prefix = ["NIC", "mlx5_", "rocep1s"][naming];
        let labels: Vec<String> = (0..gpus)
            .map(|number| format!("GPU{number}"))
            .chain((0..nics).map(|number| format!("{prefix}{number}")))
            .collect();
        let cells: Vec<_> =
            (0..count * count).map(|cell| class(cell / count < gpus && cell % count < gpus)).collect();
        (cells, 1u32..3).prop_map(move |(cells, sockets)| Table {
            labels: labels.clone(),
            classes: (0..count)
                .map(|row| {
                    (0..count).map(|column| cells[row.min(column) * count + row.max(column)]).collect()
                })
                .collect(),
            affinity: (0..count)
                .map(|row| {
                    let socket = u32::try_from(row).unwrap_or(0) % sockets;
                    let cpus =
                        format!("{}-{},{}-{}", socket * 8, socket * 8 + 7, socket * 8 + 64, socket * 8 + 71);
                    if row < gpus { (cpus, socket.to_string()) } else { (String::new(), String::new()) }
                })
                .collect(),
        })
    })
}

fn only_matrix(text: &str) -> Option<Matrix> {
    let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
    reading.evidence.into_iter().find_map(|evidence| {
        let Evidence::Topology(matrix) = evidence.value else { return None };
        Some(matrix)
    })
}

/// Glued names of NICs whose end cannot be seen are beyond any reader.
fn printable(table: &Table, dialect: Dialect) -> bool {
    dialect != Dialect::GluedHeader || !table.labels.iter().any(|label| label.starts_with("rocep"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn what_is_printed_is_read(table in table()) {
        for dialect in DIALECTS.into_iter().filter(|dialect| printable(&table, *dialect)) {
            let text = print(&table, dialect);
            let Some(matrix) = only_matrix(&text) else {
                return Err(TestCaseError::fail(format!("{dialect:?}: nothing read of\n{text}")));
            };
            let labels: Vec<&str> = matrix.ends().iter().map(|end| end.label.as_str()).collect();
            prop_assert_eq!(&labels, &table.labels, "{:?}\n{}", dialect, text);
            prop_assert_eq!(matrix.cells().len(), labels.len() * (labels.len() - 1), "{:?}\n{}", dialect, text);
            for cell in matrix.cells() {
                prop_assert_eq!(cell.class, Some(table.classes[cell.row][cell.column]), "{:?}\n{}", dialect, text);
            }
            for (end, (cpus, numa)) in matrix.ends().iter().zip(&table.affinity) {
                if end.kind == EndKind::Gpu {
                    prop_assert_eq!(end.affinity.cpus.as_ref(), Some(cpus), "{:?}\n{}", dialect, text);
                    prop_assert_eq!(end.affinity.numa.as_ref(), Some(numa), "{:?}\n{}", dialect, text);
                }
            }
        }
    }

    #[test]
    fn a_lost_cell_is_found_where_the_table_tells(table in table(), row in 0usize..9, column in 0usize..14) {
        let gpus = table.affinity.iter().filter(|(cpus, _)| !cpus.is_empty()).count();
        let count = table.labels.len();
        prop_assume!(count > 1);
        let row = row % gpus;
        let column = (row + 1 + column % (count - 1)) % count;
        // Long labels shift the header against the rows; then only another row shows where cells belong.
        let clear = gpus > 1 || !table.labels.iter().any(|label| label.starts_with("rocep"));
        for dialect in [Dialect::Tabs, Dialect::Blanks, Dialect::Markdown] {
            if dialect == Dialect::Blanks && !clear {
                continue;
            }
            let text = blank_cell(&print(&table, dialect), row, column, dialect);
            let matrix = only_matrix(&text).ok_or_else(|| TestCaseError::fail("nothing read"))?;
            prop_assert_eq!(matrix.cell(row, column).map(|cell| cell.class), Some(None), "{:?}\n{}", dialect, text);
            let known = matrix.cells().iter().filter(|cell| cell.class.is_some());
            for cell in known {
                prop_assert_eq!(cell.class, Some(table.classes[cell.row][cell.column]), "{:?}\n{}", dialect, text);
            }
        }
    }

    #[test]
    fn damage_never_panics_and_prose_is_always_named(
        table in table(),
        dialect in 0usize..13,
        damage in prop::collection::vec((0usize..4, any::<prop::sample::Index>(), 1usize..40), 0..6),
        at in any::<prop::sample::Index>(),
    ) {
        let mut text = print(&table, DIALECTS[dialect]);
        for (kind, place, length) in damage {
            text = damaged(&text, kind, place.index(text.len() + 1), length);
        }
        let mut lines: Vec<&str> = text.split('\n').collect();
        let line = at.index(lines.len() + 1);
        lines.insert(line, "what is wrong with this machine?");
        let text = lines.join("\n");
        let reading = read(&Source::file("t", &text), Catalogue::embedded(), None);
        if !reading.evidence.is_empty() {
            let named = reading.diagnostics.iter().any(|finding| {
                finding.code.name == "lines-unused" && covers(&finding.message, line + 1)
            });
            prop_assert!(named, "line {} is not named in {:?}\n{}", line + 1, reading.diagnostics, text);
        } else {
            prop_assert!(reading.failed() && !reading.diagnostics.is_empty());
        }
        let (case, _) = join(reading.evidence, &Overrides::default(), Catalogue::embedded());
        let built = case.machine.as_ref().map(|machine| weft_topology::build(machine, Catalogue::embedded()));
        prop_assert!(built.is_none_or(|built| built.is_ok()), "{:?}\n{}", case.machine, text);
    }

    #[test]
    fn any_text_is_survived(text in "(GPU[0-3]|NIC0|mlx5_0|X|PIX|NV[0-9]|SYS|OK|NS|[|\t \n:=-]|Legend:|CPU Affinity|[a-z]|\\PC){0,60}") {
        let reading = read(&Source::file("t", &text), Catalogue::embedded(), None);
        prop_assert!(!reading.evidence.is_empty() || reading.failed());
        let (_, _) = join(reading.evidence, &Overrides::default(), Catalogue::embedded());
        for format in weft_formats::FORMATS {
            read(&Source::argument(&text), Catalogue::embedded(), Some(format.name()));
        }
    }
}

/// Whether "line 3 was not used" or "lines 2 to 4 were not used" speaks of `line`.
fn covers(message: &str, line: usize) -> bool {
    let before = message.split(" not used").next().unwrap_or_default();
    let numbers: Vec<usize> = before.split(' ').filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [only] => *only == line,
        [first, last] => (*first..=*last).contains(&line),
        _ => false,
    }
}

/// Blanks out the cell of a row and column, as an editor would.
fn blank_cell(text: &str, row: usize, column: usize, dialect: Dialect) -> String {
    let skipped = if dialect == Dialect::Markdown { 2 } else { 1 };
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(index, line)| {
            if index != row + skipped {
                return line.to_owned();
            }
            if dialect == Dialect::Tabs {
                replaced(line, '\t', column + 1, "")
            } else if dialect == Dialect::Markdown {
                replaced(line, '|', column + 2, "   ")
            } else {
                // The label is the first word.
                let (offset, word) = words(line).nth(column + 1).unwrap_or((0, ""));
                format!("{}{}{}", &line[..offset], " ".repeat(word.len()), &line[offset + word.len()..])
            }
        })
        .collect();
    lines.join("\n")
}

fn replaced(line: &str, separator: char, field: usize, by: &str) -> String {
    let mut fields: Vec<&str> = line.split(separator).collect();
    fields[field] = by;
    fields.join(&separator.to_string())
}

fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split(' ')
        .scan(0, |offset, word| {
            let here = *offset;
            *offset += word.len() + 1;
            Some((here, word))
        })
        .filter(|(_, word)| !word.is_empty())
}

/// Deletes, cuts, joins lines or doubles a piece at a place of the text.
fn damaged(text: &str, kind: usize, place: usize, length: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (from, to) = (place.min(chars.len()), (place + length).min(chars.len()));
    let kept: Vec<char> = match kind {
        0 => [&chars[..from], &chars[to..]].concat(),
        1 => chars[..from.max(1).min(chars.len())].to_vec(),
        2 => {
            let end = chars[from..].iter().position(|c| *c == '\n').map(|offset| from + offset);
            let mut joined = chars.clone();
            if let Some(end) = end {
                joined.remove(end);
            }
            joined
        }
        _ => [&chars[..to], &chars[from..]].concat(),
    };
    kept.into_iter().collect()
}
