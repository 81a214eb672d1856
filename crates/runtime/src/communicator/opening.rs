//! Which transport: shared memory if all ranks can have it, TCP else; all of them the same.

use super::Joining;
use crate::Fault;
use crate::rendezvous::{Gathering, Meeting, Member, Roster, gather};
use crate::transports::either::Either;
use crate::transports::shared_memory::{Region, Settings, SharedMemory};
use crate::transports::tcp::{Listening, Tcp, TcpSettings};

/// What rank 0 tells in place of a region's address is why there is none.
const REFUSED: char = '!';

/// Meets the others and connects to them; gives the host of each rank too, as a number.
pub(super) fn open(joining: &Joining) -> Result<(Either, Vec<u32>), Fault> {
    let Joining { rank, ranks, deadline, patience, .. } = *joining;
    let interface = joining.interface.clone();
    let settings = TcpSettings { interface, deadline, patience, ..TcpSettings::default() };
    let listening = Listening::open(&settings)?;
    // The first rank offers memory that all can map if they are on its host.
    let shares = rank.get() == 0 && !joining.only_tcp;
    let region = shares.then(|| SharedMemory::create(ranks as usize, &Settings::default())).transpose();
    let offer = match &region {
        Ok(region) => region.as_ref().map_or_else(String::new, Region::address),
        Err(fault) => format!("{REFUSED}rank 0 has no {fault}"),
    };
    let meeting =
        Meeting { deadline: joining.meets_within, ..Meeting::new(joining.place.clone(), rank, ranks) };
    let mut gathering = gather(&meeting, listening.endpoints().to_vec(), &offer)?;
    let hosts = hosts(gathering.roster());
    let instead = match shared(&mut gathering, region.ok().flatten(), joining)? {
        Shared::Region(region) => {
            let mut memory = SharedMemory::join(&region, rank, deadline, &Settings::default())?;
            memory.set_patience(patience);
            return Ok((Either::Shared(Box::new(memory)), hosts));
        }
        Shared::Not(instead) => instead,
    };
    // Its connections end here.
    let roster = gathering.roster().clone();
    drop(gathering);
    let mut tcp = Tcp::connect(listening, &roster, rank, settings)?;
    tcp.set_instead(instead);
    Ok((Either::Tcp(Box::new(tcp)), hosts))
}

/// Ranks that reach each other over the loopback interface are on one host.
fn hosts(roster: &Roster) -> Vec<u32> {
    let first = |member: &Member| roster.members.iter().position(|other| other.network == member.network);
    let number = |member| first(member).and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
    roster.members.iter().map(number).collect()
}

/// Whether all ranks share memory.
enum Shared {
    Region(Region),
    /// They do not: why, where they could have been expected to.
    Not(Option<String>),
}

/// The memory that the first rank offers, if all ranks are on its host and can open it.
fn shared(gathering: &mut Gathering, own: Option<Region>, joining: &Joining) -> Result<Shared, Fault> {
    let members = &gathering.roster().members;
    let Some(first) = members.first() else { return Ok(Shared::Not(None)) };
    let together = members.iter().all(|member| member.network == first.network);
    if first.text.is_empty() || !together {
        return Ok(Shared::Not(None));
    }
    if let Some(why) = first.text.strip_prefix(REFUSED) {
        return Ok(Shared::Not(Some(why.to_owned())));
    }
    let region = own.map_or_else(|| Region::open(&first.text), Ok).and_then(Region::tried);
    let trouble = match &region {
        Ok(_) => String::new(),
        Err(fault) => format!("rank {} has no {fault}", joining.rank),
    };
    // If one cannot, nobody does.
    let troubles = gathering.exchange(&trouble, joining.deadline)?;
    match (troubles.into_iter().find(|trouble| !trouble.is_empty()), region) {
        (None, region) => region.map(Shared::Region),
        (Some(trouble), _) => Ok(Shared::Not(Some(trouble))),
    }
}
