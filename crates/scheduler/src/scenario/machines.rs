//! Groups of nodes as a cluster.

use std::ops::Range;

use weft_base::Bytes;
use weft_catalogue::{Catalogue, Form, Gpu};

use super::file::Nodes;
use super::spots::Spots;
use crate::cluster::{Cluster, DeviceControl, Joined, Node, Shape, Site, Slice, Taints};
use crate::fleet::{GPUS_MOST, NodeKind};

/// Models are bits of 32, of which one stands for any.
const MODELS_MOST: usize = 31;
/// Taints are bits of 32.
const TAINTS_MOST: usize = 32;
/// More nodes than any cluster has.
const NODES_MOST: u32 = 1_000_000;
/// Keeps services off nodes with accelerators, where there are other nodes for them.
pub const ACCELERATOR: &str = "accelerator";

/// GPUs of a group that names no model.
const UNNAMED: &str = "gpu";

/// What a model is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Good {
    /// Its GPUs reach each other over switches.
    Switched,
    /// Pairs are joined by bridges.
    Bridged,
    /// Nothing but PCIe joins its GPUs.
    Alone,
    /// A chip for tensors alone.
    Tensors,
}

/// A cluster, and what its models are good for.
pub struct Machines {
    pub cluster: Cluster,
    pub goods: Vec<Good>,
}

/// Numbers that domains of each level have so far.
#[derive(Default)]
struct Counted {
    site: Site,
    /// The spine of all groups that do not say how many nodes theirs have.
    common_spine: Option<u32>,
}

pub fn machines(
    groups: &[(Range<usize>, &Nodes)],
    catalogue: &Catalogue,
    separates: bool,
    spots: &mut Spots<'_>,
) -> Machines {
    let mut found = Machines { cluster: Cluster::default(), goods: Vec::new() };
    let has_hosts = groups.iter().any(|(_, group)| group.gpus.unwrap_or(0) == 0);
    let mut counted = Counted::default();
    for (span, group) in groups {
        if groups.iter().any(|(other, known)| known.name == group.name && other.start < span.start) {
            let place = spots.key(span, "name");
            spots.wrong(place, format!("there are two groups `{}`", group.name), "give each its own name");
        }
        let Some(shape) = shape(span, group, catalogue, &mut found, spots) else { continue };
        let keeps_off = separates && has_hosts && shape.kind.gpu_count > 0;
        let own = keeps_off.then_some(ACCELERATOR);
        let mut taints = Taints::default();
        for name in group.taints.iter().map(String::as_str).chain(own) {
            taints.0 |= taint(&mut found.cluster, name, span, spots);
        }
        let number = found.cluster.shapes.iter().position(|known| *known == shape);
        let number = number.unwrap_or_else(|| {
            found.cluster.shapes.push(shape);
            found.cluster.shapes.len() - 1
        });
        add(&mut found.cluster, span, group, number, taints, &mut counted, spots);
    }
    found
}

fn taint(cluster: &mut Cluster, name: &str, span: &Range<usize>, spots: &mut Spots<'_>) -> u32 {
    let known = cluster.taints.iter().position(|known| known == name);
    let at = known.unwrap_or_else(|| {
        cluster.taints.push(name.to_owned());
        cluster.taints.len() - 1
    });
    if at >= TAINTS_MOST {
        let place = spots.key(span, "taints");
        spots.wrong(place, "there are too many taints", format!("a cluster has at most {TAINTS_MOST}"));
        return 0;
    }
    1 << at
}

