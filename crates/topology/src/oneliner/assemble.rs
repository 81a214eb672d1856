//! From the parts of a one-liner to a machine.

use weft_base::{Diagnostic, nearest, simplify};
use weft_catalogue::{
    Branch, BridgeUse, Catalogue, Fabric, GpuGroup, Machine, MeshLink, NicGroup, SwitchKind,
};

use super::token::Token;
use super::{IMPOSSIBLE, Item, NetworkAt, PlaceAt, SYNTAX, UNKNOWN_NAME, network, place_of};
use crate::build::{BuildError, build};
use crate::draw::thousands;

const BRIDGES: [&str; 4] = ["nvlink-bridge", "sli", "sli-hb", "crossfire"];
/// Devices of one kind in one server; no server comes near.
const MOST_DEVICES: u32 = 1024;
/// Sockets of one server; every pair is joined.
const MOST_SOCKETS: u16 = 16;

/// Whether a part can be attached to what `word` names.
pub(super) fn is_place(word: &str, catalogue: &Catalogue) -> bool {
    word == "mesh" || word == "pcie-switch" || slot(word).is_some() || catalogue.switch(word).is_ok()
}

pub(super) fn unknown_place(text: &str, name: &Token, catalogue: &Catalogue) -> Diagnostic {
    let usual = ["mesh", "pcie-switch", "pcie3x16", "pcie4x8", "pcie4x16", "pcie5x16"];
    let switches = catalogue.switches.iter().filter(|switch| switch.kind != SwitchKind::Network);
    let networks = network::DESIGNS.iter().map(|(name, _)| *name);
    let known = usual.into_iter().chain(switches.map(|switch| switch.name.as_str())).chain(networks);
    unknown(text, name, "place", &nearest(&name.text, known, 3))
}

/// `pcie4x8` to (`pcie4`, 8).
fn slot(word: &str) -> Option<(String, u16)> {
    let (generation, lanes) = word.strip_prefix("pcie")?.split_once('x')?;
    let (generation, lanes): (u16, u16) = (generation.parse().ok()?, lanes.parse().ok()?);
    ((1..=6).contains(&generation) && matches!(lanes, 1 | 2 | 4 | 8 | 16))
        .then(|| (format!("pcie{generation}"), lanes))
}

pub(super) fn unknown(text: &str, name: &Token, kind: &str, near: &[&str]) -> Diagnostic {
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

pub(super) fn impossible(text: &str, token: &Token, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(IMPOSSIBLE, message).at(place_of(text, token))
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
    let alone = items.first().filter(|item| item.count == 1 && item.places.is_empty() && items.len() == 1);
    if let Some(system) = alone.and_then(|item| catalogue.system(&item.name.text).ok()) {
        draft.machine = system.clone();
        if hosts > 1 {
            draft.machine.title = format!("{} × {}", thousands(hosts as usize), draft.machine.title);
            text.clone_into(&mut draft.machine.name);
        }
    } else {
        let parts: Vec<Part> = items.iter().map(|item| draft.add(item)).collect::<Result<_, _>>()?;
        draft.seat_superchips();
        draft.machine.host.sockets = draft.sockets.unwrap_or_else(|| draft.usual_sockets());
        for (item, part) in items.iter().zip(&parts) {
            draft.attach(item, part)?;
        }
        text.clone_into(&mut draft.machine.name);
        text.clone_into(&mut draft.machine.title);
        draft.check(items)?;
    }
    draft.machine.host.count = hosts.saturating_mul(draft.machine.host.count.max(1));
    if let Some(at) = network {
        let network = network::network(text, at, &mut draft.machine, catalogue)?;
        draft.machine.network = Some(network);
    }
    Ok(draft.machine)
}

struct Draft<'a> {
    text: &'a str,
    catalogue: &'a Catalogue,
    machine: Machine,
    sockets: Option<u16>,
}

/// What a part turned out to be: the devices that it adds, by number.
enum Part {
    Gpus { numbers: Vec<u16>, coherent: bool },
    Nics { numbers: Vec<u16> },
    Cpus,
    Bridge,
}

