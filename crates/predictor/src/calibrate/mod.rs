//! What this machine does differently from what is predicted of its kind: a few parameters, and what they leave.
//!
//! A prediction has [`Parts`]; a [`Calibration`] scales each of them by a [`Parameter`], then corrects the time by
//! what was measured of messages like it. [`fit`] finds both, and how far they can be trusted, from rows of
//! benchmarks: few rows leave what is known of such machines in general, many outweigh it.

mod file;
mod fit;
mod matrix;
mod model;
mod pairs;
mod process;
#[cfg(test)]
mod tests;

use weft_base::Rate;
use weft_collective::Collective;
use weft_topology::{Health, LinkFamily, Overlay, Topology};

pub use file::CALIBRATION_FILE;
pub use fit::{Observation, fit};
pub use model::Parameter;
pub use pairs::{PairEvidence, pair_evidence};

use self::fit::{Copies, Kept};
use self::model::{Model, Place, Values};
use self::process::Process;
use crate::{Algorithm, Protocol};

/// What the bytes of a message pass, by what is known of how far such wires are from what they are said to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Wire {
    /// Links between GPUs.
    #[default]
    Fabric,
    /// Single stores with flags, of protocol LL, whatever they pass.
    Stores,
    /// PCIe from GPU to GPU.
    Pcie,
    /// PCIe by way of host memory.
    Staged,
    /// Between hosts.
    Network,
}

impl Wire {
    /// All, in order.
    pub const ALL: [Self; 5] = [Self::Fabric, Self::Stores, Self::Pcie, Self::Staged, Self::Network];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fabric => "fabric",
            Self::Stores => "stores",
            Self::Pcie => "pcie",
            Self::Staged => "staged",
            Self::Network => "network",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.name() == name)
    }
}

/// The time of one operation in microseconds, in the parts that a calibration scales: the host starts kernels
/// while GPUs work, so that the longer of both counts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    /// GPUs that take part.
    pub ranks: u32,
    /// The message.
    pub bytes: f64,
    /// What a caller waits for before anything starts.
    pub call_us: f64,
    /// What the host needs to start the kernels.
    pub host_us: f64,
    /// The same with a process for each GPU, where nobody said who starts them; else as `host_us`.
    pub least_host_us: f64,
    /// Start and end of the kernel on a GPU.
    pub kernel_us: f64,
    /// Steps one after the other.
    pub steps_us: f64,
    /// What filling the pipeline adds.
    pub filling_us: f64,
    /// All bytes at the bandwidth that is expected.
    pub wire_us: f64,
    /// Of what.
    pub wire: Wire,
}

impl Parts {
    /// All of it.
    pub fn total_us(&self) -> f64 {
        self.call_us + self.device_us().max(self.host_us)
    }

    /// The GPUs' own time.
    pub fn device_us(&self) -> f64 {
        self.kernel_us + self.steps_us + self.filling_us + self.wire_us
    }

    /// Whether GPUs wait for the host that starts their kernels one after the other.
    pub fn waits_for_host(&self) -> bool {
        self.host_us > self.device_us()
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
    /// The factor.
    pub value: f64,
    /// The standard deviation of its logarithm.
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

/// What a machine does differently.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Calibration {
    /// The machine, as the user names it.
    pub machine: Option<String>,
    /// Where the rows are from.
    pub sources: Vec<CalibrationSource>,
    /// Logarithms of factors on times.
    factors: Values,
    /// Their deviations.
    deviations: Values,
    /// How likely each GPU has a process of its own, where nobody says who starts the kernels.
    least_host_share: f64,
    /// What was taken for granted; `None` where nothing was measured.
    model: Option<Model>,
    rows: Vec<Kept>,
    copies: Vec<Copies>,
    /// What follows from the rows.
    process: Option<Process>,
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

impl Calibration {
    /// A parameter: a factor on a time or, of an efficiency, on a bandwidth.
    pub fn fitted(&self, parameter: Parameter) -> Fitted {
        let sign = if parameter.is_rate() { -1.0 } else { 1.0 };
        Fitted {
            value: libm::exp(sign * self.factors[parameter as usize]),
            standard_error: self.deviations[parameter as usize],
        }
    }

    /// Microseconds by the parameters alone.
    pub fn scaled_us(&self, parts: &Parts) -> f64 {
        self.place(None, parts).map_or_else(|| parts.total_us(), |place| libm::exp(place.log_us))
    }

    /// Microseconds as expected of this machine.
    pub fn time_us(&self, regime: Regime, parts: &Parts) -> f64 {
        let Some((mut place, process)) = self.place(Some(regime), parts).zip(self.process.as_ref()) else {
            return parts.total_us();
        };
        // Below the smallest that was measured the correction stays: no smaller message takes longer for want of rows.
        let of_collective = self.rows.iter().filter(|kept| kept.row.regime.collective == regime.collective);
        let least = of_collective.map(|kept| kept.row.parts.bytes).reduce(f64::min);
        place.size = place.size.max(least.map_or(0.0, libm::log2));
        libm::exp(process.log_us(&place))
    }

    /// The time with its interval; `None` where nothing was measured at all, so that what is known of such machines
    /// in general still holds.
    pub fn interval(&self, regime: Regime, parts: &Parts) -> Option<Calibrated> {
        let place = self.place(Some(regime), parts)?;
        let deviation = self.process.as_ref()?.deviation(&place);
        let (time_us, wide) = (self.time_us(regime, parts), libm::exp(ONE_OF_TWENTY * deviation));
        Some(Calibrated { time_us, low_us: time_us / wide, high_us: time_us * wide })
    }

    /// Whether each GPU has a process of its own, as far as rows tell.
    fn has_least_host(&self) -> bool {
        self.least_host_share > 0.5
    }

    fn place(&self, regime: Option<Regime>, parts: &Parts) -> Option<Place> {
        Some(self.model.as_ref()?.place(regime, parts, &self.factors, self.has_least_host()))
    }

    /// The machine with links that carry what its efficiencies say, for whatever plays messages on them.
    #[must_use]
    pub fn on_links(&self, topology: &Topology) -> Topology {
        let mut overlay = Overlay::default();
        for (id, link) in topology.links() {
            let share = match topology.family(link) {
                LinkFamily::Network => self.fitted(Parameter::Inter).value,
                LinkFamily::GpuFabric
                | LinkFamily::Pcie
                | LinkFamily::Coherent
                | LinkFamily::Socket
                | LinkFamily::OnPackage
                | LinkFamily::Memory
                | LinkFamily::DisplayBridge => self.fitted(Parameter::Intra).value,
            };
            let observed = Some(Rate::from_gigabytes(link.capacity.as_gigabytes() * share));
            overlay.set(id, Health { observed, ..Health::up(link.count) });
        }
        overlay.applied(topology)
    }
}
