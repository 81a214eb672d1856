//! Systems hang together: every number exists, every link is there, and the meshes are those of real machines.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail a test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use weft_base::simplify;
use weft_catalogue::{Branch, Catalogue, Fabric, Machine};

fn systems() -> &'static [Machine] {
    &Catalogue::embedded().systems
}

fn gpu_count(system: &Machine) -> u16 {
    system.gpus.iter().map(|group| group.count).sum()
}

fn nic_count(system: &Machine) -> u16 {
    system.nics.iter().map(|group| group.count).sum()
}

/// How many links of which kind each GPU of the system has, by number; 0 for GPUs without a fabric.
fn links_of_gpus(system: &Machine) -> Vec<u16> {
    let each = |group: &weft_catalogue::GpuGroup| {
        let model = group.model.as_deref().expect("a catalogue system names its GPUs");
        let gpu = Catalogue::embedded().gpu(model).unwrap();
        let links = gpu.fabric.as_ref().map_or(0, |fabric| fabric.count.value);
        vec![links; usize::from(group.count)]
    };
    system.gpus.iter().flat_map(each).collect()
}

#[test]
fn every_system_says_where_it_comes_from() {
    for system in systems() {
        let source = system.source.as_deref().unwrap_or_default();
        assert!(Catalogue::embedded().sources.contains_key(source), "{}: no source `{source}`", system.name);
        assert!(system.grade.is_some(), "{}: no grade", system.name);
        assert!(system.year.is_some(), "{}: no year", system.name);
    }
}

#[test]
fn every_model_exists() {
    let catalogue = Catalogue::embedded();
    let mut missing = BTreeSet::new();
    for system in systems() {
        let mut need = |what: String, found: bool| {
            if !found {
                missing.insert(format!("{}: {what}", system.name));
            }
        };
        for group in &system.gpus {
            let model = group.model.as_deref().unwrap_or_default();
            need(format!("GPU {model}"), catalogue.gpus.iter().any(|gpu| gpu.name == model));
        }
        for group in &system.nics {
            let model = group.model.as_deref().unwrap_or_default();
            let nic = catalogue.nics.iter().find(|nic| nic.name == model);
            need(format!("NIC {model}"), nic.is_some());
            if let (Some(nic), Some(link)) = (nic, &group.link) {
                need(format!("{model} with {link}"), nic.links.contains(link));
            }
        }
        if let Some(cpu) = &system.host.cpu {
            need(format!("CPU {cpu}"), catalogue.cpus.iter().any(|known| known.name == *cpu));
        }
        let fabric = system.fabric.iter().filter_map(|fabric| fabric.switch.as_ref());
        let pcie = system.pcie.iter().filter_map(|branch| branch.switch.as_ref());
        for switch in fabric.chain(pcie).filter(|switch| *switch != "any") {
            need(format!("switch {switch}"), catalogue.switches.iter().any(|known| known.name == *switch));
        }
        for link in system.pcie.iter().flat_map(|branch| [&branch.link, &branch.device_link]).flatten() {
            need(format!("link {link}"), catalogue.links.iter().any(|known| known.name == *link));
        }
    }
    assert!(missing.is_empty(), "not in the catalogue: {missing:#?}");
}

#[test]
fn every_device_is_in_range_and_in_at_most_one_branch() {
    for system in systems() {
        let (mut gpus, mut nics) = (BTreeSet::new(), BTreeSet::new());
        for branch in &system.pcie {
            for gpu in &branch.gpus {
                assert!(*gpu < gpu_count(system), "{}: no GPU {gpu}", system.name);
                assert!(gpus.insert(*gpu), "{}: GPU {gpu} stands in two branches", system.name);
            }
            for nic in &branch.nics {
                assert!(*nic < nic_count(system), "{}: no NIC {nic}", system.name);
                assert!(nics.insert(*nic), "{}: NIC {nic} stands in two branches", system.name);
            }
            assert!(branch.socket < system.host.sockets, "{}: no socket {}", system.name, branch.socket);
        }
        for gpu in system.bridges.iter().flat_map(|bridge| &bridge.gpus) {
            assert!(*gpu < gpu_count(system), "{}: no GPU {gpu} to bridge", system.name);
        }
    }
}

#[test]
fn branches_hang_off_earlier_ones_that_have_a_switch() {
    for system in systems() {
        let mut named: Vec<&str> = Vec::new();
        for branch in &system.pcie {
            if let Some(under) = &branch.under {
                assert!(named.contains(&under.as_str()), "{}: no branch `{under}` before", system.name);
            }
            if let Some(name) = &branch.name {
                assert!(!named.contains(&name.as_str()), "{}: two branches `{name}`", system.name);
                assert!(branch.switch.is_some(), "{}: `{name}` is no switch", system.name);
                named.push(name);
            }
        }
    }
}

