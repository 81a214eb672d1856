//! Which GPU and which NIC: what the counts of links can tell, always said to be assumed.

use weft_catalogue::{Catalogue, Form, Gpu, Grade, Machine};
use weft_topology::Assumption;

use crate::infer::fabric::{self, Links};
use crate::matrix::{EndKind, Matrix};

/// What a matrix shows of its GPUs.
struct Seen {
    gpus: usize,
    /// The most NVLinks between two.
    most: u16,
    /// The fewest, of those that have any.
    fewest: u16,
    /// Whether all pairs have the same.
    all_equal: bool,
    /// Whether GPUs show memory of their own as a NUMA node.
    own_memory: bool,
    /// Whether the driver prints `GPU NUMA ID` (525 and later).
    recent: bool,
    /// Whether the driver prints no `NUMA Affinity` (440 and earlier).
    old: bool,
}

/// A GPU that fits, and others that would.
struct Fitting {
    model: &'static str,
    others: &'static str,
}

const fn fitting(model: &'static str, others: &'static str) -> Fitting {
    Fitting { model, others }
}

fn choose(seen: &Seen) -> Option<Fitting> {
    let Seen { gpus, most, fewest, all_equal, .. } = *seen;
    let found = match most {
        18 if seen.own_memory => fitting("gb200", "gb300, gh200-96gb"),
        18 => fitting("h100-sxm5-80gb", "h200-sxm5-141gb, h20, b200-sxm"),
        12 if gpus > 2 && all_equal => fitting("a100-sxm4-80gb", "a100-sxm4-40gb"),
        12 if gpus == 2 => fitting("a100-sxm4-80gb", "a100-sxm4-40gb, a100-pcie-80gb, h100-pcie-80gb"),
        12 => fitting("a100-pcie-80gb", "a100-pcie-40gb, h100-pcie-80gb, h100-nvl-94gb"),
        8 if seen.recent => fitting("h800-sxm5-80gb", "a800-sxm4-80gb"),
        8 => fitting("a800-sxm4-80gb", "h800-sxm5-80gb"),
        6 if gpus == 4 && all_equal => fitting("h100-sxm5-80gb", "v100-sxm3-32gb"),
        6 => fitting("v100-sxm3-32gb", "v100-sxm2-32gb"),
        4 if gpus > 2 && all_equal => fitting("a100-sxm4-80gb", "a100-sxm4-40gb"),
        4 => fitting("rtx-a6000", "rtx-3090, a40, a30, rtx-a5000"),
        3 => fitting("v100-sxm2-16gb", "v100-sxm2-32gb"),
        2 if fewest == 1 => fitting("v100-sxm2-16gb", "v100-sxm2-32gb"),
        2 if gpus >= 4 && seen.old => fitting("p100-sxm2-16gb", "v100-sxm2-16gb"),
        2 => fitting("rtx-2080-ti", "titan-rtx, quadro-rtx-6000, v100-sxm2-16gb"),
        1 if gpus >= 8 => fitting("p100-sxm2-16gb", "v100-sxm2-16gb"),
        1 => fitting("v100-sxm2-16gb", "p100-sxm2-16gb, rtx-2080"),
        _ => return None,
    };
    Some(found)
}

/// The GPU that the NVLinks point to; nothing where there are none, or the catalogue lacks it.
pub(super) fn gpu<'c>(
    matrix: &Matrix,
    links: &Links,
    catalogue: &'c Catalogue,
    assumed: &mut Vec<Assumption>,
) -> Option<&'c Gpu> {
    let titled = |name: &str| matrix.columns().iter().any(|title| title == name);
    let own_memory = |end: usize| {
        matrix.ends()[end].affinity.gpu_numa.as_deref().is_some_and(|text| text.parse::<u32>().is_ok())
    };
    let seen = Seen {
        gpus: links.gpus,
        most: links.most(),
        fewest: links.pairs.iter().map(|(_, _, count)| *count).min().unwrap_or(0),
        all_equal: links.all_equal(),
        own_memory: matrix.of_kind(EndKind::Gpu).any(own_memory),
        recent: titled("GPU NUMA ID"),
        old: !titled("NUMA Affinity"),
    };
    let found = choose(&seen)?;
    let gpu = catalogue.gpu(found.model).ok().filter(|gpu| fabric::fits(gpu, links, catalogue))?;
    let among = if seen.gpus == 1 { String::new() } else { format!(" among {} GPUs", seen.gpus) };
    let why = format!("NV{}{among} fits it; so do {}; say which with --gpu", seen.most, found.others);
    assumed.push(Assumption::new("GPU", "model", &gpu.name, why));
    Some(gpu)
}

