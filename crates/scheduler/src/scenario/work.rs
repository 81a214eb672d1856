//! Rows of jobs as jobs of a cluster.

use weft_base::{Moment, Place};
use weft_formats::traces::JobRow;

use super::machines::{ACCELERATOR, Good, Machines};
use super::spots::Spots;
use crate::cluster::{Level, Taints};
use crate::fleet::{GPUS_MOST, Models, Pod, WHOLE_MILLI};
use crate::job::{Ask, Group, Job, Need, Pattern, QueueId, Traffic, Within};
use crate::policy::End;
use crate::world::{Load, Saves};

/// More members than any cluster has room for.
const MEMBERS_MOST: u32 = 1_000_000;
/// More jobs than a scenario can be meant to have.
const JOBS_MOST: usize = 1_000_000;
/// What kinds of work there are.
const KINDS: [&str; 3] = ["training", "inference", "service"];
/// Levels that a job can name.
const PLACES: [&str; 5] = ["node", "domain", "rack", "leaf", "spine"];

/// Makes jobs of rows, on a cluster with queues.
pub struct Jobs<'a> {
    pub machines: &'a Machines,
    pub queues: &'a [String],
    pub loads: Vec<Load>,
    pub several: Vec<String>,
}

/// A row, and where each of its keys stands.
struct Given<'r> {
    row: &'r JobRow,
    place: &'r dyn Fn(&Spots<'_>, &str) -> Place,
}

