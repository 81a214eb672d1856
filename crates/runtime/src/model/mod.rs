//! What a plan takes, by few things that were measured.
//!
//! A rank is a processor that does one thing at a time: it copies bytes towards others, takes and combines what has
//! come, and waits. A [`Calibration`] says what each of these costs on a transport; a choice plays the scripts of
//! all ranks in virtual time by it, in the order in which the player goes through them. docs/models/runtime.md has the
//! parameters and what they leave out.

mod calibration;
pub(crate) mod clock;
mod fit;
mod probe;
mod rank;
mod stream;
mod tune;

pub use calibration::{Calibration, Local, Rates, Regime};
pub(crate) use probe::Timed;
pub use probe::{Probed, Probes};
pub(crate) use tune::tune;
