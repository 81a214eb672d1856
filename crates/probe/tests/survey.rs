//! Made-up machines are read as real ones would be.

#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

use weft_base::{Bytes, Guid, Rate};
use weft_formats::{
    Access, Device, DeviceRole, Evidence, GpuLinkEnd, Host, PciAddress, PeerMatrix, Reading, Report, Value,
    VirtualFunctions,
};
use weft_probe::{Captured, NoNvml, Nvml, NvmlGpu, NvmlLink, NvmlRemote, NvmlSurvey, survey};

const HGX: &str = include_str!("hgx.txt");
const MI300: &str = include_str!("mi300.txt");

/// A library that says what it was given.
struct MadeUp(NvmlSurvey);

impl Nvml for MadeUp {
    fn survey(&self) -> Result<NvmlSurvey, String> {
        Ok(self.0.clone())
    }
}

struct Found {
    host: Host,
    report: Report,
    peers: Option<PeerMatrix>,
}

fn found(reading: &Reading) -> Found {
    let mut found = Found { host: Host::default(), report: Report::default(), peers: None };
    for located in &reading.evidence {
        if let Evidence::Host(host) = &located.value {
            found.host = (**host).clone();
        } else if let Evidence::Report(report) = &located.value {
            found.report = (**report).clone();
        } else if let Evidence::Peers(peers) = &located.value {
            found.peers = Some(peers.clone());
        }
    }
    found
}

fn codes(reading: &Reading) -> Vec<&'static str> {
    reading.diagnostics.iter().map(|finding| finding.code.name).collect()
}

fn device<'a>(host: &'a Host, address: &str) -> &'a Device {
    host.devices.iter().find(|device| device.address == address).expect(address)
}

fn parent<'a>(host: &'a Host, address: &str) -> Option<&'a str> {
    device(host, address).parent.map(|parent| host.devices[parent].address.as_str())
}

#[test]
fn the_tree_links_and_registers_are_read() {
    let host = found(&survey(&Captured::parse(HGX), &NoNvml)).host;
    assert_eq!((host.format, host.name.as_deref(), host.devices.len()), ("local", Some("gpu-01"), 9));
    assert_eq!(parent(&host, "0000:1b:00.0"), Some("0000:17:01.0"));
    assert_eq!(parent(&host, "0000:17:01.0"), Some("0000:16:00.0"));
    assert_eq!(parent(&host, "0000:16:00.0"), Some("0000:15:01.0"));
    assert_eq!(parent(&host, "0000:15:01.0"), None);
    let port = device(&host, "0000:15:01.0");
    // The registers say 0x1d: bits 0, 2, 3 and 4.
    let flags = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-";
    assert_eq!(port.acs.as_deref(), Some(flags));
    assert_eq!((port.link.lanes, port.details.link_below.lanes), (None, Some(16)));
    assert_eq!(port.details.driver.as_deref(), Some("pcieport"));
    assert!(device(&host, "0000:17:00.0").acs.as_ref().is_some_and(|acs| !acs.contains('+')));
    let nic = device(&host, "0000:18:00.0");
    assert_eq!((nic.link.lanes, nic.link.speed), (Some(8), "16 GT/s".parse().ok()));
    assert_eq!((nic.link_capability.lanes, nic.link_capability.speed), (Some(16), "32 GT/s".parse().ok()));
    assert_eq!(nic.details.virtual_functions, Some(VirtualFunctions { enabled: 4, total: 16 }));
    assert_eq!((nic.details.slot.as_deref(), nic.details.iommu_group), (Some("4"), Some(27)));
    assert_eq!(nic.details.regions[0].size, Some(Bytes::new(32 << 20)));
    let gpu = device(&host, "0000:1b:00.0");
    // Bits 6 to 17 of 0x3ffc0: 64 MiB to 128 GiB.
    let window = gpu.details.regions[1];
    let all = Some(Bytes::new(128 << 30));
    assert_eq!((window.number, window.size, window.largest), (Some(2), all, all));
}

