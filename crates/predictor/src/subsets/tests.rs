//! Subsets of machines whose answers are known.

use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NodeId, NodeKind, Topology, build, oneliner};

use super::{Ranking, rank};
use crate::{PredictError, Request};

fn machine(text: &str) -> Topology {
    let catalogue = Catalogue::embedded();
    let machine = match catalogue.system(text) {
        Ok(system) => system.clone(),
        Err(_) => oneliner::parse(text, catalogue).unwrap(),
    };
    build(&machine, catalogue).unwrap().topology
}

fn ranked(topology: &Topology, count: usize, busy: &[usize]) -> Ranking {
    let mut request = Request::new(Collective::AllReduce);
    request.sizes = vec![Bytes::new(256 << 20)];
    let gpus: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let busy: Vec<NodeId> = busy.iter().map(|gpu| gpus[*gpu]).collect();
    rank(topology, Catalogue::embedded(), &request, count, &busy).unwrap()
}

fn numbers(topology: &Topology, gpus: &[NodeId]) -> Vec<u32> {
    gpus.iter().map(|gpu| topology.node(*gpu).number).collect()
}

/// Behind `NVSwitches` all GPUs are alike: one class of C(8, 4) = 70, C(16, 8) = 12,870.
#[test]
fn behind_switches_all_subsets_are_alike() {
    let dgx = machine("dgx-a100");
    let four = ranked(&dgx, 4, &[]);
    // PCIe switches still tell pairs apart; what they reach does not.
    assert_eq!((four.classes.len(), four.classes[0].subset_count), (1, 70));
    let sixteen = ranked(&machine("dgx-2"), 8, &[]);
    assert_eq!((sixteen.subset_count, sixteen.classes.len()), (12_870, 1));
}

/// DGX-1's mesh of cubes: each half of it has all six pairs joined by NVLink, so four GPUs of one half make the
/// best ring, and the other half stays whole. Subsets that are split over the halves are worse or leave less
/// (nccl#602: which subsets get how many NVLinks).
#[test]
fn four_of_a_dgx_1_are_one_half_of_it() {
    let dgx = machine("dgx-1");
    let ranking = ranked(&dgx, 4, &[]);
    assert_eq!(ranking.subset_count, 70);
    assert!(ranking.classes.len() < 16, "{} classes", ranking.classes.len());
    assert_eq!(ranking.classes.iter().map(|class| class.subset_count).sum::<u64>(), 70);
    let best = &ranking.classes[0];
    assert_eq!(numbers(&dgx, &best.gpus), [0, 1, 2, 3]);
    assert_eq!(numbers(&dgx, &best.left.gpus), [4, 5, 6, 7]);
    assert_eq!(best.left.busbw, best.row.as_ref().map(|row| row.busbw));
    // Two links between the best pairs, one between others: a ring of the best is twice one of the worst at least.
    let rates = ranking.classes.iter().filter_map(|class| Some(class.row.as_ref()?.busbw.as_gigabytes()));
    let rates: Vec<f64> = rates.collect();
    assert!(rates[0] > 1.9 * rates[rates.len() - 1], "{rates:?}");
}

/// Jobs of one GPU break pairs (k8s-device-plugin#1193): with GPU 0 of four bridged pairs in use, the next single
/// job belongs on GPU 1, whose bridge is of no use to anyone else.
#[test]
fn single_gpus_go_to_pairs_that_are_broken_already() {
    let pairs = machine("8 a100-pcie-40gb @ pcie4x16 + 4 nvlink-bridge");
    let fresh = ranked(&pairs, 1, &[]);
    assert_eq!((fresh.subset_count, fresh.classes[0].left.fast_pair_count), (8, 3));
    let next = ranked(&pairs, 1, &[0]);
    assert_eq!(next.subset_count, 7);
    assert_eq!(numbers(&pairs, &next.classes[0].gpus), [1]);
    assert_eq!(next.classes[0].left.fast_pair_count, 3);
    assert!(next.classes[1..].iter().all(|class| class.left.fast_pair_count == 2));
    // A pair takes a bridge, and the best of them leaves the others whole.
    let two = ranked(&pairs, 2, &[0]);
    let best = &two.classes[0];
    assert_eq!((numbers(&pairs, &best.gpus), best.left.fast_pair_count), (vec![2, 3], 2));
    assert!(best.row.as_ref().unwrap().busbw > two.classes.last().unwrap().row.as_ref().unwrap().busbw);
}

/// 16 GPUs on PCIe, four switches of four: subsets of eight fold to the ways to split 8 over the switches.
#[test]
fn sixteen_behind_four_switches_fold_to_a_few() {
    let topology = machine("16 a40 @ pcie-switch(4)");
    let ranking = ranked(&topology, 8, &[]);
    assert_eq!(ranking.subset_count, 12_870);
    assert!(ranking.classes.len() <= 40, "{}", ranking.classes.len());
}

#[test]
fn more_than_there_are_is_no_subset() {
    let request = Request::new(Collective::AllReduce);
    let dgx = machine("dgx-a100");
    let none = rank(&dgx, Catalogue::embedded(), &request, 9, &[]).unwrap();
    assert_eq!((none.subset_count, none.classes.len()), (0, 0));
    let error = PredictError::TooManySubsets { gpus: 40, count: 20 };
    assert!(error.to_string().contains("20 of 40"));
}
