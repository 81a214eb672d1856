//! The time of one operation in parts that each have a cause.

use weft_base::Bytes;

use crate::calibrate::{Parts, Wire};

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
    /// Of what.
    pub wire: Wire,
}

impl Time {
    /// The GPUs' own time.
    pub fn device_us(&self) -> f64 {
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

    /// As a calibration scales it; `least` is the same where each GPU has a process of its own.
    pub fn parts(&self, least: &Self, ranks: u32) -> Parts {
        Parts {
            ranks,
            bytes: self.bytes.as_f64(),
            call_us: self.call_us,
            host_us: self.host_us,
            least_host_us: least.host_us,
            kernel_us: self.kernel_us,
            steps_us: self.steps_us,
            filling_us: self.filling_us,
            wire_us: self.wire_us,
            wire: self.wire,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_and_the_gpus_work_at_once() {
        let time = |host_us: f64, wire_us: f64| Time {
            bytes: Bytes::new(8),
            host_us,
            call_us: 0.0,
            kernel_us: 6.0,
            steps_us: 4.0,
            filling_us: 0.0,
            wire_us,
            wire: Wire::Fabric,
        };
        assert!((time(0.0, 5.0).total_us() - 15.0).abs() < 1e-12);
        assert!((time(31.0, 5.0).total_us() - 31.0).abs() < 1e-12);
        assert!((time(31.0, 5.0).latency_us() - 31.0).abs() < 1e-12);
        assert!((time(31.0, 100.0).total_us() - 110.0).abs() < 1e-12);
    }
}
