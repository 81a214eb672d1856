//! Lines made into a subnet. A line names the far end by LID, port and description only (with `-l` also by GUID),
//! so that the two ends of a cable are found by what each says of the other.

use std::collections::{BTreeMap, BTreeSet};

use weft_base::{Diagnostic, Guid, TransferRate};
use weft_catalogue::Catalogue;
use weft_topology::{Generation, Rates, Signalling, Subnet, SubnetEnd, SubnetNode, SubnetNodeKind};

use super::line::{self, End, Header, PortLine};
use crate::codes;
use crate::evidence::Evidence;
use crate::fabric_check::{self, Statement};
use crate::format::{Located, Part, Read};
use crate::ranges;

/// Reads all ports of `part`.
pub(super) fn read(part: &Part<'_>, catalogue: &Catalogue) -> Read {
    let mut builder = Builder::new(catalogue);
    let mut header = None;
    let mut used = Vec::new();
    for (index, line) in part.lines.iter().enumerate() {
        if let Some(found) = line::port(&line.text) {
            used.push(index);
            builder.take(&found, header.as_ref(), line.number);
        } else if let Some(found) = line::header(&line.text) {
            used.push(index);
            builder.open(&found, line.number);
            header = Some(found);
        }
    }
    let unused = ranges::unused(&part.lines, &used);
    if builder.rows.is_empty() {
        return Read { unused, ..Read::default() };
    }
    let (subnet, mut diagnostics) = builder.finish(part);
    diagnostics.extend(fabric_check::diagnose(&subnet, part));
    ranges::sort(&mut diagnostics);
    let evidence = vec![Located { value: Evidence::Subnet(Box::new(subnet)), place: part.start() }];
    Read { evidence, diagnostics, unused }
}

/// What a node is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    Guid(Guid),
    /// An adapter without a header: its description, and the GUID before that of its first port.
    Adapter(&'a str, u64),
    Lid(u16),
    Name(&'a str),
}

/// One line.
struct Row<'a> {
    end: SubnetEnd,
    /// The description of its node, where the text has it beside the port.
    name: Option<&'a str>,
    far: Option<End<'a>>,
    is_active: bool,
    is_cut: bool,
    could: Option<Signalling>,
}

struct Builder<'a, 'c> {
    catalogue: &'c Catalogue,
    /// Kinds of lanes, looked up once.
    generations: BTreeMap<TransferRate, Option<Generation>>,
    subnet: Subnet,
    /// Whether the text says what the node is.
    is_sure: Vec<bool>,
    known: BTreeMap<Key<'a>, u32>,
    /// The node of the header above; `None` until its first port, where the header is of an adapter.
    current: Option<u32>,
    /// Nodes of which several ports have one GUID.
    is_shared: BTreeSet<usize>,
    /// With `-l`: the port of each GUID.
    ports: BTreeMap<Guid, u16>,
    rows: Vec<Row<'a>>,
}

impl<'a, 'c> Builder<'a, 'c> {
    fn new(catalogue: &'c Catalogue) -> Self {
        Self {
            catalogue,
            generations: BTreeMap::new(),
            subnet: Subnet::default(),
            is_sure: Vec::new(),
            known: BTreeMap::new(),
            current: None,
            is_shared: BTreeSet::new(),
            ports: BTreeMap::new(),
            rows: Vec::new(),
        }
    }

    fn node(&mut self, key: Key<'a>, kind: SubnetNodeKind, is_sure: bool) -> u32 {
        let next = u32::try_from(self.subnet.nodes.len()).unwrap_or(u32::MAX);
        let node = *self.known.entry(key).or_insert(next);
        if node == next {
            self.subnet.nodes.push(SubnetNode::new(kind, Guid::default(), "", 0));
            self.is_sure.push(is_sure);
        }
        node
    }

    /// A header: a switch is known at once, an adapter by the GUID of its first port.
    fn open(&mut self, header: &Header<'a>, line: u32) {
        self.current = None;
        if let Some(guid) = header.guid {
            let node = self.node(Key::Guid(guid), header.kind, true);
            self.describe(node, Some(guid), Some(header.name), line);
            self.current = Some(node);
        }
    }