impl Jobs<'_> {
    /// Adds the jobs of a row; what is wrong with it is among the findings, and then it adds nothing.
    pub fn add(&mut self, row: &JobRow, place: &dyn Fn(&Spots<'_>, &str) -> Place, spots: &mut Spots<'_>) {
        let before = spots.findings.len();
        let given = Given { row, place };
        let count = row.count.unwrap_or(1);
        if count == 0 || self.loads.len() + count as usize > JOBS_MOST {
            spots.wrong(place(spots, "count"), "there cannot be so many jobs", format!("1 to {JOBS_MOST}"));
        }
        let template = self.load(&given, spots);
        let is_wrong =
            spots.findings[before..].iter().any(|found| found.severity == weft_base::Severity::Error);
        let Some(template) = template.filter(|_| !is_wrong) else { return };
        if count > 1 {
            self.several.push(row.job.clone());
        }
        let every = row.every.unwrap_or_default();
        for number in 0..u64::from(count) {
            let mut load = template.clone();
            let after = every * number;
            load.job.submitted = load.job.submitted + after;
            load.cancelled = load.cancelled.map(|at| at + after);
            if count > 1 {
                load.job.name = format!("{}-{number}", row.job);
            }
            self.loads.push(load);
        }
    }

    fn load(&self, given: &Given<'_>, spots: &mut Spots<'_>) -> Option<Load> {
        let row = given.row;
        let submitted: Moment = row.submit.unwrap_or_default();
        let queue = self.queue(given, spots);
        let group = self.group(given, spots)?;
        let how = match row.end.as_deref() {
            None | Some("done") => End::Done,
            Some("failed") => End::Failed,
            Some(other) => {
                spots.unknown((given.place)(spots, "end"), "end of a job", other, &["done", "failed"]);
                return None;
            }
        };
        if row.duration == Moment::ZERO {
            spots.wrong(
                (given.place)(spots, "duration"),
                "the job takes no time",
                "a job runs for some time",
            );
        }
        let job = Job {
            name: row.job.clone(),
            queue: queue?,
            priority: row.priority.unwrap_or(0),
            submitted,
            need: Need { groups: vec![group], within: None },
            limit: row.limit,
            preemptible: row.preemptible.unwrap_or(true),
            traffic: traffic(given, spots),
        };
        let saves =
            row.checkpoint.map(|interval| Saves { interval, cost: row.checkpoint_cost.unwrap_or_default() });
        Some(Load {
            job,
            work: row.duration,
            how,
            cancelled: row.cancel.map(|after| submitted + after),
            saves,
        })
    }

    fn queue(&self, given: &Given<'_>, spots: &mut Spots<'_>) -> Option<QueueId> {
        let Some(name) = &given.row.queue else { return Some(QueueId(0)) };
        let found = self.queues.iter().position(|queue| queue == name);
        if found.is_none() {
            let known: Vec<&str> = self.queues.iter().map(String::as_str).collect();
            spots.unknown((given.place)(spots, "queue"), "queue", name, &known);
        }
        found.and_then(|at| u32::try_from(at).ok()).map(QueueId)
    }

    fn group(&self, given: &Given<'_>, spots: &mut Spots<'_>) -> Option<Group> {
        let row = given.row;
        let members = row.members.unwrap_or(1);
        let least = row.least.unwrap_or(members);
        if members == 0 || members > MEMBERS_MOST || least == 0 || least > members {
            let key = if row.least.is_some_and(|least| least == 0 || least > members) {
                "least"
            } else {
                "members"
            };
            let hint = "`members` is 1 or more, `least` no more than `members`";
            spots.wrong((given.place)(spots, key), "a job cannot have so many members", hint);
            return None;
        }
        let ask = self.ask(given, members, spots)?;
        let level = |key: &str, word: &Option<String>, spots: &mut Spots<'_>| {
            let word = word.as_ref()?;
            let found = Level::named(word).filter(|level| *level != Level::Cluster);
            if found.is_none() {
                spots.unknown((given.place)(spots, key), "level", word, &PLACES);
            }
            found
        };
        let within = level("within", &row.within, spots).map(|level| Within { level, required: true });
        let near = level("near", &row.near, spots).map(|level| Within { level, required: false });
        if within.is_some() && near.is_some() {
            let hint = "`within` is what must be, `near` what should be";
            spots.wrong((given.place)(spots, "near"), "a job has `within` or `near`", hint);
        }
        let sets_within = level("sets-within", &row.sets_within, spots).unwrap_or(Level::Node);
        let sets = row.sets.map(|size| (size, Within { level: sets_within, required: true }));
        if sets.is_some_and(|(size, _)| size == 0) || (sets.is_none() && row.sets_within.is_some()) {
            spots.wrong((given.place)(spots, "sets-within"), "`sets` says how many members", "`sets = 8`");
        }
        let name = "worker".to_owned();
        Some(Group { name, ask, least_count: least, most_count: members, within: within.or(near), sets })
    }

    fn ask(&self, given: &Given<'_>, members: u32, spots: &mut Spots<'_>) -> Option<Ask> {
        let row = given.row;
        let (gpu_count, gpu_milli) = gpus(given, spots)?;
        let kind = kind(given, gpu_count, spots)?;
        let host = |key: &str, amount: f64, spots: &mut Spots<'_>| {
            let thousandths = (amount * 1000.0).round();
            if !(0.0..=f64::from(u32::MAX)).contains(&thousandths) {
                spots.wrong(
                    (given.place)(spots, key),
                    format!("`{key}` is {amount}"),
                    "0 or more, and not as large",
                );
                return None;
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
            Some(thousandths as u32)
        };
        let memory = row.memory.unwrap_or_default().get().div_ceil(1 << 20);
        let Ok(memory_mib) = u32::try_from(memory) else {
            spots.wrong(
                (given.place)(spots, "memory"),
                "no host has as much memory",
                "give that of one member",
            );
            return None;
        };
        let pod = Pod {
            cpu_milli: host("cpus", row.cpu_count.unwrap_or(0.0), spots)?,
            memory_mib,
            gpu_count,
            gpu_milli,
            models: Models::ANY,
        };
        let is_alone = u32::from(gpu_count) * members <= 1;
        let mut ask = self.sliced(given, Ask::of(pod), spots)?;
        let mut tiers = self.tiers(given, kind, is_alone, spots)?.into_iter();
        let held = ask.pod.models;
        ask.pod.models = Models(tiers.next().unwrap_or(Models::ANY).0 & held.0);
        ask.fallback = tiers.map(|models| Models(models.0 & held.0)).filter(|models| models.0 != 0).collect();
        ask.one_numa = row.one_numa.unwrap_or(false);
        ask.tolerates = self.tolerates(given, kind, spots);
        Some(ask)
    }

    /// The same with a partition, on the models that can be cut so.
    fn sliced(&self, given: &Given<'_>, mut ask: Ask, spots: &mut Spots<'_>) -> Option<Ask> {
        let Some(name) = &given.row.slice else { return Some(ask) };
        let shapes = &self.machines.cluster.shapes;
        let of = || shapes.iter().flat_map(|shape| shape.slices.iter().map(move |slice| (shape, slice)));
        let found: Vec<_> = of().filter(|(_, slice)| slice.name == *name).collect();
        if found.is_empty() {
            let mut known: Vec<&str> = of().map(|(_, slice)| slice.name.as_str()).collect();
            known.dedup();
            spots.unknown((given.place)(spots, "slice"), "partition", name, &known);
            return None;
        }
        ask.pod.gpu_count = 1;
        ask.pod.gpu_milli = found.iter().map(|(_, slice)| slice.milli).max().unwrap_or(WHOLE_MILLI);
        ask.pod.models = Models(found.iter().fold(0, |set, (shape, _)| set | 1 << shape.kind.model));
        ask.slice = Some(name.clone());
        Some(ask)
    }

    /// Sets of models, the most wanted first: those that the row names, or those that suit its kind of work.
    fn tiers(
        &self,
        given: &Given<'_>,
        kind: Kind,
        is_alone: bool,
        spots: &mut Spots<'_>,
    ) -> Option<Vec<Models>> {
        let names = &given.row.models.0;
        if names.is_empty() {
            return Some(self.suiting(kind, is_alone));
        }
        let models = &self.machines.cluster.models;
        let of = |name: &String| {
            let catalogue = weft_catalogue::Catalogue::embedded();
            let full = catalogue.gpu(name).map_or(name.as_str(), |gpu| gpu.name.as_str());
            models.iter().position(|model| model == full)
        };
        let known: Vec<&str> = models.iter().map(String::as_str).collect();
        let mut tiers = Vec::new();
        for name in names {
            match of(name) {
                Some(at) => tiers.push(Models(1 << at)),
                None if names.iter().any(|name| of(name).is_some()) => {
                    let hint = format!(
                        "there are {}; the other models that the job names are used",
                        known.join(", ")
                    );
                    spots.odd((given.place)(spots, "models"), format!("no node has the GPU `{name}`"), hint);
                }
                None => {
                    spots.unknown(
                        (given.place)(spots, "models"),
                        "GPU on any node that is called",
                        name,
                        &known,
                    );
                    return None;
                }
            }
        }
        Some(tiers)
    }

    /// Training goes where links are, inference to chips for tensors and to cards whose links nobody would use.
    fn suiting(&self, kind: Kind, is_alone: bool) -> Vec<Models> {
        let of = |good: Good| {
            let models = self.machines.goods.iter().enumerate().filter(move |(_, known)| **known == good);
            Models(models.fold(0, |set, (at, _)| set | 1 << at))
        };
        let order: &[&[Good]] = match kind {
            Kind::Any | Kind::Service => return vec![Models::ANY],
            Kind::Training if is_alone => &[&[Good::Alone], &[Good::Bridged], &[Good::Switched]],
            Kind::Training => &[&[Good::Switched], &[Good::Bridged], &[Good::Alone]],
            Kind::Inference => &[&[Good::Tensors], &[Good::Alone], &[Good::Bridged], &[Good::Switched]],
        };
        let set = |goods: &&[Good]| Models(goods.iter().fold(0, |set, good| set | of(*good).0));
        order.iter().map(set).filter(|models| models.0 != 0).collect()
    }

    fn tolerates(&self, given: &Given<'_>, kind: Kind, spots: &mut Spots<'_>) -> Taints {
        let taints = &self.machines.cluster.taints;
        let mut found = Taints::default();
        for name in &given.row.tolerates.0 {
            if let Some(at) = taints.iter().position(|taint| taint == name) {
                found.0 |= 1 << at;
            } else {
                let known: Vec<&str> = taints.iter().map(String::as_str).collect();
                spots.unknown((given.place)(spots, "tolerates"), "taint", name, &known);
            }
        }
        let own = taints.iter().position(|taint| taint == ACCELERATOR).filter(|_| kind != Kind::Service);
        found.0 |= own.map_or(0, |at| 1 << at);
        found
    }
}

