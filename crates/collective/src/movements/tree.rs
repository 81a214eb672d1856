//! Up and down a tree, chunk after chunk: while one chunk goes on, the next one comes.

use super::Direction;
use crate::movement::At;
use crate::{Buffer, Movement, Op};

/// Who hangs below whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tree {
    /// One after the other, from the root around the group.
    Chain(Direction),
    /// The root, and below it all others as a binary tree in which their order is kept: odd ones are leaves.
    First,
    /// The same tree with others in it, so that nobody has children in both (Sanders, Speck and Träff, 2009).
    Second,
}

impl Tree {
    /// A position as node of the tree: the root is node 0.
    fn node(self, size: u32, root: u32, position: u32) -> u32 {
        let ahead = (position + size - root % size) % size;
        match self {
            Self::Chain(Direction::Down) => (size - ahead) % size,
            Self::Chain(Direction::Up) | Self::First => ahead,
            Self::Second if ahead == 0 => 0,
            Self::Second if size % 2 == 1 => size - ahead,
            Self::Second => ahead % (size - 1) + 1,
        }
    }

    /// The position of a node.
    fn position(self, size: u32, root: u32, node: u32) -> u32 {
        let ahead = match self {
            Self::Chain(Direction::Down) => (size - node) % size,
            Self::Chain(Direction::Up) | Self::First => node,
            Self::Second if node == 0 => 0,
            Self::Second if size % 2 == 1 => size - node,
            Self::Second => (node + size - 3) % (size - 1) + 1,
        };
        (root + ahead) % size
    }

    /// The node above.
    fn above(self, size: u32, node: u32) -> Option<u32> {
        if node == 0 {
            return None;
        }
        match self {
            Self::Chain(_) => Some(node - 1),
            Self::First | Self::Second => {
                let bit = 1 << node.trailing_zeros();
                let ideal = (node - bit) | (bit << 1);
                Some(if ideal < size { ideal } else { node - bit })
            }
        }
    }

    /// The nodes below; of a tree that is not full a right child is the largest subtree that there is.
    fn below(self, size: u32, node: u32) -> [Option<u32>; 2] {
        match self {
            Self::Chain(_) => [(node + 1 < size).then_some(node + 1), None],
            Self::First | Self::Second if node == 0 => [(size - 1).checked_ilog2().map(|top| 1 << top), None],
            Self::First | Self::Second => {
                let height = node.trailing_zeros();
                let right = (0..height).rev().map(|power| node + (1 << power)).find(|node| *node < size);
                [(height > 0).then(|| node - (1 << (height - 1))), right]
            }
        }
    }

    /// The positions above and below one.
    fn kin(self, at: &At<'_>, root: u32) -> Kin {
        let size = at.size();
        let node = self.node(size, root, at.seat.position);
        let position = |node| self.position(size, root, node);
        let [left, right] = self.below(size, node);
        let below = [left.or(right), left.and(right)].map(|node| node.map(position));
        Kin { above: self.above(size, node).map(position), below }
    }
}

/// Neighbours in a tree.
struct Kin {
    above: Option<u32>,
    /// The second is there only if the first is.
    below: [Option<u32>; 2],
}

impl Kin {
    fn below(&self) -> impl Iterator<Item = u32> {
        self.below.into_iter().flatten()
    }

    fn children(&self) -> u32 {
        self.below.map(|node| u32::from(node.is_some())).iter().sum()
    }
}

/// Sums go up: a position adds what each of those below it sends, and passes the sum on.
#[derive(Debug)]
pub struct TreeUp {
    /// Who hangs below whom.
    pub tree: Tree,
    /// The position at the top.
    pub root: u32,
    /// Chunks, each of which goes up by itself.
    pub chunks: u32,
    /// What a position adds.
    pub local: Buffer,
    /// Where sums grow.
    pub sums: Buffer,
    /// Where those of the root grow and end.
    pub end: Buffer,
    /// Whether a position that is alone finds its sum in place.
    pub in_place: bool,
}

impl TreeUp {
    /// From everyone's input to the root's output.
    pub fn reduce(tree: Tree, root: u32, chunks: u32, in_place: bool) -> Self {
        let (local, sums, end) = (Buffer::Input, Buffer::Scratch(0), Buffer::Output);
        Self { tree, root, chunks, local, sums, end, in_place }
    }
}

impl Movement for TreeUp {
    fn title(&self) -> &'static str {
        match self.tree {
            Tree::Chain(_) => "reduce along a chain",
            Tree::First => "reduce up the first binary tree",
            Tree::Second => "reduce up the second binary tree",
        }
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        let kin = self.tree.kin(at, self.root);
        match kin.children() {
            0 if kin.above.is_none() && (self.in_place || self.local == self.end) => 0,
            0 => self.chunks,
            children => self.chunks * children + u32::from(kin.above.is_some()),
        }
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let kin = self.tree.kin(at, self.root);
        let children = kin.children();
        if children == 0 {
            let from = at.chunk(self.local, step);
            ops.push(match kin.above {
                Some(above) => Op::Send { to: at.at(above), from },
                None => Op::Copy { from, into: from.of(self.end) },
            });
            return;
        }
        let sums = if kin.above.is_some() { self.sums } else { self.end };
        let (chunk, turn) = (step / children, step % children);
        if let Some(above) = kin.above
            && turn == 0
            && chunk > 0
        {
            ops.push(Op::Send { to: at.at(above), from: at.chunk(sums, chunk - 1) });
        }
        if let Some(child) = kin.below().nth(turn as usize)
            && chunk < self.chunks
        {
            let into = at.chunk(sums, chunk);
            let local = if turn == 0 { into.of(self.local) } else { into };
            ops.push(Op::RecvReduce { from: at.at(child), local, into });
        }
    }
}

