//! The machine behind a published row: what its words say, and what is usual where they say nothing.

use weft_catalogue::{
    Branch, BridgeUse, Catalogue, Fabric, Form, Gpu, GpuGroup, Host, Machine, MeshLink, Network,
    NetworkDesign, NicGroup,
};

use super::interconnect::{self, Family, Words};
use super::platform::{self, Nics};
use super::{Measurement, Nodes};

/// Hosts of a cluster of which only that it has several is said: on two, trees behave as on no other number.
const SEVERAL: u16 = 4;
/// GPUs of a host where nothing is said.
const USUAL_GPUS: u16 = 8;
/// GPUs of boards that join each pair alike: of V100, half of the cube mesh is another board.
const SMALL_BOARD: u16 = 4;
/// GPUs behind one PCIe switch where only PCIe is said.
const PER_SWITCH: u16 = 4;
/// The switch above those.
const ROOT: &str = "root";
/// Ports of the network's switches; they are never what limits.
const RADIX: u16 = 64;

/// Describes the machine that `row` ran on; the error names the field that is missing or unknown.
pub(crate) fn of(row: &Measurement, catalogue: &Catalogue) -> Result<Machine, String> {
    let words = interconnect::read(&row.inter_link);
    let ties = Ties::read(row);
    let gpu = gpu(row, words.as_ref(), &ties, catalogue)?;
    let Some(gpu) = gpu else { return unnamed(row, &ties) };
    let (hosts, per_host) = shape(row, gpu, words.is_some(), catalogue)?;
    let joined = hosts > 1 && (words.is_some() || !spans_hosts(gpu, per_host, catalogue));
    let nics = joined.then(|| {
        platform::nics(&words.unwrap_or_default(), &gpu.architecture, per_host, Some(gpu), catalogue)
    });
    let class = platform::of(gpu, per_host, nics.as_ref(), catalogue);
    let mut machine = Machine {
        name: row.system.clone(),
        host: Host { cpu: None, sockets: usual_sockets(gpu, per_host), count: hosts.into() },
        gpus: vec![GpuGroup { model: Some(gpu.name.clone()), count: per_host }],
        ..Machine::default()
    };
    if let Some(class) = class {
        adopt(&mut machine, class, per_host);
    }
    tie(&mut machine, &ties, gpu, class, per_host);
    if let Some(nics) = &nics {
        add_nics(&mut machine, nics, class, gpu.year, catalogue)?;
        machine.network = Some(network(nics.count));
    }
    Ok(machine)
}

/// What is said of the ties within a server.
struct Ties {
    is_pcie: bool,
    /// Generation of PCI Express.
    pcie: Option<u16>,
    /// Lanes of the slots, where fewer than 16.
    lanes: Option<u16>,
    nvlink: Option<u16>,
    bridged: bool,
    mesh: bool,
    /// The hybrid cube mesh of eight GPUs, of which these are the first.
    cube: bool,
}

impl Ties {
    fn read(row: &Measurement) -> Self {
        let text = format!("{} {}", row.intra_link, row.system).to_lowercase();
        // A server's name may say `over PCIe`; what ties its GPUs stands in `intra_link`.
        let link = row.intra_link.to_lowercase();
        let tokens = interconnect::tokens(&link);
        Self {
            is_pcie: link.contains("pcie"),
            pcie: generation(&tokens, "pcie"),
            lanes: lanes(&tokens),
            nvlink: generation(&tokens, "nvlink"),
            bridged: link.contains("bridge") || link.contains("pair"),
            mesh: link.contains("mesh"),
            cube: ["cube mesh", "cube-mesh", "dgx-1"].into_iter().any(|word| text.contains(word)),
        }
    }

    fn is_pcie_only(&self) -> bool {
        self.is_pcie && self.nvlink.is_none() && !self.bridged
    }
}

/// `pcie4`, `pcie gen4`, `pcie 4.0`: 4.
fn generation(tokens: &[&str], name: &str) -> Option<u16> {
    let at = tokens.iter().position(|token| token.starts_with(name))?;
    let glued = tokens[at].strip_prefix(name).and_then(|rest| rest.parse().ok());
    let next = tokens.get(at + 1).copied().unwrap_or_default();
    let next = next.trim_start_matches("gen");
    let apart = next.split('.').next().and_then(|number| number.parse().ok());
    let after_gen = tokens.get(at + 2).filter(|_| next.is_empty()).and_then(|number| number.parse().ok());
    glued.or(apart).or(after_gen).filter(|generation| (1..=9).contains(generation))
}

/// `pcie4 x8`: 8.
fn lanes(tokens: &[&str]) -> Option<u16> {
    let pair = tokens.windows(2).find(|pair| pair[0] == "x")?;
    pair[1].parse().ok().filter(|lanes| matches!(lanes, 1 | 2 | 4 | 8))
}

