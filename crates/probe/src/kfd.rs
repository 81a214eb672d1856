//! AMD's GPUs and the links between them, from the topology of their driver (KFD).

use std::collections::BTreeMap;

use weft_base::Rate;
use weft_formats::{DeviceRole, GpuLink, GpuLinkEnd, Host, PciAddress};

use crate::files::Files;

const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";

/// The driver's number for links of XGMI.
const XGMI: u64 = 11;

pub(crate) fn read(files: &dyn Files, host: &mut Host) {
    let mut numbers: Vec<u64> = files.list(NODES).iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    // CPUs are nodes too; GPUs are numbered in the order of the nodes, as HIP does.
    let mut device_of: BTreeMap<u64, usize> = BTreeMap::new();
    for node in &numbers {
        let properties = properties(files, &format!("{NODES}/{node}/properties"));
        let Some(index) = address(&properties).and_then(|address| {
            let address = address.to_string();
            host.devices.iter().position(|device| device.address == address)
        }) else {
            continue;
        };
        let number = u32::try_from(device_of.len()).ok();
        device_of.insert(*node, index);
        for role in &mut host.devices[index].roles {
            let DeviceRole::Gpu(gpu) = role else { continue };
            gpu.number = gpu.number.or(number);
            gpu.gcn =
                gpu.gcn.take().or_else(|| properties.get("gfx_target_version").map(|version| gfx(*version)));
        }
    }
    for node in &numbers {
        let Some(gpu) = device_of.get(node) else { continue };
        let folder = format!("{NODES}/{node}/io_links");
        for link in files.list(&folder) {
            let properties = properties(files, &format!("{folder}/{link}/properties"));
            let to = properties.get("node_to").and_then(|node| device_of.get(node));
            let (Some(to), true) = (to, properties.get("type") == Some(&XGMI)) else { continue };
            // Megabytes per second of all links between the two; how many they are is not said.
            let rate = properties.get("max_bandwidth").and_then(|rate| rate.checked_mul(1_000_000));
            host.gpu_links.push(GpuLink {
                gpu: *gpu,
                to: GpuLinkEnd::Device(*to),
                family: "xgmi",
                rate: rate.filter(|rate| *rate > 0).map(Rate::bytes_per_second),
                ..GpuLink::default()
            });
        }
    }
}

/// `name value`, one a line.
fn properties(files: &dyn Files, path: &str) -> BTreeMap<String, u64> {
    let text = files.text(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

/// `None` for CPUs, which have no place on PCI.
fn address(properties: &BTreeMap<String, u64>) -> Option<PciAddress> {
    let place = *properties.get("location_id")?;
    if properties.get("simd_count").copied().unwrap_or(0) == 0 {
        return None;
    }
    Some(PciAddress {
        domain: u32::try_from(properties.get("domain").copied().unwrap_or(0)).ok()?,
        bus: u8::try_from(place >> 8 & 0xff).ok()?,
        device: u8::try_from(place >> 3 & 0x1f).ok()?,
        function: u8::try_from(place & 7).ok()?,
    })
}

/// 90402 is `gfx942`, 90010 is `gfx90a`.
fn gfx(version: u64) -> String {
    format!("gfx{}{:x}{:x}", version / 10_000, version / 100 % 100, version % 100)
}
