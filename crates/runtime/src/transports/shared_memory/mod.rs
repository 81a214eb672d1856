//! Streams between ranks of one host, through memory that all of them map.
//!
//! A small message travels in one line of the cache, together with what says that it is there. A larger one is copied
//! to a ring in parts, from which the receiver takes them; a large one is read by the receiver from the sender's own
//! memory, where the system permits that; and one that lies in a [`SharedBuffer`] is not copied at all.
//!
//! Who waits spins, then yields, then sleeps. All ranks see on a board who lives, who waits for whom, and what each
//! has announced; from it the one to blame is found when nothing moves.

mod ballots;
mod blame;
mod board;
mod buffer;
mod inbound;
mod join;
mod layout;
mod mapping;
mod outbound;
mod region;
mod shrink;
mod slot;
mod system;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};
use weft_collective::Rank;

use board::{Board, State};
use buffer::Registry;
pub use buffer::SharedBuffer;
use inbound::{Inbound, Reach, Trouble};
use mapping::Mapping;
pub use mapping::Plain;
pub(crate) use mapping::prefer_large_pages;
use outbound::{Outbound, Way};
pub use region::Region;
use region::lacking;
use wait::{LOOKS_BESIDE, Stall};

use crate::reduce::{STREAMED_COPY_BYTES, copy_streamed};
use crate::{Announced, Buffer, Fault, Port, Ports, Shape, Transport, Tuning};

/// How streams go. The same for all ranks, but for the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Of the ring of each stream, from a page to a mebibyte; rounded up to a power of two. The region's maker decides.
    pub ring_bytes: usize,
    /// Copied to the ring at a time, so that sender and receiver work at the same time.
    pub part_bytes: usize,
    /// From this length on a part is copied past the caches, and so is what a call passes on that others read where it
    /// is. It depends on the processor whether others read memory sooner than what one of them has just written.
    pub streamed_from_bytes: usize,
    /// From this length on the receiver reads a piece from the sender's memory itself, if it may.
    pub direct_from_bytes: usize,
    /// Longer pieces are copied by the ring after all, unless they lie in large pages: to find so many small ones takes
    /// the system longer than a second copy.
    pub direct_up_to_bytes: usize,
    /// Read from another process at a time: what stays in the cache until it is taken.
    pub direct_part_bytes: usize,
    /// From this length on a piece in a [`SharedBuffer`] is read where it is.
    pub registered_from_bytes: usize,
    /// Whether this rank permits other processes of its user to read its memory, where the system asks for that
    /// (Yama's `ptrace_scope` 1). Without it messages are copied twice there.
    pub permits_reading: bool,
}

impl Default for Settings {
    /// As measured best on two cores of a Xeon with 2 MiB of second-level cache each.
    fn default() -> Self {
        Self {
            ring_bytes: 256 << 10,
            part_bytes: 16 << 10,
            streamed_from_bytes: usize::MAX,
            direct_from_bytes: 2 << 20,
            direct_up_to_bytes: 16 << 20,
            direct_part_bytes: 256 << 10,
            registered_from_bytes: 1 << 10,
            permits_reading: true,
        }
    }
}

impl Settings {
    /// Whether the rest of a piece is left for the receiver to read, if it may.
    fn reads_directly(&self, piece: &[u8], rest: usize) -> bool {
        rest >= self.direct_from_bytes
            && (piece.len() <= self.direct_up_to_bytes || system::lies_in_large_pages(piece))
    }
}

