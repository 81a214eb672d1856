//! What messages take, measured.

use std::time::Duration;

use weft_base::Bytes;

use super::{Choice, Communicator};
use crate::model::{Calibration, Probes};
use crate::{Fault, Transport};

/// How often each probe is run: what others do at the same time is not to decide.
const ROUNDS: usize = 3;
/// How long each takes about.
const LASTING: Duration = Duration::from_micros(200);
/// From one length to the next: what lies between is guessed well enough to choose.
const STEP: usize = 8;
/// From here on, in seconds, a message and its answer are a long way.
const FAR_S: f64 = 100e-6;
/// What calls touch at most on a rank; that of larger ones costs what it costs here.
const FOOTPRINT: Bytes = Bytes::new(16 << 20);

impl<T: Transport> Communicator<T> {
    /// Measures what messages and local work take, tells all ranks the same, and chooses by it from now on.
    pub fn calibrate(&mut self) -> Result<Calibration, Fault> {
        let mut probes = Probes::new(self, FOOTPRINT, STEP, LASTING);
        for _ in 0..ROUNDS {
            probes.round(self)?;
            // On a long way little disturbs, and all rounds would take seconds.
            if probes.exchange_s().is_some_and(|seconds| seconds > FAR_S) {
                break;
            }
        }
        let calibration = probes.calibration();
        self.choose(Choice::Quickest(Box::new(calibration.clone())));
        Ok(calibration)
    }
}
