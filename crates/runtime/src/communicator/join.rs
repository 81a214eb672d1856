//! Ranks that know nothing of each other but a place and how many they are.

use std::time::Duration;

use weft_collective::{Rank, Terrain};

use super::{Choice, Communicator, opening};
use crate::Fault;
use crate::model::Calibration;
use crate::rendezvous::Place;
use crate::transports::either::Either;
use crate::transports::tcp::PATIENCE;

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
    /// How long ranks that have not come yet are waited for.
    pub meets_within: Duration,
    /// Whether it is measured what messages take, by which algorithms are chosen. That is done by the first call that
    /// has to choose, and takes about a tenth of a second.
    pub calibrates: bool,
}

impl Joining {
    /// With five seconds for a rank that is dead, stopped or cut off, ten minutes for one that is busy elsewhere, and
    /// whatever transport is best.
    pub fn new(place: Place, rank: u32, ranks: u32) -> Self {
        let (rank, deadline) = (Rank::new(rank), Duration::from_secs(5));
        Self {
            place,
            rank,
            ranks,
            deadline,
            patience: PATIENCE,
            only_tcp: false,
            interface: None,
            meets_within: Duration::from_secs(30),
            calibrates: true,
        }
    }
}

impl Communicator<Either> {
    /// Meets the other ranks and connects to them over shared memory or TCP.
    ///
    /// Fails on all ranks if one does not come in time, or was started with something else.
    pub fn join(joining: &Joining) -> Result<Self, Fault> {
        let Joining { rank, ranks, .. } = *joining;
        let (transport, hosts) = opening::open(joining)?;
        // Where that is not measured, all ranks must choose alike.
        let assumed = || Choice::Quickest(Box::new(Calibration::of_link(1e-6, 5e9)));
        let choice = if joining.calibrates && ranks > 1 { Choice::Measured } else { assumed() };
        let mut group = Self::new(rank, Terrain::flat(ranks), transport, choice);
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        group.tunes = joining.calibrates && ranks > 1;
        group.place(hosts, u32::try_from(processors).unwrap_or(u32::MAX));
        Ok(group)
    }
}
