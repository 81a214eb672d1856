//! Which adapters are in one host.

use std::collections::BTreeMap;

use super::{Subnet, SubnetNodeKind};

/// A host and its adapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubnetHost {
    /// The host's name, or the description or GUID of its adapter where none is in the text.
    pub name: String,
    /// Indices into [`Subnet::nodes`], in order.
    pub adapters: Vec<u32>,
}

impl Subnet {
    /// The hosts, in the order of their first adapters. Adapters are of one host if their descriptions say so
    /// (`node-1 mlx5_0`, `node-1 HCA-2`), else if they have one system GUID. What switches reduce with is of no host.
    pub fn hosts(&self) -> Vec<SubnetHost> {
        let mut hosts: Vec<SubnetHost> = Vec::new();
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        let mut systems = BTreeMap::new();
        for (index, node) in self.of_kind(SubnetNodeKind::Adapter) {
            if node.is_aggregation() {
                continue;
            }
            let next = hosts.len();
            let (host, name) = if let Some(name) = host_name(&node.name) {
                (*named.entry(name).or_insert(next), name.to_owned())
            } else {
                let system = node.system_guid.unwrap_or(node.guid);
                (*systems.entry(system).or_insert(next), self.label(index))
            };
            if host == next {
                hosts.push(SubnetHost { name, adapters: Vec::new() });
            }
            hosts[host].adapters.push(index);
        }
        hosts
    }
}

/// What names of RDMA devices begin with, as drivers and `udev` give them.
const DEVICES: [&str; 13] =
    ["mlx", "hca-", "ib", "hfi", "qib", "rdma", "roce", "bnxt", "irdma", "efa", "opa", "mthca", "ipath"];

/// `node-1` of `node-1 mlx5_0` and of `node-1 HCA-2`.
fn host_name(description: &str) -> Option<&str> {
    let (host, device) = description.trim().rsplit_once([' ', '\t'])?;
    let begins =
        |prefix: &&str| device.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let numbered = device.ends_with(|c: char| c.is_ascii_digit());
    let host = host.trim();
    (numbered && DEVICES.iter().any(begins) && !host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_before_its_device() {
        assert_eq!(host_name("node-1 mlx5_0"), Some("node-1"));
        assert_eq!(host_name("node 17 HCA-2"), Some("node 17"));
        assert_eq!(host_name("RMD70 ibp11s0f0"), Some("RMD70"));
        assert_eq!(host_name("MT23108 InfiniHost Mellanox Technologies"), None);
        assert_eq!(host_name("mlx5_0"), None);
        assert_eq!(host_name("ConnectX-6 é"), None);
    }
}
