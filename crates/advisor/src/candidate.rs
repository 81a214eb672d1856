//! What could be bought: systems of the catalogue and servers of cards, with each network that their NICs can run; and
//! why the others are left out.

use weft_base::{FailureRate, Money, Power};
use weft_catalogue::{Catalogue, Form, Gpu, LinkKind, Machine, Network, NetworkDesign, Switch, SwitchKind};
use weft_topology::NetworkCounts;

/// What the user asks for and allows.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// How many GPUs.
    pub gpus: u32,
    /// GPU models that can be had, by name; empty for all.
    pub models: Vec<String>,
    /// Makers of GPUs; empty for all.
    pub vendors: Vec<String>,
    /// The most that it may cost.
    pub budget: Option<Money>,
    /// The most that it may draw.
    pub power: Option<Power>,
    /// How often a job dies of its own software; needed where small ones are to have a goodput.
    pub software: Option<FailureRate>,
    /// Whether the network is to be Ethernet.
    pub ethernet_only: bool,
}

/// One system that could be bought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// A short name, unique among candidates: `hgx-h100-8/infiniband-ndr/rail-optimized`.
    pub name: String,
    /// The system of the catalogue that a host is.
    pub system: String,
    /// Whether a host is sold so, rather than with other cards.
    pub is_as_sold: bool,
    /// The GPU model.
    pub gpu: String,
    /// GPUs of one host.
    pub gpus_per_host: u16,
    /// Hosts.
    pub hosts: u32,
    /// GPUs that were asked for: all, or fewer where only whole systems are sold.
    pub asked_gpus: u32,
    /// NICs of one host that the network joins.
    pub rails: u16,
    /// Bridges in one host.
    pub bridges: u16,
    /// One host.
    pub machine: Machine,
    /// What joins the hosts; nothing for one.
    pub network: Option<Network>,
}

/// A system that is no candidate, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// The system or candidate.
    pub name: String,
    /// Why, in a sentence without a full stop.
    pub reason: String,
}

/// Servers whose cards can be changed.
const CARD_SERVERS: [(&str, &str); 2] = [("pcie4", "pcie4-8gpu-dual-root"), ("pcie5", "pcie5-8gpu-direct")];
/// Systems that are rented, by how their names begin.
const RENTED: [&str; 4] = ["aws-", "azure-", "gcp-", "oci-"];

impl Candidate {
    /// The link kind of the network's ports.
    pub fn link<'c>(&self, catalogue: &'c Catalogue) -> Option<&'c LinkKind> {
        let group = self.machine.nics.first()?;
        let nic = group.model.as_deref().and_then(|name| catalogue.nic(name).ok());
        let name =
            group.link.as_deref().or_else(|| nic.and_then(|nic| nic.links.first()).map(String::as_str))?;
        catalogue.link(name).ok()
    }

    /// All GPUs.
    pub fn gpus(&self) -> u32 {
        self.hosts * u32::from(self.gpus_per_host)
    }

    /// The host in words.
    pub fn title(&self, catalogue: &Catalogue) -> String {
        let system =
            catalogue.system(&self.system).map_or(self.system.as_str(), |system| system.title.as_str());
        if self.is_as_sold { system.to_owned() } else { format!("{system}, with other cards") }
    }

    /// The cluster as a machine of `hosts` hosts.
    pub fn cluster(&self, hosts: u32) -> Machine {
        let mut machine = self.machine.clone();
        machine.host.count = hosts;
        machine.network = self.network.clone().filter(|_| hosts > 1);
        machine
    }
}

/// All candidates, and what is none.
pub fn candidates(constraints: &Constraints, catalogue: &Catalogue) -> (Vec<Candidate>, Vec<Excluded>) {
    let (mut found, mut excluded) = (Vec::new(), Vec::new());
    let allowed = |gpu: &Gpu| allowed(gpu, constraints);
    for system in &catalogue.systems {
        let out = |reason: String| Excluded { name: system.name.clone(), reason };
        match host(system, catalogue).and_then(|gpu| allowed(gpu).map(|()| gpu)) {
            Err(reason) => excluded.push(out(reason)),
            Ok(gpu) => variants(system, gpu, true, constraints, catalogue, &mut found, &mut excluded),
        }
    }
    for gpu in catalogue.gpus.iter().filter(|gpu| gpu.form == Form::Card) {
        let in_system = |found: &Candidate| found.gpu == gpu.name;
        // Cards that nobody named are left alone: there are a hundred.
        if constraints.models.is_empty() || allowed(gpu).is_err() || found.iter().any(in_system) {
            continue;
        }
        let Some(server) = card_server(gpu, catalogue) else {
            let reason = "no server of the catalogue has slots of its generation".to_owned();
            excluded.push(Excluded { name: gpu.name.clone(), reason });
            continue;
        };
        let mut machine = server.clone();
        machine.gpus.iter_mut().for_each(|group| group.model = Some(gpu.name.clone()));
        variants(&machine, gpu, false, constraints, catalogue, &mut found, &mut excluded);
    }
    (found, excluded)
}

