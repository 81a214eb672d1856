//! A program played with real contributions in a random order, one operation at a time. It knows no clocks and no
//! sets: a block is a list of what was added to it, and whoever comes first is first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weft_collective::{Buffer, Call, Collective, Layout, Op, Program, Rank, Slice};

/// What was added up: (rank, block of its input), how often; and a digest of the order of additions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Held {
    parts: BTreeMap<(u32, u32), u32>,
    order: u64,
}

/// Everything that was in the outputs at the end, and who had heard of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Whether the outputs are those that the collective promises.
    pub right: bool,
    /// The order of additions in all output blocks.
    pub order: u64,
}

type Memory = BTreeMap<(u32, u8, u16, u32), Held>;
type Message = (Vec<Option<Held>>, BTreeSet<u32>);
/// With its thread and operation, which is over when it is taken.
type Contribution = (Message, usize, usize);
/// From whom, to whom, on which channel.
type Ends = (u32, u32, u16);

struct Running<'r> {
    program: &'r Program,
    layout: Layout<'r>,
    call: &'r Call,
    memory: Memory,
    messages: BTreeMap<Ends, VecDeque<Message>>,
    contributions: BTreeMap<Ends, VecDeque<Contribution>>,
    /// For each thread: rank, number, step, and which operations of the step are over.
    threads: Vec<(u32, usize, usize, Vec<bool>)>,
    heard: Vec<BTreeSet<u32>>,
}

/// A generator of pseudo-random numbers (Vigna's splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

/// Plays a program; `None` where it stops before its end, or reads what nobody has written.
pub fn play(program: &Program, call: &Call, seed: u64) -> Option<End> {
    let mut running = Running::new(program, call);
    let mut random = Random(seed);
    let threads = running.threads.len();
    loop {
        // From a thread at random around to the first that can do something.
        let start = random.below(threads.max(1));
        let around = (0..threads).map(|next| (start + next) % threads);
        let found = around.map(|thread| (thread, running.able(thread))).find(|(_, able)| !able.is_empty());
        let Some((thread, able)) = found else { break };
        running.act(thread, able[random.below(able.len())])?;
    }
    let empty = running.messages.values().all(VecDeque::is_empty)
        && running.contributions.values().all(VecDeque::is_empty);
    (empty && (0..running.threads.len()).all(|thread| running.ops(thread).is_none())).then(|| running.end())
}

fn hash(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    })
}

fn add(held: &Held, given: &Held) -> Held {
    let mut sum = held.clone();
    for (part, times) in &given.parts {
        *sum.parts.entry(*part).or_default() += times;
    }
    sum.order = hash(&[held.order, given.order, 1]);
    sum
}

fn blocks(slice: Slice) -> impl Iterator<Item = u32> {
    slice.ranges().flat_map(|(first, length)| first..first + length)
}

impl<'r> Running<'r> {
    fn new(program: &'r Program, call: &'r Call) -> Self {
        let ranks = u32::try_from(program.ranks.len()).unwrap();
        let layout = Layout::new(call, ranks, program.pieces);
        let mut threads = Vec::new();
        for (rank, of_rank) in (0..).zip(&program.ranks) {
            threads.extend((0..of_rank.len()).map(|number| (rank, number, 0, Vec::new())));
        }
        let heard = threads.iter().map(|thread| BTreeSet::from([thread.0])).collect();
        let mut running = Self {
            program,
            layout,
            call,
            memory: BTreeMap::new(),
            messages: BTreeMap::new(),
            contributions: BTreeMap::new(),
            threads,
            heard,
        };
        for rank in 0..ranks {
            let rooted = matches!(call.collective, Collective::Broadcast | Collective::SendRecv);
            if rooted && call.root.get() != rank {
                continue;
            }
            for block in 0..running.layout.blocks(Buffer::Input) {
                let held = Held {
                    parts: BTreeMap::from([((rank, block), 1)]),
                    order: hash(&[rank.into(), block.into()]),
                };
                let key = running.key(rank, Buffer::Input, block);
                running.memory.insert(key, held);
            }
        }
        for thread in 0..running.threads.len() {
            running.enter(thread);
        }
        running
    }

    /// Where a block lies; buffers that are the same memory have the same keys.
    fn key(&self, rank: u32, buffer: Buffer, block: u32) -> (u32, u8, u16, u32) {
        let own = rank * self.program.pieces;
        match (buffer, self.call.in_place, self.call.collective) {
            (Buffer::Scratch(number), ..) => (rank, 2, number, block),
            (Buffer::Input, true, Collective::AllGather) => (rank, 0, 0, own + block),
            (Buffer::Output, true, Collective::ReduceScatter) => (rank, 0, 0, own + block),
            (Buffer::Input, ..) => (rank, 0, 0, block),
            (Buffer::Output, true, _) => (rank, 0, 0, block),
            (Buffer::Output, false, _) => (rank, 1, 0, block),
        }
    }

