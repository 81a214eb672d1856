//! From the parts of a one-liner to a machine.

use weft_base::{Diagnostic, nearest, simplify};
use weft_catalogue::{
    Branch, BridgeUse, Catalogue, Fabric, GpuGroup, Machine, MeshLink, Network, NetworkDesign, NicGroup,
    SwitchKind,
};

use super::token::Token;
use super::{IMPOSSIBLE, Item, NetworkAt, PlaceAt, SYNTAX, UNKNOWN_NAME, place_of};

const BRIDGES: [&str; 4] = ["nvlink-bridge", "sli", "sli-hb", "crossfire"];
/// Ports of a network switch where a one-liner names none: NVIDIA QM9700 and SN5600 class.
const USUAL_RADIX: u16 = 64;

/// The design that a word names.
pub(super) fn design(word: &str) -> Option<NetworkDesign> {
    match word {
        "rail-optimized" => Some(NetworkDesign::RailOptimized),
        "fat-tree" => Some(NetworkDesign::FatTree),
        "single" => Some(NetworkDesign::Single),
        _ => None,
    }
}

/// Whether a part can be attached to what `word` names.
pub(super) fn is_place(word: &str, catalogue: &Catalogue) -> bool {
    word == "mesh" || word == "pcie-switch" || slot(word).is_some() || catalogue.switch(word).is_ok()
}

pub(super) fn unknown_place(text: &str, name: &Token, catalogue: &Catalogue) -> Diagnostic {
    let usual = ["mesh", "pcie-switch", "pcie3x16", "pcie4x8", "pcie4x16", "pcie5x16"];
    let switches = catalogue.switches.iter().filter(|switch| switch.kind != SwitchKind::Network);
    let known = usual.into_iter().chain(switches.map(|switch| switch.name.as_str()));
    unknown(text, name, "place", &nearest(&name.text, known, 3))
}

/// `pcie4x8` to (`pcie4`, 8).
fn slot(word: &str) -> Option<(String, u16)> {
    let (generation, lanes) = word.strip_prefix("pcie")?.split_once('x')?;
    let (generation, lanes): (u16, u16) = (generation.parse().ok()?, lanes.parse().ok()?);
    ((1..=6).contains(&generation) && matches!(lanes, 1 | 2 | 4 | 8 | 16))
        .then(|| (format!("pcie{generation}"), lanes))
}

fn unknown(text: &str, name: &Token, kind: &str, near: &[&str]) -> Diagnostic {
    let named: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let hint = if named.is_empty() {
        "`weft show --list` prints all names of the catalogue".to_owned()
    } else {
        format!("did you mean {}?", named.join(" or "))
    };
    Diagnostic::error(UNKNOWN_NAME, format!("{kind} `{}` is not in the catalogue", name.text))
        .hint(hint)
        .at(place_of(text, name))
}

/// Builds the machine that the parts describe.
pub(super) fn machine(
    text: &str,
    hosts: u32,
    items: &[Item],
    network: Option<&NetworkAt>,
    catalogue: &Catalogue,
) -> Result<Machine, Diagnostic> {
    let mut draft = Draft { text, catalogue, machine: Machine::default(), sockets: None };
    let system = items.first().filter(|item| item.count == 1 && item.places.is_empty() && items.len() == 1);
    if let Some(system) = system.and_then(|item| catalogue.system(&item.name.text).ok()) {
        draft.machine = system.clone();
    } else {
        for item in items {
            draft.add(item)?;
        }
        draft.machine.host.sockets = draft.sockets.unwrap_or_else(|| draft.usual_sockets());
        for item in items {
            draft.attach(item)?;
        }
        draft.machine.name = text.to_owned();
        draft.machine.title = text.to_owned();
    }
    draft.machine.host.count = hosts * draft.machine.host.count.max(1);
    if let Some(network) = network {
        draft.machine.network = Some(draft.network(network)?);
    }
    Ok(draft.machine)
}

struct Draft<'a> {
    text: &'a str,
    catalogue: &'a Catalogue,
    machine: Machine,
    sockets: Option<u16>,
}

