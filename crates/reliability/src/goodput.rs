//! The share of a job's time that is work (effective training time ratio).
//!
//! Kokolis and others, "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (HPCA 2025): with N
//! nodes that fail r times a node-day, a restart u0, a checkpoint each dt that stops the work for w,
//!
//! ```text
//! ETTR = (1 - N r (u0 + dt/2)) / (1 + w/dt)
//! ```
//!
//! A failure costs the restart and, on average, half of what was done since the last checkpoint. First order: two
//! failures in one interval are not in it.

use thiserror::Error;
use weft_base::{FailureRate, Period, Subject};

/// The smallest job for which a rate of nodes says when a job fails. The paper measured 7.9 h at 1,024 GPUs where its
/// nodes' rate gives 28.8 h: small jobs die of their own software; from about two thousand GPUs on the two agree.
pub const SMALLEST_GPUS: u32 = 2048;

/// The most that failures may take of the time in a model of first order: beyond it, failures during recovery count.
const MOST_LOST_SHARE: f64 = 0.5;

/// A job, and what interrupts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Hosts.
    pub nodes: u32,
    /// GPUs of all hosts together.
    pub gpus: u32,
    /// Interruptions by a host: per node and time.
    pub rate: FailureRate,
    /// Interruptions by the job's own software: per job and time. Needed for small jobs.
    pub software: Option<FailureRate>,
    /// From the failure to the first new step.
    pub restart: Period,
    /// Between two checkpoints.
    pub interval: Period,
    /// How long a checkpoint stops the work.
    pub save: Period,
}

/// How much of the time is work, and what takes the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodput {
    /// Share of the time that is work that was not lost.
    pub share: f64,
    /// Mean time between interruptions.
    pub mean_time_to_failure: Period,
    /// Share of the time that restarts take.
    pub restart_share: f64,
    /// Share of the time that is work done again.
    pub lost_share: f64,
    /// Share of the time that checkpoints take.
    pub save_share: f64,
}

/// Why there is no answer. Reads as "failed to tell the goodput: {error}".
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// A rate of something else.
    #[error("the rate is of a {}, not of a {expected}", .given.word())]
    WrongSubject {
        /// What the rate counts.
        given: Subject,
        /// What it should count.
        expected: &'static str,
    },
    /// No job, no interval or no rate.
    #[error("{0} is zero")]
    Nothing(&'static str),
    /// Below the size for which the model was found to hold.
    #[error(
        "{gpus} GPUs are too few for a rate of nodes: below about {SMALLEST_GPUS} jobs die of their own software first \
         (measured 7.9 h at 1,024 GPUs where nodes alone give 28.8 h); give the rate of the software too, as in `2.2 per \
         job-day`"
    )]
    TooSmall {
        /// GPUs of the job.
        gpus: u32,
    },
    /// Failures follow each other faster than the job recovers.
    #[error(
        "failures come every {mean_time_to_failure}, and each costs {cost}: the model of first order does not hold where \
         more than half of the time is lost; checkpoint more often or restart faster"
    )]
    TooOften {
        /// Mean time between interruptions.
        mean_time_to_failure: Period,
        /// Restart and half an interval.
        cost: Period,
    },
}

/// Mean time between failures of `count` like things.
pub fn mean_time_to_failure(rate: FailureRate, count: u32) -> Option<Period> {
    let per_hour = rate.per_hour() * f64::from(count);
    (per_hour > 0.0).then(|| Period::from_hours(1.0 / per_hour))
}

impl Job {
    /// Mean time between interruptions.
    pub fn mean_time_to_failure(&self) -> Result<Period, Refusal> {
        self.check()?;
        Ok(Period::from_hours(1.0 / self.per_hour()))
    }

    /// How much of the time is work.
    pub fn goodput(&self) -> Result<Goodput, Refusal> {
        self.check()?;
        if self.interval == Period::ZERO {
            return Err(Refusal::Nothing("the time between checkpoints"));
        }
        let per_hour = self.per_hour();
        let (restart, interval, save) =
            (self.restart.as_hours(), self.interval.as_hours(), self.save.as_hours());
        let cost = restart + interval / 2.0;
        let mean_time_to_failure = Period::from_hours(1.0 / per_hour);
        if per_hour * cost > MOST_LOST_SHARE {
            return Err(Refusal::TooOften { mean_time_to_failure, cost: Period::from_hours(cost) });
        }
        let saving = 1.0 + save / interval;
        let kept = 1.0 - per_hour * cost;
        Ok(Goodput {
            share: kept / saving,
            mean_time_to_failure,
            restart_share: per_hour * restart,
            lost_share: per_hour * interval / 2.0,
            save_share: kept - kept / saving,
        })
    }

