//! Systems, libraries and sources.

use weft_catalogue::{Catalogue, Library, Machine, Source};

use super::Entry;
use crate::names;

pub fn system<'c>(system: &'c Machine, catalogue: &'c Catalogue) -> Entry<'c> {
    let year = system.year.map_or_else(String::new, |year| format!(", {year}"));
    let mut entry = Entry::new(&system.name, &system.title, format!("system{year}"), &system.aliases)
        .note(system.note.as_ref());
    let from = (system.source.as_deref(), system.at.as_deref());
    for (index, (what, made_of)) in composition(system, catalogue).into_iter().enumerate() {
        // One source vouches for the whole structure.
        entry = match index {
            0 => entry.sourced(what, made_of, system.grade, from),
            _ => entry.plain(what, made_of),
        };
    }
    if system.host.count > 1 {
        entry = entry.plain("hosts", system.host.count.to_string());
    }
    if let Some(cpu) = &system.host.cpu {
        let title = catalogue.cpu(cpu).map_or(cpu.as_str(), |cpu| cpu.title.as_str());
        entry = entry.plain("CPUs of a host", format!("{} x {title}", system.host.sockets));
    }
    if let Some(fabric) = &system.fabric {
        let value = match &fabric.switch {
            Some(switch) => format!("{} x {switch}", fabric.switches),
            None => format!("direct links between {} pairs", fabric.mesh.len()),
        };
        entry = entry.plain("GPU fabric", value);
    }
    for branch in &system.pcie {
        let devices = branch.gpus.iter().map(|number| format!("GPU{number}"));
        let devices: Vec<String> =
            devices.chain(branch.nics.iter().map(|number| format!("NIC{number}"))).collect();
        let below = branch.switch.as_deref().unwrap_or("root ports");
        entry =
            entry.plain(format!("socket {}", branch.socket), format!("{below}: {}", names::ranges(&devices)));
    }
    entry
}

/// GPUs and NICs of one host, group by group.
fn composition(system: &Machine, catalogue: &Catalogue) -> Vec<(&'static str, String)> {
    let gpus = system.gpus.iter().map(|group| {
        let name = group.model.as_deref().unwrap_or("unknown GPU");
        let title = catalogue.gpu(name).map_or(name, |gpu| gpu.title.as_str());
        ("GPUs", format!("{} x {title}", group.count))
    });
    let nics = system.nics.iter().map(|group| {
        let name = group.model.as_deref().unwrap_or("unknown NIC");
        let title = catalogue.nic(name).map_or(name, |nic| nic.title.as_str());
        ("NICs", format!("{} x {title}", group.count))
    });
    gpus.chain(nics).collect()
}

pub fn library(library: &Library) -> Entry<'_> {
    let mut entry = Entry::new(&library.name, &library.title, "library", &library.aliases);
    for (name, table) in &library.tables {
        let from = (Some(table.source.as_str()), table.at.as_deref());
        let columns =
            if table.columns.is_empty() { String::new() } else { format!(": {}", table.columns.join(", ")) };
        let value = format!("{} [{}]{columns}", table.title, table.unit);
        entry = entry.sourced(name.as_str(), value, Some(table.grade), from);
        if let Some(note) = &table.note {
            entry = entry.plain("  note", note);
        }
        for (row, values) in &table.rows {
            let numbers: Vec<String> = values.iter().map(f64::to_string).collect();
            entry = entry.plain(format!("  {row}"), numbers.join("  "));
        }
    }
    entry
}

pub fn source<'c>(key: &'c str, source: &'c Source) -> Entry<'c> {
    let entry = Entry::new(key, &source.title, "source", &[])
        .plain("published by", &source.publisher)
        .plain("found at", &source.address);
    match &source.version {
        Some(version) => entry.plain("version", version),
        None => entry,
    }
}
