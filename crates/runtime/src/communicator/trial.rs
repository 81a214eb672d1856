//! A script that is played for its time.

use super::{Communicator, hashed};
use crate::model::Timed;
use crate::{Element, Fault, Player, Reduction, Script, Transport};

/// A rank's script of a probe, with what it is given.
pub(crate) struct Trial<'s> {
    script: &'s Script,
    text: &'s str,
    signature: u64,
    player: Player,
    input: &'s [u8],
    output: &'s mut [u8],
}

impl<'s> Trial<'s> {
    pub fn new(script: &'s Script, text: &'s str, (input, output): (&'s [u8], &'s mut [u8])) -> Self {
        Self {
            script,
            text,
            signature: hashed(format_args!("{} {text}", env!("CARGO_PKG_VERSION"))),
            player: Player::default(),
            input,
            output,
        }
    }

    /// Plays it so often; the seconds of a call on this rank, where they count.
    pub fn run<T: Transport>(
        &mut self,
        communicator: &mut Communicator<T>,
        timed: Timed,
        count: u32,
    ) -> Result<f64, Fault> {
        communicator.barrier()?;
        let begun = crate::measure::now();
        match timed {
            Timed::All => {
                for _ in 0..count {
                    self.play(communicator)?;
                }
                Ok(begun.elapsed().as_secs_f64() / f64::from(count.max(1)))
            }
            Timed::First => {
                let mut times_s = Vec::with_capacity(count as usize);
                for _ in 0..count.max(1) {
                    let begun = crate::measure::now();
                    self.play(communicator)?;
                    times_s.push(begun.elapsed().as_secs_f64());
                    // Else the first would soon wait for room.
                    communicator.barrier()?;
                }
                times_s.sort_by(f64::total_cmp);
                Ok(if communicator.rank().get() == 0 { times_s[times_s.len() / 2] } else { 0.0 })
            }
        }
    }

    fn play<T: Transport>(&mut self, communicator: &mut Communicator<T>) -> Result<(), Fault> {
        let announced = crate::Announced { signature_bits: self.signature, text: self.text };
        let combined = (Element::F32, Reduction::Sum);
        let scripts = (self.script, &mut self.player);
        communicator.play_script(scripts, combined, announced, (self.input, self.output))
    }
}
