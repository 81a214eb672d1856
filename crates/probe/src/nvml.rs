//! What NVIDIA's driver says by its library.

#[cfg(feature = "nvml")]
mod system;

use weft_base::Diagnostic;
use weft_formats::{
    Access, DeviceRole, Gpu, GpuLink, GpuLinkEnd, PciAddress, PcieState, PeerCell, PeerMatrix, PeerMode,
    Record, Value,
};

use crate::codes;
use crate::pci::is_gpu;
use crate::survey::{Probe, place};

/// The library, or a made-up one.
pub trait Nvml {
    /// All that it says; an error where it is not there or does not answer, in its own words.
    fn survey(&self) -> Result<NvmlSurvey, String>;
}

/// What the library says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NvmlSurvey {
    /// Version of the driver: `570.86.15`.
    pub driver: Option<String>,
    /// In the library's order.
    pub gpus: Vec<NvmlGpu>,
    /// Whether one GPU may read another's memory, row by row; `None` where the library does not say.
    pub reads: Vec<Option<Access>>,
}

/// A GPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NvmlGpu {
    /// Its number in the library.
    pub index: u32,
    /// `NVIDIA H100 80GB HBM3`.
    pub name: Option<String>,
    /// `GPU-…`.
    pub uuid: Option<String>,
    /// Where it is; `None` where the library does not say.
    pub address: Option<PciAddress>,
    /// Its PCIe link as it runs.
    pub link: PcieState,
    /// Its PCIe link as it could run.
    pub link_capability: PcieState,
    /// Its NVLinks, those that are down too.
    pub links: Vec<NvmlLink>,
}

/// An NVLink.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NvmlLink {
    /// Its number on the GPU.
    pub number: u32,
    /// Whether it is up.
    pub active: bool,
    /// What it leads to; `None` where the library does not say.
    pub remote: Option<NvmlRemote>,
}

/// What an NVLink leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NvmlRemote {
    /// A GPU.
    Gpu(PciAddress),
    /// A switch, which may not be on this host's PCI.
    Switch(Option<PciAddress>),
    /// A CPU.
    Cpu,
}

/// No library.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNvml;

impl Nvml for NoNvml {
    fn survey(&self) -> Result<NvmlSurvey, String> {
        Err("this program was built without NVML".to_owned())
    }
}

/// The library of this machine, loaded when it is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNvml;

#[cfg(not(feature = "nvml"))]
impl Nvml for SystemNvml {
    fn survey(&self) -> Result<NvmlSurvey, String> {
        NoNvml.survey()
    }
}

/// Adds what the library says; returns who may read whose memory.
pub(crate) fn read(nvml: &dyn Nvml, probe: &mut Probe) -> Option<PeerMatrix> {
    let survey = match nvml.survey() {
        Ok(survey) => survey,
        Err(reason) => {
            // Where there is no such GPU, no library is an ordinary case.
            if probe.host.devices.iter().any(|device| is_gpu(device) && device.vendor == Some(0x10de)) {
                let message = format!("NVIDIA's library does not answer: {reason}");
                let hint = "does `nvidia-smi` work? without it, NVLinks and peer access are unknown";
                probe.diagnostics.push(Diagnostic::warning(codes::NVML_SILENT, message).hint(hint));
            }
            return None;
        }
    };
    if let Some(driver) = &survey.driver {
        let mut record = Record::new("setting", "driver", 0);
        record.push("driver-version", Value::Text(driver.clone()), 0);
        probe.records.push(record);
    }
    for gpu in &survey.gpus {
        let index = gpu.address.and_then(|address| index_of(probe, address));
        if let Some(index) = index {
            see(gpu, index, probe);
            links(gpu, index, probe);
        }
        records(gpu, probe);
    }
    peers(&survey)
}

fn index_of(probe: &Probe, address: PciAddress) -> Option<usize> {
    let address = address.to_string();
    probe.host.devices.iter().position(|device| device.address == address)
}

