use std::collections::BTreeMap;

use roxmltree::Node;

use super::{Lint, codes};
use crate::nccl_topology::integer;

/// Faster ports than 1.6 Tb/s do not exist; NCCL counts in Mb/s.
const FASTEST_MBPS: i64 = 1_600_000;

pub(super) fn check(lint: &mut Lint<'_>) {
    let nets = lint.all("net");
    lint.distinct(&nets, "dev", "network device");
    lint.distinct(&nets, "name", "network device");
    let mut ports: BTreeMap<(&str, &str), Node<'_, '_>> = BTreeMap::new();
    for net in nets {
        if net.attribute("dev").is_none() {
            lint.warn(
                codes::NCCL_IGNORES,
                (net, ""),
                "NCCL does not use a <net> without dev",
                "number them from 0",
            );
        }
        if net.attribute("name").is_none() {
            let message = "a <net> has no name, by which NCCL would find the adapter";
            lint.warn(codes::NCCL_DOUBTFUL, (net, ""), message, "write name=\"mlx5_0\"");
        }
        let speed = net.attribute("speed").and_then(integer).unwrap_or(0);
        if speed <= 0 {
            let message = "NCCL takes 10 Gb/s for a port without a speed";
            lint.warn(codes::NCCL_ASSUMES, (net, "speed"), message, "write it in Mb/s: speed=\"200000\"");
        } else if speed > FASTEST_MBPS {
            let message = format!("speed=\"{speed}\" is {} Tb/s: NCCL counts in Mb/s", speed / 1_000_000);
            lint.warn(codes::NCCL_DOUBTFUL, (net, "speed"), message, "200 Gb/s are speed=\"200000\"");
        }
        let Some(guid) = net.attribute("guid") else { continue };
        let port = net.attribute("port").unwrap_or("0");
        match ports.get(&(guid, port)) {
            Some(first) => {
                let line = lint.tree.line(*first);
                let message = format!(
                    "guid {guid} and port {port} are also those of line {line}: NCCL counts one adapter"
                );
                lint.warn(codes::NCCL_CONTRADICTION, (net, "guid"), message, "give each port its own");
            }
            None => {
                ports.insert((guid, port), net);
            }
        }
    }
}
