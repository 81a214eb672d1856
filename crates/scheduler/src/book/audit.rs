//! Counts the whole book again.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Book, Seat, Stage, Usage};
use crate::cluster::NodeId;
use crate::job::JobId;
use crate::stand::Stand;

/// What does not add up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unbalanced {
    /// What is free on a node is not what its members leave.
    #[error("node {} has other room than its members leave", .0.0)]
    Node(NodeId),
    /// A node lists other members than there are.
    #[error("node {} lists other members than it has", .0.0)]
    Residents(NodeId),
    /// A queue's account.
    #[error("queue {0} has another account than its jobs")]
    Queue(usize),
    /// A queue that has more than it may, those aside that leave.
    #[error("queue {0} has more than its limit")]
    Limit(usize),
    /// A job that runs without members that it needs, or that has places though it waits.
    #[error("job {} is neither whole nor absent", .0.0)]
    Gang(JobId),
    /// A job waits for one that does not leave for it.
    #[error("job {} waits for nobody", .0.0)]
    Claim(JobId),
}

impl Book {
    /// Checks that everything adds up: rooms, members, accounts, gangs. Takes as long as there are jobs and nodes.
    ///
    /// # Errors
    ///
    /// The first thing that does not.
    pub fn audit(&self) -> Result<(), Unbalanced> {
        self.audit_nodes()?;
        self.audit_queues()?;
        self.jobs().try_for_each(|(job, _)| self.audit_job(job))
    }

    fn audit_nodes(&self) -> Result<(), Unbalanced> {
        let mut lists: Vec<Vec<(JobId, u32)>> = vec![Vec::new(); self.stands.len()];
        let mut stands: Vec<Stand> =
            self.cluster.ids().map(|node| Stand::empty(self.cluster.shape(node))).collect();
        let mut claims = vec![0; self.stands.len()];
        for (job, entry) in self.jobs() {
            for (number, (member, seat)) in (0..).zip(&entry.seats) {
                let at = member.node.at();
                match seat {
                    Seat::Held => {
                        let (ask, shape) = (entry.ask(member), self.cluster.shape(member.node));
                        let is_up = stands[at].allows(ask, shape, member.gpus);
                        if !is_up {
                            return Err(Unbalanced::Node(member.node));
                        }
                        stands[at].take(ask, shape, member.gpus);
                    }
                    Seat::Claimed => claims[at] += 1,
                    Seat::Lost => continue,
                }
                lists[at].push((job, number));
            }
        }
        for node in self.cluster.ids() {
            let at = node.at();
            let (known, found) = (&self.stands[at], &mut stands[at]);
            (found.health, found.sick_row) = (known.health, known.sick_row);
            if known != found || claims[at] != self.claim_counts[at] {
                return Err(Unbalanced::Node(node));
            }
            let mut listed = self.residents[at].clone();
            listed.sort_unstable();
            if listed != lists[at] {
                return Err(Unbalanced::Residents(node));
            }
        }
        Ok(())
    }

    fn audit_queues(&self) -> Result<(), Unbalanced> {
        let mut used: BTreeMap<usize, Usage> = BTreeMap::new();
        let mut leaving: BTreeMap<usize, u64> = BTreeMap::new();
        for (_, entry) in self.jobs() {
            let usage = Usage::of_entry(entry);
            for queue in self.line(entry.job.queue) {
                if matches!(entry.stage, Stage::Leaving(_)) {
                    *leaving.entry(queue.at()).or_default() += usage.gpu_milli;
                }
                let account = used.entry(queue.at()).or_default();
                *account = account.plus(usage);
            }
        }
        let wrong = (0..self.queues.len())
            .find(|queue| self.used[*queue] != used.get(queue).copied().unwrap_or_default());
        if let Some(queue) = wrong {
            return Err(Unbalanced::Queue(queue));
        }
        let is_over = |queue: &usize| {
            let has = self.used[*queue].gpu_milli - leaving.get(queue).copied().unwrap_or_default();
            self.queues[*queue].limit_milli.is_some_and(|limit| has > limit)
        };
        (0..self.queues.len()).find(is_over).map_or(Ok(()), |queue| Err(Unbalanced::Limit(queue)))
    }

    fn audit_job(&self, job: JobId) -> Result<(), Unbalanced> {
        let entry = self.entry(job);
        let lost = entry.seats.iter().any(|(_, seat)| *seat == Seat::Lost);
        let claims = entry.seats.iter().any(|(_, seat)| *seat == Seat::Claimed);
        let enough = |(number, group): (u16, &crate::job::Group)| {
            let count = entry.seats.iter().filter(|(member, _)| member.group == number).count();
            (group.least_count as usize..=group.most_count as usize).contains(&count)
        };
        let is_whole = (0..).zip(&entry.job.need.groups).all(enough);
        let is_right = match &entry.stage {
            Stage::Queued | Stage::Ended(_) => entry.seats.is_empty(),
            Stage::Claiming(..) => is_whole && !lost,
            Stage::Binding(_) | Stage::Leaving(_) | Stage::Repairing(..) => is_whole && !claims,
            Stage::Broken => is_whole && !claims && lost,
            Stage::Running => is_whole && !claims && !lost,
        };
        if !is_right {
            return Err(Unbalanced::Gang(job));
        }
        if let Stage::Claiming(_, victims) = &entry.stage {
            let leaves = |victim: &JobId| self.entry(*victim).stage == Stage::Leaving(Some(job));
            if !victims.iter().all(leaves) {
                return Err(Unbalanced::Claim(job));
            }
        }
        Ok(())
    }
}
