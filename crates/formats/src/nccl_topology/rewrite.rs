//! A host that was read from such a file, written again as NCCL wants it: addresses stay as they are.

use std::fmt::Write as _;

use crate::evidence::{Adapter, Device, DeviceRole, Gpu, GpuLink, Host, NumaNode};

/// The file.
pub(super) fn host(host: &Host) -> String {
    let version = host.version.as_deref().unwrap_or("1");
    let mut out = format!("<system version=\"{version}\">\n");
    for (index, node) in host.numa.iter().enumerate() {
        let _ = writeln!(out, "  <cpu{}>", cpu(node));
        let tops = (0..host.devices.len()).filter(|at| {
            let device = &host.devices[*at];
            device.parent.is_none() && device.numa == Some(index)
        });
        for top in tops {
            function(host, top, 4, &mut out);
        }
        let of_node = host.virtual_adapters.iter().filter(|one| one.numa == Some(index));
        let nets: String = of_node.map(|one| net(&one.adapter, 6)).collect();
        if !nets.is_empty() {
            let _ = write!(out, "    <nic>\n{nets}    </nic>\n");
        }
        out.push_str("  </cpu>\n");
    }
    out.push_str("</system>\n");
    out
}

fn attribute(out: &mut String, name: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        let plain = value.to_string().replace(['"', '<', '&'], " ");
        let _ = write!(out, " {name}=\"{plain}\"");
    }
}

fn cpu(node: &NumaNode) -> String {
    let mut text = String::new();
    let number = node.number.map_or_else(|| "-1".to_owned(), |number| number.to_string());
    attribute(&mut text, "numaid", Some(number));
    attribute(&mut text, "affinity", node.cpus.as_ref());
    attribute(&mut text, "arch", node.arch.as_ref());
    attribute(&mut text, "vendor", node.vendor.as_ref());
    attribute(&mut text, "familyid", node.cpu_family);
    attribute(&mut text, "modelid", node.cpu_model);
    text
}

fn function(host: &Host, index: usize, indent: usize, out: &mut String) {
    let device = &host.devices[index];
    let pad = " ".repeat(indent);
    let mut inside = String::new();
    let mut nets = String::new();
    for role in &device.roles {
        match role {
            DeviceRole::Gpu(one) => gpu(host, index, one, indent + 2, &mut inside),
            DeviceRole::Adapter(one) => nets.push_str(&net(one, indent + 4)),
            DeviceRole::GpuSwitch => {}
        }
    }
    if !nets.is_empty() {
        let _ = write!(inside, "{pad}  <nic>\n{nets}{pad}  </nic>\n");
    }
    // Parents stand before their children, so that this ends.
    for child in (index + 1..host.devices.len()).filter(|at| host.devices[*at].parent == Some(index)) {
        function(host, child, indent + 2, &mut inside);
    }
    let tag = format!("{pad}<pci{}", pci(device));
    if inside.is_empty() {
        let _ = writeln!(out, "{tag}/>");
    } else {
        let _ = write!(out, "{tag}>\n{inside}{pad}</pci>\n");
    }
}

fn pci(device: &Device) -> String {
    let hexadecimal = |id: Option<u16>| id.map(|id| format!("0x{id:04x}"));
    let mut text = String::new();
    attribute(&mut text, "busid", Some(&device.address));
    attribute(&mut text, "class", device.class.map(|class| format!("0x{class:04x}00")));
    attribute(&mut text, "vendor", hexadecimal(device.vendor));
    attribute(&mut text, "device", hexadecimal(device.device));
    attribute(&mut text, "subsystem_vendor", hexadecimal(device.subsystem_vendor));
    attribute(&mut text, "subsystem_device", hexadecimal(device.subsystem));
    // In the one spelling that all versions of NCCL know.
    let speed = device.link.speed.map(|speed| {
        let tenths = speed.bits_per_second() / 100_000_000;
        format!("{}.{} GT/s PCIe", tenths / 10, tenths % 10)
    });
    attribute(&mut text, "link_speed", speed.or_else(|| device.speed_text.clone()));
    let width = device.link.lanes.map(|lanes| lanes.to_string());
    attribute(&mut text, "link_width", width.or_else(|| device.width_text.clone()));
    text
}

fn gpu(host: &Host, index: usize, gpu: &Gpu, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    let mut tag = format!("{pad}<gpu");
    attribute(&mut tag, "dev", gpu.number);
    attribute(&mut tag, "sm", gpu.sm);
    attribute(&mut tag, "gcn", gpu.gcn.as_ref());
    attribute(&mut tag, "arch", gpu.arch.as_ref());
    attribute(&mut tag, "rank", gpu.rank);
    attribute(&mut tag, "gdr", gpu.gdr.map(u8::from));
    let links: String =
        host.gpu_links.iter().filter(|link| link.gpu == index).map(|one| link(one, indent + 2)).collect();
    if links.is_empty() {
        let _ = writeln!(out, "{tag}/>");
    } else {
        let _ = write!(out, "{tag}>\n{links}{pad}</gpu>\n");
    }
}

fn link(link: &GpuLink, indent: usize) -> String {
    let mut text = format!("{}<{}", " ".repeat(indent), link.family);
    attribute(&mut text, "target", link.target.as_ref());
    attribute(&mut text, "bw", link.rate.map(|rate| rate.get() / 1_000_000));
    attribute(&mut text, "count", Some(link.count));
    attribute(&mut text, "tclass", link.target_class.as_ref());
    text + "/>\n"
}

fn net(adapter: &Adapter, indent: usize) -> String {
    let mut text = format!("{}<net", " ".repeat(indent));
    attribute(&mut text, "name", Some(&adapter.name));
    attribute(&mut text, "dev", adapter.number);
    attribute(&mut text, "speed", adapter.rate.map(|rate| rate.get() / 125_000));
    attribute(&mut text, "port", adapter.port);
    attribute(
        &mut text,
        "latency",
        adapter.latency.map(|latency| format!("{:.6}", latency.as_microseconds())),
    );
    attribute(&mut text, "guid", adapter.guid.map(|guid| format!("0x{:x}", guid.get())));
    attribute(&mut text, "maxconn", adapter.connections);
    attribute(&mut text, "gdr", adapter.gdr.map(u8::from));
    attribute(&mut text, "coll", adapter.collectives.map(u8::from));
    text + "/>\n"
}
