//! Channels: who is connected to whom over what, rings, trees.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::line::take_number;
use crate::evidence::{Connection, Ring, Transport, TransportKind, TreePlace};
use crate::find::cut;

/// Pairs that are kept; a job of 1,024 ranks in which all talk to all has as many.
const PAIRS_MAX: usize = 1 << 20;

/// Rings and places in trees that are kept.
const RINGS_MAX: usize = 1 << 10;
const PLACES_MAX: usize = 1 << 16;

/// Which end of a connection spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Send,
    Receive,
    Unsaid,
}

/// `(communicator, from, to, transport)`; no communicator is 0.
type Pair = (u32, u32, u32, u32);

/// What is said of channels.
#[derive(Debug, Default)]
pub(super) struct Channels<'a> {
    index: BTreeMap<Cow<'a, str>, u32>,
    transports: Vec<Transport>,
    /// Where the connection of a pair is.
    pairs: BTreeMap<Pair, usize>,
    connections: Vec<Connection>,
    /// The pair of the line before: lines of one pair, a channel each, mostly follow each other.
    last: Option<(Pair, usize)>,
    pairs_left: u32,
    rings: Vec<Ring>,
    ring_lines: u32,
    trees: Vec<TreePlace>,
    tree_lines: u32,
}

/// What is left of [`Channels`] at the end.
pub(super) struct Found {
    pub transports: Vec<Transport>,
    pub connections: Vec<Connection>,
    pub connections_left: u32,
    pub rings: Vec<Ring>,
    pub ring_lines: u32,
    pub trees: Vec<TreePlace>,
    pub tree_lines: u32,
}

impl<'a> Channels<'a> {
    /// Reads `00/0 : 1[21000] -> 0[1000] via P2P/IPC` or `00/12 : 0 3 2 1`, what follows `Channel`, `Ring` or
    /// `CollNet`. `false` if it is neither.
    pub fn take(&mut self, text: &'a str, communicator: Option<usize>, line: u32) -> bool {
        let mut rest = text.trim_start();
        let Some(channel) = take_number(&mut rest) else { return false };
        if let Some(after) = rest.strip_prefix('/') {
            rest = after;
            if take_number(&mut rest).is_none() {
                return false;
            }
        }
        let Some(rest) = rest.trim_start().strip_prefix(':') else { return false };
        let rest = rest.trim_start();
        match cut(rest, " via ") {
            Some((ends, over)) => self.take_connection(ends, over, communicator, line),
            None => self.take_ring(channel, rest, communicator, line),
        }
    }

    /// `1[21000] -> 0[1000] [send]`; `0 [receive]` for collectives in switches.
    fn take_connection(&mut self, ends: &str, over: &'a str, communicator: Option<usize>, line: u32) -> bool {
        let mut rest = ends;
        let Some(from) = take_number(&mut rest) else { return false };
        let to = cut(rest, "->").and_then(|(_, to)| take_number(&mut to.trim_start()));
        let side = if ends.ends_with("[send]") {
            Side::Send
        } else if ends.ends_with("[receive]") {
            Side::Receive
        } else {
            Side::Unsaid
        };
        // RCCL names the communicator behind it.
        let over = cut(over, " comm 0x").map_or(over, |(over, _)| over).trim_end();
        let (name, forwarded) = without_forwarder(over);
        let number = self.transport(name, line);
        let Some(transport) = self.transports.get_mut(number as usize) else { return false };
        count(side, &mut transport.sends, &mut transport.receives, &mut transport.plain);
        transport.forwarded += u32::from(forwarded);
        let Some(to) = to else { return true };
        let known = communicator.and_then(|index| u32::try_from(index + 1).ok());
        let pair = (known.unwrap_or(0), from, to, number);
        let before = self.last.filter(|(last, _)| *last == pair).map(|(_, at)| at);
        let Some(at) = before.or_else(|| self.pairs.get(&pair).copied()).or_else(|| {
            let at = self.connections.len();
            (at < PAIRS_MAX).then(|| {
                let transport = number as usize;
                let new = Connection { communicator, from, to, transport, line, ..Connection::default() };
                self.connections.push(new);
                self.pairs.insert(pair, at);
                at
            })
        }) else {
            self.pairs_left += 1;
            return true;
        };
        self.last = Some((pair, at));
        let connection = &mut self.connections[at];
        count(side, &mut connection.sends, &mut connection.receives, &mut connection.plain);
        true
    }

