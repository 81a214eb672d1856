use weft_base::Bytes;

use super::*;
use crate::codes;
use crate::evidence::{BusRange, Device, PcieState, VirtualFunctions};
use crate::format::Source;

fn reading(text: &str) -> crate::Reading {
    crate::read(&Source::file("t", text), Catalogue::embedded(), None)
}

fn hosts(text: &str) -> Vec<Host> {
    let host =
        |found: Located<Evidence>| if let Evidence::Host(host) = found.value { Some(*host) } else { None };
    reading(text).evidence.into_iter().filter_map(host).collect()
}

fn host(text: &str) -> Host {
    let found = hosts(text);
    assert_eq!(found.len(), 1);
    found.into_iter().next().unwrap_or_default()
}

fn device<'a>(host: &'a Host, address: &str) -> &'a Device {
    host.devices.iter().find(|device| device.address == address).expect(address)
}

fn parent<'a>(host: &'a Host, address: &str) -> Option<&'a str> {
    device(host, address).parent.map(|parent| host.devices[parent].address.as_str())
}

const VERBOSE: &str = include_str!("../../../../examples/formats/lspci/verbose.txt");
const TREE: &str = include_str!("../../../../examples/formats/lspci/tree.txt");
const LIST: &str = include_str!("../../../../examples/formats/lspci/list.txt");

fn state(speed: &str, lanes: u16) -> PcieState {
    PcieState { speed: speed.parse().ok(), lanes: Some(lanes) }
}

#[test]
fn registers_of_a_switch_and_a_nic_are_read() {
    let reading = reading(VERBOSE);
    assert_eq!(reading.diagnostics, []);
    let host = host(VERBOSE);
    assert_eq!(host.devices.len(), 6);
    let port = device(&host, "0000:15:01.0");
    assert_eq!(port.details.buses, Some(BusRange { secondary: 0x16, subordinate: 0x1b }));
    assert_eq!((port.link, port.details.link_below), (PcieState::default(), state("32 GT/s", 16)));
    assert_eq!(port.details.slot.as_deref(), Some("2"));
    assert_eq!(port.details.iommu_group, Some(12));
    assert_eq!(port.details.max_payload, Some(Bytes::new(256)));
    assert!(port.acs.as_ref().is_some_and(|acs| acs.starts_with("SrcValid+ TransBlk- ReqRedir+")));
    assert_eq!(port.details.errors, Vec::<String>::new());
    let nic = device(&host, "0000:18:00.0");
    assert_eq!((nic.class, nic.vendor, nic.device), (Some(0x0207), Some(0x15b3), Some(0x1021)));
    assert_eq!((nic.subsystem_vendor, nic.subsystem), (Some(0x15b3), Some(0x41)));
    assert_eq!((nic.link, nic.link_capability), (state("16 GT/s", 8), state("32 GT/s", 16)));
    let errors =
        ["DevSta CorrErr", "DevSta UnsupReq", "UESta UnsupReq", "CESta BadDLLP", "CESta AdvNonFatalErr"];
    assert_eq!(nic.details.errors, errors);
    assert_eq!(nic.details.virtual_functions, Some(VirtualFunctions { enabled: 4, total: 16 }));
    assert_eq!(
        (nic.details.relaxed_ordering, nic.details.max_read_request),
        (Some(true), Some(Bytes::new(4096)))
    );
    // The windows of virtual functions are not its own.
    assert_eq!(nic.details.regions.len(), 1);
    assert_eq!(nic.details.driver.as_deref(), Some("mlx5_core"));
    let gpu = device(&host, "0000:1b:00.0");
    let regions: Vec<_> =
        gpu.details.regions.iter().map(|region| (region.number, region.size, region.largest)).collect();
    let all = Some(Bytes::new(128 << 30));
    assert_eq!(regions, [(Some(0), Some(Bytes::new(16 << 20)), None), (Some(2), all, all)]);
    assert_eq!(gpu.numa.map(|node| host.numa[node].number), Some(Some(0)));
    let line = VERBOSE.lines().position(|line| line.starts_with("0000:1b:00.0")).unwrap() + 1;
    assert_eq!(usize::try_from(gpu.line), Ok(line));
}

#[test]
fn bridges_stand_above_what_is_on_their_buses() {
    let host = host(VERBOSE);
    assert_eq!(parent(&host, "0000:1b:00.0"), Some("0000:17:01.0"));
    assert_eq!(parent(&host, "0000:17:01.0"), Some("0000:16:00.0"));
    assert_eq!(parent(&host, "0000:16:00.0"), Some("0000:15:01.0"));
    assert_eq!(parent(&host, "0000:15:01.0"), None);
}

