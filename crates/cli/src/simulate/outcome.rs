//! What a scenario that was played has shown.

use weft_base::{Bytes, Rate, Span, Time};
use weft_predictor::GraphLimit;
use weft_simulator::machine::link_at;
use weft_simulator::{ResourceId, Usage};
use weft_topology::LinkId;

use super::report::{self, BUSIEST, Busy, JobReport, Reached, Report};
use super::run::Stageplay;

/// Ranks up to which the limit of a collective is computed.
const MOST_LIMITED: u32 = 128;

impl Stageplay<'_> {
    pub(super) fn report(mut self, usage: Option<Usage>) -> Report {
        let jobs: Vec<JobReport> = (0..self.setup.jobs.len()).map(|index| self.job(index)).collect();
        let end = jobs.iter().flat_map(|job| job.ends.iter().flatten()).max().copied().unwrap_or_default();
        let busiest = self.busiest(end, usage.as_ref());
        let happened = std::mem::take(&mut self.happened);
        let counts = self.session.counts();
        let network = self.setup.network.model.name();
        let records = self.attempts.iter().map(|attempt| self.session.record(attempt.job).cloned()).collect();
        Report {
            network,
            counts,
            jobs,
            end,
            busiest,
            happened,
            records,
            every: usage.map(|usage| usage.every()),
        }
    }

    fn job(&mut self, index: usize) -> JobReport {
        let (id, reruns) = (self.attempts[index].job, self.attempts[index].reruns);
        let job = &self.setup.jobs[index];
        let ends: Vec<Option<Time>> = self.session.finished(id).collect();
        let last = ends.iter().try_fold(Span::ZERO, |last, end| Some(last.max((*end)?)));
        let took = last.map(|last| last - job.start.min(last));
        let name_of = |resource: ResourceId| self.name(resource);
        let critical = self.session.critical_path(id);
        let parts = critical.map(|path| report::parts(&path, &name_of, self.session.engine()));
        let limit = (job.plan.ranks <= MOST_LIMITED)
            .then(|| GraphLimit::of_terrain(&job.terrain, job.call.collective))
            .flatten();
        let stalled = self.session.stalled(id);
        JobReport {
            name: job.name.clone(),
            collective: job.call.collective,
            algorithm: job.algorithm,
            judged: job.judged.clone(),
            ranks: job.plan.ranks,
            size: job.size,
            repeat: job.repeat,
            start: job.start,
            took,
            reached: took.and_then(|took| Reached::new(job, took)),
            limit,
            ends,
            reruns,
            stalled,
            noticing: self.waiting[index].total(self.looked),
            critical: parts,
        }
    }

    /// A link in words: `NET3 -> NET9`.
    fn name(&self, resource: ResourceId) -> String {
        link_at(self.topology, self.first, resource).map_or_else(String::new, |link| {
            let link = self.topology.link(link);
            format!("{} -> {}", self.topology.name(link.from), self.topology.name(link.to))
        })
    }

    /// The links that carried the largest share of what they could until the end.
    fn busiest(&mut self, end: Time, usage: Option<&Usage>) -> Vec<Busy> {
        let carried = self.session.engine_mut().carried_bytes();
        let mut shares: Vec<(LinkId, f64)> = self
            .topology
            .links()
            .map(|(id, link)| {
                let could = link.capacity.as_gigabytes() * 1e9 * end.as_seconds();
                let bytes = carried.get(self.first.index() + id.index()).copied().unwrap_or(0.0);
                (id, if could > 0.0 { bytes / could } else { 0.0 })
            })
            .filter(|(_, share)| *share > 0.0)
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shares
            .into_iter()
            .take(BUSIEST)
            .map(|(link, share)| {
                let resource = ResourceId::new(self.first.index() + link.index());
                let over_time = usage.map(|usage| usage.shares(resource, self.topology.link(link).capacity));
                Busy { name: self.name(resource), share, interval_share: over_time.unwrap_or_default() }
            })
            .collect()
    }
}

/// What `bytes` in `span` come to.
pub fn bandwidth(bytes: Bytes, span: Span) -> Option<Rate> {
    let rate = bytes.as_f64() / span.as_seconds() / 1e9;
    (span > Span::ZERO).then(|| Rate::from_gigabytes(rate))
}
