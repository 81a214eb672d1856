use serde::Serialize;
use weft_base::{Place, Rate};
use weft_formats::WeightMatrix;

/// The tables of one command.
#[derive(Debug, Serialize)]
pub struct WeightsJson {
    format: &'static str,
    file: String,
    line: u32,
    gpus: Vec<GpuJson>,
    pairs: Vec<PairJson>,
}

#[derive(Debug, Serialize)]
struct GpuJson {
    name: String,
    address: Option<String>,
    architecture: Option<String>,
    numa_node: Option<u32>,
    numa_affinity: Option<u32>,
    cpus: Option<String>,
}

#[derive(Debug, Serialize)]
struct PairJson {
    a: String,
    b: String,
    link: Option<String>,
    weight: Option<u32>,
    hops: Option<u32>,
    access: Option<bool>,
    rate_bytes_per_s: Option<u64>,
}

impl WeightsJson {
    pub fn new(weights: &WeightMatrix, place: &Place) -> Self {
        let pairs = (0..weights.gpus.len()).flat_map(|a| (0..weights.gpus.len()).map(move |b| (a, b)));
        Self {
            format: weights.format,
            file: place.file.clone(),
            line: place.line,
            gpus: (0..weights.gpus.len()).map(|index| gpu(weights, index)).collect(),
            pairs: pairs.filter(|(a, b)| a != b).filter_map(|(a, b)| pair(weights, a, b)).collect(),
        }
    }
}

fn gpu(weights: &WeightMatrix, index: usize) -> GpuJson {
    GpuJson {
        name: weights.gpus[index].clone(),
        address: weights.addresses.get(index).cloned().flatten(),
        architecture: weights.arch.get(index).cloned().flatten(),
        numa_node: weights.numa.get(index).copied().flatten(),
        numa_affinity: weights.affinity.get(index).copied().flatten(),
        cpus: weights.cpus.get(index).cloned().flatten(),
    }
}

/// What the row of `a` says of `b`; nothing where it says nothing.
fn pair(weights: &WeightMatrix, a: usize, b: usize) -> Option<PairJson> {
    let slot = a * weights.gpus.len() + b;
    let pair = PairJson {
        a: weights.gpus[a].clone(),
        b: weights.gpus[b].clone(),
        link: weights.links.get(slot).cloned().flatten(),
        weight: weights.weights.get(slot).copied().flatten(),
        hops: weights.hops.get(slot).copied().flatten(),
        access: weights.access.get(slot).copied().flatten(),
        rate_bytes_per_s: weights.rates.get(slot).copied().flatten().map(Rate::get),
    };
    let says = pair.link.is_some()
        || pair.weight.is_some()
        || pair.hops.is_some()
        || pair.access.is_some()
        || pair.rate_bytes_per_s.is_some();
    says.then_some(pair)
}