    fn describe(&mut self, node: u32, guid: Option<Guid>, name: Option<&str>, line: u32) {
        let node = &mut self.subnet.nodes[node as usize];
        if let Some(guid) = guid.filter(|_| node.guid == Guid::default()) {
            node.guid = guid;
        }
        if let Some(name) = name.filter(|_| node.name.is_empty()) {
            name.clone_into(&mut node.name);
        }
        if node.line == 0 {
            node.line = line;
        }
    }

    fn take(&mut self, found: &PortLine<'a>, header: Option<&Header<'a>>, line: u32) {
        let own = found.own;
        let node = self.own_node(&own, header);
        let is_switch = self.subnet.nodes[node as usize].kind == SubnetNodeKind::Switch;
        let name = own.name.or(header.filter(|_| self.current == Some(node)).map(|header| header.name));
        self.describe(node, own.guid, name, line);
        if own.port == 0 {
            return;
        }
        let known = &mut self.subnet.nodes[node as usize];
        known.ports = known.ports.max(own.port);
        known.lid = known.lid.or(own.lid.filter(|_| is_switch));
        let runs = found.runs.and_then(|(lanes, lane)| self.signalling(lanes, lane));
        let could = match (found.could, found.runs) {
            ((None, None), _) | (_, None) => None,
            ((lanes, lane), Some((own_lanes, own_lane))) => {
                self.signalling(lanes.unwrap_or(own_lanes), lane.unwrap_or(own_lane))
            }
        };
        let guid = own.guid.filter(|_| !is_switch);
        let end = SubnetEnd { lid: own.lid, guid, signalling: runs, line, ..SubnetEnd::new(node, own.port) };
        let is_active = found.runs.is_none() || found.state.starts_with("Active");
        let far = found.far.filter(|_| found.runs.is_some());
        self.rows.push(Row { end, name, far, is_active, is_cut: found.is_cut, could });
    }

    fn signalling(&mut self, lanes: u8, lane: TransferRate) -> Option<Signalling> {
        let catalogue = self.catalogue;
        let generation = self.generations.entry(lane).or_insert_with(|| Generation::of_lane(lane, catalogue));
        generation.map(|generation| Signalling::new(lanes, generation))
    }

    fn own_node(&mut self, own: &End<'a>, header: Option<&Header<'a>>) -> u32 {
        if own.name.is_some() {
            return self.listed(own);
        }
        if let Some(current) = self.current {
            return current;
        }
        let node = match (own.guid, own.lid) {
            (Some(guid), _) => self.node(Key::Guid(guid), SubnetNodeKind::Adapter, true),
            // Ports of switches are printed without a GUID.
            (None, Some(lid)) => self.node(Key::Lid(lid), SubnetNodeKind::Switch, true),
            (None, None) => self.node(Key::Name(""), SubnetNodeKind::Switch, true),
        };
        if header.is_some() {
            self.current = Some(node);
        }
        node
    }

    /// The node of an end that is printed with GUID and name: with `-l`, where nothing says what it is.
    fn listed(&mut self, end: &End<'a>) -> u32 {
        let (Some(guid), name) = (end.guid, end.name.unwrap_or_default()) else {
            return self.node(Key::Name(end.name.unwrap_or_default()), SubnetNodeKind::Adapter, false);
        };
        let port = *self.ports.entry(guid).or_insert(end.port);
        // A switch has one GUID for all ports, an adapter one for each, in a row.
        let base = Key::Adapter(name, guid.get().wrapping_sub(u64::from(end.port)));
        let known = self.known.get(&Key::Guid(guid)).or_else(|| self.known.get(&base)).copied();
        let node = known.unwrap_or_else(|| self.node(Key::Guid(guid), SubnetNodeKind::Adapter, false));
        self.known.entry(Key::Guid(guid)).or_insert(node);
        self.known.entry(base).or_insert(node);
        if port != end.port {
            self.is_shared.insert(node as usize);
        }
        node
    }

