//! TCP: a connection per peer and channel, and one per peer for what transports tell each other.

mod blame;
mod candidates;
pub(crate) mod interfaces;
mod links;
mod notes;
mod open;
mod pulse;
mod reception;
mod shrink;
mod stream;
mod watch;

use std::collections::VecDeque;
use std::time::Duration;

pub use open::Listening;
use weft_collective::Rank;

use crate::agreement::Lost;
use crate::{Announced, Fault, Port, Ports, Shape, Transport};
use notes::Note;
use pulse::Pulse;
use reception::Reception;
use stream::{Broken, CallId, Stream};
use watch::{Peer, Stall};

/// Calls that are remembered, to tell which rank has made another one: ranks are at most a few calls apart.
const REMEMBERED: usize = 16;

/// How long a rank is waited for by default that lives and is busy elsewhere: as NCCL's users know it from PyTorch.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Calls are cut into parts of about so much: half of it, a message between two ranks, stays in a second-level cache.
const CALL_BYTES: usize = 1 << 20;

/// How a [`Tcp`] behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpSettings {
    /// The interface to use, by its name (`eth0`) or one of its addresses; otherwise the best that works is found.
    pub interface: Option<String>,
    /// After so long without any movement the rank to blame is named.
    pub deadline: Duration,
    /// A rank whose process is known to live, and to be busy with something else, is named only after so long: it may
    /// read data or compile something. For that each process has a thread that answers for it. Up to the deadline or
    /// less, there is none.
    pub patience: Duration,
    /// For so long a wait asks again and again, which is fast and uses a core, before it sleeps. Zero sleeps at once.
    pub busy: Duration,
    /// What the system is asked to buffer per connection and direction; by default it adapts that itself. Twice the
    /// product of bandwidth and round trip is enough.
    pub socket_buffer_bytes: Option<usize>,
    /// What is read at once at most.
    pub staging_bytes: usize,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            interface: None,
            deadline: Duration::from_secs(5),
            patience: PATIENCE,
            busy: Duration::from_micros(100),
            socket_buffer_bytes: None,
            staging_bytes: 256 << 10,
        }
    }
}

/// Streams to other ranks over TCP.
#[derive(Debug)]
pub struct Tcp {
    rank: Rank,
    /// Of the roster.
    id: u64,
    settings: TcpSettings,
    reception: Reception,
    peers: Vec<Peer>,
    reasons: Vec<String>,
    call: CallId,
    calls: VecDeque<(CallId, String)>,
    stall: Stall,
    fault: Option<Fault>,
    /// How often the group has become smaller, and whom it lost the last time, by their numbers before.
    generation: u32,
    last_lost: Lost,
    pulse: Option<Pulse>,
    /// Why these ranks do not share memory, where they could be expected to.
    instead: Option<String>,
}

impl Tcp {
    /// How each peer is reached, and why so: a line per peer.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Why the ranks use TCP though they are on one host, where that was not asked for.
    pub fn instead(&self) -> Option<&str> {
        self.instead.as_deref()
    }

    pub(crate) fn set_instead(&mut self, instead: Option<String>) {
        self.instead = instead;
    }

