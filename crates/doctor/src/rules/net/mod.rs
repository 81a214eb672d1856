//! What is between machines: how data leaves a GPU for the network, the adapters and their ports, and the fabric.

mod bond;
mod bootstrap;
mod failover;
mod gdr;
mod gdr_causes;
mod groups;
mod health;
mod lookup;
mod nics;
mod pairs;
mod port_down;
mod ports;
mod rails;
mod remote;
mod roce;
mod roce_causes;
mod routes;
mod slots;
mod sockets;
mod wiring;

pub(super) use bond::Bonds;
pub(super) use bootstrap::Bootstrap;
pub(super) use failover::Failover;
pub(super) use gdr::Gdr;
pub(super) use health::Health;
pub(super) use nics::Nics;
pub(super) use rails::Rails;
pub(super) use remote::Remote;
pub(super) use roce::Roce;
pub(super) use routes::Routes;
pub(super) use slots::Slots;
pub(super) use sockets::Sockets;
pub(super) use wiring::Wiring;
