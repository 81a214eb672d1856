use serde_json::Value;
use weft_base::{Diagnostic, Rate};

use super::read::{Kinds, device, table};
use crate::codes::ROW_CUT;
use crate::evidence::{Evidence, PairCell, PairDevice, PairTable};
use crate::format::{Located, Part, Read};
use crate::measured_codes as codes;
use crate::measured_grid::{Grid, Unit};
use crate::ranges;

/// Reads what `nvbandwidth -j` prints.
pub(super) fn read(part: &Part<'_>) -> Read {
    let text = part.text();
    let all: Vec<usize> = (0..part.lines.len()).collect();
    let document: Value = match serde_json::from_str(&text) {
        Ok(document) => document,
        Err(error) => {
            let line = part.lines.get(error.line().saturating_sub(1));
            let place = line.map_or_else(|| part.start(), |line| part.place(line, line.indent(), 0));
            let message = format!("this JSON of nvbandwidth is damaged: {error}");
            let hint = "paste all of it, from the first `{` to the last `}`";
            let diagnostics = vec![Diagnostic::warning(ROW_CUT, message).hint(hint).at(place)];
            return Read { diagnostics, unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        }
    };
    let root = &document["nvbandwidth"];
    let devices = devices(root);
    let mut read = Read { unused: ranges::unused(&part.lines, &all), ..Read::default() };
    let tests = root["testcases"].as_array().map_or(&[][..], Vec::as_slice);
    let mut waived = 0;
    // Names of tests stand in the order of the tests, so that each is looked for from the one before.
    let (mut from, mut is_found) = (0, true);
    let is_named = |line: &str, name: &str| line.contains(name) && line.contains("\"name\"");
    for test in tests {
        let name = test["name"].as_str().unwrap_or_default();
        // One that is written in another way is given the line of the one before.
        let found = if is_found {
            part.lines[from..].iter().position(|line| is_named(&line.text, name))
        } else {
            None
        };
        is_found = found.is_some();
        let at = from + found.unwrap_or(0);
        from = at;
        let status = test["status"].as_str().unwrap_or("Passed");
        match status {
            "Passed" => {}
            "Waived" => waived += 1,
            _ => {
                let message = format!("the test {name} ended in an error: {}", ranges::short(status));
                read.diagnostics.push(Diagnostic::warning(codes::TEST_FAILED, message).at(part.start_at(at)));
            }
        }
        if let Some(table) = matrix(test, name, part.lines[at].number) {
            let table = PairTable { devices: devices.clone(), ..table };
            read.evidence.push(Located { value: Evidence::Pairs(Box::new(table)), place: part.start_at(at) });
        }
    }
    if waived > 0 {
        let message =
            format!("{waived} of {} tests were left out: this machine cannot run them", tests.len());
        read.diagnostics.push(Diagnostic::note(codes::TEST_WAIVED, message).at(part.start()));
    }
    read
}

fn devices(root: &Value) -> Vec<PairDevice> {
    let list = root.as_object().and_then(|root| {
        root.iter().find(|(key, _)| key.to_ascii_lowercase().contains("device list")).map(|(_, list)| list)
    });
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(|text| device(text.as_str()?.trim_start_matches("Device "), None)).collect()
}

fn matrix(test: &Value, name: &str, line: u32) -> Option<PairTable> {
    let title = test["bandwidth_description"].as_str().unwrap_or_default();
    let unit = Unit::in_title(title).unwrap_or(Unit::Gigabytes);
    let kinds = Kinds::of(title);
    let rows = test["bandwidth_matrix"].as_array()?;
    let mut grid = Grid::default();
    for (row, values) in rows.iter().enumerate() {
        let values = values.as_array()?;
        grid.rows.push(row.to_string());
        while grid.columns.len() < values.len() {
            grid.columns.push(grid.columns.len().to_string());
        }
        for (column, value) in values.iter().enumerate() {
            let number = value.as_f64().map(|number| number.to_string());
            let word = value.as_str().map(str::to_owned).or(number);
            let measure = word.and_then(|word| unit.measure(word.trim()));
            grid.cells.extend(measure.map(|measure| PairCell { row, column, measure, line }));
        }
    }
    if kinds.row == kinds.column {
        grid.drop_empty_diagonal();
    }
    Some(PairTable {
        rows: Grid::named(&grid.rows, kinds.row),
        columns: Grid::named(&grid.columns, kinds.column),
        cells: grid.cells,
        sum: test["sum"].as_f64().filter(|_| unit == Unit::Gigabytes).map(Rate::from_gigabytes),
        line,
        ..table(title.to_owned(), Some(name.to_owned()))
    })
}
