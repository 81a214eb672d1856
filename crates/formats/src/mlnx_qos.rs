//! `mlnx_qos -i DEV`: trust, flow control by priority, and traffic classes of an Ethernet port. The output does
//! not name the port; a shell's line above it does.

use crate::block::{
    Block, BlockFormat, Step, asked, asked_start, field_name, is_prefix, last_word, pair, value,
};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const MLNX_QOS: BlockFormat = BlockFormat {
    name: "mlnx-qos",
    title: "flow control by priority: mlnx_qos -i DEV",
    command: Some("mlnx_qos -i DEV"),
    marks: &["Priority trust state:", "PFC configuration:", "DCBX mode:"],
    starts: |lines: &[Line<'_>], index| asked_start(lines, index, "mlnx_qos", head),
    step,
    records,
};

fn head(text: &str) -> Option<usize> {
    let mark = ["DCBX mode:", "Priority trust state:", "PFC configuration:"]
        .iter()
        .find_map(|mark| text.find(mark))?;
    is_prefix(&text[..mark]).then_some(mark)
}

fn step(text: &str, last: &str) -> Step {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Step::Perhaps;
    }
    let known = [
        "DCBX mode:",
        "Priority trust state:",
        "dscp2prio mapping:",
        "default priority:",
        "Receive buffer size",
        "Cable len:",
        "PFC configuration:",
        "priority",
        "enabled",
        "buffer",
        "tc:",
        "prio:",
        "rate limit",
        "max_buffer_size",
        "ratelimit",
        "Rx buffer",
    ];
    // A second port begins with the same lines.
    let again = trimmed.starts_with("DCBX mode:") && !last.contains("mlnx_qos");
    let listed = trimmed.bytes().all(|byte| byte.is_ascii_digit() || b", \t".contains(&byte));
    if !again && (listed || known.iter().any(|known| trimmed.starts_with(known))) {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let first = block.lines.first();
    let port = first.and_then(|line| asked(line.text, "mlnx_qos")).and_then(last_word);
    let mut port_record = Record::new("port", port.unwrap_or("port"), first.map_or(1, |line| line.number));
    let mut classes = Vec::new();
    for line in &block.lines {
        let text = line.text.trim();
        let row = |name: &str| text.strip_prefix(name).map(|rest| rest.trim_start_matches(':').trim());
        let is_row =
            |rest: &str| !rest.is_empty() && rest.split_whitespace().all(|word| word.parse::<u32>().is_ok());
        if asked(line.text, "mlnx_qos").is_some() || text == "PFC configuration:" {
            line.using();
        } else if let Some(rest) = row("enabled").filter(|rest| is_row(rest)) {
            line.using();
            let on = rest.split_whitespace().zip(0..).filter(|(word, _)| *word == "1");
            let on: Vec<String> = on.map(|(_, priority)| priority.to_string()).collect();
            port_record.push("pfc-enabled", Value::Text(on.join(",")), line.number);
        } else if let Some(rest) = row("buffer").filter(|rest| is_row(rest)) {
            line.using();
            let list: Vec<&str> = rest.split_whitespace().collect();
            port_record.push("pfc-buffer", Value::Text(list.join(",")), line.number);
        } else if text.starts_with("tc:") {
            line.using();
            classes.push(class(text, line.number));
        } else if let Some(priorities) = row("priority") {
            line.using();
            if let Some(class) = classes.last_mut().filter(|_| !priorities.contains(' ')) {
                let class: &mut Record = class;
                class.push("priority", value(priorities), line.number);
            }
        } else if let Some((name, list)) =
            text.strip_prefix("prio:").and_then(|rest| rest.split_once(" dscp:"))
        {
            line.using();
            let name = format!("dscp-of-priority-{}", name.trim());
            port_record.push(name, Value::Text(list.trim_end_matches(',').to_owned()), line.number);
        } else if let Some((key, text)) = pair(text) {
            line.using();
            if !text.is_empty() {
                port_record.push(field_name(key), value(text), line.number);
            }
        }
    }
    if port_record.fields.is_empty() {
        return Vec::new();
    }
    [port_record].into_iter().chain(classes).collect()
}

/// `tc: 2 ratelimit: unlimited, tsa: ets, bw: 80%`.
fn class(text: &str, line: u32) -> Record {
    let rest = text.strip_prefix("tc:").unwrap_or(text).trim();
    let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut record = Record::new("setting", format!("traffic class {}", number.trim_end_matches(',')), line);
    for part in rest.split(',') {
        if let Some((key, text)) = pair(part) {
            record.push(field_name(key), Value::Text(text.to_owned()), line);
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use crate::Source;

    #[test]
    fn the_priorities_with_flow_control_are_listed_under_the_ports_name() {
        let text = "root@n1:~# mlnx_qos -i ens2np0\nDCBX mode: OS controlled\nPriority trust state: dscp\nCable len: 7\n\
                    PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0   \n\
                    \tbuffer      0   0   0   1   0   0   0   0   \ntc: 3 ratelimit: unlimited, tsa: ets, bw: 50%\n\t priority:  3\n";
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let crate::Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        let [port, class] = &report.records[..] else { panic!("{report:?}") };
        assert_eq!((port.subject.as_str(), port.text("pfc-enabled")), ("ens2np0", Some("3")));
        assert_eq!((port.text("priority-trust-state"), port.count("cable-len")), (Some("dscp"), Some(7)));
        assert_eq!((class.text("bw"), class.count("priority")), (Some("50%"), Some(3)));
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    }
}