/// What the job sends between nodes, if it says so.
fn traffic(given: &Given<'_>, spots: &mut Spots<'_>) -> Option<Traffic> {
    let row = given.row;
    let pattern = match row.pattern.as_deref() {
        None | Some("ring") => Pattern::Ring,
        Some("all-to-all") => Pattern::AllToAll,
        Some(other) => {
            let known = ["ring", "all-to-all"];
            spots.unknown((given.place)(spots, "pattern"), "pattern of traffic", other, &known);
            return None;
        }
    };
    let Some(exposed) = row.exposed else {
        if row.pattern.is_some() {
            let hint = "`exposed = \"20 %\"`: the part of a step that is communication between nodes";
            spots.wrong((given.place)(spots, "pattern"), "`exposed` says how much the job sends", hint);
        }
        return None;
    };
    let milli = (exposed.as_f64() * 1000.0).round();
    if milli >= 1000.0 {
        let hint = "a part of a step is less than 100 %";
        spots.wrong((given.place)(spots, "exposed"), "a step cannot be communication alone", hint);
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a ratio is not negative; checked above"
    )]
    Some(Traffic { exposed_milli: milli as u16, pattern })
}

/// The kind of work of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Any,
    Training,
    Inference,
    Service,
}

fn kind(given: &Given<'_>, gpu_count: u8, spots: &mut Spots<'_>) -> Option<Kind> {
    let kind = match given.row.kind.as_deref() {
        None => Kind::Any,
        Some("training") => Kind::Training,
        Some("inference") => Kind::Inference,
        Some("service") => Kind::Service,
        Some(other) => {
            spots.unknown((given.place)(spots, "kind"), "kind of work", other, &KINDS);
            return None;
        }
    };
    if kind == Kind::Service && gpu_count > 0 {
        let hint = "what serves models on GPUs is `inference`";
        spots.wrong((given.place)(spots, "kind"), "a service has no GPUs", hint);
    }
    Some(kind)
}

