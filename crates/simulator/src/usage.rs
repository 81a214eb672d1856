//! How busy resources were over time.

use weft_base::{Span, Time};

use crate::engine::{Engine, ResourceId};

/// Samples that are kept: when there are more, neighbours are joined and the time between samples doubles.
const MOST_SAMPLES: usize = 128;

/// What every resource had carried at even times.
#[derive(Debug, Clone)]
pub struct Usage {
    every: Span,
    carried_bytes: Vec<Vec<f64>>,
}

impl Usage {
    /// Begins with a sample at time zero, and one each `every`.
    pub fn new(engine: &mut Engine, every: Span) -> Self {
        Self { every: every.max(Span::picoseconds(1)), carried_bytes: vec![engine.carried_bytes()] }
    }

    /// When the next sample is due.
    pub fn due(&self) -> Time {
        self.every * u64::try_from(self.carried_bytes.len()).unwrap_or(u64::MAX)
    }

    /// Takes the sample that is due.
    pub fn sample(&mut self, engine: &mut Engine) {
        self.carried_bytes.push(engine.carried_bytes());
        if self.carried_bytes.len() > MOST_SAMPLES {
            let mut index = 0;
            self.carried_bytes.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every = self.every * 2;
        }
    }

    /// The time between samples.
    pub fn every(&self) -> Span {
        self.every
    }

    /// The share of its capacity that a resource carried in each interval; 0 to 1 while its capacity stays.
    pub fn shares(&self, engine: &Engine, resource: ResourceId) -> Vec<f64> {
        let could = engine.capacity(resource).get();
        let at = |sample: &[f64]| sample.get(resource.index()).copied().unwrap_or(0.0);
        let interval = |pair: &[Vec<f64>]| (at(&pair[1]) - at(&pair[0])) / self.every.as_seconds();
        let share = |rate_bytes_per_s: f64| rate_bytes_per_s / weft_base::Bytes::new(could.max(1)).as_f64();
        self.carried_bytes.windows(2).map(|pair| share(interval(pair))).collect()
    }
}
