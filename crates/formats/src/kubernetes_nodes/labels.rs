//! Labels that say where a node stands and what GPUs it has.

use crate::evidence::{Record, Value};
use crate::hierarchy::{At, Named, Placed};

/// Labels of places from the nearest on, of those who name them. The first family that a node has is used.
const FAMILIES: [&[&str]; 4] = [
    &[
        "network.topology.nvidia.com/leaf",
        "network.topology.nvidia.com/block",
        "network.topology.nvidia.com/spine",
        "network.topology.nvidia.com/core",
        "network.topology.nvidia.com/datacenter",
    ],
    &[
        "topology.k8s.aws/network-node-layer-3",
        "topology.k8s.aws/network-node-layer-2",
        "topology.k8s.aws/network-node-layer-1",
    ],
    &["oci.oraclecloud.com/host.rack_id", "oci.oraclecloud.com/host.network_block_id"],
    &["cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block"],
];

/// Topograph's own, with a number behind: 0 is the nearest.
const TIER: &str = "fabric.topograph.run/tier-";

/// Above all of them.
const AREAS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
];

/// What hosts that share a GPU fabric share, the best first.
const DOMAINS: [&str; 6] = [
    "accelerator.topograph.run/domain",
    "network.topology.nvidia.com/accelerator",
    "nvidia.com/gpu.clique",
    "topology.k8s.aws/ultraserver-id",
    "topology.k8s.aws/capacity-block-id",
    "accelerator.topograph.run/sub-domain",
];

/// Labels that a record keeps, and under which name.
const KEPT: [(&str, &str); 8] = [
    ("nvidia.com/gpu.product", "gpu-model"),
    ("amd.com/gpu.product-name", "gpu-model"),
    ("nvidia.com/gpu.clique", "gpu-clique"),
    ("nvidia.com/gpu.memory", "gpu-memory-mib"),
    ("nvidia.com/mig.strategy", "mig-strategy"),
    ("nvidia.com/cuda.driver-version.full", "driver"),
    ("node.kubernetes.io/instance-type", "instance-type"),
    ("kubernetes.io/arch", "arch"),
];

/// A label: key, value, and where the value stands.
pub(super) type Label<'l> = (&'l str, &'l str, At);

/// Where a node stands, by its labels.
pub(super) fn place(host: Named, labels: &[Label<'_>]) -> Placed {
    let find = |key: &str| {
        let (_, value, at) = labels.iter().find(|(own, value, _)| *own == key && !value.is_empty())?;
        Some(Named { name: (*value).to_owned(), at: *at })
    };
    let short = |key: &str| key.rsplit_once('/').map_or(key, |(_, name)| name).to_owned();
    let of_keys = |keys: &[&str]| -> Vec<(String, Named)> {
        keys.iter().filter_map(|key| Some((short(key), find(key)?))).collect()
    };
    let mut tiers: Vec<(u32, Named)> = labels
        .iter()
        .filter_map(|(key, value, at)| {
            Some((key.strip_prefix(TIER)?.parse().ok()?, Named { name: (*value).to_owned(), at: *at }))
        })
        .collect();
    tiers.sort_by_key(|(tier, _)| *tier);
    let mut path: Vec<(String, Named)> =
        tiers.into_iter().map(|(tier, name)| (format!("tier-{tier}"), name)).collect();
    if path.is_empty() {
        path = FAMILIES.iter().map(|keys| of_keys(keys)).find(|path| !path.is_empty()).unwrap_or_default();
    }
    let areas = of_keys(&AREAS);
    for kind in ["zone", "region"] {
        path.extend(areas.iter().find(|(own, _)| own == kind).cloned());
    }
    let block = DOMAINS.iter().find_map(|key| find(key));
    Placed { host, path, block }
}

/// Puts what the labels say of a node's GPUs into its record.
pub(super) fn describe(record: &mut Record, labels: &[Label<'_>], line: u32) {
    for (key, name) in KEPT {
        if let Some((_, value, _)) = labels.iter().find(|(own, value, _)| *own == key && !value.is_empty())
            && record.get(name).is_none()
        {
            record.push(name, Value::Text((*value).to_owned()), line);
        }
    }
    let count = labels.iter().find(|(key, _, _)| *key == "nvidia.com/gpu.count");
    if let Some(count) = count.and_then(|(_, value, _)| value.parse().ok()) {
        record.push("gpus", Value::Count(count), line);
    }
}
