//! GPUs, NICs, switches, CPUs.

use weft_base::Bytes;
use weft_catalogue::{Attachment, Bridge, Cpu, Gpu, Nic, Switch, SwitchKind};

use super::Entry;

pub fn gpu(gpu: &Gpu) -> Entry<'_> {
    let year = gpu.year.map_or_else(String::new, |year| format!(", {year}"));
    let kind = format!("GPU of {}, {}{year}", gpu.vendor, gpu.architecture);
    let mut entry = Entry::new(&gpu.name, &gpu.title, kind, &gpu.aliases)
        .note(gpu.note.as_ref())
        .valued("memory", memory(gpu.memory.value), &gpu.memory)
        .fact("memory rate", &gpu.memory_rate)
        .fact_if("board power", gpu.board_power.as_ref());
    for (what, attachment) in [
        ("PCIe port", gpu.pcie.as_ref()),
        ("links to GPUs", gpu.fabric.as_ref()),
        ("coherent link to the CPU", gpu.coherent.as_ref()),
    ] {
        if let Some(attachment) = attachment {
            entry = attached(entry, what, attachment);
        }
    }
    for bridge in &gpu.bridges {
        entry = bridged(entry, bridge);
    }
    if let Some(peer) = &gpu.peer_to_peer {
        let value = if peer.pcie.value { "yes, with the stock driver" } else { "no, with the stock driver" };
        entry = entry.valued("peer access over PCIe", value, &peer.pcie);
    }
    entry
        .fact_if("fp32", gpu.compute.fp32.as_ref())
        .fact_if("fp16, dense", gpu.compute.fp16.as_ref())
        .fact_if("fp8, dense", gpu.compute.fp8.as_ref())
        .fact_if("fp4, dense", gpu.compute.fp4.as_ref())
}

/// `80 GB`, as data sheets count it, where it is a whole number of those.
fn memory(bytes: Bytes) -> String {
    match bytes.get() {
        bytes if bytes % 1_000_000_000 == 0 => format!("{} GB", bytes / 1_000_000_000),
        _ => bytes.to_string(),
    }
}

fn attached<'c>(entry: Entry<'c>, what: &str, attachment: &'c Attachment) -> Entry<'c> {
    let (link, count) = (&attachment.link, attachment.count.value);
    let value =
        if link.starts_with("pcie") { format!("{link} x{count}") } else { format!("{count} x {link}") };
    entry.valued(what, value, &attachment.count)
}

fn bridged<'c>(entry: Entry<'c>, bridge: &'c Bridge) -> Entry<'c> {
    let like = if bridge.same_model { "one model" } else { "one family" };
    let carries = if bridge.carries_data { "" } else { ", frames only" };
    let value =
        format!("{} x {} over up to {} cards of {like}{carries}", bridge.links, bridge.link, bridge.cards);
    entry.valued("bridge", value, &bridge.rule)
}

pub fn nic(nic: &Nic) -> Entry<'_> {
    let year = nic.year.map_or_else(String::new, |year| format!(", {year}"));
    let entry = Entry::new(&nic.name, &nic.title, format!("NIC of {}{year}", nic.vendor), &nic.aliases)
        .note(nic.note.as_ref())
        .plain("runs", nic.links.join(", "))
        .fact("ports", &nic.ports);
    attached(entry, "PCIe port", &nic.pcie)
}

pub fn switch(switch: &Switch) -> Entry<'_> {
    let kind = match switch.kind {
        SwitchKind::GpuFabric => "GPU-fabric switch",
        SwitchKind::Pcie => "PCIe switch",
        SwitchKind::Network => "network switch",
    };
    let year = switch.year.map_or_else(String::new, |year| format!(", {year}"));
    let entry = Entry::new(
        &switch.name,
        &switch.title,
        format!("{kind} of {}{year}", switch.vendor),
        &switch.aliases,
    )
    .note(switch.note.as_ref())
    .valued("ports", format!("{} x {}", switch.ports.value, switch.link), &switch.ports)
    .fact_if("latency, port to port", switch.latency.as_ref())
    .fact_if("power without optics", switch.power.as_ref());
    match &switch.reduces {
        Some(reduces) => entry.valued("reduces in flight", if reduces.value { "yes" } else { "no" }, reduces),
        None => entry,
    }
}

pub fn cpu(cpu: &Cpu) -> Entry<'_> {
    let year = cpu.year.map_or_else(String::new, |year| format!(", {year}"));
    let kind = format!("CPU of {}, {}{year}", cpu.vendor, cpu.instruction_set);
    let mut entry = Entry::new(&cpu.name, &cpu.title, kind, &cpu.aliases).note(cpu.note.as_ref());
    entry = attached(entry, "PCIe lanes of a socket", &cpu.pcie);
    if let Some(socket) = &cpu.socket {
        entry = attached(entry, "links to the other socket", socket);
    }
    entry
        .fact("memory rate of a socket", &cpu.memory_rate)
        .fact_if("GPU to GPU through it", cpu.peer_rate.as_ref())
        .fact_if("GPU to NIC through it", cpu.nic_peer_rate.as_ref())
}
