//! From the lines of a region to a subnet.

use std::collections::BTreeMap;

use weft_base::{Diagnostic, Guid};
use weft_catalogue::Catalogue;
use weft_topology::{Rates, Signalling, Subnet, SubnetEnd, SubnetNode, SubnetNodeKind};

use super::record::{Header, Id, Identity, Plugged, Record, record};
use crate::codes;
use crate::evidence::Evidence;
use crate::fabric_check::{Statement, diagnose, join, place};
use crate::format::{Located, Part, Read};
use crate::ranges;

/// What `ibsim` counts adapters, switches and routers from where a net file gives no GUID.
const ADAPTER_GUIDS: u64 = 0x10_0000;
const SWITCH_GUIDS: u64 = 0x20_0000;

/// Reads a region; all lines of the part that state nothing of a subnet are left unused.
pub(crate) fn read(part: &Part<'_>, catalogue: &Catalogue) -> Read {
    let mut assembly = Assembly { next: [ADAPTER_GUIDS, SWITCH_GUIDS, 0], ..Assembly::default() };
    let mut used = Vec::with_capacity(part.lines.len());
    for (index, line) in part.lines.iter().enumerate() {
        // Nearly all lines are ports, which come later.
        if !line.text.starts_with('[') && assembly.note_node(&record(&line.text), line.number) {
            used.push(index);
        }
    }
    // Headers first: a port may lead to a node whose header comes later.
    let mut statements = Vec::new();
    assembly.restart();
    for (index, line) in part.lines.iter().enumerate() {
        match record(&line.text) {
            Record::Header(header) => assembly.enter(&header),
            Record::Module(prefix) => prefix.clone_into(&mut assembly.prefix),
            Record::Port(port) => {
                if let Some(statement) = assembly.statement(&port, line.number) {
                    statements.push(statement);
                    used.push(index);
                }
            }
            Record::Blank
            | Record::Comment { .. }
            | Record::Identity(_)
            | Record::Section
            | Record::Other => {}
        }
    }
    used.sort_unstable();
    if assembly.subnet.nodes.is_empty() {
        return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
    }
    let mut subnet = assembly.subnet;
    join(&mut subnet, statements, &Rates::new(catalogue));
    let mut diagnostics = diagnose(&subnet, part);
    diagnostics.extend(assembly.doubled.into_iter().map(|(line, finding)| finding.at(place(part, line))));
    ranges::sort(&mut diagnostics);
    let evidence = vec![Located { value: Evidence::Subnet(Box::new(subnet)), place: part.start() }];
    Read { evidence, diagnostics, unused: ranges::unused(&part.lines, &used) }
}

/// What names a node, owned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Guid(SubnetNodeKind, Guid),
    Name(String),
}

#[derive(Default)]
struct Assembly {
    subnet: Subnet,
    guids: BTreeMap<(SubnetNodeKind, Guid), u32>,
    names: BTreeMap<String, u32>,
    /// What the lines above the next header say.
    vendor: Option<u32>,
    device: Option<u32>,
    system: Option<Guid>,
    guid: Option<Guid>,
    /// The next GUIDs of a net file that gives none.
    next: [u64; 3],
    prefix: String,
    here: Option<u32>,
    /// Nodes that are listed again, by line.
    doubled: Vec<(u32, Diagnostic)>,
}

impl Assembly {
    fn restart(&mut self) {
        self.prefix.clear();
        self.here = None;
    }

    /// Takes all that is no port; whether the line was one of ours.
    fn note_node(&mut self, record: &Record<'_>, line: u32) -> bool {
        match record {
            Record::Blank | Record::Other | Record::Port(_) => return false,
            Record::Comment { .. } | Record::Section => {}
            Record::Identity(Identity::Vendor(vendor)) => self.vendor = Some(*vendor).filter(|id| *id != 0),
            Record::Identity(Identity::Device(device)) => self.device = Some(*device).filter(|id| *id != 0),
            Record::Identity(Identity::System(system)) => self.system = Some(*system),
            Record::Identity(Identity::Node(guid)) => self.guid = Some(*guid),
            Record::Module(prefix) => (*prefix).clone_into(&mut self.prefix),
            Record::Header(header) => self.add(header, line),
        }
        true
    }

    fn key(&self, id: &Id<'_>) -> Key {
        match id {
            Id::Guid(kind, guid) => Key::Guid(*kind, *guid),
            Id::Name(name) if self.prefix.is_empty() || name.contains('#') => Key::Name((*name).to_owned()),
            Id::Name(name) => Key::Name(format!("{}#{name}", self.prefix)),
        }
    }

