use weft_topology::{NodeId, NodeKind, Topology, build, reported_class};

use super::*;
use crate::evidence::{Device, DeviceRole, Evidence, Gpu, PcieState};
use crate::format::Source;

fn host(text: &str) -> Host {
    let reading = crate::read(&Source::file("t.xml", text), Catalogue::embedded(), None);
    let found = reading.evidence.into_iter().find_map(|located| {
        let Evidence::Host(host) = located.value else { return None };
        Some(*host)
    });
    found.unwrap()
}

fn inferred(host: &Host) -> InferredHost {
    machine_of_host(host, "t.xml", &Overrides::default(), Catalogue::embedded()).unwrap()
}

fn topology(found: &InferredHost) -> Topology {
    build(&found.inferred.machine, Catalogue::embedded()).unwrap().topology
}

fn class(topology: &Topology, a: (NodeKind, usize), b: (NodeKind, usize)) -> String {
    let node = |(kind, number)| -> NodeId { topology.of_kind(kind).nth(number).unwrap() };
    reported_class(topology, node(a), node(b)).unwrap().to_string()
}

const GPU: NodeKind = NodeKind::Gpu;
const NIC: NodeKind = NodeKind::Nic;

#[test]
fn a_dump_of_a_server_gives_the_classes_that_nvidia_smi_prints() {
    let host = host(include_str!("../../../../../examples/formats/nccl-topology/server.xml"));
    let found = inferred(&host);
    let topology = topology(&found);
    // GPU and NIC hang off different switches below one: PXB. Two such trees in each NUMA node.
    assert_eq!(class(&topology, (GPU, 0), (NIC, 0)), "PXB");
    assert_eq!(class(&topology, (GPU, 0), (NIC, 1)), "NODE");
    assert_eq!(class(&topology, (GPU, 0), (NIC, 2)), "SYS");
    assert_eq!(class(&topology, (GPU, 1), (GPU, 3)), "NV12");
    assert_eq!(topology.of_kind(NodeKind::GpuSwitch).count(), 6);
    let machine = &found.inferred.machine;
    assert_eq!(machine.gpus[0].model.as_deref(), Some("a100-sxm4-40gb"));
    assert_eq!(machine.host.cpu.as_deref(), Some("epyc-rome"));
    assert_eq!(found.nic_labels, ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]);
}

#[test]
fn functions_without_roles_are_told_by_their_class() {
    let host = host(include_str!("../../../../../examples/formats/nccl-topology/vm.xml"));
    let found = inferred(&host);
    let topology = topology(&found);
    assert_eq!(class(&topology, (GPU, 0), (NIC, 0)), "PIX");
    assert_eq!(class(&topology, (GPU, 0), (GPU, 1)), "NODE");
    assert_eq!(class(&topology, (GPU, 0), (GPU, 3)), "SYS");
    assert_eq!(found.inferred.machine.gpus[0].model, None);
}

#[test]
fn amd_cards_are_meshed_as_listed_and_virtual_interfaces_are_no_nics() {
    let host = host(include_str!("../../../../../examples/formats/nccl-topology/rccl.xml"));
    let found = inferred(&host);
    let topology = topology(&found);
    assert_eq!(class(&topology, (GPU, 0), (GPU, 2)), "XGMI");
    assert_eq!((found.gpu_labels.len(), found.nic_labels.len()), (4, 1));
    assert_eq!(found.inferred.machine.gpus[0].model.as_deref(), Some("mi210"));
}

/// Root port, switch's port above, its ports below, devices: as lspci and hwloc list them.
fn listed() -> Host {
    let bridge = |address: &str, parent| Device {
        address: address.to_owned(),
        parent,
        class: Some(0x0604),
        ..Device::default()
    };
    let card = |address: &str, parent, lanes| Device {
        address: address.to_owned(),
        parent: Some(parent),
        class: Some(0x0302),
        vendor: Some(0x10de),
        device: Some(0x2330),
        link: PcieState { speed: None, lanes: Some(lanes) },
        link_capability: PcieState { speed: None, lanes: Some(16) },
        line: 7,
        ..Device::default()
    };
    let devices = vec![
        bridge("0000:15:01.0", None),
        bridge("0000:16:00.0", Some(0)),
        bridge("0000:17:00.0", Some(1)),
        bridge("0000:17:01.0", Some(1)),
        card("0000:19:00.0", 3, 8),
        card("0000:18:00.0", 2, 16),
        Device {
            address: "0000:03:00.0".to_owned(),
            class: Some(0x0300),
            vendor: Some(0x1a03),
            ..Device::default()
        },
    ];
    Host { format: "lspci", devices, ..Host::default() }
}

#[test]
fn a_switch_of_many_bridges_is_one_and_cards_are_ordered_by_address() {
    let found = inferred(&listed());
    let topology = topology(&found);
    assert_eq!(topology.of_kind(NodeKind::PcieSwitch).count(), 1);
    assert_eq!(topology.of_kind(GPU).count(), 2);
    // The card at 19:00.0 is the second; half of its lanes run.
    assert_eq!(found.observed.len(), 1);
    assert_eq!(found.observed[0].seen, Seen::GpuLanes(1, 8));
}

#[test]
fn links_that_the_model_lacks_cost_the_model() {
    let mut host = listed();
    host.devices[4].roles.push(DeviceRole::Gpu(Gpu { number: Some(0), ..Gpu::default() }));
    host.devices[5].roles.push(DeviceRole::Gpu(Gpu { number: Some(1), ..Gpu::default() }));
    let link = crate::evidence::GpuLink {
        gpu: 4,
        to: crate::evidence::GpuLinkEnd::Device(5),
        count: 40,
        family: "nvlink",
        ..crate::evidence::GpuLink::default()
    };
    host.gpu_links.push(link);
    let found = inferred(&host);
    assert!(build(&found.inferred.machine, Catalogue::embedded()).is_ok());
    assert!(!found.inferred.diagnostics.is_empty());
}

/// A list of four adapters: for administration, of 10 Gb/s twice, one of them of the catalogue, and a fast one.
fn adapters_of(names: &[&str]) -> Vec<String> {
    let lines: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(slot, name)| format!("{:02x}:00.0 Ethernet controller: {name}\n", slot + 1))
        .collect();
    let card = "09:00.0 3D controller: NVIDIA Corporation AD102GL [L40S]\n";
    let found = inferred(&host(&format!("{}{card}", lines.concat())));
    let models = found.inferred.machine.nics.iter().map(|group| group.model.clone().unwrap_or_default());
    models.collect()
}

#[test]
fn ports_for_administration_are_no_nics_and_slow_ones_only_without_fast_ones() {
    let gigabit = "Intel Corporation I350 Gigabit Network Connection (rev 01)";
    let ten = "Intel Corporation Ethernet Controller X550 (rev 01)";
    let known = "Intel Corporation Ethernet Controller X710 for 10GbE SFP+ [8086:1572]";
    let fast = "Mellanox Technologies MT28908 Family [ConnectX-6] [15b3:101b]";
    assert_eq!(adapters_of(&[gigabit]), Vec::<String>::new());
    assert_eq!(adapters_of(&[gigabit, ten]), ["generic-10g"]);
    assert_eq!(adapters_of(&[ten, known, gigabit]), ["intel-x710"]);
    assert_eq!(adapters_of(&[ten, known, gigabit, fast]).len(), 1);
    assert!(adapters_of(&[ten, known, gigabit, fast])[0].starts_with("connectx-6"));
}