/// One rank's ends of all streams of a group on one host.
pub struct SharedMemory {
    region: Region,
    rank: usize,
    deadline: Duration,
    patience: Duration,
    settings: Settings,
    /// The least of [`Settings::registered_from_bytes`] that there may be.
    registers_from: usize,
    board: Board,
    /// By channel, then peer; mapped when first used.
    outbound: Vec<Option<Box<Outbound>>>,
    inbound: Vec<Option<Box<Inbound>>>,
    reach: Reach,
    registry: Arc<Registry>,
    /// Of the present call: its number, what is announced, and both as one number that slots carry.
    sequence: u64,
    signature: u64,
    tag: u64,
    beats: u64,
    stall: Stall,
    /// Rounds of waiting before others get the processor: at most, and as long as nobody that is waited for is on the
    /// same one.
    spins_most: u32,
    spins: u32,
    /// The processor that this rank was last seen on.
    processor: u32,
    /// Why some messages are copied twice.
    staged: Option<String>,
    fault: Option<Fault>,
}

impl SharedMemory {
    /// Makes the memory that so many ranks of a group will share; each of them then joins it.
    pub fn create(ranks: usize, settings: &Settings) -> Result<Region, Fault> {
        Region::create(ranks, settings)
    }

    /// Who this is.
    pub fn rank(&self) -> Rank {
        name(self.rank)
    }

    /// How many there are.
    pub fn ranks(&self) -> usize {
        self.region.layout.ranks
    }

    /// For how long nothing may move from now on before a rank is blamed.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    /// For how long a rank is waited for from now on whose process lives and runs, but is busy with something else. At
    /// first it is ten minutes.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Why large messages from or to some peer are copied twice; nothing if the system permits better.
    pub fn why_staged(&self) -> Option<&str> {
        self.staged.as_deref()
    }

    /// Memory that the peers can map, from which they read what is pushed without a copy.
    pub fn allocate(&self, bytes: usize) -> Result<SharedBuffer, Fault> {
        SharedBuffer::new(&self.registry, bytes)
    }

    /// Where a stream's end is kept.
    fn index(&self, port: Port) -> usize {
        usize::from(port.channel) * self.region.layout.ranks + port.peer.index()
    }

    /// Shows that this rank lives.
    #[inline]
    fn beat(&mut self) {
        self.beats += 1;
        self.board.set_beats(self.rank, self.beats);
    }

    /// Something has moved that a peer may wait for.
    #[inline]
    fn moved(&mut self, peer: Rank) {
        self.beat();
        self.board.ring(peer.index());
    }

    /// Maps a stream in one direction.
    fn stream(&self, port: Port, from: usize, to: usize) -> Result<Mapping, Fault> {
        let layout = self.region.layout;
        if port.peer.index() >= layout.ranks {
            let how = format!("there are {} ranks", layout.ranks);
            return Err(Fault::Unreachable { rank: port.peer, how });
        }
        let (file, bytes) = (&*self.region.file, layout.stream_bytes());
        let offset = layout.stream(port.channel, from, to);
        // Here a lack of memory is an error; where memory is first used, it would end the process.
        fallocate(file, FallocateFlags::KEEP_SIZE, offset, bytes as u64)
            .map_err(std::io::Error::from)
            .and_then(|()| Mapping::new(file, offset, bytes, false))
            .map_err(|error| lacking(&format!("{bytes} bytes for a stream with rank {}", port.peer), error))
    }

    #[cold]
    fn open_outbound(&mut self, port: Port) -> Result<(), Fault> {
        let (index, peer) = (self.index(port), port.peer.index());
        let stream = self.stream(port, self.rank, peer)?;
        let outbound = Outbound::new(stream, self.region.layout.ring, self.board.reads(peer, self.rank));
        put(&mut self.outbound, index, Box::new(outbound));
        Ok(())
    }

    #[cold]
    fn open_inbound(&mut self, port: Port) -> Result<(), Fault> {
        let (index, peer) = (self.index(port), port.peer.index());
        let stream = self.stream(port, peer, self.rank)?;
        let inbound = Inbound::new(stream, self.region.layout.ring, self.board.process(peer));
        put(&mut self.inbound, index, Box::new(inbound));
        Ok(())
    }

