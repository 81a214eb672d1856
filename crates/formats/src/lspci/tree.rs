//! `lspci -t`: the buses drawn as a tree with `-`, `+`, `|` and `\`.

use std::collections::BTreeMap;

use weft_base::Diagnostic;

use super::at;
use super::header::{without_ids, without_notes};
use crate::codes;
use crate::evidence::{BusRange, Device, Host, PciDetails};
use crate::format::{Line, Part};
use crate::pci::{PciAddress, class_of_name, vendor_of};
use crate::ranges::short;

/// The trees among `lines`: indices of the lines of each.
pub(super) fn scan(lines: &[Line<'_>]) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    for (index, line) in lines.iter().enumerate() {
        if let Some(prefix) = root(&line.text) {
            open = Some(prefix);
            found.push(vec![index]);
        } else if let Some(last) = open.and(found.last_mut()) {
            // Lines of a tree have at least the blank that the root's `-` stands above.
            let branch = open.and_then(|prefix| line.text.get(prefix..)).is_some_and(is_branch);
            if branch {
                last.push(index);
            } else {
                open = None;
            }
        }
    }
    found
}

/// Where the tree begins on its first line: `-[0000:00]-+-00.0`, `-+-[0000:80]-+-00.0`.
fn root(text: &str) -> Option<usize> {
    let bracket = text.find("-[")?;
    let front = text.get(..bracket)?;
    let start = if front.ends_with("-+") { bracket - 2 } else { bracket };
    let (prefix, inside) = (text.get(..start)?, text.get(bracket + 2..)?);
    let quiet = prefix.trim_end().is_empty() || prefix.trim_end().ends_with([':', '>', ']']);
    (quiet && bus_of(inside.split_once(']')?.0).is_some()).then_some(start)
}

fn is_branch(text: &str) -> bool {
    let rest = text.trim_start_matches([' ', '|', '\t']);
    rest.starts_with("+-") || rest.starts_with("\\-") || rest.is_empty() && text.contains('|')
}