    /// Which rank this is.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.peers.len()).unwrap_or(u32::MAX)
    }

    /// The stream of a port. `None` while the peer, whose part it is to connect, has not yet done so.
    fn stream(&mut self, port: Port) -> Result<Option<&mut Stream>, Fault> {
        let there = self.peers.get(port.peer.index()).and_then(|peer| peer.stream(port.channel)).is_some();
        if !there {
            if let Some(fault) = &self.fault {
                return Err(fault.clone());
            }
            self.open_stream(port)?;
        }
        Ok(self.peers.get_mut(port.peer.index()).and_then(|peer| peer.stream_mut(port.channel)))
    }

    /// Sends an empty message before there is a stream for it: it is given only once, and must not wait for the peer.
    fn send_early(&mut self, port: Port) {
        let Some(peer) = self.peers.get_mut(port.peer.index()) else { return };
        if let Some(control) = &mut peer.control {
            Note::Empty { channel: port.channel, call: self.call }.send(control, self.rank);
            peer.count_early(port.channel, self.call);
        }
    }

    /// Takes an empty message that came before the stream, if one may have.
    fn take_early(&mut self, port: Port) -> Result<bool, Fault> {
        let (index, call) = (port.peer.index(), self.call);
        let Some(peer) = self.peers.get(index) else { return Ok(false) };
        // Only who waits for the other to connect sends so.
        if peer.way.is_none() || peer.stream(port.channel).is_some_and(|stream| !stream.awaits_early(call)) {
            return Ok(false);
        }
        self.stream(port)?;
        self.hear(index).map_err(|fault| self.give_up(fault))?;
        Ok(self.peers.get_mut(index).is_some_and(|peer| peer.take_early(port.channel, call)))
    }

    /// What becomes of a stream that cannot go on.
    fn broken(&mut self, peer: Rank, broken: Broken) -> Fault {
        if let Some(fault) = &self.fault {
            return fault.clone();
        }
        let fault = match broken {
            Broken::Ended(how) => self.ended(peer, &how),
            Broken::Other(theirs) => self.differing(peer, theirs),
        };
        self.give_up(fault)
    }

    /// Remembers a fault, and tells all others of it.
    fn give_up(&mut self, fault: Fault) -> Fault {
        if let Some(first) = &self.fault {
            return first.clone();
        }
        for peer in &mut self.peers {
            if let Some(control) = &mut peer.control {
                notes::send_fault(control, &fault, self.rank);
            }
        }
        self.fault = Some(fault.clone());
        fault
    }
}

impl Ports for Tcp {
    fn push(&mut self, port: Port, piece: &[u8], done: usize, end: bool) -> Result<usize, Fault> {
        let call = self.call;
        let Some(stream) = self.stream(port)? else {
            if piece.is_empty() && end {
                self.send_early(port);
            }
            return Ok(done);
        };
        match stream.push(call, piece, done, end) {
            Ok(done) => Ok(done),
            Err(broken) => Err(self.broken(port.peer, broken)),
        }
    }

    fn pull(
        &mut self,
        port: Port,
        want: usize,
        unit: usize,
        end: bool,
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, Fault> {
        self.tick_moving()?;
        let call = self.call;
        if want == 0 && end && self.take_early(port)? {
            take(&[]);
            return Ok(0);
        }
        let Some(stream) = self.stream(port)? else { return Ok(0) };
        match stream.pull(call, (want, unit, end), take) {
            Ok(got) => Ok(got),
            Err(broken) => Err(self.broken(port.peer, broken)),
        }
    }

    fn pull_into(&mut self, port: Port, into: &mut [u8], unit: usize, end: bool) -> Result<usize, Fault> {
        self.tick_moving()?;
        let call = self.call;
        if into.is_empty() {
            return self.pull(port, 0, unit, end, |_| {});
        }
        let Some(stream) = self.stream(port)? else { return Ok(0) };
        match stream.pull_into(call, into, end) {
            Ok(got) => Ok(got),
            Err(broken) => Err(self.broken(port.peer, broken)),
        }
    }
}

impl Transport for Tcp {
    fn kind(&self) -> &'static str {
        "TCP"
    }

    fn shape(&self) -> Shape {
        // What sockets hold by default is four mebibytes.
        Shape { call_bytes: CALL_BYTES, ..Shape::stream(64 << 10, 4 << 20) }
    }

    fn begin(&mut self, call: Announced<'_>) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.call = CallId { number: self.call.number.wrapping_add(1), signature: call.signature_bits };
        // The oldest text's memory serves the newest.
        let mut text = if self.calls.len() < REMEMBERED {
            String::new()
        } else {
            self.calls.pop_front().unwrap_or_default().1
        };
        text.clear();
        text.push_str(call.text);
        self.calls.push_back((self.call, text));
        self.answer_early();
        Ok(())
    }

    fn wait(&mut self, rounds: u32, on: &[Port]) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.watch(rounds, on).map_err(|fault| self.give_up(fault))
    }

    fn abandon(&mut self, fault: &Fault) {
        self.give_up(fault.clone());
        self.flush();
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.pulse = None;
        if self.fault.is_none() {
            for peer in &mut self.peers {
                if let Some(control) = &mut peer.control {
                    Note::Goodbye.send(control, self.rank);
                }
            }
        }
        self.flush();
        // Unread messages would make the system reset the connection.
        for control in self.peers.iter_mut().filter_map(|peer| peer.control.as_mut()) {
            control.fill();
        }
    }
}