#[test]
fn nodes_and_sockets_are_read() {
    let host = found(&survey(&Captured::parse(HGX), &NoNvml)).host;
    let node = &host.numa[0];
    assert_eq!((node.number, node.socket, node.arch.as_deref()), (Some(0), Some(0), Some("x86_64")));
    assert_eq!(node.model.as_deref(), Some("Intel(R) Xeon(R) Platinum 8480C"));
    assert_eq!((node.cpu_family, node.cpu_model), (Some(6), Some(143)));
    assert_eq!(node.memory, Some(Bytes::new(1_056_759_808 * 1024)));
    assert_eq!(host.packages.len(), 1);
    assert_eq!(device(&host, "0000:1b:00.0").numa, Some(0));
    assert_eq!(device(&host, "0000:05:00.0").numa, None);
}

#[test]
fn ports_and_network_devices_are_read() {
    let Found { host, report, .. } = found(&survey(&Captured::parse(HGX), &NoNvml));
    let DeviceRole::Adapter(port) = &device(&host, "0000:18:00.0").roles[0] else { panic!() };
    assert_eq!((port.name.as_str(), port.port, port.state.as_deref()), ("mlx5_0", Some(1), Some("ACTIVE")));
    assert_eq!(port.guid, Some(Guid::new(0xa088_c203_0001_0002)));
    // 400 Gb/s are 50 GB/s.
    assert_eq!(port.rate, Some(Rate::bytes_per_second(50_000_000_000)));
    let DeviceRole::Adapter(port) = &device(&host, "0000:29:00.0").roles[0] else { panic!() };
    assert_eq!((port.name.as_str(), port.state.as_deref()), ("ens1f0", Some("up")));
    assert_eq!(port.rate, Some(Rate::bytes_per_second(12_500_000_000)));
    let record =
        |subject: &str| report.records.iter().find(|record| record.subject == subject).expect(subject);
    assert_eq!(record("mlx5_0 port 1").text("signalling"), Some("4X NDR"));
    assert_eq!(record("mlx5_0 port 1").count("symbol-error"), Some(17));
    assert_eq!(record("mlx5_0 port 1").count("link-downed"), None);
    assert_eq!(record("mlx5_0").text("firmware-version"), Some("28.39.1002"));
    assert_eq!(record("bond0").text("members"), Some("ens1f0"));
    assert_eq!(record("0000:18:00.0").count("correctable-rxerr"), Some(3));
    assert_eq!(record("nvidia").text("version"), Some("570.86.15"));
    assert!(!report.records.iter().any(|record| record.subject == "lo"));
    assert_eq!(host.virtual_adapters[0].adapter.name, "bond0");
}

#[test]
fn a_driver_without_its_library_is_said() {
    let reading = survey(&Captured::parse(HGX), &NoNvml);
    assert_eq!(codes(&reading), ["nvml-silent"]);
    let host = found(&reading).host;
    let DeviceRole::Gpu(gpu) = &device(&host, "0000:1b:00.0").roles[0] else { panic!() };
    assert_eq!((gpu.number, gpu.model.as_deref()), (None, Some("NVIDIA H100 80GB HBM3")));
    assert_eq!(device(&host, "0000:05:00.0").roles, [DeviceRole::GpuSwitch]);
    // The screen of the management controller is no GPU.
    assert_eq!(device(&host, "0000:02:00.0").roles, []);
}

fn address(text: &str) -> PciAddress {
    text.parse().unwrap()
}

