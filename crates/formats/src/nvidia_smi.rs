//! The table that `nvidia-smi` prints by itself: driver, and three lines per GPU. Long names are cut by the tool
//! (`NVIDIA A100-SXM...`) and kept as printed.

use crate::block::{
    self, Block, BlockFormat, Own, Step, behind_prefix, field_name, is_pci_address, is_prefix,
};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const NVIDIA_SMI: BlockFormat = BlockFormat {
    name: "nvidia-smi",
    title: "the table of GPUs: nvidia-smi",
    command: Some("nvidia-smi"),
    marks: &["| NVIDIA-SMI "],
    starts,
    step,
    records,
};

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    if text.contains("| NVIDIA-SMI ") {
        return behind_prefix(text, "| NVIDIA-SMI ");
    }
    // The border above the head, and the date above that.
    let above =
        |ahead: usize| lines.get(index + ahead).is_some_and(|line| line.text.contains("| NVIDIA-SMI "));
    if above(1) {
        return behind_prefix(text, "+--");
    }
    let dated = text.matches(':').count() >= 2 && text.trim_end().ends_with(|c: char| c.is_ascii_digit());
    let offset = lines.get(index + 1).and_then(|line| line.text.find("+--"))?;
    (above(2) && dated && text.is_char_boundary(offset) && is_prefix(text.get(..offset)?)).then_some(offset)
}

fn step(text: &str, last: &str) -> Step {
    let text = text.trim();
    match text.chars().next() {
        None => Step::Perhaps,
        Some('|' | '+') if !(text.contains("| NVIDIA-SMI ") && last.contains('|')) => Step::More,
        Some(_) => Step::End,
    }
}

/// The cells between the bars.
fn cells(text: &str) -> Vec<&str> {
    let inner = text.trim().strip_prefix('|').unwrap_or_default();
    inner.trim_end().trim_end_matches('|').split('|').map(str::trim).collect()
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut in_processes = false;
    // Lines of a GPU that are still to come.
    let mut below = 0;
    for line in &block.lines {
        let text = line.text.trim();
        if text.contains("NVIDIA-SMI ") {
            records.extend(head(line));
            line.using();
        } else if text.contains("Processes:") || text.contains("PID") {
            in_processes = true;
        }
        if in_processes || text.starts_with('+') || !text.starts_with('|') {
            line.using();
            below = 0;
            continue;
        }
        let found = cells(text);
        if let Some(record) = gpu(line, &found) {
            line.using();
            records.push(record);
            below = 2;
        } else if below > 0 {
            let record = records.last_mut();
            if record.is_some_and(|record| second(record, line.number, &found, below == 1)) {
                line.using();
            }
            below -= 1;
        } else {
            // Titles of columns, and what old drivers leave blank.
            line.using();
        }
    }
    records
}

/// `| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2 |`.
fn head(line: &Own<'_>) -> Option<Record> {
    let text = line.text.trim().trim_matches('|').trim();
    let mut record = Record::new("setting", "driver", line.number);
    let words: Vec<&str> = text.split_whitespace().collect();
    let after = |name: &str| {
        words.windows(3).find(|three| three[0] == name && three[1] == "Version:").map(|three| three[2])
    };
    if let Some(version) = words.get(1) {
        record.push("nvidia-smi-version", Value::Text((*version).to_owned()), line.number);
    }
    for (name, field) in [("Driver", "driver-version"), ("CUDA", "cuda-version")] {
        if let Some(version) = after(name) {
            record.push(field, Value::Text(version.to_owned()), line.number);
        }
    }
    (!record.fields.is_empty()).then_some(record)
}

