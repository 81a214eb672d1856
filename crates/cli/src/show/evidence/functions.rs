//! PCI functions that matter to a fabric, one a line, and what their registers say.

use weft_formats::{Device, DeviceRole, Host};

use super::host::state;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Functions that are shown one by one; the rest is counted.
const FUNCTIONS_MAX: usize = 40;
/// Functions whose errors are shown.
const ERRORS_MAX: usize = 8;

/// Bits that nearly every machine sets while it starts.
const ORDINARY: [&str; 4] = ["DevSta CorrErr", "DevSta UnsupReq", "UESta UnsupReq", "CESta AdvNonFatalErr"];

/// A GPU or an accelerator, by what a library says or by class and vendor: screens of management controllers are
/// none.
pub(super) fn is_gpu(device: &Device) -> bool {
    let class = device.class.unwrap_or(0);
    let computes = class >> 8 == 0x03 || class == 0x1200;
    let vendor =
        matches!(device.vendor, Some(0x10de | 0x1002 | 0x1da3)) || class == 0x1200 || class == 0x0302;
    device.roles.iter().any(|role| matches!(role, DeviceRole::Gpu(_))) || computes && vendor
}

/// Anything that goes to a network.
pub(super) fn is_nic(device: &Device) -> bool {
    device.class.is_some_and(|class| class >> 8 == 0x02)
        || device.roles.iter().any(|role| matches!(role, DeviceRole::Adapter(_)))
}

/// An NVSwitch.
pub(super) fn is_gpu_switch(device: &Device) -> bool {
    device.roles.contains(&DeviceRole::GpuSwitch)
        || device.class == Some(0x0680) && device.vendor == Some(0x10de)
}

/// GPUs, then NICs, with what joins them to the host.
pub(super) fn table(host: &Host) -> String {
    let shown: Vec<&Device> = host
        .devices
        .iter()
        .filter(|device| is_gpu(device))
        .chain(host.devices.iter().filter(|device| is_nic(device) && !is_gpu(device)))
        .collect();
    let mut table = Table::default();
    for device in shown.iter().take(FUNCTIONS_MAX) {
        let node = device.numa.and_then(|index| host.numa.get(index)?.number);
        let rate = device.details.link_rate.map(|rate| rate.to_string());
        let link = state(device.link);
        table.row([
            Cell::new(&device.address).tone(Tone::Faint),
            Cell::new(name(device)),
            Cell::new(if link.is_empty() { rate.unwrap_or_default() } else { link }),
            Cell::new(node.map_or_else(String::new, |node| format!("node {node}"))),
            Cell::new(device.details.driver.clone().unwrap_or_default()),
            Cell::new(adapters(device)).wide(),
        ]);
    }
    let mut lines = table.lines();
    if shown.len() > FUNCTIONS_MAX {
        lines.extend(["  and ", &(shown.len() - FUNCTIONS_MAX).to_string(), " more\n"]);
    }
    lines
}

/// As the driver calls it, else as the tool does, else its numbers.
fn name(device: &Device) -> String {
    let gpu = device.roles.iter().find_map(|role| match role {
        DeviceRole::Gpu(gpu) => gpu.model.clone(),
        DeviceRole::Adapter(_) | DeviceRole::GpuSwitch => None,
    });
    let numbers = || match (device.vendor, device.device) {
        (Some(vendor), Some(device)) => format!("{vendor:04x}:{device:04x}"),
        (Some(_) | None, _) => "?".to_owned(),
    };
    gpu.or_else(|| device.name.clone()).unwrap_or_else(numbers)
}

/// `mlx5_0 port 1 ACTIVE 50 GB/s`.
fn adapters(device: &Device) -> String {
    let one = |role: &DeviceRole| match role {
        DeviceRole::Adapter(adapter) => {
            let port = adapter.port.map(|port| format!("port {port}"));
            let rate = adapter.rate.map(|rate| rate.to_string());
            let words = [Some(adapter.name.clone()), port, adapter.state.clone(), rate];
            Some(words.into_iter().flatten().collect::<Vec<_>>().join(" "))
        }
        DeviceRole::Gpu(_) | DeviceRole::GpuSwitch => None,
    };
    device.roles.iter().filter_map(one).collect::<Vec<_>>().join(", ")
}

/// Whether bridges send what GPUs say to each other up to the CPU; empty where it is not known.
pub(super) fn access_control(host: &Host) -> String {
    let known: Vec<&Device> =
        host.devices.iter().filter(|device| device.acs.is_some() && device.class == Some(0x0604)).collect();
    let redirects = |device: &&&Device| {
        let flags = device.acs.as_deref().unwrap_or_default();
        ["ReqRedir+", "CmpltRedir+"].iter().any(|flag| flags.contains(flag))
    };
    let redirecting: Vec<&str> =
        known.iter().filter(redirects).map(|device| device.address.as_str()).collect();
    match (known.len(), redirecting.as_slice()) {
        (0, _) => String::new(),
        (count, []) => format!("off at all {count} ports that have it"),
        (count, all) => {
            let dots = if all.len() > 4 { ", …" } else { "" };
            let named = all.iter().take(4).copied().collect::<Vec<_>>().join(", ");
            format!("{} of {count} ports send peers' requests up to the CPU: {named}{dots}", all.len())
        }
    }
}

/// Functions with error bits that are out of the ordinary.
pub(super) fn errors(host: &Host) -> Vec<String> {
    let of = |device: &Device| {
        let bits = device.details.errors.iter().map(String::as_str).filter(|bit| !ORDINARY.contains(bit));
        let bits: Vec<&str> = bits.collect();
        (!bits.is_empty()).then(|| format!("{} {}", device.address, bits.join(", ")))
    };
    host.devices.iter().filter_map(of).take(ERRORS_MAX).collect()
}
