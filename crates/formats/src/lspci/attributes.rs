//! What stands below the first line of a function: one statement a line, `Key: value`, or `Key:` and further lines.

use weft_base::{Bytes, Diagnostic};

use super::at;
use super::header::without_ids;
use crate::codes;
use crate::evidence::{BusRange, Device, PcieState, Region, VirtualFunctions};
use crate::format::Part;
use crate::ranges::short;

/// Keys whose lines are taken even where the indentation was lost.
const KEYS: &[&str] = &[
    "Physical Slot: ",
    "NUMA node: ",
    "IOMMU group: ",
    "Control: I/O",
    "Status: Cap",
    "Latency: 0",
    "Interrupt: pin",
    "Bus: primary",
    "Region 0: ",
    "Region 1: ",
    "Region 2: ",
    "Region 3: ",
    "Region 4: ",
    "Region 5: ",
    "Capabilities: [",
    "DevCap:",
    "DevCtl:",
    "DevSta:",
    "LnkCap:",
    "LnkCtl:",
    "LnkSta:",
    "ACSCap:",
    "ACSCtl:",
    "UESta:",
    "CESta:",
    "ATSCtl:",
    "Kernel driver in use: ",
    "Kernel modules: ",
];

/// Whether `text` begins as one of the lines that matter.
pub(super) fn is_known_key(text: &str) -> bool {
    KEYS.iter().any(|key| text.starts_with(key))
}

/// Puts statements into a device, one line after the other.
pub(super) struct Attributes<'a, 'p> {
    part: &'a Part<'p>,
    device: &'a mut Device,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// The statement that a line without a key goes on with.
    key: String,
    /// The capability that the lines belong to; empty above the first.
    capability: String,
    node: Option<u32>,
    denied: bool,
}

impl<'a, 'p> Attributes<'a, 'p> {
    pub fn new(part: &'a Part<'p>, device: &'a mut Device, diagnostics: &'a mut Vec<Diagnostic>) -> Self {
        let (key, capability) = (String::new(), String::new());
        Self { part, device, diagnostics, key, capability, node: None, denied: false }
    }

    /// The number of its NUMA node.
    pub fn node(&self) -> Option<u32> {
        self.node
    }

    /// Whether its capabilities could not be read.
    pub fn denied(&self) -> bool {
        self.denied
    }

    /// Reads the line at `index`, of which `prefix` bytes stand before everything.
    pub fn take(&mut self, index: usize, prefix: usize) {
        let part = self.part;
        let Some(line) = part.lines.get(index) else { return };
        let text = line.text.get(prefix..).unwrap_or("").trim();
        let value = match text.split_once(':') {
            Some((key, value)) if is_key(key) => {
                key.clone_into(&mut self.key);
                value.trim()
            }
            Some(_) | None => text,
        };
        let offset = line.text.find(value).unwrap_or(0);
        let key = std::mem::take(&mut self.key);
        self.statement(&key, value, (index, offset));
        self.key = key;
    }

    fn statement(&mut self, key: &str, value: &str, place: (usize, usize)) {
        let details = &mut self.device.details;
        let word = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match key {
            "Subsystem" => {
                let (_, ids) = without_ids(value);
                (self.device.subsystem_vendor, self.device.subsystem) = ids;
            }
            "Physical Slot" => details.slot = word(),
            "Kernel driver in use" => details.driver = word(),
            "NUMA node" => self.node = value.parse().ok(),
            "IOMMU group" => details.iommu_group = value.parse().ok(),
            "Bus" => details.buses = buses(value).or(details.buses),
            "Capabilities" => self.capability(value),
            "LnkCap" => self.link(value, place, true),
            "LnkSta" => self.link(value, place, false),
            "ACSCtl" => self.device.acs = word(),
            "DevSta" | "UESta" | "CESta" => self.errors(key, value),
            "DevCtl" => self.control(value),
            "ATSCtl" => details.ats = flag(value, "Enable").or(details.ats),
            "Initial VFs" => {
                let total = number_behind(value, "Total VFs: ");
                let enabled = number_behind(value, "Number of VFs: ");
                let both = total.zip(enabled);
                details.virtual_functions = both.map(|(total, enabled)| VirtualFunctions { enabled, total });
            }
            _ if self.capability.is_empty() => self.region(key, value),
            _ if key.starts_with("BAR ") && self.capability.contains("Resizable BAR") => {
                self.resizable(key, value);
            }
            _ => {}
        }
    }

    /// `[60] Express (v2) Endpoint, MSI 00`.
    fn capability(&mut self, value: &str) {
        self.denied |= value.contains("access denied");
        let name = value.split_once(']').map_or(value, |(_, name)| name.trim());
        name.clone_into(&mut self.capability);
        let express = name.strip_prefix("Express ").and_then(|rest| rest.split_once(") "));
        if let Some((_, kind)) = express {
            let end = kind.find([',', '(']).unwrap_or(kind.len());
            self.device.details.port_kind = Some(kind[..end].trim().to_owned());
        }
    }