/// The GPU that the words describe; `None` where they say no more than PCIe.
fn gpu<'c>(
    row: &Measurement,
    words: Option<&Words>,
    ties: &Ties,
    catalogue: &'c Catalogue,
) -> Result<Option<&'c Gpu>, String> {
    if !row.gpu.is_empty() {
        let gpu = named(&row.gpu, catalogue)?;
        let as_card = (ties.is_pcie_only() || ties.bridged) && gpu.form == Form::Sxm;
        let card =
            || named(&format!("{} PCIe", row.gpu), catalogue).ok().filter(|card| card.form == Form::Card);
        return Ok(Some(if as_card { card().unwrap_or(gpu) } else { gpu }));
    }
    let of_nvlink = |generation: u16| match generation {
        1 => "p100-sxm2-16gb",
        2 => "v100-sxm2-32gb",
        3 => "a100-sxm4-80gb",
        4 => "h100-sxm5-80gb",
        _ => "b200-sxm",
    };
    let of_rate = |rate_gbit: u32| match rate_gbit {
        ..=100 => "v100-sxm2-32gb",
        101..=200 => "a100-sxm4-80gb",
        201..=400 => "h100-sxm5-80gb",
        _ => "b300-sxm",
    };
    let of_network = words.and_then(|words| words.rate_gbit).map(|(rate, _)| of_rate(rate));
    let model = match ties.nvlink {
        Some(generation) => of_nvlink(generation),
        None if ties.is_pcie => return Ok(None),
        None => {
            of_network.ok_or("gpu is empty, and neither intra_link nor inter_link tells its generation")?
        }
    };
    catalogue.gpu(model).map(Some).map_err(|missing| missing.to_string())
}

/// The GPU under the longest run of leading words that names one: `H100 class (not stated)`.
fn named<'c>(text: &str, catalogue: &'c Catalogue) -> Result<&'c Gpu, String> {
    let whole = catalogue.gpu(text);
    let (outside, suffix) = match (text.find('('), text.rfind(')')) {
        (Some(open), Some(close)) if open < close => (&text[..open], &text[close + 1..]),
        _ => (text, ""),
    };
    let words: Vec<&str> = outside.split_whitespace().chain(suffix.split_whitespace()).collect();
    let shorter = (1..=words.len()).rev().find_map(|count| catalogue.gpu(&words[..count].join(" ")).ok());
    whole.or_else(|missing| shorter.ok_or(missing)).map_err(|missing| format!("gpu: {missing}"))
}

/// Hosts, and GPUs of each.
fn shape(row: &Measurement, gpu: &Gpu, networked: bool, catalogue: &Catalogue) -> Result<(u16, u16), String> {
    let board = platform::of(gpu, 1, None, catalogue).map_or(USUAL_GPUS, platform::gpus_of);
    // Where a fabric spans hosts, a host holds no more than its board.
    let fits = if spans_hosts(gpu, 1, catalogue) { board } else { u16::MAX };
    let hosts = match (row.nodes, row.gpus) {
        (Nodes::Count(0), _) => return Err("num_nodes is 0".to_owned()),
        (Nodes::Count(hosts), gpus) => hosts.max(gpus.map_or(1, |gpus| gpus.div_ceil(fits))),
        (Nodes::Several, Some(gpus)) if gpus >= 2 * USUAL_GPUS.min(fits) => {
            gpus.div_ceil(USUAL_GPUS.min(fits))
        }
        (Nodes::Several, gpus) => SEVERAL.min(gpus.unwrap_or(SEVERAL)).max(2),
        (Nodes::Unsaid, Some(gpus)) if gpus > fits => gpus.div_ceil(fits),
        (Nodes::Unsaid, gpus) if networked => gpus.map_or(SEVERAL, |gpus| gpus.div_ceil(USUAL_GPUS)).max(2),
        (Nodes::Unsaid, _) => 1,
    };
    let gpus = row.gpus.unwrap_or_else(|| hosts.saturating_mul(USUAL_GPUS.min(board)));
    if gpus < hosts {
        return Err(format!("num_gpus: {gpus} GPUs on {hosts} hosts"));
    }
    Ok((hosts, gpus.div_ceil(hosts)))
}

fn spans_hosts(gpu: &Gpu, per_host: u16, catalogue: &Catalogue) -> bool {
    let class = platform::of(gpu, per_host, None, catalogue);
    class.and_then(|class| class.fabric.as_ref()).is_some_and(|fabric| fabric.spans_hosts)
}

/// Servers of more than four data-center GPUs have two sockets; boards for GeForce cards have one.
fn usual_sockets(gpu: &Gpu, per_host: u16) -> u16 {
    if per_host > 4 && !gpu.family.starts_with("GeForce") { 2 } else { 1 }
}

