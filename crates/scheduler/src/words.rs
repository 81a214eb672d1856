//! Reasons, decisions and stories in words.

use weft_base::{Moment, Period};

use crate::book::Queue;
use crate::cluster::{Cluster, Level, NodeId};
use crate::job::JobId;
use crate::policy::{Act, End, Lack, Reason};
use crate::world::{Happening, Record, Trouble};

/// Names that a list has before the rest is counted.
const NAMED_MOST: usize = 4;

/// Tells what happened, with the names of jobs, nodes and queues.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// The machines.
    pub cluster: &'a Cluster,
    /// The queues.
    pub queues: &'a [Queue],
    /// The run.
    pub record: &'a Record,
}

impl Words<'_> {
    /// What a job is called.
    pub fn job(&self, job: JobId) -> String {
        self.record.jobs.get(job.at()).map_or_else(|| format!("job {}", job.0), |job| job.name.clone())
    }

    fn jobs(&self, jobs: &[JobId]) -> String {
        listed(jobs.iter().map(|job| self.job(*job)).collect())
    }

    fn node(&self, node: NodeId) -> String {
        self.cluster.nodes.get(node.at()).map_or_else(|| format!("node {}", node.0), |node| node.name.clone())
    }

    fn nodes(&self, nodes: &[NodeId]) -> String {
        listed(nodes.iter().map(|node| self.node(*node)).collect())
    }

    fn domain(&self, level: Level, domain: u32) -> String {
        match level {
            Level::Node => self.node(NodeId(domain)),
            Level::Cluster => "the cluster".to_owned(),
            Level::Domain | Level::Rack | Level::Leaf | Level::Spine => format!("{} {domain}", level.word()),
        }
    }

    /// Reasons as one fragment; empty without any.
    pub fn reasons(&self, reasons: &[Reason]) -> String {
        reasons.iter().map(|reason| self.reason(reason)).collect::<Vec<_>>().join("; ")
    }

    /// A reason as a fragment: "needs 16 members of 1 GPU under one leaf: leaf 7 has room for 14, leaf 2 for 12".
    pub fn reason(&self, reason: &Reason) -> String {
        match reason {
            Reason::Fits { level, domain, room_count } => {
                format!(
                    "fits {}, which has room for {room_count} such",
                    place(*level, &self.domain(*level, *domain))
                )
            }
            Reason::Apart { level, domain_count } => {
                format!("fits, but over {domain_count} {}s rather than in one", level.word())
            }
            Reason::Backfill { ahead, at } => {
                format!("does not delay {}, which can start at {}", self.job(*ahead), clock(*at))
            }
            Reason::Instead(jobs) => format!("{} make room", self.jobs(jobs)),
            Reason::Lacks(lack) => self.lack(lack),
            Reason::Quota { queue, limit_milli, used_milli } => {
                let name = self.queues.get(queue.at()).map_or("?", |queue| queue.name.as_str());
                let gpus = |milli: u64| gpus(milli);
                format!("the queue {name} may have {} and has {}", gpus(*limit_milli), gpus(*used_milli))
            }
            Reason::Behind(job) => format!("waits behind {}, which none may pass", self.job(*job)),
            Reason::Delays { ahead, at } => {
                format!("would delay {}, which can start at {}", self.job(*ahead), clock(*at))
            }
            Reason::Never(lack) => format!("can never start: {}", self.lack(lack)),
            Reason::Lost(count) => format!("lost {count} of its members"),
            Reason::HeldOff { failed_count: 1, again } => {
                format!("was refused by a node; it is tried again at {}", clock(*again))
            }
            Reason::HeldOff { failed_count, again } => {
                format!("was refused by nodes {failed_count} times; it is tried again at {}", clock(*again))
            }
        }
    }

    fn lack(&self, lack: &Lack) -> String {
        let members = if lack.needed_count == 1 {
            lack.each.clone()
        } else {
            format!("{} members of {}", lack.needed_count, lack.each)
        };
        let place = match lack.level {
            Level::Cluster => String::new(),
            Level::Node => " on one node".to_owned(),
            Level::Leaf => " under one leaf".to_owned(),
            Level::Spine => " under one spine".to_owned(),
            Level::Domain | Level::Rack => format!(" in one {}", lack.level.word()),
        };
        let room = |(domain, count): &(u32, u32)| format!("{} for {count}", self.domain(lack.level, *domain));
        let best: Vec<String> = lack.best.iter().take(NAMED_MOST).map(room).collect();
        let best = match best.split_first() {
            None => "there is no room at all".to_owned(),
            // The whole cluster has room for some, or for none.
            Some(_) if lack.level == Level::Cluster => match lack.best[0].1 {
                0 => "there is room for none".to_owned(),
                count => format!("there is room for {count}"),
            },
            Some((first, rest)) => {
                let first = first.replacen(" for ", " has room for ", 1);
                std::iter::once(first).chain(rest.iter().cloned()).collect::<Vec<_>>().join(", ")
            }
        };
        let freed = match lack.blockers.as_slice() {
            [] => String::new(),
            jobs => format!("; it would fit without {}", self.jobs(jobs)),
        };
        format!("needs {members}{place}: {best}{freed}")
    }

    fn act(&self, act: &Act) -> String {
        let nodes = |members: &[crate::policy::Member]| {
            let mut nodes: Vec<NodeId> = members.iter().map(|member| member.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            self.nodes(&nodes)
        };
        match act {
            Act::Start(_, members) => format!("gets places on {}", nodes(members)),
            Act::Transact { evict, then, .. } => {
                format!("gets places on {} once {} have left", nodes(then), self.jobs(evict))
            }
            Act::Replace(_, members) => {
                let members: Vec<_> = members.iter().map(|(_, member)| *member).collect();
                format!("gets {} of its members anew on {}", members.len(), nodes(&members))
            }
            Act::Shrink(_) => "goes on without the members that it lost".to_owned(),
            Act::Grow(_, members) => format!("gets {} more members on {}", members.len(), nodes(members)),
            Act::Requeue(_) => "is put out and waits again".to_owned(),
            Act::Reserve(promise) => {
                format!("is promised {} from {} on", nodes(&promise.members), clock(promise.at))
            }
            Act::Unreserve => "what was promised is thought over".to_owned(),
            Act::Drain(node) => format!("nothing new comes to {}", self.node(*node)),
        }
    }

    /// What broke.
    pub fn trouble(&self, trouble: Trouble) -> String {
        match trouble {
            Trouble::Node(node) => self.node(node),
            Trouble::Gpu(node, gpu, None) => format!("GPU {gpu} of {}", self.node(node)),
            Trouble::Gpu(node, gpu, Some(xid)) => format!("GPU {gpu} of {} (Xid {xid})", self.node(node)),
            Trouble::Nic(node) => format!("the adapter of {}", self.node(node)),
            Trouble::Flap(node) => format!("the link of {}", self.node(node)),
            Trouble::Leaf(leaf) => format!("leaf {leaf}"),
            Trouble::Rack(rack) => format!("rack {rack}"),
            Trouble::Crash(node, gpu) => format!("the program on GPU {gpu} of {}", self.node(node)),
        }
    }

    /// A moment of a job's story, as a sentence without subject and full stop.
    pub fn happening(&self, what: &Happening) -> String {
        match what {
            Happening::Came => "comes".to_owned(),
            Happening::Waits(reasons) if reasons.is_empty() => "waits".to_owned(),
            Happening::Waits(reasons) => format!("waits: {}", self.reasons(reasons)),
            Happening::Decided(act, reasons) => {
                let why = self.reasons(reasons);
                let why = if why.is_empty() { why } else { format!(": {why}") };
                format!("{}{why}", self.act(act))
            }
            Happening::BindFailed => {
                "does not come up: somebody else was there first, or the node did not answer".to_owned()
            }
            Happening::Up { nodes, saved_share, .. } => {
                let saved = if *saved_share > 0.0 {
                    format!(", with {:.0} % of its work done", 100.0 * saved_share)
                } else {
                    String::new()
                };
                format!("is up on {}{saved}", self.nodes(nodes))
            }
            Happening::Speed(share) => format!("works at {:.0} % of full speed", 100.0 * share),
            Happening::Hit { trouble, lost } => {
                format!("{} breaks: it loses {lost} of work", self.trouble(*trouble))
            }
            Happening::Stalled(time) => format!("waited {time} for a link"),
            Happening::Broken(members) => {
                format!("it is known that {} of its members are lost", members.len())
            }
            Happening::Told(None) => "is told to go".to_owned(),
            Happening::Told(Some(job)) => format!("is told to go, for {}", self.job(*job)),
            Happening::PutOut { lost } if *lost == Period::ZERO => {
                "has gone, without loss, and waits again".to_owned()
            }
            Happening::PutOut { lost } => format!("has gone and waits again; it loses {lost} of work"),
            Happening::ClaimFell => "does not get what it was promised, and waits again".to_owned(),
            Happening::Ended(End::Done) => "is done".to_owned(),
            Happening::Ended(End::Failed) => "fails by itself".to_owned(),
            Happening::Ended(End::Cancelled) => "is taken back".to_owned(),
            Happening::TimedOut => "is killed: its time limit is over".to_owned(),
        }
    }
}

