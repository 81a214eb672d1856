//! The library of this machine.

use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus};
use nvml_wrapper::enum_wrappers::nv_link::IntDeviceType;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::PciInfo;
use nvml_wrapper::{Device, Nvml as Library};
use weft_formats::{Access, PciAddress, PcieState};

use super::{Nvml, NvmlGpu, NvmlLink, NvmlRemote, NvmlSurvey, SystemNvml};

/// Links are asked for until the library knows no more; none has this many.
const LINKS_MAX: u32 = 36;
/// GPUs of one host.
const GPUS_MAX: u32 = 256;

impl Nvml for SystemNvml {
    fn survey(&self) -> Result<NvmlSurvey, String> {
        // The driver installs the first name, its development package the second.
        let named = Library::builder().lib_path("libnvidia-ml.so.1".as_ref()).init();
        let library = named.or_else(|_| Library::init()).map_err(|error| error.to_string())?;
        let count = library.device_count().map_err(|error| error.to_string())?.min(GPUS_MAX);
        let devices: Vec<(u32, Device<'_>)> =
            (0..count).filter_map(|index| Some((index, library.device_by_index(index).ok()?))).collect();
        let mut reads = Vec::new();
        for (_, from) in &devices {
            for (_, to) in &devices {
                reads.push(from.p2p_status(to, P2pCapabilitiesIndex::Read).ok().map(access));
            }
        }
        Ok(NvmlSurvey {
            driver: library.sys_driver_version().ok(),
            gpus: devices.iter().map(|(index, device)| gpu(*index, device)).collect(),
            reads,
        })
    }
}

fn gpu(index: u32, device: &Device<'_>) -> NvmlGpu {
    let state = |generation: Result<u32, NvmlError>, lanes: Result<u32, NvmlError>| PcieState {
        speed: generation.ok().and_then(speed).and_then(|speed| speed.parse().ok()),
        lanes: lanes.ok().and_then(|lanes| u16::try_from(lanes).ok()).filter(|lanes| *lanes > 0),
    };
    NvmlGpu {
        index,
        name: device.name().ok(),
        uuid: device.uuid().ok(),
        address: device.pci_info().ok().as_ref().and_then(address),
        link: state(device.current_pcie_link_gen(), device.current_pcie_link_width()),
        link_capability: state(device.max_pcie_link_gen(), device.max_pcie_link_width()),
        links: (0..LINKS_MAX).map_while(|number| link(device, number)).collect(),
    }
}

/// `None` beyond the last link, and where the GPU has none.
fn link(device: &Device<'_>, number: u32) -> Option<NvmlLink> {
    let link = device.link_wrapper_for(number);
    let active = link.is_active().ok()?;
    let at = || link.remote_pci_info().ok().as_ref().and_then(address);
    let remote = match link.remote_device_type(number) {
        Ok(IntDeviceType::Gpu) => at().map(NvmlRemote::Gpu),
        Ok(IntDeviceType::Switch) => Some(NvmlRemote::Switch(at())),
        Ok(IntDeviceType::Ibmnpu) => Some(NvmlRemote::Cpu),
        Ok(IntDeviceType::Unknown) | Err(_) => None,
    };
    Some(NvmlLink { number, active, remote: remote.filter(|_| active) })
}

fn address(info: &PciInfo) -> Option<PciAddress> {
    Some(PciAddress {
        domain: info.domain,
        bus: u8::try_from(info.bus).ok()?,
        device: u8::try_from(info.device).ok().filter(|device| *device < 32)?,
        function: 0,
    })
}

/// The transfer rate of a generation of PCIe.
fn speed(generation: u32) -> Option<&'static str> {
    Some(match generation {
        1 => "2.5 GT/s",
        2 => "5 GT/s",
        3 => "8 GT/s",
        4 => "16 GT/s",
        5 => "32 GT/s",
        6 => "64 GT/s",
        _ => return None,
    })
}

fn access(status: P2pStatus) -> Access {
    match status {
        P2pStatus::Ok => Access::Ok,
        P2pStatus::ChipsetNotSupported => Access::ChipsetNotSupported,
        P2pStatus::GpuNotSupported => Access::GpuNotSupported,
        P2pStatus::IohTopologyNotSupported => Access::TopologyNotSupported,
        P2pStatus::DisabledByRegkey => Access::DisabledByRegkey,
        P2pStatus::NotSupported => Access::NotSupported,
        P2pStatus::Unknown => Access::Unknown,
    }
}
