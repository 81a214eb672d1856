//! How servers of a class are usually built: by generation and form of the GPU and by what joins the hosts.
//!
//! The catalogue's systems are the classes. What is taken of one is its shape: CPU, PCIe tree, GPU fabric.

use weft_catalogue::{Catalogue, Form, Gpu, Machine};

use super::interconnect::{Family, Of, Words};

/// NICs of one host, as rows say or as is usual for the class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nics {
    pub count: u16,
    pub family: Family,
    pub rate_gbit: u32,
    pub half: bool,
}

/// GPUs of the boards that most servers have.
const USUAL_BOARD: u16 = 8;

/// The NICs of a host of `per_host` GPUs. `generation` is the architecture of the GPU.
pub(super) fn nics(
    words: &Words,
    generation: &str,
    per_host: u16,
    gpu: Option<&Gpu>,
    catalogue: &Catalogue,
) -> Nics {
    let family = words.family.unwrap_or(Family::InfiniBand);
    let said = words.rate_gbit.filter(|(_, of)| *of != Of::Host).map(|(rate, _)| rate);
    let total = words.rate_gbit.filter(|(_, of)| *of == Of::Host).map(|(rate, _)| rate);
    let rate_gbit = said
        .or_else(|| total.and_then(|total| rate_of_class(total, family, gpu?, catalogue)))
        .unwrap_or_else(|| usual_rate_gbit(generation));
    let of_total = total.map(|total| u16::try_from(total / rate_gbit).unwrap_or(u16::MAX).max(1));
    let per_gpu = matches!(words.rate_gbit, Some((_, Of::Gpu))).then_some(per_host);
    // Sockets go over the one card that any host has for its management.
    let usual = || if family == Family::Tcp { 1 } else { usual_count(per_host, gpu, catalogue) };
    let count = words.count.or(of_total).or(per_gpu).unwrap_or_else(usual);
    Nics { count, family, rate_gbit, half: words.half }
}

/// Gb/s of the NICs that were sold with a generation of GPUs.
fn usual_rate_gbit(generation: &str) -> u32 {
    match generation {
        "ampere" | "ada" | "cdna1" | "cdna2" => 200,
        "hopper" | "blackwell" | "cdna3" | "cdna4" => 400,
        "rubin" => 800,
        _ => 100,
    }
}

/// The rate of one NIC where hosts of this class have NICs that add up to `total` Gb/s.
fn rate_of_class(total: u32, family: Family, gpu: &Gpu, catalogue: &Catalogue) -> Option<u32> {
    let of_class = catalogue.systems.iter().filter(|system| likeness(system, gpu, catalogue).is_some());
    of_class.filter_map(|system| nics_of(system, catalogue)).find_map(|(count, link)| {
        let (known, rate) = parse_link(link)?;
        (known == family && u32::from(count) * rate == total).then_some(rate)
    })
}

/// As many NICs per GPU as the reference server of the class has.
fn usual_count(per_host: u16, gpu: Option<&Gpu>, catalogue: &Catalogue) -> u16 {
    let class = gpu.and_then(|gpu| of(gpu, per_host, None, catalogue));
    let Some(class) = class else { return 1 };
    let count = class.nics.first().map_or(1, |group| group.count);
    (u32::from(count) * u32::from(per_host))
        .div_ceil(u32::from(gpus_of(class).max(1)))
        .try_into()
        .unwrap_or(u16::MAX)
}

/// The system of the catalogue that is built as servers with `per_host` such GPUs and these NICs are.
pub(super) fn of<'c>(
    gpu: &Gpu,
    per_host: u16,
    nics: Option<&Nics>,
    catalogue: &'c Catalogue,
) -> Option<&'c Machine> {
    let wanted = nics.and_then(|nics| Some((nics.count, nics.family.link(nics.rate_gbit, nics.half)?)));
    let fits = |system: &&Machine| {
        // Where the CPU is one of the GPU's peers, the server is another class.
        let coherent = system.host.cpu.as_deref().is_some_and(|cpu| cpu.starts_with("power"));
        gpus_of(system) >= per_host && !(coherent && gpu.form != Form::Superchip)
    };
    let order = |system: &&Machine| {
        let likeness = likeness(system, gpu, catalogue).unwrap_or(u8::MAX);
        let has = nics_of(system, catalogue).map(|(count, link)| (count, link.to_owned()));
        let reference = system.name.starts_with("hgx") || system.name.starts_with("dgx");
        (
            likeness == NEAR,
            wanted.is_some() && has != wanted,
            likeness,
            gpus_of(system).abs_diff(USUAL_BOARD),
            !reference,
            system.nics.len(),
        )
    };
    let of_class = catalogue.systems.iter().filter(|system| likeness(system, gpu, catalogue).is_some());
    of_class.filter(fits).min_by_key(order)
}

/// Same generation and form, but other links.
const NEAR: u8 = 2;

/// How like the GPUs of a system are: the same, the same but for memory, the same generation.
fn likeness(system: &Machine, gpu: &Gpu, catalogue: &Catalogue) -> Option<u8> {
    if matches!(gpu.form, Form::Card) {
        return None;
    }
    let model = system.gpus.first()?.model.as_deref()?;
    let other = catalogue.gpu(model).ok()?;
    if other.name == gpu.name {
        return Some(0);
    }
    if other.architecture != gpu.architecture || other.form != gpu.form {
        return None;
    }
    let links = |gpu: &Gpu| gpu.fabric.as_ref().map(|fabric| (fabric.link.clone(), fabric.count.value));
    Some(if links(other) == links(gpu) { 1 } else { NEAR })
}

/// GPUs of one host.
pub(super) fn gpus_of(system: &Machine) -> u16 {
    system.gpus.iter().map(|group| group.count).sum()
}

/// Count and link kind of a system's first NICs, those that join the GPUs' network.
fn nics_of<'c>(system: &'c Machine, catalogue: &'c Catalogue) -> Option<(u16, &'c str)> {
    let group = system.nics.first()?;
    let model = group.model.as_deref()?;
    let own = || catalogue.nic(model).ok()?.links.first().map(String::as_str);
    Some((group.count, group.link.as_deref().or_else(own)?))
}

/// Family and Gb/s of a link kind of the catalogue.
fn parse_link(name: &str) -> Option<(Family, u32)> {
    let families =
        [Family::InfiniBand, Family::Roce, Family::Efa, Family::OmniPath, Family::Slingshot, Family::Tcp];
    let rates = [10, 20, 25, 40, 50, 56, 100, 200, 400, 800];
    families.into_iter().find_map(|family| {
        let made = |rate: &u32| {
            [true, false].into_iter().any(|half| family.link(*rate, half).as_deref() == Some(name))
        };
        rates.into_iter().find(made).map(|rate| (family, rate))
    })
}