fn shape(
    span: &Range<usize>,
    group: &Nodes,
    catalogue: &Catalogue,
    found: &mut Machines,
    spots: &mut Spots<'_>,
) -> Option<Shape> {
    let kind = NodeKind {
        cpu_milli: milli(group.cpu_count, span, "cpus", spots)?,
        memory_mib: mib(group.memory, span, spots)?,
        gpu_count: group.gpus.unwrap_or(0),
        model: 0,
    };
    if usize::from(kind.gpu_count) > GPUS_MOST {
        let place = spots.key(span, "gpus");
        spots.wrong(place, "no node has as many GPUs", format!("a node has at most {GPUS_MOST}"));
        return None;
    }
    let control = control(span, group, spots)?;
    let Some(name) = group.gpu.as_deref() else {
        let plain = Shape { control, ..Shape::switched(kind) };
        if plain.kind.gpu_count == 0 {
            return Some(plain);
        }
        // A trace may say how many GPUs a node has and not which.
        let model = model(found, UNNAMED, Good::Alone, span, spots)?;
        return Some(Shape { kind: NodeKind { model, ..plain.kind }, joined: Joined::all(0, 0), ..plain });
    };
    if kind.gpu_count == 0 {
        spots.wrong(spots.key(span, "gpu"), "`gpus` says how many GPUs a node has", "`gpus = 8`");
        return None;
    }
    let gpu = match catalogue.gpu(name) {
        Ok(gpu) => gpu,
        Err(error) => {
            let message = format!("there is no {} `{name}`", error.kind);
            spots.wrong(spots.key(span, "gpu"), message, error.hint());
            return None;
        }
    };
    let (good, pair_gigabytes) = joined(span, group, gpu, catalogue, spots)?;
    let model = model(found, &gpu.name, good, span, spots)?;
    let kind = NodeKind { model, ..kind };
    let joined = match good {
        Good::Switched | Good::Tensors => Joined::all(kind.gpu_count, pair_gigabytes),
        Good::Bridged => Joined::bridges(kind.gpu_count, pair_gigabytes),
        Good::Alone => Joined::all(kind.gpu_count, 0),
    };
    let numa_row = numa(group.numa.unwrap_or(2), kind.gpu_count);
    let slices = slices(span, group, gpu, spots);
    Some(Shape { kind, joined, numa_row, slices, control })
}

/// GPUs spread over NUMA nodes in order, as many on each as fit.
fn numa(count: u8, gpu_count: u8) -> [u8; GPUS_MOST] {
    let each = gpu_count.div_ceil(count.max(1)).max(1);
    let mut row = [0; GPUS_MOST];
    for (gpu, numa) in (0..gpu_count).zip(&mut row) {
        *numa = gpu / each;
    }
    row
}

fn control(span: &Range<usize>, group: &Nodes, spots: &mut Spots<'_>) -> Option<DeviceControl> {
    match group.control.as_deref() {
        None | Some("exact") => Some(DeviceControl::Exact),
        Some("hint") => Some(DeviceControl::Hint),
        Some("node-only") => Some(DeviceControl::NodeOnly),
        Some(other) => {
            let place = spots.key(span, "control");
            spots.unknown(place, "control of devices", other, &["exact", "hint", "node-only"]);
            None
        }
    }
}

