//! From trees to what each rank does: a thread for each tree, data in chunks.

use super::forest::{Forest, Tree};
use crate::{Buffer, Call, Collective, Op, Program, Rank, Slice, Thread};

/// A chunk has at least so many bytes: below, latency costs more than waiting for whole chunks does.
const LEAST_CHUNK_BYTES: u64 = 64 << 10;

/// Chunks of a tree at most. A tree of depth d takes chunks + d - 1 steps, so more gain little.
const MOST_CHUNKS: u64 = 64;

/// What is spread, what is added up, and how buffers are cut.
pub(super) struct Schedule<'c> {
    pub(super) call: &'c Call,
    pub(super) ranks: usize,
    /// The forest in which sums are made, its trees seen from the root.
    pub(super) adding: Option<Forest>,
    /// The forest in which data are spread.
    pub(super) spreading: Option<Forest>,
}

/// A tree of a schedule: its blocks and neighbours.
struct Planted {
    root: usize,
    /// The first block in a buffer of the own part only, and in one of all parts.
    first_of_part: usize,
    first_of_all: usize,
    blocks: usize,
    chunks: usize,
    parents: Vec<Option<Rank>>,
    children: Vec<Vec<Rank>>,
}

/// Chunks of a tree's share, where a part has so many trees.
pub(super) fn chunks(call: &Call, trees_per_part: u64) -> u64 {
    let elements = match &call.counts {
        crate::Counts::Even(elements) => *elements,
        crate::Counts::PerRank(counts) => counts.iter().copied().max().unwrap_or(0),
        crate::Counts::PerPair(_) => 0,
    };
    let bytes = elements.saturating_mul(call.data_type.size_bytes()) / trees_per_part.max(1);
    (bytes / LEAST_CHUNK_BYTES).clamp(1, MOST_CHUNKS)
}