/// A time of a run, as hours, minutes and seconds: `26:00:05`; parts of a second where there are some.
pub fn clock(at: Moment) -> String {
    let (seconds, rest) = (at.get() / 1000, at.get() % 1000);
    let text = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 { text } else { format!("{text}.{rest:03}") }
}

/// An amount of GPUs: `8 GPUs`, `0.5 GPU`.
pub fn gpus(amount_milli: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "no cluster has 2^53 GPUs")]
    let amount = amount_milli as f64 / 1000.0;
    if amount_milli <= 1000 { format!("{amount} GPU") } else { format!("{amount} GPUs") }
}

fn place(level: Level, name: &str) -> String {
    match level {
        Level::Node => format!("on {name}"),
        Level::Leaf | Level::Spine => format!("under {name}"),
        Level::Domain | Level::Rack | Level::Cluster => format!("in {name}"),
    }
}

/// The first few names, and how many more.
fn listed(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED_MOST);
    let shown = names.into_iter().take(NAMED_MOST).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

#[cfg(test)]
mod tests {
    use weft_base::Period;

    use super::Words;
    use crate::book::{Book, Queue};
    use crate::cluster::{Cluster, Level};
    use crate::fleet::NodeKind;
    use crate::job::{JobId, QueueId};
    use crate::planner::Planner;
    use crate::policy::{Lack, Reason};
    use crate::world::{Setup, World};
    use crate::{STRATEGIES, Strategy};