impl Draft<'_> {
    /// Adds the devices of a part; bridges and places come when all devices are known.
    fn add(&mut self, item: &Item) -> Result<Part, Diagnostic> {
        let name = item.name.text.as_str();
        if BRIDGES.contains(&name) {
            return Ok(Part::Bridge);
        }
        if let Ok(gpu) = self.catalogue.gpu(name) {
            let numbers = self.numbers(item, self.gpus())?;
            self.machine.gpus.push(GpuGroup { model: Some(gpu.name.clone()), count: item_count(&numbers) });
            return Ok(Part::Gpus { numbers, coherent: gpu.coherent.is_some() });
        }
        if let Ok(nic) = self.catalogue.nic(name) {
            let before = self.machine.nics.iter().map(|group| group.count).sum();
            let numbers = self.numbers(item, before)?;
            let count = item_count(&numbers);
            self.machine.nics.push(NicGroup { model: Some(nic.name.clone()), count, link: None });
            return Ok(Part::Nics { numbers });
        }
        if let Ok(cpu) = self.catalogue.cpu(name) {
            let sockets = u16::try_from(item.count).ok().filter(|count| *count <= MOST_SOCKETS);
            self.machine.host.cpu = Some(cpu.name.clone());
            self.sockets = Some(sockets.ok_or_else(|| {
                impossible(self.text, &item.name, format!("{} CPUs do not fit one server", item.count))
            })?);
            return Ok(Part::Cpus);
        }
        Err(self.no_device(item))
    }

    /// Numbers for the devices of a part, after those `before` it.
    fn numbers(&self, item: &Item, before: u16) -> Result<Vec<u16>, Diagnostic> {
        let end = u32::from(before).saturating_add(item.count);
        match u16::try_from(end) {
            Ok(end) if u32::from(end) <= MOST_DEVICES => Ok((before..end).collect()),
            Ok(_) | Err(_) => {
                let message = format!("{end} devices do not fit one server");
                Err(impossible(self.text, &item.name, message).hint("for a cluster write `32 x dgx-h100`"))
            }
        }
    }

    /// Why a part is no device: it is a whole system, or nothing that is known.
    fn no_device(&self, item: &Item) -> Diagnostic {
        let (name, catalogue) = (&item.name, self.catalogue);
        if let Ok(system) = catalogue.system(&name.text) {
            let message = format!("`{}` is a whole server, not a part of one", name.text);
            let hint = if item.count > 1 {
                format!("for several servers write `{} x {}`", item.count, system.name)
            } else {
                format!("write `{}` alone, or name its parts instead", system.name)
            };
            return Diagnostic::error(SYNTAX, message).hint(hint).at(place_of(self.text, name));
        }
        let gpus = catalogue.gpus.iter().map(|gpu| (&gpu.name, &gpu.aliases));
        let nics = catalogue.nics.iter().map(|nic| (&nic.name, &nic.aliases));
        let devices = gpus.chain(nics).flat_map(|(name, aliases)| std::iter::once(name).chain(aliases));
        let others = catalogue.cpus.iter().map(|cpu| cpu.name.as_str()).chain(BRIDGES);
        let systems = catalogue.systems.iter().map(|system| system.name.as_str());
        let plain = |known: &&str| !known.contains(' ');
        let known = devices.map(String::as_str).chain(others).chain(systems).filter(plain);
        let near = nearest(&name.text, known, 3);
        let what = if near.is_empty() && simplify(&name.text).is_empty() { "name" } else { "device" };
        unknown(self.text, name, what, &near)
    }

    fn gpus(&self) -> u16 {
        self.machine.gpus.iter().map(|group| group.count).sum()
    }

    /// A superchip brings its own CPU: the one, and as many, as in a system of the catalogue with its kind.
    fn seat_superchips(&mut self) {
        let gpu = |model: &Option<String>| self.catalogue.gpu(model.as_deref()?).ok();
        let chips = self.machine.gpus.iter().filter_map(|group| gpu(&group.model));
        let Some(chip) = chips.into_iter().find(|chip| chip.coherent.is_some()) else { return };
        let of_kind = |system: &&Machine| {
            system
                .gpus
                .iter()
                .filter_map(|group| gpu(&group.model))
                .any(|other| other.coherent.is_some() && other.family == chip.family)
        };
        let Some(system) = self.catalogue.systems.iter().find(of_kind) else { return };
        if self.machine.host.cpu.is_none() {
            self.machine.host.cpu.clone_from(&system.host.cpu);
            let together: u16 = system.gpus.iter().map(|group| group.count).sum();
            let sockets = u32::from(self.gpus()) * u32::from(system.host.sockets.max(1));
            let sockets = sockets.div_ceil(u32::from(together.max(1)));
            self.sockets = u16::try_from(sockets).ok().filter(|sockets| *sockets <= MOST_SOCKETS);
        }
    }

    fn usual_sockets(&self) -> u16 {
        if self.gpus() > 4 { 2 } else { 1 }
    }

    /// Applies the places of a part to the devices that [`add`](Self::add) made of it.
    fn attach(&mut self, item: &Item, part: &Part) -> Result<(), Diagnostic> {
        let (numbers, is_gpu, coherent) = match part {
            Part::Gpus { numbers, coherent } => (numbers, true, *coherent),
            Part::Nics { numbers } => (numbers, false, false),
            Part::Bridge => {
                self.bridges(item)?;
                return self.no_places(item, "a bridge");
            }
            Part::Cpus => return self.no_places(item, "a CPU"),
        };
        let mut seated = false;
        for place in &item.places {
            seated |= self.place(place, is_gpu, numbers)?;
        }
        // A GPU with a coherent link hangs off its CPU unless a PCIe port is asked for.
        if !seated && !coherent {
            self.spread(is_gpu, numbers, None);
        }
        Ok(())
    }

    fn no_places(&self, item: &Item, what: &str) -> Result<(), Diagnostic> {
        let Some(place) = item.places.first() else { return Ok(()) };
        let message = format!("{what} is not attached to anything, but `{}` follows it", place.name.text);
        Err(Diagnostic::error(SYNTAX, message)
            .hint("put `@ ...` behind the GPUs or NICs that it is about")
            .at(place_of(self.text, &place.name)))
    }

    /// One bridge joins all GPUs; several split them evenly, neighbours together.
    fn bridges(&mut self, item: &Item) -> Result<(), Diagnostic> {
        let gpus: Vec<u16> = (0..self.gpus()).collect();
        if item.count as usize > gpus.len() {
            let message = format!("{} bridges for {} GPUs", item.count, gpus.len());
            return Err(impossible(self.text, &item.name, message));
        }
        for share in shares(&gpus, item.count as usize) {
            let kind = item.name.text.clone();
            self.machine.bridges.push(BridgeUse { kind, gpus: share.to_vec(), links: None });
        }
        Ok(())
    }

    /// Applies one place; says whether it was a PCIe seat.
    fn place(&mut self, place: &PlaceAt, is_gpu: bool, numbers: &[u16]) -> Result<bool, Diagnostic> {
        let word = place.name.text.as_str();
        if let Some(slot) = slot(word) {
            if place.argument.is_some() {
                let message = format!("`{word}` is a port of each device and takes no count");
                return Err(Diagnostic::error(SYNTAX, message).at(place_of(self.text, &place.name)));
            }
            self.spread(is_gpu, numbers, Some(&slot));
            return Ok(true);
        }
        let switch = (word != "pcie-switch" && word != "mesh")
            .then(|| self.catalogue.switch(word))
            .transpose()
            .map_err(|_| unknown_place(self.text, &place.name, self.catalogue))?;
        let kind = switch.map_or(SwitchKind::Pcie, |switch| switch.kind);
        if !is_gpu && (word == "mesh" || kind == SwitchKind::GpuFabric) {
            let message = format!("a NIC has no links for `{word}`");
            return Err(impossible(self.text, &place.name, message));
        }
        if word == "mesh" {
            self.mesh(place.argument.unwrap_or(1), numbers);
            return Ok(false);
        }
        let name = switch.map(|switch| switch.name.clone());
        match kind {
            SwitchKind::GpuFabric => {
                let fabric = self.machine.fabric.get_or_insert_default();
                if fabric.switch.is_some() && fabric.switch != name {
                    let message = "one server has switches of one kind between its GPUs";
                    return Err(impossible(self.text, &place.name, message));
                }
                (fabric.switch, fabric.switches) = (name, place.argument.unwrap_or(1));
                Ok(false)
            }
            SwitchKind::Pcie => {
                let name = name.unwrap_or_else(|| "any".to_owned());
                self.behind_switches(&name, place, is_gpu, numbers)?;
                Ok(true)
            }
            SwitchKind::Network => {
                let message = format!("`{word}` is a network switch; no device is attached to it here");
                Err(Diagnostic::error(SYNTAX, message)
                    .hint("put the network behind the whole machine: `... @ fat-tree(switch NAME)`")
                    .at(place_of(self.text, &place.name)))
            }
        }
    }

    fn mesh(&mut self, links: u16, numbers: &[u16]) {
        let pairs = numbers.iter().flat_map(|a| numbers.iter().filter(move |b| a < b).map(move |b| (*a, *b)));
        let fabric = self.machine.fabric.get_or_insert_with(Fabric::default);
        fabric.mesh.extend(pairs.map(|(a, b)| MeshLink { a, b, links }));
    }

    /// Root ports of their own, the devices spread evenly over the sockets.
    fn spread(&mut self, is_gpu: bool, numbers: &[u16], slot: Option<&(String, u16)>) {
        let sockets = usize::from(self.machine.host.sockets.max(1));
        for (socket, share) in (0u16..).zip(shares(numbers, sockets)).filter(|(_, share)| !share.is_empty()) {
            let (device_link, device_lanes) = slot.cloned().unzip();
            let mut branch = Branch { socket, device_link, device_lanes, ..Branch::default() };
            *devices(&mut branch, is_gpu) = share.to_vec();
            self.machine.pcie.push(branch);
        }
    }

    /// Behind so many switches; a second part behind the same ones shares them.
    fn behind_switches(
        &mut self,
        switch: &str,
        place: &PlaceAt,
        is_gpu: bool,
        numbers: &[u16],
    ) -> Result<(), Diagnostic> {
        let count = place.argument.unwrap_or(1);
        let sockets = self.machine.host.sockets.max(1);
        let known =
            self.machine.pcie.iter().filter(|branch| branch.switch.as_deref() == Some(switch)).count();
        if known != 0 && known != usize::from(count) {
            let message = format!("{count} switches here, but {known} of the same name before");
            return Err(impossible(self.text, &place.name, message)
                .hint("parts behind the same switches name the same count"));
        }
        if known == 0 && usize::from(count) > numbers.len() {
            let message = format!("{count} switches for {} devices", numbers.len());
            return Err(impossible(self.text, &place.name, message));
        }
        for (index, share) in (0u16..).zip(shares(numbers, usize::from(count))) {
            let name = format!("{switch}-{index}");
            let same = self.machine.pcie.iter_mut().find(|branch| branch.name.as_ref() == Some(&name));
            if let Some(branch) = same {
                devices(branch, is_gpu).extend(share);
                continue;
            }
            let mut branch = Branch {
                name: Some(name),
                switch: Some(switch.to_owned()),
                socket: index * sockets / count,
                host_bridge: index,
                ..Branch::default()
            };
            *devices(&mut branch, is_gpu) = share.to_vec();
            self.machine.pcie.push(branch);
        }
        Ok(())
    }

    /// Builds one such server, so that what the hardware refuses is refused here, at its column.
    fn check(&self, items: &[Item]) -> Result<(), Diagnostic> {
        let Err(error) = build(&self.machine, self.catalogue) else { return Ok(()) };
        let bridge = items.iter().map(|item| &item.name).find(|name| BRIDGES.contains(&name.text.as_str()));
        let fabric = items
            .iter()
            .flat_map(|item| &item.places)
            .map(|place| &place.name)
            .find(|name| name.text == "mesh" || self.catalogue.switch(&name.text).is_ok());
        let token = match &error {
            BuildError::NoBridge { .. } | BuildError::BridgeRule { .. } => bridge,
            BuildError::TooManyLinks { .. }
            | BuildError::NoFabric { .. }
            | BuildError::FabricKind { .. }
            | BuildError::SwitchPorts { .. } => fabric.or(bridge),
            BuildError::NotFound(_)
            | BuildError::NoSuchDevice { .. }
            | BuildError::TwoBranches { .. }
            | BuildError::NoSuchBranch { .. }
            | BuildError::NoSuchSocket { .. }
            | BuildError::Network { .. }
            | BuildError::TooLarge { .. } => None,
        };
        let finding = error.finding();
        let token = token.or(items.first().map(|item| &item.name));
        Err(token.map_or(finding.clone(), |token| finding.at(place_of(self.text, token))))
    }
}

/// As many devices as a part has; [`Draft::numbers`] has bounded them.
fn item_count(numbers: &[u16]) -> u16 {
    u16::try_from(numbers.len()).unwrap_or(u16::MAX)
}

/// `of` in `count` runs whose lengths differ by one at most, the longer ones first where they alternate.
fn shares<T>(of: &[T], count: usize) -> impl Iterator<Item = &[T]> {
    let start = move |index: usize| (index * of.len()).div_ceil(count.max(1));
    (0..count).map(move |index| &of[start(index)..start(index + 1)])
}

fn devices(branch: &mut Branch, is_gpu: bool) -> &mut Vec<u16> {
    if is_gpu { &mut branch.gpus } else { &mut branch.nics }
}