    fn find(&self, key: &Key) -> Option<u32> {
        match key {
            Key::Guid(kind, guid) => self.guids.get(&(*kind, *guid)).copied(),
            Key::Name(name) => self.names.get(name).copied(),
        }
    }

    fn insert(&mut self, key: Key, node: SubnetNode) -> u32 {
        let index = u32::try_from(self.subnet.nodes.len()).unwrap_or(u32::MAX);
        match key {
            Key::Guid(kind, guid) => self.guids.insert((kind, guid), index),
            Key::Name(name) => self.names.insert(name, index),
        };
        self.subnet.nodes.push(node);
        index
    }

    fn add(&mut self, header: &Header<'_>, line: u32) {
        let key = self.key(&header.id);
        let guid = self.next_guid(header, &key);
        let (vendor, device) = (self.vendor.take(), self.device.take());
        let system_guid = self.system.take();
        if let Some(first) = self.find(&key) {
            let first = &self.subnet.nodes[first as usize];
            let same = first.name == header.remark.name && first.ports == header.ports;
            let message = if same {
                format!("{} is listed again; the first time was on line {}", first.guid, first.line)
            } else {
                format!(
                    "`{}` has the GUID {} of `{}` on line {}",
                    ranges::short(header.remark.name),
                    first.guid,
                    ranges::short(&first.name),
                    first.line
                )
            };
            let severity = if same { Diagnostic::note } else { Diagnostic::warning };
            self.doubled.push((line, severity(codes::FABRIC_GUID_TWICE, message)));
            return;
        }
        let name = match (&key, header.remark.name) {
            (Key::Name(id), "") => id.clone(),
            (_, name) => name.to_owned(),
        };
        let lid = header.remark.named_lid;
        let node = SubnetNode::new(header.kind, guid, name, header.ports);
        let lmc = header.remark.named_lmc;
        self.insert(key, SubnetNode { system_guid, lid, lmc, vendor, device, line, ..node });
    }

    /// The GUID that the lines above give, or the id itself, or what `ibsim` would count to.
    fn next_guid(&mut self, header: &Header<'_>, key: &Key) -> Guid {
        let (slot, step) = match header.kind {
            SubnetNodeKind::Adapter => (0, u64::from(header.ports) + 1),
            SubnetNodeKind::Switch => (1, 1),
            SubnetNodeKind::Router => (2, u64::from(header.ports) + 1),
        };
        let own = match (self.guid.take(), key) {
            (Some(given), _) => Some(given),
            (None, Key::Guid(_, guid)) => Some(*guid),
            (None, Key::Name(_)) => None,
        };
        let guid = own.map_or(self.next[slot], Guid::get);
        self.next[slot] = guid.saturating_add(step);
        Guid::new(guid)
    }

    fn enter(&mut self, header: &Header<'_>) {
        let key = self.key(&header.id);
        self.here = self.find(&key);
    }

    /// What a port's line states; `None` where no header stands above it.
    fn statement(&mut self, port: &Plugged<'_>, line: u32) -> Option<Statement> {
        let here = self.here?;
        let key = self.key(&port.far);
        let far = self.find(&key).unwrap_or_else(|| self.unlisted(key, port));
        let own = &self.subnet.nodes[here as usize];
        let is_switch = own.kind == SubnetNodeKind::Switch;
        let lid = if is_switch { own.lid } else { port.remark.lid };
        if !is_switch {
            let node = &mut self.subnet.nodes[here as usize];
            node.lmc = node.lmc.max(port.remark.lmc);
        }
        let signalling: Option<Signalling> = port.signalling;
        let from = SubnetEnd { node: here, port: port.port, lid, guid: port.guid, signalling, line };
        let to = SubnetEnd {
            lid: port.remark.named_lid,
            guid: port.far_guid,
            ..SubnetEnd::new(far, port.far_port)
        };
        Some(Statement { from, to })
    }

    /// A node that only cables name: the text is cut.
    fn unlisted(&mut self, key: Key, port: &Plugged<'_>) -> u32 {
        let (kind, guid, name) = match &key {
            Key::Guid(kind, guid) => (*kind, *guid, port.remark.name.to_owned()),
            Key::Name(name) => (SubnetNodeKind::Adapter, Guid::default(), name.clone()),
        };
        let lid = port.remark.named_lid.filter(|_| kind == SubnetNodeKind::Switch);
        self.insert(key, SubnetNode { lid, ..SubnetNode::new(kind, guid, name, 0) })
    }
}
