//! Host names, each followed by the GUIDs of its adapters' ports: how SuperBench collects `ibstat -p` over a pool of
//! machines to place jobs by the fabric.

use weft_base::Guid;
use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Record, Report, Value};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::ranges;

/// The word before a host's name.
const MARK: &str = "VM_hostname ";

/// The reader.
#[derive(Debug)]
pub struct HostGuids;

impl Format for HostGuids {
    fn name(&self) -> &'static str {
        "host-guids"
    }

    fn title(&self) -> &'static str {
        "host names, each followed by the GUIDs of its ports"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &[MARK]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut inside = false;
        let mine = text.lines.iter().enumerate().filter(|(_, line)| {
            inside = host(line).is_some() || inside && (guid(line).is_some() || line.is_blank());
            inside && !line.is_blank()
        });
        let claim = Claim::lines(mine.map(|(index, _)| index));
        if claim.runs.is_empty() { Vec::new() } else { vec![claim] }
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut report = Report { format: "host-guids", ..Report::default() };
        let mut used = Vec::new();
        for (index, line) in part.lines.iter().enumerate() {
            if let Some(name) = host(line) {
                report.records.push(Record::new("host", name, line.number));
            } else if let (Some(guid), Some(record)) = (guid(line), report.records.last_mut()) {
                record.push("port-guid", Value::Text(guid.to_string()), line.number);
            } else {
                continue;
            }
            used.push(index);
        }
        let unused = ranges::unused(&part.lines, &used);
        if report.records.is_empty() {
            return Read { unused, ..Read::default() };
        }
        let evidence = Evidence::Report(Box::new(report));
        Read { evidence: vec![Located { value: evidence, place: part.start() }], unused, ..Read::default() }
    }
}

fn host<'l>(line: &'l Line<'_>) -> Option<&'l str> {
    let name = line.text.trim().strip_prefix(MARK)?.trim();
    (!name.is_empty()).then_some(name)
}

fn guid(line: &Line<'_>) -> Option<Guid> {
    let text = line.text.trim();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    (digits.len() == 16).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, read};

    #[test]
    fn hosts_have_the_guids_below_them() {
        let text = "the pool:\nVM_hostname node-1\n0c42a10300b30001\n0x0c42a10300b30002\nVM_hostname node-2\nnot a guid\n";
        let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("not a report") };
        let hosts: Vec<_> =
            report.records.iter().map(|it| (it.subject.as_str(), it.fields.len(), it.line)).collect();
        assert_eq!(hosts, [("node-1", 2, 2), ("node-2", 0, 5)]);
        assert_eq!(report.records[0].text("port-guid"), Some("0x0c42a10300b30001"));
        let unused: Vec<_> =
            reading.diagnostics.iter().filter_map(|it| it.place.as_ref()).map(|it| it.line).collect();
        assert_eq!(unused, [1, 6]);
    }
}
