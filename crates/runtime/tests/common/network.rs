//! A network that delays, cuts and reorders as a seed says, and on which ranks die.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use weft_collective::{Call, Plan, Rank};
use weft_runtime::{Buffer, Element, Fault, Memory, Player, Port, Ports, Progress, Reduction, Script};

use super::{Buffers, Draws};

/// How a network behaves.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// Bytes under way on a stream at most; 0: no more than the receiver asks for at that time.
    pub room: usize,
    /// The longest delay of a part, in ticks.
    pub delay: usize,
    /// The longest part.
    pub part: usize,
    /// Who dies, and when.
    pub death: Option<(Rank, u64)>,
}

#[derive(Debug)]
struct Part {
    arrives: u64,
    bytes: Vec<u8>,
    end: bool,
}

#[derive(Debug, Default)]
struct Stream {
    parts: VecDeque<Part>,
    /// What the receiver asked for last, and did not get.
    wanted: usize,
}

#[derive(Debug)]
struct Network {
    behaviour: Behaviour,
    draws: Draws,
    now: u64,
    streams: BTreeMap<(Rank, Rank, u16), Stream>,
}

/// The ports of one rank.
struct Ends {
    rank: Rank,
    network: Rc<RefCell<Network>>,
}

impl Ports for Ends {
    fn push(&mut self, port: Port, piece: &[u8], done: usize, end: bool) -> Result<usize, Fault> {
        let network = &mut *self.network.borrow_mut();
        let Behaviour { room, delay, part, .. } = network.behaviour;
        let stream = network.streams.entry((self.rank, port.peer, port.channel)).or_default();
        let under_way: usize = stream.parts.iter().map(|part| part.bytes.len()).sum();
        let room = if room > 0 { room } else { stream.wanted };
        let count = (piece.len() - done).min(room.saturating_sub(under_way));
        let count = count.min(1 + network.draws.below(part));
        assert!(!piece.is_empty());
        if count == 0 {
            return Ok(done);
        }
        let last = stream.parts.back().map_or(0, |part| part.arrives);
        let arrives = last.max(network.now + network.draws.below(delay + 1) as u64);
        let bytes = piece[done..done + count].to_vec();
        stream.parts.push_back(Part { arrives, bytes, end: end && done + count == piece.len() });
        Ok(done + count)
    }

    fn pull(
        &mut self,
        port: Port,
        want: usize,
        unit: usize,
        end: bool,
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, Fault> {
        assert!(want.is_multiple_of(unit));
        let network = &mut *self.network.borrow_mut();
        let stream = network.streams.entry((port.peer, self.rank, port.channel)).or_default();
        stream.wanted = want;
        assert!(want > 0);
        let come = stream.parts.iter().take_while(|part| part.arrives <= network.now);
        let count = come.map(|part| part.bytes.len()).sum::<usize>().min(want) / unit * unit;
        // Sometimes a part of what has come, in two calls.
        let count =
            if network.draws.below(4) == 0 { network.draws.below(count / unit + 1) * unit } else { count };
        let mut taken = Vec::new();
        let mut ended = false;
        while taken.len() < count {
            assert!(!ended, "the message is shorter than what is wanted");
            let part = stream.parts.front_mut().unwrap();
            let whole = part.bytes.len() <= count - taken.len();
            if whole {
                let part = stream.parts.pop_front().unwrap();
                taken.extend(part.bytes);
                ended = part.end;
            } else {
                let rest = count - taken.len();
                taken.extend(part.bytes.drain(..rest));
            }
        }
        if count == want {
            assert_eq!(ended, end, "both ends see the end of a message in the same place");
        }
        stream.wanted -= count;
        let cut = network.draws.below(count / unit + 1) * unit;
        for part in [&taken[..cut], &taken[cut..]] {
            if !part.is_empty() {
                take(part);
            }
        }
        Ok(count)
    }
}

/// Rounds in a row without any movement after which nothing will move any more.
const QUIET: usize = 100;

/// How a run ended: what the ranks have, or whom each survivor waits for in the end.
#[derive(Debug)]
pub enum Ended {
    Whole(Vec<Buffers>),
    Stuck(BTreeMap<Rank, BTreeSet<Rank>>),
}

/// Plays a plan on all ranks over such a network.
pub fn played(
    plan: &Plan,
    call: &Call,
    (element, reduction): (Element, Reduction),
    mut buffers: Vec<Buffers>,
    (behaviour, seed): (Behaviour, u64),
) -> Ended {
    let network = Network { behaviour, draws: Draws(seed), now: 0, streams: BTreeMap::new() };
    let network = Rc::new(RefCell::new(network));
    let scripts: Vec<Script> =
        (0..plan.ranks).map(|rank| Script::new(plan, call, Rank::new(rank)).unwrap()).collect();
    let mut scratch: Vec<Vec<Buffer<u8>>> = scripts
        .iter()
        .map(|script| script.scratch_bytes().iter().map(|bytes| Buffer::private(*bytes)).collect())
        .collect();
    let mut players: Vec<Player> = scripts.iter().map(|_| Player::default()).collect();
    for (player, script) in players.iter_mut().zip(&scripts) {
        player.begin(script);
    }
    let mut over = vec![false; scripts.len()];
    let mut quiet = 0;
    loop {
        let mut moved = false;
        let now = network.borrow().now;
        let dead =
            |rank: usize| behaviour.death.is_some_and(|(who, when)| who.index() == rank && when <= now);
        let first = network.borrow_mut().draws.below(scripts.len());
        for offset in 0..scripts.len() {
            let rank = (first + offset) % scripts.len();
            if over[rank] || dead(rank) {
                continue;
            }
            let mut ends =
                Ends { rank: Rank::new(u32::try_from(rank).unwrap()), network: Rc::clone(&network) };
            let Buffers { input, output } = &mut buffers[rank];
            let mut memory = Memory { input, output, scratch: &mut scratch[rank] };
            let progress =
                players[rank].advance(&scripts[rank], (element, reduction), &mut memory, &mut ends).unwrap();
            over[rank] = progress == Progress::Over;
            moved |= progress != Progress::Still;
        }
        if (0..scripts.len()).all(|rank| over[rank] || dead(rank)) {
            let streams = &network.borrow().streams;
            if behaviour.death.is_none() {
                assert!(streams.values().all(|stream| stream.parts.is_empty()), "something is left over");
            }
            return Ended::Whole(buffers);
        }
        let mut network = network.borrow_mut();
        let parts = network.streams.values().flat_map(|stream| &stream.parts);
        let coming = parts.map(|part| part.arrives).filter(|arrives| *arrives > now).min();
        let death = behaviour.death.map(|(_, when)| when).filter(|when| *when > now);
        quiet = if moved { 0 } else { quiet + 1 };
        match coming.into_iter().chain(death).min() {
            _ if moved => network.now += 1,
            Some(next) => network.now = next,
            // A port may give nothing now and then, and learns from one round what is asked for in the next.
            None if quiet < QUIET => {}
            None => {
                let stuck = (0..scripts.len()).filter(|rank| !over[*rank] && !dead(*rank));
                let on =
                    |rank: usize| players[rank].waits_for(&scripts[rank]).map(|port| port.peer).collect();
                return Ended::Stuck(
                    stuck.map(|rank| (Rank::new(u32::try_from(rank).unwrap()), on(rank))).collect(),
                );
            }
        }
    }
}