/// How many GPUs each member has, and thousandths of each.
fn gpus(given: &Given<'_>, spots: &mut Spots<'_>) -> Option<(u8, u16)> {
    let row = given.row;
    let Some(gpus) = row.gpu_count.filter(|_| row.slice.is_none()) else {
        if row.gpu_count.is_some_and(|gpus| (gpus - 1.0).abs() > f64::EPSILON) {
            spots.wrong((given.place)(spots, "slice"), "a partition is of one GPU", "leave `gpus` out");
        }
        return Some((u8::from(row.slice.is_some()), if row.slice.is_some() { WHOLE_MILLI } else { 0 }));
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturating, and checked below"
    )]
    let (whole, milli) = (gpus as u8, (gpus * 1000.0).round() as u16);
    if gpus == 0.0 {
        Some((0, 0))
    } else if gpus > 0.0 && gpus < 1.0 && milli > 0 {
        Some((1, milli))
    } else if gpus.fract() == 0.0 && gpus > 0.0 && usize::from(whole) <= GPUS_MOST {
        Some((whole, WHOLE_MILLI))
    } else {
        let hint = format!(
            "a member has a share of one GPU, or 1 to {GPUS_MOST} whole ones; `members` says how many"
        );
        spots.wrong((given.place)(spots, "gpus"), format!("`gpus` is {gpus}"), hint);
        None
    }
}