#[test]
fn the_library_numbers_gpus_and_counts_links() {
    let switch = Some(NvmlRemote::Switch(Some(address("0000:05:00.0"))));
    let far = Some(NvmlRemote::Gpu(address("0000:43:00.0")));
    let link = |number, active, remote| NvmlLink { number, active, remote };
    let gpu = NvmlGpu {
        index: 0,
        name: Some("NVIDIA H100 80GB HBM3".to_owned()),
        address: Some(address("0000:1b:00.0")),
        links: vec![link(0, true, switch), link(1, true, switch), link(2, false, None), link(3, true, far)],
        ..NvmlGpu::default()
    };
    let hidden = NvmlGpu { index: 1, ..NvmlGpu::default() };
    let ok = Some(Access::Ok);
    let reads = vec![ok, Some(Access::ChipsetNotSupported), ok, ok];
    let said = NvmlSurvey { driver: Some("570.86.15".to_owned()), gpus: vec![gpu, hidden], reads };
    let reading = survey(&Captured::parse(HGX), &MadeUp(said));
    assert_eq!(codes(&reading), Vec::<&str>::new());
    let Found { host, report, peers } = found(&reading);
    let index = |wanted: &str| host.devices.iter().position(|device| device.address == wanted).unwrap();
    let links: Vec<_> = host.gpu_links.iter().map(|link| (link.gpu, link.to.clone(), link.count)).collect();
    let gpu = index("0000:1b:00.0");
    let wanted = [
        (gpu, GpuLinkEnd::Device(index("0000:05:00.0")), 2),
        (gpu, GpuLinkEnd::Address("0000:43:00.0".to_owned()), 1),
    ];
    assert_eq!(links, wanted);
    let DeviceRole::Gpu(role) = &host.devices[gpu].roles[0] else { panic!() };
    assert_eq!(role.number, Some(0));
    // The UUID is that of the driver's file, since the library gave none.
    assert_eq!(role.uuid.as_deref(), Some("GPU-11111111-2222-3333-4444-555555555555"));
    let record =
        |subject: &str| report.records.iter().find(|record| record.subject == subject).expect(subject);
    assert_eq!((record("GPU 0").count("links"), record("GPU 0").count("inactive-links")), (Some(4), Some(1)));
    assert_eq!(record("GPU 0 link 2").get("active"), Some(&Value::Flag(false)));
    let peers = peers.unwrap();
    let cells: Vec<_> = peers.cells.iter().map(|cell| (cell.row, cell.column, cell.access)).collect();
    assert_eq!(cells, [(0, 1, Some(Access::ChipsetNotSupported)), (1, 0, ok)]);
}

#[test]
fn links_between_gpus_of_amd_are_read() {
    let reading = survey(&Captured::parse(MI300), &NoNvml);
    assert_eq!(codes(&reading), Vec::<&str>::new());
    let host = found(&reading).host;
    let roles: Vec<_> = host.devices.iter().map(|device| &device.roles[..]).collect();
    let [[DeviceRole::Gpu(first)], [DeviceRole::Gpu(second)]] = roles[..] else { panic!("{roles:?}") };
    assert_eq!((first.number, first.gcn.as_deref(), second.number), (Some(0), Some("gfx942"), Some(1)));
    let links: Vec<_> =
        host.gpu_links.iter().map(|link| (link.gpu, link.to.clone(), link.family, link.rate)).collect();
    let rate = Some(Rate::bytes_per_second(64_000_000_000));
    assert_eq!(links, [(0, GpuLinkEnd::Device(1), "xgmi", rate), (1, GpuLinkEnd::Device(0), "xgmi", rate)]);
}

#[test]
fn machines_without_gpus_or_without_anything_are_told_apart() {
    let without: String =
        HGX.lines().filter(|line| !line.contains("1b:00.0")).flat_map(|line| [line, "\n"]).collect();
    let reading = survey(&Captured::parse(&without), &NoNvml);
    assert_eq!((codes(&reading), reading.failed()), (vec!["no-gpu-here"], false));
    let reading = survey(&Captured::default(), &NoNvml);
    assert_eq!((codes(&reading), reading.failed()), (vec!["nothing-here"], true));
}

#[test]
fn hidden_registers_are_said() {
    let short = "/sys/bus/pci/devices/0000:01:00.0/class = 0x030200\n/sys/bus/pci/devices/0000:01:00.0/vendor = 0x1002\n\
                 /sys/bus/pci/devices/0000:01:00.0/config : 02 10 @3f 00\n";
    assert_eq!(codes(&survey(&Captured::parse(short), &NoNvml)), ["config-hidden"]);
}
