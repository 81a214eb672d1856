//! What is taken of any machine before its own measurements are read: how far each part of a time may be from what
//! is predicted, and how what no part explains changes with the message.

use weft_catalogue::Catalogue;

use super::{Parts, Regime, Wire};
use crate::PredictError;
use crate::nccl::constants::Constants;
use crate::{Algorithm, Protocol};

/// The catalogue's entry of how corrections behave.
pub(super) const LIBRARY: &str = "calibration";
/// The catalogue's entry of how far the parts of a time are off.
const ACHIEVED: &str = "nccl-achieved";

/// What a machine may do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// A factor on the host's time to start kernels.
    Host,
    /// A factor on the start and end of a kernel.
    Kernel,
    /// A factor on steps.
    Steps,
    /// A factor on what filling the pipeline adds.
    Filling,
    /// A factor on the bandwidth of single stores with flags.
    Stores,
    /// A factor on the bandwidth inside a host.
    Intra,
    /// A factor on the bandwidth between hosts.
    Inter,
}

impl Parameter {
    /// All, in order.
    pub const ALL: [Self; 7] =
        [Self::Host, Self::Kernel, Self::Steps, Self::Filling, Self::Stores, Self::Intra, Self::Inter];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host-scale",
            Self::Kernel => "kernel-scale",
            Self::Steps => "step-scale",
            Self::Filling => "filling-scale",
            Self::Stores => "stores-efficiency",
            Self::Intra => "intra-efficiency",
            Self::Inter => "inter-efficiency",
        }
    }

    /// Whether it is of a bandwidth, so that a time is divided by it.
    pub(super) fn is_rate(self) -> bool {
        match self {
            Self::Host | Self::Kernel | Self::Steps | Self::Filling => false,
            Self::Stores | Self::Intra | Self::Inter => true,
        }
    }

    /// Of the bytes that pass a wire.
    fn of(wire: Wire) -> Self {
        match wire {
            Wire::Stores => Self::Stores,
            Wire::Fabric | Wire::Pcie | Wire::Staged => Self::Intra,
            Wire::Network => Self::Inter,
        }
    }
}

pub(super) const COUNT: usize = Parameter::ALL.len();
/// One number for each parameter: logarithms of factors on times, or how a time's logarithm changes with them.
pub(super) type Values = [f64; COUNT];

/// What is taken for granted; all deviations are of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Model {
    /// Of each parameter.
    pub deviations: Values,
    /// Of a parameter, which share of the variance each collective has by itself.
    pub by_collective: f64,
    /// And each choice of a collective.
    pub by_choice: f64,
    /// What no parameter explains, of a time that consists of that part.
    pub unexplained: Values,
    /// The same where host and GPUs take the same time.
    pub unexplained_at_turn: f64,
    /// Doublings of the message over which it loses its hold.
    pub length: f64,
    /// Of it, which share of the variance each collective has by itself.
    pub unexplained_by_collective: f64,
    /// And each choice.
    pub unexplained_by_choice: f64,
    /// How far apart host and GPUs may be, so that now the one and now the other counts.
    pub turn: f64,
    /// What each number of GPUs has by itself, of a time that consists of bytes on a wire: they pass other links.
    pub unexplained_by_ranks: f64,
    /// Two runs of the same.
    pub noise: f64,
    /// By how much all deviations of this machine are larger than thought.
    pub wider: f64,
}

/// A time on a machine and how it depends on what is known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// `None` for copies between pairs.
    pub regime: Option<Regime>,
    /// GPUs that take part.
    pub ranks: u32,
    /// Doublings from one byte.
    pub size: f64,
    /// Of the time's logarithm, with each parameter.
    pub slopes: Values,
    /// Deviation of what no parameter explains.
    pub unexplained: f64,
    /// The logarithm of the time by the parameters.
    pub log_us: f64,
}

impl Model {
    /// From the catalogue; `intra` is what the bytes inside a host pass.
    pub fn of(catalogue: &Catalogue, intra: Wire) -> Result<Self, PredictError> {
        let achieved = Constants::of(catalogue, ACHIEVED)?;
        let own = Constants::of(catalogue, LIBRARY)?;
        let spread = |row| achieved.only("spread", row);
        let left = |row| own.only("unexplained", row);
        let hold = |row| own.only("hold", row);
        let (start, steps) = (spread("start")?, spread("steps")?);
        let [stores, inner, network] =
            [spread("stores")?, spread(intra.name())?, spread(Wire::Network.name())?];
        Ok(Self {
            deviations: [start, start, steps, steps, stores, inner, network],
            by_collective: hold("parameter-by-collective")?,
            by_choice: hold("parameter-by-choice")?,
            unexplained: [
                0.0,
                0.0,
                left("steps")?,
                left("steps")?,
                left("stores")?,
                left("intra")?,
                left("inter")?,
            ],
            unexplained_at_turn: left("turn")?,
            length: hold("doublings")?,
            unexplained_by_collective: hold("unexplained-by-collective")?,
            unexplained_by_choice: hold("unexplained-by-choice")?,
            turn: hold("turn")?,
            unexplained_by_ranks: left("ranks")?,
            noise: own.only("row", "noise")?,
            wider: 1.0,
        })
    }