/// CPU, PCIe tree and fabric of a class, for the first `per_host` of its GPUs.
fn adopt(machine: &mut Machine, class: &Machine, per_host: u16) {
    machine.host.cpu.clone_from(&class.host.cpu);
    machine.host.sockets = class.host.sockets;
    machine.pcie = class
        .pcie
        .iter()
        .map(|branch| Branch {
            gpus: branch.gpus.iter().copied().filter(|gpu| *gpu < per_host).collect(),
            nics: Vec::new(),
            ..branch.clone()
        })
        .collect();
    machine.fabric = class.fabric.clone().map(|fabric| Fabric {
        links: None,
        mesh: fabric.mesh.into_iter().filter(|link| link.a < per_host && link.b < per_host).collect(),
        ..fabric
    });
}

/// Applies what is said of the ties within a server.
fn tie(machine: &mut Machine, ties: &Ties, gpu: &Gpu, class: Option<&Machine>, per_host: u16) {
    let meshed = class.and_then(|class| class.fabric.as_ref()).is_some_and(|fabric| fabric.switch.is_none());
    let is_module = matches!(gpu.form, Form::Sxm | Form::Superchip | Form::Oam);
    if ties.bridged && !is_module {
        machine.bridges = pairs(per_host);
    } else if ties.is_pcie_only() {
        machine.fabric = None;
    } else if is_module && per_host > 1 && !ties.cube {
        let other_board = meshed && gpu.architecture == "volta" && per_host <= SMALL_BOARD;
        if ties.mesh || machine.fabric.is_none() || other_board {
            machine.fabric = Some(full_mesh(gpu, per_host));
        }
    }
    if machine.fabric.as_ref().is_some_and(|fabric| fabric.switch.is_none() && fabric.mesh.is_empty()) {
        machine.fabric = None;
    }
    if gpu.form == Form::Card {
        slots(machine, ties, gpu, per_host);
    }
}

/// Cards in slots that are slower or narrower than they are.
fn slots(machine: &mut Machine, ties: &Ties, gpu: &Gpu, per_host: u16) {
    let own = gpu.pcie.as_ref().map_or("", |pcie| pcie.link.as_str());
    let slot = ties.pcie.map(|generation| format!("pcie{generation}")).filter(|slot| slot.as_str() < own);
    if slot.is_none() && ties.lanes.is_none() {
        return;
    }
    let sockets = machine.host.sockets.max(1);
    let socket = |socket: u16| Branch {
        socket,
        device_link: slot.clone(),
        device_lanes: ties.lanes,
        gpus: (per_host * socket / sockets..per_host * (socket + 1) / sockets).collect(),
        ..Branch::default()
    };
    machine.pcie = (0..sockets).map(socket).collect();
}

/// GPUs 0-1, 2-3, … bridged; a last single one is not.
fn pairs(count: u16) -> Vec<BridgeUse> {
    let first = (0..count / 2).map(|pair| 2 * pair);
    first
        .map(|first| BridgeUse {
            kind: "nvlink-bridge".to_owned(),
            gpus: vec![first, first + 1],
            links: None,
        })
        .collect()
}

/// Every pair joined by as many links as a board of four or more leaves for it.
fn full_mesh(gpu: &Gpu, count: u16) -> Fabric {
    let others = count.max(SMALL_BOARD) - 1;
    let links = gpu.fabric.as_ref().map_or(1, |fabric| fabric.count.value / others);
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| MeshLink { a, b, links }));
    Fabric { mesh: pairs.filter(|link| link.links > 0).collect(), ..Fabric::default() }
}

/// Puts NICs where the class has its own: spread evenly over the switches that its GPUs hang off.
fn add_nics(
    machine: &mut Machine,
    nics: &Nics,
    class: Option<&Machine>,
    year: Option<u16>,
    catalogue: &Catalogue,
) -> Result<(), String> {
    let link = nics.family.link(nics.rate_gbit, nics.half);
    let link = link.filter(|link| catalogue.link(link).is_ok()).ok_or_else(|| {
        format!("inter_link: no {:?} link of {} Gb/s is in the catalogue", nics.family, nics.rate_gbit)
    })?;
    let model = model(&link, nics.family, class, year, catalogue)
        .ok_or_else(|| format!("inter_link: no NIC of the catalogue runs {link}"))?;
    machine.nics = vec![NicGroup { model: Some(model), count: nics.count, link: Some(link) }];
    let holds = |of: fn(&Branch) -> &Vec<u16>| -> Vec<usize> {
        let branches = class.map_or(&[][..], |class| &class.pcie);
        branches
            .iter()
            .enumerate()
            .filter(|(_, branch)| !of(branch).is_empty())
            .map(|(index, _)| index)
            .collect()
    };
    let mut places = holds(|branch| &branch.gpus);
    if places.is_empty() {
        places = holds(|branch| &branch.nics);
    }
    if places.is_empty() {
        let first = machine.pcie.len();
        let sockets = 0..machine.host.sockets.max(1);
        machine.pcie.extend(sockets.map(|socket| Branch { socket, ..Branch::default() }));
        places = (first..machine.pcie.len()).collect();
    }
    for nic in 0..nics.count {
        let place = usize::from(nic) * places.len() / usize::from(nics.count);
        machine.pcie[places[place]].nics.push(nic);
    }
    Ok(())
}

