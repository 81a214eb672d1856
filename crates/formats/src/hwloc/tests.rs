use weft_base::{Bytes, Guid, Rate};
use weft_catalogue::Catalogue;

use crate::codes;
use crate::evidence::{BusRange, Device, DeviceRole, Evidence, GpuLinkEnd, Host, OsDeviceKind};
use crate::format::{Located, Source};

const HGX: &str = include_str!("../../../../examples/formats/hwloc-xml/v2-hgx.xml");
const WORKSTATION: &str = include_str!("../../../../examples/formats/hwloc-xml/v1-workstation.xml");
const VERBOSE: &str = include_str!("../../../../examples/formats/lstopo-text/verbose.txt");
const PLAIN: &str = include_str!("../../../../examples/formats/lstopo-text/plain.txt");

fn host(text: &str) -> Host {
    let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
    assert_eq!(reading.diagnostics, []);
    let host =
        |found: Located<Evidence>| if let Evidence::Host(host) = found.value { Some(*host) } else { None };
    reading.evidence.into_iter().find_map(host).expect("a host")
}

fn device<'a>(host: &'a Host, address: &str) -> &'a Device {
    host.devices.iter().find(|device| device.address == address).expect(address)
}

fn parent<'a>(host: &'a Host, address: &str) -> Option<&'a str> {
    device(host, address).parent.map(|parent| host.devices[parent].address.as_str())
}

#[test]
fn a_file_of_version_two_is_read() {
    let host = host(HGX);
    assert_eq!(host.name.as_deref(), Some("gpu-01"));
    assert_eq!((host.packages.len(), host.numa.len(), host.devices.len()), (2, 2, 8));
    assert_eq!(host.packages[0].model.as_deref(), Some("Intel(R) Xeon(R) Platinum 8480C"));
    assert_eq!((host.numa[1].number, host.numa[1].socket), (Some(1), Some(1)));
    assert_eq!(host.numa[0].memory, Some(Bytes::new(1 << 40)));
    assert_eq!(parent(&host, "0000:1b:00.0"), Some("0000:17:01.0"));
    assert_eq!(parent(&host, "0000:15:01.0"), None);
    let nic = device(&host, "0000:18:00.0");
    assert_eq!((nic.vendor, nic.device, nic.class), (Some(0x15b3), Some(0x1021), Some(0x0207)));
    assert_eq!(nic.name.as_deref(), Some("Mellanox Technologies MT2910 Family [ConnectX-7]"));
    assert_eq!(nic.numa, Some(0));
    // 32 GT/s, 16 lanes, 128 of 130 bits, 8 bits a byte: 63.015 GB/s.
    assert_eq!(nic.details.link_rate, Some(Rate::bytes_per_second(63_015_385_000)));
    let DeviceRole::Adapter(port) = &nic.roles[1] else { panic!("{:?}", nic.roles) };
    assert_eq!((port.name.as_str(), port.port, port.state.as_deref()), ("mlx5_0", Some(1), Some("ACTIVE")));
    assert_eq!(port.guid, Some(Guid::new(0xa088_c203_0001_0002)));
    let gpu = device(&host, "0000:1b:00.0");
    // CUDA and NVML see one GPU.
    let [DeviceRole::Gpu(gpu)] = gpu.roles.as_slice() else { panic!("{:?}", gpu.roles) };
    assert_eq!((gpu.number, gpu.model.as_deref()), (Some(0), Some("NVIDIA H100 80GB HBM3")));
    assert_eq!(gpu.uuid.as_deref(), Some("GPU-11111111-2222-3333-4444-555555555555"));
    assert_eq!(host.os_devices.len(), 5);
    assert_eq!(host.os_devices[1].kind, OsDeviceKind::Rdma);
    assert_eq!(device(&host, "0000:95:00.0").roles, [DeviceRole::GpuSwitch]);
    assert_eq!(
        device(&host, "0000:17:00.0").details.buses,
        Some(BusRange { secondary: 0x18, subordinate: 0x18 })
    );
}