    #[test]
    fn reasons_say_what_is_lacking_and_where_there_is_most() {
        let kind = NodeKind { cpu_milli: 0, memory_mib: 0, gpu_count: 8, model: 0 };
        let cluster = Cluster::uniform("h100", kind, 16, 2, 4);
        let queues = [Queue::named("research")];
        let planner = Planner::new(Strategy::named("fifo").unwrap_or(&STRATEGIES[0]), 0);
        let record =
            World::new(Book::new(cluster.clone(), Vec::new()), Box::new(planner), Setup::default()).run();
        let words = Words { cluster: &cluster, queues: &queues, record: &record };
        let lack = Lack {
            needed_count: 16,
            each: "1 GPU".to_owned(),
            level: Level::Leaf,
            best: vec![(7, 14), (2, 12)],
            blockers: vec![JobId(91)],
        };
        assert_eq!(
            words.reason(&Reason::Lacks(lack.clone())),
            "needs 16 members of 1 GPU under one leaf: leaf 7 has room for 14, leaf 2 for 12; it would fit without job 91"
        );
        let alone = Lack {
            needed_count: 1,
            each: "8 GPUs".to_owned(),
            level: Level::Node,
            best: Vec::new(),
            blockers: Vec::new(),
        };
        assert_eq!(
            words.reason(&Reason::Never(alone)),
            "can never start: needs 8 GPUs on one node: there is no room at all"
        );
        let quota = Reason::Quota { queue: QueueId(0), limit_milli: 16_000, used_milli: 500 };
        assert_eq!(words.reason(&quota), "the queue research may have 16 GPUs and has 0.5 GPU");
        let at = Period::from_hours(2.0);
        assert_eq!(
            words.reason(&Reason::Delays { ahead: JobId(3), at }),
            "would delay job 3, which can start at 2:00:00"
        );
        let held_off = Reason::HeldOff { failed_count: 3, again: at };
        assert_eq!(words.reason(&held_off), "was refused by nodes 3 times; it is tried again at 2:00:00");
        let fits = Reason::Fits { level: Level::Rack, domain: 3, room_count: 2 };
        assert_eq!(words.reason(&fits), "fits in rack 3, which has room for 2 such");
    }
}