    /// Where a time is, with the logarithms of the parameters' factors.
    pub fn place(&self, regime: Option<Regime>, parts: &Parts, factors: &Values, least_host: bool) -> Place {
        let factor = |parameter: Parameter| libm::exp(factors[parameter as usize]);
        let host_us = if least_host { parts.least_host_us } else { parts.host_us };
        let host_us = host_us * factor(Parameter::Host);
        let call_us = parts.call_us * factor(Parameter::Kernel);
        let mut own: Values = [0.0; COUNT];
        let wire = Parameter::of(parts.wire);
        for (parameter, part_us) in [
            (Parameter::Kernel, parts.kernel_us),
            (Parameter::Steps, parts.steps_us),
            (Parameter::Filling, parts.filling_us),
            (wire, parts.wire_us),
        ] {
            own[parameter as usize] += part_us * factor(parameter);
        }
        let device_us: f64 = own.iter().sum();
        let apart = libm::log(host_us.max(f64::MIN_POSITIVE) / device_us.max(f64::MIN_POSITIVE)) / self.turn;
        // The share of such machines on which the host takes longer.
        let hosts = 0.5 * libm::erfc(-apart / std::f64::consts::SQRT_2);
        let expected_us = call_us + hosts * host_us + (1.0 - hosts) * device_us;
        let mut slopes = own.map(|part_us| (1.0 - hosts) * part_us / expected_us);
        slopes[Parameter::Host as usize] = hosts * host_us / expected_us;
        let unexplained = slopes.iter().zip(&self.unexplained).map(|(slope, left)| (slope * left).powi(2));
        let at_turn = self.unexplained_at_turn * 4.0 * hosts * (1.0 - hosts);
        let unexplained = (unexplained.sum::<f64>() + at_turn * at_turn).sqrt();
        slopes[Parameter::Kernel as usize] += call_us / expected_us;
        Place {
            regime,
            ranks: parts.ranks,
            size: libm::log2(parts.bytes.max(1.0)),
            slopes,
            unexplained,
            log_us: libm::log(call_us + host_us.max(device_us)),
        }
    }

    /// Copies over the links inside a host: nothing but their bandwidth.
    pub fn copies(factors: &Values) -> Place {
        let mut slopes = [0.0; COUNT];
        slopes[Parameter::Intra as usize] = 1.0;
        let log_us = factors[Parameter::Intra as usize];
        Place { regime: None, ranks: 0, size: 0.0, slopes, unexplained: 0.0, log_us }
    }

    /// Of a parameter, the variance that all of a machine shares.
    pub fn shared_variance(&self, parameter: Parameter) -> f64 {
        (1.0 - self.by_collective - self.by_choice) * self.deviations[parameter as usize].powi(2)
    }

    /// And the variance that each number of GPUs has by itself.
    pub fn shared_by_ranks(&self, parameter: Parameter) -> f64 {
        match parameter {
            Parameter::Intra | Parameter::Inter => self.unexplained_by_ranks.powi(2),
            Parameter::Host
            | Parameter::Kernel
            | Parameter::Steps
            | Parameter::Filling
            | Parameter::Stores => 0.0,
        }
    }

    /// How much two logarithms of times vary together, without what two runs of the same differ by.
    pub fn covariance(&self, a: &Place, b: &Place) -> f64 {
        let collective = |place: &Place| place.regime.map(|regime| regime.collective);
        let choice = |place: &Place| -> Option<(Algorithm, Protocol)> {
            place.regime.map(|regime| (regime.algorithm, regime.protocol))
        };
        let of_collective = if collective(a) == collective(b) { 1.0 } else { 0.0 };
        let of_ranks = if a.ranks == b.ranks { 1.0 } else { 0.0 };
        let wires: f64 = [Parameter::Intra, Parameter::Inter]
            .map(|wire| a.slopes[wire as usize] * b.slopes[wire as usize])
            .iter()
            .sum();
        let of_choice = if choice(a) == choice(b) { of_collective } else { 0.0 };
        let held = |by_collective: f64, by_choice: f64| {
            1.0 - by_collective - by_choice + by_collective * of_collective + by_choice * of_choice
        };
        let parameters: f64 =
            (0..COUNT).map(|index| a.slopes[index] * b.slopes[index] * self.deviations[index].powi(2)).sum();
        // Smooth, as steps of a machine are over a few doublings (Matérn, 3/2).
        let apart = 3.0_f64.sqrt() * (a.size - b.size).abs() / self.length;
        let near = (1.0 + apart) * libm::exp(-apart);
        parameters * held(self.by_collective, self.by_choice)
            + wires * of_ranks * self.unexplained_by_ranks.powi(2)
            + a.unexplained
                * b.unexplained
                * near
                * held(self.unexplained_by_collective, self.unexplained_by_choice)
    }
}
