//! The calls and terrains over which every algorithm is proved.

use weft_collective::{Algorithm, Call, Collective, Counts, DataType, Edge, Level, Switch, Terrain, Vertex};

/// A name for messages, and the call.
pub type Case = (&'static str, Call);

/// Calls of a collective over so many ranks: of each size, in and out of place.
pub fn calls(collective: Collective, ranks: u32) -> Vec<Case> {
    let even = |bytes| Call::bytes(collective, bytes);
    let mut calls = vec![
        ("empty", even(0)),
        ("one", even(1)),
        ("odd", even(7)),
        ("large", Call { data_type: DataType::Single, ..even(1_000_003) }),
    ];
    let each = 0..u64::from(ranks);
    match collective {
        Collective::AllGather | Collective::ReduceScatter => {
            let counts = each.map(|rank| rank * rank * 3 % 11).collect();
            calls.push(("uneven", Call { counts: Counts::PerRank(counts), ..even(0) }));
        }
        Collective::AllToAll => {
            // The same in both directions of a pair, so that it can be done in place, and with zeros.
            let counts =
                each.clone().flat_map(|one| each.clone().map(move |other| (one * other + one + other) % 4));
            calls.push(("symmetric", Call { counts: Counts::PerPair(counts.collect()), ..even(0) }));
            let counts =
                each.clone().flat_map(|one| each.clone().map(move |other| (3 * one + 7 * other) % 5));
            calls.push(("uneven", Call { counts: Counts::PerPair(counts.collect()), ..even(0) }));
        }
        Collective::Broadcast | Collective::Reduce | Collective::SendRecv => {
            let root = weft_collective::Rank::new(ranks / 2);
            let peer = weft_collective::Rank::new(ranks - 1);
            calls.push(("other root", Call { root, peer, ..even(1001) }));
        }
        Collective::AllReduce | Collective::Barrier => {}
    }
    if ranks == 1 && collective == Collective::SendRecv {
        let only = weft_collective::Rank::new(0);
        for (_, call) in &mut calls {
            call.peer = only;
        }
    }
    let in_place = calls
        .clone()
        .into_iter()
        .filter(|(name, call)| !(call.collective == Collective::AllToAll && *name == "uneven" && ranks > 1));
    let in_place: Vec<_> = in_place.map(|(name, call)| (name, Call { in_place: true, ..call })).collect();
    calls.extend(in_place);
    calls
}

/// Terrains of so many ranks: without anything known, hosts of several sizes, with pods around them, and with
/// switches that add and copy.
pub fn terrains(ranks: u32) -> Vec<Terrain> {
    let mut terrains = vec![Terrain::flat(ranks), around(Terrain::flat(ranks))];
    for per_host in [2, 4, 8] {
        if !ranks.is_multiple_of(per_host) || ranks <= per_host {
            continue;
        }
        let hosts = ranks / per_host;
        terrains.push(Terrain::hosts(hosts, per_host));
        if per_host < 8 {
            terrains.push(around(Terrain::hosts(hosts, per_host)));
        }
        if hosts.is_multiple_of(2) && hosts > 2 {
            let group_of = (0..ranks).map(|rank| rank / per_host / 2).collect();
            terrains.push(Terrain::hosts(hosts, per_host).with_level(Level { name: "pod", group_of }));
        }
    }
    terrains
}

/// Every host with a switch of its own that adds and copies, and one such switch between all ranks.
fn around(terrain: Terrain) -> Terrain {
    let ranks = terrain.ranks();
    let hosts: Vec<u32> = match terrain.levels().first() {
        Some(level) => level.group_of.clone(),
        None => vec![0; ranks as usize],
    };
    let count = hosts.iter().max().map_or(1, |last| last + 1);
    let mut edges = Vec::new();
    for (rank, host) in (0..).zip(hosts) {
        for switch in [ranks + host, ranks + count] {
            let (rank, switch) = (Vertex(rank), Vertex(switch));
            edges.push(Edge { from: rank, to: switch, capacity: 1 });
            edges.push(Edge { from: switch, to: rank, capacity: 1 });
        }
    }
    let switches = vec![Switch { reduces: true, multicasts: true }; count as usize + 1];
    terrain.with_graph(switches, edges)
}

/// What a test says of a case that fails.
pub fn name(algorithm: &dyn Algorithm, case: &Case, terrain: &Terrain) -> String {
    let (size, call) = case;
    let place = if call.in_place { "in place" } else { "out of place" };
    let levels: Vec<_> =
        terrain.levels().iter().map(|level| level.group_of.iter().max().map_or(0, |last| last + 1)).collect();
    let switches = terrain.switches().len();
    format!(
        "{} {} {size} {place}, {} ranks in groups {levels:?}, {switches} switches",
        algorithm.name(),
        call.collective.name(),
        terrain.ranks(),
    )
}
