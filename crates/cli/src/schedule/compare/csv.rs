//! A line for each job under each policy.

use std::fmt::Write as _;

use weft_base::Moment;
use weft_scheduler::policy::End;
use weft_scheduler::world::Fate;

use super::Comparison;
use crate::cells::quoted;

const HEAD: &str = "policy,job,row,queue,priority,members,gpus,submit_s,start_s,end_s,wait_s,work_s,lost_s,starts,put_out,\
    broken,state,nodes";

/// The table.
pub fn csv(comparison: &Comparison<'_>) -> String {
    let scenario = comparison.scenario;
    let mut text = format!("{HEAD}\n");
    let seconds = |at: Option<Moment>| at.map_or_else(String::new, |at| at.as_seconds().to_string());
    for run in comparison.runs {
        for job in &run.record.jobs {
            let queue = scenario.queues.get(job.queue.at()).map_or("", |queue| queue.name.as_str());
            let nodes = job.stays.last().map_or_else(Vec::new, |stay| stay.nodes.clone());
            let nodes: Vec<&str> =
                nodes.iter().map(|node| scenario.cluster.nodes[node.at()].name.as_str()).collect();
            let cells = [
                run.strategy.name.to_owned(),
                job.name.clone(),
                scenario.row_of(&job.name).to_owned(),
                queue.to_owned(),
                job.priority.to_string(),
                job.member_count.to_string(),
                gpus(job.gpu_milli),
                seconds(Some(job.submitted)),
                seconds(job.started),
                seconds(job.ended),
                seconds(Some(job.waiting)),
                seconds(Some(job.work)),
                seconds(Some(job.lost)),
                job.start_count.to_string(),
                job.put_out_count.to_string(),
                job.broken_count.to_string(),
                state(&job.fate).to_owned(),
                nodes.join(" "),
            ];
            let _ = writeln!(text, "{}", cells.map(|cell| quoted(&cell)).join(","));
        }
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "no job has 2^53 GPUs")]
fn gpus(amount_milli: u64) -> String {
    (amount_milli as f64 / 1000.0).to_string()
}

/// How a job stands when the run is over.
pub fn state(fate: &Fate) -> &'static str {
    match fate {
        Fate::Ended(End::Done) => "done",
        Fate::Ended(End::Failed) => "failed",
        Fate::Ended(End::Cancelled) => "cancelled",
        Fate::On => "running",
        Fate::Waits(_) => "waiting",
    }
}