/// `0000:80`, `80`, `80-8f`: domain and bus.
fn bus_of(text: &str) -> Option<(u32, BusRange)> {
    let (domain, buses) = text.rsplit_once(':').unwrap_or(("0000", text));
    let (first, last) = buses.split_once('-').unwrap_or((buses, buses));
    let number = |digits: &str| (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten();
    let domain = u32::from_str_radix(domain, 16).ok().filter(|_| (4..=8).contains(&domain.len()))?;
    Some((domain, BusRange { secondary: number(first)?, subordinate: number(last)? }))
}

/// What hangs at a `+` or `\` in a column.
#[derive(Debug, Clone, Copy)]
enum Stem {
    /// Root buses.
    Roots,
    /// The functions of a bus.
    Bus { domain: u32, bus: u8, bridge: Option<usize> },
}

/// The functions of a tree, and the lines whose place in it is clear.
pub(super) fn read(
    indices: &[usize],
    part: &Part<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Host, Vec<usize>) {
    let host = Host { format: "lspci", ..Host::default() };
    let mut tree = Tree { host, stems: BTreeMap::new(), start: 0, shift: 0 };
    let mut used = Vec::new();
    let mut lost: Vec<usize> = Vec::new();
    for (nth, index) in indices.iter().enumerate() {
        let Some(line) = part.lines.get(*index) else { continue };
        let start = if nth == 0 { root(&line.text).unwrap_or(0) } else { 0 };
        let placed = if nth == 0 { tree.first(line, start) } else { tree.further(line) };
        if placed {
            used.push(*index);
        } else {
            lost.push(*index);
        }
    }
    if let Some(first) = lost.first() {
        let text = part.lines.get(*first).map_or("", |line| line.text.trim());
        let message = format!(
            "the place in the tree of {} lines is unclear; the first is `{}`",
            lost.len(),
            short(text)
        );
        let finding = Diagnostic::warning(codes::TREE_BROKEN, message);
        let hint = "the blanks that begin each line say where it belongs; paste the tree as it was printed";
        diagnostics.push(at(finding.hint(hint), part, *first, 0, ""));
    }
    (tree.host, used)
}

struct Tree {
    host: Host,
    /// By the column of its branches.
    stems: BTreeMap<usize, Stem>,
    /// The column of the `-` that the tree begins with.
    start: usize,
    /// Blanks that the line at hand has lost at its start.
    shift: usize,
}

impl Tree {
    fn first(&mut self, line: &Line<'_>, start: usize) -> bool {
        self.start = start;
        let text = &line.text;
        if text.get(start..).is_some_and(|text| text.starts_with("-+")) {
            self.stems.insert(start + 1, Stem::Roots);
            return self.hang(line, start + 2, Stem::Roots);
        }
        self.hang(line, start, Stem::Roots)
    }

    /// A line that begins with a branch of something above it.
    fn further(&mut self, line: &Line<'_>) -> bool {
        let Some(column) = line.text.find(['+', '\\']) else { return true };
        // No branch stands left of the first one below the `-` of the root.
        let first = line.text.find(['+', '\\', '|']).unwrap_or(column);
        self.shift = (self.start + 1).saturating_sub(first);
        let place = column + self.shift;
        let Some(stem) = self.stems.get(&place).copied() else { return false };
        // What branched further right has ended.
        self.stems.split_off(&(place + 1));
        if line.text[column..].starts_with('\\') {
            self.stems.remove(&place);
        }
        self.hang(line, column + 1, stem)
    }

    /// Reads from byte `from` what hangs on `stem`: dashes, then a root bus or a function, then what is below.
    fn hang(&mut self, line: &Line<'_>, from: usize, stem: Stem) -> bool {
        let (mut at, mut stem) = (from, stem);
        let text: &str = &line.text;
        // A chain of bridges on one line goes through at most all buses.
        for _ in 0..256 {
            while text[at..].starts_with('-') {
                at += 1;
            }
            if text[at..].starts_with('+') {
                self.stems.insert(at + self.shift, stem);
                at += 1;
                continue;
            }
            let Some(rest) = text.get(at..).filter(|rest| !rest.trim().is_empty()) else { return true };
            let next = match stem {
                Stem::Roots => {
                    let Some((domain, range, length)) = bracket(rest) else { return false };
                    (Some(Stem::Bus { domain, bus: range.secondary, bridge: None }), length)
                }
                Stem::Bus { domain, bus, bridge } => {
                    let Some((next, length)) = self.function(line, rest, domain, bus, bridge) else {
                        return false;
                    };
                    (next, length)
                }
            };
            let (Some(below), length) = next else { return true };
            (stem, at) = (below, at + length);
        }
        false
    }

    /// `01.0-[01-05]` or `00.0  NVIDIA Corporation …`: adds it, and says what is below and how long its text is.
    fn function(
        &mut self,
        line: &Line<'_>,
        rest: &str,
        domain: u32,
        bus: u8,
        bridge: Option<usize>,
    ) -> Option<(Option<Stem>, usize)> {
        let label = rest.get(..4)?;
        let address: PciAddress = format!("{domain:04x}:{bus:02x}:{label}").parse().ok()?;
        let index = self.host.devices.len();
        let mut device =
            Device { address: address.to_string(), parent: bridge, line: line.number, ..Device::default() };
        let behind = rest.get(4..)?;
        let below = behind.strip_prefix('-').and_then(bracket);
        if let Some((domain, buses, length)) = below {
            device.class = Some(0x0604);
            device.details = PciDetails { buses: Some(buses), ..PciDetails::default() };
            self.host.devices.push(device);
            let stem =
                Stem::Bus { domain: domain.max(address.domain), bus: buses.secondary, bridge: Some(index) };
            return Some((Some(stem), 5 + length));
        }
        let (name, ids) = without_ids(without_notes(behind));
        (device.vendor, device.device) = ids;
        device.vendor = device.vendor.or_else(|| vendor_of(name));
        device.class = device.vendor.and_then(|vendor| class_of_name(vendor, name));
        device.name = Some(name.to_owned()).filter(|name| !name.is_empty());
        self.host.devices.push(device);
        Some((None, 0))
    }
}

/// `[0000:80]` or `[02-05]` at the start of `text`: domain, buses and its length.
fn bracket(text: &str) -> Option<(u32, BusRange, usize)> {
    let end = text.find(']')?;
    let (domain, buses) = bus_of(text.get(1..end).filter(|_| text.starts_with('['))?)?;
    Some((domain, buses, end + 1))
}