impl Schedule<'_> {
    pub(super) fn program(&self) -> Program {
        let per_part = |forest: &Forest| forest.trees.len() / self.parts();
        let trees_per_part = match (&self.adding, &self.spreading) {
            (Some(one), Some(other)) => least_multiple(per_part(one), per_part(other)),
            (Some(one), None) | (None, Some(one)) => per_part(one),
            (None, None) => return Program::default(),
        };
        let chunks = usize::try_from(chunks(self.call, trees_per_part as u64)).unwrap_or(1);
        let pieces = trees_per_part * chunks;
        let plant = |forest: &Option<Forest>| -> Vec<Planted> {
            let Some(forest) = forest else { return Vec::new() };
            let blocks = pieces / per_part(forest);
            let within = |index| index % per_part(forest) * blocks;
            let trees = forest.trees.iter().enumerate();
            trees.map(|(index, tree)| self.plant(tree, within(index), (pieces, blocks, chunks))).collect()
        };
        let (adding, spreading) = (plant(&self.adding), plant(&self.spreading));
        let rank = |rank| self.threads(rank, &adding, &spreading);
        let scratch = matches!(self.call.collective, Collective::ReduceScatter | Collective::Reduce).into();
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX);
        Program { pieces, scratch, ranks: (0..self.ranks).map(rank).collect() }
    }

    /// Parts of the larger buffer, each of which has trees of its own.
    fn parts(&self) -> usize {
        match self.call.collective {
            Collective::AllGather | Collective::ReduceScatter => self.ranks,
            Collective::AllReduce
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => 1,
        }
    }

    fn plant(&self, tree: &Tree, within: usize, (pieces, blocks, chunks): (usize, usize, usize)) -> Planted {
        let rank = |vertex: usize| Rank::new(u32::try_from(vertex).unwrap_or(u32::MAX));
        let mut parents = vec![None; self.ranks];
        let mut children = vec![Vec::new(); self.ranks];
        for hop in &tree.hops {
            if let (Some(&from), Some(&to)) = (hop.first(), hop.last()) {
                parents[to] = Some(rank(from));
                children[from].push(rank(to));
            }
        }
        let first_of_all = if self.parts() == 1 { within } else { tree.root * pieces + within };
        Planted { root: tree.root, first_of_part: within, first_of_all, blocks, chunks, parents, children }
    }

    /// All threads of a rank: one for each tree. Where sums and copies have the same number of trees, copies follow
    /// on the thread of the sums; elsewhere on threads of their own, which wait until the rank has done its part in all sums that they spread.
    fn threads(&self, rank: usize, adding: &[Planted], spreading: &[Planted]) -> Vec<Thread> {
        let mut threads: Vec<Vec<Vec<Op>>> = adding.iter().map(|tree| self.add(tree, rank)).collect();
        if adding.len() == spreading.len() {
            for (thread, tree) in threads.iter_mut().zip(spreading) {
                thread.extend(self.spread(tree, rank));
            }
        } else {
            for tree in spreading {
                let mut steps: Vec<Vec<Op>> = sums_made(adding, &threads, tree.root).into_iter().collect();
                steps.extend(self.spread(tree, rank));
                threads.push(steps);
            }
        }
        (0..).zip(threads).map(|(channel, steps)| Thread { channel, steps }).collect()
    }

    /// In step s a rank takes from its parent chunk s, and passes on chunk s - 1.
    fn spread(&self, tree: &Planted, rank: usize) -> Vec<Vec<Op>> {
        let is_root = tree.root == rank;
        // What was added up is in its place already.
        let brings = is_root && self.adding.is_none();
        let source = if brings { Buffer::Input } else { Buffer::Output };
        let mut steps = vec![Vec::new(); tree.chunks + 1];
        if brings && !self.call.in_place {
            let whole = |buffer| self.slice(tree, buffer, 0, tree.blocks);
            steps[0].push(Op::Copy { from: whole(Buffer::Input), into: whole(Buffer::Output) });
        }
        for chunk in 0..tree.chunks {
            if let Some(from) = tree.parents[rank] {
                steps[chunk].push(Op::Recv { from, into: self.chunk(tree, Buffer::Output, chunk) });
            }
            let sends =
                tree.children[rank].iter().map(|&to| Op::Send { to, from: self.chunk(tree, source, chunk) });
            steps[chunk + usize::from(!is_root)].extend(sends);
        }
        without_empty_end(steps)
    }

    /// In step s a rank takes from its i-th child chunk s - i, and gives its parent the chunk to which the last child
    /// has been added in the step before. So messages of all children are on their way at once.
    fn add(&self, tree: &Planted, rank: usize) -> Vec<Vec<Op>> {
        let children = &tree.children[rank];
        let sum = match self.call.collective {
            Collective::AllReduce => Buffer::Output,
            _ if tree.root == rank => Buffer::Output,
            Collective::ReduceScatter
            | Collective::Reduce
            | Collective::AllGather
            | Collective::Broadcast
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => Buffer::Scratch(0),
        };
        let mut steps = vec![Vec::new(); tree.chunks + children.len()];
        if self.ranks == 1 && !self.call.in_place {
            let whole = |buffer| self.slice(tree, buffer, 0, tree.blocks);
            steps[0].push(Op::Copy { from: whole(Buffer::Input), into: whole(Buffer::Output) });
        }
        for chunk in 0..tree.chunks {
            for (index, &from) in children.iter().enumerate() {
                let local = if index == 0 { Buffer::Input } else { sum };
                let (local, into) = (self.chunk(tree, local, chunk), self.chunk(tree, sum, chunk));
                steps[chunk + index].push(Op::RecvReduce { from, local, into });
            }
            if let Some(to) = tree.parents[rank] {
                let from = self.chunk(tree, if children.is_empty() { Buffer::Input } else { sum }, chunk);
                steps[chunk + children.len()].push(Op::Send { to, from });
            }
        }
        without_empty_end(steps)
    }

    /// A chunk of a tree's share: as many blocks as go evenly into chunks.
    fn chunk(&self, tree: &Planted, buffer: Buffer, chunk: usize) -> Slice {
        let (first, end) = (chunk * tree.blocks / tree.chunks, (chunk + 1) * tree.blocks / tree.chunks);
        self.slice(tree, buffer, first, end - first)
    }

    /// So many blocks of a tree's share.
    fn slice(&self, tree: &Planted, buffer: Buffer, first: usize, blocks: usize) -> Slice {
        let one_part = matches!(
            (self.call.collective, buffer),
            (Collective::AllGather, Buffer::Input) | (Collective::ReduceScatter, Buffer::Output)
        );
        let start = if one_part { tree.first_of_part } else { tree.first_of_all };
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Slice::range(buffer, number(start + first), number(blocks))
    }
}

/// A step that waits until a rank is done with all sums that a root makes.
fn sums_made(adding: &[Planted], threads: &[Vec<Vec<Op>>], root: usize) -> Option<Vec<Op>> {
    let own = (0..).zip(adding.iter().zip(threads)).filter(|(_, (tree, _))| tree.root == root);
    let wait = |(thread, (_, steps)): (u16, (&Planted, &Vec<Vec<Op>>))| Op::Await {
        thread,
        steps: u32::try_from(steps.len()).unwrap_or(u32::MAX),
    };
    let waits: Vec<Op> = own.map(wait).collect();
    (!waits.is_empty()).then_some(waits)
}

fn without_empty_end(mut steps: Vec<Vec<Op>>) -> Vec<Vec<Op>> {
    while steps.last().is_some_and(Vec::is_empty) {
        steps.pop();
    }
    steps
}

fn least_multiple(one: usize, other: usize) -> usize {
    let (mut a, mut b) = (one.max(1), other.max(1));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    one / a * other
}