    fn finish(mut self, part: &Part<'_>) -> (Subnet, Vec<Diagnostic>) {
        let rows = std::mem::take(&mut self.rows);
        let mut statements = Vec::new();
        let mut could = BTreeMap::new();
        let places = Places::new(&rows, &self.subnet);
        for row in &rows {
            if let Some(signalling) = row.could {
                could.insert((row.end.node, row.end.port), signalling);
            }
            match &row.far {
                Some(far) => {
                    let to = self.far_end(row, far, &places);
                    statements.push(Statement { from: row.end, to });
                }
                None => self.subnet.down.push(SubnetEnd { signalling: None, ..row.end }),
            }
        }
        self.settle_kinds(&mut statements);
        let mut diagnostics: Vec<Diagnostic> = states(&rows, part).into_iter().collect();
        fabric_check::join(&mut self.subnet, statements, &Rates::new(self.catalogue));
        for link in &mut self.subnet.links {
            let of = |end: &SubnetEnd| could.get(&(end.node, end.port)).copied();
            link.capability = of(&link.a).or_else(|| of(&link.b));
        }
        diagnostics.extend(cut(&rows, part));
        (self.subnet, diagnostics)
    }

    /// The end that a line names.
    fn far_end(&mut self, row: &Row<'a>, far: &End<'a>, places: &Places<'_, 'a>) -> SubnetEnd {
        let own = self.subnet.nodes[row.end.node as usize].kind;
        let node = if far.guid.is_some() {
            let node = self.listed(far);
            self.name(node, far);
            node
        } else if let Some(node) = places.find(row, far) {
            self.name(node, far);
            node
        } else {
            let key = far.lid.map_or(Key::Name(far.name.unwrap_or_default()), Key::Lid);
            let kind = match own {
                SubnetNodeKind::Switch => SubnetNodeKind::Adapter,
                SubnetNodeKind::Adapter | SubnetNodeKind::Router => SubnetNodeKind::Switch,
            };
            let node = self.node(key, kind, own != SubnetNodeKind::Switch);
            self.name(node, far);
            node
        };
        let is_switch = self.subnet.nodes[node as usize].kind == SubnetNodeKind::Switch;
        let guid = far.guid.filter(|_| !is_switch);
        SubnetEnd { lid: far.lid, guid, ..SubnetEnd::new(node, far.port) }
    }

    fn name(&mut self, node: u32, far: &End<'a>) {
        let known = &mut self.subnet.nodes[node as usize];
        if let Some(name) = far.name.filter(|_| known.name.is_empty()) {
            name.clone_into(&mut known.name);
        }
        if let Some(guid) = far.guid.filter(|_| known.guid == Guid::default()) {
            known.guid = guid;
        }
        known.ports = known.ports.max(far.port);
    }

    /// With `-l` nothing says what a node is: a switch has one GUID for several ports, or a name that only switches
    /// have, or adapters at its ports.
    fn settle_kinds(&mut self, statements: &mut [Statement]) {
        let mut is_host: Vec<bool> =
            self.subnet.nodes.iter().map(|node| is_adapter_name(&node.name)).collect();
        for (index, node) in self.subnet.nodes.iter_mut().enumerate() {
            if self.is_sure[index] {
                is_host[index] = node.kind == SubnetNodeKind::Adapter;
            } else if !is_host[index] && (self.is_shared.contains(&index) || is_switch_name(&node.name)) {
                node.kind = SubnetNodeKind::Switch;
            }
        }
        for statement in statements.iter() {
            for (own, far) in
                [(statement.from.node, statement.to.node), (statement.to.node, statement.from.node)]
            {
                let (own, far) = (own as usize, far as usize);
                if is_host[own] && !is_host[far] && !self.is_sure[far] {
                    self.subnet.nodes[far].kind = SubnetNodeKind::Switch;
                }
            }
        }
        let down = self.subnet.down.iter_mut();
        for end in
            statements.iter_mut().flat_map(|statement| [&mut statement.from, &mut statement.to]).chain(down)
        {
            let node = &mut self.subnet.nodes[end.node as usize];
            if node.kind == SubnetNodeKind::Switch {
                end.guid = None;
                node.lid = node.lid.or(end.lid);
            }
        }
    }
}

