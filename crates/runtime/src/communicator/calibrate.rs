//! What messages take, measured.

use std::time::Duration;

use weft_base::Bytes;

use super::{Choice, Communicator};
use crate::measure::{now, slowest};
use crate::model::{Calibration, Probes, tune};
use crate::{Fault, Transport};

/// How often each probe is run at most: what others do at the same time is not to decide.
const ROUNDS: usize = 3;
/// After so long none is run once more.
const ENOUGH: Duration = Duration::from_millis(40);
/// How long each takes about.
const LASTING: Duration = Duration::from_micros(100);
/// From one length to the next: what lies between is guessed well enough to choose.
const STEP: usize = 8;
/// What calls touch at most on a rank; that of larger ones costs what it costs here.
const FOOTPRINT: Bytes = Bytes::new(16 << 20);

impl<T: Transport> Communicator<T> {
    /// Measures what messages and local work take, tells all ranks the same, and chooses by it from now on. All ranks
    /// call it together. It takes about a tenth of a second, on a long way as many exchanges.
    pub fn calibrate(&mut self) -> Result<Calibration, Fault> {
        let begun = now();
        self.tune()?;
        self.choose(assumed());
        let mut probes = Probes::new(self, FOOTPRINT, STEP, LASTING);
        for _ in 0..ROUNDS {
            probes.round(self)?;
            if slowest(self, begun.elapsed().as_secs_f64())? > ENOUGH.as_secs_f64() {
                break;
            }
        }
        let calibration = probes.calibration();
        self.choose(Choice::Quickest(Box::new(calibration.clone())));
        Ok(calibration)
    }

    /// Finds which ways are the quicker ones on these hosts where the transport has the choice, and goes so from now on.
    /// All ranks call it together; it takes some milliseconds, and is part of [`Self::calibrate`].
    pub fn tune(&mut self) -> Result<(), Fault> {
        self.tunes = false;
        let choice = std::mem::replace(&mut self.choice, assumed());
        self.prepared.clear();
        let tuned = tune(self);
        self.choose(choice);
        tuned.map(drop)
    }
}

/// What is measured needs barriers, for which all ranks must choose alike.
fn assumed() -> Choice {
    Choice::Quickest(Box::new(Calibration::of_link(1e-6, 5e9)))
}
