//! InfraGraph, MLCommons' description of clusters: devices, instances, links and edges, in YAML or JSON.

use std::ops::Range;

use weft_base::{Code, Diagnostic, Rate, Span, nearest};
use weft_catalogue::Catalogue;

use crate::codes;
use crate::document::{Node, documents, finished, json, yaml};
use crate::evidence::{
    Evidence, InfraComponent, InfraDevice, InfraEdge, InfraEnd, InfraInstance, InfraLink, Infrastructure,
};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::hierarchy::At;
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct InfraGraph;

/// Levels of devices within devices that an end may name.
const DEPTH_MAX: usize = 16;

/// Findings of one document.
const FINDINGS_MAX: usize = 60;

impl Format for InfraGraph {
    fn name(&self) -> &'static str {
        "infragraph"
    }

    fn title(&self) -> &'static str {
        "a cluster as InfraGraph describes it: devices, instances, edges"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["ep1:", "\"ep1\""]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let is_own = |run: &Range<usize>| {
            let holds = |word: &str| text.lines[run.clone()].iter().any(|line| line.text.contains(word));
            holds("ep1") && holds("components")
        };
        let in_yaml: Vec<Range<usize>> = yaml(text.lines).into_iter().filter(is_own).collect();
        let found =
            if in_yaml.is_empty() { json(text.lines).into_iter().filter(is_own).collect() } else { in_yaml };
        found.into_iter().map(Claim::yes).collect()
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let text = part.text();
        let (documents, fault) = documents(&text);
        let mut read = Read::default();
        for document in &documents {
            let root = document.get("infrastructure").unwrap_or(document);
            if root.get("devices").is_none() {
                continue;
            }
            let mut reader = Reader { part, found: Infrastructure::default(), diagnostics: Vec::new() };
            reader.read(root);
            reader.found.format = self.name();
            reader.diagnostics.truncate(FINDINGS_MAX);
            read.diagnostics.append(&mut reader.diagnostics);
            let value = Evidence::Infrastructure(Box::new(reader.found));
            read.evidence.push(Located { value, place: At::of(document).place(part, 0) });
        }
        finished(read, part, fault.as_ref(), "this document")
    }
}

struct Reader<'p, 'l> {
    part: &'p Part<'l>,
    found: Infrastructure,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_, '_> {
    fn read(&mut self, root: &Node<'_>) {
        self.found.name = text(root, "name");
        self.found.links = links(root);
        let devices = items(root, "devices");
        for device in devices {
            let components = items(device, "components").iter().map(|item| self.component(item)).collect();
            self.found.devices.push(InfraDevice {
                name: text(device, "name"),
                components,
                links: links(device),
                edges: Vec::new(),
                line: self.line(device),
            });
        }
        for item in items(root, "instances") {
            let name = text(item, "device");
            let device = self.found.devices.iter().position(|device| device.name == name);
            if device.is_none() {
                let names: Vec<&str> = self.found.devices.iter().map(|device| device.name.as_str()).collect();
                let finding = undefined("device", &name, &names);
                self.find(finding, item.get("device").unwrap_or(item));
            }
            let count = self.count(item);
            let line = self.line(item);
            self.found.instances.push(InfraInstance { name: text(item, "name"), device, count, line });
        }
        for (index, device) in devices.iter().enumerate() {
            let edges = items(device, "edges").iter().map(|edge| self.edge(edge, Some(index))).collect();
            self.found.devices[index].edges = edges;
        }
        self.found.edges = items(root, "edges").iter().map(|edge| self.edge(edge, None)).collect();
    }

    fn line(&self, node: &Node<'_>) -> u32 {
        self.part.lines.get(node.index).map_or(0, |line| line.number)
    }

    fn find(&mut self, finding: Diagnostic, node: &Node<'_>) {
        if self.diagnostics.len() <= FINDINGS_MAX {
            let length = node.text().map_or(0, |text| text.chars().count());
            self.diagnostics.push(finding.at(At::of(node).place(self.part, length)));
        }
    }

    fn component(&mut self, item: &Node<'_>) -> InfraComponent {
        let choice = item.text_at(&["choice"]).or(item.text_at(&["type"])).unwrap_or("custom");
        let kind = item.text_at(&["custom", "type"]).unwrap_or(choice);
        InfraComponent { name: text(item, "name"), kind: kind.to_owned(), count: self.count(item) }
    }

    fn count(&mut self, item: &Node<'_>) -> u32 {
        let Some(node) = item.get("count") else { return 1 };
        node.number().unwrap_or_else(|| {
            let message = format!("`{}` is no count", ranges::short(node.text().unwrap_or("")));
            self.find(Diagnostic::warning(SLICE, message).hint("one is assumed"), node);
            1
        })
    }

    /// An edge of the device at `device`, or of the whole.
    fn edge(&mut self, item: &Node<'_>, device: Option<usize>) -> InfraEdge {
        let scheme = text(item, "scheme");
        let (a, b) = (self.end(item, "ep1", device), self.end(item, "ep2", device));
        let link = text(item, "link");
        let known = match device.and_then(|device| self.found.devices.get(device)) {
            Some(device) => &device.links,
            None => &self.found.links,
        };
        if !link.is_empty() && !known.iter().any(|own| own.name == link) {
            let names: Vec<&str> = known.iter().map(|own| own.name.as_str()).collect();
            let finding = undefined("link", &link, &names);
            self.find(finding, item.get("link").unwrap_or(item));
        }
        let same = a == b;
        let count = match scheme.as_str() {
            // Nothing is joined with itself.
            "many2many" => a.count.saturating_mul(if same { b.count.saturating_sub(1) } else { b.count }),
            "ring" => a.count,
            _ => {
                if same {
                    0
                } else {
                    a.count.min(b.count)
                }
            }
        };
        InfraEdge { a, b, scheme, link, count, line: self.line(item) }
    }