/// The one model of GPU of a system that can be bought; or why it cannot.
fn host<'c>(system: &Machine, catalogue: &'c Catalogue) -> Result<&'c Gpu, String> {
    if RENTED.iter().any(|prefix| system.name.starts_with(prefix)) {
        return Err("is rented, not bought".to_owned());
    }
    if system.name.starts_with("desktop-") || system.name == "dgx-spark" {
        return Err("is a workstation".to_owned());
    }
    let model = system.gpus.first().and_then(|group| group.model.as_deref()).ok_or("has no known GPU")?;
    catalogue.gpu(model).map_err(|error| error.to_string())
}

fn allowed(gpu: &Gpu, constraints: &Constraints) -> Result<(), String> {
    if !constraints.models.is_empty() && !constraints.models.contains(&gpu.name) {
        return Err("has a GPU that is not among the models that can be had".to_owned());
    }
    if !constraints.vendors.is_empty() && !constraints.vendors.contains(&gpu.vendor) {
        return Err(format!("has GPUs of {}, which is not among the makers allowed", gpu.vendor));
    }
    Ok(())
}

fn card_server<'c>(gpu: &Gpu, catalogue: &'c Catalogue) -> Option<&'c Machine> {
    let wanted = match gpu.pcie.as_ref()?.link.as_str() {
        "pcie5" | "pcie6" => "pcie5",
        _ => "pcie4",
    };
    let name = CARD_SERVERS.iter().find(|(link, _)| *link == wanted)?.1;
    catalogue.system(name).ok()
}

/// A host with each network, and with and without bridges.
fn variants(
    system: &Machine,
    gpu: &Gpu,
    is_as_sold: bool,
    constraints: &Constraints,
    catalogue: &Catalogue,
    found: &mut Vec<Candidate>,
    excluded: &mut Vec<Excluded>,
) {
    let gpus_per_host: u16 = system.gpus.iter().map(|group| group.count).sum();
    let label = if is_as_sold { system.name.clone() } else { format!("{}({})", system.name, gpu.name) };
    let hosts_in_system = system.host.count.max(1);
    let hosts = constraints.gpus.div_ceil(u32::from(gpus_per_host.max(1))).div_ceil(hosts_in_system)
        * hosts_in_system;
    let base = Candidate {
        name: label.clone(),
        system: system.name.clone(),
        is_as_sold,
        gpu: gpu.name.clone(),
        gpus_per_host,
        hosts,
        asked_gpus: constraints.gpus,
        rails: system.nics.first().map_or(0, |group| group.count),
        bridges: 0,
        machine: Machine { host: weft_catalogue::Host { count: 1, ..system.host.clone() }, ..system.clone() },
        network: None,
    };
    if let Some(reason) = too_few_lanes(&base.machine, gpu, catalogue) {
        excluded.push(Excluded { name: label, reason });
        return;
    }
    for mut one in bridged(&base, gpu) {
        if hosts == 1 {
            one.name.push_str("/alone");
            found.push(one);
            continue;
        }
        match networks(&one, constraints, catalogue) {
            Err(reason) => excluded.push(Excluded { name: one.name, reason }),
            Ok(networks) => found.extend(networks),
        }
    }
}

/// As it is, and with a bridge on each two cards where there is such a bridge.
fn bridged(base: &Candidate, gpu: &Gpu) -> Vec<Candidate> {
    let mut all = vec![base.clone()];
    let joins = gpu.bridges.iter().any(|bridge| bridge.carries_data && bridge.cards >= 2);
    if gpu.form == Form::Card && joins && base.machine.bridges.is_empty() && base.gpus_per_host >= 2 {
        let pairs = base.gpus_per_host / 2;
        let pair = |pair: u16| weft_catalogue::BridgeUse {
            kind: "nvlink-bridge".to_owned(),
            gpus: vec![2 * pair, 2 * pair + 1],
            links: None,
        };
        let mut with = base.clone();
        with.name.push_str("+bridges");
        with.bridges = pairs;
        with.machine.bridges = (0..pairs).map(pair).collect();
        all.push(with);
    }
    all
}

