//! Operations and blocks as text.

use std::fmt;

use crate::{Buffer, Op, Ranks, Slice, Window};

/// Ranges of a slice, or ranks of a set, that are named; the rest is counted.
const NAMED: usize = 8;

impl Slice {
    /// The blocks as ranges `(first, last)`, in order; those that follow each other are joined.
    pub fn joined(&self) -> Vec<(u32, u32)> {
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (first, length) in self.ranges().filter(|(_, length)| *length > 0) {
            match joined.last_mut() {
                Some((_, last)) if *last + 1 == first => *last += length,
                Some(_) | None => joined.push((first, first + length - 1)),
            }
        }
        joined
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = self.joined();
        let blocks = if self.blocks() == 1 { "block" } else { "blocks" };
        let range = |(first, last): &(u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        let named = joined.iter().take(NAMED).map(range).collect::<Vec<_>>().join(", ");
        let named = match joined.len().checked_sub(NAMED).filter(|more| *more > 0) {
            Some(more) => format!("{named} and {more} more ranges"),
            None => named,
        };
        match (self.buffer, joined.is_empty()) {
            (_, true) => f.write_str("no block"),
            (Buffer::Input, false) => write!(f, "input {blocks} {named}"),
            (Buffer::Output, false) => write!(f, "output {blocks} {named}"),
            (Buffer::Scratch(number), false) => write!(f, "scratch {number} {blocks} {named}"),
        }
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.first.get() + self.count.saturating_sub(1) * self.stride;
        match (self.count, self.stride) {
            (0, _) => f.write_str("no rank"),
            (1, _) => write!(f, "rank {}", self.first),
            (_, 1) => write!(f, "ranks {}-{last}", self.first),
            (count, stride) => write!(f, "{count} ranks from {} to {last}, {stride} apart", self.first),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, from } => write!(f, "send {from} to rank {to}"),
            Self::Recv { from, into } => write!(f, "receive {into} from rank {from}"),
            Self::RecvReduce { from, local, into } if local == into => {
                write!(f, "receive from rank {from} and add to {into}")
            }
            Self::RecvReduce { from, local, into } => {
                write!(f, "receive from rank {from}, add {local}, into {into}")
            }
            Self::Copy { from, into } => write!(f, "copy {from} into {into}"),
            Self::Reduce { from, into } => write!(f, "add {from} to {into}"),
            Self::Multicast { to, from } => write!(f, "multicast {from} to {to}"),
            Self::Contribute { to, from } => write!(f, "contribute {from} to the sum of rank {to}"),
            Self::SwitchReduce { of, local, into } if local == into => {
                write!(f, "reduce {into} in switches over {of}")
            }
            Self::SwitchReduce { of, local, into } => {
                write!(f, "reduce {local} in switches over {of}, into {into}")
            }
            Self::Await { thread, steps } => write!(f, "wait until thread {thread} has done {steps} steps"),
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, terms, unit, pitch, rows, row_pitch, part: _ } = self;
        write!(f, "chunks of {unit} from block {offset} on")?;
        if pitch != unit {
            write!(f, ", {pitch} apart")?;
        }
        if *rows > 1 {
            write!(f, ", in {rows} rows {row_pitch} apart")?;
        }
        for (groups, blocks) in terms {
            write!(f, ", {blocks} further for each position in {groups}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Groups, Rank};

    #[test]
    fn operations_are_told_in_words() {
        // Chunks 6, 7, 0 of 2 blocks around a window of 8: blocks 12 to 15, and 0 and 1.
        let around = Slice {
            buffer: Buffer::Output,
            base: 0,
            unit: 2,
            wrap: 8,
            first: 6,
            run: 3,
            stride: 3,
            count: 3,
        };
        assert_eq!(around.joined(), [(12, 15), (0, 1)]);
        let send = Op::Send { to: Rank::new(5), from: around };
        assert_eq!(send.to_string(), "send output blocks 12-15, 0-1 to rank 5");
        let (local, into) = (Slice::range(Buffer::Input, 3, 1), Slice::range(Buffer::Scratch(1), 3, 1));
        let add = Op::RecvReduce { from: Rank::new(2), local, into };
        assert_eq!(add.to_string(), "receive from rank 2, add input block 3, into scratch 1 block 3");
        let of = Ranks { first: Rank::new(1), stride: 4, count: 3 };
        let sum = Op::SwitchReduce { of, local, into: local };
        assert_eq!(sum.to_string(), "reduce input block 3 in switches over 3 ranks from 1 to 9, 4 apart");
    }

    #[test]
    fn windows_say_where_their_chunks_lie() {
        let window = Window::at(4, 2).pitch(8).rows(3, 32).by(Groups::even(8, 2, 1), 1);
        assert_eq!(
            window.to_string(),
            "chunks of 2 from block 4 on, 8 apart, in 3 rows 32 apart, 1 further for each position in 4 groups of 2 \
             neighbours"
        );
    }
}
