//! Links between GPUs: counted pair by pair, or to switches.

use weft_catalogue::{Catalogue, Fabric, Gpu, MeshLink};
use weft_topology::{Assumption, build};

use super::pick::{Picked, gpu};
use crate::evidence::{GpuLink, GpuLinkEnd, Host};
use crate::infer::fabric::{self, Links};
use crate::infer::{Inferred, guess};

/// Adds the GPU fabric.
pub(super) fn lay(
    host: &Host,
    picked: &Picked,
    gpus: &[Option<String>],
    catalogue: &Catalogue,
    out: &mut Inferred,
) {
    let model = gpus.iter().flatten().find_map(|name| catalogue.gpu(name).ok());
    let number = |device: usize| picked.gpus.iter().position(|gpu| *gpu == device);
    let ties = || host.gpu_links.iter().filter(|link| link.family != "c2c" && number(link.gpu).is_some());
    if ties().next().is_none() {
        usual(host, picked, model, catalogue, out);
        return;
    }
    let to_gpu = |link: &GpuLink| match link.to {
        GpuLinkEnd::Device(device) => number(device),
        GpuLinkEnd::Cpu(_) | GpuLinkEnd::Switch | GpuLinkEnd::Address(_) => None,
    };
    let to_switch = |link: &&GpuLink| match link.to {
        GpuLinkEnd::Switch => true,
        GpuLinkEnd::Device(_) => to_gpu(link).is_none(),
        GpuLinkEnd::Cpu(_) | GpuLinkEnd::Address(_) => false,
    };
    let mut mesh: Vec<MeshLink> = Vec::new();
    for link in ties() {
        let ends = number(link.gpu).zip(to_gpu(link)).filter(|(from, to)| from != to);
        let Some((a, b)) = ends.and_then(|(from, to)| {
            Some((u16::try_from(from.min(to)).ok()?, u16::try_from(from.max(to)).ok()?))
        }) else {
            continue;
        };
        let count = links_in(link, model, catalogue);
        match mesh.iter_mut().find(|known| (known.a, known.b) == (a, b)) {
            // Both ends list the link.
            Some(known) => known.links = known.links.max(count),
            None if count > 0 => mesh.push(MeshLink { a, b, links: count }),
            None => {}
        }
    }
    mesh.sort_by_key(|link| (link.a, link.b));
    let per_gpu = |gpu: usize| -> u16 {
        let own = ties().filter(|link| number(link.gpu) == Some(gpu)).filter(to_switch);
        own.fold(0, |sum, link| sum.saturating_add(link.count))
    };
    let most = (0..picked.gpus.len()).map(per_gpu).max().unwrap_or(0);
    if most > 0 {
        switched(host, picked, model, most, catalogue, out);
    } else if !mesh.is_empty() {
        let own = model.and_then(|gpu| gpu.fabric.as_ref());
        let family = ties().next().map_or("nvlink", |link| link.family);
        let most = mesh.iter().map(|link| link.links).max().unwrap_or(0);
        let link = own.is_none().then(|| link_kind(family, model, most, out)).flatten();
        if own.is_some() || link.is_some() {
            out.machine.fabric = Some(Fabric { link, mesh, ..Fabric::default() });
        }
    }
}

/// How many links a tie stands for; some tools say only what it carries.
fn links_in(link: &GpuLink, model: Option<&Gpu>, catalogue: &Catalogue) -> u16 {
    if link.count > 0 {
        return link.count;
    }
    let kind = model.and_then(|gpu| gpu.fabric.as_ref()).and_then(|own| catalogue.link(&own.link).ok());
    let (Some(rate), Some(kind)) = (link.rate, kind) else { return 1 };
    let one = kind.rate(1).get().max(1);
    u16::try_from((rate.get() + one / 2) / one).unwrap_or(1).max(1)
}

/// The kind of link between GPUs that have none in the catalogue: a bridge's, else by count.
fn link_kind(family: &str, model: Option<&Gpu>, most: u16, out: &mut Inferred) -> Option<String> {
    let bridge = model.and_then(|gpu| gpu.bridges.iter().find(|bridge| bridge.carries_data));
    match bridge {
        Some(bridge) => Some(bridge.link.clone()),
        None if family == "nvlink" => Some(fabric::assumed_link(most, out)),
        None => None,
    }
}

/// GPUs at switches: those of the best-known system with such GPUs, else as many as the input names.
fn switched(
    host: &Host,
    picked: &Picked,
    model: Option<&Gpu>,
    most: u16,
    catalogue: &Catalogue,
    out: &mut Inferred,
) {
    let count = u16::try_from(picked.gpus.len()).unwrap_or(u16::MAX);
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b, most))).collect();
    let links = Links { pairs, gpus: picked.gpus.len() };
    let own = model.and_then(|gpu| gpu.fabric.as_ref());
    let link = own.map_or_else(|| fabric::assumed_link(most, out), |own| own.link.clone());
    let Some(known) = fabric::switches(&link, model, &links, catalogue) else { return };
    let has = model.map_or(0, fabric::links_of);
    let mut fabric = Fabric {
        link: own.is_none().then_some(link),
        links: (most != has).then_some(most),
        spans_hosts: false,
        ..known
    };
    let mut targets: Vec<&str> = host
        .gpu_links
        .iter()
        .filter(|link| link.family == "nvlink")
        .filter_map(|link| link.target.as_deref())
        .collect();
    targets.sort_unstable();
    targets.dedup();
    let named = u16::try_from(targets.len()).unwrap_or(0);
    if named > 1 && named != fabric.switches && fabric.boards <= 1 {
        let counted = Fabric { switches: named, ..fabric.clone() };
        out.machine.fabric = Some(counted.clone());
        if build(&out.machine, catalogue).is_ok() {
            fabric = counted;
        }
    }
    out.machine.fabric = Some(fabric);
}

/// A file that names no links leaves them for NCCL to find: modules have those of the system that they are sold in.
fn usual(host: &Host, picked: &Picked, model: Option<&Gpu>, catalogue: &Catalogue, out: &mut Inferred) {
    let Some(model) = model.filter(|gpu| gpu.fabric.is_some()) else { return };
    let is_silent =
        picked.gpus.iter().all(|device| gpu(&host.devices[*device]).is_none_or(|gpu| gpu.sm.is_none()));
    if !is_silent && host.format == "nccl-topology" {
        return;
    }
    let links = Links { pairs: Vec::new(), gpus: picked.gpus.len() };
    let Some(system) = guess::system_of(model, links.gpus, catalogue) else { return };
    let fabric = system.fabric.clone().filter(|fabric| !fabric.spans_hosts);
    if fabric.is_some() {
        let why = format!("the input does not name them; {} has these", system.title);
        out.assumed.push(Assumption::new("GPU", "links to other GPUs", "all", why));
        out.machine.fabric = fabric;
    }
}
