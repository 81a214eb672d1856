//! Lines of the kernel's log (`dmesg`, `journalctl -k`, syslog) that tell of GPUs, NICs, PCIe and the IOMMU. Only
//! those lines are claimed; each is an event with time, device and, where it has one, a code.

mod events;
mod xid;

use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Record, Report, Value};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::kernel_log::events::Event;
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct KernelLog;

impl Format for KernelLog {
    fn name(&self) -> &'static str {
        "kernel-log"
    }

    fn title(&self) -> &'static str {
        "Xid, AER, link and IOMMU events of the kernel's log: dmesg"
    }

    fn command(&self) -> Option<&'static str> {
        Some("dmesg -T")
    }

    fn marks(&self) -> &'static [&'static str] {
        events::MARKS
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let own = (0..text.lines.len()).filter(|index| event(&text.lines[*index]).is_some());
        let claim = Claim::lines(own);
        if claim.runs.is_empty() { Vec::new() } else { vec![claim] }
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut report = Report { format: self.name(), host: None, records: Vec::new() };
        let mut used = Vec::new();
        for (index, line) in part.lines.iter().enumerate() {
            if let Some((head, event)) = event(line) {
                used.push(index);
                if report.host.is_none() {
                    report.host = head.host.map(str::to_owned);
                }
                report.records.push(record(&head, &event, line.number));
            }
        }
        let unused = ranges::unused(&part.lines, &used);
        if report.records.is_empty() {
            return Read { unused, ..Read::default() };
        }
        let value = Evidence::Report(Box::new(report));
        Read {
            evidence: vec![Located { value, place: part.start_at(used[0]) }],
            diagnostics: Vec::new(),
            unused,
        }
    }
}

fn record(head: &Head<'_>, event: &Event<'_>, line: u32) -> Record {
    let mut record = Record::new("event", event.device.unwrap_or(event.source), line);
    let mut push = |name: &str, value: Value| record.push(name, value, line);
    push("event", Value::Text(event.what.to_owned()));
    if let Some(time) = head.time {
        push("time", Value::Text(time.to_owned()));
    }
    if let Some(code) = event.code {
        push("code", Value::Count(code));
        if let Some(meaning) = (event.what == "xid").then(|| xid::meaning(code)).flatten() {
            push("meaning", Value::Text(meaning.to_owned()));
        }
    }
    push("message", Value::Text(event.message.to_owned()));
    record
}

/// What stands before the kernel's own text.
#[derive(Debug, Clone, Copy, Default)]
struct Head<'l> {
    time: Option<&'l str>,
    host: Option<&'l str>,
}

/// The event of a line, if it tells of one.
fn event<'l>(line: &'l Line<'_>) -> Option<(Head<'l>, Event<'l>)> {
    let text: &str = &line.text;
    // Most lines of a job's log end here.
    if !events::may_be(text) {
        return None;
    }
    let (head, message) = head(text);
    events::event(message, head.time.is_some() || text.contains(" kernel: ")).map(|event| (head, event))
}

/// Takes `[12.5] `, `[Tue Mar 12 …] ` or `Mar 12 10:00:00 host kernel: [12.5] ` off.
fn head(text: &str) -> (Head<'_>, &str) {
    let mut head = Head::default();
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
    if let Some((before, after)) = rest.split_once(" kernel: ") {
        if before.len() < 120 {
            let (time, host) = before.rsplit_once(' ').unwrap_or((before, ""));
            head = Head {
                time: Some(time.trim()).filter(|time| !time.is_empty()),
                host: Some(host).filter(|h| !h.is_empty()),
            };
            rest = after.trim_start();
        }
    } else if let Some((before, after)) = rest.split_once(": ") {
        // `node-17: [12.5] …` of tools that ask many hosts.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if after.trim_start().starts_with('[')
            && before.chars().all(plain)
            && before.contains(|c: char| c.is_ascii_alphabetic())
        {
            head.host = Some(before);
            rest = after.trim_start();
        }
    }
    if let Some((time, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_time =
            time.len() < 40 && time.contains([':', '.']) && time.contains(|c: char| c.is_ascii_digit());
        if is_time {
            head.time = Some(head.time.unwrap_or(time.trim()));
            rest = after.trim_start();
        }
    }
    // dmesg -x says facility and level.
    if let Some((level, after)) = rest.split_once(": ") {
        if ["kern  :", "kern :"].iter().any(|facility| level.starts_with(facility)) {
            return (head, after);
        }
    }
    (head, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    fn records(text: &str) -> (Vec<Record>, Option<String>) {
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        let mut found = reading.evidence.into_iter().filter_map(|found| {
            let Evidence::Report(report) = found.value else { return None };
            (report.format == "kernel-log").then_some((report.records, report.host))
        });
        found.next().unwrap_or_default()
    }

    #[test]
    fn an_xid_has_number_device_time_and_meaning() {
        let (found, _) =
            records("[ 123.456] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.\n");
        assert_eq!(found[0].subject, "0000:3b:00");
        assert_eq!((found[0].count("code"), found[0].text("time")), (Some(79), Some("123.456")));
        assert_eq!(found[0].text("meaning"), Some("GPU has fallen off the bus"));
    }

    #[test]
    fn heads_of_journals_and_of_many_hosts_are_understood() {
        let (found, host) =
            records("Mar 12 10:00:00 node-3 kernel: mlx5_core 0000:1a:00.0 eth2: Link down\nhello\n");
        assert_eq!((found[0].text("event"), host.as_deref()), (Some("link-down"), Some("node-3")));
        assert_eq!(found[0].text("time"), Some("Mar 12 10:00:00"));
        let (found, host) = records(
            "node-9: [Tue Mar 12 10:00:00 2024] nvidia-nvswitch3: SXid (PCI:0000:c6:00.0): 12028, Non-fatal, Link 32 egress\n",
        );
        assert_eq!((found[0].count("code"), host.as_deref()), (Some(12028), Some("node-9")));
        assert_eq!(found[0].subject, "0000:c6:00.0");
    }

    #[test]
    fn other_lines_are_left_alone() {
        assert!(
            records("node-1:12:12 [0] NCCL INFO NET/IB : Using [0]mlx5_core\nEDAC what is it?\n")
                .0
                .is_empty()
        );
    }
}