    /// Ends a message with nothing. As that is asked for once, it waits where there is no room.
    #[cold]
    fn push_end(&mut self, port: Port, index: usize) -> Result<usize, Fault> {
        let mut rounds = 0;
        while let Some(Some(stream)) = self.outbound.get_mut(index) {
            let before = stream.slots();
            if stream.end(self.tag) {
                if stream.slots() != before {
                    self.moved(port.peer);
                }
                break;
            }
            rounds += 1;
            self.wait(rounds, &[port])?;
        }
        Ok(0)
    }

    #[cold]
    fn refuse(&mut self, peer: Rank, trouble: Trouble) -> Fault {
        match trouble {
            Trouble::Differs => self.differs(peer.index()),
            Trouble::Unreadable(error) => self.unreadable(peer.index(), &error),
        }
    }

    /// After bytes were read where the sender has them: had it given up before, it may use its memory for something
    /// else.
    #[inline]
    fn still_right(&mut self) -> Result<(), Fault> {
        if !self.board.has_fault() {
            return Ok(());
        }
        let reason = "it has given up".to_owned();
        Err(self.fail(Fault::Abandoned { rank: self.rank(), reason }))
    }

    /// Ends it all; of several ranks that do so at the same time the first is heard.
    #[cold]
    fn fail(&mut self, fault: Fault) -> Fault {
        self.board.give_up(self.rank, &fault);
        let fault = self.board.fault().unwrap_or(fault);
        self.fault = Some(fault.clone());
        fault
    }
}

/// A rank by its index.
fn name(rank: usize) -> Rank {
    Rank::new(u32::try_from(rank).unwrap_or(u32::MAX))
}

fn put<T>(list: &mut Vec<Option<T>>, index: usize, value: T) {
    if list.len() <= index {
        list.resize_with(index + 1, || None);
    }
    if let Some(place) = list.get_mut(index) {
        *place = Some(value);
    }
}

impl Ports for SharedMemory {
    #[inline]
    fn push(&mut self, port: Port, piece: &[u8], done: usize, end: bool) -> Result<usize, Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let index = self.index(port);
        if !matches!(self.outbound.get(index), Some(Some(_))) {
            self.open_outbound(port)?;
        }
        if piece.is_empty() {
            return if end { self.push_end(port, index) } else { Ok(0) };
        }
        let (registry, settings) = (&*self.registry, &self.settings);
        let Some(Some(stream)) = self.outbound.get_mut(index) else { return Ok(done) };
        let (before, direct) = (stream.slots(), stream.direct);
        let over = stream.push((piece, end), done, self.tag, |rest| {
            let place = if rest.len() >= settings.registered_from_bytes { registry.find(rest) } else { None };
            match place {
                Some(place) => Way::Registered(place),
                None if direct && settings.reads_directly(piece, rest.len()) => Way::Direct,
                None => {
                    Way::Staged { part: settings.part_bytes, streamed_from: settings.streamed_from_bytes }
                }
            }
        });
        if stream.slots() != before {
            self.moved(port.peer);
        }
        Ok(over)
    }

    #[inline]
    fn pull(
        &mut self,
        port: Port,
        want: usize,
        unit: usize,
        end: bool,
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let index = self.index(port);
        if !matches!(self.inbound.get(index), Some(Some(_))) {
            self.open_inbound(port)?;
        }
        let Some(Some(stream)) = self.inbound.get_mut(index) else { return Ok(0) };
        let (before, read) = (stream.progress(), stream.read());
        let got = stream.pull((want, unit, end), self.tag, &mut self.reach, &mut take);
        let (progress, directly) = (stream.progress(), stream.read() != read);
        if progress != before {
            self.moved(port.peer);
        }
        if directly {
            self.still_right()?;
        }
        got.map_err(|trouble| self.refuse(port.peer, trouble))
    }

    fn passes_on(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.settings.streamed_from_bytes
            && (bytes.len() >= self.settings.registered_from_bytes && self.registry.find(bytes).is_some()
                || self.staged.is_none() && self.settings.reads_directly(bytes, bytes.len()))
    }

    fn pull_into(&mut self, port: Port, into: &mut [u8], unit: usize, end: bool) -> Result<usize, Fault> {
        let index = self.index(port);
        if self.fault.is_none() && into.len() >= self.settings.direct_from_bytes {
            if let Some(Some(stream)) = self.inbound.get_mut(index) {
                let read = match stream.is_direct(self.tag) {
                    Ok(true) => stream.read_into(into, unit, end),
                    Ok(false) => Ok(0),
                    Err(trouble) => Err(trouble),
                };
                match read {
                    Ok(0) => {}
                    Ok(read) => {
                        self.moved(port.peer);
                        self.still_right()?;
                        return Ok(read);
                    }
                    Err(trouble) => return Err(self.refuse(port.peer, trouble)),
                }
            }
        }
        let (want, mut at) = (into.len(), 0);
        let streams = want >= STREAMED_COPY_BYTES;
        self.pull(port, want, unit, end, |part| {
            match into.get_mut(at..at + part.len()) {
                Some(place) if streams => copy_streamed(part, place),
                Some(place) => place.copy_from_slice(part),
                None => {}
            }
            at += part.len();
        })
    }
}