    fn transport(&mut self, name: Cow<'a, str>, line: u32) -> u32 {
        if let Some(number) = self.index.get(&name) {
            return *number;
        }
        let number = u32::try_from(self.transports.len()).unwrap_or(u32::MAX);
        self.transports.push(transport(&name, line));
        self.index.insert(name, number);
        number
    }

    fn take_ring(&mut self, channel: u32, text: &str, communicator: Option<usize>, line: u32) -> bool {
        let mut words = text.split_whitespace();
        if !words.clone().all(|word| word.parse::<u32>().is_ok()) || words.clone().next().is_none() {
            return false;
        }
        self.ring_lines += 1;
        let ranks: Vec<u32> = words.by_ref().filter_map(|word| word.parse().ok()).collect();
        let full = self.rings.len() >= RINGS_MAX;
        match self.rings.last_mut() {
            // A long ring goes on in another line, and no rank is in it twice.
            Some(last)
                if (last.channel, last.communicator) == (channel, communicator)
                    && ranks.first().is_some_and(|rank| !last.ranks.contains(rank)) =>
            {
                last.ranks.extend(ranks);
            }
            Some(_) | None if !full => {
                self.rings.push(Ring { communicator, channel, ranks, line });
            }
            Some(_) | None => {}
        }
        true
    }

    /// Reads `[0] 2/-1/-1->1->0 [1] …`, what follows `Trees`; the oldest give up and down trees,
    /// `2/-1/-1->1->0|0->1->2/-1/-1`.
    pub fn take_trees(&mut self, text: &str, communicator: Option<usize>, line: u32) {
        self.tree_lines += 1;
        let mut words = text.split_whitespace();
        while let (Some(channel), Some(place)) = (words.next(), words.next()) {
            if self.trees.len() >= PLACES_MAX {
                return;
            }
            let channel = channel.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
            let Some(channel) = channel.and_then(|number| number.parse().ok()) else { return };
            let place = place.split('|').next().unwrap_or(place);
            let Some((below, rest)) = cut(place, "->") else { return };
            let Some((rank, above)) = cut(rest, "->") else { return };
            let above = cut(above, "->").map_or(above, |(above, _)| above);
            let Ok(rank) = rank.parse() else { return };
            let children = below.split('/').filter_map(|child| child.parse().ok()).collect();
            let parent = above.parse().ok();
            self.trees.push(TreePlace { communicator, channel, rank, parent, children, line });
        }
    }

    pub fn finish(self) -> Found {
        Found {
            transports: self.transports,
            connections: self.pairs.into_values().map(|at| self.connections[at]).collect(),
            connections_left: self.pairs_left,
            rings: self.rings,
            ring_lines: self.ring_lines,
            trees: self.trees,
            tree_lines: self.tree_lines,
        }
    }
}

fn count(side: Side, sends: &mut u32, receives: &mut u32, plain: &mut u32) {
    *match side {
        Side::Send => sends,
        Side::Receive => receives,
        Side::Unsaid => plain,
    } += 1;
}

/// `NET/IB/0(8)/GDRDMA` says that rank 8 forwards, `P2P/indirect/3[2]` that rank 3 does.
fn without_forwarder(over: &str) -> (Cow<'_, str>, bool) {
    if let Some(rest) = over.strip_prefix("P2P/indirect") {
        let mode = rest.trim_start_matches(|c: char| c != ']').trim_start_matches(']');
        return (Cow::Owned(format!("P2P/indirect{mode}")), true);
    }
    let Some((before, rest)) = over.split_once('(') else { return (Cow::Borrowed(over), false) };
    let Some((inside, after)) = rest.split_once(')') else { return (Cow::Borrowed(over), false) };
    if super::line::is_number(inside) {
        return (Cow::Owned(format!("{before}{after}")), true);
    }
    (Cow::Borrowed(over), false)
}

fn transport(name: &str, line: u32) -> Transport {
    let first = name.split('/').next().unwrap_or(name);
    let kind = match first {
        "P2P" => TransportKind::PeerToPeer,
        "SHM" | "direct shared memory" => TransportKind::SharedMemory,
        "NET" => TransportKind::Network,
        "COLLNET" | "CollNet" => TransportKind::CollNet,
        "NVLS" => TransportKind::Nvls,
        _ => TransportKind::Other,
    };
    let networked = matches!(kind, TransportKind::Network | TransportKind::CollNet);
    let adapter = name.split('/').skip(2).find_map(|part| part.parse().ok()).filter(|_| networked);
    let gdr = name.split('/').any(|part| part.starts_with("GDRDMA"));
    Transport { name: name.to_owned(), kind, adapter, gdr, line, ..Transport::default() }
}