/// `|   0  NVIDIA H100 80GB HBM3          On  | 00000000:1B:00.0 Off |                    0 |`.
fn gpu(line: &Own<'_>, cells: &[&str]) -> Option<Record> {
    let [first, second, rest @ ..] = cells else { return None };
    let (number, name) = first.split_once(char::is_whitespace)?;
    let number = block::number(number)?;
    let mut place = second.split_whitespace();
    let address = place.next().filter(|address| is_pci_address(address))?;
    let mut record = Record::new("gpu", format!("GPU {number}"), line.number);
    let mut push = |name: &str, value: Value| record.push(name, value, line.number);
    let name = name.trim();
    let (name, persistence) = match name.rsplit_once(char::is_whitespace) {
        Some((name, last @ ("On" | "Off" | "N/A" | "WDDM" | "TCC" | "MCDM"))) => (name.trim(), Some(last)),
        Some(_) | None => (name, None),
    };
    push("model", Value::Text(name.to_owned()));
    if let Some(persistence) = persistence {
        push("persistence-mode", block::value(persistence));
    }
    push("bus-id", Value::Text(address.to_owned()));
    if let Some(display) = place.next() {
        push("display-active", block::value(display));
    }
    if let Some(errors) = rest.first().filter(|errors| !errors.is_empty()) {
        push("volatile-uncorrectable-ecc-errors", block::value(errors));
    }
    Some(record)
}

/// The second line of a GPU (fan, temperature, power, memory, use), or the third (MIG).
fn second(record: &mut Record, line: u32, cells: &[&str], is_third: bool) -> bool {
    let [first, memory, rest @ ..] = cells else { return false };
    if is_third {
        if let Some(mode) = rest.first().filter(|mode| !mode.is_empty()) {
            record.push("mig-mode", block::value(mode), line);
        }
        return true;
    }
    let words: Vec<&str> = first.split_whitespace().collect();
    if let [fan, temperature, state, power @ ..] = &words[..] {
        for (name, text) in [("fan", *fan), ("temperature", temperature), ("performance-state", state)] {
            record.push(name, Value::Text(text.to_owned()), line);
        }
        if let Some((used, limit)) = power.join(" ").split_once('/') {
            record.push("power-usage", Value::Text(used.trim().to_owned()), line);
            record.push("power-limit", Value::Text(limit.trim().to_owned()), line);
        }
    }
    if let Some((used, total)) = memory.split_once('/') {
        record.push("memory-used", Value::Text(used.trim().to_owned()), line);
        record.push("memory-total", Value::Text(total.trim().to_owned()), line);
    }
    if let Some((share, mode)) = rest.first().and_then(|cell| cell.split_once(char::is_whitespace)) {
        record.push("gpu-utilization", Value::Text(share.to_owned()), line);
        record.push(field_name("compute mode"), Value::Text(mode.trim().to_owned()), line);
    }
    true
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use super::*;
    use crate::Source;
    use crate::evidence::Evidence;

    #[test]
    fn three_lines_make_one_gpu() {
        let text = "\
Tue Mar 12 10:00:00 2024
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|===============================+======================+======================|
|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    2 |
| N/A   30C    P0    61W / 400W |      3MiB / 81920MiB |      0%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+
done
";
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        let [found] = &reading.evidence[..] else { panic!("{reading:?}") };
        let Evidence::Report(report) = &found.value else { panic!("{found:?}") };
        let [driver, gpu] = &report.records[..] else { panic!("{report:?}") };
        assert_eq!(driver.text("cuda-version"), Some("12.0"));
        assert_eq!(
            (gpu.text("model"), gpu.text("bus-id")),
            (Some("NVIDIA A100-SXM..."), Some("00000000:07:00.0"))
        );
        assert_eq!(gpu.count("volatile-uncorrectable-ecc-errors"), Some(2));
        assert_eq!((gpu.text("memory-total"), gpu.text("power-limit")), (Some("81920MiB"), Some("400W")));
        assert_eq!(gpu.get("mig-mode"), Some(&Value::Flag(false)));
        let places: Vec<u32> =
            reading.diagnostics.iter().filter_map(|f| Some(f.place.as_ref()?.line)).collect();
        assert_eq!(places, [11]);
    }
}
