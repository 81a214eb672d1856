//! Ports of adapters, from whatever names them: `ibstat`, `ibv_devinfo`, hwloc, this machine. They say what a
//! NIC's port runs, and by their GUIDs which switch it is cabled to.

use weft_base::{Guid, Place, Rate};
use weft_catalogue::{Catalogue, LinkFamily, LinkKind, Machine, NicGroup};
use weft_topology::{Subnet, SubnetEnd, SubnetNodeKind};

use crate::evidence::{DeviceRole, Evidence, Host, Record, Report, Value};
use crate::format::Located;

/// A port of an adapter of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// The adapter: `mlx5_0`.
    pub adapter: String,
    /// Port of it, from 1.
    pub port: u32,
    /// What it carries in one direction.
    pub rate: Option<Rate>,
    /// Whether it runs over Ethernet rather than InfiniBand, where the text says so.
    pub is_ethernet: Option<bool>,
    /// GUIDs of the port and of the adapter.
    pub guids: Vec<Guid>,
    /// Where it was read.
    pub place: Place,
}

/// A NIC's port and the switch port that it is cabled to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tie {
    /// The NIC's number in the machine; `None` where the machine does not have it.
    pub nic: Option<usize>,
    /// The adapter and its port, as the host calls them.
    pub port: Port,
    /// The switch's node description.
    pub switch: String,
    /// GUID of the switch.
    pub switch_guid: Guid,
    /// Port of the switch, from 1.
    pub switch_port: u16,
    /// What the cable carries in one direction.
    pub rate: Option<Rate>,
}

/// All ports that the evidence names, each adapter's port once: what says its rate counts before what does not.
pub(super) fn ports(evidence: &[Located<Evidence>]) -> Vec<Port> {
    let mut ports: Vec<Port> = Vec::new();
    for located in evidence {
        let found = if let Evidence::Report(report) = &located.value {
            of_report(report, &located.place.file)
        } else if let Evidence::Host(host) = &located.value {
            of_host(host, &located.place)
        } else {
            continue;
        };
        for port in found {
            match ports.iter_mut().find(|known| (&known.adapter, known.port) == (&port.adapter, port.port)) {
                Some(known) => {
                    known.rate = known.rate.or(port.rate);
                    known.is_ethernet = known.is_ethernet.or(port.is_ethernet);
                    known.guids.extend(port.guids);
                }
                None => ports.push(port),
            }
        }
    }
    ports
}

/// Records of kind `port`, called `mlx5_0 port 1`.
fn of_report(report: &Report, file: &str) -> Vec<Port> {
    let guid = |record: &Record, name| record.text(name).and_then(|text| text.parse::<Guid>().ok());
    let adapter_guid = |name: &str| {
        let adapter = report.records.iter().find(|record| record.kind == "adapter" && record.subject == name);
        adapter.and_then(|record| guid(record, "node-guid"))
    };
    let port = |record: &Record| {
        let (adapter, number) = record.subject.split_once(" port ")?;
        let rate = record.get("rate").and_then(|value| match value {
            Value::Rate(rate) => Some(*rate),
            Value::Text(_) | Value::Count(_) | Value::Flag(_) => None,
        });
        Some(Port {
            adapter: adapter.to_owned(),
            port: number.trim().parse().ok()?,
            rate,
            is_ethernet: record.text("link-layer").map(|layer| layer.eq_ignore_ascii_case("ethernet")),
            guids: guid(record, "port-guid").into_iter().chain(adapter_guid(adapter)).collect(),
            place: Place::new(file, record.line, 1, 0),
        })
    };
    report.records.iter().filter(|record| record.kind == "port").filter_map(port).collect()
}

fn of_host(host: &Host, place: &Place) -> Vec<Port> {
    let mut ports = Vec::new();
    for device in &host.devices {
        for role in &device.roles {
            let DeviceRole::Adapter(adapter) = role else { continue };
            ports.push(Port {
                adapter: adapter.name.clone(),
                port: adapter.port.unwrap_or(1),
                rate: adapter.rate,
                is_ethernet: adapter.link_layer.as_ref().map(|layer| layer.eq_ignore_ascii_case("ethernet")),
                guids: adapter.guid.into_iter().collect(),
                place: Place { line: device.line.max(1), ..place.clone() },
            });
        }
    }
    ports
}

/// Lets each NIC that is called as an adapter run what that adapter's first port runs.
pub(super) fn set_rates(
    machine: &mut Machine,
    names: &[Option<String>],
    ports: &[Port],
    catalogue: &Catalogue,
) {
    let each = machine.nics.iter().flat_map(|group| {
        let one = NicGroup { count: 1, ..group.clone() };
        std::iter::repeat_n(one, usize::from(group.count))
    });
    let mut nics: Vec<NicGroup> = each.collect();
    for (nic, name) in nics.iter_mut().zip(names) {
        let port = name.as_ref().and_then(|name| ports.iter().find(|port| port.adapter == *name));
        if let Some((port, rate)) = port.and_then(|port| Some((port, port.rate?))) {
            nic.link = link_of(nic, rate, port.is_ethernet, catalogue).or(nic.link.take());
        }
    }
    machine.nics.clear();
    for nic in nics {
        match machine.nics.last_mut() {
            Some(last) if (&last.model, &last.link) == (&nic.model, &nic.link) => last.count += 1,
            Some(_) | None => machine.nics.push(nic),
        }
    }
}

