//! Topology and graph files of NCCL.

use std::collections::BTreeSet;

use toml::Value;
use weft_formats::{Adapter, DeviceRole, Evidence, Host, NcclGraphs, Reading};
use weft_testkit::noted::Noted;

/// What differs from the notes of a topology or graph file.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if file.kind != "C" {
        return None;
    }
    let host = reading.evidence.iter().find_map(|located| {
        let Evidence::Host(host) = &located.value else { return None };
        Some(&**host)
    });
    let graphs = reading.evidence.iter().find_map(|located| {
        let Evidence::Graphs(graphs) = &located.value else { return None };
        Some(&**graphs)
    });
    let mut misses = Vec::new();
    for (name, wanted) in &file.expected {
        let found = match (host, graphs) {
            (Some(host), _) => held(host, name),
            (None, Some(graphs)) => of_graphs(graphs, name),
            (None, None) => None,
        };
        match found {
            Some(found) if agrees(wanted, &found) => {}
            found => misses.push(format!("{name}: found {found:?}, wanted {wanted:?}")),
        }
    }
    Some(misses)
}

/// What a graph file holds under the notes' name.
fn of_graphs(graphs: &NcclGraphs, name: &str) -> Option<Value> {
    let count = (name == "graphs").then_some(graphs.graphs.len())?;
    i64::try_from(count).ok().map(Value::Integer)
}

fn gpus(host: &Host) -> impl Iterator<Item = &weft_formats::Gpu> {
    host.devices.iter().flat_map(|device| &device.roles).filter_map(|role| match role {
        DeviceRole::Gpu(gpu) => Some(gpu),
        DeviceRole::Adapter(_) | DeviceRole::GpuSwitch => None,
    })
}

fn adapters(host: &Host) -> Vec<&Adapter> {
    let on_pci = host.devices.iter().flat_map(|device| &device.roles).filter_map(|role| match role {
        DeviceRole::Adapter(adapter) => Some(adapter),
        DeviceRole::Gpu(_) | DeviceRole::GpuSwitch => None,
    });
    on_pci.chain(host.virtual_adapters.iter().map(|virtual_one| &virtual_one.adapter)).collect()
}

/// PCI functions with an interface, and CPUs with virtual ones.
fn nics(host: &Host) -> usize {
    let is_adapter = |role: &DeviceRole| matches!(role, DeviceRole::Adapter(_));
    let on_pci = host.devices.iter().filter(|device| device.roles.iter().any(is_adapter)).count();
    let cpus: BTreeSet<Option<usize>> = host.virtual_adapters.iter().map(|adapter| adapter.numa).collect();
    on_pci + cpus.len()
}

fn count(host: &Host, family: &str) -> usize {
    host.gpu_links.iter().filter(|link| link.family == family).count()
}

/// What a host holds under the notes' name; `None` for names that are not known.
fn held(host: &Host, name: &str) -> Option<Value> {
    let number = |count: usize| i64::try_from(count).ok().map(Value::Integer);
    let set = |texts: Vec<Option<String>>| {
        let texts: BTreeSet<String> = texts.into_iter().flatten().collect();
        Some(Value::Array(texts.into_iter().map(Value::String).collect()))
    };
    let flag = |flag: Option<bool>| flag.map(|flag| u8::from(flag).to_string());
    match name {
        "root" => Some(Value::String("system".to_owned())),
        "version" => Some(Value::String(host.version.clone()?)),
        "cpus" => number(host.numa.len()),
        "gpus" => number(gpus(host).count()),
        "nets" => number(adapters(host).len()),
        "pci" => number(host.devices.len()),
        "nics" => number(nics(host)),
        "nvlink" | "xgmi" | "c2c" => number(count(host, name)),
        "gpu_sm" => set(gpus(host).map(|gpu| gpu.sm.map(|sm| sm.to_string())).collect()),
        "gcn" => set(gpus(host).map(|gpu| gpu.gcn.clone()).collect()),
        "gdr" => set(gpus(host)
            .map(|gpu| flag(gpu.gdr))
            .chain(adapters(host).iter().map(|adapter| flag(adapter.gdr)))
            .collect()),
        "net_names" => set(adapters(host).iter().map(|adapter| Some(adapter.name.clone())).collect()),
        "net_speed_mbps" => {
            let speed = |adapter: &&Adapter| adapter.rate.map(|rate| (rate.get() / 125_000).to_string());
            set(adapters(host).iter().map(speed).collect())
        }
        "nvlink_tclass" => set(host
            .gpu_links
            .iter()
            .filter(|link| link.family == "nvlink")
            .map(|link| link.target_class.clone())
            .collect()),
        "link_speeds" => set(host.devices.iter().map(|device| device.speed_text.clone()).collect()),
        "link_widths" => set(host.devices.iter().map(|device| device.width_text.clone()).collect()),
        "arch" => set(host.numa.iter().map(|numa| numa.arch.clone()).collect()),
        "vendors" => set(host.numa.iter().map(|numa| numa.vendor.clone()).collect()),
        _ => None,
    }
}

/// Lists hold at least what the notes list: those name some values of many.
fn agrees(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Array(wanted), Value::Array(found)) => wanted.iter().all(|value| found.contains(value)),
        (wanted, found) => wanted == found,
    }
}
