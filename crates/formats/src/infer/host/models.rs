//! Which GPU, NIC and CPU: by PCI and CPU numbers, else by what else the input says, then as an assumption.

use weft_base::Rate;
use weft_catalogue::{Catalogue, CpuId, Gpu, LinkKind, Nic, NicGroup};
use weft_topology::Assumption;

use super::pick::{Picked, adapters, gpu, pci_id};
use crate::evidence::{Device, Host};
use crate::gpu_names::gpus_called;
use crate::infer::{fabric, guess};
use crate::join::Overrides;
use crate::pci::{Onboard, onboard};

/// Model of each GPU.
pub(super) fn gpus(
    host: &Host,
    picked: &Picked,
    overrides: &Overrides,
    catalogue: &Catalogue,
    assumed: &mut Vec<Assumption>,
) -> Vec<Option<String>> {
    let model = |index: &usize| {
        if let Some(given) = &overrides.gpu {
            return Some(given.clone());
        }
        let device = &host.devices[*index];
        let (found, why) = gpu_model(host, *index, device, catalogue)?;
        if let Some(why) = why {
            let assumption = Assumption::new("GPU", "model", &found.name, why);
            if !assumed.contains(&assumption) {
                assumed.push(assumption);
            }
        }
        Some(found.name.clone())
    };
    picked.gpus.iter().map(model).collect()
}

/// The model, and why it is assumed if it is.
fn gpu_model<'c>(
    host: &Host,
    index: usize,
    device: &Device,
    catalogue: &'c Catalogue,
) -> Option<(&'c Gpu, Option<String>)> {
    let links: u16 = host
        .gpu_links
        .iter()
        .filter(|link| link.gpu == index && link.family != "c2c")
        .fold(0, |sum, link| sum.saturating_add(link.count));
    if let Some(id) = pci_id(device) {
        let mut same: Vec<&Gpu> = catalogue.gpus_by_id(id).collect();
        // Of two that share a number, one may have too few links.
        same.sort_by_key(|gpu| fabric::links_of(gpu) < links);
        if let Some((first, others)) = same.split_first() {
            let others: Vec<&str> = others.iter().map(|gpu| gpu.name.as_str()).collect();
            let why = (!others.is_empty())
                .then(|| format!("PCI device {id} is also {}; say which with --gpu", others.join(", ")));
            return Some((first, why));
        }
    }
    let role = gpu(device);
    let named = [role.and_then(|gpu| gpu.model.as_deref()), device.name.as_deref()];
    let called: Vec<&Gpu> = named
        .into_iter()
        .flatten()
        .map(|name| gpus_called(name, catalogue))
        .find(|found| !found.is_empty())
        .unwrap_or_default();
    if let Some((first, others)) = called.split_first() {
        let others: Vec<&str> = others.iter().map(|gpu| gpu.name.as_str()).collect();
        let why = (!others.is_empty())
            .then(|| format!("the name is also that of {}; say which with --gpu", others.join(", ")));
        return Some((first, why));
    }
    let role = role?;
    let (name, says) = match (&role.gcn, role.sm) {
        (Some(gcn), sm) => (by_gcn(gcn, sm, links)?, format!("architecture {gcn}")),
        (None, Some(sm)) => {
            (by_capability(sm, links)?, format!("compute capability {sm} with {links} NVLinks"))
        }
        (None, None) => return None,
    };
    let found = catalogue.gpu(name).ok()?;
    Some((found, Some(format!("{says} fits it, and perhaps others; say which with --gpu"))))
}

/// AMD's tools count compute units as `sm`.
fn by_gcn(gcn: &str, units: Option<u32>, links: u16) -> Option<&'static str> {
    let number = gcn.trim_start_matches("gfx");
    Some(match (number, units) {
        ("906", _) => "mi50",
        ("908", _) => "mi100",
        ("910" | "90a", _) if links <= 3 => "mi210",
        ("910" | "90a", _) => "mi250x",
        ("940" | "941" | "942", Some(228)) => "mi300a",
        ("940" | "941" | "942", _) => "mi300x",
        ("950", _) => "mi355x",
        _ => return None,
    })
}