#[test]
fn bandwidths_become_links() {
    let host = host(HGX);
    let index = |address: &str| host.devices.iter().position(|device| device.address == address).unwrap();
    let links: Vec<_> =
        host.gpu_links.iter().map(|link| (link.gpu, link.to.clone(), link.count, link.family)).collect();
    let switch = GpuLinkEnd::Device(index("0000:95:00.0"));
    // An NVLink 4 carries 26.5625 GB/s, which hwloc rounds to 25: 100 GB/s are four.
    let wanted =
        [(index("0000:1b:00.0"), switch.clone(), 4, "nvlink"), (index("0000:9b:00.0"), switch, 4, "nvlink")];
    assert_eq!(links, wanted);
}

#[test]
fn a_file_of_version_one_is_read() {
    let host = host(WORKSTATION);
    assert_eq!((host.packages.len(), host.numa.len()), (2, 2));
    assert_eq!(host.numa[0].model.as_deref(), Some("Intel(R) Xeon(R) CPU E5-2630 v3 @ 2.40GHz"));
    assert_eq!((host.numa[0].socket, host.numa[1].socket), (Some(0), Some(1)));
    let gpu = device(&host, "0000:03:00.0");
    assert_eq!((gpu.numa, parent(&host, "0000:03:00.0")), (Some(0), Some("0000:00:02.0")));
    assert!(matches!(&gpu.roles[..], [DeviceRole::Gpu(gpu)] if gpu.number == Some(0)));
}

#[test]
fn kinds_of_version_three_are_bits() {
    let text = "<topology version=\"3.0\"><object type=\"Machine\"><object type=\"Package\">\n\
                <object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:1db8] [10de:131d] a1 00\">\n\
                <object type=\"OSDev\" name=\"nvml0\" osdev_type=\"12\"/></object>\n\
                <object type=\"OSDev\" name=\"eth0\" osdev_type=\"16\"/></object></object></topology>\n";
    let host = host(text);
    let kinds: Vec<_> = host.os_devices.iter().map(|device| (device.kind, device.device)).collect();
    assert_eq!(kinds, [(OsDeviceKind::Coprocessor, Some(0)), (OsDeviceKind::Network, None)]);
}

#[test]
fn the_long_text_is_read() {
    let host = host(VERBOSE);
    assert_eq!(host.name.as_deref(), Some("gpu-02"));
    assert_eq!((host.packages.len(), host.numa.len(), host.devices.len()), (2, 2, 4));
    assert_eq!(host.numa[0].model.as_deref(), Some("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz"));
    assert_eq!(host.numa[0].memory, Some(Bytes::new(124 << 30)));
    let gpu = device(&host, "0000:19:00.0");
    assert_eq!((gpu.vendor, gpu.device, gpu.class), (Some(0x10de), Some(0x1db6), Some(0x0302)));
    assert_eq!((gpu.details.slot.as_deref(), gpu.numa), (Some("4"), Some(0)));
    assert_eq!(parent(&host, "0000:19:00.0"), Some("0000:17:00.0"));
    assert_eq!(gpu.details.link_rate, Some(Rate::bytes_per_second(15_750_000_000)));
    let nic = device(&host, "0000:1a:00.0");
    assert!(matches!(&nic.roles[1], DeviceRole::Adapter(port) if port.state.as_deref() == Some("DOWN")));
}

#[test]
fn the_short_text_is_read() {
    let host = host(PLAIN);
    assert_eq!((host.packages.len(), host.numa.len(), host.devices.len()), (1, 1, 4));
    let gpu = device(&host, "0000:01:00.0");
    assert_eq!(
        (gpu.class, gpu.parent.map(|parent| host.devices[parent].class)),
        (Some(0x0300), Some(Some(0x0604)))
    );
    assert_eq!(gpu.numa, Some(0));
    assert_eq!(host.os_devices[1].name, "enp4s0");
}

#[test]
fn an_empty_topology_is_refused() {
    let source = Source::file("t", "<topology>\n<object type=\"Misc\"/>\n</topology>\n");
    let reading = crate::read(&source, Catalogue::embedded(), None);
    assert_eq!(reading.diagnostics[0].code, codes::NO_DEVICE);
}
