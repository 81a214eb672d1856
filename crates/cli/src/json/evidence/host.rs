use serde::Serialize;
use weft_base::Place;
use weft_formats::{
    Adapter, Device, DeviceRole, Gpu, GpuLink, GpuLinkEnd, Host, NumaNode, OsDevice, OsDeviceKind, Package,
    PcieState, VirtualAdapter,
};

use super::pci::DetailsJson;

/// The devices of one host.
#[derive(Debug, Serialize)]
pub struct HostJson {
    format: &'static str,
    name: Option<String>,
    file: String,
    line: u32,
    packages: Vec<PackageJson>,
    numa: Vec<NumaJson>,
    devices: Vec<DeviceJson>,
    gpu_links: Vec<GpuLinkJson>,
    virtual_adapters: Vec<AdapterJson>,
    os_devices: Vec<OsDeviceJson>,
}

#[derive(Debug, Serialize)]
struct PackageJson {
    number: Option<u32>,
    vendor: Option<String>,
    model: Option<String>,
}

#[derive(Debug, Serialize)]
struct OsDeviceJson {
    name: String,
    kind: &'static str,
    address: Option<String>,
    line: u32,
}

#[derive(Debug, Serialize)]
struct NumaJson {
    number: Option<u32>,
    socket: Option<u32>,
    arch: Option<String>,
    vendor: Option<String>,
    model: Option<String>,
    cpus: Option<String>,
    memory_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct DeviceJson {
    address: String,
    parent: Option<String>,
    numa: Option<u32>,
    class: Option<String>,
    vendor: Option<String>,
    device: Option<String>,
    subsystem_vendor: Option<String>,
    subsystem: Option<String>,
    name: Option<String>,
    link: LinkJson,
    link_capability: LinkJson,
    access_control: Option<String>,
    details: DetailsJson,
    gpus: Vec<GpuJson>,
    adapters: Vec<AdapterJson>,
    is_gpu_switch: bool,
    line: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct LinkJson {
    transfers_per_s: Option<u64>,
    lanes: Option<u16>,
}

#[derive(Debug, Serialize)]
struct GpuJson {
    number: Option<u32>,
    rank: Option<u32>,
    sm: Option<u32>,
    gcn: Option<String>,
    gdr: Option<bool>,
    model: Option<String>,
    uuid: Option<String>,
}

#[derive(Debug, Serialize)]
struct AdapterJson {
    name: String,
    number: Option<u32>,
    port: Option<u32>,
    guid: Option<String>,
    rate_bytes_per_s: Option<u64>,
    gdr: Option<bool>,
    link_layer: Option<String>,
    state: Option<String>,
}

#[derive(Debug, Serialize)]
struct GpuLinkJson {
    gpu: String,
    to: String,
    kind: &'static str,
    family: &'static str,
    count: u16,
    rate_bytes_per_s: Option<u64>,
}

impl HostJson {
    pub fn new(host: &Host, place: &Place) -> Self {
        let virtual_adapters = host.virtual_adapters.iter();
        Self {
            format: host.format,
            name: host.name.clone(),
            file: place.file.clone(),
            line: place.line,
            packages: host.packages.iter().map(package).collect(),
            numa: host.numa.iter().map(numa).collect(),
            devices: host.devices.iter().map(|one| device(host, one)).collect(),
            gpu_links: host.gpu_links.iter().map(|link| gpu_link(host, link)).collect(),
            virtual_adapters: virtual_adapters
                .map(|VirtualAdapter { adapter: one, .. }| adapter(one))
                .collect(),
            os_devices: host.os_devices.iter().map(|one| os_device(host, one)).collect(),
        }
    }
}

fn package(package: &Package) -> PackageJson {
    PackageJson { number: package.number, vendor: package.vendor.clone(), model: package.model.clone() }
}

fn os_device(host: &Host, device: &OsDevice) -> OsDeviceJson {
    let kind = match device.kind {
        OsDeviceKind::Storage => "storage",
        OsDeviceKind::Display => "display",
        OsDeviceKind::Network => "network",
        OsDeviceKind::Rdma => "rdma",
        OsDeviceKind::Dma => "dma",
        OsDeviceKind::Coprocessor => "coprocessor",
        OsDeviceKind::Memory => "memory",
        OsDeviceKind::Other => "other",
    };
    let address = device.device.and_then(|index| address(host, index));
    OsDeviceJson { name: device.name.clone(), kind, address, line: device.line }
}

fn numa(numa: &NumaNode) -> NumaJson {
    NumaJson {
        number: numa.number,
        socket: numa.socket,
        arch: numa.arch.clone(),
        vendor: numa.vendor.clone(),
        model: numa.model.clone(),
        cpus: numa.cpus.clone(),
        memory_bytes: numa.memory.map(weft_base::Bytes::get),
    }
}

fn address(host: &Host, index: usize) -> Option<String> {
    host.devices.get(index).map(|device| device.address.clone())
}

fn device(host: &Host, device: &Device) -> DeviceJson {
    let hexadecimal = |id: Option<u16>| id.map(|id| format!("0x{id:04x}"));
    let (mut gpus, mut adapters, mut is_gpu_switch) = (Vec::new(), Vec::new(), false);
    for role in &device.roles {
        match role {
            DeviceRole::Gpu(one) => gpus.push(gpu(one)),
            DeviceRole::Adapter(one) => adapters.push(adapter(one)),
            DeviceRole::GpuSwitch => is_gpu_switch = true,
        }
    }
    DeviceJson {
        address: device.address.clone(),
        parent: device.parent.and_then(|parent| address(host, parent)),
        numa: device.numa.and_then(|numa| host.numa.get(numa)).and_then(|numa| numa.number),
        class: hexadecimal(device.class),
        vendor: hexadecimal(device.vendor),
        device: hexadecimal(device.device),
        subsystem_vendor: hexadecimal(device.subsystem_vendor),
        subsystem: hexadecimal(device.subsystem),
        name: device.name.clone(),
        link: link(device.link),
        link_capability: link(device.link_capability),
        access_control: device.acs.clone(),
        details: DetailsJson::new(&device.details),
        gpus,
        adapters,
        is_gpu_switch,
        line: device.line,
    }
}

pub(super) fn link(link: PcieState) -> LinkJson {
    LinkJson { transfers_per_s: link.speed.map(weft_base::TransferRate::bits_per_second), lanes: link.lanes }
}

fn gpu(gpu: &Gpu) -> GpuJson {
    GpuJson {
        number: gpu.number,
        rank: gpu.rank,
        sm: gpu.sm,
        gcn: gpu.gcn.clone(),
        gdr: gpu.gdr,
        model: gpu.model.clone(),
        uuid: gpu.uuid.clone(),
    }
}

fn adapter(adapter: &Adapter) -> AdapterJson {
    AdapterJson {
        name: adapter.name.clone(),
        number: adapter.number,
        port: adapter.port,
        guid: adapter.guid.map(|guid| guid.to_string()),
        rate_bytes_per_s: adapter.rate.map(weft_base::Rate::get),
        gdr: adapter.gdr,
        link_layer: adapter.link_layer.clone(),
        state: adapter.state.clone(),
    }
}

fn gpu_link(host: &Host, link: &GpuLink) -> GpuLinkJson {
    let (kind, to) = match &link.to {
        GpuLinkEnd::Device(index) => ("device", address(host, *index)),
        GpuLinkEnd::Cpu(_) => ("cpu", None),
        GpuLinkEnd::Switch => ("switch", link.target.clone()),
        GpuLinkEnd::Address(address) => ("unknown", Some(address.clone())),
    };
    GpuLinkJson {
        gpu: address(host, link.gpu).unwrap_or_default(),
        to: to.unwrap_or_else(|| kind.to_owned()),
        kind,
        family: link.family,
        count: link.count,
        rate_bytes_per_s: link.rate.map(weft_base::Rate::get),
    }
}
