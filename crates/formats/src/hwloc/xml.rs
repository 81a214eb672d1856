//! hwloc's XML of all versions.

use roxmltree::Node;
use weft_base::Bytes;
use weft_catalogue::Catalogue;

use super::host::build;
use super::links::{self, Matrix};
use super::object::{Kind, Object, Pci, buses, ids};
use crate::codes;
use crate::document::{XmlTree, read_xml, xml};
use crate::evidence::{Evidence, OsDeviceKind};
use crate::format::{Claim, Format, Located, Part, Read, Text};

const ROOTS: &[&str] = &["topology"];

/// The reader.
#[derive(Debug)]
pub struct HwlocXml;

impl Format for HwlocXml {
    fn name(&self) -> &'static str {
        "hwloc-xml"
    }

    fn title(&self) -> &'static str {
        "a host as hwloc's XML"
    }

    fn command(&self) -> Option<&'static str> {
        Some("lstopo --whole-io --of xml")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["<topology>", "<topology "]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        xml(text.lines, ROOTS).into_iter().map(Claim::yes).collect()
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        let (host, diagnostics) = read_xml(part, ROOTS, |tree| {
            let mut topology = Topology::default();
            topology.take(tree);
            let mut built = build(&topology.objects, "hwloc");
            for matrix in &topology.matrices {
                links::add(matrix, &topology.objects, &mut built, catalogue);
            }
            (built.host, tree.tag(tree.root()))
        });
        let mut read = Read { diagnostics, ..Read::default() };
        match host {
            Some((host, place))
                if !(host.devices.is_empty() && host.numa.is_empty() && host.packages.is_empty()) =>
            {
                read.evidence.push(Located { value: Evidence::Host(Box::new(host)), place });
            }
            Some((_, place)) => {
                let message = "this topology names no package, no NUMA node and no PCI function";
                let finding = weft_base::Diagnostic::error(codes::NO_DEVICE, message);
                read.diagnostics.push(finding.hint("write it with `lstopo --whole-io --of xml`").at(place));
            }
            None => {}
        }
        read
    }
}

#[derive(Default)]
struct Topology {
    objects: Vec<Object>,
    matrices: Vec<Matrix>,
    /// From version 3 on, kinds of devices are bits.
    kinds_are_bits: bool,
}

impl Topology {
    fn take(&mut self, tree: &XmlTree<'_>) {
        let root = tree.root();
        let version =
            root.attribute("version").and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        self.kinds_are_bits = version.is_some_and(|version| version >= 3);
        // Elements come in the order of the text, so that the object of an element's parent is known.
        let mut object_of: Vec<Option<usize>> = Vec::new();
        for node in tree.document.descendants() {
            let above =
                node.parent().and_then(|parent| object_of.get(parent.id().get_usize()).copied().flatten());
            let mut own = above;
            if node.is_element() {
                match node.tag_name().name() {
                    "object" => {
                        own = Some(self.objects.len());
                        self.objects.push(self.object(node, above, tree));
                    }
                    "info" => self.info(node, above),
                    "distances2" | "distances2hetero" => self.matrix(node, tree),
                    _ => {}
                }
            }
            object_of.push(own);
        }
    }

    fn object(&self, node: Node<'_, '_>, parent: Option<usize>, tree: &XmlTree<'_>) -> Object {
        let attribute = |name: &str| node.attribute(name);
        let kind = match attribute("type").unwrap_or_default() {
            "Machine" | "System" => Kind::Machine,
            "Package" | "Socket" => Kind::Package,
            "NUMANode" | "Node" => Kind::Numa,
            "Bridge" if attribute("pci_busid").is_none() => Kind::HostBridge,
            "Bridge" | "PCIDev" => Kind::Pci,
            "OSDev" => Kind::Os(self.device_kind(attribute("osdev_type"))),
            _ => Kind::Other,
        };
        Object {
            kind,
            subtype: attribute("subtype").filter(|subtype| !subtype.is_empty()).map(str::to_owned),
            name: attribute("name").filter(|name| !name.is_empty()).map(str::to_owned),
            number: attribute("os_index").and_then(|number| number.parse().ok()),
            id: attribute("gp_index").and_then(|number| number.parse().ok()),
            parent,
            cpus: attribute("cpuset").filter(|_| kind == Kind::Numa).map(str::to_owned),
            memory: attribute("local_memory").and_then(|bytes| bytes.parse().ok()).map(Bytes::new),
            pci: (kind == Kind::Pci).then(|| function(node)),
            infos: Vec::new(),
            line: tree.line(node),
        }
    }

