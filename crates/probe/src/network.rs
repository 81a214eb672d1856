//! Network devices, from `/sys/class/net`.

use weft_base::Rate;
use weft_formats::{Adapter, DeviceRole, OsDevice, OsDeviceKind, Record, Value, VirtualAdapter};

use crate::files::Files;
use crate::rdma::{device_index, real};
use crate::survey::Probe;

const CLASS: &str = "/sys/class/net";

pub(crate) fn read(files: &dyn Files, probe: &mut Probe) {
    for name in files.list(CLASS) {
        let folder = real(files, CLASS, &name);
        let text = |file: &str| files.text(&format!("{folder}/{file}"));
        let members = text("bonding/slaves");
        let device = device_index(files, &folder, probe);
        // Loopback, bridges and tunnels carry nothing of their own.
        if device.is_none() && members.is_none() {
            continue;
        }
        // Numbers of the kernel for kinds of hardware.
        let layer = match text("type").as_deref() {
            Some("1") => Some("Ethernet"),
            Some("32") => Some("InfiniBand"),
            Some(_) | None => None,
        };
        // Megabits per second; -1 where nothing is connected.
        let rate: Option<Rate> = text("speed").and_then(|speed| format!("{speed} Mb/s").parse().ok());
        let seen = Adapter {
            name: name.clone(),
            rate: rate.filter(|rate| *rate > Rate::ZERO),
            link_layer: layer.map(str::to_owned),
            state: text("operstate"),
            ..Adapter::default()
        };
        let mut record = Record::new("port", &name, 0);
        for (field, value) in [
            ("state", seen.state.clone()),
            ("link-layer", seen.link_layer.clone()),
            ("mtu", text("mtu")),
            ("members", members),
            ("bonding", text("bonding/mode")),
        ] {
            if let Some(value) = value {
                record.push(field, Value::Text(value), 0);
            }
        }
        if let Some(rate) = seen.rate {
            record.push("rate", Value::Rate(rate), 0);
        }
        probe.records.push(record);
        probe.host.os_devices.push(OsDevice { name, kind: OsDeviceKind::Network, device, line: 0 });
        if let Some(device) = device.and_then(|index| probe.host.devices.get_mut(index)) {
            device.roles.push(DeviceRole::Adapter(seen));
        } else {
            probe.host.virtual_adapters.push(VirtualAdapter { adapter: seen, numa: None, line: 0 });
        }
    }
}