/// How GPUs of a node are joined, and by how many GB/s a pair, in one direction.
fn joined(
    span: &Range<usize>,
    group: &Nodes,
    gpu: &Gpu,
    catalogue: &Catalogue,
    spots: &mut Spots<'_>,
) -> Option<(Good, u16)> {
    let rate = |link: &str, count: u16| {
        let rate = catalogue.link(link).map(|link| link.rate(count).as_gigabytes()).unwrap_or_default();
        whole(rate)
    };
    let fabric = gpu.fabric.as_ref().map(|fabric| rate(&fabric.link, fabric.count.value));
    let bridge = gpu.bridges.iter().map(|bridge| rate(&bridge.link, bridge.links)).max();
    let is_tensors = gpu.form == Form::Tpu;
    let given = group.joined.as_deref().unwrap_or(match (gpu.form, fabric) {
        (Form::Card, _) | (_, None) => "none",
        (Form::Sxm | Form::Oam | Form::Superchip | Form::Tpu, Some(_)) => "nvswitch",
    });
    let found = match (given, fabric, bridge) {
        ("none" | "pcie", _, _) => Some((Good::Alone, 0)),
        ("nvswitch", Some(rate), _) => Some((Good::Switched, rate)),
        ("bridges", _, Some(rate)) => Some((Good::Bridged, rate)),
        ("nvswitch" | "bridges", _, _) => {
            let message = format!("{} has no links for `{given}`", gpu.title);
            spots.wrong(spots.key(span, "joined"), message, "`pcie` joins any GPUs");
            return None;
        }
        _ => {
            let place = spots.key(span, "joined");
            spots.unknown(place, "way to join GPUs", given, &["nvswitch", "bridges", "pcie", "none"]);
            return None;
        }
    };
    found.map(|(good, rate)| (if is_tensors { Good::Tensors } else { good }, rate))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating float cast")]
fn whole(gigabytes: f64) -> u16 {
    gigabytes.round() as u16
}

fn model(
    found: &mut Machines,
    name: &str,
    good: Good,
    span: &Range<usize>,
    spots: &mut Spots<'_>,
) -> Option<u8> {
    if let Some(at) = found.cluster.models.iter().position(|known| known == name) {
        // A model is as good as the best of its nodes.
        found.goods[at] = found.goods[at].min(good);
        return u8::try_from(at).ok();
    }
    if found.cluster.models.len() == MODELS_MOST {
        let place = spots.key(span, "gpu");
        spots.wrong(place, "there are too many models", format!("a cluster has at most {MODELS_MOST}"));
        return None;
    }
    found.cluster.models.push(name.to_owned());
    found.goods.push(good);
    u8::try_from(found.cluster.models.len() - 1).ok()
}

fn slices(span: &Range<usize>, group: &Nodes, gpu: &Gpu, spots: &mut Spots<'_>) -> Vec<Slice> {
    if !group.mig {
        return Vec::new();
    }
    let Some(partitions) = &gpu.partitions else {
        let message = format!("no partitions of {} are known", gpu.title);
        spots.wrong(spots.key(span, "mig"), message, "leave `mig` out, or add `partitions` to the catalogue");
        return Vec::new();
    };
    let all = partitions.value.iter().map(|part| part.compute).max().unwrap_or(1).max(1);
    let slice = |part: &weft_catalogue::Partition| {
        let slots = (1_u16 << part.memory.min(8)) - 1;
        let place = |start: &u8| u8::try_from((slots << (*start).min(8)) & 0xff).unwrap_or(u8::MAX);
        Slice {
            name: part.name.clone(),
            places: part.starts.iter().map(place).collect(),
            milli: u16::from(part.compute) * 1000 / u16::from(all),
        }
    };
    partitions.value.iter().map(slice).collect()
}

/// A quantity with parts, in thousandths.
pub fn milli(count: f64, span: &Range<usize>, key: &str, spots: &mut Spots<'_>) -> Option<u32> {
    let thousandths = (count * 1000.0).round();
    if !(0.0..=f64::from(u32::MAX)).contains(&thousandths) {
        let place = spots.key(span, key);
        spots.wrong(place, format!("`{key}` is {count}"), "it must be 0 or more, and not as large");
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
    Some(thousandths as u32)
}

fn mib(memory: Bytes, span: &Range<usize>, spots: &mut Spots<'_>) -> Option<u32> {
    let found = u32::try_from(memory.get() >> 20).ok();
    if found.is_none() {
        let place = spots.key(span, "memory");
        spots.wrong(place, format!("a node has no {memory}"), "give the memory of one host");
    }
    found
}

/// Adds the nodes of a group, with their places.
fn add(
    cluster: &mut Cluster,
    span: &Range<usize>,
    group: &Nodes,
    shape: usize,
    taints: Taints,
    counted: &mut Counted,
    spots: &mut Spots<'_>,
) {
    let present = u32::try_from(cluster.nodes.len()).unwrap_or(u32::MAX);
    if group.count == 0 || present.saturating_add(group.count) > NODES_MOST {
        let place = spots.key(span, "count");
        spots.wrong(place, "a cluster cannot have so many nodes", format!("it has 1 to {NODES_MOST}"));
        return;
    }
    let domain = group.domain.unwrap_or(1);
    let rack = group.rack.unwrap_or(domain);
    let leaf = group.leaf.unwrap_or(group.count);
    for (key, size, within) in [("rack", rack, domain), ("leaf", leaf, rack), ("domain", domain, 1)] {
        let is_whole = size > 0 && (size % within.max(1) == 0 || size >= group.count);
        if !is_whole {
            let hint = format!("a {key} has whole parts of {within} nodes each");
            spots.wrong(spots.key(span, key), format!("`{key}` is {size}"), hint);
            return;
        }
    }
    if group.spine.is_some_and(|spine| spine == 0 || spine % leaf != 0 && spine < group.count) {
        let hint = format!("a spine has whole leaves of {leaf} nodes each");
        spots.wrong(spots.key(span, "spine"), "`spine` does not hold whole leaves", hint);
        return;
    }
    let first = counted.site;
    let common = match group.spine {
        Some(_) => first.spine,
        None => *counted.common_spine.get_or_insert(first.spine),
    };
    let has_own_number = group.spine.is_some() || common == first.spine;
    for at in 0..group.count {
        let site = Site {
            domain: first.domain + at / domain,
            rack: first.rack + at / rack,
            leaf: first.leaf + at / leaf,
            spine: group.spine.map_or(common, |size| first.spine + at / size),
        };
        cluster.nodes.push(Node { name: format!("{}-{at}", group.name), shape, site, taints });
        counted.site = Site {
            domain: site.domain + 1,
            rack: site.rack + 1,
            leaf: site.leaf + 1,
            spine: if has_own_number { site.spine + 1 } else { first.spine },
        };
    }
}
