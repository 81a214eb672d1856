//! Hosts as hwloc writes them.
//!
//! The notes count texts: `numanodes` each `NUMANode` of the file, so that in XML a matrix of latencies between
//! nodes is one more; `nvidia_pci` and `efa_pci` the functions of NVIDIA and the Elastic Fabric Adapters of Amazon,
//! whose device numbers begin with `efa`.

use weft_formats::{Evidence, Host, Reading};
use weft_testkit::noted::Noted;

/// What differs from the notes of a host.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if !["hwloc-xml", "lstopo-text"].contains(&file.format.as_str()) {
        return None;
    }
    let mut misses = Vec::new();
    let first = reading.evidence.first().map(|located| &located.value);
    let Some(Evidence::Host(host)) = first else {
        return Some(vec![format!("not a host: {first:?}")]);
    };
    for (what, wanted) in &file.expected {
        let Some(wanted) = wanted.as_integer().and_then(|count| usize::try_from(count).ok()) else {
            misses.push(format!("{what} is no count: {wanted:?}"));
            continue;
        };
        let found = found(what, host, &file.text);
        if found.is_some_and(|found| found != wanted) {
            misses.push(format!("{what} {found:?}, wanted {wanted}"));
        }
    }
    Some(misses)
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
