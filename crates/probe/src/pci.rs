//! PCI functions and how they hang on each other.

use std::collections::BTreeMap;

use weft_base::Bytes;
use weft_formats::{
    Device, Host, PciAddress, PcieState, Record, Region, Value, VirtualFunctions, read_config,
};

use crate::files::Files;
use crate::rebar;
use crate::survey::Probe;

const DEVICES: &str = "/sys/bus/pci/devices";

/// The function that a path below `/sys/devices` leads to or through: its last part that is an address.
pub(crate) fn function_of(path: &str) -> Option<PciAddress> {
    path.rsplit('/').find_map(|part| part.parse().ok())
}

/// Whether a function computes: a GPU or an accelerator of a vendor of such. The screens of management controllers are
/// none.
pub(crate) fn is_gpu(device: &Device) -> bool {
    let class = device.class.unwrap_or(0);
    let computes = class >> 8 == 0x03 || class == 0x1200;
    computes && matches!(device.vendor, Some(0x10de | 0x1002 | 0x8086 | 0x1da3))
}

/// Reads all functions, parents before their children; returns the folder of each.
pub(crate) fn read(files: &dyn Files, host: &mut Host) -> Vec<String> {
    let mut found: Vec<(String, PciAddress)> = Vec::new();
    for name in files.list(DEVICES) {
        let path = format!("{DEVICES}/{name}");
        let real = files.link(&path).unwrap_or(path);
        found.extend(name.parse().ok().map(|address| (real, address)));
    }
    // Paths of children are longer; among equals the address decides, as lspci sorts.
    found.sort_by_key(|(path, address)| (path.matches('/').count(), *address));
    let mut index_of: BTreeMap<PciAddress, usize> = BTreeMap::new();
    let slots = slots(files);
    for (path, address) in &found {
        let above = path.rsplit_once('/').and_then(|(folder, _)| function_of(folder));
        let mut device = function(files, path);
        device.address = address.to_string();
        device.parent = above.and_then(|above| index_of.get(&above).copied());
        device.numa = node(files, path, host);
        // `0000:1b:00` without the function.
        device.details.slot = device.address.rsplit_once('.').and_then(|(card, _)| slots.get(card).cloned());
        index_of.insert(*address, host.devices.len());
        host.devices.push(device);
    }
    found.into_iter().map(|(path, _)| path).collect()
}

/// The node of a function; -1 says that the firmware does not tell.
fn node(files: &dyn Files, path: &str, host: &Host) -> Option<usize> {
    let number: u32 = files.text(&format!("{path}/numa_node"))?.parse().ok()?;
    host.numa.iter().position(|node| node.number == Some(number))
}

fn function(files: &dyn Files, path: &str) -> Device {
    let text = |name: &str| files.text(&format!("{path}/{name}"));
    let number = |name: &str| {
        let text = text(name)?;
        u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
    };
    let half = |name: &str| number(name).and_then(|number| u16::try_from(number).ok());
    let state = |which: &str| PcieState {
        speed: text(&format!("{which}_link_speed"))
            .and_then(|text| text.trim_end_matches(" PCIe").parse().ok()),
        lanes: text(&format!("{which}_link_width"))
            .and_then(|text| text.parse().ok())
            .filter(|lanes| (1..=32).contains(lanes)),
    };
    let mut device = Device {
        class: number("class").and_then(|class| u16::try_from(class >> 8).ok()),
        vendor: half("vendor"),
        device: half("device"),
        subsystem_vendor: half("subsystem_vendor"),
        subsystem: half("subsystem_device"),
        name: text("product_name").or_else(|| text("label")),
        link: state("current"),
        link_capability: state("max"),
        ..Device::default()
    };
    let count = |name: &str| text(name).and_then(|text| text.parse::<u16>().ok());
    let details = &mut device.details;
    details.driver = files.link_name(&format!("{path}/driver"));
    details.iommu_group =
        files.link_name(&format!("{path}/iommu_group")).and_then(|group| group.parse().ok());
    details.regions = regions(files, path);
    details.virtual_functions = count("sriov_totalvfs")
        .filter(|total| *total > 0)
        .map(|total| VirtualFunctions { total, enabled: count("sriov_numvfs").unwrap_or(0) });
    details.physical_function =
        files.link(&format!("{path}/physfn")).and_then(|path| Some(function_of(&path)?.to_string()));
    if let Some(bytes) = files.bytes(&format!("{path}/config")) {
        read_config(&bytes, &mut device);
    }
    device
}

/// Windows into memory from `resource`: first and last address and flags, one window a line.
fn regions(files: &dyn Files, path: &str) -> Vec<Region> {
    let table = files.text(&format!("{path}/resource")).unwrap_or_default();
    let region = |(number, line): (u8, &str)| {
        let mut words =
            line.split_whitespace().map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
        let (first, last, flags) = (words.next()??, words.next()??, words.next()??);
        // Bit 9: memory, not ports.
        let size = last.checked_sub(first)?.checked_add(1)?;
        (flags & 0x200 != 0 && size > 1).then(|| Region {
            number: Some(number),
            size: Some(Bytes::new(size)),
            largest: rebar::largest(files, path, number),
        })
    };
    // Six windows; what follows are the expansion ROM and those of bridges.
    (0u8..6).zip(table.lines()).filter_map(region).collect()
}

/// The names of slots by the address in them, without the function.
fn slots(files: &dyn Files) -> BTreeMap<String, String> {
    const SLOTS: &str = "/sys/bus/pci/slots";
    let slot = |name: String| Some((files.text(&format!("{SLOTS}/{name}/address"))?, name));
    files.list(SLOTS).into_iter().filter_map(slot).collect()
}

/// Errors that the kernel has counted, of functions that have any.
pub(crate) fn read_counters(files: &dyn Files, paths: &[String], probe: &mut Probe) {
    for (path, device) in paths.iter().zip(&probe.host.devices) {
        let mut record = Record::new("counter", &device.address, 0);
        for kind in ["correctable", "nonfatal", "fatal"] {
            let text = files.text(&format!("{path}/aer_dev_{kind}")).unwrap_or_default();
            for (name, count) in text.lines().filter_map(|line| line.rsplit_once(' ')) {
                let count: u64 = count.parse().unwrap_or(0);
                if count > 0 && !name.starts_with("TOTAL") {
                    record.push(format!("{kind}-{}", name.to_lowercase()), Value::Count(count), 0);
                }
            }
        }
        if !record.fields.is_empty() {
            probe.records.push(record);
        }
    }
}