/// The link kind of that rate: of the NIC's own kinds, else of all networks of that layer. `None` where it is
/// the NIC's fastest kind, which needs no word.
fn link_of(nic: &NicGroup, rate: Rate, is_ethernet: Option<bool>, catalogue: &Catalogue) -> Option<String> {
    let model = nic.model.as_deref().and_then(|name| catalogue.nic(name).ok());
    let own = model.into_iter().flat_map(|nic| &nic.links).filter_map(|name| catalogue.link(name).ok());
    let all = catalogue.links.iter().filter(|link| link.family == LinkFamily::Network);
    let of_layer = |link: &&LinkKind| match is_ethernet {
        Some(true) => link.name.starts_with("roce-") || link.name.starts_with("ethernet-"),
        Some(false) => link.name.starts_with("infiniband-"),
        None => true,
    };
    let found = own.filter(of_layer).find(|link| is_near(link.rate(1), rate)).or_else(|| {
        // RoCE first: whoever reads RDMA ports uses them so.
        let fitting = || all.clone().filter(of_layer).filter(|link| is_near(link.rate(1), rate));
        fitting().find(|link| link.name.starts_with("roce-")).or_else(|| fitting().next())
    })?;
    let fastest = model.and_then(|nic| nic.links.first());
    (fastest != Some(&found.name)).then(|| found.name.clone())
}

/// Tools print nominal rates (56 for FDR, which carries 54.5), so that rates within a twentieth are the same.
fn is_near(a: Rate, b: Rate) -> bool {
    let (a, b) = (u128::from(a.get()), u128::from(b.get()));
    a.abs_diff(b) * 20 <= a.max(b)
}

/// Which switch port each of `ports` is cabled to, found by GUID in `subnet`.
pub(super) fn ties(ports: &[Port], names: &[Option<String>], subnet: &Subnet) -> Vec<Tie> {
    let mut found = Vec::new();
    for link in &subnet.links {
        for (own, far) in [(link.a, link.b), (link.b, link.a)] {
            let node = |end: SubnetEnd| subnet.nodes.get(usize::try_from(end.node).ok()?);
            let (Some(adapter), Some(switch)) = (node(own), node(far)) else { continue };
            if adapter.kind != SubnetNodeKind::Adapter || switch.kind != SubnetNodeKind::Switch {
                continue;
            }
            let is_this = |port: &&Port| {
                let by_port = own.guid.is_some_and(|guid| port.guids.contains(&guid));
                by_port || port.port == u32::from(own.port) && port.guids.contains(&adapter.guid)
            };
            found.extend(ports.iter().find(is_this).map(|port| Tie {
                nic: names.iter().position(|name| name.as_ref() == Some(&port.adapter)),
                port: port.clone(),
                switch: switch.name.clone(),
                switch_guid: switch.guid,
                switch_port: far.port,
                rate: link.rate,
            }));
        }
    }
    found.sort_by_key(|tie| ports.iter().position(|port| *port == tie.port));
    found
}

#[cfg(test)]
mod tests {
    use weft_topology::{Rates, SubnetLink, SubnetNode};

    use super::*;

    const GUID: Guid = Guid::new(0x0c42_a103_0078_f1d0);

    /// As `ibstat` is read: an adapter and its port at 100 Gb/s.
    fn ibstat(layer: &str) -> Vec<Located<Evidence>> {
        let mut adapter = Record::new("adapter", "mlx5_0", 1);
        adapter.push("node-guid", Value::Text(GUID.to_string()), 2);
        let mut port = Record::new("port", "mlx5_0 port 1", 3);
        port.push("rate", Value::Rate(Rate::bytes_per_second(12_500_000_000)), 4);
        port.push("link-layer", Value::Text(layer.to_owned()), 5);
        let report = Report { format: "ibstat", host: None, records: vec![adapter, port] };
        vec![Located { value: Evidence::Report(Box::new(report)), place: Place::new("ibstat.txt", 1, 1, 0) }]
    }

    #[test]
    fn a_port_sets_the_link_of_its_nic_alone() {
        let catalogue = Catalogue::embedded();
        let model = Some("connectx-6-hdr".to_owned());
        let mut machine =
            Machine { nics: vec![NicGroup { model, count: 2, link: None }], ..Machine::default() };
        let names = [Some("mlx5_1".to_owned()), Some("mlx5_0".to_owned())];
        set_rates(&mut machine, &names, &ports(&ibstat("InfiniBand")), catalogue);
        let links: Vec<_> = machine.nics.iter().map(|group| (group.count, group.link.as_deref())).collect();
        // 100 Gb/s of a ConnectX-6: HDR100 comes before EDR in its list of links.
        assert_eq!(links, [(1, None), (1, Some("infiniband-hdr100"))]);
    }

    #[test]
    fn a_cable_is_found_by_the_guid_of_the_adapter() {
        let switch = SubnetNode::new(SubnetNodeKind::Switch, Guid::new(7), "leaf-3", 40);
        let adapter = SubnetNode::new(SubnetNodeKind::Adapter, GUID, "node-1 mlx5_0", 1);
        let (a, b) = (SubnetEnd::new(0, 12), SubnetEnd::new(1, 1));
        let link = SubnetLink::new(a, b, &Rates::new(Catalogue::embedded()));
        let subnet = Subnet { nodes: vec![switch, adapter], links: vec![link], ..Subnet::default() };
        let ties = ties(&ports(&ibstat("InfiniBand")), &[Some("mlx5_0".to_owned())], &subnet);
        assert_eq!(ties.len(), 1);
        assert_eq!((ties[0].nic, ties[0].switch.as_str(), ties[0].switch_port), (Some(0), "leaf-3", 12));
    }
}
