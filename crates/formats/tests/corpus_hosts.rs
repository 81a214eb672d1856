//! The corpus of hosts as hwloc writes them, which lies beside the project: each file is read, and what its notes
//! count is found.
//!
//! The notes count texts: `numanodes` each `NUMANode` of the file, so that in XML a matrix of latencies between
//! nodes is one more; `nvidia_pci` and `efa_pci` the functions of NVIDIA and the Elastic Fabric Adapters of Amazon,
//! whose device numbers begin with `efa`.

#![expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]

use std::fs;
use std::path::Path;

use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Host, Source, read};

fn host(text: &str) -> Option<Host> {
    let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
    reading.evidence.into_iter().find_map(|found| match found.value {
        Evidence::Host(host) => Some(*host),
        other => panic!("not a host: {other:?}"),
    })
}

/// What the notes call it, as found.
fn found(name: &str, host: &Host, text: &str) -> Option<usize> {
    let functions = || host.devices.iter().filter(|device| device.class != Some(0x0604));
    Some(match name {
        "osdev" => host.os_devices.len(),
        // In the console's text the notes counted only what XML calls so.
        "pcidev" if text.starts_with('<') || text.contains("<topology") => functions().count(),
        "numanodes" => {
            let latencies = text.matches("<distances2 type=\"NUMANode\"").count();
            let plain = |line: &&str| line.trim_start().starts_with("NUMANode(");
            host.numa.len() + latencies - text.lines().filter(plain).count()
        }
        "nvidia_pci" => host.devices.iter().filter(|device| device.vendor == Some(0x10de)).count(),
        "efa_pci" => {
            let is_adapter = |device: u16| device & 0xfff0 == 0xefa0;
            functions().filter(|one| one.vendor == Some(0x1d0f) && one.device.is_some_and(is_adapter)).count()
        }
        "packages" => host.packages.len(),
        _ => return None,
    })
}

#[test]
fn hosts_of_the_corpus_are_read() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/D"));
    let Ok(entries) = fs::read_dir(folder) else {
        println!("skipped: {} is absent", folder.display());
        return;
    };
    let mut notes: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    notes.sort();
    let (mut passed, mut all, mut misses) = (0, 0, Vec::new());
    for path in notes.iter().filter(|path| path.to_string_lossy().ends_with(".meta.toml")) {
        let note: toml::Table = fs::read_to_string(path).unwrap().parse().unwrap();
        let format = note["format"].as_str().unwrap_or_default();
        if !["hwloc-xml", "lstopo-text"].contains(&format) {
            continue;
        }
        all += 1;
        let name = note["file"].as_str().unwrap();
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let Some(host) = host(&text) else {
            misses.push(format!("{name}: no host"));
            continue;
        };
        let before = misses.len();
        for (what, wanted) in note["expected"].as_table().unwrap() {
            let wanted = wanted.as_integer().and_then(|count| usize::try_from(count).ok()).unwrap();
            let found = found(what, &host, &text);
            if found.is_some_and(|found| found != wanted) {
                misses.push(format!("{name}: {what} {found:?}, wanted {wanted}"));
            }
        }
        passed += usize::from(misses.len() == before);
    }
    println!("{passed} of {all} hosts of the corpus");
    assert!(misses.is_empty(), "{misses:#?}");
}