/// NVIDIA GPUs on sale with just so many links, at most four, to name in a hint.
pub(super) fn with_links(count: u16, catalogue: &Catalogue) -> Vec<&str> {
    let fits = |gpu: &&Gpu| {
        let own = gpu.fabric.as_ref();
        gpu.vendor == "nvidia"
            && own.is_some_and(|fabric| fabric.count.value == count && fabric.count.grade != Grade::Announced)
            && own.is_some_and(|fabric| fabric::is_gpu_fabric(&fabric.link, catalogue))
    };
    let mut fitting: Vec<&Gpu> = catalogue.gpus.iter().filter(fits).collect();
    // The first of its kind is what most people have; later ones are its relatives.
    fitting.sort_by_key(|gpu| (gpu.year, gpu.form != Form::Sxm));
    fitting.into_iter().map(|gpu| gpu.name.as_str()).take(4).collect()
}

/// The best-known system with such GPUs, tied by as many links: with as many GPUs if there is one, then
/// NVIDIA's own, then with that very model rather than one of its kind.
pub(super) fn reference<'c>(gpu: &Gpu, links: &Links, catalogue: &'c Catalogue) -> Option<&'c Machine> {
    let model = |system: &Machine| system.gpus.iter().find_map(|group| group.model.clone());
    let of_kind = |system: &&Machine| {
        model(system).and_then(|name| catalogue.gpu(&name).ok()).is_some_and(|other| {
            let link = |gpu: &Gpu| gpu.fabric.as_ref().map(|fabric| fabric.link.clone());
            let module = matches!(gpu.form, Form::Sxm | Form::Superchip);
            let kin =
                other.architecture == gpu.architecture && other.form == gpu.form && link(other) == link(gpu);
            // Modules of one kind sit in the same servers; cards of one kind in anything.
            (other.name == gpu.name || (module && kin)) && links_of_system(system, other) == links.most()
        })
    };
    catalogue.systems.iter().filter(of_kind).min_by_key(|system| {
        let total: u16 = system.gpus.iter().map(|group| group.count).sum();
        let maker = ["dgx", "hgx"].iter().position(|maker| system.name.starts_with(maker)).unwrap_or(2);
        (usize::from(total) != links.gpus, maker, model(system).as_ref() != Some(&gpu.name))
    })
}

/// The best-known system of so many GPUs of that very model.
pub(super) fn system_of<'c>(gpu: &Gpu, gpus: usize, catalogue: &'c Catalogue) -> Option<&'c Machine> {
    let is_it = |system: &&Machine| {
        let total: u16 = system.gpus.iter().map(|group| group.count).sum();
        usize::from(total) == gpus && system.gpus.iter().all(|group| group.model.as_ref() == Some(&gpu.name))
    };
    let maker = |system: &Machine| ["dgx", "hgx"].iter().position(|maker| system.name.starts_with(maker));
    catalogue.systems.iter().filter(is_it).min_by_key(|system| maker(system).unwrap_or(2))
}

/// The most links between two GPUs of a system.
fn links_of_system(system: &Machine, gpu: &Gpu) -> u16 {
    let own = gpu.fabric.as_ref().map_or(0, |fabric| fabric.count.value);
    let bridged = system.bridges.iter().filter_map(|bridge| {
        let usual = gpu.bridges.iter().filter(|known| known.carries_data).map(|known| known.links).max();
        bridge.links.or(usual)
    });
    let fabric = system.fabric.as_ref().map(|fabric| {
        let mesh = fabric.mesh.iter().map(|link| link.links).max().unwrap_or(0);
        if fabric.switch.is_some() { fabric.links.unwrap_or(own) } else { mesh }
    });
    bridged.chain(fabric).max().unwrap_or(0)
}

/// The NIC that a device's name and the system around it point to, and why.
pub(super) fn nic(
    device: Option<&str>,
    reference: Option<&Machine>,
    catalogue: &Catalogue,
) -> Option<(String, String)> {
    let named = |name: &str, prefix: &str| {
        let nic = catalogue.nic(name).ok()?;
        Some((nic.name.clone(), format!("devices called {prefix}… are of its family; say which with --nic")))
    };
    let families = [
        ("mlx4", "connectx-3-fdr"),
        ("bnxt", "broadcom-bcm57508"),
        ("rdmap", "aws-efa-v2"),
        ("efa", "aws-efa-v2"),
        ("irdma", "intel-e810"),
        ("hfi1", "omni-path-hfi-100"),
        ("cxi", "hpe-cassini"),
    ];
    let device = device.unwrap_or_default();
    if let Some((prefix, name)) = families.into_iter().find(|(prefix, _)| device.starts_with(prefix)) {
        return named(name, prefix);
    }
    let system = reference?;
    let model = system.nics.iter().find_map(|group| {
        let nic = catalogue.nic(group.model.as_deref()?).ok()?;
        (nic.vendor == "nvidia").then(|| nic.name.clone())
    })?;
    let why = format!("the matrix does not name it; {} has this one; say which with --nic", system.title);
    Some((model, why))
}