    fn per_hour(&self) -> f64 {
        self.rate.per_hour() * f64::from(self.nodes) + self.software.map_or(0.0, FailureRate::per_hour)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.rate.subject() != Subject::Node {
            return Err(Refusal::WrongSubject { given: self.rate.subject(), expected: "node" });
        }
        if let Some(software) = self.software.filter(|software| software.subject() != Subject::Job) {
            return Err(Refusal::WrongSubject { given: software.subject(), expected: "job" });
        }
        if self.gpus < SMALLEST_GPUS && self.software.is_none() {
            return Err(Refusal::TooSmall { gpus: self.gpus });
        }
        if self.per_hour() <= 0.0 {
            return Err(Refusal::Nothing("the rate of failures"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(gpus: u32, rate: &str) -> Job {
        let period = |text: &str| text.parse().unwrap();
        Job {
            nodes: gpus / 8,
            gpus,
            rate: rate.parse().unwrap(),
            software: None,
            restart: period("10 min"),
            interval: period("10 min"),
            save: period("10 s"),
        }
    }

    fn hours(job: Job) -> f64 {
        job.mean_time_to_failure().unwrap().as_hours()
    }

    #[test]
    fn the_mean_times_to_failure_are_those_that_the_paper_projects() {
        // 24 h / (0.0065 x 2,048 nodes) = 1.803 h, and an eighth of that at eight times the size; the paper says 1.8
        // and 0.23.
        assert!((hours(job(16_384, "0.0065 per node-day")) - 1.803).abs() < 0.001);
        assert!((hours(job(131_072, "6.5 per 1000 node-days")) - 0.2254).abs() < 0.0001);
        // Llama 3: 54 days and 419 interruptions are 3.09 h.
        assert!((hours(job(16_384, "3.79 per 1000 node-days")) - 3.09).abs() < 0.005);
    }

    #[test]
    fn llama_3_was_at_work_for_nine_tenths_of_the_time() {
        // (1 - (1/6 + 1/12) / 3.092) / (1 + 10/600) = 0.9191 / 1.01667 = 0.904; the paper says more than 90 %.
        let goodput = job(16_384, "3.79 per 1000 node-days").goodput().unwrap();
        assert!((goodput.share - 0.9041).abs() < 0.0005, "{goodput:?}");
        let sum = goodput.share + goodput.restart_share + goodput.lost_share + goodput.save_share;
        assert!((sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_small_job_is_refused_unless_its_software_has_a_rate() {
        let small = job(1024, "0.0065 per node-day");
        let refusal = small.goodput().unwrap_err();
        assert_eq!(refusal, Refusal::TooSmall { gpus: 1024 });
        assert!(refusal.to_string().contains("7.9 h"), "{refusal}");
        // Nodes alone: 24 / (0.0065 x 128) = 28.8 h. With 1/7.9 - 1/28.8 per hour of software, 2.21 a day: as measured.
        let with = Job { software: Some("2.21 per job-day".parse().unwrap()), ..small };
        assert!((hours(with) - 7.9).abs() < 0.05);
        assert!((mean_time_to_failure(small.rate, 128).unwrap().as_hours() - 28.85).abs() < 0.01);
    }

    #[test]
    fn what_the_model_cannot_know_is_refused() {
        let large = job(131_072, "0.0065 per node-day");
        let slow = Job { restart: "20 min".parse().unwrap(), ..large };
        assert!(matches!(slow.goodput(), Err(Refusal::TooOften { .. })));
        let of_links = Job { rate: "0.057 % per link-month".parse().unwrap(), ..large };
        assert!(matches!(of_links.goodput(), Err(Refusal::WrongSubject { expected: "node", .. })));
        let of_nodes = Job { software: Some("1 per node-day".parse().unwrap()), ..large };
        assert!(matches!(of_nodes.goodput(), Err(Refusal::WrongSubject { expected: "job", .. })));
        let endless = Job { interval: Period::ZERO, ..job(16_384, "0.0065 per node-day") };
        assert_eq!(endless.goodput(), Err(Refusal::Nothing("the time between checkpoints")));
        assert!(matches!(job(16_384, "0 per node-day").goodput(), Err(Refusal::Nothing(_))));
    }
}
