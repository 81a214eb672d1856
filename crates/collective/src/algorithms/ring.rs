//! The ring: everyone talks to two neighbours only.

use std::sync::Arc;

use crate::movement::At;
use crate::{
    Algorithm, Buffer, Call, Collective, Groups, Movement, Op, Phase, Plan, Slice, Symmetry, Terrain,
    Unsuitable, Window,
};

/// One ring over all ranks in order: bandwidth-optimal, latency linear in the ranks.
#[derive(Debug, Clone, Copy)]
pub struct Ring;

impl Algorithm for Ring {
    fn name(&self) -> &'static str {
        "ring"
    }

    fn title(&self) -> &'static str {
        "one ring over all ranks; bandwidth-optimal (Patarasuk and Yuan, 2009)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter]
    }

    fn suits(&self, call: &Call, _terrain: &Terrain) -> Result<(), Unsuitable> {
        if self.collectives().contains(&call.collective) {
            return Ok(());
        }
        Err(Unsuitable::Collective { algorithm: self.name(), collective: call.collective })
    }

    fn plan(&self, call: &Call, terrain: &Terrain) -> Plan {
        let ranks = terrain.ranks();
        if self.suits(call, terrain).is_err() {
            return Plan::empty(ranks);
        }
        let (pieces, scratch) = match call.collective {
            Collective::AllReduce => (ranks.max(1), 0),
            Collective::ReduceScatter => (1, 1),
            Collective::AllGather
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => (1, 0),
        };
        let movement = Arc::new(Around { collective: call.collective, in_place: call.in_place });
        let phase = Phase { channel: 0, groups: Groups::all(ranks), window: Window::at(0, 1), movement };
        Plan { ranks, pieces, scratch, threads: vec![vec![phase]] }
    }
}

/// Chunks that go around: in step s position p passes on chunk p - s, so that sums grow on their way, and then copies
/// of the whole sums. A reduce-scatter starts one chunk earlier, so that position p ends with chunk p.
#[derive(Debug)]
struct Around {
    collective: Collective,
    in_place: bool,
}

impl Around {
    /// Steps that add; the steps after them only copy.
    fn adding(&self, size: u32) -> u32 {
        if self.collective.reduces() { size - 1 } else { 0 }
    }

    /// A rank's own part needs no message: it is copied, unless it is in its place already.
    fn keep_own(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        if step == 0 && !self.in_place {
            let from = Slice::range(Buffer::Input, 0, at.unit);
            ops.push(Op::Copy { from, into: at.chunks(Buffer::Output, at.seat.position, 1) });
        }
    }
}

impl Movement for Around {
    fn steps(&self, at: &At<'_>) -> u32 {
        let others = at.seat.size.max(1) - 1;
        match self.collective {
            Collective::AllReduce => (2 * others).max(1),
            Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => others.max(1),
        }
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let size = at.seat.size.max(1);
        let scattering = self.collective == Collective::ReduceScatter;
        let shift = i64::from(scattering);
        let (sent, taken) =
            (at.position(-i64::from(step) - shift), at.position(-i64::from(step) - 1 - shift));
        if self.collective == Collective::AllGather || size == 1 {
            self.keep_own(at, step, ops);
        }
        if size == 1 {
            return;
        }
        let between = if scattering { Buffer::Scratch(0) } else { Buffer::Output };
        let sent = match (step, self.collective) {
            (0, Collective::AllGather) => Slice::range(Buffer::Input, 0, at.unit),
            (0, _) => at.chunks(Buffer::Input, sent, 1),
            _ => at.chunks(between, sent, 1),
        };
        ops.push(Op::Send { to: at.peer(1), from: sent });
        let from = at.peer(-1);
        if step >= self.adding(size) {
            ops.push(Op::Recv { from, into: at.chunks(Buffer::Output, taken, 1) });
            return;
        }
        let local = at.chunks(Buffer::Input, taken, 1);
        let ends = scattering && step + 1 == self.adding(size);
        let into = if ends { Slice::range(Buffer::Output, 0, at.unit) } else { local.of(between) };
        ops.push(Op::RecvReduce { from, local, into });
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}