/// What drivers call adapters: `node-1 mlx5_0`, `node-1 HCA-2`, and the part of a switch that reduces.
fn is_adapter_name(name: &str) -> bool {
    let device = |word: &str| {
        ["mlx", "HCA-", "hfi", "ibp", "rocep", "qib"].iter().any(|known| word.starts_with(known))
    };
    name.contains("Aggregation Node") || name.split_whitespace().nth(1).is_some_and(device)
}

/// What vendors call switches.
fn is_switch_name(name: &str) -> bool {
    let words = ["MF0;", "Switch", "Infiniscale", "InfiniScale", "Quantum", "ISR9", "IS5"];
    words.iter().any(|word| name.contains(word))
}

/// Where ports stand in the text.
struct Places<'r, 'a> {
    rows: &'r [Row<'a>],
    by_lid: BTreeMap<(u16, u16), Vec<usize>>,
    by_name: BTreeMap<(&'a str, u16), Vec<usize>>,
    /// Switches by LID, for ports that have no line.
    switches: BTreeMap<u16, u32>,
}

impl<'r, 'a> Places<'r, 'a> {
    fn new(rows: &'r [Row<'a>], subnet: &Subnet) -> Self {
        let mut places =
            Self { rows, by_lid: BTreeMap::new(), by_name: BTreeMap::new(), switches: BTreeMap::new() };
        for (index, row) in rows.iter().enumerate() {
            if let Some(lid) = row.end.lid {
                places.by_lid.entry((lid, row.end.port)).or_default().push(index);
                if subnet.nodes[row.end.node as usize].kind == SubnetNodeKind::Switch {
                    places.switches.entry(lid).or_insert(row.end.node);
                }
            }
            if let Some(name) = row.name {
                places.by_name.entry((name, row.end.port)).or_default().push(index);
            }
        }
        places
    }

    /// The node of the port that `row` names: the one that names `row` in turn, else the only one.
    fn find(&self, row: &Row<'a>, far: &End<'a>) -> Option<u32> {
        let found = match far.lid {
            Some(lid) => self.by_lid.get(&(lid, far.port)),
            None => self.by_name.get(&(far.name?, far.port)),
        };
        let found = found.map_or(&[][..], Vec::as_slice);
        let answers = |index: &&usize| {
            let back = self.rows[**index].far.as_ref();
            back.is_some_and(|back| {
                back.port == row.end.port
                    && back.lid == row.end.lid
                    && (back.name.is_none() || row.name.is_none() || back.name == row.name)
            })
        };
        let node = |index: &usize| self.rows[*index].end.node;
        let only = (found.len() == 1).then(|| found.first().map(node)).flatten();
        found.iter().find(answers).map(node).or(only).or_else(|| self.switches.get(&far.lid?).copied())
    }
}

/// One note for all ports that are up but that no subnet manager has configured.
fn states(rows: &[Row<'_>], part: &Part<'_>) -> Option<Diagnostic> {
    let mut waiting = rows.iter().filter(|row| !row.is_active);
    let first = waiting.next()?;
    let count = waiting.count() + 1;
    let message = format!("{count} ports are up but not active: no subnet manager has configured them");
    let hint = "start one (`opensm`), or look at what the running one logs";
    let place = fabric_check::place(part, first.end.line);
    Some(Diagnostic::warning(codes::PORT_NOT_ACTIVE, message).hint(hint).at(place))
}

/// Lines that end before they say what is at the other end.
fn cut(rows: &[Row<'_>], part: &Part<'_>) -> Option<Diagnostic> {
    let mut cut = rows.iter().filter(|row| row.is_cut);
    let first = cut.next()?;
    let count = cut.count() + 1;
    let message = format!("{count} lines end before the far end of their link");
    let hint = "the lines were cut; write the output to a file and give that";
    let place = fabric_check::place(part, first.end.line);
    Some(Diagnostic::warning(codes::ROW_CUT, message).hint(hint).at(place))
}
