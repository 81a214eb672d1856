//! Tables of two columns; a text that is longer than its column goes on in rows whose first column is blank.

use crate::block::{Block, BlockFormat, Step, behind_prefix, field_name};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// `dcgmi diag`.
pub(crate) const DCGMI_DIAG: BlockFormat = BlockFormat {
    name: "dcgmi-diag",
    title: "results of DCGM's tests: dcgmi diag",
    command: Some("dcgmi diag -r 2"),
    marks: &["| Diagnostic ", "Successfully ran diagnostic"],
    starts: |lines: &[Line<'_>], index| starts(lines, index, "| Diagnostic "),
    step,
    records: diag,
};

/// `dcgmi health`.
pub(crate) const DCGMI_HEALTH: BlockFormat = BlockFormat {
    name: "dcgmi-health",
    title: "DCGM's watch over GPUs: dcgmi health -c",
    command: Some("dcgmi health -c"),
    marks: &["Health Monitor Report", "Overall Health"],
    starts: |lines: &[Line<'_>], index| starts(lines, index, "| Health Monitor Report"),
    step,
    records: health,
};

fn starts(lines: &[Line<'_>], index: usize, mark: &str) -> Option<usize> {
    let text: &str = &lines[index].text;
    let above = |ahead: usize| lines.get(index + ahead).is_some_and(|line| line.text.contains(mark));
    if text.contains(mark) {
        return behind_prefix(text, "| ");
    }
    if above(1) {
        return behind_prefix(text, "+-");
    }
    // `Successfully ran diagnostic for group.` stands above the border.
    if above(2) { behind_prefix(text, "Successfully ran") } else { None }
}

fn step(text: &str, last: &str) -> Step {
    let text = text.trim();
    let again =
        (text.contains("| Diagnostic ") || text.contains("Health Monitor Report")) && last.starts_with("| ");
    if text.starts_with(['|', '+']) && !again { Step::More } else { Step::End }
}

/// Both columns as printed, without the blank before them and the two behind that a full one has.
fn cells(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let (name, value) = inner.split_once('|').unwrap_or((inner, ""));
    let value = value.strip_prefix(' ').unwrap_or(value);
    Some((name.trim(), value.strip_suffix("  ").unwrap_or(value)))
}

/// `Hardware` of `+-----  Hardware  ----------+----…`.
fn section(text: &str) -> Option<&str> {
    let text = text.trim();
    let inner = text.strip_prefix("|--").or(text.strip_prefix("+--"))?;
    let name = inner.split(['+', '|']).next()?.trim_matches('-').trim();
    (!name.is_empty()).then_some(name)
}

/// Appends a piece of a text that was cut at the column's width.
fn append(record: &mut Record, piece: &str) -> bool {
    let Some(Value::Text(text)) = record.fields.last_mut().map(|field| &mut field.value) else {
        return false;
    };
    text.push_str(piece);
    true
}

fn diag(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut setting: Option<Record> = None;
    let mut category = String::new();
    for line in &block.lines {
        let text = line.text.trim();
        if let Some(name) = section(text) {
            line.using();
            name.clone_into(&mut category);
            continue;
        }
        let Some((name, said)) = cells(text).filter(|(name, _)| !name.starts_with("Diagnostic")) else {
            line.using();
            continue;
        };
        let said_text = said.trim_end();
        let is_result = ["Pass", "Fail", "Skip", "Warn", "Run"]
            .iter()
            .any(|word| said_text.trim_start().starts_with(word));
        if name.is_empty() {
            if result_of_gpus(records.last_mut(), said_text, line.number)
                || records.last_mut().is_some_and(|record| append(record, said))
            {
                line.using();
            }
        } else if let Some(kind @ ("Warning" | "Error" | "Info")) = Some(name) {
            if let Some(record) = records.last_mut() {
                record.push(field_name(kind), Value::Text(said.to_owned()), line.number);
                line.using();
            }
        } else if is_result {
            line.using();
            let mut record = Record::new("test", name, line.number);
            if !category.is_empty() {
                record.push("category", Value::Text(category.clone()), line.number);
            }
            let (result, who) = said_text.trim().split_once(" - ").unwrap_or((said_text.trim(), ""));
            record.push("result", Value::Text(result.to_owned()), line.number);
            if !who.is_empty() {
                record.push("gpus", Value::Text(gpus(who).to_owned()), line.number);
            }
            records.push(record);
        } else if !said_text.is_empty() {
            line.using();
            let setting = setting.get_or_insert_with(|| Record::new("setting", "dcgm", line.number));
            setting.push(field_name(name), Value::Text(said_text.trim().to_owned()), line.number);
        }
    }
    tidy(&mut records);
    if records.is_empty() { Vec::new() } else { setting.into_iter().chain(records).collect() }
}

/// `1, 2, 3` of `GPUs: 1, 2, 3`, `All` as it is.
fn gpus(text: &str) -> &str {
    text.split_once(':').map_or(text, |(_, list)| list).trim()
}

/// `Fail - GPU: 0` below `Pass - GPUs: 1, 2`, or `GPU0: Pass` of version 4.
fn result_of_gpus(record: Option<&mut Record>, said: &str, line: u32) -> bool {
    let Some(record) = record else { return false };
    let said = said.trim();
    let by_gpu = said.split_once(": ").filter(|(name, _)| name.starts_with("GPU") && name.len() < 8);
    if let Some((gpu, result)) =
        by_gpu.filter(|(_, result)| ["Pass", "Fail", "Skip", "Warn"].contains(result))
    {
        record.push(field_name(gpu), Value::Text(result.to_owned()), line);
        return true;
    }
    let Some((result, who)) = said.split_once(" - GPU") else { return false };
    record.push("result", Value::Text(result.to_owned()), line);
    record.push("gpus", Value::Text(gpus(who).to_owned()), line);
    true
}

fn health(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut gpu: Option<String> = None;
    for line in &block.lines {
        let Some((name, said)) = cells(line.text).filter(|(name, _)| !name.contains("Health Monitor Report"))
        else {
            line.using();
            continue;
        };
        let plain = name.trim_start_matches(['-', '>', ' ']);
        let said_text = said.trim();
        if let Some(rest) = plain.strip_prefix("Overall Health") {
            line.using();
            let state = if said_text.is_empty() { rest.trim_start_matches([':', ' ']) } else { said_text };
            let mut record = Record::new("test", "overall health", line.number);
            record.push("result", Value::Text(state.to_owned()), line.number);
            records.push(record);
        } else if plain.is_empty() {
            if records.last_mut().is_some_and(|record| append(record, said)) {
                line.using();
            }
        } else if plain == "GPU" || plain == "Errors" || plain == "NVSwitch" {
            line.using();
        } else {
            line.using();
            let of_gpu = crate::block::number(plain).is_some() || plain.starts_with("GPU");
            if of_gpu {
                gpu = Some(format!(
                    "GPU {}",
                    plain.trim_start_matches("GPU").trim_start_matches(['I', 'D', ':', ' '])
                ));
            }
            let subject = match &gpu {
                Some(gpu) if of_gpu => gpu.clone(),
                Some(gpu) => format!("{gpu} {plain}"),
                None => plain.to_owned(),
            };
            let mut record = Record::new("test", subject, line.number);
            record.push("result", Value::Text(said_text.to_owned()), line.number);
            // The pieces that follow say why.
            record.push("message", Value::Text(String::new()), line.number);
            records.push(record);
        }
    }
    for record in &mut records {
        record.fields.retain(|field| field.value != Value::Text(String::new()));
    }
    tidy(&mut records);
    records
}

/// Joined pieces leave blanks where one was shorter than its column.
fn tidy(records: &mut [Record]) {
    for field in records.iter_mut().flat_map(|record| record.fields.iter_mut()) {
        if let Value::Text(text) = &mut field.value {
            if text.contains("  ") || text.ends_with(' ') {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evidence, Source};

    fn records(text: &str) -> Vec<Record> {
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
        report.records.clone()
    }

    #[test]
    fn tests_have_results_by_gpu_and_messages_that_were_cut() {
        let found = records(
            "Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.3.3                                          |
|-----  Deployment  --------+------------------------------------------------|
| Denylist                  | Pass                                           |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Pass - GPUs: 1, 2                              |
|                           | Fail - GPU: 0                                  |
| Warning                   | GPU 0 Thermal violations totaling 13.3 second  |
|                           | s started at 9.7 seconds into the test         |
+---------------------------+------------------------------------------------+
",
        );
        let [dcgm, denylist, memory] = &found[..] else { panic!("{found:?}") };
        assert_eq!(dcgm.text("dcgm-version"), Some("3.3.3"));
        assert_eq!((denylist.text("category"), denylist.text("result")), (Some("Deployment"), Some("Pass")));
        let results: Vec<&Value> =
            memory.fields.iter().filter(|field| field.name == "result").map(|field| &field.value).collect();
        assert_eq!(results, [&Value::Text("Pass".to_owned()), &Value::Text("Fail".to_owned())]);
        assert_eq!(
            memory.text("warning"),
            Some("GPU 0 Thermal violations totaling 13.3 seconds started at 9.7 seconds into the test")
        );
    }

    #[test]
    fn health_is_read_in_both_layouts() {
        let found = records(
            "+--------------------------+\n| Health Monitor Report    |\n+==========================+\n| Overall Health: Healthy  |\n+--------------------------+\n",
        );
        assert_eq!(found[0].text("result"), Some("Healthy"));
        let found = records(
            "+---------------------------+----------------------------------------------------------+
| Health Monitor Report                                                                |
+===========================+==========================================================+
| Overall Health            | Warning                                                  |
| GPU                       |                                                          |
| -> 0                      | Warning                                                  |
|    -> Errors              |                                                          |
|       -> PCIe system      | Warning                                                  |
|                           | Detected more than 8 PCIe replays per minute for GPU 0   |
+---------------------------+----------------------------------------------------------+
",
        );
        let [overall, gpu, pcie] = &found[..] else { panic!("{found:?}") };
        assert_eq!((overall.text("result"), gpu.subject.as_str()), (Some("Warning"), "GPU 0"));
        assert_eq!(
            (pcie.subject.as_str(), pcie.text("message")),
            ("GPU 0 PCIe system", Some("Detected more than 8 PCIe replays per minute for GPU 0"))
        );
    }
}
