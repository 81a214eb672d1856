//! Measured beside predicted, by what is measured in the same run.

use std::time::Duration;

use super::{Measurement, Series, Timing};
use crate::model::{Calibration, Probes};
use crate::{Communicator, Fault, Transport};
use weft_base::Bytes;
use weft_collective::Collective;
use weft_predictor::compare::Expectation;

pub use weft_predictor::compare::Verdict;

/// How long each probe takes about, each time.
const PROBE: Duration = Duration::from_millis(2);

/// One size of one collective.
#[derive(Debug, Clone)]
pub struct Compared {
    /// What was called.
    pub collective: Collective,
    /// The message, as it could be cut.
    pub bytes: Bytes,
    /// The algorithm that was taken.
    pub algorithm: String,
    /// What was measured.
    pub timing: Timing,
    /// What was predicted, in seconds.
    pub predicted_s: f64,
}

impl Compared {
    /// Measured by predicted.
    pub fn ratio(&self) -> f64 {
        self.timing.median_s / self.predicted_s
    }

    /// The error of the prediction as a share of what was measured.
    pub fn error(&self) -> f64 {
        (self.predicted_s / self.timing.median_s - 1.0).abs()
    }

    /// How far the repeats lie apart, as a share of their median.
    pub fn spread(&self) -> f64 {
        (self.timing.range_s.1 - self.timing.range_s.0) / self.timing.median_s
    }

    /// What to think of it.
    pub fn verdict(&self) -> Verdict {
        Expectation::of(self.predicted_s).judge(self.timing.median_s, self.timing.range_s)
    }
}

/// Measures and probes in turn, so that whatever else happens on the machines happens to both.
pub fn compare<T: Transport>(
    group: &mut Communicator<T>,
    series: &Series,
) -> Result<(Vec<Compared>, Calibration), Fault> {
    let rounds = series.repeats.max(1);
    let most = series.sizes.iter().max().copied().unwrap_or(Bytes::ZERO);
    let mut probes = Probes::new(group, Bytes::new(2 * most.get()), 4, PROBE);
    let none = [Bytes::ZERO];
    let sizes = if series.collective == Collective::Barrier { &none[..] } else { &series.sizes };
    let mut begun: Vec<_> = sizes.iter().map(|size| (*size, None::<Measurement>)).collect();
    for _ in 0..rounds {
        probes.round(group)?;
        for (size, measurement) in &mut begun {
            let fresh = match measurement.take() {
                Some(measurement) => measurement,
                None => Measurement::begin(group, series, series.part(*size, group.ranks()).0, false)?,
            };
            measurement.insert(fresh).repeat(group)?;
        }
    }
    let calibration = probes.calibration();
    let mut rows = Vec::new();
    for (size, measurement) in begun {
        let Some(measurement) = measurement else { continue };
        let (played, calls) = (measurement.played(), measurement.calls_in_a_row());
        let predicted = group.predict(measurement.of(), played, calls, &calibration);
        rows.push(Compared {
            collective: series.collective,
            bytes: series.part(size, group.ranks()).1,
            algorithm: played.algorithm.clone(),
            timing: measurement.timing(),
            predicted_s: predicted.map_or(f64::NAN, |priced| priced.in_a_row_s),
        });
    }
    Ok((rows, calibration))
}

/// The middle of some numbers.
pub fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
