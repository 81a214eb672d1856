//! Between which times nine of ten measurements are expected.
//!
//! The GPUs' time and the host's are each off by what their parts are off, and the longer of both counts: the share
//! of measurements below a time is the product of the shares of both. Where nobody said who starts the kernels, it
//! is that of either way, weighed by how often runs are of it.

use crate::PredictError;
use crate::calibrate::{Parts, Wire};
use crate::nccl::constants::Constants;

/// Relative standard deviations of the parts, as logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spreads {
    /// Of starting kernels.
    pub start: f64,
    /// Of hops and of filling.
    pub steps: f64,
    /// Of bandwidths.
    pub wires: [f64; Wire::ALL.len()],
    /// Of everything: two runs of the same.
    pub repeat: f64,
    /// How often there is a process for each GPU where nobody said who starts the kernels.
    pub process_per_gpu: f64,
}

/// The shares of measurements below and above an interval.
const TAIL: f64 = 0.05;
/// Halvings of the way on which an end is looked for; far below what is printed.
const HALVINGS: u32 = 40;
/// Deviations beyond which nothing is looked for.
const FARTHEST: f64 = 8.0;

impl Spreads {
    /// What was measured of each.
    pub fn of(achieved: Constants<'_>) -> Result<Self, PredictError> {
        let row = |row| achieved.only("spread", row);
        let mut wires = [0.0; Wire::ALL.len()];
        for (spread, wire) in wires.iter_mut().zip(Wire::ALL) {
            *spread = row(wire.name())?;
        }
        Ok(Self {
            start: row("start")?,
            steps: row("steps")?,
            wires,
            repeat: row("repeat")?,
            process_per_gpu: achieved.only("process-per-gpu", "share")?,
        })
    }

    /// Of a kind of wire.
    pub fn wire(&self, wire: Wire) -> f64 {
        self.wires[wire as usize]
    }

    /// Microseconds between which 90 % of measurements are expected; the expected time is always between them.
    pub fn interval_us(&self, parts: &Parts) -> (f64, f64) {
        let device = self.device(parts);
        let host = |host_us: f64| {
            let middle = libm::log((parts.call_us + host_us).max(f64::MIN_POSITIVE));
            Normal { middle, deviation: self.start.hypot(self.repeat) }
        };
        let hosts = if parts.least_host_us < parts.host_us {
            let share = self.process_per_gpu;
            [(1.0 - share, host(parts.host_us)), (share, host(parts.least_host_us))]
        } else {
            [(1.0, host(parts.host_us)), (0.0, host(parts.host_us))]
        };
        let below = |place: f64| {
            device.below(place) * hosts.iter().map(|(weight, host)| weight * host.below(place)).sum::<f64>()
        };
        let [first, second] = [device.reach(), hosts[0].1.reach()];
        let reach = (first.0, first.1.max(second.1));
        let expected_us = parts.total_us();
        let end = |share: f64| libm::exp(place_of(share, reach, below));
        (end(TAIL).min(expected_us), end(1.0 - TAIL).max(expected_us))
    }

    /// The logarithm of the GPUs' time: its parts are off independently of each other, each by its own share.
    fn device(&self, parts: &Parts) -> Normal {
        let total_us = parts.call_us + parts.device_us();
        let squares: f64 = [
            (parts.call_us, self.start),
            (parts.kernel_us, self.start),
            (parts.steps_us + parts.filling_us, self.steps),
            (parts.wire_us, self.wire(parts.wire)),
        ]
        .into_iter()
        .map(|(part_us, spread)| part_us * spread / total_us)
        .map(|part| part * part)
        .sum();
        Normal { middle: libm::log(total_us), deviation: squares.sqrt().hypot(self.repeat) }
    }
}

/// A logarithm that is normally distributed.
#[derive(Debug, Clone, Copy)]
struct Normal {
    middle: f64,
    deviation: f64,
}

