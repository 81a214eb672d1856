//! Which PCI functions are the machine's GPUs and NICs, and in which order.

use weft_catalogue::{Catalogue, Nic, PciId};

use crate::evidence::{Adapter, Device, DeviceRole, Gpu, Host, OsDeviceKind};
use crate::pci::{Onboard, onboard};

/// Classes of display and processing controllers.
const GPU_CLASSES: [u16; 4] = [0x0300, 0x0302, 0x0380, 0x1200];
/// Classes of Ethernet and InfiniBand controllers.
const NIC_CLASSES: [u16; 3] = [0x0200, 0x0207, 0x0280];
/// NVIDIA, AMD.
const GPU_VENDORS: [u16; 2] = [0x10de, 0x1002];
/// In bytes a second.
const TEN_GIGABITS: u64 = 1_250_000_000;
/// As many as the graph of one host is made for.
const DEVICES_MAX: usize = 256;

/// Indices into the devices of a host, by the machine's numbers.
pub(super) struct Picked {
    pub gpus: Vec<usize>,
    pub nics: Vec<usize>,
}

impl Picked {
    pub fn of(host: &Host, catalogue: &Catalogue) -> Self {
        let all = || (0..host.devices.len()).map(|index| (index, &host.devices[index]));
        let named = all().any(|(_, device)| gpu(device).is_some());
        let is_gpu = |device: &Device| if named { gpu(device).is_some() } else { looks_like_gpu(device) };
        let mut gpus: Vec<usize> =
            all().filter(|(_, device)| is_gpu(device)).map(|(index, _)| index).collect();
        let number = |index: usize| gpu(&host.devices[index]).and_then(|gpu| gpu.number);
        let by_number = gpus.iter().all(|index| number(*index).is_some());
        gpus.sort_by(|a, b| {
            if by_number {
                number(*a).cmp(&number(*b)).then(a.cmp(b))
            } else {
                host.devices[*a].address.cmp(&host.devices[*b].address)
            }
        });
        let nics = Self::pick_nics(host, catalogue);
        gpus.truncate(DEVICES_MAX);
        Self { gpus, nics }
    }

    /// Where a tool lists everything, a host's ports for administration are no part of what is asked about, and ports
    /// of 10 Gb/s only where there are no faster ones.
    fn pick_nics(host: &Host, catalogue: &Catalogue) -> Vec<usize> {
        let is_nic = |device: &Device| {
            adapters(device).next().is_some()
                || device.class.is_some_and(|class| NIC_CLASSES.contains(&class))
        };
        let mut nics: Vec<usize> =
            (0..host.devices.len()).filter(|index| is_nic(&host.devices[*index])).collect();
        if host.format != "nccl-topology" {
            nics = of_fabric(host, &nics, catalogue);
        }
        let number = |index: usize| adapters(&host.devices[index]).filter_map(|one| one.number).min();
        let by_number = nics.iter().all(|index| number(*index).is_some());
        nics.sort_by(|a, b| {
            if by_number {
                number(*a).cmp(&number(*b)).then(a.cmp(b))
            } else {
                host.devices[*a].address.cmp(&host.devices[*b].address)
            }
        });
        nics.truncate(DEVICES_MAX);
        nics
    }

