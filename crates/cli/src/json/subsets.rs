//! The ranking of subsets, within `weft/predict/1`.

use serde::Serialize;
use weft_catalogue::Catalogue;
use weft_predictor::subsets::{Ranking, SubsetClass};
use weft_topology::{NodeId, Topology};

use crate::subsets::visible;

/// The ranking.
#[derive(Debug, Serialize)]
pub struct SubsetsJson {
    gpus_per_subset: usize,
    free: Vec<String>,
    bytes: u64,
    subset_count: u64,
    classes: Vec<ClassJson>,
    unpredicted_count: usize,
}

#[derive(Debug, Serialize)]
struct ClassJson {
    gpus: Vec<String>,
    subset_count: u64,
    busbw_bytes_per_s: Option<u64>,
    time_s: Option<f64>,
    left: LeftJson,
    nics: Vec<NearJson>,
    environment: String,
}

#[derive(Debug, Serialize)]
struct LeftJson {
    gpu_count: usize,
    gpus: Vec<String>,
    busbw_bytes_per_s: Option<u64>,
    fast_pair_count: usize,
}

#[derive(Debug, Serialize)]
struct NearJson {
    gpus: Vec<String>,
    class: String,
    nics: Vec<String>,
}

impl SubsetsJson {
    /// As JSON.
    pub fn of(ranking: &Ranking, topology: &Topology, catalogue: &Catalogue) -> Self {
        let names = |nodes: &[NodeId]| nodes.iter().map(|node| topology.name(*node)).collect();
        let class = |class: &SubsetClass| ClassJson {
            gpus: names(&class.gpus),
            subset_count: class.subset_count,
            busbw_bytes_per_s: class.row.as_ref().map(|row| row.busbw.get()),
            time_s: class.row.as_ref().map(|row| row.time.as_seconds()),
            left: LeftJson {
                gpu_count: class.left.count,
                gpus: names(&class.left.gpus),
                busbw_bytes_per_s: class.left.busbw.map(weft_base::Rate::get),
                fast_pair_count: class.left.fast_pair_count,
            },
            nics: class
                .nics
                .iter()
                .map(|near| NearJson {
                    gpus: names(&near.gpus),
                    class: near.class.to_string(),
                    nics: names(&near.nics),
                })
                .collect(),
            environment: visible(&class.gpus, topology, catalogue),
        };
        Self {
            gpus_per_subset: ranking.count,
            free: names(&ranking.free),
            bytes: ranking.bytes.get(),
            subset_count: ranking.subset_count,
            classes: ranking.classes.iter().map(class).collect(),
            unpredicted_count: ranking.unpredicted_count,
        }
    }
}