#[test]
fn no_mesh_uses_more_links_than_the_gpu_has() {
    for system in systems() {
        let Some(fabric) = &system.fabric else { continue };
        let has = links_of_gpus(system);
        let mut used = vec![0; has.len()];
        let mut pairs = BTreeSet::new();
        for link in &fabric.mesh {
            assert!(link.a < link.b && link.b < gpu_count(system), "{}: {link:?}", system.name);
            assert!(pairs.insert((link.a, link.b)), "{}: {link:?} stands twice", system.name);
            used[usize::from(link.a)] += link.links;
            used[usize::from(link.b)] += link.links;
        }
        for (gpu, (used, has)) in used.iter().zip(&has).enumerate() {
            assert!(used <= has, "{}: GPU {gpu} has {has} links, the mesh takes {used}", system.name);
        }
    }
}

/// 8 V100 with 6 links each use 24 links in all; 8 P100 with 4 use 16; four GPUs of a small HGX all of theirs.
#[test]
fn meshes_of_sxm_boards_leave_no_link_unused() {
    for name in ["dgx-1", "dgx-1-p100", "hgx-a100-4", "hgx-h100-4", "mi300x-8"] {
        let system = Catalogue::embedded().system(name).unwrap();
        let ends: u16 = mesh(system).values().sum::<u16>() * 2;
        assert_eq!(ends, links_of_gpus(system).iter().sum::<u16>(), "{name}");
    }
}

/// Links of all GPUs of a board must fit the ports of its switches, and every switch must be reached.
#[test]
fn switch_fabrics_connect_all_links() {
    for system in systems() {
        let Some(Fabric { switch: Some(switch), switches, boards, trunk_links, spans_hosts, links, .. }) =
            &system.fabric
        else {
            continue;
        };
        let ports = u32::from(Catalogue::embedded().switch(switch).unwrap().ports.value);
        let has = links_of_gpus(system);
        let most = has.iter().copied().max().unwrap_or(0);
        let each = links.unwrap_or(most);
        assert!(each <= most, "{}: {each} links of {most}", system.name);
        assert!(has.iter().all(|links| *links == most), "{}: GPUs differ in links", system.name);

        let boards = u32::from((*boards).max(1));
        let per_board = u32::from(*switches) / boards;
        assert_eq!(per_board * boards, u32::from(*switches), "{}: switches per board", system.name);
        assert!(u32::from(each) >= per_board, "{}: a switch without a link to each GPU", system.name);

        let hosts = if *spans_hosts { system.host.count } else { 1 };
        let gpus = u32::from(gpu_count(system)) * hosts / boards;
        let trunks = if boards > 1 { u32::from(*trunk_links) * per_board } else { 0 };
        let needed = gpus * u32::from(each) + trunks;
        assert!(needed <= per_board * ports, "{}: {needed} of {per_board} x {ports} ports", system.name);
    }
}

#[test]
fn spellings_are_unique() {
    let catalogue = Catalogue::embedded();
    let nics = catalogue.nics.iter().map(|nic| (&nic.name, &nic.title, &nic.aliases)).collect();
    let systems = systems().iter().map(|system| (&system.name, &system.title, &system.aliases)).collect();
    let lists: [Vec<(&String, &String, &Vec<String>)>; 2] = [nics, systems];
    for list in lists {
        let mut owners = BTreeMap::new();
        for (name, title, aliases) in list {
            for spelling in aliases.iter().chain([name, title]) {
                let owner = owners.insert(simplify(spelling), name);
                assert!(owner.is_none_or(|owner| owner == name), "`{spelling}` is {name} and {owner:?}");
            }
        }
    }
}

#[test]
fn nics_run_links_of_the_catalogue_the_fastest_first() {
    let catalogue = Catalogue::embedded();
    for nic in &catalogue.nics {
        let rates: Vec<_> = nic.links.iter().map(|link| catalogue.link(link).unwrap().rate(1)).collect();
        // FDR and EDR lane rates differ from their Ethernet cousins by a few per cent.
        let best = rates.iter().max().unwrap();
        assert!(rates[0].as_gigabytes() >= best.as_gigabytes() * 0.95, "{}: {rates:?}", nic.name);
        let pcie = catalogue.link(&nic.pcie.link).unwrap().rate(nic.pcie.count.value);
        let halves = nic.name == "connectx-7-gb10";
        assert!(pcie >= rates[0] || halves, "{}: port {} over PCIe {pcie}", nic.name, rates[0]);
    }
}

fn mesh(system: &Machine) -> BTreeMap<(u16, u16), u16> {
    let links = system.fabric.iter().flat_map(|fabric| &fabric.mesh);
    links.map(|link| ((link.a, link.b), link.links)).collect()
}