/// By NVIDIA's compute capability times ten.
fn by_capability(sm: u32, links: u16) -> Option<&'static str> {
    Some(match (sm, links) {
        (60, 1..) => "p100-sxm2-16gb",
        (60, 0) => "p100-pcie-16gb",
        (70, 1..) => "v100-sxm2-32gb",
        (70, 0) => "v100-pcie-32gb",
        (80, 8) => "a800-sxm4-80gb",
        (80, 9..) => "a100-sxm4-80gb",
        (80, _) => "a100-pcie-80gb",
        (90, 8) => "h800-sxm5-80gb",
        (90, 1..) => "h100-sxm5-80gb",
        (90, 0) => "h100-pcie-80gb",
        (100, _) => "b200-sxm",
        (103, _) => "b300-sxm",
        _ => return None,
    })
}

/// Model and link of each NIC.
pub(super) fn nics(
    host: &Host,
    picked: &Picked,
    overrides: &Overrides,
    catalogue: &Catalogue,
    assumed: &mut Vec<Assumption>,
) -> Vec<NicGroup> {
    let group = |index: &usize| {
        let device = &host.devices[*index];
        let seen = SeenNic::of(device);
        let given = overrides.nic.as_deref().and_then(|name| catalogue.nic(name).ok());
        let found = given.map(|nic| (nic, None)).or_else(|| nic_model(device, &seen, catalogue));
        let Some((nic, why)) = found else { return NicGroup { model: None, count: 1, link: None } };
        if let Some(why) = why {
            let assumption = Assumption::new("NIC", "model", &nic.name, why);
            if !assumed.contains(&assumption) {
                assumed.push(assumption);
            }
        }
        let link = seen.link(nic, catalogue).filter(|link| nic.links.first() != Some(&link.name));
        NicGroup { model: Some(nic.name.clone()), count: 1, link: link.map(|link| link.name.clone()) }
    };
    picked.nics.iter().map(group).collect()
}

/// What the input says of a NIC.
struct SeenNic {
    ports: usize,
    rate: Option<Rate>,
    is_infiniband: Option<bool>,
    name: String,
}

impl SeenNic {
    fn of(device: &Device) -> Self {
        let first = adapters(device).next();
        let layer = first.and_then(|adapter| adapter.link_layer.as_deref());
        let by_class = device.class.map(|class| class == 0x0207);
        Self {
            ports: adapters(device).count().max(1),
            rate: adapters(device).filter_map(|adapter| adapter.rate).max(),
            is_infiniband: layer.map(|layer| layer.eq_ignore_ascii_case("infiniband")).or(by_class),
            name: first.map(|adapter| adapter.name.clone()).unwrap_or_default(),
        }
    }

    /// The link of that NIC which carries what was seen, of the right kind if there is one.
    fn link<'c>(&self, nic: &Nic, catalogue: &'c Catalogue) -> Option<&'c LinkKind> {
        let links = || nic.links.iter().filter_map(|name| catalogue.link(name).ok());
        let kind =
            |link: &&LinkKind| self.is_infiniband.is_none_or(|is| link.name.starts_with("infiniband") == is);
        let Some(rate) = self.rate else { return links().find(kind) };
        // Clouds shave some off: 180 of 200 Gb/s.
        let carries = |link: &&LinkKind| {
            let nominal = link.rate(1).get();
            rate.get() <= nominal + nominal / 50 && rate.get() * 5 >= nominal * 4
        };
        links().filter(kind).find(carries).or_else(|| links().find(carries)).or_else(|| links().find(kind))
    }
}

