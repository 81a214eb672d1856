//! How operations of a step start: as flows of the engine on the paths of their connections.

use weft_base::Bytes;
use weft_collective::{Op, Rank, Ranks, Slice};

use crate::engine::{Engine, PathId};
use crate::router::Router;

use super::connection::Ends;
use super::walker::{Last, WalkerId};
use super::{Flight, Impossible, Player};

impl Player<'_> {
    /// Sends a message on a connection.
    pub(super) fn send(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        walker: WalkerId,
        Last { peer, channel, connection }: Last,
        bytes: Bytes,
    ) -> Result<(), Impossible> {
        let ends = (Rank::new(walker / self.threads), Rank::new(peer), channel);
        let path = self.path(engine, router, connection, ends)?;
        let number = self.connections.send(connection);
        let step = self.walkers[walker as usize].step();
        let (index, tag) = self.reserve();
        let flow = engine.start(path, bytes, tag);
        self.flights[index] = Some(Flight::Message { walker, connection, number, step, bytes, flow });
        Ok(())
    }

    /// Starts an operation of a walker's step. What is over at once is taken off those that the step waits for.
    pub(super) fn start(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        (id, channel): (WalkerId, u16),
        op: &Op,
    ) -> Result<(), Impossible> {
        let rank = Rank::new(id / self.threads);
        match *op {
            Op::Send { to, from } => {
                let bytes = self.bytes(id, rank, &from);
                let connection = self.sending(id, rank, to, channel);
                self.send(engine, router, id, connection, bytes)?;
            }
            Op::Recv { from, .. } | Op::RecvReduce { from, .. } => {
                let connection = self.receiving(id, from, rank, channel);
                if self.connections.ask(connection, id) {
                    self.walkers[id as usize].open -= 1;
                }
            }
            Op::Copy { from, .. } | Op::Reduce { from, .. } => match router.local(engine, rank) {
                Some(path) => {
                    let bytes = self.bytes(id, rank, &from);
                    let (index, tag) = self.reserve();
                    let flow = engine.start(path, bytes, tag);
                    self.flights[index] = Some(Flight::Local { walker: id, flow });
                }
                None => self.walkers[id as usize].open -= 1,
            },
            Op::Multicast { to, from } => self.multicast(engine, router, (id, channel), (to, from))?,
            Op::Contribute { to, .. } => {
                let gather = self.gathers.of(Ends { from: to.get(), to: to.get(), channel });
                self.gathers.give(gather, id);
                self.reduce_if_whole(engine, router, gather)?;
            }
            Op::SwitchReduce { of, into, .. } => {
                let gather = self.gathers.of(Ends { from: rank.get(), to: rank.get(), channel });
                let bytes = self.bytes(id, rank, &into);
                self.gathers.ask(gather, id, of, bytes);
                self.reduce_if_whole(engine, router, gather)?;
            }
            Op::Await { thread, steps } => {
                let other = rank.get() * self.threads + u32::from(thread);
                if self.walkers[other as usize].finished >= steps {
                    self.walkers[id as usize].open -= 1;
                } else {
                    self.awaiting.entry(other).or_default().push((steps, id));
                }
            }
        }
        Ok(())
    }

    /// Sends one flow that switches copy to all the others.
    fn multicast(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        (id, channel): (WalkerId, u16),
        (to, from): (Ranks, Slice),
    ) -> Result<(), Impossible> {
        let rank = Rank::new(id / self.threads);
        let path = router.multicast(engine, rank, to).ok_or(Impossible::NoSwitch {
            rank,
            what: "multicast",
            ranks: to.count,
        })?;
        let mut copies = Vec::new();
        for member in to.iter().filter(|member| *member != rank) {
            let ends = Ends { from: rank.get(), to: member.get(), channel };
            let connection = self.connections.of(ends);
            copies.push((connection, self.connections.send(connection)));
        }
        let group = self.gathers.keep_copies(copies);
        let step = self.walkers[id as usize].step();
        let bytes = self.bytes(id, rank, &from);
        let (index, tag) = self.reserve();
        let flow = engine.start(path, bytes, tag);
        self.flights[index] = Some(Flight::Multicast { walker: id, group, step, bytes, flow });
        Ok(())
    }

    /// Starts a sum in the switches once the last rank has come.
    fn reduce_if_whole(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        gather: u32,
    ) -> Result<(), Impossible> {
        let Some((walker, of, bytes)) = self.gathers.whole(gather) else { return Ok(()) };
        let rank = Rank::new(walker / self.threads);
        let path = router.reduction(engine, rank, of).ok_or(Impossible::NoSwitch {
            rank,
            what: "reduce",
            ranks: of.count,
        })?;
        let (index, tag) = self.reserve();
        let flow = engine.start(path, bytes, tag);
        self.flights[index] = Some(Flight::Reduction { walker, gather, bytes, flow });
        Ok(())
    }

    /// The connection on which a walker sends, looked up only when the peer is another than the last.
    fn sending(&mut self, id: WalkerId, rank: Rank, to: Rank, channel: u16) -> Last {
        let last = self.walkers[id as usize].sends;
        if last.peer == to.get() && last.channel == channel {
            return last;
        }
        let connection = self.connections.of(Ends { from: rank.get(), to: to.get(), channel });
        let last = Last { peer: to.get(), channel, connection };
        self.walkers[id as usize].sends = last;
        last
    }

    /// The connection on which a walker receives, looked up only when the peer is another than the last.
    fn receiving(&mut self, id: WalkerId, from: Rank, rank: Rank, channel: u16) -> u32 {
        let last = self.walkers[id as usize].receives;
        if last.peer == from.get() && last.channel == channel {
            return last.connection;
        }
        let connection = self.connections.of(Ends { from: from.get(), to: rank.get(), channel });
        self.walkers[id as usize].receives = Last { peer: from.get(), channel, connection };
        connection
    }

    /// The path of a connection, which the router is asked for once.
    fn path(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        connection: u32,
        (from, to, channel): (Rank, Rank, u16),
    ) -> Result<PathId, Impossible> {
        if let Some(path) = self.connections.path(connection) {
            return Ok(path);
        }
        let path = router.path(engine, from, to, channel).ok_or(Impossible::NoPath { from, to })?;
        self.connections.set_path(connection, path);
        Ok(path)
    }
}