/// A matrix of `nvidia-smi topo -m`: names of the columns, and cells of the GPU rows.
struct Matrix {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Matrix {
    /// Reads a matrix of the corpus; `None`, with a word about it, where the corpus is not there.
    fn read(file: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/A");
        if !folder.is_dir() {
            println!("skipped: no {}", folder.display());
            return None;
        }
        #[expect(clippy::disallowed_methods, reason = "a test reads the corpus where there is one")]
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let mut lines = text.lines().filter(|line| line.contains("GPU0"));
        let columns = columns(lines.next().unwrap());
        let cells = |line: &str| -> Vec<String> {
            line.split_whitespace().skip(1).take(columns.len()).map(str::to_owned).collect()
        };
        let is_gpu_row = |line: &&str| {
            line.trim_start().starts_with("GPU") && line.split_whitespace().any(|cell| cell == "X")
        };
        let rows = text.lines().filter(is_gpu_row).map(cells).collect();
        Some(Self { columns, rows })
    }

    /// The NVLinks between each pair of GPUs.
    fn nvlinks(&self) -> BTreeMap<(u16, u16), u16> {
        let mut found = BTreeMap::new();
        for (a, row) in (0u16..).zip(&self.rows) {
            for (b, cell) in (0u16..).zip(row).take(self.rows.len()).filter(|(b, _)| *b > a) {
                if let Some(links) = cell.strip_prefix("NV").and_then(|links| links.parse().ok()) {
                    found.insert((a, b), links);
                }
            }
        }
        found
    }

    /// The GPUs and NICs that are PIX to each other, NICs by their place in the order of their names.
    fn shared_switches(&self) -> BTreeSet<(u16, u16)> {
        let mut nics: Vec<&String> = self.columns.iter().filter(|name| !name.starts_with("GPU")).collect();
        nics.sort_by_key(|name| (name.len(), (*name).clone()));
        let mut found = BTreeSet::new();
        for (gpu, row) in (0u16..).zip(&self.rows) {
            for (column, cell) in self.columns.iter().zip(row) {
                if let Some(nic) = nics.iter().position(|name| *name == column).filter(|_| cell == "PIX") {
                    found.insert((gpu, u16::try_from(nic).unwrap()));
                }
            }
        }
        found
    }
}

/// The device names of a header, glued together or not.
fn columns(header: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = header.split("CPU Affinity").next().unwrap_or_default();
    while let Some(start) = ["GPU", "NIC", "mlx5_"].iter().filter_map(|kind| rest.find(kind)).min() {
        let name = &rest[start..];
        let digits = name.find(|c: char| c.is_ascii_digit() && !name.starts_with("mlx5_"));
        let digits = digits.unwrap_or("mlx5_".len());
        let length = name[digits..].find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len() - digits);
        names.push(name[..digits + length].to_owned());
        rest = &name[digits + length..];
    }
    names
}

#[test]
fn glued_headers_are_taken_apart() {
    let names = columns("\t    GPU0GPU1mlx5_0\tmlx5_12  NIC3 CPU Affinity");
    assert_eq!(names, ["GPU0", "GPU1", "mlx5_0", "mlx5_12", "NIC3"]);
}

#[test]
fn meshes_are_those_of_real_machines() {
    let machines = [
        ("dgx-1-p100", "047-dgx1p-glued-header.txt"),
        ("dgx-1", "035-dgx1v-v100x8-4nic-unordered.txt"),
        ("azure-nd-v2", "037-v100x8-no-nic-gpunuma.txt"),
        ("aws-p3dn", "038-v100x8-vm-16cpu.txt"),
        ("power9-ac922", "041-power9-4xv100-nv3.txt"),
    ];
    for (name, file) in machines {
        let Some(matrix) = Matrix::read(file) else { continue };
        let system = Catalogue::embedded().system(name).unwrap();
        assert_eq!(matrix.rows.len(), usize::from(gpu_count(system)), "{name}");
        assert_eq!(matrix.nvlinks(), mesh(system), "{name} against {file}");
    }
}

#[test]
fn nics_sit_beside_the_gpus_that_real_machines_have_there() {
    let machines = [
        ("dgx-1-p100", "047-dgx1p-glued-header.txt"),
        ("dgx-1", "035-dgx1v-v100x8-4nic-unordered.txt"),
        ("hgx-h200-8", "016-h200x8-8nic-pix.txt"),
        ("gcp-a4", "065-gke-ite-content-docs-user-gke-rdma.txt"),
    ];
    for (name, file) in machines {
        let Some(matrix) = Matrix::read(file) else { continue };
        let system = Catalogue::embedded().system(name).unwrap();
        let pairs = |branch: &Branch| -> Vec<(u16, u16)> {
            branch.gpus.iter().flat_map(|gpu| branch.nics.iter().map(|nic| (*gpu, *nic))).collect()
        };
        let with_switch = system.pcie.iter().filter(|branch| branch.switch.is_some());
        let ours: BTreeSet<(u16, u16)> = with_switch.flat_map(pairs).collect();
        assert_eq!(matrix.shared_switches(), ours, "{name} against {file}");
    }
}
