//! Ranks that know nothing of each other but a place and how many they are.

use std::time::Duration;

use weft_base::Span;
use weft_collective::{Rank, Terrain};

use super::{Choice, Communicator, Speeds};
use crate::Fault;
use crate::rendezvous::{Meeting, Place, Roster, meet};
use crate::transports::either::Either;
use crate::transports::shared_memory::{Region, Settings, SharedMemory};
use crate::transports::tcp::{Listening, PATIENCE, Tcp, TcpSettings};

/// How ranks come together. All give the same, but for their rank.
#[derive(Debug, Clone)]
pub struct Joining {
    /// Where they meet: an address of rank 0, or a file that all see.
    pub place: Place,
    /// Which rank this is.
    pub rank: Rank,
    /// How many there are.
    pub ranks: u32,
    /// How long a rank that does not move is waited for.
    pub deadline: Duration,
    /// How long one is waited for that does not take part though its process lives and runs: it may read data, or
    /// compile something.
    pub patience: Duration,
    /// Whether ranks of one host use TCP all the same.
    pub only_tcp: bool,
    /// The network interface; else what can be reached is found out.
    pub interface: Option<String>,
}

impl Joining {
    /// With five seconds for a rank that is dead, stopped or cut off, ten minutes for one that is busy elsewhere, and
    /// whatever transport is best.
    pub fn new(place: Place, rank: u32, ranks: u32) -> Self {
        let (rank, deadline) = (Rank::new(rank), Duration::from_secs(5));
        Self { place, rank, ranks, deadline, patience: PATIENCE, only_tcp: false, interface: None }
    }
}

impl Communicator<Either> {
    /// Meets the other ranks, connects to them over shared memory or TCP, and measures what a message takes, by which
    /// algorithms are chosen.
    ///
    /// Fails on all ranks if one does not come within half a minute, or was started with something else.
    pub fn join(joining: &Joining) -> Result<Self, Fault> {
        let Joining { rank, ranks, deadline, patience, .. } = *joining;
        let interface = joining.interface.clone();
        let settings = TcpSettings { interface, deadline, patience, ..TcpSettings::default() };
        let listening = Listening::open(&settings)?;
        // The first rank offers memory that all can map if they are on its host.
        let shares = rank.get() == 0 && !joining.only_tcp;
        let region =
            shares.then(|| SharedMemory::create(ranks as usize, &Settings::default()).ok()).flatten();
        let offer = region.as_ref().map_or_else(String::new, Region::address);
        let meeting = Meeting::new(joining.place.clone(), rank, ranks);
        let roster = meet(&meeting, listening.endpoints().to_vec(), &offer)?;
        let transport = match shared(&roster, region, rank, deadline) {
            Some(shared) => {
                let mut shared = shared?;
                shared.set_patience(patience);
                Either::Shared(Box::new(shared))
            }
            None => Either::Tcp(Box::new(Tcp::connect(listening, &roster, rank, settings)?)),
        };
        // Until it is known what a message takes, all ranks must choose alike.
        let first = Speeds { latency: Span::picoseconds(1_000_000), bytes_per_s: 5e9 };
        let terrain = Terrain::flat(ranks);
        let mut group = Self::new(rank, terrain, transport, Choice::Quickest(first));
        group.calibrate()?;
        Ok(group)
    }
}

/// The shared memory that the first rank offers, if all ranks are on its host.
fn shared(
    roster: &Roster,
    own: Option<Region>,
    rank: Rank,
    deadline: Duration,
) -> Option<Result<SharedMemory, Fault>> {
    let first = roster.members.first()?;
    let together = roster.members.iter().all(|member| member.network == first.network);
    if first.text.is_empty() || !together {
        return None;
    }
    let region = own.map_or_else(|| Region::open(&first.text), Ok);
    Some(region.and_then(|region| SharedMemory::join(&region, rank, deadline, &Settings::default())))
}
