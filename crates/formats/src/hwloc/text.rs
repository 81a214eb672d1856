//! What `lstopo` prints on a terminal, with `-v` or without.

use std::borrow::Cow;

use weft_base::Bytes;
use weft_catalogue::Catalogue;

use super::host::build;
use super::object::{Kind, Object, Pci, buses, ids};
use crate::evidence::{Evidence, OsDeviceKind};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct LstopoText;

impl Format for LstopoText {
    fn name(&self) -> &'static str {
        "lstopo-text"
    }

    fn title(&self) -> &'static str {
        "a host as lstopo prints it on a terminal"
    }

    fn command(&self) -> Option<&'static str> {
        Some("lstopo --whole-io --of console -v")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Package L#", "Socket L#", "NUMANode L#", "Core L#", "PU L#", "HostBridge"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        scan(text.lines).into_iter().map(|run| Claim::yes(run.all)).collect()
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let mut read = Read::default();
        let mut used = Vec::new();
        for run in scan(&part.lines) {
            let lines = part.lines.get(run.objects.clone()).unwrap_or_default();
            let objects = objects(lines, run.prefix);
            let host = build(&objects, "hwloc").host;
            if !(host.devices.is_empty() && host.numa.is_empty() && host.packages.is_empty()) {
                let place = part.start_at(run.all.start);
                read.evidence.push(Located { value: Evidence::Host(Box::new(host)), place });
                used.extend(run.all);
            }
        }
        Read { unused: ranges::unused(&part.lines, &used), ..read }
    }
}

/// What one call printed.
struct Run {
    /// All its lines.
    all: std::ops::Range<usize>,
    /// Those with objects.
    objects: std::ops::Range<usize>,
    /// Bytes before the first object.
    prefix: usize,
}

/// Lines that follow the objects with `-v`.
const TAIL: &[&str] = &["depth ", "Special depth", "Relative ", "Topology ", "latency matrix", "index "];

fn scan(lines: &[Line<'_>]) -> Vec<Run> {
    let mut found: Vec<Run> = Vec::new();
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        let Some(prefix) = machine(&line.text) else {
            index += 1;
            continue;
        };
        let inside = |line: &&Line<'_>| {
            let rest = line.text.get(prefix..).unwrap_or_default();
            rest.starts_with([' ', '\t']) && kind_of(rest.trim_start()).is_some()
        };
        let objects = lines[index + 1..].iter().take_while(inside).count();
        let end = index + 1 + objects;
        let tail = |line: &&Line<'_>| {
            let rest = line.text.get(prefix..).unwrap_or_default().trim_start();
            // Rows of a matrix begin with a number.
            !rest.is_empty()
                && (TAIL.iter().any(|word| rest.starts_with(word))
                    || rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ' || byte == b'.'))
        };
        let tail = lines[end..].iter().take_while(tail).count();
        // The machine alone is no topology, but a sentence.
        if objects > 0 {
            found.push(Run { all: index..end + tail, objects: index..end, prefix });
        }
        index = end + tail;
    }
    found
}

/// Where `Machine (` or `Machine L#0` begins on a line that holds little else.
fn machine(text: &str) -> Option<usize> {
    let at = text.find("Machine")?;
    let (before, after) = (text.get(..at)?.trim_end(), text.get(at + "Machine".len()..)?);
    let quiet = before.is_empty() || before.ends_with([':', '>', ']']);
    (quiet && (after.starts_with(" (") || after.starts_with(" L#") || after.trim().is_empty())).then_some(at)
}

/// The kind of the object that `text` begins with, and the rest.
fn kind_of(text: &str) -> Option<(Kind, Option<&str>, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == ',')).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    // `GPU(NVML)`, `NUMANode(GPUMemory)`, `Block(Disk)`.
    let (subtype, rest) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((subtype, rest)) => (Some(subtype), rest),
        None => (None, rest),
    };
    let kind = match word.split(',').next().unwrap_or(word) {
        "Machine" => Kind::Machine,
        "Package" | "Socket" => Kind::Package,
        "NUMANode" => Kind::Numa,
        "HostBridge" | "Host" => Kind::HostBridge,
        "PCIBridge" | "PCI" | "Bridge" => Kind::Pci,
        "Net" | "Network" => Kind::Os(OsDeviceKind::Network),
        "OpenFabrics" | "RDMA" => Kind::Os(OsDeviceKind::Rdma),
        "Block" | "Storage" => Kind::Os(OsDeviceKind::Storage),
        "GPU" => Kind::Os(OsDeviceKind::Display),
        "CoProc" | "Co-Processor" => Kind::Os(OsDeviceKind::Coprocessor),
        "DMA" => Kind::Os(OsDeviceKind::Dma),
        "Memory" => Kind::Os(OsDeviceKind::Memory),
        "L1" | "L2" | "L3" | "L4" | "L5" | "L1d" | "L1i" | "L1dCache" | "L1iCache" | "L1Cache"
        | "L2Cache" | "L3Cache" | "L4Cache" | "L5Cache" | "Core" | "PU" | "Group" | "Group0" | "Group1"
        | "Group2" | "Die" | "Misc" | "MemCache" | "MemoryModule" | "Cluster" => Kind::Other,
        _ => return None,
    };
    Some((kind, subtype, rest))
}

