//! Several outputs of one machine are joined: `examples/case` has a matrix, `lspci`, `ibstat` and `ibnetdiscover`
//! of a host whose second GPU runs on half its lanes and whose adapter runs at half its rate.

#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

use std::fs;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_formats::{Case, Overrides, Seen, Source, join, read};

#[expect(clippy::disallowed_methods, reason = "tests read examples from disk")]
fn case(files: &[&str], change: impl Fn(String) -> String) -> (Case, Vec<Diagnostic>) {
    let mut evidence = Vec::new();
    for file in files {
        let path = format!("{}/../../examples/case/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = change(fs::read_to_string(path).unwrap());
        let reading = read(&Source::file(*file, text), Catalogue::embedded(), None);
        assert!(!reading.failed(), "{file}: {:?}", reading.diagnostics);
        evidence.extend(reading.evidence);
    }
    join(evidence, &Overrides::default(), Catalogue::embedded())
}

#[test]
fn a_list_of_devices_gives_the_matrix_models_and_lanes() {
    let (case, diagnostics) = case(&["topo.txt", "lspci.txt"], |text| text);
    let machine = case.machine.unwrap();
    assert_eq!(machine.gpus[0].model.as_deref(), Some("l40s"));
    assert_eq!(machine.gpus[0].count, 2);
    assert!(case.assumed.iter().all(|one| one.subject != "GPU" || one.what != "model"), "{:?}", case.assumed);
    let seen: Vec<_> =
        case.observed.iter().map(|one| (one.seen, one.place.file.as_str(), one.place.line)).collect();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].0, seen[0].1), (Seen::GpuLanes(1, 8), "lspci.txt"));
    assert_eq!(diagnostics, Vec::new());
}

#[test]
fn an_adapter_runs_what_its_port_says_and_is_tied_to_its_switch() {
    let files = ["topo.txt", "lspci.txt", "ibstat.txt", "ibnetdiscover.txt"];
    let (case, _) = case(&files, |text| text);
    let machine = case.machine.unwrap();
    let catalogue = Catalogue::embedded();
    // Where nothing is said, a NIC runs the first of its links.
    let fastest =
        machine.nics[0].model.as_deref().and_then(|name| catalogue.nic(name).ok()?.links.first().cloned());
    let link = catalogue.link(&machine.nics[0].link.clone().or(fastest).unwrap()).unwrap();
    // 100 Gb/s, be it as EDR or as HDR on two lanes.
    assert_eq!((link.rate(1).get(), link.name.starts_with("infiniband-")), (12_500_000_000, true));
    let tie = &case.ties[0];
    assert_eq!((tie.nic, tie.port.adapter.as_str(), tie.switch_port), (Some(0), "mlx5_0", 12));
    assert!(tie.switch.contains("leaf-1"), "{}", tie.switch);
}

#[test]
fn a_list_of_another_machine_is_not_used() {
    // Without the last GPU and the NIC the list has one GPU, the matrix two.
    let cut = |text: String| match text.split_once("0000:3c:00.0") {
        Some((before, _)) => before.to_owned(),
        None => text,
    };
    let (case, diagnostics) = case(&["topo.txt", "lspci.txt"], cut);
    assert_eq!(case.machine.unwrap().gpus[0].model, None);
    assert_eq!(diagnostics[0].code.name, "machine-surplus");
}

#[test]
fn a_tree_that_contradicts_the_matrix_is_named() {
    let topology = r#"<system version="1">
<cpu numaid="0" affinity="ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
<pci busid="0000:3b:00.0" class="0x030200" vendor="0x10de" device="0x26b9" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="89" rank="0" gdr="1"/></pci>
<pci busid="0000:3c:00.0" class="0x030200" vendor="0x10de" device="0x26b9" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="89" rank="1" gdr="1"/></pci>
<pci busid="0000:3d:00.0" class="0x020700" vendor="0x15b3" device="0x101b" link_speed="16.0 GT/s PCIe" link_width="16"><nic><net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="131072" gdr="1"/></nic></pci>
</cpu>
</system>
"#;
    let catalogue = Catalogue::embedded();
    let matrix = "\tGPU0\tGPU1\tmlx5_0\nGPU0\t X \tPIX\tPIX\nGPU1\tPIX\t X \tPIX\nmlx5_0\tPIX\tPIX\t X \n";
    let mut evidence = read(&Source::file("topo.txt", matrix), catalogue, None).evidence;
    evidence.extend(read(&Source::file("topo.xml", topology), catalogue, None).evidence);
    let (case, diagnostics) = join(evidence, &Overrides::default(), catalogue);
    // All three hang off root ports of one CPU: PHB at the nearest, never PIX.
    let named = diagnostics.iter().find(|finding| finding.code.name == "classes-contradicted").unwrap();
    assert_eq!(named.place.as_ref().map(|place| (place.line, place.file.as_str())), Some((2, "topo.txt")));
    assert_eq!(case.machine.unwrap().gpus[0].model.as_deref(), Some("l40s"));
}

#[test]
fn xml_that_is_cut_is_mended_and_named() {
    let text = "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\">\n<pci busid=\"0000:3b:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">\n";
    let reading = read(&Source::file("topo.xml", text), Catalogue::embedded(), None);
    assert!(!reading.evidence.is_empty());
    assert!(
        reading.diagnostics.iter().any(|finding| finding.code.name == "xml-damaged"),
        "{:?}",
        reading.diagnostics
    );
}

/// Two GPUs below a switch each, on two sockets, as `topo -m` prints them.
const TWO_SOCKETS: &str =
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tSYS\t0-7\t0\nGPU1\tSYS\t X \t8-15\t1\n";

