use std::collections::BTreeMap;

use roxmltree::Node;
use weft_catalogue::PciId;

use super::{Lint, codes};
use crate::codes::IMPOSSIBLE_NVLINK;
use crate::nccl_topology::{class_of, identifier, integer};

pub(super) fn check(lint: &mut Lint<'_>) {
    let gpus = lint.all("gpu");
    lint.distinct(&gpus, "dev", "GPU");
    lint.distinct(&gpus, "rank", "GPU");
    let mut counts: BTreeMap<(String, String), (i64, Node<'_, '_>)> = BTreeMap::new();
    for gpu in gpus {
        let Some(pci) = gpu.parent_element() else { continue };
        let own = pci.attribute("busid").unwrap_or_default().to_ascii_lowercase();
        if gpu.attribute("gdr") == Some("0") && !lint.is_rccl {
            let message = "gdr=\"0\" turns GPUDirect RDMA off for this GPU, even where it would work";
            lint.note(codes::NCCL_DOUBTFUL, (gpu, "gdr"), message, "leave the attribute out: NCCL finds it");
        }
        let mut total = 0i64;
        for link in gpu.children().filter(|child| child.has_tag_name("nvlink") || child.has_tag_name("xgmi"))
        {
            let count = one(lint, link);
            total += count;
            let target = link.attribute("target").unwrap_or_default().to_ascii_lowercase();
            counts.entry((own.clone(), target)).or_insert((0, link)).0 += count;
        }
        too_many(lint, gpu, pci, total);
    }
    let known: Vec<String> = lint
        .all("pci")
        .iter()
        .filter_map(|pci| pci.attribute("busid"))
        .map(str::to_ascii_lowercase)
        .collect();
    for ((from, to), (count, link)) in &counts {
        let is_gpu = link
            .attribute("tclass")
            .and_then(class_of)
            .is_some_and(|class| matches!(class >> 8, 0x03 | 0x12));
        if is_gpu && !known.contains(to) {
            let message = format!("a link leads to {to}, which is nowhere in the file: NCCL leaves it out");
            lint.warn(codes::NCCL_CONTRADICTION, (*link, "target"), message, "compare the busid of the GPUs");
        } else if is_gpu && from < to {
            let back = counts.get(&(to.clone(), from.clone())).map_or(0, |(count, _)| *count);
            if back != *count {
                let message = format!("{from} counts {count} links to {to}, which counts {back} back");
                lint.warn(
                    codes::NCCL_CONTRADICTION,
                    (*link, "count"),
                    message,
                    "both ends must count the same",
                );
            }
        }
    }
}

/// Checks one link and returns its count.
fn one(lint: &mut Lint<'_>, link: Node<'_, '_>) -> i64 {
    if link.has_tag_name("xgmi") && !lint.is_rccl {
        lint.warn(
            codes::NCCL_IGNORES,
            (link, ""),
            "NCCL reads over <xgmi>; RCCL reads it in files of version 2",
            "write version=\"2\" for RCCL",
        );
    }
    if link.attribute("target").is_none() {
        lint.refused((link, ""), "NCCL fails on a link without target", "write target=\"0000:1b:00.0\"");
    }
    match link.attribute("count").and_then(integer) {
        Some(count @ 1..=64) => count,
        Some(_) => {
            lint.warn(
                codes::NCCL_DOUBTFUL,
                (link, "count"),
                "no GPU has so many links",
                "count the links between the two",
            );
            0
        }
        None => {
            lint.refused((link, ""), "NCCL refuses the file: a link has no count", "write count=\"2\"");
            0
        }
    }
}

fn too_many(lint: &mut Lint<'_>, gpu: Node<'_, '_>, pci: Node<'_, '_>, total: i64) {
    let number = |name| pci.attribute(name).and_then(identifier);
    let Some((vendor, device)) = number("vendor").zip(number("device")) else { return };
    let models = lint.catalogue.gpus_by_id(PciId { vendor, device });
    let best = models.max_by_key(|gpu| crate::infer::links_of(gpu));
    let Some(model) = best else { return };
    let has = crate::infer::links_of(model);
    if total > i64::from(has) {
        let message = format!("{total} links are counted, but {} has {has}", model.title);
        lint.warn(IMPOSSIBLE_NVLINK, (gpu, ""), message, "compare `nvidia-smi nvlink -s`");
    }
}