fn nic_model<'c>(
    device: &Device,
    seen: &SeenNic,
    catalogue: &'c Catalogue,
) -> Option<(&'c Nic, Option<String>)> {
    if let Some(id) = pci_id(device) {
        let same: Vec<&Nic> = catalogue.nics_by_id(id).collect();
        let fits = |nic: &&&Nic| {
            let carried = seen.link(nic, catalogue).map(|link| link.rate(1).get());
            let rate = seen.rate.map(weft_base::Rate::get);
            rate.is_none_or(|rate| carried.is_some_and(|carried| rate <= carried + carried / 50))
        };
        // Cards of one chip differ by ports and by what these carry.
        let best = same.iter().filter(fits).min_by_key(|nic| {
            let fastest = nic.links.first().and_then(|name| catalogue.link(name).ok());
            let spare = fastest
                .map_or(u64::MAX, |link| link.rate(1).get())
                .saturating_sub(seen.rate.map_or(0, weft_base::Rate::get));
            let other_lanes = device.link.lanes.is_some_and(|lanes| lanes != nic.pcie.count.value);
            (usize::from(nic.ports.value) != seen.ports, other_lanes, spare)
        });
        if let Some(nic) = best.or(same.first()) {
            let why = (same.len() > 1).then(|| {
                format!("PCI device {id} is of its family; ports and speed fit it best; say which with --nic")
            });
            return Some((nic, why));
        }
    }
    if let Some((name, why)) = guess::nic(Some(&seen.name), None, catalogue) {
        return Some((catalogue.nic(&name).ok()?, Some(why)));
    }
    if seen.rate.is_none() && onboard(device) == Some(Onboard::Ten) {
        let why = "it is named as one of 10 Gb/s; say which with --nic".to_owned();
        return Some((catalogue.nic("generic-10g").ok()?, Some(why)));
    }
    // What carries so much: the usual card of that speed.
    let gigabits = seen.rate?.get() / 125_000_000;
    let usual = match (seen.is_infiniband, gigabits) {
        (Some(true), 390..) => "connectx-7-ndr",
        (Some(true), 150..390) => "connectx-6-hdr",
        (Some(true), _) => "connectx-5-edr",
        (_, 390..=800) => "connectx-7-ndr",
        (_, 150..390) => "connectx-6-dx",
        (_, 60..150) => "generic-100g",
        (_, 20..60) => "generic-25g",
        (_, 5..20) => "generic-10g",
        (_, 0..5) => "generic-1g",
        (_, _) => return None,
    };
    let why = format!("a port of {gigabits} Gb/s fits it; say which with --nic");
    Some((catalogue.nic(usual).ok()?, Some(why)))
}

/// The CPU.
pub(super) fn cpu(
    host: &Host,
    overrides: &Overrides,
    catalogue: &Catalogue,
    assumed: &mut Vec<Assumption>,
) -> Option<String> {
    if overrides.cpu.is_some() {
        return overrides.cpu.clone();
    }
    let node = host.numa.iter().find(|node| node.vendor.is_some() || node.model.is_some())?;
    if let Some(found) = node.model.as_deref().and_then(|model| catalogue.cpu(model).ok()) {
        return Some(found.name.clone());
    }
    let (vendor, family, model) = (node.vendor.clone()?, node.cpu_family?, node.cpu_model?);
    let id = CpuId { family: true_family(&vendor, family), vendor, model };
    let mut same = catalogue.cpus_by_id(&id);
    let first = same.next()?;
    let others: Vec<&str> = same.map(|cpu| cpu.name.as_str()).collect();
    if !others.is_empty() {
        let why = format!("family and model are also those of {}; say which with --cpu", others.join(", "));
        assumed.push(Assumption::new("CPU", "model", &first.name, why));
    }
    Some(first.name.clone())
}

/// NCCL shifts the extended family before it adds it: 143 is 23.
fn true_family(vendor: &str, family: u32) -> u32 {
    let is_shifted = vendor == "AuthenticAMD" && family >= 31;
    if is_shifted { 15 + (family - 15) / 16 } else { family }
}
