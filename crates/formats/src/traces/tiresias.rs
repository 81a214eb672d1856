//! The tables of the Tiresias simulator (Gu et al., NSDI'19): jobs, and the cluster that they are for. Times are in seconds
//! from the beginning of the trace.

use csv::StringRecord;
use weft_base::{Diagnostic, Moment, Period};

use super::{Rows, Table};

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiresiasRow {
    /// Its line.
    pub line: u32,
    /// `job_id`.
    pub name: String,
    /// When it was submitted.
    pub submitted: Moment,
    /// How long it runs on GPUs of its own.
    pub duration: Period,
    /// GPUs.
    pub gpu_count: u32,
    /// The network that it trains; empty where the table has no `model_name`.
    pub model: String,
}

/// A cluster of nodes that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TiresiasCluster {
    /// Leaf switches.
    pub switch_count: u32,
    /// Nodes under each.
    pub switch_node_count: u32,
    /// GPUs of a node.
    pub gpu_count: u8,
    /// Cores of a node.
    pub core_count: u32,
    /// Memory of a node; the table counts it in GiB.
    pub memory_mib: u32,
}

/// Reads `job_id,num_gpu,submit_time,duration`, and `model_name` where it is there.
pub fn tiresias(file: &str, text: &str) -> Rows<TiresiasRow> {
    let table = match Table::read(file, text) {
        Ok(table) => table,
        Err(why) => return Rows::refused(why),
    };
    let model = table.column("model_name");
    match table.columns(["job_id", "num_gpu", "submit_time", "duration"]) {
        Ok(columns) => Rows::of(&table, |row| read(&table, row, columns, model)),
        Err(why) => Rows::refused(why),
    }
}

fn read(
    table: &Table<'_>,
    row: &StringRecord,
    [name, gpus, submitted, duration]: [usize; 4],
    model: Option<usize>,
) -> Result<TiresiasRow, Diagnostic> {
    let cell = |at: usize| row.get(at).unwrap_or_default().to_owned();
    let found = TiresiasRow {
        line: table.line(row),
        name: cell(name),
        submitted: table.seconds(row, submitted)?,
        duration: table.seconds(row, duration)?,
        gpu_count: table.number(row, gpus)?,
        model: model.map(cell).unwrap_or_default(),
    };
    if found.gpu_count == 0 {
        return Err(table.wrong(row, gpus, "a job of this trace has at least one GPU"));
    }
    if found.duration == Period::ZERO {
        return Err(table.wrong(row, duration, "a job runs for some time"));
    }
    Ok(found)
}

/// Reads `num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node` with one row below it.
///
/// # Errors
///
/// The first thing that is wrong with the table.
pub fn tiresias_cluster(file: &str, text: &str) -> Result<TiresiasCluster, Diagnostic> {
    let table = Table::read(file, text)?.whole()?;
    let names = ["num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node"];
    let [switches, nodes, gpus, cores, memory] = table.columns(names)?;
    let Some(row) = table.rows().first() else {
        return Err(Diagnostic::error(super::TRACE_MALFORMED, "the cluster has no row")
            .at(weft_base::Place::new(file, 2, 1, 1))
            .hint("below the head stands one line of numbers"));
    };
    let gib: u32 = table.number(row, memory)?;
    Ok(TiresiasCluster {
        switch_count: table.number(row, switches)?,
        switch_node_count: table.number(row, nodes)?,
        gpu_count: table.number(row, gpus)?,
        core_count: table.number(row, cores)?,
        memory_mib: gib.checked_mul(1024).ok_or_else(|| table.wrong(row, memory, "no node has as much"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::{TiresiasCluster, tiresias, tiresias_cluster};
    use weft_base::Period;

    #[test]
    fn jobs_and_their_cluster_are_read() {
        let text = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n\
            0,1,0,606,vgg19,164,30\n1,8,30,133,vgg11,147,23\n2,2,x,157,inception4,127,26\n";
        let found = tiresias("60_job.csv", text);
        assert_eq!(found.rows.len(), 2);
        let last = &found.rows[1];
        assert_eq!((last.name.as_str(), last.gpu_count, last.model.as_str()), ("1", 8, "vgg11"));
        assert_eq!(
            (last.submitted, last.duration),
            (Period::milliseconds(30_000), Period::milliseconds(147_000))
        );
        let place = found.diagnostics[0].place.as_ref().map(|place| (place.line, place.column));
        assert_eq!(place, Some((4, 5)));

        let cluster = tiresias_cluster(
            "n32g4.csv",
            "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n1,32,4,40,256\n",
        );
        let wanted = TiresiasCluster {
            switch_count: 1,
            switch_node_count: 32,
            gpu_count: 4,
            core_count: 40,
            memory_mib: 256 * 1024,
        };
        assert_eq!(cluster, Ok(wanted));
        assert!(tiresias_cluster("c", "num_switch\n1\n").is_err());
    }
}