    fn device_kind(&self, number: Option<&str>) -> OsDeviceKind {
        let number: Option<u32> = number.and_then(|number| number.parse().ok());
        if self.kinds_are_bits {
            let bits = [
                (4, OsDeviceKind::Display),
                (8, OsDeviceKind::Coprocessor),
                (32, OsDeviceKind::Rdma),
                (16, OsDeviceKind::Network),
                (2, OsDeviceKind::Memory),
                (1, OsDeviceKind::Storage),
                (64, OsDeviceKind::Dma),
            ];
            // A GPU that computes is both; the library matters more than the screen.
            let number = number.unwrap_or(0);
            let number = if number & 8 != 0 { 8 } else { number };
            return bits
                .iter()
                .find(|(bit, _)| number & bit != 0)
                .map_or(OsDeviceKind::Other, |(_, kind)| *kind);
        }
        match number {
            Some(0) => OsDeviceKind::Storage,
            Some(1) => OsDeviceKind::Display,
            Some(2) => OsDeviceKind::Network,
            Some(3) => OsDeviceKind::Rdma,
            Some(4) => OsDeviceKind::Dma,
            Some(5) => OsDeviceKind::Coprocessor,
            Some(6) => OsDeviceKind::Memory,
            Some(_) | None => OsDeviceKind::Other,
        }
    }

    /// A statement about the object around it; those of the whole topology go to the machine.
    fn info(&mut self, node: Node<'_, '_>, above: Option<usize>) {
        let Some((name, value)) = node.attribute("name").zip(node.attribute("value")) else { return };
        let index = above.or_else(|| self.objects.iter().position(|object| object.is(Kind::Machine)));
        if let Some(object) = index.and_then(|index| self.objects.get_mut(index)) {
            object.infos.push((name.to_owned(), value.to_owned()));
        }
    }

    /// A matrix between devices; those between NUMA nodes say nothing of links.
    fn matrix(&mut self, node: Node<'_, '_>, tree: &XmlTree<'_>) {
        let name = node.attribute("name").unwrap_or_default();
        if !name.ends_with("Bandwidth") {
            return;
        }
        let by_id: std::collections::BTreeMap<u64, usize> =
            self.objects.iter().enumerate().filter_map(|(index, object)| Some((object.id?, index))).collect();
        let mut matrix = Matrix { name: name.to_owned(), line: tree.line(node), ..Matrix::default() };
        for list in node.children().filter(Node::is_element) {
            let words = list.text().unwrap_or_default().split_whitespace();
            match list.tag_name().name() {
                "indexes" => {
                    // `OSDev:802` where the objects are of several kinds.
                    let id = |word: &str| word.rsplit(':').next()?.parse::<u64>().ok();
                    let found = words.filter_map(|word| by_id.get(&id(word)?).copied());
                    matrix.objects.extend(found);
                }
                "u64values" => matrix.values.extend(words.filter_map(|word| word.parse::<u64>().ok())),
                _ => {}
            }
        }
        // Where an object is missing, cells can no longer be told apart.
        if matrix.values.len() == matrix.objects.len() * matrix.objects.len() {
            self.matrices.push(matrix);
        }
    }
}

fn function(node: Node<'_, '_>) -> Pci {
    let kind = node.attribute("pci_type").unwrap_or_default();
    let mut words = kind.split_whitespace();
    let class = words.next().and_then(|class| u16::from_str_radix(class, 16).ok());
    let (vendor, device) = words.next().map(ids).unwrap_or_default();
    let (subsystem_vendor, subsystem) = words.next().map(ids).unwrap_or_default();
    Pci {
        address: node.attribute("pci_busid").unwrap_or_default().to_owned(),
        class,
        vendor,
        device,
        subsystem_vendor,
        subsystem,
        link_gigabytes: node.attribute("pci_link_speed").and_then(|speed| speed.parse().ok()),
        buses: node.attribute("bridge_pci").and_then(buses),
    }
}
