//! Where in a plan something is, in words.

use std::fmt;

use crate::{Buffer, Op, Rank};

/// An operation of a plan. All numbers count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Who does it.
    pub rank: Rank,
    /// On which of its threads.
    pub thread: u16,
    /// In which step of the thread.
    pub step: u32,
    /// Which operation of the step.
    pub op: u32,
    /// What is done.
    pub action: Action,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, thread, step, op, action } = self;
        write!(f, "rank {rank}, thread {thread}, step {step}, operation {op} ({action})")
    }
}

/// What an operation does, without its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// [`Op::Send`] to that rank.
    Send(Rank),
    /// [`Op::Recv`] from that rank.
    Recv(Rank),
    /// [`Op::RecvReduce`] from that rank.
    RecvReduce(Rank),
    /// [`Op::Copy`].
    Copy,
    /// [`Op::Reduce`].
    Reduce,
    /// [`Op::Multicast`].
    Multicast,
    /// [`Op::Contribute`] to that rank.
    Contribute(Rank),
    /// [`Op::SwitchReduce`].
    SwitchReduce,
    /// [`Op::Await`] of that thread.
    Await(u16),
}

impl From<&Op> for Action {
    fn from(op: &Op) -> Self {
        match *op {
            Op::Send { to, .. } => Self::Send(to),
            Op::Recv { from, .. } => Self::Recv(from),
            Op::RecvReduce { from, .. } => Self::RecvReduce(from),
            Op::Copy { .. } => Self::Copy,
            Op::Reduce { .. } => Self::Reduce,
            Op::Multicast { .. } => Self::Multicast,
            Op::Contribute { to, .. } => Self::Contribute(to),
            Op::SwitchReduce { .. } => Self::SwitchReduce,
            Op::Await { thread, .. } => Self::Await(thread),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(to) => write!(f, "send to rank {to}"),
            Self::Recv(from) => write!(f, "receive from rank {from}"),
            Self::RecvReduce(from) => write!(f, "receive and reduce from rank {from}"),
            Self::Copy => f.write_str("copy"),
            Self::Reduce => f.write_str("reduce"),
            Self::Multicast => f.write_str("multicast"),
            Self::Contribute(to) => write!(f, "contribute to rank {to}"),
            Self::SwitchReduce => f.write_str("reduce in switch"),
            Self::Await(thread) => write!(f, "wait for thread {thread}"),
        }
    }
}

/// A block of a buffer, as the plan names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Of which buffer.
    pub buffer: Buffer,
    /// Which one.
    pub number: u32,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.buffer {
            Buffer::Input => write!(f, "input block {}", self.number),
            Buffer::Output => write!(f, "output block {}", self.number),
            Buffer::Scratch(buffer) => write!(f, "block {} of scratch buffer {buffer}", self.number),
        }
    }
}
