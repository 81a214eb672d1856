//! Adapters and ports of a host, from whatever names them.

use std::collections::BTreeMap;

use weft_base::{Place, Rate};
use weft_formats::{Record, Value};

use crate::chart::{Chart, Said};

/// An adapter's port.
#[derive(Debug, Clone)]
pub struct Port {
    /// The adapter: `mlx5_0`.
    pub adapter: String,
    /// Whether it is up; `None` where nothing says so.
    pub is_up: Option<bool>,
    /// `InfiniBand`, `Ethernet`.
    pub layer: Option<String>,
    /// What it carries in one direction.
    pub rate: Option<Rate>,
    /// Active and largest MTU of RDMA, in bytes.
    pub mtu_bytes: Option<(u64, u64)>,
    /// Its network interface.
    pub interface: Option<String>,
    /// Where it was read.
    pub place: Place,
}

impl Port {
    /// Whether it is known to be of Ethernet.
    pub fn is_ethernet(&self) -> bool {
        self.layer.as_deref() == Some("Ethernet")
    }
}

/// Ports of RDMA adapters, by name; of several hosts, what the first says.
pub fn ports(chart: &Chart<'_>) -> BTreeMap<String, Port> {
    let mut found = of_records(chart, |_| true);
    named_by_matrix(chart, &mut found);
    found
}

/// Ports of each host by itself, where the input names several: by reports, or by their files' folders.
pub fn by_host(chart: &Chart<'_>) -> Vec<(String, BTreeMap<String, Port>)> {
    let mut names: Vec<String> = chart.records("port").map(|said| host_of(&said)).collect();
    names.sort();
    names.dedup();
    let own = |name: String| {
        let ports = of_records(chart, |said| host_of(said) == name);
        (name, ports)
    };
    names
        .into_iter()
        .filter(|name| !name.is_empty())
        .map(own)
        .filter(|(_, ports)| !ports.is_empty())
        .collect()
}

fn host_of(said: &Said<'_>) -> String {
    super::lookup::host_of(said.report, &said.place())
}

fn of_records(chart: &Chart<'_>, is_own: impl Fn(&Said<'_>) -> bool) -> BTreeMap<String, Port> {
    let mut found: BTreeMap<String, Port> = BTreeMap::new();
    for said in chart.records("port").filter(is_own) {
        let Some((adapter, _)) = said.record.subject.split_once(" port ") else { continue };
        let port = found.entry(adapter.to_owned()).or_insert_with(|| Port {
            adapter: adapter.to_owned(),
            is_up: None,
            layer: None,
            rate: None,
            mtu_bytes: None,
            interface: None,
            place: said.place(),
        });
        // Of an adapter with several ports one that is up is enough.
        port.is_up = match (port.is_up, is_up(said.record)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (own, other) => own.or(other),
        };
        port.layer = port.layer.take().or_else(|| said.record.text("link-layer").map(str::to_owned));
        port.interface = port.interface.take().or_else(|| said.record.text("interface").map(str::to_owned));
        port.mtu_bytes =
            port.mtu_bytes.or_else(|| said.record.count("active-mtu").zip(said.record.count("max-mtu")));
        if let Some(Value::Rate(rate)) = said.record.get("rate") {
            port.rate = port.rate.or(Some(*rate));
        }
    }
    found
}

/// A matrix names adapters too; rdma-core calls them after their interface: rocep1s0f0 of enp1s0f0np0.
fn named_by_matrix(chart: &Chart<'_>, found: &mut BTreeMap<String, Port>) {
    let interfaces = interfaces(chart);
    for name in chart.case.nic_names().into_iter().flatten() {
        let Some(stem) = name.strip_prefix("roce") else { continue };
        let own = interfaces.iter().find(|(interface, _)| interface.starts_with(&format!("en{stem}")));
        let Some((interface, (up, place))) = own else { continue };
        found.entry(name.clone()).or_insert_with(|| Port {
            adapter: name.clone(),
            is_up: Some(*up),
            layer: Some("Ethernet".to_owned()),
            rate: None,
            mtu_bytes: None,
            interface: Some(interface.clone()),
            place: place.clone(),
        });
    }
}

fn is_up(record: &Record) -> Option<bool> {
    let state = record.text("state").or_else(|| record.text("interface-state"))?;
    let state = state.rsplit(": ").next().unwrap_or(state).trim_start_matches("PORT_");
    Some(state.eq_ignore_ascii_case("active") || state.eq_ignore_ascii_case("up"))
}

/// Interfaces that `ip link` lists, and whether they have a carrier.
fn interfaces(chart: &Chart<'_>) -> BTreeMap<String, (bool, Place)> {
    let listed = chart.records("port").filter(|said| said.record.get("mtu").is_some());
    let state = |record: &Record| record.text("flags").is_some_and(|flags| flags.contains("LOWER_UP"));
    listed.map(|said| (said.record.subject.clone(), (state(said.record), said.place()))).collect()
}

/// The MTU of an interface, in bytes, as `ip link` shows it.
pub fn interface_mtu_bytes(chart: &Chart<'_>, interface: &str) -> Option<(u64, Place)> {
    let said = chart
        .records("port")
        .find(|said| said.record.subject == interface && said.record.get("mtu").is_some())?;
    Some((said.words("mtu")?.parse().ok()?, said.field_place("mtu")))
}

/// The adapters that logs say are used over RDMA, each once, with their link layer and where they are named: of the
/// longest list.
pub fn used(chart: &Chart<'_>) -> Vec<(String, Option<String>, Place)> {
    let lists = chart.logs().flat_map(|(log, place)| {
        let own = log.adapters.iter().filter(|list| list.network == "IB");
        own.map(move |list| (list, place))
    });
    let Some((list, place)) = lists.max_by_key(|(list, _)| list.adapters.len()) else { return Vec::new() };
    let place = crate::chart::at(place, list.line);
    list.adapters
        .iter()
        .map(|adapter| {
            let layer = adapter
                .link_layer
                .as_deref()
                .map(|layer| layer.split('/').next().unwrap_or(layer).to_owned());
            (adapter.name.clone(), layer, place.clone())
        })
        .collect()
}

/// Whether the job runs over RoCE, as a log or, without one, all ports that are up say; `None` where nothing says so.
pub fn is_roce(chart: &Chart<'_>) -> Option<bool> {
    let used = used(chart);
    if let Some(layer) = used.iter().find_map(|(_, layer, _)| layer.as_deref()) {
        return Some(layer.eq_ignore_ascii_case("roce"));
    }
    let ports = ports(chart);
    let mut up = ports.values().filter(|port| port.is_up != Some(false) && port.layer.is_some()).peekable();
    up.peek()?;
    Some(up.all(Port::is_ethernet))
}
