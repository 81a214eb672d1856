//! Messages between two ranks on one channel: matched in the order of their sends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::engine::PathId;

use super::walker::WalkerId;

/// All connections of a job.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// For each sender, by receiver and channel.
    by_sender: Vec<BTreeMap<(u32, u16), u32>>,
    all: Vec<Connection>,
    /// Messages that arrived before an earlier one of the same connection.
    early: BTreeMap<u32, BTreeSet<u32>>,
    /// Receivers beyond the first that wait on the same connection.
    queued: BTreeMap<u32, VecDeque<WalkerId>>,
}

/// Who talks to whom, on which channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    pub from: u32,
    pub to: u32,
    pub channel: u16,
}

/// How far a connection has come. Messages and receives are counted from 0.
#[derive(Debug, Clone, Copy, Default)]
struct Connection {
    ends: Ends,
    path: Option<PathId>,
    /// Whether that is another way than the one it would take if nothing had failed.
    detour: bool,
    sent: u32,
    arrived: u32,
    taken: u32,
    waiting: Option<WalkerId>,
}

impl Connections {
    /// The connection between two ranks; made when it is first asked for.
    pub fn of(&mut self, ends: Ends) -> u32 {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let sender = ends.from as usize;
        if self.by_sender.len() <= sender {
            self.by_sender.resize_with(sender + 1, BTreeMap::new);
        }
        let found = *self.by_sender[sender].entry((ends.to, ends.channel)).or_insert(next);
        if found == next {
            self.all.push(Connection { ends, ..Connection::default() });
        }
        found
    }

    /// How many there are; they are numbered from 0.
    pub fn len(&self) -> u32 {
        u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }

    /// Whose it is, and the path of its messages, once it has been set.
    pub fn ends(&self, connection: u32) -> (Ends, Option<PathId>) {
        let state = &self.all[connection as usize];
        (state.ends, state.path)
    }

    /// The path of its messages, once it has been set.
    pub fn path(&self, connection: u32) -> Option<PathId> {
        self.all[connection as usize].path
    }

    /// Whether its messages go another way than if nothing had failed.
    pub fn is_detour(&self, connection: u32) -> bool {
        self.all[connection as usize].detour
    }

    /// Says so.
    pub fn set_detour(&mut self, connection: u32, detour: bool) {
        self.all[connection as usize].detour = detour;
    }

    /// Sets the path of its messages.
    pub fn set_path(&mut self, connection: u32, path: PathId) {
        self.all[connection as usize].path = Some(path);
    }

    /// Counts a message that is sent, and gives its number.
    pub fn send(&mut self, connection: u32) -> u32 {
        let state = &mut self.all[connection as usize];
        state.sent += 1;
        state.sent - 1
    }

    /// A receiver asks for the next message: true if it is there already.
    #[inline]
    pub fn ask(&mut self, connection: u32, walker: WalkerId) -> bool {
        let state = &mut self.all[connection as usize];
        if state.taken < state.arrived {
            state.taken += 1;
            return true;
        }
        if state.waiting.is_none() {
            state.waiting = Some(walker);
        } else {
            self.queued.entry(connection).or_default().push_back(walker);
        }
        false
    }

    /// A message has arrived; `served` is called for each receiver that gets its message by that.
    #[inline]
    pub fn arrive(&mut self, connection: u32, number: u32, mut served: impl FnMut(WalkerId)) {
        let state = &mut self.all[connection as usize];
        if number != state.arrived {
            self.early.entry(connection).or_default().insert(number);
            return;
        }
        state.arrived += 1;
        if !self.early.is_empty() {
            if let Some(early) = self.early.get_mut(&connection) {
                while early.remove(&state.arrived) {
                    state.arrived += 1;
                }
                if early.is_empty() {
                    self.early.remove(&connection);
                }
            }
        }
        while state.taken < state.arrived
            && let Some(walker) = state.waiting.take()
        {
            state.taken += 1;
            if !self.queued.is_empty() {
                state.waiting = next_queued(&mut self.queued, connection);
            }
            served(walker);
        }
    }
}

fn next_queued(queued: &mut BTreeMap<u32, VecDeque<WalkerId>>, connection: u32) -> Option<WalkerId> {
    let queue = queued.get_mut(&connection)?;
    let next = queue.pop_front();
    if queue.is_empty() {
        queued.remove(&connection);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(connections: &mut Connections, connection: u32, number: u32) -> Vec<WalkerId> {
        let mut served = Vec::new();
        connections.arrive(connection, number, |walker| served.push(walker));
        served
    }

    #[test]
    fn messages_are_taken_in_the_order_of_their_sends() {
        let mut connections = Connections::default();
        let ends = Ends { from: 0, to: 1, channel: 0 };
        let only = connections.of(ends);
        assert_eq!(connections.of(ends), only);
        let numbers: Vec<u32> = (0..3).map(|_| connections.send(only)).collect();
        assert_eq!(numbers, [0, 1, 2]);
        // The second overtakes the first: nobody gets it before the first is there.
        assert!(!connections.ask(only, 7));
        assert_eq!(arrive(&mut connections, only, 1), [0; 0]);
        assert!(!connections.ask(only, 8));
        assert_eq!(arrive(&mut connections, only, 0), [7, 8]);
        assert_eq!(arrive(&mut connections, only, 2), [0; 0]);
        assert!(connections.ask(only, 9));
    }
}
