//! From objects to the evidence.

use weft_base::{Guid, Rate};

use super::object::{Kind, Object, above};
use crate::evidence::{
    Adapter, Device, DeviceRole, Gpu, Host, NumaNode, OsDevice, OsDeviceKind, Package, PciDetails,
};
use crate::pci::PciAddress;

/// A host, and which of its parts each object became.
pub(super) struct Built {
    pub host: Host,
    /// Index into [`Host::devices`]: of the function itself, or of the one that a library's device is on.
    pub device_of: Vec<Option<usize>>,
    /// Index into [`Host::numa`]: of the node itself, or of the one that is nearest.
    pub numa_of: Vec<Option<usize>>,
}

pub(super) fn build(objects: &[Object], format: &'static str) -> Built {
    let mut built = Built {
        host: Host { format, ..Host::default() },
        device_of: vec![None; objects.len()],
        numa_of: vec![None; objects.len()],
    };
    let machine = objects.iter().find(|object| object.is(Kind::Machine));
    built.host.name = machine.and_then(|machine| machine.info("HostName")).map(str::to_owned);
    built.places(objects);
    for (index, object) in objects.iter().enumerate() {
        let on = above(objects, index).find_map(|up| built.device_of[up]);
        match object.kind {
            Kind::Pci => built.function(objects, index, on),
            Kind::Os(kind) => {
                built.device_of[index] = on;
                built.os_device(object, kind, on);
            }
            Kind::Machine | Kind::Package | Kind::Numa | Kind::HostBridge | Kind::Other => {}
        }
    }
    built
}

impl Built {
    /// Packages and NUMA nodes.
    fn places(&mut self, objects: &[Object]) {
        let arch = objects.iter().find_map(|object| object.info("Architecture")).map(str::to_owned);
        let word = |object: &Object, name: &str| object.info(name).map(str::to_owned);
        for (index, object) in objects.iter().enumerate() {
            if object.is(Kind::Package) {
                let (vendor, model) = (word(object, "CPUVendor"), word(object, "CPUModel"));
                self.host.packages.push(Package { number: object.number, vendor, model });
            }
            if !object.is(Kind::Numa) {
                continue;
            }
            // Old versions put the package into the node, new ones the node into the package.
            let package = above(objects, index)
                .find(|up| objects[*up].is(Kind::Package))
                .or_else(|| {
                    (index + 1..objects.len())
                        .take_while(|below| above(objects, *below).any(|up| up == index))
                        .find(|below| objects[*below].is(Kind::Package))
                })
                .map(|package| &objects[package]);
            self.numa_of[index] = Some(self.host.numa.len());
            self.host.numa.push(NumaNode {
                number: object.number,
                socket: package.and_then(|package| package.number),
                arch: arch.clone(),
                vendor: package.and_then(|package| word(package, "CPUVendor")),
                model: package.and_then(|package| word(package, "CPUModel")),
                cpu_family: package.and_then(|package| word(package, "CPUFamilyNumber")?.parse().ok()),
                cpu_model: package.and_then(|package| word(package, "CPUModelNumber")?.parse().ok()),
                cpus: object.cpus.clone(),
                memory: object.memory,
            });
        }
        // The first node of an object is the one that its CPUs use by default; others are memory of devices.
        let mut first: Vec<Option<usize>> = vec![None; objects.len()];
        for (index, object) in objects.iter().enumerate().filter(|(_, object)| object.is(Kind::Numa)) {
            if let Some(slot) = object.parent.and_then(|parent| first.get_mut(parent)) {
                *slot = slot.or(self.numa_of[index]);
            }
        }
        // On the machine itself several nodes hang as equals, so that none is nearest.
        let several =
            objects.iter().filter(|object| object.is(Kind::Numa) && object.subtype.is_none()).count() > 1;
        for (index, object) in objects.iter().enumerate().filter(|(_, object)| !object.is(Kind::Numa)) {
            let own = first[index].filter(|_| !(several && object.is(Kind::Machine)));
            self.numa_of[index] = own.or_else(|| object.parent.and_then(|parent| self.numa_of[parent]));
        }
    }

