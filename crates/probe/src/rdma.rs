//! RDMA devices and their ports, from `/sys/class/infiniband`.

use weft_base::{Guid, Rate};
use weft_formats::{Adapter, DeviceRole, OsDevice, OsDeviceKind, Record, Value};

use crate::files::Files;
use crate::pci::function_of;
use crate::survey::Probe;

const CLASS: &str = "/sys/class/infiniband";

/// Counters of a port that tell of trouble, where they are not zero.
const COUNTERS: [&str; 9] = [
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "port_rcv_remote_physical_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
];

pub(crate) fn read(files: &dyn Files, probe: &mut Probe) {
    for name in files.list(CLASS) {
        let folder = real(files, CLASS, &name);
        let device = device_index(files, &folder, probe);
        let guid: Option<Guid> =
            files.text(&format!("{folder}/node_guid")).and_then(|guid| guid.parse().ok());
        let guid = guid.filter(|guid| guid.get() != 0);
        adapter(files, probe, &name, &folder, guid);
        probe.host.os_devices.push(OsDevice {
            name: name.clone(),
            kind: OsDeviceKind::Rdma,
            device,
            line: 0,
        });
        let mut ports: Vec<u32> =
            files.list(&format!("{folder}/ports")).iter().filter_map(|port| port.parse().ok()).collect();
        ports.sort_unstable();
        for port in ports {
            let seen = Adapter { name: name.clone(), port: Some(port), guid, ..Adapter::default() };
            let seen = one_port(files, probe, &format!("{folder}/ports/{port}"), seen);
            if let Some(device) = device.and_then(|index| probe.host.devices.get_mut(index)) {
                device.roles.push(DeviceRole::Adapter(seen));
            }
        }
    }
}

/// The folder of a device of a class.
pub(crate) fn real(files: &dyn Files, class: &str, name: &str) -> String {
    let path = format!("{class}/{name}");
    files.link(&path).unwrap_or(path)
}

/// The PCI function that a device of a class is on.
pub(crate) fn device_index(files: &dyn Files, folder: &str, probe: &Probe) -> Option<usize> {
    let on = files.link(&format!("{folder}/device"));
    let address = on.as_deref().and_then(function_of).or_else(|| function_of(folder))?.to_string();
    probe.host.devices.iter().position(|device| device.address == address)
}

fn adapter(files: &dyn Files, probe: &mut Probe, name: &str, folder: &str, guid: Option<Guid>) {
    let mut record = Record::new("adapter", name, 0);
    for (file, field) in [("hca_type", "ca-type"), ("fw_ver", "firmware-version"), ("board_id", "board-id")] {
        if let Some(text) = files.text(&format!("{folder}/{file}")) {
            record.push(field, Value::Text(text), 0);
        }
    }
    if let Some(guid) = guid {
        record.push("node-guid", Value::Text(guid.to_string()), 0);
    }
    probe.records.push(record);
}

fn one_port(files: &dyn Files, probe: &mut Probe, folder: &str, mut seen: Adapter) -> Adapter {
    let text = |name: &str| files.text(&format!("{folder}/{name}"));
    // `4: ACTIVE`.
    let word = |text: String| text.split_once(": ").map_or(text.clone(), |(_, word)| word.to_owned());
    let subject = format!("{} port {}", seen.name, seen.port.unwrap_or(1));
    let mut record = Record::new("port", &subject, 0);
    seen.state = text("state").map(word);
    seen.link_layer = text("link_layer");
    let rate = text("rate");
    seen.rate = rate.as_deref().and_then(rate_of);
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            record.push(name, Value::Text(value), 0);
        }
    };
    say("state", seen.state.clone());
    say("physical-state", text("phys_state").map(word));
    say("link-layer", seen.link_layer.clone());
    say("base-lid", text("lid").filter(|lid| lid != "0x0"));
    say("sm-lid", text("sm_lid").filter(|lid| lid != "0x0"));
    // `4X NDR`, behind the rate in brackets.
    say("signalling", rate.and_then(|rate| Some(rate.split_once('(')?.1.trim_end_matches(')').to_owned())));
    if let Some(rate) = seen.rate {
        record.push("rate", Value::Rate(rate), 0);
    }
    for name in COUNTERS {
        let count = text(&format!("counters/{name}")).and_then(|count| count.parse().ok()).unwrap_or(0);
        if count > 0 {
            record.push(name.replace('_', "-").to_lowercase(), Value::Count(count), 0);
        }
    }
    gids(files, folder, &mut record);
    probe.records.push(record);
    seen
}

/// Ports over Ethernet are chosen by the index of a GID; those that are set and of which type.
fn gids(files: &dyn Files, folder: &str, record: &mut Record) {
    let mut indices: Vec<u32> =
        files.list(&format!("{folder}/gids")).iter().filter_map(|index| index.parse().ok()).collect();
    indices.sort_unstable();
    let mut types = Vec::new();
    for index in indices {
        let gid = files.text(&format!("{folder}/gids/{index}")).unwrap_or_default();
        if gid.bytes().all(|byte| byte == b'0' || byte == b':') {
            continue;
        }
        if let Some(kind) = files.text(&format!("{folder}/gid_attrs/types/{index}")) {
            types.push(format!("{index} {kind}"));
        }
    }
    if !types.is_empty() {
        record.push("gid-types", Value::Text(types.join(", ")), 0);
    }
}

/// `400 Gb/sec (4X NDR)`, `2.5 Gb/sec (1X SDR)`.
fn rate_of(text: &str) -> Option<Rate> {
    let number = text.split(" Gb/sec").next().filter(|number| *number != text)?;
    format!("{number} Gb/s").parse().ok().filter(|rate| *rate > Rate::ZERO)
}
