//! Shared memory where all ranks are on one host, TCP else, as one type.

use super::shared_memory::SharedMemory;
use super::tcp::Tcp;
use crate::{Announced, Buffer, Fault, Port, Ports, Shape, Shrink, Survivors, Transport, Tuning};

/// The transport of a group that did not choose one.
pub enum Either {
    /// All ranks are on one host.
    Shared(Box<SharedMemory>),
    /// They are not, or cannot share memory.
    Tcp(Box<Tcp>),
}

impl Either {
    /// What the choice was, and why it is no better: a line for a person.
    pub fn describe(&self) -> String {
        match self {
            Self::Shared(memory) => match memory.why_staged() {
                None => "shared memory".to_owned(),
                Some(why) => format!("shared memory; large messages are copied twice: {why}"),
            },
            Self::Tcp(tcp) => match tcp.instead() {
                None => "TCP".to_owned(),
                Some(why) => format!("TCP, since {why}"),
            },
        }
    }
}

macro_rules! both {
    ($of:expr, $transport:ident => $does:expr) => {
        match $of {
            Either::Shared($transport) => $does,
            Either::Tcp($transport) => $does,
        }
    };
}

impl Ports for Either {
    #[inline]
    fn push(&mut self, port: Port, piece: &[u8], done: usize, end: bool) -> Result<usize, Fault> {
        both!(self, transport => transport.push(port, piece, done, end))
    }

    #[inline]
    fn pull(
        &mut self,
        port: Port,
        want: usize,
        unit: usize,
        end: bool,
        take: impl FnMut(&[u8]),
    ) -> Result<usize, Fault> {
        both!(self, transport => transport.pull(port, want, unit, end, take))
    }

    #[inline]
    fn passes_on(&self, bytes: &[u8]) -> bool {
        both!(self, transport => transport.passes_on(bytes))
    }

    #[inline]
    fn pull_into(&mut self, port: Port, into: &mut [u8], unit: usize, end: bool) -> Result<usize, Fault> {
        both!(self, transport => transport.pull_into(port, into, unit, end))
    }
}

impl Transport for Either {
    fn kind(&self) -> &'static str {
        both!(self, transport => transport.kind())
    }

    fn shape(&self) -> Shape {
        both!(self, transport => transport.shape())
    }

    #[inline]
    fn begin(&mut self, call: Announced<'_>) -> Result<(), Fault> {
        both!(self, transport => transport.begin(call))
    }

    fn wait(&mut self, rounds: u32, on: &[Port]) -> Result<(), Fault> {
        both!(self, transport => transport.wait(rounds, on))
    }

    fn abandon(&mut self, fault: &Fault) {
        both!(self, transport => transport.abandon(fault));
    }

    fn buffer(&self, bytes: usize) -> Result<Buffer<u8>, Fault> {
        both!(self, transport => transport.buffer(bytes))
    }

    fn tuning(&self) -> Option<Tuning> {
        both!(self, transport => transport.tuning())
    }

    fn tune(&mut self, tuning: Tuning) {
        both!(self, transport => transport.tune(tuning));
    }

    fn is_registered(&self, bytes: &[u8]) -> bool {
        both!(self, transport => transport.is_registered(bytes))
    }
}

impl Shrink for Either {
    fn shrink(&mut self, deadline: std::time::Duration) -> Result<Survivors, Fault> {
        both!(self, transport => transport.shrink(deadline))
    }
}
