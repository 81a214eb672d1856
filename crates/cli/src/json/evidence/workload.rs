use serde::Serialize;
use weft_base::Place;
use weft_formats::{Workload, WorkloadCollective, WorkloadCount};

/// An execution trace.
#[derive(Debug, Serialize)]
pub struct WorkloadJson {
    format: &'static str,
    file: String,
    version: String,
    nodes: Vec<CountJson>,
    collectives: Vec<CollectiveJson>,
    groups: Vec<String>,
    compute_time_ps: u64,
    host_time_ps: u64,
    communication_time_ps: u64,
    dependencies: usize,
    complete: bool,
}

#[derive(Debug, Serialize)]
struct CountJson {
    kind: &'static str,
    count: u64,
    time_ps: u64,
}

#[derive(Debug, Serialize)]
struct CollectiveJson {
    kind: Option<String>,
    bytes: Option<u64>,
    group: Option<String>,
    count: u64,
    time_ps: u64,
}

impl WorkloadJson {
    pub fn new(workload: &Workload, place: &Place) -> Self {
        Self {
            format: workload.format,
            file: place.file.clone(),
            version: workload.version.clone(),
            nodes: workload.counts.iter().map(count).collect(),
            collectives: workload.collectives.iter().map(collective).collect(),
            groups: workload.groups.clone(),
            compute_time_ps: workload.compute_time.get(),
            host_time_ps: workload.host_time.get(),
            communication_time_ps: workload.communication_time.get(),
            dependencies: workload.dependencies,
            complete: workload.is_complete,
        }
    }
}

fn count(own: &WorkloadCount) -> CountJson {
    CountJson { kind: own.kind.word(), count: own.count, time_ps: own.time.get() }
}

fn collective(own: &WorkloadCollective) -> CollectiveJson {
    CollectiveJson {
        kind: own.kind.clone(),
        bytes: own.bytes.map(weft_base::Bytes::get),
        group: own.group.clone(),
        count: own.count,
        time_ps: own.time.get(),
    }
}
