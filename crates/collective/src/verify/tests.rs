use weft_base::Bytes;

use super::{Volume, verify};
use crate::{ALGORITHMS, Call, Collective, Terrain, algorithm};

#[test]
fn every_algorithm_is_proved_for_a_few_ranks() {
    for algorithm in ALGORITHMS {
        for collective in algorithm.collectives() {
            for ranks in [1, 2, 3, 8, 17] {
                let (call, terrain) = (Call::bytes(*collective, 7), Terrain::flat(ranks));
                if algorithm.suits(&call, &terrain).is_ok() {
                    let proof = verify(&algorithm.plan(&call, &terrain), &call);
                    let (name, collective) = (algorithm.name(), collective.name());
                    assert!(proof.is_ok(), "{name} {collective} {ranks}: {}", proof.unwrap_err());
                }
            }
        }
    }
}

#[test]
fn a_ring_all_reduce_moves_the_least_and_has_two_messages_per_other_rank() {
    let (call, terrain) = (Call::bytes(Collective::AllReduce, 800), Terrain::flat(8));
    let proof = verify(&algorithm("ring").unwrap().plan(&call, &terrain), &call).unwrap();
    // 2 x 7 steps, in each of which 8 ranks send an eighth.
    let volume = Volume { most: Bytes::new(1400), total: Bytes::new(11200) };
    assert_eq!((proof.chain, proof.message_count), (14, 112));
    assert_eq!((proof.sent, proof.received), (volume, volume));
    assert_eq!((proof.bound.sent, proof.bound.received), (volume, volume));
    assert!(proof.rendezvous);
}