    /// `Speed 16GT/s (downgraded), Width x16 (ok)`.
    fn link(&mut self, value: &str, (index, offset): (usize, usize), capability: bool) {
        let field = |name: &str| {
            let behind = value.split_once(name)?.1;
            Some(behind.split([',', ' ']).next().unwrap_or(""))
        };
        let (speed, width) = (field("Speed "), field("Width x"));
        let state = PcieState {
            speed: speed.and_then(|speed| speed.parse().ok()),
            lanes: width.and_then(|width| width.parse().ok()).filter(|lanes| *lanes > 0),
        };
        let odd = speed.filter(|speed| state.speed.is_none() && *speed != "unknown");
        let odd = odd.or(width.filter(|width| state.lanes.is_none() && !["0", "255"].contains(width)));
        if let Some(odd) = odd {
            let message = format!("cannot read the speed or width `{}` of a link", short(odd));
            let finding = Diagnostic::warning(codes::LINK_UNREADABLE, message);
            let hint = "expected as in `Speed 16GT/s, Width x16`; it counts as unknown";
            let offset = offset + value.find(odd).unwrap_or(0);
            self.diagnostics.push(at(finding.hint(hint), self.part, index, offset, odd));
        }
        let slot = if capability { &mut self.device.link_capability } else { &mut self.device.link };
        // The line may come in two halves, or with a second one that says less.
        slot.speed = slot.speed.or(state.speed);
        slot.lanes = slot.lanes.or(state.lanes.filter(|lanes| *lanes <= 32));
    }

    /// Bits that are set: `CorrErr+`.
    fn errors(&mut self, register: &str, value: &str) {
        // These two say that something is under way or powered, not that something went wrong.
        let harmless = ["AuxPwr", "TransPend"];
        let set = value.split_whitespace().filter_map(|word| word.strip_suffix('+'));
        for name in set.filter(|name| !harmless.contains(name)) {
            let name = format!("{register} {name}");
            if !self.device.details.errors.contains(&name) {
                self.device.details.errors.push(name);
            }
        }
    }

    fn control(&mut self, value: &str) {
        let details = &mut self.device.details;
        let bytes = |name: &str| number_behind(value, name).map(|count: u64| Bytes::new(count));
        details.relaxed_ordering = flag(value, "RlxdOrd").or(details.relaxed_ordering);
        details.max_payload = bytes("MaxPayload ").or(details.max_payload);
        details.max_read_request = bytes("MaxReadReq ").or(details.max_read_request);
    }

    /// `Region 0: Memory at 4404… (64-bit, prefetchable) [size=16M]`, without the number where `-v` was given once.
    fn region(&mut self, key: &str, value: &str) {
        let number = key.strip_prefix("Region ").and_then(|number| number.parse().ok());
        if !value.contains("Memory at ") {
            return;
        }
        let size = value.rsplit_once("[size=").and_then(|(_, size)| size_of(size.split(']').next()?));
        self.device.details.regions.push(Region { number, size, largest: None });
    }

    /// `BAR 1: current size: 128GB, supported: 64MB 128MB … 128GB`.
    fn resizable(&mut self, key: &str, value: &str) {
        let number: Option<u8> = key.strip_prefix("BAR ").and_then(|number| number.parse().ok());
        let largest = value
            .split_once("supported: ")
            .and_then(|(_, sizes)| sizes.split_whitespace().filter_map(size_of).max());
        let current =
            value.split_once("current size: ").and_then(|(_, size)| size_of(size.split(',').next()?));
        let regions = &mut self.device.details.regions;
        match regions.iter_mut().find(|region| region.number == number && number.is_some()) {
            Some(region) => region.largest = largest,
            None => regions.push(Region { number, size: current, largest }),
        }
    }
}

/// Whether the text before a colon is the name of a statement rather than part of a value.
fn is_key(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_uppercase());
    begins
        && text.len() <= 24
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" /-_".contains(&byte))
}

/// `primary=40, secondary=41, subordinate=45, sec-latency=0`.
fn buses(value: &str) -> Option<BusRange> {
    let bus = |name: &str| u8::from_str_radix(value.split_once(name)?.1.split(',').next()?.trim(), 16).ok();
    let (secondary, subordinate) = (bus("secondary=")?, bus("subordinate=")?);
    (secondary > 0).then_some(BusRange { secondary, subordinate })
}

/// `RlxdOrd+` or `RlxdOrd-`.
fn flag(value: &str, name: &str) -> Option<bool> {
    let found =
        value.split(|c: char| c.is_whitespace() || c == ',').find_map(|word| word.strip_prefix(name))?;
    match found {
        "+" => Some(true),
        "-" => Some(false),
        _ => None,
    }
}

fn number_behind<T: std::str::FromStr>(value: &str, name: &str) -> Option<T> {
    let behind = value.split_once(name)?.1;
    behind.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// `16M`, `128GB`, `4K`, `256`: the tool means powers of two.
fn size_of(text: &str) -> Option<Bytes> {
    let text = text.trim().trim_end_matches('B');
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G', 'T']) {
        Some(digits) if text.ends_with('K') => (digits, 10),
        Some(digits) if text.ends_with('M') => (digits, 20),
        Some(digits) if text.ends_with('G') => (digits, 30),
        Some(digits) => (digits, 40),
        None => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).map(Bytes::new)
}
