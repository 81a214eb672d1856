//! How ranks find each other: at an address of rank 0, or by a file that all of them see.
//!
//! Rank 0 listens, the others come and tell who they are, and everyone gets the [`Roster`] or the same [`Fault`].

mod exchange;
mod guest;
mod host;
mod member;
mod place;

use std::time::Duration;

pub(crate) use exchange::Gathering;
pub use member::{Endpoint, MeetingId, Member, Roster};
pub use place::Place;
pub(crate) use place::listen_anywhere;
use weft_collective::Rank;

use crate::Fault;
use crate::wire::{Put, Reader};

/// What every connection to rank 0 begins with.
const MAGIC: &[u8; 8] = b"WEFTMEET";
/// What is said after that, and how. The first five fields of a [`Hello`] are the same in all protocols from 2 on.
const PROTOCOL: u32 = 2;

/// Frames between rank 0 and the others.
const HELLO: u8 = 1;
const ROSTER: u8 = 2;
const FAULT: u8 = 3;
const MISSING: u8 = 4;
const TEXT: u8 = 5;
const TEXTS: u8 = 6;

/// How often rank 0 tells those who have come who has not.
const NEWS: Duration = Duration::from_millis(300);

/// Where and how ranks meet. All of them give the same, but for their rank.
#[derive(Debug, Clone)]
pub struct Meeting {
    /// Where.
    pub place: Place,
    /// Which rank this is.
    pub rank: Rank,
    /// How many ranks there are.
    pub ranks: u32,
    /// A number of this meeting, by which a file or a rank that is left from another one is known. 0 is as good as any
    /// where nothing can be left.
    pub id: MeetingId,
    /// Who has not come by then is named.
    pub deadline: Duration,
    /// What must be the same everywhere: the version of Weftwork, unless a caller knows better.
    pub version: String,
}

impl Meeting {
    /// With the version of this crate and half a minute of patience.
    pub fn new(place: Place, rank: Rank, ranks: u32) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { place, rank, ranks, id: MeetingId::default(), deadline: Duration::from_secs(30), version }
    }
}

/// Meets the other ranks, and gives who they are. `endpoints` is where this rank can be reached later, `text` whatever
/// all are to know of it (at most 1 MiB).
///
/// Fails on all ranks with the same fault: with [`Fault::Unreachable`] if a rank has not come by the deadline (its text
/// names all that are missing), with [`Fault::Differs`] if one has another version or number of ranks or a number that
/// is taken.
pub fn meet(meeting: &Meeting, endpoints: Vec<Endpoint>, text: &str) -> Result<Roster, Fault> {
    gather(meeting, endpoints, text).map(|gathering| gathering.roster().clone())
}

/// As [`meet`], and stays together for more to be told.
pub(crate) fn gather(meeting: &Meeting, endpoints: Vec<Endpoint>, text: &str) -> Result<Gathering, Fault> {
    if meeting.rank.get() >= meeting.ranks {
        let how = format!("there are {} ranks, counted from 0", meeting.ranks);
        return Err(Fault::Lacking { what: "a place for this rank", how });
    }
    if text.len() > 1 << 20 {
        let how = format!("it has {} bytes, at most 1,048,576 are sent", text.len());
        return Err(Fault::Lacking { what: "the text of this rank", how });
    }
    let me = Member {
        rank: meeting.rank,
        version: meeting.version.clone(),
        host: place::host_name(),
        process: std::process::id(),
        network: place::network(),
        endpoints,
        text: text.to_owned(),
    };
    if meeting.rank.get() == 0 { host::host(meeting, me) } else { guest::visit(meeting, &me) }
}

/// What a rank says when it comes.
#[derive(Debug)]
struct Hello {
    protocol: u32,
    rank: Rank,
    ranks: u32,
    id: MeetingId,
    version: String,
    /// Absent where the protocol is another one.
    member: Option<Member>,
}

impl Hello {
    fn bytes(meeting: &Meeting, me: &Member) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_u32(PROTOCOL);
        out.put_u32(meeting.rank.get());
        out.put_u32(meeting.ranks);
        out.put_u64(meeting.id.0);
        out.put_text(&meeting.version);
        me.put(&mut out);
        out
    }

    fn read(body: &[u8]) -> Option<Self> {
        let mut from = Reader(body);
        let (protocol, rank, ranks) = (from.u32()?, from.rank()?, from.u32()?);
        let id = MeetingId(from.u64()?);
        let version = from.text();
        let member = if protocol == PROTOCOL { Some(Member::read(&mut from)?) } else { None };
        let version = version.unwrap_or_else(|| "an older version".to_owned());
        Some(Self { protocol, rank, ranks, id, version, member })
    }

    fn version(&self) -> String {
        match self.protocol {
            PROTOCOL => self.version.clone(),
            other => format!("{} with protocol {other} in place of {PROTOCOL}", self.version),
        }
    }
}

/// `ranks 2, 5 and 7`, or `rank 2`.
fn list(ranks: &[Rank]) -> String {
    let names: Vec<String> = ranks.iter().map(Rank::to_string).collect();
    match names.split_last() {
        None => "no rank".to_owned(),
        Some((only, [])) => format!("rank {only}"),
        Some((last, others)) => format!("ranks {} and {last}", others.join(", ")),
    }
}

fn missing(ranks: &[Rank], of: u32, waited: Duration) -> Fault {
    let first = ranks.first().copied().unwrap_or(Rank::new(0));
    let verb = if ranks.len() == 1 { "has" } else { "have" };
    let how =
        format!("{} of {of} {verb} not come to the meeting within {} s", list(ranks), waited.as_secs_f64());
    Fault::Unreachable { rank: first, how }
}
