//! Plays plans with real data: one rank's part at a time, over byte streams to the other ranks.
//!
//! A [`Script`] is what one rank does of a plan, written out in bytes. A [`Player`] goes through it as far as its
//! [`Ports`] let it, without waiting and without any I/O of its own; a transport implements [`Ports`] and knows how to
//! wait.

mod communicator;
mod element;
mod fault;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod majority;
pub mod measure;
mod number;
mod player;
mod ports;
mod reduce;
#[cfg(target_os = "linux")]
mod rendezvous;
mod script;
pub mod transports;
#[cfg(target_os = "linux")]
mod wire;

pub use communicator::{Choice, Communicator, Speeds};
pub use element::{Element, Reduction};
pub use fault::Fault;
pub use number::Number;
pub use player::{Memory, Player, Progress};
pub use ports::{Announced, Port, Ports, Transport};
pub use reduce::{accumulate, combine, copy, divide};
#[cfg(target_os = "linux")]
pub use rendezvous::{Endpoint, Meeting, MeetingId, Member, Place, Roster, meet};
pub use script::Script;
#[cfg(target_os = "linux")]
pub use transports::tcp::{Listening, Tcp, TcpSettings};
