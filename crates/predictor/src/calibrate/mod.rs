//! What this machine does differently from what is predicted of its kind: a few parameters, and what they leave.
//!
//! A prediction has [`Parts`]; a [`Calibration`] scales each of them, then corrects the time by what was measured
//! of times like it. [`fit`] finds both, and how far they can be trusted, from rows of benchmarks.

mod curve;
mod file;
mod fit;
mod growth;
mod matrix;
mod pairs;
#[cfg(test)]
mod tests;

use weft_base::Rate;
use weft_collective::Collective;
use weft_topology::{Health, LinkFamily, Overlay, Topology};

pub use file::CALIBRATION_FILE;
pub use fit::{Observation, fit};
pub use pairs::{PairEvidence, pair_evidence};

use self::growth::Growth;
use crate::{Algorithm, Protocol};

/// The time of one operation in microseconds, in the parts that a calibration scales. Their sum is what is
/// predicted without one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    /// The message.
    pub bytes: f64,
    /// Before the first step: launching, and what the library does once per operation.
    pub launch_us: f64,
    /// Steps one after the other.
    pub steps_us: f64,
    /// What filling the pipeline adds.
    pub ramp_us: f64,
    /// All bytes at the bandwidth that is expected, where links inside a host are the narrow ones.
    pub intra_us: f64,
    /// The same where links between hosts are.
    pub inter_us: f64,
}

impl Parts {
    /// All of it.
    pub fn total_us(&self) -> f64 {
        self.launch_us + self.steps_us + self.ramp_us + self.intra_us + self.inter_us
    }
}

/// What a time is of: times of one regime are corrected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Regime {
    /// The collective.
    pub collective: Collective,
    /// The library's choice.
    pub algorithm: Algorithm,
    /// The library's choice.
    pub protocol: Protocol,
}

/// A fitted parameter and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// The value: a factor, or microseconds of the launch.
    pub value: f64,
    /// The standard deviation: of the factor's logarithm, or microseconds of the launch.
    pub standard_error: f64,
}

/// Where the rows of a calibration are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationSource {
    /// The file's name.
    pub file: String,
    /// Rows of it that were used.
    pub rows: usize,
}

/// A correction of the time by what was measured at like times, of one collective.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Correction {
    pub collective: Collective,
    /// `None` for choices of which nothing was measured.
    pub choice: Option<(Algorithm, Protocol)>,
    pub knots: Vec<Knot>,
}

/// A place of a correction; between two of them the logarithms are interpolated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Knot {
    /// Time before the correction.
    pub time_us: f64,
    /// Times this.
    pub factor: f64,
    /// Standard deviation of the logarithm of what comes out, the rows' own included.
    pub spread: f64,
}

/// What a machine does differently.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The machine, as the user names it.
    pub machine: Option<String>,
    /// Where the rows are from.
    pub sources: Vec<CalibrationSource>,
    /// Microseconds that are added before the first byte.
    pub launch_us: Fitted,
    /// A factor on steps.
    pub step_scale: Fitted,
    /// A factor on what filling the pipeline adds.
    pub ramp_scale: Fitted,
    /// A factor on the bandwidth that is expected inside a host.
    pub intra_efficiency: Fitted,
    /// A factor on the bandwidth that is expected between hosts.
    pub inter_efficiency: Fitted,
    pub(crate) growths: Vec<Growth>,
    pub(crate) corrections: Vec<Correction>,
}

/// A time and the interval that holds nine of ten measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibrated {
    /// Expected.
    pub time_us: f64,
    /// Five of a hundred are quicker.
    pub low_us: f64,
    /// Five of a hundred are slower.
    pub high_us: f64,
}

/// Standard deviations between the middle of a normal distribution and what one of twenty exceeds.
const ONE_OF_TWENTY: f64 = 1.645;