impl Transport for SharedMemory {
    fn kind(&self) -> &'static str {
        "shared memory"
    }

    fn shape(&self) -> Shape {
        Shape {
            line_bytes: slot::INLINE,
            part_bytes: self.settings.part_bytes,
            window_bytes: self.region.layout.ring,
            direct_from_bytes: self.settings.direct_from_bytes,
            // Memory that the library gives lies in large pages where the system has them.
            direct_up_to_bytes: if self.staged.is_none() { usize::MAX } else { 0 },
            registered_from_bytes: self.registers_from,
            // What a rank adds goes past the caches, or is read by others out of its own: neither gains.
            call_bytes: usize::MAX,
        }
    }

    fn begin(&mut self, call: Announced<'_>) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.still_right()?;
        self.sequence += 1;
        self.signature = call.signature_bits;
        // Calls that are alike differ by their number; the factor spreads it over all bits.
        self.tag = call.signature_bits.wrapping_add(self.sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.board.announce(self.rank, self.sequence, call.signature_bits, call.text);
        self.beat();
        Ok(())
    }

    #[inline]
    fn wait(&mut self, rounds: u32, on: &[Port]) -> Result<(), Fault> {
        if rounds < self.spins {
            self.stall.end();
            if rounds == LOOKS_BESIDE {
                self.look_beside(on);
            }
            std::hint::spin_loop();
            return Ok(());
        }
        self.wait_long(rounds, on)
    }

    fn abandon(&mut self, fault: &Fault) {
        if self.fault.is_none() {
            self.fail(fault.clone());
        }
    }

    fn buffer(&self, bytes: usize) -> Result<Buffer<u8>, Fault> {
        self.allocate(bytes).map(Buffer::shared)
    }

    fn tuning(&self) -> Option<Tuning> {
        let Settings { streamed_from_bytes, direct_from_bytes, registered_from_bytes, .. } = self.settings;
        Some(Tuning { streamed_from_bytes, direct_from_bytes, registered_from_bytes })
    }

    fn tune(&mut self, tuning: Tuning) {
        let Tuning { streamed_from_bytes, direct_from_bytes, registered_from_bytes } = tuning;
        self.settings = Settings {
            streamed_from_bytes,
            direct_from_bytes,
            registered_from_bytes: registered_from_bytes.max(self.registers_from),
            ..self.settings
        };
    }

    fn is_registered(&self, bytes: &[u8]) -> bool {
        self.registry.find(bytes).is_some()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        self.board.enter(self.rank, State::Left);
        self.board.ring_all();
    }
}
