use super::*;
use crate::algorithms::testing::{pairs, traffic, verified};
use crate::{Level, Rank, Switch};

/// 3 hosts of 4 ranks.
fn three_hosts() -> Terrain {
    Terrain::hosts(3, 4)
}

/// Bytes that all ranks together send to other hosts of `size`, and inside.
fn across(plan: &Plan, call: &Call, size: u32) -> (u64, u64) {
    let layout = crate::Layout::new(call, plan.ranks, plan.pieces);
    let (mut out, mut inside) = (0, 0);
    for rank in (0..plan.ranks).map(Rank::new) {
        let mut ops = Vec::new();
        for thread in 0..u16::try_from(plan.threads.len()).unwrap() {
            let mut walk = plan.steps(rank, thread);
            while walk.next_into(&mut ops).is_some() {}
        }
        for (from, to) in ops.iter().filter_map(crate::algorithms::testing::sent) {
            let near = to.is_none_or(|to| to.get() / size == rank.get() / size);
            *(if near { &mut inside } else { &mut out }) += layout.slice_bytes(rank, &from);
        }
    }
    (out, inside)
}

#[test]
fn hosts_exchange_the_least_and_ranks_the_least() {
    // 2 x 3 steps inside hosts, 2 x 2 across. Inside 2 x 3/4 of 1,200 bytes a rank; across 2 x 2/3 of its quarter.
    let call = Call::bytes(Collective::AllReduce, 1200);
    let plan = Hierarchy::TWO_LEVEL.plan(&call, &three_hosts());
    let traffic = traffic(&plan, &call);
    assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes) == (10, 1800 + 400)));
    assert_eq!(across(&plan, &call, 4), (12 * 400, 12 * 1800));
    // Nothing goes across but between the same places.
    assert!(pairs(&plan).iter().all(|(from, to)| from / 4 == to / 4 || from % 4 == to % 4));
    // A flat ring would send 2 x 11/12 of 1,200 across each of 3 borders: less in all, but through one NIC each.
    let ring = crate::algorithm("ring").unwrap().plan(&call, &three_hosts());
    assert_eq!(across(&ring, &call, 4).0, 3 * 2200);
}

#[test]
fn parts_go_across_once() {
    // All-gather of 10 bytes each: across 2 parts a rank, inside 3 x 3 parts; reduce-scatter the same backwards.
    for collective in [Collective::AllGather, Collective::ReduceScatter] {
        let call = Call::bytes(collective, 10);
        let plan = Hierarchy::TWO_LEVEL.plan(&call, &three_hosts());
        assert_eq!(across(&plan, &call, 4), (12 * 20, 12 * 90));
    }
}

#[test]
fn a_broadcast_crosses_each_border_once() {
    // From rank 5 (host 1): 3/4 of 1,200 bytes to its neighbours; a quarter along each rail to 2 other hosts; then each
    // host gathers: 4 ranks x 3 quarters.
    let call = Call { root: Rank::new(5), ..Call::bytes(Collective::Broadcast, 1200) };
    for algorithm in [Hierarchy::TWO_LEVEL, Hierarchy::TWO_LEVEL_TREE] {
        let plan = algorithm.plan(&call, &three_hosts());
        assert_eq!(across(&plan, &call, 4), (2 * 1200, 900 + 3 * 3600));
    }
}

#[test]
fn each_of_three_levels_moves_what_the_inner_ones_leave() {
    // 2 racks of 2 hosts of 4: of 1,600 bytes 2 x 3/4 inside hosts, 2 x 1/2 of a quarter inside racks, 2 x 1/2 of an
    // eighth across.
    let group_of = (0..16).map(|rank| rank / 8).collect();
    let terrain = Terrain::hosts(4, 4).with_level(Level { name: "rack", group_of });
    let call = Call::bytes(Collective::AllReduce, 1600);
    let plan = Hierarchy::THREE_LEVEL.plan(&call, &terrain);
    let traffic = traffic(&plan, &call);
    assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes) == (10, 2400 + 400 + 200)));
    assert_eq!(across(&plan, &call, 8).0, 16 * 200);
}

#[test]
fn switches_halve_what_ranks_send_inside() {
    // Contributions of 3/4, and a quarter to be copied: 1 x 1,600 bytes instead of 2 x 3/4; across as before.
    let able = Switch { reduces: true, multicasts: true };
    let terrain = Terrain::switched(2, 4, (able, 9), (Switch::default(), 1));
    let call = Call::bytes(Collective::AllReduce, 1600);
    let traffic = traffic(&Hierarchy::NVLS_RING.plan(&call, &terrain), &call);
    assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes) == (4, 1600 + 400)));
    let refused = Hierarchy::NVLS_SHARP.suits(&call, &terrain).unwrap_err().to_string();
    assert_eq!(refused, "nvls-sharp needs switches that add, and that join each group");
    let refused = Hierarchy::THREE_LEVEL.suits(&call, &terrain).unwrap_err().to_string();
    assert_eq!(refused, "three-level needs two levels, each of groups of the same size with ranks in order");
}

#[test]
fn channels_and_chunks_are_right() {
    let all = [
        Hierarchy::TWO_LEVEL,
        Hierarchy::TWO_LEVEL_DIRECT,
        Hierarchy::TWO_LEVEL_TREE,
        Hierarchy::THREE_LEVEL,
        Hierarchy::NVLS_RING,
        Hierarchy::NVLS_TREE,
        Hierarchy::NVLS_SHARP,
    ];
    for algorithm in all {
        let proved = verified(&algorithm, &[6, 8, 9, 12], Some(Shape { channels: 2, pipeline: 3 }));
        assert!(proved > 10, "{}: {proved}", algorithm.name());
    }
}
