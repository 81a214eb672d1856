//! What NetQ answers: the graph of an Ethernet fabric by tiers, and the compute nodes of its NVLink domains.

use std::collections::BTreeMap;

use weft_catalogue::Catalogue;

use crate::document::{Node, documents, finished, json_with};
use crate::evidence::{Evidence, HierarchyKind, Record, Report, Value};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::hierarchy::{At, Builder, Declared, Named};

/// The reader.
#[derive(Debug)]
pub struct NetQ;

impl Format for NetQ {
    fn name(&self) -> &'static str {
        "netq"
    }

    fn title(&self) -> &'static str {
        "NetQ's topology graph, and its compute nodes with their NVLink domains"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["\"compounded_nodes\"", "\"DomainUUID\""]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        json_with(text.lines, self.marks())
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let text = part.text();
        let (documents, fault) = documents(&text);
        let mut read = Read::default();
        let mut builder = Builder::new(part);
        let mut report = Report { format: self.name(), ..Report::default() };
        for document in &documents {
            // Answers come in a list; one of them may have been taken out of it.
            let answers =
                if document.items().is_empty() { std::slice::from_ref(document) } else { document.items() };
            for answer in answers {
                graph(answer, &mut builder);
            }
            let is_tree = !builder.is_empty();
            domains(answers, part, &mut builder, &mut report);
            if !builder.is_empty() {
                let kind = if is_tree { HierarchyKind::Tree } else { HierarchyKind::Blocks };
                let hierarchy = builder.finish(self.name(), kind);
                let place = At::of(document).place(part, 0);
                read.evidence.push(Located { value: Evidence::Hierarchy(Box::new(hierarchy)), place });
            }
        }
        if !report.records.is_empty() {
            let value = Evidence::Report(Box::new(report));
            read.evidence.push(Located { value, place: part.start() });
        }
        read.diagnostics = builder.diagnostics;
        finished(read, part, fault.as_ref(), "this JSON document")
    }
}

/// The tier of a host; switches have 1 and more, from the hosts upwards.
const HOST_TIER: i64 = -1;

fn graph(answer: &Node<'_>, builder: &mut Builder<'_, '_>) {
    // By id: name and tier.
    let mut members: BTreeMap<&str, (Named, i64)> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    let groups = answer.get("nodes").map_or(&[][..], Node::items).iter();
    for node in groups.flat_map(|group| group.get("compounded_nodes").map_or(&[][..], Node::items)) {
        let (Some(id), Some(name)) = (node.text_at(&["id"]), node.get("name")) else { continue };
        let Some(tier) = node.get("tier").and_then(Node::number) else { continue };
        let named = Named { name: name.text().unwrap_or(id).to_owned(), at: At::of(name) };
        if members.insert(id, (named, tier)).is_none() {
            order.push(id);
        }
    }
    // The lower end of each link hangs under the upper one.
    let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for link in answer.get("links").map_or(&[][..], Node::items) {
        let ends = link.text_at(&["id"]).and_then(|id| id.split_once("-*-"));
        let ends = ends.or_else(|| Some((link.text_at(&["src"])?, link.text_at(&["target"])?)));
        let Some((one, other)) = ends else { continue };
        let (Some((_, a)), Some((_, b))) = (members.get(one), members.get(other)) else { continue };
        let (upper, lower) = if a > b { (one, other) } else { (other, one) };
        if a != b {
            below.entry(upper).or_default().push(lower);
        }
    }
    for id in order {
        let Some((name, tier)) = members.get(id).filter(|(_, tier)| *tier != HOST_TIER) else { continue };
        let mut declared = Declared::new(name.clone(), false);
        for lower in below.get(id).map_or(&[][..], Vec::as_slice) {
            match members.get(lower) {
                Some((name, HOST_TIER)) => declared.hosts.push(name.clone()),
                Some((name, lower)) if lower < tier => declared.children.push(name.clone()),
                Some(_) | None => {}
            }
        }
        builder.declare(declared);
    }
}

fn domains(answers: &[Node<'_>], part: &Part<'_>, builder: &mut Builder<'_, '_>, report: &mut Report) {
    for node in answers {
        let (Some(name), Some(domain)) = (node.get("Name"), node.get("DomainUUID")) else { continue };
        let (Some(host), Some(uuid)) = (name.text(), domain.text()) else { continue };
        let host = Named { name: host.to_owned(), at: At::of(name) };
        let line = part.lines.get(name.index).map_or(0, |line| line.number);
        let mut record = Record::new("node", &host.name, line);
        record.push("nvlink-domain", Value::Text(uuid.to_owned()), line);
        if let Some(health) = node.text_at(&["Health"]) {
            record.push("health", Value::Text(health.to_lowercase()), line);
        }
        if let Some(gpus) = node.get("GpuIDList") {
            record.push("gpus", Value::Count(gpus.items().len() as u64), line);
        }
        for (key, field) in
            [("ChassisID", "chassis"), ("SlotID", "slot"), ("TrayIndex", "tray"), ("HostID", "host-id")]
        {
            if let Some(number) = node.at(&["LocationInfo", key]).and_then(Node::number) {
                record.push(field, Value::Count(number), line);
            }
        }
        report.records.push(record);
        builder.attach(Named { name: uuid.to_owned(), at: At::of(domain) }, true, vec![host]);
    }
}