    fn ops(&self, thread: usize) -> Option<&'r Vec<Op>> {
        let (rank, number, step, _) = &self.threads[thread];
        self.program.ranks[*rank as usize][*number].steps.get(*step)
    }

    fn channel(&self, thread: usize) -> u16 {
        let (rank, number, ..) = &self.threads[thread];
        self.program.ranks[*rank as usize][*number].channel
    }

    /// Goes on to the next step that has something to do.
    fn enter(&mut self, thread: usize) {
        loop {
            let Some(ops) = self.ops(thread) else { return };
            if self.threads[thread].3.len() != ops.len() {
                self.threads[thread].3 = vec![false; ops.len()];
            }
            if self.threads[thread].3.iter().any(|over| !over) {
                return;
            }
            self.threads[thread].2 += 1;
            self.threads[thread].3.clear();
        }
    }

    /// Which operations of the thread's step can be done now.
    fn able(&self, thread: usize) -> Vec<usize> {
        let Some(ops) = self.ops(thread) else { return Vec::new() };
        let (rank, channel) = (self.threads[thread].0, self.channel(thread));
        let over = &self.threads[thread].3;
        (0..ops.len())
            .filter(|index| {
                // The ends of a queue are used in the order in which the step names them.
                let first = |same: &dyn Fn(&Op) -> bool| !(0..*index).any(|other| !over[other] && same(&ops[other]));
                !over[*index] && match ops[*index] {
                    Op::Send { .. } | Op::Multicast { .. } => {
                        first(&|op| matches!(op, Op::Send { .. } | Op::Multicast { .. }))
                    }
                    Op::Contribute { to, .. } => {
                        let same = |other: &usize| matches!(ops[*other], Op::Contribute { to: known, .. } if known == to);
                        (0..*index).filter(same).all(|other| over[other] || self.posted(thread, other))
                            && !self.posted(thread, *index)
                    }
                    Op::Recv { from, .. } | Op::RecvReduce { from, .. } => {
                        let some = self.messages.get(&(from.get(), rank, channel)).is_some_and(|all| !all.is_empty());
                        let same = |op: &Op| matches!(op, Op::Recv { from: other, .. } | Op::RecvReduce { from: other, .. } if *other == from);
                        some && first(&same)
                    }
                    Op::SwitchReduce { of, .. } => {
                        of.iter().filter(|giver| giver.get() != rank).all(|giver| {
                            self.contributions.get(&(giver.get(), rank, channel)).is_some_and(|all| !all.is_empty())
                        }) && first(&|op| matches!(op, Op::SwitchReduce { .. }))
                    }
                    Op::Copy { .. } | Op::Reduce { .. } => true,
                    Op::Await { thread: other, steps } => {
                        self.threads.iter().any(|known| known.0 == rank && known.1 == usize::from(other) && known.2 >= steps as usize)
                    }
                }
            })
            .collect()
    }

    /// Whether a contribution waits for its reduction.
    fn posted(&self, thread: usize, op: usize) -> bool {
        self.contributions.values().flatten().any(|(_, by, other)| (*by, *other) == (thread, op))
    }

    fn read(&self, rank: u32, slice: Slice) -> Option<Vec<Option<Held>>> {
        blocks(slice)
            .map(|block| {
                let held = self.memory.get(&self.key(rank, slice.buffer, block)).cloned();
                let empty = self.layout.block_bytes(slice.buffer, Rank::new(rank), block) == 0;
                (held.is_some() || empty).then_some(held)
            })
            .collect()
    }

    fn write(&mut self, rank: u32, slice: Slice, all: Vec<Option<Held>>) -> Option<()> {
        let places: Vec<u32> = blocks(slice).collect();
        if places.len() != all.len() {
            return None;
        }
        for (block, held) in places.into_iter().zip(all) {
            if let (Some(held), true) =
                (held, self.layout.block_bytes(slice.buffer, Rank::new(rank), block) > 0)
            {
                self.memory.insert(self.key(rank, slice.buffer, block), held);
            }
        }
        Some(())
    }

    fn sum(held: Vec<Option<Held>>, given: &[Option<Held>]) -> Vec<Option<Held>> {
        let both = |(held, given): (Option<Held>, &Option<Held>)| Some(add(held.as_ref()?, given.as_ref()?));
        held.into_iter().zip(given).map(both).collect()
    }

    fn done(&mut self, thread: usize, op: usize) {
        self.threads[thread].3[op] = true;
        self.enter(thread);
    }

    /// Does an operation that can be done; `None` where it reads what nobody has written.
    fn act(&mut self, thread: usize, index: usize) -> Option<()> {
        let (rank, channel) = (self.threads[thread].0, self.channel(thread));
        let op = self.ops(thread)?[index];
        match op {
            Op::Send { to, from } => {
                let message = (self.read(rank, from)?, self.heard[thread].clone());
                self.messages.entry((rank, to.get(), channel)).or_default().push_back(message);
            }
            Op::Multicast { to, from } => {
                let message = (self.read(rank, from)?, self.heard[thread].clone());
                for other in to.iter().filter(|other| other.get() != rank) {
                    self.messages.entry((rank, other.get(), channel)).or_default().push_back(message.clone());
                }
            }
            Op::Contribute { to, from } => {
                let message = (self.read(rank, from)?, self.heard[thread].clone());
                let queue = self.contributions.entry((rank, to.get(), channel)).or_default();
                queue.push_back((message, thread, index));
                return Some(());
            }
            Op::Recv { from, into } => {
                let (given, heard) = self.messages.get_mut(&(from.get(), rank, channel))?.pop_front()?;
                self.heard[thread].extend(heard);
                self.write(rank, into, given)?;
            }
            Op::RecvReduce { from, local, into } => {
                let (given, heard) = self.messages.get_mut(&(from.get(), rank, channel))?.pop_front()?;
                self.heard[thread].extend(heard);
                let sum = Self::sum(self.read(rank, local)?, &given);
                self.write(rank, into, sum)?;
            }
            Op::SwitchReduce { of, local, into } => self.gather(thread, of.iter().collect(), local, into)?,
            Op::Copy { from, into } => {
                let held = self.read(rank, from)?;
                self.write(rank, into, held)?;
            }
            Op::Reduce { from, into } => {
                let sum = Self::sum(self.read(rank, into)?, &self.read(rank, from)?);
                self.write(rank, into, sum)?;
            }
            Op::Await { thread: other, .. } => {
                let other =
                    self.threads.iter().position(|known| known.0 == rank && known.1 == usize::from(other))?;
                let heard = self.heard[other].clone();
                self.heard[thread].extend(heard);
            }
        }
        self.done(thread, index);
        Some(())
    }

    fn gather(&mut self, thread: usize, of: Vec<Rank>, local: Slice, into: Slice) -> Option<()> {
        let (rank, channel) = (self.threads[thread].0, self.channel(thread));
        let mut sum = self.read(rank, local)?;
        let mut givers = Vec::new();
        for giver in of.into_iter().filter(|giver| giver.get() != rank) {
            let queue = self.contributions.get_mut(&(giver.get(), rank, channel))?;
            let ((given, heard), by, op) = queue.pop_front()?;
            sum = Self::sum(sum, &given);
            self.heard[thread].extend(heard);
            givers.push((by, op));
        }
        for (by, op) in givers {
            let heard = self.heard[thread].clone();
            self.heard[by].extend(heard);
            self.done(by, op);
        }
        self.write(rank, into, sum)
    }

    /// What the outputs hold.
    fn end(&self) -> End {
        let ranks = u32::try_from(self.program.ranks.len()).unwrap();
        let (mut right, mut order) = (true, 0);
        for rank in 0..ranks {
            if self.call.collective == Collective::Barrier {
                let own = (0..self.threads.len()).filter(|thread| self.threads[*thread].0 == rank);
                let heard: BTreeSet<u32> =
                    own.flat_map(|thread| self.heard[thread].iter().copied()).collect();
                right &= ranks == 1 || heard.len() == ranks as usize;
                continue;
            }
            for block in 0..self.layout.blocks(Buffer::Output) {
                let wanted = self.wanted(rank, ranks, block);
                if wanted.is_empty() || self.layout.block_bytes(Buffer::Output, Rank::new(rank), block) == 0 {
                    continue;
                }
                let held =
                    self.memory.get(&self.key(rank, Buffer::Output, block)).cloned().unwrap_or_default();
                right &= held.parts == wanted;
                order = hash(&[order, held.order]);
            }
        }
        End { right, order }
    }

    /// What an output block should hold: nothing where that does not matter.
    fn wanted(&self, rank: u32, ranks: u32, block: u32) -> BTreeMap<(u32, u32), u32> {
        let pieces = self.program.pieces;
        let all = |block| (0..ranks).map(|other| ((other, block), 1)).collect();
        let one = |other, block| BTreeMap::from([((other, block), 1)]);
        let (root, peer) = (self.call.root.get(), self.call.peer.get());
        match self.call.collective {
            Collective::AllReduce => all(block),
            Collective::Reduce if rank == root => all(block),
            Collective::ReduceScatter => all(rank * pieces + block),
            Collective::AllGather => one(block / pieces, block % pieces),
            Collective::AllToAll => one(block / pieces, rank * pieces + block % pieces),
            Collective::Broadcast => one(root, block),
            Collective::SendRecv if rank == peer => one(root, block),
            Collective::Reduce | Collective::SendRecv | Collective::Barrier => BTreeMap::new(),
        }
    }
}
