//! How a rank comes to the group.

use std::time::Duration;

use rustix::process::{PTracer, set_ptracer};
use weft_collective::Rank;

use super::board::{Board, State};
use super::buffer::Registry;
use super::inbound::Reach;
use super::mapping::Mapping;
use super::region::lacking;
use super::system::{self, Life};
use super::wait::Stall;
use super::{Region, Settings, SharedMemory, name};
use crate::Fault;

/// Rounds of waiting before others get the processor, where there is one for each rank: some tens of microseconds, by
/// which a rank is late that lost its processor.
const SPINS: u32 = 400;

impl SharedMemory {
    /// Joins a group as one of its ranks and waits for all others, until the deadline at most; it holds for all later
    /// waits too. Of ranks that do not come one is named.
    pub fn join(region: &Region, rank: Rank, deadline: Duration, settings: &Settings) -> Result<Self, Fault> {
        let (layout, me) = (region.layout, rank.index());
        if me >= layout.ranks {
            let how = format!("there are {} ranks, numbered from 0", layout.ranks);
            return Err(Fault::Unreachable { rank, how });
        }
        let memory = Mapping::new(&*region.file, 0, layout.blocks(), false)
            .map_err(|error| lacking("mapping the blocks of all ranks", error))?;
        let board = Board::new(memory, layout);
        if !board.claim(me) {
            let theirs = format!("process {}", board.process(me));
            let ours = format!("process {}, which also wants to be it", std::process::id());
            return Err(Fault::Differs { rank, what: "who it is", theirs, ours });
        }
        let probe = Box::new(probe_value(me));
        let start = system::status(std::process::id()).map_or(0, |(_, start)| start);
        let address = std::ptr::from_ref(&*probe).expose_provenance() as u64;
        board.introduce(me, std::process::id(), start, address);
        board.set_processors(me, system::may_use());
        if settings.permits_reading {
            // Without Yama there is nothing to permit, and the answer is an error.
            let _permitted = set_ptracer(PTracer::Any);
        }
        board.enter(me, State::Joined);
        let met = meet(&board, me, State::Joined, deadline).and_then(|()| {
            let staged = try_reading(&board, me, layout.ranks, settings);
            board.enter(me, State::Ready);
            meet(&board, me, State::Ready, deadline).map(|()| staged)
        });
        drop(probe);
        let mut staged = met.inspect_err(|fault| {
            board.give_up(me, fault);
            board.enter(me, State::Left);
        })?;
        let unread = (0..layout.ranks).find(|peer| !board.reads(*peer, me));
        if let (None, Some(peer)) = (&staged, unread) {
            staged = Some(format!("rank {peer} cannot read the memory of this one, as its own answer says"));
        }
        let processors = system::quota().unwrap_or_else(|| board.processors());
        Ok(Self {
            region: region.clone(),
            rank: me,
            deadline,
            patience: crate::transports::tcp::PATIENCE,
            settings: *settings,
            registers_from: settings.registered_from_bytes,
            board,
            outbound: Vec::new(),
            inbound: Vec::new(),
            reach: Reach::new(region.file.clone(), settings.direct_part_bytes),
            registry: Registry::new(region, me),
            sequence: 0,
            signature: 0,
            tag: 0,
            beats: 0,
            stall: Stall::default(),
            spins_most: if layout.ranks <= processors { SPINS } else { 0 },
            spins: if layout.ranks <= processors { SPINS } else { 0 },
            processor: u32::MAX,
            staged,
            fault: None,
        })
    }
}

/// What others must find in a rank's memory.
fn probe_value(rank: usize) -> u64 {
    0x0077_6566_7420_6f6b ^ (rank as u64) << 56
}

/// Tries to read the memory of each peer, and tells all of them; gives why some cannot be read.
fn try_reading(board: &Board, me: usize, ranks: usize, settings: &Settings) -> Option<String> {
    let mut staged = None;
    for peer in 0..ranks {
        let failed = if settings.direct_from_bytes == usize::MAX {
            Some("it is not wanted by the settings".to_owned())
        } else {
            let mut bytes = [0; 8];
            match system::read_memory(board.process(peer), board.probe(peer), &mut bytes) {
                Ok(8) if u64::from_ne_bytes(bytes) == probe_value(peer) => None,
                // In another container the number means another process.
                Ok(_) => Some("its process is not the one of that number here".to_owned()),
                Err(error) => Some(format!(
                    "{error}; ranks need the same user, the same container's processes, and a sandbox that permits \
                     process_vm_readv"
                )),
            }
        };
        board.set_reads(me, peer, failed.is_none());
        if let (None, Some(failed)) = (&staged, failed) {
            staged = Some(format!("the memory of rank {peer} cannot be read by this one: {failed}"));
        }
    }
    staged
}

/// Waits until all have come so far.
fn meet(board: &Board, me: usize, state: State, deadline: Duration) -> Result<(), Fault> {
    let begun = system::now();
    let mut rounds = 0_u32;
    while let Some(late) = (0..board.ranks()).find(|rank| board.state(*rank) < state) {
        if let Some(fault) = board.fault() {
            return Err(fault);
        }
        let waited = system::now() - begun;
        if waited >= deadline {
            let others = (0..board.ranks()).filter(|rank| board.state(*rank) < state).count() - 1;
            let more = if others == 0 { String::new() } else { format!(", nor have {others} others") };
            let how = format!("it has not joined within {} s{more}", deadline.as_secs_f64());
            return Err(Fault::Unreachable { rank: name(late), how });
        }
        rounds += 1;
        if rounds.is_multiple_of(50) {
            let dead = (0..board.ranks())
                .filter(|rank| *rank != me && board.state(*rank) >= State::Joined)
                .find(|rank| board.state(*rank) < state && board.life(*rank) == Life::Dead);
            if let Some(dead) = dead {
                let how = format!("its process {} ended while the group met", board.process(dead));
                return Err(Fault::Dead { rank: name(dead), how });
            }
        }
        // Those that come together meet fast; starting a process takes longer.
        if waited < Duration::from_millis(1) {
            rustix::thread::sched_yield();
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    match board.fault() {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}
