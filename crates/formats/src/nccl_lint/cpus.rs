use super::{Lint, codes};
use crate::nccl_topology::integer;

pub(super) fn check(lint: &mut Lint<'_>) {
    let cpus = lint.all("cpu");
    lint.distinct(&cpus, "numaid", "CPU");
    let mut masks: Vec<(u32, Vec<u64>)> = Vec::new();
    for node in &cpus {
        match node.attribute("numaid") {
            None => lint.refused(
                (*node, ""),
                "NCCL refuses the file: a <cpu> has no numaid",
                "give each its number, from 0",
            ),
            Some(id) if integer(id).is_none_or(|id| id < 0) => lint.note(
                codes::NCCL_DOUBTFUL,
                (*node, "numaid"),
                format!("numaid=\"{id}\": NUMA nodes are not known, so that all devices seem equally near"),
                "give each NUMA node a <cpu> of its own with its devices",
            ),
            Some(_) => {}
        }
        for (name, known) in [
            ("arch", &["x86_64", "arm64", "ppc64"][..]),
            ("vendor", &["GenuineIntel", "AuthenticAMD", "CentaurHauls", "  Shanghai  "][..]),
        ] {
            if let Some(value) = node.attribute(name).filter(|value| !known.contains(value)) {
                let message =
                    format!("NCCL does not know {name}=\"{value}\" and takes x86_64 of no known vendor");
                lint.warn(codes::NCCL_ASSUMES, (*node, name), message, "see the table in the documentation");
            }
        }
        let Some(text) = node.attribute("affinity") else { continue };
        match mask(text) {
            Some(words) => {
                if let Some((line, _)) = masks.iter().find(|(_, other)| overlap(other, &words)) {
                    let message = format!("affinity has CPUs that line {line} has too");
                    let hint = "NCCL pins threads of both nodes to them: compare /sys/devices/system/node/node*/cpumap";
                    lint.warn(codes::NCCL_CONTRADICTION, (*node, "affinity"), message, hint);
                }
                masks.push((lint.tree.line(*node), words));
            }
            None => lint.warn(
                codes::NCCL_ASSUMES,
                (*node, "affinity"),
                format!("affinity=\"{text}\" is no mask of CPUs: NCCL reads groups of 8 hexadecimal digits"),
                "copy /sys/devices/system/node/node*/cpumap",
            ),
        }
    }
    let count = |words: &[u64]| -> u32 { words.iter().map(|word| word.count_ones()).sum() };
    let most = masks.iter().map(|(_, words)| count(words)).max().unwrap_or(0);
    for (node, (_, words)) in
        cpus.iter().filter(|node| node.attribute("affinity").and_then(mask).is_some()).zip(&masks)
    {
        let few = count(words);
        if masks.len() > 1 && few > 0 && few < most {
            let message = format!("affinity has {few} CPUs, that of another node {most}");
            lint.note(codes::NCCL_DOUBTFUL, (*node, "affinity"), message, "was a digit lost?");
        }
    }
}

/// Groups of 32 bits, the last one first.
fn mask(text: &str) -> Option<Vec<u64>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    text.rsplit(',')
        .map(|group| {
            let is_group = (1..=8).contains(&group.trim().len());
            is_group.then(|| u64::from_str_radix(group.trim(), 16).ok()).flatten()
        })
        .collect()
}

fn overlap(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}
