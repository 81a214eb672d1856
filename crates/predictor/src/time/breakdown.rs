//! The time of one operation in parts that each have a cause, and how sure each of them is.

use weft_base::Bytes;

use crate::PredictError;
use crate::calibrate::Parts;
use crate::nccl::constants::Constants;

/// Expected microseconds for one message, in parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Time {
    /// The message.
    pub bytes: Bytes,
    /// What a host needs to start the kernels of its GPUs; it hides behind them, or they behind it.
    pub host_us: f64,
    /// What each operation waits for its predecessor and the caller, before anything starts.
    pub call_us: f64,
    /// To start and end the kernel on a GPU.
    pub kernel_us: f64,
    /// Hops one after the other, before the last byte's way is open.
    pub steps_us: f64,
    /// What filling the pipeline with chunks adds.
    pub filling_us: f64,
    /// All bytes at the expected bandwidth.
    pub wire_us: f64,
    /// Whether the narrow links are those between nodes.
    pub between: bool,
    /// Whether data is copied through host memory on the way.
    pub staged: bool,
}

/// Relative standard deviations of the parts, as logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spreads {
    /// Of starting kernels.
    pub start: f64,
    /// Of hops and of filling.
    pub steps: f64,
    /// Of bandwidths.
    pub wire: f64,
    /// Of bandwidths through host memory.
    pub staged: f64,
    /// Of everything: two runs of the same.
    pub repeat: f64,
}

/// Standard deviations from the middle to the ends of an interval that holds 90 %.
const NINETY_PERCENT: f64 = 1.644_853_626_951_472_8;

impl Spreads {
    /// What was measured of each.
    pub fn of(achieved: Constants<'_>) -> Result<Self, PredictError> {
        let row = |row| achieved.only("spread", row);
        Ok(Self {
            start: row("start")?,
            steps: row("steps")?,
            wire: row("wire")?,
            staged: row("staged")?,
            repeat: row("repeat")?,
        })
    }
}

impl Time {
    /// The GPUs' own time.
    fn device_us(&self) -> f64 {
        self.kernel_us + self.steps_us + self.filling_us + self.wire_us
    }

    /// Whether GPUs wait for the host that starts their kernels one after the other.
    pub fn waits_for_host(&self) -> bool {
        self.host_us > self.device_us()
    }

    /// Expected time of the operation.
    pub fn total_us(&self) -> f64 {
        self.call_us + self.device_us().max(self.host_us)
    }

    /// Whatever does not grow with the message.
    pub fn latency_us(&self) -> f64 {
        if self.waits_for_host() { self.total_us() } else { self.call_us + self.kernel_us + self.steps_us }
    }

    /// As a calibration scales it.
    pub fn parts(&self) -> Parts {
        if self.waits_for_host() {
            return Parts { bytes: self.bytes.as_f64(), launch_us: self.total_us(), ..Parts::default() };
        }
        Parts {
            bytes: self.bytes.as_f64(),
            launch_us: self.call_us + self.kernel_us,
            steps_us: self.steps_us,
            ramp_us: self.filling_us,
            intra_us: if self.between { 0.0 } else { self.wire_us },
            inter_us: if self.between { self.wire_us } else { 0.0 },
        }
    }

    /// What the logarithm of the time may be off by: its parts are off independently of each other, each by its
    /// own share.
    pub fn deviation(&self, spreads: &Spreads) -> f64 {
        let wire = if self.staged { spreads.staged } else { spreads.wire };
        let parts = if self.waits_for_host() {
            [(self.call_us + self.host_us, spreads.start), (0.0, spreads.steps), (0.0, wire)]
        } else {
            [
                (self.call_us + self.kernel_us, spreads.start),
                (self.steps_us + self.filling_us, spreads.steps),
                (self.wire_us, wire),
            ]
        };
        let squares: f64 =
            parts.iter().map(|(part_us, spread)| part_us * spread).map(|part| part * part).sum();
        libm::sqrt(squares / (self.total_us() * self.total_us()) + spreads.repeat * spreads.repeat)
    }

    /// Microseconds between which 90 % of measurements are expected.
    pub fn interval_us(&self, spreads: &Spreads) -> (f64, f64) {
        let factor = libm::exp(NINETY_PERCENT * self.deviation(spreads));
        (self.total_us() / factor, self.total_us() * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREADS: Spreads = Spreads { start: 0.3, steps: 0.6, wire: 0.05, staged: 0.4, repeat: 0.0 };

    fn time(host_us: f64, wire_us: f64) -> Time {
        Time {
            bytes: Bytes::new(8),
            host_us,
            call_us: 0.0,
            kernel_us: 6.0,
            steps_us: 4.0,
            filling_us: 0.0,
            wire_us,
            between: false,
            staged: false,
        }
    }

    #[test]
    fn the_host_and_the_gpus_work_at_once() {
        assert!((time(0.0, 5.0).total_us() - 15.0).abs() < 1e-12);
        assert!((time(31.0, 5.0).total_us() - 31.0).abs() < 1e-12);
        assert!((time(31.0, 5.0).latency_us() - 31.0).abs() < 1e-12);
        assert!((time(31.0, 100.0).total_us() - 110.0).abs() < 1e-12);
    }

    #[test]
    fn a_long_message_is_as_sure_as_the_wire() {
        let long = time(0.0, 1e6);
        assert!((long.deviation(&SPREADS) - 0.05).abs() < 1e-4);
        let (low, high) = long.interval_us(&SPREADS);
        assert!((high / low - libm::exp(2.0 * NINETY_PERCENT * 0.05)).abs() < 1e-3);
    }

    #[test]
    fn a_short_one_is_as_sure_as_its_start_and_steps() {
        // 6 us at 30 % and 4 us at 60 % of 10 us.
        let expected = libm::sqrt(1.8 * 1.8 + 2.4 * 2.4) / 10.0;
        assert!((time(0.0, 0.0).deviation(&SPREADS) - expected).abs() < 1e-12);
    }
}
