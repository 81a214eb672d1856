//! Every topology and graph file of the shared corpus is read, and holds what its notes say. The corpus lies beside
//! the project; without it this test says that it is skipped.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use weft_catalogue::Catalogue;
use weft_formats::{Adapter, DeviceRole, Evidence, Host, NcclGraphs, Overrides, Source, join, read};

/// Text and notes of each file.
#[expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]
fn files() -> Option<Vec<(String, String, Table)>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/C"));
    let entries = fs::read_dir(folder).ok()?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    paths.sort();
    let file = |path: &PathBuf| {
        let meta: Table = fs::read_to_string(path.with_extension("meta.toml")).unwrap().parse().unwrap();
        let expected = meta["expected"].as_table().cloned().unwrap_or_default();
        (
            path.file_name().unwrap().to_string_lossy().into_owned(),
            fs::read_to_string(path).unwrap(),
            expected,
        )
    };
    Some(paths.iter().map(file).collect())
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
    let number = |count: usize| Some(Value::Integer(i64::try_from(count).unwrap()));
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

fn misses(wanted: &Table, host: Option<&Host>, graphs: Option<&NcclGraphs>) -> Vec<String> {
    let mut misses = Vec::new();
    for (name, wanted) in wanted {
        let found = match (host, graphs) {
            (Some(host), _) => held(host, name),
            (None, Some(graphs)) if name == "graphs" => {
                Some(Value::Integer(graphs.graphs.len().try_into().unwrap()))
            }
            (None, _) => None,
        };
        match found {
            Some(found) if agrees(wanted, &found) => {}
            found => misses.push(format!("{name}: found {found:?}, wanted {wanted:?}")),
        }
    }
    misses
}

#[test]
fn every_file_is_read_and_holds_what_its_notes_say() {
    let Some(files) = files() else {
        println!("skipped: no corpus");
        return;
    };
    let mut failed = Vec::new();
    for (name, text, wanted) in &files {
        let reading = read(&Source::file(name, text), Catalogue::embedded(), None);
        let host = reading.evidence.iter().find_map(|located| {
            let Evidence::Host(host) = &located.value else { return None };
            Some(&**host)
        });
        let graphs = reading.evidence.iter().find_map(|located| {
            let Evidence::Graphs(graphs) = &located.value else { return None };
            Some(&**graphs)
        });
        let differences = misses(wanted, host, graphs);
        if !differences.is_empty() {
            failed.push(format!("{name}: {}", differences.join("; ")));
        }
        let (_, _) = join(reading.evidence.clone(), &Overrides::default(), Catalogue::embedded());
    }
    println!("C: {} of {}", files.len() - failed.len(), files.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
