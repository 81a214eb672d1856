//! How busy resources were over time.

use weft_base::{Rate, Span, Time};

use crate::engine::{Engine, ResourceId};

/// Samples that are kept: when there are more, neighbours are joined and the time between samples doubles.
const MOST_SAMPLES: usize = 128;
/// Paths that are looked at before the time between samples doubles, however few samples that are: with a million
/// paths each sample takes as long as thousands of events.
const MOST_LOOKS: usize = 2_000_000;

/// What every resource had carried at even times.
#[derive(Debug, Clone)]
pub struct Usage {
    every: Span,
    carried_bytes: Vec<Vec<f64>>,
    /// Paths that were looked at since the time between samples last doubled.
    looks: usize,
}

impl Usage {
    /// Begins with a sample at time zero, and one each `every`.
    pub fn new(engine: &mut Engine, every: Span) -> Self {
        let carried_bytes = vec![engine.carried_bytes()];
        Self { every: every.max(Span::picoseconds(1)), carried_bytes, looks: 0 }
    }

    /// When the next sample is due.
    pub fn due(&self) -> Time {
        self.every * u64::try_from(self.carried_bytes.len()).unwrap_or(u64::MAX)
    }

    /// Takes the sample that is due.
    pub fn sample(&mut self, engine: &mut Engine) {
        self.carried_bytes.push(engine.carried_bytes());
        self.looks += engine.paths();
        // An odd number of samples, so that the last one stays.
        let costly = self.looks > MOST_LOOKS && self.carried_bytes.len() % 2 == 1;
        if self.carried_bytes.len() > MOST_SAMPLES || costly {
            self.looks = 0;
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

    /// What a resource carried in each interval, as a share of `capacity`: what it carries when it is whole.
    pub fn shares(&self, resource: ResourceId, capacity: Rate) -> Vec<f64> {
        let could = capacity.get();
        let at = |sample: &[f64]| sample.get(resource.index()).copied().unwrap_or(0.0);
        let interval = |pair: &[Vec<f64>]| (at(&pair[1]) - at(&pair[0])) / self.every.as_seconds();
        let share = |rate_bytes_per_s: f64| rate_bytes_per_s / weft_base::Bytes::new(could.max(1)).as_f64();
        self.carried_bytes.windows(2).map(|pair| share(interval(pair))).collect()
    }
}

#[cfg(test)]
mod tests {
    use weft_base::Bytes;

    use super::*;
    use crate::engine::Use;

    /// Takes samples of one flow of 1 GB/s among `paths` paths for 4 us, one each 10 ns; how many are left.
    fn samples(paths: usize) -> (usize, Vec<f64>) {
        let mut engine = Engine::new();
        let resource = engine.add_resource(Rate::bytes_per_second(1_000_000_000));
        let used = [Use { resource, weight: 1.0 }];
        for _ in 1..paths {
            engine.add_path(&used, Span::ZERO, None);
        }
        let path = engine.add_path(&used, Span::ZERO, None);
        engine.start(path, Bytes::new(1_000_000), 0);
        let mut usage = Usage::new(&mut engine, Span::picoseconds(10_000));
        let mut events = Vec::new();
        while usage.due() <= Span::picoseconds(4_000_000) {
            engine.run_until(usage.due(), &mut events);
            usage.sample(&mut engine);
        }
        (usage.carried_bytes.len(), usage.shares(resource, engine.capacity(resource)))
    }

    #[test]
    fn samples_are_rarer_where_each_is_dear() {
        // 128 intervals at most: of 10 ns up to 1.28 us, of 20 up to 2.56, of 40 up to 5.12.
        let (count, shares) = samples(1);
        assert_eq!((count, shares.len()), (101, 100));
        assert!(shares.iter().all(|share| (share - 1.0).abs() < 1e-9));
        // With 900,000 paths three samples are dear, and the next odd number of them is joined.
        let (count, shares) = samples(900_000);
        assert!(count <= 8, "{count}");
        assert!(shares.iter().all(|share| (share - 1.0).abs() < 1e-9));
    }
}