impl Draft<'_> {
    fn count(&self, item: &Item) -> Result<u16, Diagnostic> {
        u16::try_from(item.count).ok().filter(|count| *count <= 1024).ok_or_else(|| {
            Diagnostic::error(IMPOSSIBLE, format!("{} devices do not fit one server", item.count))
                .hint("for a cluster write `32 x dgx-h100`")
                .at(place_of(self.text, &item.name))
        })
    }

    /// Adds the devices of a part; bridges and places come when all devices are known.
    fn add(&mut self, item: &Item) -> Result<(), Diagnostic> {
        let (name, count) = (item.name.text.as_str(), self.count(item)?);
        if BRIDGES.contains(&name) {
            return Ok(());
        }
        if let Ok(gpu) = self.catalogue.gpu(name) {
            self.machine.gpus.push(GpuGroup { model: Some(gpu.name.clone()), count });
        } else if let Ok(nic) = self.catalogue.nic(name) {
            self.machine.nics.push(NicGroup { model: Some(nic.name.clone()), count, link: None });
        } else if let Ok(cpu) = self.catalogue.cpu(name) {
            self.machine.host.cpu = Some(cpu.name.clone());
            self.sockets = Some(count);
        } else {
            return Err(self.unknown_device(&item.name));
        }
        Ok(())
    }

    fn unknown_device(&self, name: &Token) -> Diagnostic {
        let catalogue = self.catalogue;
        let gpus = catalogue
            .gpus
            .iter()
            .flat_map(|gpu| std::iter::once(gpu.name.as_str()).chain(gpu.aliases.iter().map(String::as_str)));
        let nics = catalogue
            .nics
            .iter()
            .flat_map(|nic| std::iter::once(nic.name.as_str()).chain(nic.aliases.iter().map(String::as_str)));
        let others = catalogue.cpus.iter().map(|cpu| cpu.name.as_str()).chain(BRIDGES);
        let systems = catalogue.systems.iter().map(|system| system.name.as_str());
        let plain = |known: &&str| !known.contains(' ');
        let near = nearest(&name.text, gpus.chain(nics).chain(others).chain(systems).filter(plain), 3);
        let what = if near.is_empty() && simplify(&name.text).is_empty() { "name" } else { "device" };
        unknown(self.text, name, what, &near)
    }

    fn gpus(&self) -> u16 {
        self.machine.gpus.iter().map(|group| group.count).sum()
    }

    fn usual_sockets(&self) -> u16 {
        if self.gpus() > 4 { 2 } else { 1 }
    }

    /// Applies the places of a part to the devices that [`add`](Self::add) made of it.
    fn attach(&mut self, item: &Item) -> Result<(), Diagnostic> {
        if BRIDGES.contains(&item.name.text.as_str()) {
            let gpus = (0..self.gpus()).collect();
            self.machine.bridges.push(BridgeUse { kind: item.name.text.clone(), gpus, links: None });
            return Ok(());
        }
        let numbers = self.numbers(item)?;
        let Some((is_gpu, numbers)) = numbers else { return Ok(()) };
        let mut seated = false;
        for place in &item.places {
            seated |= self.place(place, is_gpu, &numbers)?;
        }
        if !seated {
            self.spread(is_gpu, &numbers, None);
        }
        Ok(())
    }

    /// Whether the part is of GPUs, and their numbers; `None` for CPUs.
    fn numbers(&self, item: &Item) -> Result<Option<(bool, Vec<u16>)>, Diagnostic> {
        let name = item.name.text.as_str();
        let range = |before: u16, count: u16| (before..before + count).collect();
        if let Ok(gpu) = self.catalogue.gpu(name) {
            let groups = &self.machine.gpus;
            let index =
                groups.iter().position(|group| group.model.as_deref() == Some(&gpu.name)).unwrap_or(0);
            let before = groups[..index].iter().map(|group| group.count).sum();
            return Ok(Some((true, range(before, self.count(item)?))));
        }
        if let Ok(nic) = self.catalogue.nic(name) {
            let groups = &self.machine.nics;
            let index =
                groups.iter().position(|group| group.model.as_deref() == Some(&nic.name)).unwrap_or(0);
            let before = groups[..index].iter().map(|group| group.count).sum();
            return Ok(Some((false, range(before, self.count(item)?))));
        }
        Ok(None)
    }

    /// Applies one place; says whether it was a PCIe seat.
    fn place(&mut self, place: &PlaceAt, is_gpu: bool, numbers: &[u16]) -> Result<bool, Diagnostic> {
        let word = place.name.text.as_str();
        if let Some((link, lanes)) = slot(word) {
            self.spread(is_gpu, numbers, Some((link, lanes)));
            return Ok(true);
        }
        if word == "mesh" {
            let links = place.argument.unwrap_or(1);
            let pairs =
                numbers.iter().flat_map(|a| numbers.iter().filter(move |b| a < b).map(move |b| (*a, *b)));
            let mesh = pairs.map(|(a, b)| MeshLink { a, b, links }).collect();
            self.machine.fabric = Some(Fabric { mesh, ..Fabric::default() });
            return Ok(false);
        }
        let switch = (word != "pcie-switch").then(|| self.catalogue.switch(word)).transpose();
        let switch = switch.map_err(|_| unknown_place(self.text, &place.name, self.catalogue))?;
        match switch.map_or(SwitchKind::Pcie, |switch| switch.kind) {
            SwitchKind::GpuFabric => {
                let switches = place.argument.unwrap_or(1);
                let switch = switch.map(|switch| switch.name.clone());
                self.machine.fabric = Some(Fabric { switch, switches, ..Fabric::default() });
                Ok(false)
            }
            SwitchKind::Pcie => {
                let name = switch.map_or_else(|| "any".to_owned(), |switch| switch.name.clone());
                self.behind_switches(&name, place.argument.unwrap_or(1), is_gpu, numbers);
                Ok(true)
            }
            SwitchKind::Network => Err(Diagnostic::error(
                SYNTAX,
                format!("`{word}` is a network switch; a device cannot be attached to it here"),
            )
            .hint("put the network behind the whole machine: `... @ fat-tree(switch NAME)`")
            .at(place_of(self.text, &place.name))),
        }
    }

    /// Root ports of their own, the devices spread evenly over the sockets.
    fn spread(&mut self, is_gpu: bool, numbers: &[u16], slot: Option<(String, u16)>) {
        let sockets = usize::from(self.machine.host.sockets.max(1));
        for (socket, chunk) in (0u16..).zip(numbers.chunks(numbers.len().div_ceil(sockets))) {
            let (device_link, device_lanes) = slot.clone().unzip();
            let mut branch = Branch { socket, device_link, device_lanes, ..Branch::default() };
            *devices(&mut branch, is_gpu) = chunk.to_vec();
            self.machine.pcie.push(branch);
        }
    }

    /// Behind `count` switches; a second part behind the same ones shares them.
    fn behind_switches(&mut self, switch: &str, count: u16, is_gpu: bool, numbers: &[u16]) {
        let sockets = self.machine.host.sockets.max(1);
        let chunk = numbers.len().div_ceil(usize::from(count.max(1)));
        for (index, members) in (0u16..).zip(numbers.chunks(chunk.max(1))) {
            let name = format!("{switch}-{index}");
            let known = self.machine.pcie.iter_mut().find(|branch| branch.name.as_ref() == Some(&name));
            if let Some(branch) = known {
                devices(branch, is_gpu).extend(members);
                continue;
            }
            let socket = index * sockets / count.max(1);
            let mut branch = Branch {
                name: Some(name),
                switch: Some(switch.to_owned()),
                socket: socket.min(sockets - 1),
                host_bridge: index,
                ..Branch::default()
            };
            *devices(&mut branch, is_gpu) = members.to_vec();
            self.machine.pcie.push(branch);
        }
    }

    fn network(&self, at: &NetworkAt) -> Result<Network, Diagnostic> {
        let design = design(&at.name.text).unwrap_or(NetworkDesign::FatTree);
        let mut network = Network { design, switch: None, radix: USUAL_RADIX, oversubscription: 1 };
        for (option, words) in &at.options {
            let wrong = |expected: &str| {
                let found = words.first().unwrap_or(option);
                Diagnostic::error(
                    SYNTAX,
                    format!("expected {expected} after `{}`, found `{}`", option.text, found.text),
                )
                .hint("for example `rail-optimized(leaf 64x400G, oversubscription 1:1)`")
                .at(place_of(self.text, found))
            };
            match (option.text.as_str(), words.first()) {
                ("leaf", Some(ports)) => {
                    let radix = ports.text.split('x').next().and_then(|ports| ports.parse().ok());
                    network.radix =
                        radix.filter(|radix| *radix >= 2).ok_or_else(|| wrong("ports, as in `64x400G`"))?;
                }
                ("oversubscription", Some(ratio)) => {
                    let share = ratio.text.strip_suffix(":1").and_then(|share| share.parse().ok());
                    network.oversubscription =
                        share.filter(|share| *share > 0).ok_or_else(|| wrong("a ratio, as in `2:1`"))?;
                }
                ("switch", Some(name)) => {
                    let switch = self.catalogue.switch(&name.text).map_err(|missing| {
                        let near: Vec<&str> = missing.near.iter().map(String::as_str).collect();
                        unknown(self.text, name, "switch", &near)
                    })?;
                    network.switch = Some(switch.name.clone());
                    network.radix = switch.ports.value;
                }
                _ => return Err(wrong("`leaf PORTS`, `oversubscription N:1` or `switch NAME`")),
            }
        }
        Ok(network)
    }
}

fn devices(branch: &mut Branch, is_gpu: bool) -> &mut Vec<u16> {
    if is_gpu { &mut branch.gpus } else { &mut branch.nics }
}
