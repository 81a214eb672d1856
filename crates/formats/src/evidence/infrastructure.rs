//! A cluster as a design tool describes it: devices made of components, instances of them, and edges between.

use std::collections::BTreeMap;

use weft_base::{Rate, Span, TransferRate};

/// Levels of devices within devices.
const DEPTH_MAX: usize = 16;

/// A description of a cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Infrastructure {
    /// The name of the format: `infragraph`.
    pub format: &'static str,
    /// Its own name; empty where it has none.
    pub name: String,
    /// Kinds of devices.
    pub devices: Vec<InfraDevice>,
    /// Links between instances.
    pub links: Vec<InfraLink>,
    /// What there is of each device.
    pub instances: Vec<InfraInstance>,
    /// Edges between instances.
    pub edges: Vec<InfraEdge>,
}

/// A kind of device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InfraDevice {
    /// Its name.
    pub name: String,
    /// What it is made of.
    pub components: Vec<InfraComponent>,
    /// Links inside of it.
    pub links: Vec<InfraLink>,
    /// Edges between its components; their ends name no instance.
    pub edges: Vec<InfraEdge>,
    /// Line, from 1.
    pub line: u32,
}

/// A part of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InfraComponent {
    /// Its name; that of a device where the kind is `device`.
    pub name: String,
    /// `cpu`, `xpu`, `nic`, `memory`, `port`, `switch`, `device`, or a custom type.
    pub kind: String,
    /// How many a device has.
    pub count: u32,
}

/// A kind of link.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InfraLink {
    /// Its name.
    pub name: String,
    /// What it carries, as given: the format does not say whether of one direction.
    pub rate: Option<Rate>,
    /// Transfers per second, where the text gives those instead.
    pub transfers: Option<TransferRate>,
    /// Its latency.
    pub latency: Option<Span>,
}

/// What there is of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InfraInstance {
    /// Its name.
    pub name: String,
    /// Index into [`Infrastructure::devices`]; `None` where the name is not defined.
    pub device: Option<usize>,
    /// How many.
    pub count: u32,
    /// Line, from 1.
    pub line: u32,
}

/// Edges between two sets of ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InfraEdge {
    /// The ends on one side.
    pub a: InfraEnd,
    /// The ends on the other.
    pub b: InfraEnd,
    /// How the ends are joined: `one2one`, `many2many`, `ring`.
    pub scheme: String,
    /// The name of the link.
    pub link: String,
    /// Links that it makes.
    pub count: u64,
    /// Line, from 1.
    pub line: u32,
}

/// Ends of edges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InfraEnd {
    /// Instances, as written: `server[0:4]`; empty inside of a device.
    pub instance: String,
    /// Components, as written: `nic[0]`, `cx5.port[0:2]`.
    pub component: String,
    /// Ends that it names.
    pub count: u64,
}

impl Infrastructure {
    /// Components of all instances by kind, those of devices within devices included.
    pub fn totals(&self) -> BTreeMap<String, u64> {
        let mut totals = BTreeMap::new();
        for instance in &self.instances {
            if let Some(device) = instance.device {
                self.add(device, u64::from(instance.count), 0, &mut totals);
            }
        }
        totals
    }

    fn add(&self, device: usize, count: u64, depth: usize, totals: &mut BTreeMap<String, u64>) {
        let components = self.devices.get(device).map_or(&[][..], |device| &device.components);
        for component in components {
            let all = count.saturating_mul(component.count.into());
            let inner = self.devices.iter().position(|device| device.name == component.name);
            if let Some(inner) = inner.filter(|_| component.kind == "device" && depth < DEPTH_MAX) {
                self.add(inner, all, depth + 1, totals);
            } else {
                let total = totals.entry(component.kind.clone()).or_insert(0);
                *total = total.saturating_add(all);
            }
        }
    }
}