impl Normal {
    /// The share that is below a place.
    fn below(&self, place: f64) -> f64 {
        0.5 * libm::erfc((self.middle - place) / (self.deviation.max(1e-9) * std::f64::consts::SQRT_2))
    }

    fn reach(&self) -> (f64, f64) {
        (self.middle - FARTHEST * self.deviation, self.middle + FARTHEST * self.deviation)
    }
}

/// Where so large a share is below.
fn place_of(share: f64, (mut from, mut to): (f64, f64), below: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(from, to);
        if below(middle) < share {
            from = middle;
        } else {
            to = middle;
        }
    }
    f64::midpoint(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREADS: Spreads = Spreads {
        start: 0.3,
        steps: 0.6,
        wires: [0.05, 1.0, 0.15, 0.5, 0.2],
        repeat: 0.0,
        process_per_gpu: 0.2,
    };
    /// Standard deviations from the middle of a normal distribution to what one of twenty exceeds.
    const ONE_OF_TWENTY: f64 = 1.644_853_626_951_472_8;

    fn parts(host_us: f64, wire_us: f64) -> Parts {
        Parts { host_us, least_host_us: host_us, kernel_us: 6.0, steps_us: 4.0, wire_us, ..Parts::default() }
    }

    fn half_widths(parts: &Parts) -> (f64, f64) {
        let (low_us, high_us) = SPREADS.interval_us(parts);
        (libm::log(parts.total_us() / low_us), libm::log(high_us / parts.total_us()))
    }

    fn is(found: (f64, f64), below: f64, above: f64) -> bool {
        (found.0 - below).abs() < 1e-3 && (found.1 - above).abs() < 1e-3
    }

    #[test]
    fn a_long_message_is_as_sure_as_its_wire() {
        let half = ONE_OF_TWENTY * 0.05;
        assert!(is(half_widths(&parts(1.0, 1e6)), half, half), "{:?}", half_widths(&parts(1.0, 1e6)));
        let network = Parts { wire: Wire::Network, ..parts(1.0, 1e6) };
        assert!(is(half_widths(&network), ONE_OF_TWENTY * 0.2, ONE_OF_TWENTY * 0.2));
    }

    #[test]
    fn a_short_one_is_as_sure_as_its_start_and_steps() {
        // 6 us at 30 % and 4 us at 60 % of 10 us; the host needs next to nothing.
        let half = ONE_OF_TWENTY * libm::sqrt(1.8 * 1.8 + 2.4 * 2.4) / 10.0;
        assert!(is(half_widths(&parts(0.01, 0.0)), half, half));
    }

    /// Both 10 us and both off by 0.3 alike: a place has a share of F * F below it, so that one of twenty is below
    /// where F is sqrt(0.05) = 0.2236, 0.760 deviations under the middle, and above where it is sqrt(0.95) = 0.9747,
    /// 1.955 over it.
    #[test]
    fn of_two_that_are_alike_the_longer_counts() {
        let alike = Parts { kernel_us: 10.0, steps_us: 0.0, ..parts(10.0, 0.0) };
        assert!(is(half_widths(&alike), 0.3 * 0.760, 0.3 * 1.9545), "{:?}", half_widths(&alike));
    }

    /// 80 us by one process or, in a fifth of all runs, 10 us by eight, where the GPUs need 0.1: one of twenty is below
    /// where a quarter of the quick ones are, 0.6745 deviations of 0.3 under 10 us. One of twenty is above where
    /// 0.05 / 0.8 of the slow ones are, 1.534 deviations over 80.
    #[test]
    fn who_starts_the_kernels_may_be_unknown() {
        let unknown = Parts { least_host_us: 10.0, kernel_us: 0.1, steps_us: 0.0, ..parts(80.0, 0.0) };
        let (below, above) = half_widths(&unknown);
        assert!((below - (libm::log(8.0) + 0.3 * 0.6745)).abs() < 2e-3, "{below}");
        assert!((above - 0.3 * 1.5341).abs() < 2e-3, "{above}");
    }
}
