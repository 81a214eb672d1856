//! Which GPUs of which machine ran a benchmark, by its list of ranks.

use std::collections::{BTreeMap, BTreeSet};

use weft_catalogue::{Catalogue, Machine};
use weft_formats::Benchmark;

use crate::Launch;
use crate::validate::{Measurement, Nodes, Software, machine};

/// Why a benchmark cannot be put beside a machine. Reads as "failed to compare: {error}".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RanksError {
    /// The table does not say how many ranks there were, and nothing tells.
    #[error("the table lists no ranks, and busbw / algbw does not tell how many there were")]
    Unknown,
    /// One rank moves nothing.
    #[error("one rank alone moves nothing; its bandwidth is 0 by definition")]
    One,
    /// More ranks than GPUs, and not several hosts full of them.
    #[error("{ranks} ranks do not fill hosts of {per_host} GPUs")]
    Uneven {
        /// Ranks that ran.
        ranks: usize,
        /// GPUs of a host.
        per_host: usize,
    },
    /// The list names no GPU, or several.
    #[error("the ranks name {gpus} models of GPUs, from which no machine follows")]
    Models {
        /// How many different ones.
        gpus: usize,
    },
    /// Nothing is known of a server with these GPUs.
    #[error("{why}")]
    Machine {
        /// Which field is missing or unknown.
        why: String,
    },
}

/// Where the ranks sat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seats {
    /// Like hosts.
    pub hosts: u32,
    /// GPUs by their number over all hosts, host by host; `None` for all of them.
    pub gpus: Option<Vec<usize>>,
}

/// Where the ranks of a benchmark sat on hosts of `per_host` GPUs each, of which the machine has `hosts`.
pub fn seats(benchmark: &Benchmark, per_host: usize, hosts: u32) -> Result<Seats, RanksError> {
    let known = usize::try_from(hosts).unwrap_or(usize::MAX);
    let listed = benchmark.rank_count.or((!benchmark.ranks.is_empty()).then_some(benchmark.ranks.len()));
    // What nothing tells of is what the machine has.
    let ranks = listed.unwrap_or(per_host.saturating_mul(known));
    if ranks < 2 {
        return Err(if listed.is_none() { RanksError::Unknown } else { RanksError::One });
    }
    let named = benchmark.hosts().len();
    let needed = named.max(ranks.div_ceil(per_host.max(1))).max(1);
    if !ranks.is_multiple_of(needed) {
        return Err(RanksError::Uneven { ranks, per_host });
    }
    let each = ranks / needed;
    let devices = devices(benchmark, each, per_host);
    let gpus = (0..needed).flat_map(|host| devices.iter().map(move |device| host * per_host + device));
    let hosts = u32::try_from(needed).unwrap_or(u32::MAX);
    Ok(Seats { hosts, gpus: (each != per_host).then(|| gpus.collect()) })
}

/// The numbers of the GPUs that ran on the first host; the first ones where the list does not say.
fn devices(benchmark: &Benchmark, each: usize, per_host: usize) -> Vec<usize> {
    let first = benchmark.ranks.first().and_then(|rank| rank.host.as_deref());
    let own = benchmark.ranks.iter().filter(|rank| rank.host.as_deref() == first);
    let mut devices: Vec<usize> = own
        .filter_map(|rank| usize::try_from(rank.device?).ok())
        .filter(|device| *device < per_host)
        .collect();
    devices.sort_unstable();
    devices.dedup();
    if devices.len() == each { devices } else { (0..each).collect() }
}

/// Who started the kernels, where the list of ranks or the settings tell it: processes of one GPU each, or one of all
/// GPUs of its host.
pub fn launch(benchmark: &Benchmark) -> Option<Launch> {
    let ranks = benchmark.ranks.len();
    let processes: BTreeSet<(Option<&str>, u32)> =
        benchmark.ranks.iter().filter_map(|rank| Some((rank.host.as_deref(), rank.process?))).collect();
    if ranks > 1 && !processes.is_empty() {
        return Some(if processes.len() == ranks { Launch::ProcessPerGpu } else { Launch::OneProcess });
    }
    let setting = benchmark.parameters.iter().find(|(name, _)| name == "nGpus");
    let gpus: usize = setting?.1.parse().ok()?;
    match (gpus, benchmark.rank_count) {
        (2.., _) => Some(Launch::OneProcess),
        (1, Some(2..)) => Some(Launch::ProcessPerGpu),
        _ => None,
    }
}

/// The usual machine with the GPUs that the ranks name.
pub fn machine_of_ranks(benchmark: &Benchmark, catalogue: &Catalogue) -> Result<Machine, RanksError> {
    let models = benchmark.gpus();
    let [model] = models[..] else { return Err(RanksError::Models { gpus: models.len() }) };
    let mut by_host: BTreeMap<&str, usize> = BTreeMap::new();
    for rank in &benchmark.ranks {
        *by_host.entry(rank.host.as_deref().unwrap_or_default()).or_default() += 1;
    }
    let most = by_host.values().max().copied().unwrap_or(0);
    let hosts = by_host.len().max(1);
    let row = Measurement {
        line: 0,
        system: String::new(),
        gpu: model.to_owned(),
        gpus: u16::try_from(most * hosts).ok(),
        nodes: Nodes::Count(u16::try_from(hosts).unwrap_or(u16::MAX)),
        intra_link: String::new(),
        inter_link: String::new(),
        collective_name: String::new(),
        collective: None,
        algorithm: String::new(),
        software: Software { is_rccl: false, version: None, launch: None },
        unmarked_by_sharp: false,
        size: None,
        busbw: None,
        reading: None,
        source: String::new(),
    };
    let mut machine = machine::of(&row, catalogue).map_err(|why| RanksError::Machine { why })?;
    machine.name = format!("{most} x {model}");
    machine.host.count = u32::try_from(hosts).unwrap_or(u32::MAX);
    Ok(machine)
}
