//! Terrains that tests share.

use crate::{Edge, Level, Switch, Terrain, Vertex};

/// Both directions of links, each `(one end, other end, capacity)`.
pub(crate) fn links(links: &[(u32, u32, u64)]) -> Vec<Edge> {
    let edge = |from, to, capacity| Edge { from: Vertex(from), to: Vertex(to), capacity };
    links.iter().flat_map(|&(a, b, capacity)| [edge(a, b, capacity), edge(b, a, capacity)]).collect()
}

pub(crate) fn linked(ranks: u32, ends: &[(u32, u32, u64)]) -> Terrain {
    Terrain::flat(ranks).with_graph(Vec::new(), links(ends))
}

/// A ring of links that carry 1 each way.
pub(crate) fn ring(ranks: u32) -> Terrain {
    let ends: Vec<_> = (0..ranks).map(|rank| (rank, (rank + 1) % ranks, 1)).collect();
    linked(ranks, &ends)
}

/// Everyone linked with everyone.
pub(crate) fn mesh(ranks: u32, capacity: u64) -> Terrain {
    let ends: Vec<_> = (0..ranks).flat_map(|a| (0..a).map(move |b| (a, b, capacity))).collect();
    linked(ranks, &ends)
}

/// DGX-1 with V100: two quads, each GPU with six NVLinks, as `nvidia-smi topo -m` prints them.
pub(crate) fn dgx_1v() -> Terrain {
    let quad = |at: u32| {
        [(at, at + 1, 1), (at, at + 2, 1), (at, at + 3, 2), (at + 1, at + 2, 2), (at + 1, at + 3, 1)]
            .into_iter()
            .chain([(at + 2, at + 3, 2)])
    };
    // The other quad mirrors the first but for 4-5 NV1, 4-6 NV1, 4-7 NV2, 5-6 NV2, 5-7 NV1, 6-7 NV2: the same.
    let ends: Vec<_> = quad(0).chain(quad(4)).chain([(0, 4, 2), (1, 5, 2), (2, 6, 1), (3, 7, 1)]).collect();
    linked(8, &ends)
}

/// Servers with one NVSwitch of `nvlink` per GPU, and a network switch to which each GPU has a NIC.
pub(crate) fn servers(hosts: u32, per_host: u32, nvlink: u64, nic: u64, switch: Switch) -> Terrain {
    let ranks = hosts * per_host;
    let mut ends: Vec<_> = (0..ranks).map(|rank| (rank, ranks + rank / per_host, nvlink)).collect();
    ends.extend((0..ranks).map(|rank| (rank, ranks + hosts, nic)));
    let mut switches = vec![switch; hosts as usize];
    switches.push(Switch::default());
    let group_of = (0..ranks).map(|rank| rank / per_host).collect();
    Terrain::flat(ranks).with_level(Level { name: "host", group_of }).with_graph(switches, links(&ends))
}

/// One switch that links all.
pub(crate) fn star(ranks: u32, capacity: u64, switch: Switch) -> Terrain {
    let ends: Vec<_> = (0..ranks).map(|rank| (rank, ranks, capacity)).collect();
    Terrain::flat(ranks).with_graph(vec![switch], links(&ends))
}

/// A torus of `width` x `width`.
pub(crate) fn torus(width: u32) -> Terrain {
    let at = |x: u32, y: u32| x % width + y % width * width;
    let all = (0..width * width).map(|place| (place % width, place / width));
    let ends: Vec<_> =
        all.flat_map(|(x, y)| [(at(x, y), at(x + 1, y), 1), (at(x, y), at(x, y + 1), 1)]).collect();
    linked(width * width, &ends)
}

/// A ring of four whose link from 3 to 0 carries 3, the others 10.
pub(crate) fn one_slow_link() -> Terrain {
    linked(4, &[(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 3)])
}