/// The objects of a run, by their indentation.
fn objects(lines: &[Line<'_>], prefix: usize) -> Vec<Object> {
    let mut found: Vec<Object> = Vec::new();
    // Indentation and object of what is open.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for line in lines {
        let text = line.text.get(prefix..).unwrap_or_default();
        let body = text.trim_start();
        let indent = text.len() - body.len();
        while open.last().is_some_and(|(depth, _)| *depth >= indent) {
            open.pop();
        }
        let mut parent = open.last().map(|(_, index)| *index);
        // `Package L#0 + L3 L#0 (20MB)` is one in the other.
        for piece in pieces(body) {
            let Some((kind, subtype, rest)) = kind_of(piece) else { continue };
            let object =
                object(kind, subtype, rest, Object { parent, line: line.number, ..Object::default() });
            // A NUMA node holds nothing in new versions and all in old ones.
            parent = Some(found.len());
            open.push((indent, found.len()));
            found.push(object);
        }
    }
    found
}

/// `text` cut at each ` + ` that stands outside of brackets and quotes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth = depth.saturating_sub(1),
            b'+' if !quoted && depth == 0 && text[..at].ends_with(' ') && text[at + 1..].starts_with(' ') => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found
}

/// ` L#0 (P#0 local=124GiB …) "eth0"`, put into `object`.
fn object(kind: Kind, subtype: Option<&str>, rest: &str, mut object: Object) -> Object {
    object.kind = kind;
    object.subtype = subtype.map(str::to_owned);
    let brackets = rest.find('(').zip(rest.rfind(')')).filter(|(open, close)| open < close);
    let inside = brackets.map_or("", |(open, close)| &rest[open + 1..close]);
    let outside = brackets.map_or(Cow::Borrowed(rest), |(open, close)| {
        Cow::Owned(format!("{} {}", &rest[..open], &rest[close + 1..]))
    });
    object.name = outside.split('"').nth(1).map(str::to_owned);
    for (name, value) in statements(inside) {
        match name {
            "P" => object.number = value.parse().ok(),
            "local" => object.memory = size_of(value),
            "total" | "" if kind == Kind::Numa => object.memory = object.memory.or_else(|| size_of(value)),
            _ => object.infos.push((name.to_owned(), value.to_owned())),
        }
    }
    object.number = object.number.or_else(|| {
        let number = outside.split_whitespace().find_map(|word| word.strip_prefix("P#"))?;
        number.parse().ok()
    });
    object.pci = (kind == Kind::Pci).then(|| function(&object, &outside, inside));
    object
}

/// `P#0`, `busid=0000:3b:00.0`, `CPUModel="IBM POWER9"`; a value alone has no name.
fn statements(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let name_end = rest.find(['=', '#', ' ']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(name_end);
        let Some(value) = behind.strip_prefix(['=', '#']) else {
            found.push(("", name));
            rest = behind.trim_start();
            continue;
        };
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => value.split_once(' ').unwrap_or((value, "")),
        };
        found.push((name, value));
        rest = after.trim_start();
    }
    found
}

fn function(object: &Object, outside: &str, inside: &str) -> Pci {
    let info = |name: &str| object.info(name);
    let address = info("busid").or_else(|| outside.split_whitespace().find(|word| is_address(word)));
    let class = info("class").and_then(|class| u16::from_str_radix(class.get(..4)?, 16).ok());
    let numbers =
        info("id").or_else(|| outside.split_whitespace().find(|word| word.len() == 9 && word.contains(':')));
    let (vendor, device) = numbers.map(ids).unwrap_or_default();
    let link = info("link").and_then(|link| link.trim_end_matches("GB/s").parse().ok());
    let bridge = info("buses").is_some() || outside.trim().is_empty();
    Pci {
        address: address.unwrap_or_default().to_owned(),
        class: class.or_else(|| class_of_word(inside)).or(bridge.then_some(0x0604)),
        vendor,
        device,
        link_gigabytes: link,
        buses: info("buses").and_then(buses),
        ..Pci::default()
    }
}

fn is_address(word: &str) -> bool {
    word.parse::<crate::pci::PciAddress>().is_ok()
}

/// hwloc's short words for classes.
fn class_of_word(word: &str) -> Option<u16> {
    Some(match word {
        "3D" => 0x0302,
        "VGA" => 0x0300,
        "Display" => 0x0380,
        "Ethernet" => 0x0200,
        "InfiniBand" => 0x0207,
        "Fabric" => 0x0208,
        "Network" => 0x0280,
        "PCIBridge" => 0x0604,
        "NVMExp" | "NVMe" => 0x0108,
        "NVM" => 0x0108,
        "SATA" => 0x0106,
        "SAS" => 0x0107,
        "IDE" => 0x0101,
        "RAID" => 0x0104,
        "SCSI" => 0x0100,
        "ProcessingAccelerator" => 0x1200,
        "Co-Processor" => 0x0b40,
        _ => return None,
    })
}

/// `124GiB`, `24GB`: older versions wrote GB and meant GiB.
fn size_of(text: &str) -> Option<Bytes> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit {
        "KB" | "KiB" => 10,
        "MB" | "MiB" => 20,
        "GB" | "GiB" => 30,
        "TB" | "TiB" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).map(Bytes::new)
}
