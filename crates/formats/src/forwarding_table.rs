//! `dump_fts`, `ibroute` and OpenSM's `opensm-lfts.dump`: which port each switch sends each destination to.

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_topology::ForwardingTable;

use crate::codes;
use crate::evidence::Evidence;
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct ForwardingTables;

const UNICAST: &str = "Unicast lids [";
const MULTICAST: &str = "Multicast mlids [";

impl Format for ForwardingTables {
    fn name(&self) -> &'static str {
        "forwarding-tables"
    }

    fn title(&self) -> &'static str {
        "routes that InfiniBand switches hold"
    }

    fn command(&self) -> Option<&'static str> {
        Some("dump_fts")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[UNICAST, MULTICAST]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut claims = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for (index, line) in text.lines.iter().enumerate() {
            match kind(&line.text, !open.is_empty()) {
                RowKind::Header => {
                    claims.extend((!open.is_empty()).then(|| Claim::lines(std::mem::take(&mut open))));
                    open.push(index);
                }
                RowKind::Title | RowKind::Entry => open.push(index),
                RowKind::End => {
                    open.push(index);
                    claims.push(Claim::lines(std::mem::take(&mut open)));
                }
                RowKind::Other => {}
            }
        }
        claims.extend((!open.is_empty()).then(|| Claim::lines(open)));
        claims
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let Some(at) = part.lines.iter().position(|line| kind(&line.text, false) == RowKind::Header) else {
            return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        };
        let header = &part.lines[at];
        if header.text.contains(MULTICAST) {
            let message = "a multicast table is not read";
            let hint = "`dump_fts` without `-M` prints the routes between adapters";
            let finding = Diagnostic::note(codes::MULTICAST_TABLE, message).hint(hint).at(part.start_at(at));
            return Read { diagnostics: vec![finding], ..Read::default() };
        }
        let mut table = of_header(header);
        let (mut used, mut end) = (vec![at], None);
        for (index, line) in part.lines.iter().enumerate().skip(at + 1) {
            match kind(&line.text, true) {
                RowKind::Entry => match entry(&line.text) {
                    Some(entry) => table.ports.push(entry),
                    None => continue,
                },
                RowKind::End => end = Some(&line.text),
                RowKind::Title => {}
                RowKind::Header | RowKind::Other => continue,
            }
            used.push(index);
        }
        let mut diagnostics = Vec::new();
        diagnostics.extend(cut(&table, end.map(AsRef::as_ref)).map(|finding| finding.at(part.start_at(at))));
        table.ports.sort_unstable();
        table.ports.dedup_by_key(|(lid, _)| *lid);
        let place = part.start_at(at);
        let evidence = vec![Located { value: Evidence::Forwarding(Box::new(table)), place }];
        Read { evidence, diagnostics, unused: ranges::unused(&part.lines, &used) }
    }
}

