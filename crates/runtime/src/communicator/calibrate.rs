//! What a message takes, measured.

use weft_base::Span;
use weft_collective::Rank;

use super::{Choice, Communicator, Speeds};
use crate::{Fault, Transport};

/// How often a small message is measured, and a large one: the less a call takes, the more it needs until one is not
/// disturbed.
const REPEATS: (usize, usize) = (200, 9);
/// Of a message that is all bytes.
const LARGE: usize = 4 << 20;

impl<T: Transport> Communicator<T> {
    /// Measures what a message between neighbours takes, tells all ranks the same, and chooses by it from now on.
    ///
    /// Around a ring every rank sends to the next one and receives from the one before at the same time, as in most
    /// plans; an all-gather of n ranks is n - 1 such steps.
    pub fn calibrate(&mut self) -> Result<Speeds, Fault> {
        self.choose(Choice::Named("ring".to_owned()));
        let steps = f64::from(self.ranks().saturating_sub(1).max(1));
        let small_s = self.gathered(8, REPEATS.0)? / steps;
        let large_s = self.gathered(LARGE, REPEATS.1)? / steps;
        let moving_s = (large_s - small_s).max(1e-9);
        let own = [small_s, bytes(LARGE) / moving_s];
        let mut told = own;
        self.broadcast(&mut told, Rank::new(0))?;
        let speeds = Speeds { latency: span(told[0]), bytes_per_s: told[1].max(1.0) };
        self.choose(Choice::Quickest(speeds));
        Ok(speeds)
    }

    /// The seconds of an all-gather of so many bytes of each rank: the lower quartile of several. What others do on
    /// the machine only adds to it, and the least is luck where ranks share processors.
    fn gathered(&mut self, bytes: usize, repeats: usize) -> Result<f64, Fault> {
        let own = vec![0_u8; bytes];
        let mut all = vec![0_u8; bytes * self.ranks() as usize];
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let begun = crate::measure::now();
            self.all_gather(&own, &mut all)?;
            times.push(begun.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok(times[repeats / 4])
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few mebibytes")]
fn bytes(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds of one message, above zero"
)]
fn span(seconds: f64) -> Span {
    Span::picoseconds((seconds * 1e12) as u64)
}