/// How the root comes by what it sends down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// It is in a buffer.
    Has(Buffer),
    /// It is in the input, from where it is copied to the output too.
    Copies,
    /// A [`TreeUp`] of this root, on another thread of the rank, brings it to the output.
    Awaits {
        /// That thread.
        thread: u16,
        /// Steps that the thread takes before.
        after: u32,
        /// Whether input and output are the same memory, so that everyone must wait until what comes overwrites
        /// nothing that its own other thread still reads.
        in_place: bool,
    },
}

impl Reached {
    /// A root that begins with its input.
    pub fn input(in_place: bool) -> Self {
        if in_place { Self::Has(Buffer::Input) } else { Self::Copies }
    }
}

/// Data goes down into everyone's output.
#[derive(Debug)]
pub struct TreeDown {
    /// Who hangs below whom.
    pub tree: Tree,
    /// The position at the top.
    pub root: u32,
    /// Chunks, each of which goes down by itself.
    pub chunks: u32,
    /// What the root does.
    pub reached: Reached,
}

impl TreeDown {
    /// In which step after the one that is about a chunk first its turn comes: to wait, to receive, to send.
    fn stages(&self, kin: &Kin) -> [Option<u32>; 3] {
        let is_root = kin.above.is_none();
        let waits = match self.reached {
            Reached::Awaits { in_place, .. } => is_root || in_place,
            Reached::Has(_) | Reached::Copies => false,
        };
        let comes = u32::from(waits);
        let goes = comes + u32::from(!is_root);
        [waits.then_some(0), (!is_root).then_some(comes), (kin.children() > 0).then_some(goes)]
    }

    /// How many steps of the other thread must be over before a chunk may be overwritten, or sent by the root.
    fn awaited(kin: &Kin, chunk: u32) -> u32 {
        match kin.children() {
            0 => chunk + 1,
            children if kin.above.is_none() => (chunk + 1) * children,
            children => chunk * children + 1,
        }
    }
}

impl Movement for TreeDown {
    fn title(&self) -> &'static str {
        match self.tree {
            Tree::Chain(_) => "broadcast along a chain",
            Tree::First => "broadcast down the first binary tree",
            Tree::Second => "broadcast down the second binary tree",
        }
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        if at.size() == 1 {
            return if self.reached == Reached::Copies { self.chunks } else { 0 };
        }
        let stages = self.stages(&self.tree.kin(at, self.root));
        self.chunks + stages.into_iter().flatten().max().unwrap_or(0)
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let kin = self.tree.kin(at, self.root);
        let chunk_of = |stage: Option<u32>| step.checked_sub(stage?).filter(|chunk| *chunk < self.chunks);
        let [waits, comes, goes] = self.stages(&kin).map(chunk_of);
        if let (Some(chunk), Reached::Awaits { thread, after, .. }) = (waits, self.reached) {
            ops.push(Op::Await { thread, steps: after + Self::awaited(&kin, chunk) });
        }
        if let (Some(chunk), Some(above)) = (comes, kin.above) {
            ops.push(Op::Recv { from: at.at(above), into: at.chunk(Buffer::Output, chunk) });
        }
        let (copies, source) = match self.reached {
            Reached::Has(buffer) if kin.above.is_none() => (false, buffer),
            Reached::Copies if kin.above.is_none() => (true, Buffer::Input),
            Reached::Has(_) | Reached::Copies | Reached::Awaits { .. } => (false, Buffer::Output),
        };
        if copies {
            let from = at.chunk(source, step);
            ops.push(Op::Copy { from, into: from.of(Buffer::Output) });
        }
        if let Some(chunk) = goes {
            let from = at.chunk(source, chunk);
            ops.extend(kin.below().map(|child| Op::Send { to: at.at(child), from }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_reach_everyone_and_nobody_has_children_in_both() {
        for (size, root) in (1..70).flat_map(|size| [(size, 0), (size, size / 2)]) {
            let mut inner = vec![0; size as usize];
            for tree in [Tree::First, Tree::Second] {
                for node in 0..size {
                    let position = tree.position(size, root, node);
                    assert_eq!(tree.node(size, root, position), node, "{tree:?} of {size}");
                    let below: Vec<u32> = tree.below(size, node).into_iter().flatten().collect();
                    assert!(
                        below.iter().all(|child| tree.above(size, *child) == Some(node)),
                        "{size} {node}"
                    );
                    inner[position as usize] += u32::from(!below.is_empty() && node > 0);
                }
                let linked: usize =
                    (0..size).map(|node| tree.below(size, node).iter().flatten().count()).sum();
                assert_eq!(linked, size as usize - 1, "{tree:?} of {size}");
            }
            assert!(inner.iter().all(|trees| *trees <= 1), "{size}: {inner:?}");
        }
    }

    #[test]
    fn seven_nodes_below_the_root_are_a_full_tree() {
        // Order is kept: 4 on top, 2 and 6 below it, odd ones are leaves.
        let above = |node| Tree::First.above(8, node);
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(above), [2, 4, 2, 0, 6, 4, 6].map(Some));
    }
}
