//! A plan played as its operations are described, one rank after the other, with copies of all messages: the slow way
//! that cannot be wrong for the reasons for which the player could.

use std::collections::{BTreeMap, VecDeque};

use weft_collective::{Buffer, Call, Layout, Op, Plan, Rank, Slice};

use super::{Buffers, own_offset};

type Add = fn(&[u8], &[u8]) -> Vec<u8>;

struct Machine<'p> {
    plan: &'p Plan,
    call: &'p Call,
    size: usize,
    add: Add,
    buffers: Vec<Buffers>,
    scratch: Vec<BTreeMap<(u16, usize), Vec<u8>>>,
    messages: BTreeMap<(Rank, Rank, u16), VecDeque<Vec<u8>>>,
}

/// What all ranks end with. `add` adds two elements.
pub fn played(plan: &Plan, call: &Call, buffers: Vec<Buffers>, add: Add) -> Vec<Buffers> {
    let size = usize::try_from(call.data_type.size_bytes()).unwrap();
    let scratch = vec![BTreeMap::new(); buffers.len()];
    let mut machine = Machine { plan, call, size, add, buffers, scratch, messages: BTreeMap::new() };
    let threads = u16::try_from(plan.threads.len()).unwrap();
    let walkers = (0..plan.ranks).flat_map(|rank| (0..threads).map(move |thread| (Rank::new(rank), thread)));
    let mut walks: Vec<_> = walkers
        .map(|(rank, thread)| (rank, plan.steps(rank, thread), Vec::<(Op, u16)>::new(), 0_u32))
        .collect();
    loop {
        let mut moved = false;
        for at in 0..walks.len() {
            let done: Vec<u32> = walks.iter().map(|walk| walk.3).collect();
            let (rank, steps, open, over) = &mut walks[at];
            let finished = |thread: u16| done[rank.index() * usize::from(threads) + usize::from(thread)];
            let before = open.len();
            open.retain(|(op, channel)| !machine.does(*rank, *op, *channel, &finished));
            moved |= open.len() < before;
            if open.is_empty() {
                *over += u32::from(before > 0);
                let mut ops = Vec::new();
                // A step without operations is over at once, but counts.
                while let Some(channel) = steps.next_into(&mut ops) {
                    moved = true;
                    if !ops.is_empty() {
                        open.extend(ops.drain(..).map(|op| (op, channel)));
                        break;
                    }
                    *over += 1;
                }
            }
        }
        if !moved {
            assert!(walks.iter().all(|walk| walk.2.is_empty()), "the plan does not end");
            assert!(machine.messages.values().all(VecDeque::is_empty), "a message is left over");
            return machine.buffers;
        }
    }
}

impl Machine<'_> {
    /// Does an operation if that can be done now.
    fn does(&mut self, rank: Rank, op: Op, channel: u16, finished: &dyn Fn(u16) -> u32) -> bool {
        match op {
            Op::Send { to, from } => {
                let message = self.read(rank, &from).concat();
                self.messages.entry((rank, to, channel)).or_default().push_back(message);
            }
            Op::Recv { from, into } => {
                let Some(message) = self.messages.entry((from, rank, channel)).or_default().pop_front()
                else {
                    return false;
                };
                self.write(rank, &into, &message);
            }
            Op::RecvReduce { from, local, into } => {
                let Some(message) = self.messages.entry((from, rank, channel)).or_default().pop_front()
                else {
                    return false;
                };
                let sum = self.sum(&self.read(rank, &local).concat(), &message);
                self.write(rank, &into, &sum);
            }
            Op::Copy { from, into } => {
                let data = self.read(rank, &from).concat();
                self.write(rank, &into, &data);
            }
            Op::Reduce { from, into } => {
                let sum = self.sum(&self.read(rank, &into).concat(), &self.read(rank, &from).concat());
                self.write(rank, &into, &sum);
            }
            Op::Await { thread, steps } => return finished(thread) >= steps,
            Op::Multicast { .. } | Op::Contribute { .. } | Op::SwitchReduce { .. } => {
                panic!("no switch here")
            }
        }
        true
    }

    fn sum(&self, first: &[u8], second: &[u8]) -> Vec<u8> {
        assert_eq!(first.len(), second.len());
        let pairs = first.chunks(self.size).zip(second.chunks(self.size));
        pairs.flat_map(|(first, second)| (self.add)(first, second)).collect()
    }

    /// Each block of a slice: whose bytes, which.
    fn blocks(&self, rank: Rank, slice: &Slice) -> Vec<std::ops::Range<usize>> {
        let layout = Layout::new(self.call, self.plan.ranks, self.plan.pieces);
        let own = if self.call.in_place { own_offset(self.plan, self.call, rank) } else { 0 };
        let larger = if self.call.collective == weft_collective::Collective::AllGather {
            Buffer::Output
        } else {
            Buffer::Input
        };
        let base = match slice.buffer {
            Buffer::Scratch(_) => 0,
            buffer => {
                if buffer == larger {
                    0
                } else {
                    own
                }
            }
        };
        let blocks = slice.ranges().flat_map(|(first, count)| first..first + count);
        let range = |block| {
            let elements = layout.elements(slice.buffer, rank, block);
            let at = |element: u64| base + usize::try_from(element).unwrap() * self.size;
            at(elements.start)..at(elements.end)
        };
        blocks.map(range).collect()
    }

    fn read(&self, rank: Rank, slice: &Slice) -> Vec<Vec<u8>> {
        let buffers = &self.buffers[rank.index()];
        let read = |range: std::ops::Range<usize>| match slice.buffer {
            Buffer::Scratch(number) => {
                if range.is_empty() {
                    Vec::new()
                } else {
                    self.scratch[rank.index()][&(number, range.start)].clone()
                }
            }
            Buffer::Input if !self.call.in_place => buffers.input[range].to_vec(),
            Buffer::Input | Buffer::Output => buffers.output[range].to_vec(),
        };
        self.blocks(rank, slice).into_iter().map(read).collect()
    }

    fn write(&mut self, rank: Rank, slice: &Slice, data: &[u8]) {
        let mut rest = data;
        for range in self.blocks(rank, slice) {
            let (block, behind) = rest.split_at(range.len());
            rest = behind;
            match slice.buffer {
                Buffer::Scratch(_) if range.is_empty() => {}
                Buffer::Scratch(number) => {
                    self.scratch[rank.index()].insert((number, range.start), block.to_vec());
                }
                Buffer::Input | Buffer::Output => {
                    assert!(slice.buffer == Buffer::Output || self.call.in_place, "the input is written");
                    self.buffers[rank.index()].output[range].copy_from_slice(block);
                }
            }
        }
        assert!(rest.is_empty());
    }
}