/// Lanes of the CPUs against those of cards and NICs, where no PCIe switch multiplies them.
fn too_few_lanes(machine: &Machine, gpu: &Gpu, catalogue: &Catalogue) -> Option<String> {
    let cpu = machine.host.cpu.as_deref().and_then(|name| catalogue.cpu(name).ok())?;
    // A switch multiplies lanes, and a coherent link to its CPU leaves a GPU's unused.
    if gpu.coherent.is_some() || machine.pcie.iter().any(|branch| branch.switch.is_some()) {
        return None;
    }
    let lanes = u32::from(cpu.pcie.count.value) * u32::from(machine.host.sockets);
    let card = u32::from(gpu.pcie.as_ref()?.count.value);
    let cards = u32::from(machine.gpus.iter().map(|group| group.count).sum::<u16>());
    let nic = |group: &weft_catalogue::NicGroup| {
        let model = group.model.as_deref().and_then(|name| catalogue.nic(name).ok());
        u32::from(group.count) * model.map_or(0, |nic| u32::from(nic.pcie.count.value))
    };
    let needed = card * cards + machine.nics.iter().map(nic).sum::<u32>();
    (needed > lanes).then(|| {
        format!("{cards} cards of x{card} and the NICs take {needed} lanes, and the CPUs have {lanes}")
    })
}

/// The networks that the NICs can run.
fn networks(
    base: &Candidate,
    constraints: &Constraints,
    catalogue: &Catalogue,
) -> Result<Vec<Candidate>, String> {
    let group = base.machine.nics.first().ok_or("has no NICs to join several hosts by")?;
    let nic = group
        .model
        .as_deref()
        .and_then(|name| catalogue.nic(name).ok())
        .ok_or("has NICs of unknown model")?;
    let mut all = Vec::new();
    for link in links(nic, constraints.ethernet_only, catalogue) {
        let Some((switch, radix)) = switch_for(link, &nic.vendor, catalogue) else { continue };
        for (word, design, oversubscription) in DESIGNS {
            let network = Network {
                switch: Some(switch.name.clone()),
                oversubscription,
                ..Network::new(design, radix)
            };
            // One switch is one switch, whatever the design would do with more.
            let counts = weft_topology::network_counts(&network, base.hosts, base.rails);
            let is_new = |counts: &NetworkCounts| counts.all_switches() > 1 || oversubscription == 1;
            if !counts.is_ok_and(|counts| is_new(&counts)) {
                continue;
            }
            let mut one = base.clone();
            one.name = format!("{}/{}/{word}", base.name, link.name);
            one.machine.nics[0].link = Some(link.name.clone());
            one.network = Some(network);
            all.push(one);
        }
    }
    if all.is_empty() {
        let what = if constraints.ethernet_only { "Ethernet" } else { "a network" };
        return Err(format!("no switch of the catalogue joins its {} by {what}", nic.title));
    }
    Ok(all)
}

/// Designs that are compared, with what is oversubscribed at the leaves.
const DESIGNS: [(&str, NetworkDesign, u16); 3] = [
    ("rail-optimized", NetworkDesign::RailOptimized, 1),
    ("rail-only", NetworkDesign::RailOnly, 1),
    ("oversubscribed-3", NetworkDesign::RailOptimized, 3),
];

/// The fastest InfiniBand, RoCE and TCP that a NIC runs.
fn links<'c>(nic: &weft_catalogue::Nic, ethernet_only: bool, catalogue: &'c Catalogue) -> Vec<&'c LinkKind> {
    let fastest = |prefix: &str| {
        let own = nic.links.iter().filter(|name| name.starts_with(prefix));
        own.filter_map(|name| catalogue.link(name).ok()).max_by_key(|link| link.rate(1))
    };
    let families: &[&str] =
        if ethernet_only { &["roce-", "tcp-"] } else { &["infiniband-", "roce-", "tcp-"] };
    families.iter().filter_map(|prefix| fastest(prefix)).collect()
}

/// A network switch for that link and its ports at that rate: one with a price, else of the NICs' maker, else the largest.
fn switch_for<'c>(link: &LinkKind, maker: &str, catalogue: &'c Catalogue) -> Option<(&'c Switch, u16)> {
    let is_infiniband = link.name.starts_with("infiniband");
    let ports = |switch: &Switch| -> Option<u16> {
        let own = catalogue.link(&switch.link).ok()?;
        let fits = if is_infiniband { own.name == link.name } else { own.name.starts_with("ethernet") };
        // Rates are rounded by their makers: 400G of 8 lanes of 50 and of 4 of 100.
        let split = (own.rate(1).get() + link.rate(1).get() / 10) / link.rate(1).get().max(1);
        let split = u16::try_from(split)
            .ok()
            .filter(|split| *split >= 1 && fits && switch.kind == SwitchKind::Network)?;
        Some(switch.ports.value * split.min(2))
    };
    let all = catalogue.switches.iter().filter_map(|switch| Some((switch, ports(switch)?)));
    all.max_by_key(|(switch, ports)| {
        let priced = catalogue.price(&switch.name).is_ok();
        (priced, switch.vendor == maker, *ports, std::cmp::Reverse(&switch.name))
    })
}