#[test]
fn a_tree_of_several_root_buses_is_read() {
    assert_eq!(reading(TREE).diagnostics, []);
    let host = host(TREE);
    assert_eq!(parent(&host, "0000:c3:00.0"), Some("0000:c2:00.0"));
    assert_eq!(parent(&host, "0000:c4:00.0"), Some("0000:c2:01.0"));
    assert_eq!(parent(&host, "0000:c2:1f.0"), Some("0000:c1:00.0"));
    assert_eq!(parent(&host, "0000:c1:00.0"), Some("0000:c0:01.1"));
    assert_eq!(parent(&host, "0000:01:00.1"), Some("0000:00:01.1"));
    assert_eq!(parent(&host, "0000:03:00.0"), Some("0000:02:00.0"));
    assert_eq!(parent(&host, "0000:00:00.2"), None);
    // Root bus c0: 00.0, 01.1, c1:00.0, three ports of the switch, GPU, NIC. Root bus 00: 00.0, 00.2, 01.1, GPU,
    // its audio, 05.3, 02:00.0, the screen.
    assert_eq!(host.devices.len(), 8 + 8);
    assert_eq!(device(&host, "0000:c2:1f.0").details.buses.map(|buses| buses.secondary), Some(0xc5));
    assert_eq!(device(&host, "0000:c3:00.0").class, Some(0x0302));
    assert_eq!(device(&host, "0000:01:00.1").class, Some(0x0403));
    assert_eq!(device(&host, "0000:03:00.0").vendor, Some(0x1a03));
}

#[test]
fn a_tree_without_its_blanks_is_read_as_far_as_it_can_be_placed() {
    let flat: String = TREE.lines().flat_map(|line| [line.trim_start(), "\n"]).collect();
    let reading = reading(&flat);
    assert!(
        reading.diagnostics.iter().any(|finding| finding.code == codes::TREE_BROKEN),
        "{:?}",
        reading.diagnostics
    );
    assert!(hosts(&flat)[0].devices.iter().any(|device| device.address == "0000:c3:00.0"));
}

#[test]
fn lists_are_read_between_other_lines() {
    let text = format!("{LIST}$ echo done\ndone\n");
    let found = host(&text);
    assert_eq!(found.devices.len(), 5);
    assert_eq!(device(&found, "0000:05:00.0").class, Some(0x0680));
    let reading = reading(&text);
    let unused: Vec<u32> = reading
        .diagnostics
        .iter()
        .filter_map(|finding| finding.place.as_ref())
        .map(|place| place.line)
        .collect();
    assert_eq!(unused, [1, 7]);
}

#[test]
fn lists_of_several_hosts_are_told_apart() {
    let text = "n1: 1b:00.0 0302: 10de:2330 (rev a1)\nn2: 1b:00.0 0302: 10de:2331\nn1: \tNUMA node: 1\nn2: \tNUMA node: 0\n";
    let found = hosts(text);
    let names: Vec<_> = found.iter().map(|host| host.name.as_deref()).collect();
    assert_eq!(names, [Some("n1"), Some("n2")]);
    assert_eq!(found[0].numa[0].number, Some(1));
    assert_eq!(found[1].devices[0].device, Some(0x2331));
    // Run twice on one host: the second run begins again.
    let twice = "1b:00.0 0302: 10de:2330\n$ lspci -n\n00:00.0 0600: 8086:0001\n1b:00.0 0302: 10de:2330\n";
    assert_eq!(hosts(twice).len(), 2);
}

#[test]
fn lost_indentation_and_hidden_registers_are_said() {
    let text = "1b:00.0 3D controller: NVIDIA Corporation GH100 [H100 PCIe]\nLnkSta: Speed 16GT/s (ok), Width x8 (downgraded)\n";
    assert_eq!(device(&host(text), "0000:1b:00.0").link, state("16 GT/s", 8));
    let text =
        "1b:00.0 3D controller: NVIDIA Corporation GH100 [H100 PCIe]\n\tCapabilities: <access denied>\n";
    let found = reading(text).diagnostics;
    assert_eq!(found[0].code, codes::REGISTERS_HIDDEN);
    let text =
        "1b:00.0 3D controller: NVIDIA Corporation GH100 [H100 PCIe]\n\t\tLnkSta:\tSpeed l6GT/s, Width x8\n";
    let found = reading(text).diagnostics;
    assert_eq!(found[0].code, codes::LINK_UNREADABLE);
    assert_eq!(found[0].place.as_ref().map(|place| (place.line, place.column)), Some((2, 17)));
    assert_eq!(host(text).devices[0].link.lanes, Some(8));
}

#[test]
fn registers_in_hexadecimal_are_read() {
    // A bridge (0604, header 1) of 8086:352a with buses 15, 16, 1b.
    let text = "15:01.0 0604: 8086:352a (rev 11)\n\
        00: 86 80 2a 35 47 05 10 00 11 00 04 06 10 00 01 00\n\
        10: 00 00 00 00 00 00 00 00 15 16 1b 00 f0 00 00 20\n\
        20: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n\n\
        16:00.0 0200: 15b3:1021\n";
    let host = host(text);
    assert_eq!(parent(&host, "0000:16:00.0"), Some("0000:15:01.0"));
    assert_eq!(reading(text).diagnostics, []);
}
