//! `lscpu`: model, sockets, cores and NUMA nodes of the CPUs. The list of flags is left out.

use crate::block::{Block, BlockFormat, Step, behind_prefix, field_name, is_prefix, number, pair};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const LSCPU: BlockFormat = BlockFormat {
    name: "lscpu",
    title: "model, sockets and NUMA nodes of the CPUs: lscpu",
    command: Some("lscpu"),
    marks: &["Architecture: ", "CPU(s): ", "Socket(s): ", "NUMA node"],
    starts,
    step,
    records,
};

/// Keys that an excerpt can begin with.
const KEYS: &[&str] = &[
    "CPU(s):",
    "Model name:",
    "Socket(s):",
    "NUMA node(s):",
    "NUMA node0 CPU(s):",
    "Thread(s) per core:",
    "Core(s) per socket:",
];

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let next = lines.get(index + 1).map_or("", |line| &line.text);
    if text.contains("Architecture: ") {
        let whole = next.contains("CPU op-mode") || next.contains("Byte Order") || next.contains("CPU(s)");
        return behind_prefix(text, "Architecture: ").filter(|_| whole);
    }
    let key = KEYS.iter().find(|key| text.contains(**key))?;
    let offset = text.find(key)?;
    let padded = text[offset + key.len()..].starts_with("  ");
    let followed = KEYS.iter().any(|key| next.contains(key)) || next.contains("NUMA node");
    (padded && followed && is_prefix(&text[..offset])).then(|| text[..offset].trim_end().len())
}

fn step(text: &str, _: &str) -> Step {
    let Some((key, value)) = pair(text) else { return Step::End };
    let plain = |c: char| c.is_ascii_alphanumeric() || " ()-/.,".contains(c);
    let aligned = text.contains(":  ") || text.trim_end().ends_with(':') || key.len() > 16;
    if key.len() < 60 && key.chars().all(plain) && aligned && !value.starts_with("//") {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut record = Record::new("cpu", "CPU", block.lines.first().map_or(1, |line| line.number));
    for line in &block.lines {
        let Some((key, value)) = pair(line.text) else { continue };
        line.using();
        // `NUMA:` and its like head what follows.
        if value.is_empty() || key == "Flags" {
            continue;
        }
        record.push(
            field_name(key),
            number(value).map_or_else(|| Value::Text(value.to_owned()), Value::Count),
            line.number,
        );
    }
    if record.fields.is_empty() { Vec::new() } else { vec![record] }
}

#[cfg(test)]
mod tests {
    use crate::{Evidence, Source};

    #[test]
    fn model_sockets_and_nodes_are_read() {
        let text = "Architecture:            x86_64\n  CPU op-mode(s):        32-bit, 64-bit\nCPU(s):                  128\n\
                    Vendor ID:               AuthenticAMD\n  Model name:            AMD EPYC 7543 32-Core Processor\n    Socket(s):           2\n\
                    \x20   Flags:               fpu vme\nNUMA:                    \n  NUMA node(s):          2\n  NUMA node0 CPU(s):     0-31,64-95\n";
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        let cpu = &report.records[0];
        assert_eq!(
            (cpu.text("model-name"), cpu.count("sockets")),
            (Some("AMD EPYC 7543 32-Core Processor"), Some(2))
        );
        assert_eq!((cpu.text("numa-node0-cpus"), cpu.text("flags")), (Some("0-31,64-95"), None));
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    }
}