impl Default for Calibration {
    /// Nothing is known: every prediction stays as it is.
    fn default() -> Self {
        let as_predicted = Fitted { value: 1.0, standard_error: 0.0 };
        Self {
            machine: None,
            sources: Vec::new(),
            launch_us: Fitted { value: 0.0, standard_error: 0.0 },
            step_scale: as_predicted,
            ramp_scale: as_predicted,
            intra_efficiency: as_predicted,
            inter_efficiency: as_predicted,
            growths: Vec::new(),
            corrections: Vec::new(),
        }
    }
}

impl Calibration {
    /// Microseconds by the parameters alone.
    pub fn scaled_us(&self, parts: &Parts) -> f64 {
        (parts.launch_us + self.launch_us.value).max(0.0)
            + parts.steps_us * self.step_scale.value
            + parts.ramp_us * self.ramp_scale.value
            + parts.intra_us / self.intra_efficiency.value
            + parts.inter_us / self.inter_efficiency.value
    }

    /// Microseconds by the parameters and the growth with the message.
    pub(crate) fn grown_us(&self, collective: Collective, parts: &Parts) -> f64 {
        let growth = self.growths.iter().find(|growth| growth.collective == collective);
        self.scaled_us(parts) * growth.map_or(1.0, |growth| growth.at(parts.bytes))
    }

    /// Microseconds as expected of this machine. Where a part grows and none shrinks, the time grows.
    pub fn time_us(&self, regime: Regime, parts: &Parts) -> f64 {
        let scaled_us = self.grown_us(regime.collective, parts);
        self.correction(regime).map_or(scaled_us, |correction| scaled_us * correction.at(scaled_us).0)
    }

    /// The time with its interval; `None` where nothing was measured of the collective, so that what is known of
    /// such machines in general still holds.
    pub fn interval(&self, regime: Regime, parts: &Parts) -> Option<Calibrated> {
        let scaled_us = self.grown_us(regime.collective, parts);
        let (factor, spread) = self.correction(regime)?.at(scaled_us);
        let (time_us, wide) = (scaled_us * factor, libm::exp(ONE_OF_TWENTY * spread));
        Some(Calibrated { time_us, low_us: time_us / wide, high_us: time_us * wide })
    }

    /// The machine with links that carry what its efficiencies say, for whatever plays messages on them.
    #[must_use]
    pub fn on_links(&self, topology: &Topology) -> Topology {
        let mut overlay = Overlay::default();
        for (id, link) in topology.links() {
            let share = match topology.family(link) {
                LinkFamily::Network => self.inter_efficiency.value,
                LinkFamily::GpuFabric
                | LinkFamily::Pcie
                | LinkFamily::Coherent
                | LinkFamily::Socket
                | LinkFamily::OnPackage
                | LinkFamily::Memory
                | LinkFamily::DisplayBridge => self.intra_efficiency.value,
            };
            let observed = Some(Rate::from_gigabytes(link.capacity.as_gigabytes() * share));
            overlay.set(id, Health { observed, ..Health::up(link.count) });
        }
        overlay.applied(topology)
    }

    /// The correction of a regime, else of its collective.
    fn correction(&self, regime: Regime) -> Option<&Correction> {
        let of_collective = || self.corrections.iter().filter(|it| it.collective == regime.collective);
        let choice = Some((regime.algorithm, regime.protocol));
        of_collective()
            .find(|it| it.choice == choice)
            .or_else(|| of_collective().find(|it| it.choice.is_none()))
    }
}

impl Correction {
    /// The factor at a time and its spread; as at the first and the last knot beyond them.
    fn at(&self, time_us: f64) -> (f64, f64) {
        let after = self.knots.partition_point(|knot| knot.time_us <= time_us);
        match (after.checked_sub(1).and_then(|before| self.knots.get(before)), self.knots.get(after)) {
            (Some(before), Some(next)) => {
                let share = libm::log(time_us / before.time_us) / libm::log(next.time_us / before.time_us);
                let factor = before.factor * libm::pow(next.factor / before.factor, share);
                (factor, before.spread + share * (next.spread - before.spread))
            }
            (Some(only), None) | (None, Some(only)) => (only.factor, only.spread),
            (None, None) => (1.0, 0.0),
        }
    }
}