/// Number, model and UUID, and the link where the kernel did not say.
fn see(gpu: &NvmlGpu, index: usize, probe: &mut Probe) {
    let device = &mut probe.host.devices[index];
    let role = device
        .roles
        .iter_mut()
        .find_map(|role| if let DeviceRole::Gpu(gpu) = role { Some(gpu) } else { None });
    let seen =
        Gpu { number: Some(gpu.index), model: gpu.name.clone(), uuid: gpu.uuid.clone(), ..Gpu::default() };
    match role {
        Some(role) => {
            role.number = seen.number;
            role.model = seen.model.or(role.model.take());
            role.uuid = seen.uuid.or(role.uuid.take());
        }
        None => device.roles.push(DeviceRole::Gpu(seen)),
    }
    device.name = device.name.take().or_else(|| gpu.name.clone());
    for (known, told) in [(&mut device.link, gpu.link), (&mut device.link_capability, gpu.link_capability)] {
        known.speed = known.speed.or(told.speed);
        known.lanes = known.lanes.or(told.lanes);
    }
}

/// Links that are up, counted by what they lead to.
fn links(gpu: &NvmlGpu, index: usize, probe: &mut Probe) {
    let mut found: Vec<(GpuLinkEnd, u16)> = Vec::new();
    for link in gpu.links.iter().filter(|link| link.active) {
        let at = |address: PciAddress| match index_of(probe, address) {
            Some(device) => GpuLinkEnd::Device(device),
            None => GpuLinkEnd::Address(address.to_string()),
        };
        let end = match link.remote {
            Some(NvmlRemote::Gpu(address)) => at(address),
            Some(NvmlRemote::Switch(Some(address))) => {
                index_of(probe, address).map_or(GpuLinkEnd::Switch, GpuLinkEnd::Device)
            }
            Some(NvmlRemote::Switch(None)) => GpuLinkEnd::Switch,
            Some(NvmlRemote::Cpu) => GpuLinkEnd::Cpu(probe.host.devices[index].numa),
            None => continue,
        };
        match found.iter_mut().find(|(known, _)| *known == end) {
            Some((_, count)) => *count += 1,
            None => found.push((end, 1)),
        }
    }
    for (to, count) in found {
        probe.host.gpu_links.push(GpuLink { gpu: index, to, count, family: "nvlink", ..GpuLink::default() });
    }
}

/// The same as `nvidia-smi nvlink -s` would give: how many links are there and how many are down.
fn records(gpu: &NvmlGpu, probe: &mut Probe) {
    if gpu.links.is_empty() {
        return;
    }
    let count = |links: usize| Value::Count(u64::try_from(links).unwrap_or(u64::MAX));
    let mut record = Record::new("gpu", format!("GPU {}", gpu.index), 0);
    record.push("links", count(gpu.links.len()), 0);
    record.push("inactive-links", count(gpu.links.iter().filter(|link| !link.active).count()), 0);
    probe.records.push(record);
    for link in gpu.links.iter().filter(|link| !link.active) {
        let mut record = Record::new("nvlink", format!("GPU {} link {}", gpu.index, link.number), 0);
        record.push("active", Value::Flag(false), 0);
        probe.records.push(record);
    }
}

fn peers(survey: &NvmlSurvey) -> Option<PeerMatrix> {
    let size = survey.gpus.len();
    if size < 2 || survey.reads.len() != size * size {
        return None;
    }
    let cell = |(position, access): (usize, &Option<Access>)| PeerCell {
        row: position / size,
        column: position % size,
        access: *access,
        place: place(),
    };
    let cells = survey.reads.iter().enumerate().map(cell).filter(|cell| cell.row != cell.column);
    let ends = survey.gpus.iter().map(|gpu| format!("GPU{}", gpu.index)).collect();
    Some(PeerMatrix { ends, cells: cells.collect(), mode: Some(PeerMode::Read) })
}
