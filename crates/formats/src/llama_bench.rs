//! `llama-bench`: tokens a second of reading a prompt and of writing.

use crate::block::{Block, BlockFormat, Step, field_name};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const LLAMA_BENCH: BlockFormat = BlockFormat {
    name: "llama-bench",
    title: "tokens a second, of llama.cpp's llama-bench",
    command: Some("llama-bench -m MODEL.gguf"),
    marks: &["t/s |", "ggml_cuda_init: found"],
    starts,
    step,
    records,
};

/// The cells of a row between bars.
fn cells(text: &str) -> Option<Vec<&str>> {
    let inner = text.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// The names of the columns, if it is the head of the table.
fn head(text: &str) -> Option<Vec<&str>> {
    let names = cells(text).filter(|_| text.contains("t/s"))?;
    (names.contains(&"model") && names.contains(&"test") && names.contains(&"t/s")).then_some(names)
}

/// Number and name of `  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes`.
fn device(text: &str) -> Option<(&str, &str)> {
    let (number, rest) = text.trim().strip_prefix("Device ")?.split_once(':')?;
    let (name, _) = rest.split_once(", compute capability ")?;
    number.parse::<u16>().is_ok().then_some((number, name.trim()))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let begins = text.trim_start().starts_with("ggml_cuda_init: found") || head(text).is_some();
    begins.then_some(0)
}

fn step(text: &str, _: &str) -> Step {
    if cells(text).is_some() || device(text).is_some() || text.starts_with("build: ") {
        Step::More
    } else if text.trim().is_empty() || text.starts_with("load_") || text.starts_with("ggml_cuda_init:") {
        Step::Perhaps
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for line in &block.lines {
        if let Some((number, model)) = device(line.text) {
            line.using();
            let mut record = Record::new("gpu", format!("GPU {number}"), line.number);
            record.push("model", Value::Text(model.to_owned()), line.number);
            records.push(record);
        } else if let Some(found) = head(line.text) {
            line.using();
            names = found;
        } else if let Some(cells) = cells(line.text) {
            line.using();
            let is_bar = cells.iter().all(|cell| cell.bytes().all(|byte| byte == b'-' || byte == b':'));
            if is_bar || cells.len() != names.len() {
                continue;
            }
            let test = names.iter().position(|name| *name == "test").map_or("", |at| cells[at]);
            let mut record = Record::new("test", test, line.number);
            for (name, cell) in names.iter().zip(&cells).filter(|(name, _)| **name != "test") {
                let name = if *name == "t/s" { "tokens-per-second".to_owned() } else { field_name(name) };
                record.push(name, Value::Text((*cell).to_owned()), line.number);
            }
            records.push(record);
        } else if line.text.starts_with("build: ")
            || line.text.starts_with("load_")
            || line.text.trim_start().starts_with("ggml_cuda_init:")
        {
            line.using();
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use crate::evidence::Evidence;
    use crate::format::Source;

    #[test]
    fn rows_are_tests_with_the_names_of_their_columns() {
        let text = include_str!("../../../examples/formats/llama-bench/two-gpus.txt");
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("a report") };
        let subjects: Vec<&str> = report.records.iter().map(|record| record.subject.as_str()).collect();
        assert_eq!(subjects, ["GPU 0", "GPU 1", "pp512", "tg128"]);
        assert_eq!(report.records[1].text("model"), Some("NVIDIA GeForce RTX 3090"));
        let last = &report.records[3];
        assert_eq!((last.text("tokens-per-second"), last.text("sm")), (Some("27.02 ± 0.11"), Some("row")));
    }
}