/// The same in the list of PCI devices, with what is kept of each bridge and each GPU.
fn two_gpus(bridge: &str, gpu: &str) -> String {
    let root = |bus, below| {
        let class = "PCI bridge: Intel Corporation Device 347a (prog-if 00 [Normal decode])";
        let buses = format!("\tBus: primary={bus}, secondary={below}, subordinate={below}, sec-latency=0\n");
        let kept = if bridge.contains("Bus") { buses } else { String::new() };
        format!("{bus}:02.0 {class}\n{kept}")
    };
    let card = |bus| format!("{bus}:00.0 3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)\n{gpu}");
    [root("16", "17"), card("17"), root("98", "99"), card("99")].concat()
}

/// What `lspci` says beside the matrix.
fn beside(list: &str) -> (Case, Vec<Diagnostic>) {
    let catalogue = Catalogue::embedded();
    let mut evidence = read(&Source::file("topo.txt", TWO_SOCKETS), catalogue, None).evidence;
    evidence.extend(read(&Source::file("lspci.txt", list), catalogue, None).evidence);
    join(evidence, &Overrides::default(), catalogue)
}

#[test]
fn lines_that_were_grepped_away_contradict_nothing() {
    let port = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x8, ASPM L1\n";
    for list in [two_gpus("Bus", port), two_gpus("", port)] {
        let (case, diagnostics) = beside(&list);
        assert!(diagnostics.is_empty(), "{list}{diagnostics:?}");
        let machine = case.machine.unwrap();
        assert_eq!((machine.host.sockets, machine.gpus[0].model.as_deref()), (2, Some("l40s")));
        // What is said of the ports counts all the same.
        let lanes: Vec<_> = machine.pcie.iter().map(|branch| (branch.socket, branch.device_lanes)).collect();
        assert_eq!(lanes, [(0, Some(8)), (1, Some(8))], "{list}");
    }
}

#[test]
fn nodes_that_are_said_contradict() {
    let (_, diagnostics) = beside(&two_gpus("Bus", "\tNUMA node: 0\n"));
    assert_eq!(diagnostics[0].code.name, "classes-contradicted");
}

/// A matrix of so many GPUs that are all SYS to each other.
fn matrix_of(gpus: usize) -> String {
    let names: Vec<String> = (0..gpus).map(|gpu| format!("GPU{gpu}")).collect();
    let row = |row: usize| {
        let cells: Vec<&str> = (0..gpus).map(|column| if column == row { " X " } else { "SYS" }).collect();
        format!("GPU{row}\t{}\n", cells.join("\t"))
    };
    let rows: Vec<String> = (0..gpus).map(row).collect();
    format!("\t{}\n{}", names.join("\t"), rows.concat())
}

/// `files` joined: name and text.
fn joined(files: &[(&str, &str)]) -> (Case, Vec<Diagnostic>) {
    let catalogue = Catalogue::embedded();
    let read = |(name, text): &(&str, &str)| read(&Source::file(*name, *text), catalogue, None).evidence;
    join(files.iter().flat_map(read).collect(), &Overrides::default(), catalogue)
}

#[test]
fn folders_of_hosts_make_the_machine_of_the_richest() {
    let list = |model: &str| format!("GPU 0: {model} (UUID: GPU-1)\nGPU 1: {model} (UUID: GPU-2)\n");
    let (one, two, matrix) = (list("NVIDIA A40"), list("NVIDIA L40S"), matrix_of(2));
    let (case, _) =
        joined(&[("in/n1/smi", &one), ("in/n2/smi", &two), ("in/n2/topo", &matrix), ("in/log", &one)]);
    // The list above both folders is of all hosts, and names another model than that of the second.
    assert_eq!(case.machine.unwrap().gpus[0].model, None);
    let (case, findings) = joined(&[("in/n1/smi", &one), ("in/n2/smi", &two), ("in/n2/topo", &matrix)]);
    assert_eq!(case.machine.unwrap().gpus[0].model.as_deref(), Some("l40s"));
    // What is of the other host is kept.
    assert_eq!((case.evidence.len(), findings.len()), (2, 0));
}

#[test]
fn folders_of_one_host_are_one_machine() {
    let (list, matrix) = ("GPU 0: NVIDIA L40S (UUID: GPU-1)\n", matrix_of(2));
    let (case, _) = joined(&[("in/gpus/smi", list), ("in/net/topo", &matrix)]);
    assert_eq!(case.machine.unwrap().gpus[0].model.as_deref(), Some("l40s"));
}

#[test]
fn a_guest_and_its_hypervisor_are_two() {
    let card =
        |bus: u8| format!("{bus:02x}:00.0 3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)\n");
    let (hypervisor, guest) = (card(0x41), [card(5), card(6)].concat());
    for files in
        [[("host.txt", &*hypervisor), ("guest.txt", &*guest)], [("a.txt", &*guest), ("b.txt", &*hypervisor)]]
    {
        let (case, _) = joined(&files);
        assert_eq!(case.machine.unwrap().gpus[0].count, 2);
    }
}

#[test]
fn names_before_the_lines_tell_hosts_apart() {
    let card = |host: &str, bus: u8| {
        format!("{host}: {bus:02x}:00.0 3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)\n")
    };
    let text = [card("node-1", 5), card("node-2", 5), card("node-2", 6)].concat();
    let (case, _) = joined(&[("pdsh.txt", &text)]);
    assert_eq!((case.machine.unwrap().gpus[0].count, case.evidence.len()), (2, 2));
}