/// The NIC for a link kind: that of the class, else one made for it, of the GPU's time.
fn model(
    link: &str,
    family: Family,
    class: Option<&Machine>,
    year: Option<u16>,
    catalogue: &Catalogue,
) -> Option<String> {
    if family == Family::DirectTcp {
        return catalogue.nic("google-gvnic").ok().map(|nic| nic.name.clone());
    }
    let own = class.and_then(|class| class.nics.first()?.model.as_deref());
    let runs = |name: &str| catalogue.nic(name).is_ok_and(|nic| nic.links.iter().any(|known| known == link));
    if let Some(own) = own.filter(|own| runs(own)) {
        return Some(own.to_owned());
    }
    let made_for = |nic: &&weft_catalogue::Nic| {
        let age = nic.year.unwrap_or_default().abs_diff(year.unwrap_or_default());
        (nic.links.iter().position(|known| known == link), nic.ports.value, age)
    };
    let nics = catalogue.nics.iter().filter(|nic| nic.links.iter().any(|known| known == link));
    nics.min_by_key(made_for).map(|nic| nic.name.clone())
}

fn network(nics: u16) -> Network {
    let design = if nics > 1 { NetworkDesign::RailOptimized } else { NetworkDesign::FatTree };
    Network::new(design, RADIX)
}

/// A server of which only the PCI Express generation is said: fours of cards behind switches of one tree.
fn unnamed(row: &Measurement, ties: &Ties) -> Result<Machine, String> {
    if matches!(row.nodes, Nodes::Several | Nodes::Count(2..)) {
        return Err("gpu is empty, and several hosts are joined".to_owned());
    }
    let generation = ties.pcie.ok_or("gpu is empty")?;
    // What is sold with such a port, and allows peers.
    let model = match generation {
        ..=3 => "v100-pcie-32gb",
        4 => "a100-pcie-80gb",
        5 => "h100-pcie-80gb",
        _ => "b300-sxm",
    };
    let count = row.gpus.unwrap_or(USUAL_GPUS);
    let link = Some(format!("pcie{generation}"));
    let switch =
        Branch { switch: Some("any".to_owned()), link: link.clone(), device_link: link, ..Branch::default() };
    let leaves = (0..count.div_ceil(PER_SWITCH)).map(|leaf| Branch {
        under: (count > PER_SWITCH).then(|| ROOT.to_owned()),
        gpus: (leaf * PER_SWITCH..count.min((leaf + 1) * PER_SWITCH)).collect(),
        ..switch.clone()
    });
    let root = (count > PER_SWITCH).then(|| Branch { name: Some(ROOT.to_owned()), ..switch.clone() });
    let branches = root.into_iter().chain(leaves);
    Ok(Machine {
        name: row.system.clone(),
        gpus: vec![GpuGroup { model: Some(model.to_owned()), count }],
        pcie: branches.collect(),
        ..Machine::default()
    })
}

/// A machine in a few words: hosts, GPUs, what ties them, NICs.
pub(crate) fn describe(machine: &Machine) -> String {
    let gpus = machine
        .gpus
        .iter()
        .map(|group| format!("{} {}", group.count, group.model.as_deref().unwrap_or("unknown GPUs")));
    let mut text: String = gpus.collect::<Vec<_>>().join(" + ");
    if machine.host.count > 1 {
        text = format!("{} x {text}", machine.host.count);
    }
    let tie = match &machine.fabric {
        Some(Fabric { switch: Some(switch), switches, .. }) => format!("{switch}({switches})"),
        Some(_) => "mesh".to_owned(),
        None if machine.bridges.is_empty() => "pcie".to_owned(),
        None => "nvlink-bridge".to_owned(),
    };
    let nics = machine.nics.iter().map(|group| {
        let (model, link) = (group.model.as_deref().unwrap_or("NICs"), group.link.as_deref().unwrap_or(""));
        format!(" + {} {model} ({link})", group.count)
    });
    format!("{text} @ {tie}{}", nics.collect::<String>())
}

#[cfg(test)]
mod tests;
