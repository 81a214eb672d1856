//! The devices of one host: how many of what, and links that are narrower than they could be.

use weft_base::Place;
use weft_formats::{Device, GpuLinkEnd, Host, PcieState};

use super::functions;
use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Links below capability that are named one by one.
const NARROW_MAX: usize = 8;

/// What a host holds, without its functions one by one where they are shown as a machine; `None` where that is
/// nothing.
pub fn section(host: &Host, place: &Place, has_machine: bool) -> Option<String> {
    if host.devices.is_empty() && host.virtual_adapters.is_empty() && host.numa.is_empty() {
        return None;
    }
    let mut table = Table::default();
    let mut row = |name: &str, text: String| {
        if !text.is_empty() {
            table.row([Cell::new(name).tone(Tone::Faint), Cell::new(text).wide()]);
        }
    };
    row("CPUs", cpus(host));
    row("PCI functions", counted(host));
    row("GPU links", gpu_links(host));
    row("virtual NICs", virtual_adapters(host));
    let narrow: Vec<String> = host.devices.iter().filter_map(narrow).collect();
    for text in narrow.iter().take(NARROW_MAX) {
        row("narrow link", text.clone());
    }
    if narrow.len() > NARROW_MAX {
        row("narrow link", format!("and {} more", narrow.len() - NARROW_MAX));
    }
    row("access control", functions::access_control(host));
    for text in functions::errors(host) {
        row("errors", text);
    }
    let mut text = table.lines();
    if !has_machine {
        text.push_str(&functions::table(host));
    }
    Some(titled(&super::title(host.format, host.name.as_deref(), place), &text))
}

fn cpus(host: &Host) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for node in &host.numa {
        let words: Vec<&str> =
            [&node.arch, &node.vendor, &node.model].into_iter().flatten().map(String::as_str).collect();
        let kind = words.join(" ");
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let text = |(kind, count): &(String, usize)| match (kind.is_empty(), count) {
        (true, 1) => "1 NUMA node".to_owned(),
        (true, count) => format!("{count} NUMA nodes"),
        (false, 1) => format!("1 NUMA node: {kind}"),
        (false, count) => format!("{count} NUMA nodes: {kind}"),
    };
    kinds.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn counted(host: &Host) -> String {
    let count = |is: &dyn Fn(&Device) -> bool| host.devices.iter().filter(|device| is(device)).count();
    let named = [
        (count(&|device| device.class == Some(0x0604)), "bridge", "bridges"),
        (count(&functions::is_gpu), "GPU", "GPUs"),
        (count(&functions::is_nic), "NIC", "NICs"),
        (count(&functions::is_gpu_switch), "NVSwitch", "NVSwitches"),
    ];
    let listed: Vec<String> = named
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, several)| format!("{count} {}", if *count == 1 { one } else { several }))
        .collect();
    match (host.devices.len(), listed.is_empty()) {
        (0, _) => String::new(),
        (count, true) => count.to_string(),
        (count, false) => format!("{count}: {}", listed.join(", ")),
    }
}

fn gpu_links(host: &Host) -> String {
    let mut kinds: Vec<(&str, &str, u32)> = Vec::new();
    for link in &host.gpu_links {
        let to = match link.to {
            GpuLinkEnd::Switch => "to switches",
            GpuLinkEnd::Cpu(_) => "to CPUs",
            GpuLinkEnd::Address(_) => "to unknown devices",
            GpuLinkEnd::Device(index)
                if host.devices.get(index).is_some_and(|to| to.class == Some(0x0680)) =>
            {
                "to switches"
            }
            GpuLinkEnd::Device(_) => "to GPUs",
        };
        match kinds.iter_mut().find(|(family, known, _)| *family == link.family && *known == to) {
            Some((_, _, count)) => *count += u32::from(link.count),
            None => kinds.push((link.family, to, u32::from(link.count))),
        }
    }
    kinds.iter().map(|(family, to, count)| format!("{count} {family} {to}")).collect::<Vec<_>>().join(", ")
}

fn virtual_adapters(host: &Host) -> String {
    let names = host.virtual_adapters.iter().map(|one| one.adapter.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// A link that runs below what the device could.
fn narrow(device: &Device) -> Option<String> {
    let (now, could) = (device.link, device.link_capability);
    let narrower = now.lanes.zip(could.lanes).is_some_and(|(now, could)| now < could);
    let slower = now.speed.zip(could.speed).is_some_and(|(now, could)| now < could);
    (narrower || slower).then(|| format!("{} runs {} of {}", device.address, state(now), state(could)))
}

/// `16 GT/s x8`, as far as it is known.
pub(super) fn state(link: PcieState) -> String {
    let speed = link.speed.map(|speed| speed.to_string());
    let lanes = link.lanes.map(|lanes| format!("x{lanes}"));
    speed.into_iter().chain(lanes).collect::<Vec<_>>().join(" ")
}