    /// Names of GPUs and NICs in the input.
    pub fn labels(&self, host: &Host) -> (Vec<String>, Vec<String>) {
        let gpu_label = |(place, index): (usize, &usize)| {
            let number = gpu(&host.devices[*index]).and_then(|gpu| gpu.number);
            number.map_or_else(|| format!("GPU{place}"), |number| format!("GPU{number}"))
        };
        let nic_label = |(place, index): (usize, &usize)| {
            let names: Vec<&str> = adapters(&host.devices[*index])
                .map(|adapter| adapter.name.as_str())
                .filter(|name| !name.is_empty())
                .collect();
            let of_kind = |kind: OsDeviceKind| {
                let mut found =
                    host.os_devices.iter().filter(|os| os.device == Some(*index) && os.kind == kind);
                found.next().map(|os| os.name.clone())
            };
            let name = (!names.is_empty()).then(|| names.join("+"));
            name.or_else(|| of_kind(OsDeviceKind::Rdma))
                .or_else(|| of_kind(OsDeviceKind::Network))
                .unwrap_or_else(|| format!("NIC{place}"))
        };
        let gpus = distinct(self.gpus.iter().enumerate().map(gpu_label).collect(), "GPU");
        let nics = distinct(self.nics.iter().enumerate().map(nic_label).collect(), "NIC");
        (gpus, nics)
    }
}

/// The NICs among `all` that collectives would use: those with RDMA, else those of the catalogue, else all; of these
/// the fast ones if there are any.
fn of_fabric(host: &Host, all: &[usize], catalogue: &Catalogue) -> Vec<usize> {
    let with_rdma = |index: &usize| {
        host.os_devices.iter().any(|os| os.device == Some(*index) && os.kind == OsDeviceKind::Rdma)
    };
    let rdma: Vec<usize> = all.iter().copied().filter(with_rdma).collect();
    if !rdma.is_empty() {
        return rdma;
    }
    let device = |index: &usize| &host.devices[*index];
    let models = |index: &usize| pci_id(device(index)).into_iter().flat_map(|id| catalogue.nics_by_id(id));
    let is_fast = |index: &usize| {
        let fastest = |nic: &Nic| nic.links.first().and_then(|name| catalogue.link(name).ok());
        let is_slow = |nic: &Nic| fastest(nic).is_some_and(|link| link.rate(1).get() <= TEN_GIGABITS);
        onboard(device(index)).is_none() && !models(index).any(is_slow)
    };
    let no_management = |index: &usize| onboard(device(index)) != Some(Onboard::Management);
    let usable: Vec<usize> = all.iter().copied().filter(no_management).collect();
    let listed: Vec<usize> = usable.iter().copied().filter(|index| models(index).next().is_some()).collect();
    let of_listed: Vec<usize> = listed.iter().copied().filter(is_fast).collect();
    let fast: Vec<usize> = usable.iter().copied().filter(is_fast).collect();
    [of_listed, fast, listed, usable].into_iter().find(|list| !list.is_empty()).unwrap_or_default()
}

/// Numbers instead, where two have one name.
fn distinct(labels: Vec<String>, prefix: &str) -> Vec<String> {
    let mut sorted: Vec<&String> = labels.iter().collect();
    sorted.sort();
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        return labels;
    }
    (0..labels.len()).map(|number| format!("{prefix}{number}")).collect()
}

pub(super) fn gpu(device: &Device) -> Option<&Gpu> {
    device.roles.iter().find_map(|role| match role {
        DeviceRole::Gpu(gpu) => Some(gpu),
        DeviceRole::Adapter(_) | DeviceRole::GpuSwitch => None,
    })
}

pub(super) fn adapters(device: &Device) -> impl Iterator<Item = &Adapter> {
    device.roles.iter().filter_map(|role| match role {
        DeviceRole::Adapter(adapter) => Some(adapter),
        DeviceRole::Gpu(_) | DeviceRole::GpuSwitch => None,
    })
}

pub(super) fn pci_id(device: &Device) -> Option<PciId> {
    Some(PciId { vendor: device.vendor?, device: device.device? })
}

/// By class and vendor: boards also have a display controller for remote administration, guests an emulated one. A
/// name whose vendor is not known is that of such a one.
fn looks_like_gpu(device: &Device) -> bool {
    let is_display = device.class.is_some_and(|class| GPU_CLASSES.contains(&class));
    let is_vendor = device.vendor.map_or(device.name.is_none(), |vendor| GPU_VENDORS.contains(&vendor));
    is_display && is_vendor
}
