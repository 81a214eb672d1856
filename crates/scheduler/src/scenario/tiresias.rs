//! Tables of the Tiresias simulator as parts of a scenario.

use weft_formats::traces::{JobLine, JobRow, TiresiasCluster, TiresiasRow};

/// Jobs of a trace: gangs of one-GPU members, near each other where that is possible, as its consolidated placement has
/// them. Policies that need a limit are given the run time.
pub fn tiresias_jobs(rows: &[TiresiasRow]) -> Vec<JobLine> {
    let line = |row: &TiresiasRow| JobLine {
        line: row.line,
        row: JobRow {
            job: row.name.clone(),
            submit: Some(row.submitted),
            duration: row.duration,
            limit: Some(row.duration),
            members: Some(row.gpu_count),
            gpu_count: Some(1.0),
            near: Some("node".to_owned()),
            ..JobRow::default()
        },
    };
    rows.iter().map(line).collect()
}

/// The cluster of a trace as a scenario. Its jobs say nothing of cores and memory, so that neither is short.
pub fn tiresias_nodes(cluster: &TiresiasCluster) -> String {
    let TiresiasCluster { switch_count, switch_node_count, gpu_count, core_count, memory_mib } = *cluster;
    format!(
        "title = \"A trace of Tiresias\"\n\n[[nodes]]\nname = \"node\"\ncount = {}\ngpus = {gpu_count}\ncpus = {core_count}\n\
         memory = \"{memory_mib} MiB\"\nleaf = {switch_node_count}\n",
        switch_count.saturating_mul(switch_node_count)
    )
}