    fn function(&mut self, objects: &[Object], index: usize, bridge: Option<usize>) {
        let object = &objects[index];
        let Some(pci) = &object.pci else { return };
        self.device_of[index] = Some(self.host.devices.len());
        let address: Option<PciAddress> = pci.address.parse().ok();
        let vendor_and_device = || {
            let (vendor, device) = (object.info("PCIVendor")?, object.info("PCIDevice")?);
            Some(format!("{vendor} {device}"))
        };
        let details = PciDetails {
            slot: object.info("PCISlot").map(str::to_owned),
            buses: pci.buses,
            link_rate: pci.link_gigabytes.filter(|rate| *rate > 0.0).map(Rate::from_gigabytes),
            ..PciDetails::default()
        };
        let roles = if pci.class == Some(0x0680) && pci.vendor == Some(0x10de) {
            vec![DeviceRole::GpuSwitch]
        } else {
            Vec::new()
        };
        self.host.devices.push(Device {
            address: address.map_or_else(|| pci.address.to_lowercase(), |address| address.to_string()),
            parent: bridge,
            numa: self.numa_of[index],
            class: pci.class,
            vendor: pci.vendor,
            device: pci.device,
            subsystem_vendor: pci.subsystem_vendor,
            subsystem: pci.subsystem,
            name: object.name.clone().or_else(vendor_and_device),
            details,
            roles,
            line: object.line,
            ..Device::default()
        });
    }

    fn os_device(&mut self, object: &Object, kind: OsDeviceKind, device: Option<usize>) {
        let name = object.name.clone().unwrap_or_default();
        if let Some(device) = device.and_then(|index| self.host.devices.get_mut(index)) {
            match kind {
                OsDeviceKind::Display | OsDeviceKind::Coprocessor => see_gpu(device, object, &name),
                OsDeviceKind::Network | OsDeviceKind::Rdma => device.roles.extend(adapters(object, &name)),
                OsDeviceKind::Storage | OsDeviceKind::Dma | OsDeviceKind::Memory | OsDeviceKind::Other => {}
            }
        }
        self.host.os_devices.push(OsDevice { name, kind, device, line: object.line });
    }
}

/// How libraries name GPUs; the earlier ones number them as programs do.
const LIBRARIES: [&str; 4] = ["cuda", "nvml", "rsmi", "ze"];

/// Several libraries see one GPU; what they say is put together.
fn see_gpu(device: &mut Device, object: &Object, name: &str) {
    let library = LIBRARIES.iter().position(|library| name.starts_with(library));
    let model = object.info("GPUModel").map(str::to_owned);
    // A screen's controller without a library that computes on it is no GPU here.
    if library.is_none() && model.is_none() {
        return;
    }
    let number = library.and_then(|library| name.strip_prefix(LIBRARIES[library])?.parse().ok());
    let uuid = ["NVIDIAUUID", "AMDUUID", "LevelZeroUUID"].iter().find_map(|name| object.info(name));
    let found = device.roles.iter_mut().find_map(|role| match role {
        DeviceRole::Gpu(gpu) => Some(gpu),
        DeviceRole::Adapter(_) | DeviceRole::GpuSwitch => None,
    });
    let seen = Gpu { number, model, uuid: uuid.map(str::to_owned), ..Gpu::default() };
    match found {
        Some(gpu) => {
            // CUDA's number stands before that of the driver's library.
            gpu.number = if name.starts_with("cuda") { seen.number } else { gpu.number.or(seen.number) };
            gpu.model = gpu.model.take().or(seen.model);
            gpu.uuid = gpu.uuid.take().or(seen.uuid);
        }
        None => device.roles.push(DeviceRole::Gpu(seen)),
    }
}

/// One adapter for each port that is described; one where none is.
fn adapters(object: &Object, name: &str) -> Vec<DeviceRole> {
    let guid: Option<Guid> = object.info("NodeGUID").and_then(|guid| guid.parse().ok());
    let state = |port: u32| object.info(&format!("Port{port}State")).map(port_state);
    let adapter = |port, state| {
        let adapter = Adapter { name: name.to_owned(), port, guid, state, ..Adapter::default() };
        DeviceRole::Adapter(adapter)
    };
    // Adapters have at most a few ports; the numbers go from 1 without gaps.
    let ports: Vec<DeviceRole> =
        (1..=8).map_while(|port| Some(adapter(Some(port), Some(state(port)?)))).collect();
    if ports.is_empty() { vec![adapter(None, None)] } else { ports }
}

/// The states of InfiniBand ports by their numbers.
fn port_state(number: &str) -> String {
    match number {
        "1" => "DOWN",
        "2" => "INIT",
        "3" => "ARMED",
        "4" => "ACTIVE",
        "5" => "ACTIVE_DEFER",
        other => other,
    }
    .to_owned()
}
