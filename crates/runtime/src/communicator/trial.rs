//! A script that is played for its time.

use super::{Communicator, hashed};
use crate::model::Timed;
use crate::{Buffer, Element, Fault, Player, Reduction, Script, Transport};

/// A rank's script of a probe, with buffers.
pub(crate) struct Trial<'s> {
    script: &'s Script,
    text: &'s str,
    signature: u64,
    player: Player,
    input: Buffer<u8>,
    output: Buffer<u8>,
}

impl<'s> Trial<'s> {
    pub fn new(script: &'s Script, text: &'s str) -> Self {
        let buffer = |bytes| {
            let mut buffer = Buffer::private(bytes);
            // The system gives it no memory before it is written.
            buffer.fill(1);
            buffer
        };
        let (input, output) = (buffer(script.input_bytes()), buffer(script.output_bytes()));
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
        communicator.play_script(scripts, combined, announced, (&self.input, &mut self.output))
    }
}
