//! `mlxreg --get`: fields of a register of an adapter, such as ROCE_ACCL.

use crate::block::{Block, BlockFormat, Step, asked, asked_start};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::port_report::whole;

/// The reader.
pub(crate) const MLXREG: BlockFormat = BlockFormat {
    name: "mlxreg",
    title: "a register of an adapter: mlxreg -d DEV --reg_name ROCE_ACCL --get",
    command: Some("mlxreg -d DEV --reg_name ROCE_ACCL --get"),
    marks: &["Sending access register"],
    starts: |lines: &[Line<'_>], index| asked_start(lines, index, "mlxreg", head),
    step,
    records,
};

fn head(text: &str) -> Option<usize> {
    text.find("Sending access register").filter(|offset| crate::block::is_prefix(&text[..*offset]))
}

/// `adaptive_routing_forced_en            | 0x00000000`.
fn row(text: &str) -> Option<(&str, u64)> {
    let (name, value) = text.trim().split_once('|')?;
    let name = name.trim();
    let plain =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'[' || byte == b']');
    Some((name, whole(value.trim())?)).filter(|_| plain && !name.is_empty())
}

fn is_frame(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("Field Name") || text.starts_with("====") || text.starts_with("Sending access register")
}

fn step(text: &str, last: &str) -> Step {
    if text.trim().is_empty() {
        return Step::Perhaps;
    }
    let again = text.contains("Sending access register") && !last.contains("mlxreg");
    if !again && (row(text).is_some() || is_frame(text)) { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let Some(first) = block.lines.first() else { return Vec::new() };
    let words: Vec<&str> = asked(first.text, "mlxreg").unwrap_or_default().split_whitespace().collect();
    let behind = |flag: &str| {
        let at = words.iter().position(|word| *word == flag)?;
        words.get(at + 1).copied()
    };
    let mut record = Record::new("register", behind("-d").unwrap_or("adapter"), first.number);
    if let Some(name) = behind("--reg_name") {
        record.push("name", Value::Text(name.to_owned()), first.number);
    }
    for line in &block.lines {
        if let Some((name, value)) = row(line.text) {
            line.using();
            record.push(name.replace('_', "-"), Value::Count(value), line.number);
        } else if is_frame(line.text) || asked(line.text, "mlxreg").is_some() {
            line.using();
        }
    }
    if record.fields.is_empty() { Vec::new() } else { vec![record] }
}

#[cfg(test)]
mod tests {
    use crate::Source;

    #[test]
    fn fields_of_a_register_are_read_under_the_devices_name() {
        let text = "$ mlxreg -d 19:00.0 --reg_name ROCE_ACCL --get\nSending access register...\n\n\
                    Field Name                            | Data\n===================================================\n\
                    roce_adp_retrans_en                   | 0x00000001\nadaptive_routing_forced_en            | 0x00000000\n\
                    ===================================================\n";
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let crate::Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        let record = &report.records[0];
        assert_eq!(
            (record.kind, record.subject.as_str(), record.text("name")),
            ("register", "19:00.0", Some("ROCE_ACCL"))
        );
        assert_eq!(record.count("adaptive-routing-forced-en"), Some(0));
        assert_eq!(record.count("roce-adp-retrans-en"), Some(1));
    }
}
