//! Plays plans with real data: one rank's part at a time, over byte streams to the other ranks.
//!
//! A [`Script`] is what one rank does of a plan, written out in bytes. A [`Player`] goes through it as far as its
//! [`Ports`] let it, without waiting and without any I/O of its own; a transport implements [`Ports`] and knows how to
//! wait.
//!
//! A program needs a [`Communicator`]:
//!
//! ```no_run
//! use weft_runtime::{Communicator, Fault, Joining, Place, Reduction};
//!
//! # fn main() -> Result<(), Fault> {
//! // On each of four ranks, which meet where rank 0 listens:
//! let mut group = Communicator::join(&Joining::new(Place::Address("node01:7400".to_owned()), 0, 4))?;
//! let mut gradient = vec![1.0_f32; 1000];
//! group.all_reduce(&mut gradient, Reduction::Average)?;
//! # Ok(())
//! # }
//! ```
//!
//! Numbers are `u8`, `i32`, `i64`, [`f16`](struct@f16), [`bf16`], `f32` and `f64`; each [`Reduction`] is for all of
//! them. Data in memory of [`Communicator::buffer`] is not copied on its way between ranks of one host.

pub mod agreement;
mod buffer;
mod communicator;
mod element;
mod fault;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod majority;
pub mod measure;
pub mod model;
mod number;
mod player;
mod ports;
mod reduce;
#[cfg(target_os = "linux")]
mod rendezvous;
mod script;
mod survivors;
pub mod transports;
#[cfg(target_os = "linux")]
mod wire;

pub use buffer::Buffer;
#[cfg(target_os = "linux")]
pub use communicator::Joining;
pub use communicator::{Choice, Communicator, Played, Priced};
pub use element::{Element, Reduction};
pub use fault::Fault;
pub use half::{bf16, f16};
pub use number::Number;
pub use player::{Memory, Player, Progress};
pub use ports::{Announced, Port, Ports, Shape, Transport, Tuning};
pub use reduce::{accumulate, combine, copy, divide};
#[cfg(target_os = "linux")]
pub use rendezvous::{Endpoint, Meeting, MeetingId, Member, Place, Roster, meet};
pub use script::Script;
pub use survivors::{Absent, Shrink, Survivors};
#[cfg(target_os = "linux")]
pub use transports::either::Either;
#[cfg(target_os = "linux")]
pub use transports::tcp::{Listening, Tcp, TcpSettings};
