use roxmltree::Node;
use weft_base::{Rate, Span};

use super::values::{address, class_of, flag, identifier, number, speed};
use crate::document::XmlTree;
use crate::evidence::{
    Adapter, Device, DeviceRole, Gpu, GpuLink, GpuLinkEnd, Host, NumaNode, PcieState, VirtualAdapter,
};

/// The PCI class of NVSwitches.
const NVSWITCH: u16 = 0x0680;
/// Where the hypervisor hides what a link leads to.
const HIDDEN: &str = "fffffff:ffff:ff";

/// The host that a `<system>` describes.
pub(super) fn host(tree: &XmlTree<'_>) -> Host {
    let root = tree.root();
    let mut reader = Reader { tree, host: Host { format: "nccl-topology", ..Host::default() } };
    reader.host.version = text(root, "version");
    reader.host.name = text(root, "name");
    for cpu in elements(root, "cpu") {
        reader.cpu(cpu);
    }
    // A PCI function outside any CPU is none that NCCL would find, but it is there.
    for pci in elements(root, "pci") {
        reader.pci(pci, None, None);
    }
    reader.link_targets();
    reader.host
}

struct Reader<'t> {
    tree: &'t XmlTree<'t>,
    host: Host,
}

impl Reader<'_> {
    fn cpu(&mut self, node: Node<'_, '_>) {
        let index = self.host.numa.len();
        let (family, model) = (value(node, "familyid", number), value(node, "modelid", number));
        let words =
            family.zip(model).map(|(family, model): (u32, u32)| format!("family {family} model {model}"));
        self.host.numa.push(NumaNode {
            number: value(node, "numaid", number),
            arch: text(node, "arch"),
            vendor: text(node, "vendor"),
            model: words,
            cpu_family: family,
            cpu_model: model,
            cpus: text(node, "affinity"),
            ..NumaNode::default()
        });
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "pci" => self.pci(child, None, Some(index)),
                "nic" => {
                    for net in elements(child, "net") {
                        let (adapter, line) = (adapter(net), self.tree.line(net));
                        self.host.virtual_adapters.push(VirtualAdapter { adapter, numa: Some(index), line });
                    }
                }
                _ => {}
            }
        }
    }

    fn pci(&mut self, node: Node<'_, '_>, parent: Option<usize>, numa: Option<usize>) {
        let index = self.host.devices.len();
        let width = value(node, "link_width", number);
        self.host.devices.push(Device {
            address: value(node, "busid", |text| Some(address(text))).unwrap_or_default(),
            parent,
            numa,
            class: value(node, "class", class_of),
            vendor: value(node, "vendor", identifier),
            device: value(node, "device", identifier),
            subsystem_vendor: value(node, "subsystem_vendor", identifier),
            subsystem: value(node, "subsystem_device", identifier),
            link: PcieState {
                speed: value(node, "link_speed", speed),
                lanes: width.filter(|lanes: &u16| *lanes > 0),
            },
            speed_text: text(node, "link_speed"),
            width_text: text(node, "link_width"),
            line: self.tree.line(node),
            ..Device::default()
        });
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "pci" => self.pci(child, Some(index), numa),
                "gpu" => self.gpu(child, index, numa),
                "nic" => {
                    for net in elements(child, "net") {
                        self.host.devices[index].roles.push(DeviceRole::Adapter(adapter(net)));
                    }
                }
                _ => {}
            }
        }
        if self.host.devices[index].class == Some(NVSWITCH) {
            self.host.devices[index].roles.push(DeviceRole::GpuSwitch);
        }
    }

    fn gpu(&mut self, node: Node<'_, '_>, device: usize, numa: Option<usize>) {
        self.host.devices[device].roles.push(DeviceRole::Gpu(Gpu {
            number: value(node, "dev", number),
            rank: value(node, "rank", number),
            sm: value(node, "sm", number),
            gcn: text(node, "gcn"),
            arch: text(node, "arch"),
            gdr: value(node, "gdr", flag),
            ..Gpu::default()
        }));
        for link in node.children().filter(Node::is_element) {
            let family = match link.tag_name().name() {
                "nvlink" => "nvlink",
                "xgmi" => "xgmi",
                "c2c" => "c2c",
                _ => continue,
            };
            // NCCL gives the rate of one coherent link in MB/s.
            let rate =
                value(link, "bw", number).map(|bw: u64| Rate::bytes_per_second(bw.saturating_mul(1_000_000)));
            self.host.gpu_links.push(GpuLink {
                gpu: device,
                to: if family == "c2c" { GpuLinkEnd::Cpu(numa) } else { GpuLinkEnd::Switch },
                target: value(link, "target", |text| Some(address(text))),
                target_class: text(link, "tclass"),
                count: value(link, "count", number).unwrap_or(1),
                family,
                rate,
                line: self.tree.line(link),
            });
        }
    }

    /// Finds the far ends, once all devices are known.
    fn link_targets(&mut self) {
        let mut known: Vec<(&str, usize)> =
            self.host.devices.iter().enumerate().map(|(index, device)| (&*device.address, index)).collect();
        known.sort_unstable();
        for link in self.host.gpu_links.iter_mut().filter(|link| link.family != "c2c") {
            let Some(target) = &link.target else { continue };
            let class = link.target_class.as_deref();
            link.to = match known.binary_search_by_key(&&**target, |(address, _)| *address) {
                Ok(at) => GpuLinkEnd::Device(known[at].1),
                Err(_) if class.is_some_and(|class| class.contains("068001")) => {
                    GpuLinkEnd::Cpu(self.host.devices.get(link.gpu).and_then(|gpu| gpu.numa))
                }
                Err(_) if target == HIDDEN || class.and_then(class_of) == Some(NVSWITCH) => {
                    GpuLinkEnd::Switch
                }
                Err(_) => GpuLinkEnd::Address(target.clone()),
            };
        }
    }
}

fn adapter(node: Node<'_, '_>) -> Adapter {
    // Megabits per second; some adapters say -1.
    let speed: Option<u64> = value(node, "speed", number).filter(|speed| *speed > 0);
    Adapter {
        name: text(node, "name").unwrap_or_default(),
        number: value(node, "dev", number),
        port: value(node, "port", number),
        guid: value(node, "guid", |text| text.parse().ok()),
        rate: speed.map(|speed| Rate::bytes_per_second(speed.saturating_mul(125_000))),
        gdr: value(node, "gdr", flag),
        latency: value(node, "latency", |text| text.parse().ok().map(Span::from_microseconds)),
        connections: value(node, "maxconn", number),
        collectives: value(node, "coll", flag),
        ..Adapter::default()
    }
}

fn elements<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn text(node: Node<'_, '_>, name: &str) -> Option<String> {
    node.attribute(name).map(str::to_owned)
}

fn value<T>(node: Node<'_, '_>, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    node.attribute(name).and_then(parse)
}