/// Whether the last line, `13 valid lids dumped`, counts other entries than there are. Without `valid` it counts
/// the LIDs of the subnet, of which a switch need not know all.
fn cut(table: &ForwardingTable, end: Option<&str>) -> Option<Diagnostic> {
    let (name, found) = (&table.name, table.ports.len());
    let message = match end {
        None => format!("the table of `{name}` ends after {found} entries without its last line"),
        Some(end) => {
            let counted: usize = end.split_whitespace().next()?.parse().ok()?;
            let agrees = if end.contains(" valid ") { counted == found } else { counted >= found };
            if agrees {
                return None;
            }
            format!("the table of `{name}` has {found} entries, but says that it has {counted}")
        }
    };
    Some(Diagnostic::warning(codes::FORWARDING_CUT, message).hint("take it again: `dump_fts > tables.txt`"))
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowKind {
    Header,
    Title,
    Entry,
    End,
    Other,
}

/// `inside` a table titles, entries and ends are looked for as well.
fn kind(text: &str, inside: bool) -> RowKind {
    let text = text.trim();
    if text.starts_with("0x") {
        return if inside { RowKind::Entry } else { RowKind::Other };
    }
    if text.contains(" of switch ") && (text.contains(UNICAST) || text.contains(MULTICAST)) {
        RowKind::Header
    } else if !inside {
        RowKind::Other
    } else if text.ends_with("lids dumped") {
        RowKind::End
    } else if ["Lid  Out", "Port     Info", "Ports:", "MLid"].iter().any(|title| text.starts_with(title)) {
        RowKind::Title
    } else {
        RowKind::Other
    }
}

/// `Unicast lids [0x0-0xe] of switch Lid 2 guid 0x… ('leaf-0'):`.
fn of_header(line: &Line<'_>) -> ForwardingTable {
    let text = &line.text;
    let guid = text.split_once(" guid ").map_or("", |(_, rest)| rest);
    let (guid, rest) = guid.split_once(' ').unwrap_or((guid.trim_end_matches(':'), ""));
    let name = rest.trim().trim_end_matches(':');
    let name = name.strip_prefix('(').and_then(|name| name.strip_suffix(')')).unwrap_or(name);
    let lid = text.split_once("switch Lid ").map_or("", |(_, rest)| rest);
    let lid = lid.split_whitespace().next().and_then(|lid| lid.parse().ok()).filter(|lid| *lid != 0);
    ForwardingTable {
        switch: guid.parse().unwrap_or_default(),
        lid,
        name: name.trim_matches(['\'', '"']).to_owned(),
        ports: Vec::new(),
        line: line.number,
    }
}

/// `0x0001 003 : (…)`, `0x0001 003`, `0x0001 003 # …`.
fn entry(text: &str) -> Option<(u16, u8)> {
    let mut words = text.split_whitespace();
    let lid = u16::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    Some((lid, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;

    fn tables(text: &str) -> (Vec<ForwardingTable>, Vec<String>) {
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        let table = |evidence: Located<Evidence>| {
            let Evidence::Forwarding(table) = evidence.value else { return None };
            Some(*table)
        };
        let codes = reading.diagnostics.iter().map(|finding| finding.code.name.to_owned()).collect();
        (reading.evidence.into_iter().filter_map(table).collect(), codes)
    }

    #[test]
    fn tables_of_all_three_tools_are_read() {
        let text = "\
Unicast lids [0x0-0x3] of switch DR path slid 0; dlid 0; 0,1 guid 0x0002c90200000010 (leaf (old) 1):
  Lid  Out   Destination
       Port     Info 
0x0001 003 : (Channel Adapter portguid 0x0002c90200000101: 'node-1 mlx5_0')
job 17: something else
0x0003 255 : (path #3 - illegal port)
2 valid lids dumped 
Unicast lids [0x0-0x3] of switch Lid 2 guid 0x0002c90200000020 (leaf-2):
  Lid  Out   Destination
       Port     Info 
0x0001 000 
1 valid lids dumped 
Unicast lids [0-14] of switch Lid 3 guid 0x0002c90200000030 ('spine-1'):
0x0002 001 # Channel Adapter portguid 0x0002c90200000101: 'node-1 mlx5_0'
1 lids dumped
";
        let (found, codes) = tables(text);
        assert_eq!(codes, ["lines-unused"]);
        let names: Vec<_> = found.iter().map(|table| (table.name.as_str(), table.lid, table.line)).collect();
        assert_eq!(names, [("leaf (old) 1", None, 1), ("leaf-2", Some(2), 8), ("spine-1", Some(3), 13)]);
        assert_eq!(found[0].switch.get(), 0x2_c902_0000_0010);
        assert_eq!(found[0].ports, [(1, 3), (3, 255)]);
        assert_eq!((found[0].port(1), found[0].port(2), found[0].port(3)), (Some(3), None, None));
    }

    #[test]
    fn a_cut_table_is_said_to_be_cut() {
        // forwarding-cut
        let text = "Unicast lids [0x0-0x3] of switch Lid 2 guid 0x20 (a):\n0x0001 001\n";
        assert_eq!(tables(text).1, ["forwarding-cut"]);
        assert_eq!(tables(&format!("{text}2 valid lids dumped\n")).1, ["forwarding-cut"]);
    }

    #[test]
    fn a_multicast_table_is_refused() {
        // multicast-table
        let text = "Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x20 (a):\n     Ports: 0 1\n MLid\n\
                    0xc000  x\n1 valid mlids dumped\n";
        let (found, codes) = tables(text);
        assert!(found.is_empty());
        assert!(codes.contains(&"multicast-table".to_owned()), "{codes:?}");
    }
}
