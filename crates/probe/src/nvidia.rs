//! GPUs and switches that are known by their numbers, and what NVIDIA's driver says of them in `/proc`.

use weft_formats::{DeviceRole, Gpu, Host};

use crate::files::Files;
use crate::pci::is_gpu;

pub(crate) fn read(files: &dyn Files, host: &mut Host) {
    for device in &mut host.devices {
        if device.vendor == Some(0x10de) && device.class == Some(0x0680) {
            device.roles.push(DeviceRole::GpuSwitch);
        }
        if !is_gpu(device) {
            continue;
        }
        let path = format!("/proc/driver/nvidia/gpus/{}/information", device.address);
        let text = files.text(&path).unwrap_or_default();
        let field = |name: &str| {
            let line =
                text.lines().find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == name))?;
            // What the driver hides is question marks.
            Some(line.1.trim().to_owned()).filter(|value| !value.is_empty() && !value.contains('?'))
        };
        let gpu = Gpu { model: field("Model"), uuid: field("GPU UUID"), ..Gpu::default() };
        device.name = device.name.take().or_else(|| gpu.model.clone());
        device.roles.push(DeviceRole::Gpu(gpu));
    }
}