    fn end(&mut self, item: &Node<'_>, key: &str, device: Option<usize>) -> InfraEnd {
        let Some(end) = item.get(key) else {
            self.find(Diagnostic::warning(SLICE, format!("an edge without `{key}:`")), item);
            return InfraEnd::default();
        };
        let instance = end.get("instance").filter(|_| device.is_none());
        let mut count = 1;
        let mut own = device;
        if let Some((node, text)) = instance.and_then(|node| Some((node, node.text()?))) {
            let name = text.split(['[', '.']).next().unwrap_or(text);
            let found = self.found.instances.iter().find(|instance| instance.name == name);
            let (all, of) = found.map_or((0, None), |found| (found.count, found.device));
            if found.is_none() {
                let names: Vec<&str> = self.found.instances.iter().map(|own| own.name.as_str()).collect();
                let finding = undefined("instance", name, &names);
                self.find(finding, node);
            }
            own = of;
            count = self.slice(text, all, node);
        }
        let component = end.get("component");
        let prefix = end.text_at(&["device"]).map_or_else(String::new, |device| format!("{device}."));
        let written = format!("{prefix}{}", component.and_then(Node::text).unwrap_or(""));
        for step in written.split('.').take(DEPTH_MAX) {
            let Some(device) = own.and_then(|own| self.found.devices.get(own)) else { break };
            let name = step.split('[').next().unwrap_or(step);
            let node = component.unwrap_or(end);
            if let Some(found) = device.components.iter().find(|component| component.name == name) {
                let all = found.count;
                count = count.saturating_mul(self.slice(step, all, node));
            } else {
                let names: Vec<&str> = device.components.iter().map(|own| own.name.as_str()).collect();
                let finding = undefined("component", name, &names);
                self.find(finding, node);
            }
            own = self.found.devices.iter().position(|device| device.name == name);
        }
        let instance = instance.and_then(Node::text).unwrap_or("").to_owned();
        InfraEnd { instance, component: written, count }
    }

    /// How many of `all` a slice names: `nic`, `nic[3]`, `nic[0:8]`, `nic[0:8:2]`.
    fn slice(&mut self, text: &str, all: u32, node: &Node<'_>) -> u64 {
        let Some((_, inside)) = text.split_once('[') else { return all.into() };
        let inside = inside.split(']').next().unwrap_or(inside);
        let pieces: Vec<&str> = inside.split(':').map(str::trim).collect();
        let number = |index: usize, usual: u32| match pieces.get(index) {
            Some(piece) if !piece.is_empty() => piece.parse().ok(),
            Some(_) | None => Some(usual),
        };
        let found = match pieces.as_slice() {
            [only] => only.parse::<u32>().ok().map(|first| (first, first.saturating_add(1), 1)),
            [_, _] | [_, _, _] => {
                number(0, 0).zip(number(1, all)).zip(number(2, 1)).map(|((a, b), c)| (a, b, c))
            }
            _ => None,
        };
        let fitting = found.filter(|(first, end, step)| *step > 0 && first <= end && *end <= all);
        let Some((first, end, step)) = fitting else {
            let message = format!("`{}` goes beyond the {all} that there are", ranges::short(text));
            let hint = "a slice is written `nic[3]`, `nic[0:8]` or `nic[0:8:2]`; its end is not in it";
            self.find(Diagnostic::warning(SLICE, message).hint(hint), node);
            return 0;
        };
        (end - first).div_ceil(step).into()
    }
}

const SLICE: Code = codes::INFRASTRUCTURE_SLICE;

fn items<'n, 't>(node: &'n Node<'t>, key: &str) -> &'n [Node<'t>] {
    node.get(key).map_or(&[][..], Node::items)
}

fn text(node: &Node<'_>, key: &str) -> String {
    node.text_at(&[key]).unwrap_or("").to_owned()
}

fn undefined(what: &str, name: &str, names: &[&str]) -> Diagnostic {
    let message = format!("there is no {what} `{}`", ranges::short(name));
    let finding = Diagnostic::warning(codes::INFRASTRUCTURE_UNDEFINED, message);
    match nearest(name, names.iter().copied(), 1).first() {
        Some(near) => finding.hint(format!("did you mean `{near}`?")),
        None => finding.hint("what depends on it counts nothing"),
    }
}

fn links(node: &Node<'_>) -> Vec<InfraLink> {
    let link = |item: &Node<'_>| {
        let physical = item.get("physical").unwrap_or(item);
        let value = |table: &str, key: &str| -> Option<f64> {
            let value: f64 = physical.at(&[table, key])?.number()?;
            (value.is_finite() && value >= 0.0).then_some(value)
        };
        let bits = value("bandwidth", "gigabits_per_second").map(|gigabits| gigabits / 8.0);
        let rate = bits.or(value("bandwidth", "gigabytes_per_second")).map(Rate::from_gigabytes);
        let transfers = value("bandwidth", "gigatransfers_per_second");
        let units = [("ns", 1e-3), ("us", 1.0), ("ms", 1e3)];
        let latency = units.iter().find_map(|(unit, factor)| Some(value("latency", unit)? * factor));
        InfraLink {
            name: text(item, "name"),
            rate,
            transfers: transfers.and_then(|transfers| format!("{transfers} GT/s").parse().ok()),
            latency: latency.map(Span::from_microseconds),
        }
    };
    items(node, "links").iter().map(link).collect()
}
