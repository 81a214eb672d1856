//! Plans as algorithms of MSCCL.

use std::collections::BTreeMap;
use std::fmt::Write;

use thiserror::Error;
use weft_base::Bytes;
use weft_collective::{Buffer, Call, Collective, Counts, Layout, Plan, Program, Rank, Violation, verify};

use super::fuse::{Role, fused, partners, sends};
use super::order::Item;
use super::parse::STEPS_MAX;
use super::pieces::{Cut, Piece, cut};

/// What an algorithm is called, and for what it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MscclAbout {
    /// Its name.
    pub name: String,
    /// `Simple`, `LL` or `LL128`.
    pub protocol: String,
    /// The smallest message for which it is used.
    pub smallest: Bytes,
    /// The largest, where there is one.
    pub largest: Option<Bytes>,
}

/// Why a plan cannot be written as an algorithm of MSCCL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MscclRefusal {
    /// MSCCL has no such collective.
    #[error("MSCCL has no algorithm files for {}", .0.name())]
    Collective(Collective),
    /// All chunks have the same size there.
    #[error("MSCCL cuts all data into chunks of the same size; this call has parts of different sizes")]
    Uneven,
    /// Multicast and reduction in switches have no steps.
    #[error("the plan lets switches copy or add, for which MSCCL has no step")]
    Switches,
    /// The plan itself is wrong.
    #[error("the plan is wrong: {0}")]
    Wrong(Violation),
    /// Several threads of a rank use one channel to a peer; each thread block there has one of its own.
    #[error(
        "several threads share channel {channel} from rank {from} to rank {to}, which belongs to one thread block"
    )]
    SharedChannel {
        /// Who sends.
        from: Rank,
        /// Who receives.
        to: Rank,
        /// On which channel.
        channel: u16,
    },
    /// More steps than the interpreter holds.
    #[error("rank {rank} has {steps} steps with one peer, and MSCCL holds {STEPS_MAX}")]
    Steps {
        /// Whose.
        rank: usize,
        /// How many.
        steps: usize,
    },
    /// What was written orders less than the plan, whose threads are ordered by messages alone.
    #[error("the plan orders threads of a rank by messages to others, which thread blocks do not: {0}")]
    Unordered(Violation),
}

/// The number of scratch space among memories.
const SCRATCH: u8 = 2;

/// A step of a thread block.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// `None` for a step that only waits.
    piece: Option<Piece>,
    waits: Option<StepOf>,
    signals: bool,
    /// Blocks that it wrote and that nobody has read.
    unread: u32,
}

/// A thread block and a step of it.
type StepOf = (usize, usize);

/// The plan as an algorithm of MSCCL: a thread block for each peer that a rank sends to or receives from on a channel,
/// and one for what each thread does by itself; steps wait for the steps whose chunks they use. What is sent as it was
/// received is received and sent in one step (`rcs`, `rrcs`; `rrs` where a sum is not needed any more). Only what is
/// proved is written.
pub fn write(plan: &Plan, call: &Call, about: &MscclAbout) -> Result<String, MscclRefusal> {
    let coll = match call.collective {
        Collective::AllReduce => "allreduce",
        Collective::AllGather => "allgather",
        Collective::ReduceScatter => "reducescatter",
        Collective::Broadcast => "broadcast",
        Collective::Reduce => "reduce",
        Collective::AllToAll => "alltoall",
        Collective::SendRecv | Collective::Barrier => return Err(MscclRefusal::Collective(call.collective)),
    };
    if !matches!(call.counts, Counts::Even(_)) {
        return Err(MscclRefusal::Uneven);
    }
    verify(plan, call).map_err(MscclRefusal::Wrong)?;
    let program = Program::of(plan);
    let layout = Layout::new(call, plan.ranks, plan.pieces);
    let channels: BTreeMap<u16, usize> = {
        let mut used: Vec<u16> = program.ranks.iter().flatten().map(|thread| thread.channel).collect();
        used.sort_unstable();
        used.dedup();
        used.into_iter().zip(0..).collect()
    };
    let (input, output) = (layout.blocks(Buffer::Input), layout.blocks(Buffer::Output));
    let document = Document { call, layout: &layout, channels: &channels, chunks: input.max(output) };
    let cuts = cut(&program)?;
    let text = |fuses| document.text(plan, coll, about, &cuts, fuses);
    let fused = text(true).and_then(|text| proved(&text, call).map(|()| text));
    match fused {
        Ok(text) => Ok(text),
        // Thread blocks that do less together order less.
        Err(_) => text(false).and_then(|text| proved(&text, call).map(|()| text)),
    }
}

/// Whether what was written is right when it is read again.
fn proved(text: &str, call: &Call) -> Result<(), MscclRefusal> {
    let (Some(algorithm), _) = super::read("", text) else { return Ok(()) };
    let Some(again) = algorithm.call(call.in_place) else { return Ok(()) };
    let again = Call { root: call.root, ..again };
    verify(&algorithm.program.into_plan(), &again).map(|_| ()).map_err(MscclRefusal::Unordered)
}

fn quoted(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

struct Document<'d> {
    call: &'d Call,
    layout: &'d Layout<'d>,
    /// Channels without gaps.
    channels: &'d BTreeMap<u16, usize>,
    chunks: u32,
}

/// A thread block while it is made.
#[derive(Debug, Default)]
struct Block {
    send: Option<Rank>,
    recv: Option<Rank>,
    channel: Option<u16>,
    lines: Vec<Line>,
}

/// Who has used a block of a buffer.
#[derive(Debug, Default)]
struct Users {
    writer: Option<StepOf>,
    readers: Vec<StepOf>,
}

/// The thread blocks of a GPU while they are made.
#[derive(Debug, Default)]
struct Gpu {
    /// With whom roles that send share a thread block.
    partners: BTreeMap<Role, Role>,
    roles: BTreeMap<Role, usize>,
    blocks: Vec<Block>,
    users: BTreeMap<(u8, u64), Users>,
    /// How far each thread block has waited for each other one.
    waited: BTreeMap<(usize, usize), usize>,
}

impl Document<'_> {
    fn text(
        &self,
        plan: &Plan,
        coll: &str,
        about: &MscclAbout,
        cuts: &[Cut],
        fuses: bool,
    ) -> Result<String, MscclRefusal> {
        let mut text = String::new();
        let (name, protocol) = (quoted(&about.name), quoted(&about.protocol));
        // 0 is no limit.
        let (bytes_min, bytes_max) = (about.smallest.get(), about.largest.map_or(0, Bytes::get));
        let (channels, chunks) = (self.channels.len().max(1), self.chunks);
        let in_place = u8::from(self.call.in_place);
        let _ = writeln!(
            text,
            "<algo name=\"{name}\" proto=\"{protocol}\" nchannels=\"{channels}\" nchunksperloop=\"{chunks}\" \
             ngpus=\"{}\" coll=\"{coll}\" inplace=\"{in_place}\" outofplace=\"{}\" minBytes=\"{bytes_min}\" \
             maxBytes=\"{bytes_max}\">",
            plan.ranks,
            1 - in_place,
        );
        let (input, output) = (self.layout.blocks(Buffer::Input), self.layout.blocks(Buffer::Output));
        let scratch = u64::from(plan.scratch) * u64::from(chunks);
        for (rank, cut) in cuts.iter().enumerate() {
            let _ = writeln!(
                text,
                "  <gpu id=\"{rank}\" i_chunks=\"{input}\" o_chunks=\"{output}\" s_chunks=\"{scratch}\">"
            );
            self.gpu(rank, cut, fuses, &mut text)?;
            text.push_str("  </gpu>\n");
        }
        text.push_str("</algo>\n");
        Ok(text)
    }

    fn gpu(&self, rank: usize, cut: &Cut, fuses: bool, text: &mut String) -> Result<(), MscclRefusal> {
        let mut gpu = Gpu::default();
        if fuses {
            gpu.partners = partners(cut, &|block| self.cell(rank, block));
        }
        for (item, pieces) in cut {
            for piece in pieces {
                self.add(rank, &mut gpu, item, *piece);
            }
        }
        gpu.forget_what_is_not_read();
        for (number, block) in gpu.blocks.iter().enumerate() {
            let steps = block.lines.len();
            if steps > STEPS_MAX {
                return Err(MscclRefusal::Steps { rank, steps });
            }
            let peer = |peer: Option<Rank>| peer.map_or(-1, |peer| i64::from(peer.get()));
            let (send, recv) = (peer(block.send), peer(block.recv));
            let channel = block.channel.and_then(|channel| self.channels.get(&channel)).copied().unwrap_or(0);
            let _ =
                writeln!(text, "    <tb id=\"{number}\" send=\"{send}\" recv=\"{recv}\" chan=\"{channel}\">");
            for (step, line) in block.lines.iter().enumerate() {
                self.line(step, line, text);
            }
            text.push_str("    </tb>\n");
        }
        Ok(())
    }

    fn line(&self, step: usize, line: &Line, text: &mut String) {
        let (kind, source, target, count) = match line.piece {
            Some(piece) => (piece.kind, self.chunk(piece.source), self.chunk(piece.target), piece.count),
            None => ("nop", ('i', 0), ('o', 0), 0),
        };
        let (block, of) = line.waits.map_or(("-1".to_owned(), "-1".to_owned()), |(block, step)| {
            (block.to_string(), step.to_string())
        });
        let signals = u8::from(line.signals);
        let ((source, from), (target, into)) = (source, target);
        let _ = writeln!(
            text,
            "      <step s=\"{step}\" type=\"{kind}\" srcbuf=\"{source}\" srcoff=\"{from}\" dstbuf=\"{target}\" \
             dstoff=\"{into}\" cnt=\"{count}\" depid=\"{block}\" deps=\"{of}\" hasdep=\"{signals}\"/>"
        );
    }

    /// A block as a chunk of the file: scratch buffers lie one after the other.
    fn chunk(&self, (buffer, block): (Buffer, u32)) -> (char, u64) {
        match buffer {
            Buffer::Input => ('i', block.into()),
            Buffer::Output => ('o', block.into()),
            Buffer::Scratch(number) => ('s', u64::from(number) * u64::from(self.chunks) + u64::from(block)),
        }
    }

    /// The memory of a block: what is in place is the same.
    fn cell(&self, rank: usize, (buffer, block): (Buffer, u32)) -> (u8, u64) {
        let own = rank as u64 * u64::from(self.layout.pieces());
        let (_, block) = self.chunk((buffer, block));
        match (buffer, self.call.in_place, self.call.collective) {
            (Buffer::Scratch(_), ..) => (SCRATCH, block),
            (Buffer::Input, true, Collective::AllGather)
            | (Buffer::Output, true, Collective::ReduceScatter) => (0, own + block),
            (Buffer::Input, ..) | (Buffer::Output, true, _) => (0, block),
            (Buffer::Output, false, _) => (1, block),
        }
    }

    /// Adds a step, behind steps that wait for those whose chunks it uses.
    fn add(&self, rank: usize, gpu: &mut Gpu, item: &Item, piece: Piece) {
        let own = gpu.block_of(Role::of(&item.op, item.thread, item.channel));
        let cells = |(buffer, first): (Buffer, u32)| {
            (first..first + piece.count).map(move |block| self.cell(rank, (buffer, block)))
        };
        if piece.kind == "s" && gpu.pass_on(own, piece, &cells(piece.source).collect::<Vec<_>>()) {
            return;
        }
        let (reads, writes) = (!matches!(piece.kind, "r"), !matches!(piece.kind, "s"));
        let mut needed: BTreeMap<usize, usize> = BTreeMap::new();
        let mut need = |step: &StepOf| {
            let latest = needed.entry(step.0).or_default();
            *latest = (*latest).max(step.1);
        };
        for cell in cells(piece.source).filter(|_| reads) {
            gpu.users.get(&cell).and_then(|users| users.writer.as_ref()).into_iter().for_each(&mut need);
        }
        for cell in cells(piece.target).filter(|_| writes) {
            let Some(users) = gpu.users.get(&cell) else { continue };
            users.writer.iter().chain(&users.readers).for_each(&mut need);
        }
        needed.retain(|other, step| {
            *other != own && gpu.waited.get(&(own, *other)).is_none_or(|known| known < step)
        });
        let here = gpu.place(own, piece, needed);
        for cell in cells(piece.source).filter(|_| reads) {
            gpu.users.entry(cell).or_default().readers.push(here);
        }
        for cell in cells(piece.target).filter(|_| writes) {
            let before = gpu.users.insert(cell, Users { writer: Some(here), readers: Vec::new() });
            gpu.unread(before.as_ref());
        }
    }
}

impl Gpu {
    /// The thread block of a role, a new one where there is none yet.
    fn block_of(&mut self, role: Role) -> usize {
        let next = self.blocks.len();
        let shared = self.partners.get(&role).copied().unwrap_or(role);
        let own = *self.roles.entry(shared).or_insert(next);
        if own == next {
            self.blocks.push(Block::default());
        }
        if let Some(block) = self.blocks.get_mut(own) {
            match role {
                Role::Local(_) => {}
                Role::Send(peer, channel) => (block.send, block.channel) = (Some(peer), Some(channel)),
                Role::Recv(peer, channel) => (block.recv, block.channel) = (Some(peer), Some(channel)),
            }
        }
        own
    }

    /// Has the step that received what is to be sent send it too, if it belongs to this thread block, if nothing has
    /// been sent after it, and if what it received is still there.
    fn pass_on(&mut self, own: usize, sent: Piece, cells: &[(u8, u64)]) -> bool {
        let Some(block) = self.blocks.get_mut(own) else { return false };
        let sent_last = |line: &Line| line.piece.is_some_and(|piece| sends(piece.kind));
        let after = block.lines.iter().rposition(sent_last).map_or(0, |last| last + 1);
        let users = &self.users;
        let wrote = |step: usize| {
            let here = Some((own, step));
            cells.iter().all(|cell| users.get(cell).is_some_and(|users| users.writer == here))
        };
        for (step, line) in block.lines.iter_mut().enumerate().skip(after) {
            let Some(piece) = &mut line.piece else { continue };
            if let Some(kind) = fused(piece.kind)
                && (piece.target, piece.count) == (sent.source, sent.count)
                && wrote(step)
            {
                piece.kind = kind;
                return true;
            }
        }
        false
    }

    /// Takes down what was overwritten, or left, without having been read.
    fn unread(&mut self, users: Option<&Users>) {
        let Some(Users { writer: Some((block, step)), readers }) = users else { return };
        let line = self.blocks.get_mut(*block).and_then(|block| block.lines.get_mut(*step));
        if let Some(line) = line.filter(|_| readers.is_empty()) {
            line.unread += 1;
        }
    }

    /// Sums that are sent and that nobody reads are not kept.
    fn forget_what_is_not_read(&mut self) {
        let users = std::mem::take(&mut self.users);
        for (_, users) in users.iter().filter(|((buffer, _), _)| *buffer == SCRATCH) {
            self.unread(Some(users));
        }
        for line in self.blocks.iter_mut().flat_map(|block| &mut block.lines) {
            let unread = line.unread;
            if let Some(piece) =
                line.piece.as_mut().filter(|piece| piece.kind == "rrcs" && unread == piece.count)
            {
                piece.kind = "rrs";
            }
        }
    }

    /// Puts a step behind those of its thread block, with what it waits for; gives where it is.
    fn place(&mut self, own: usize, piece: Piece, needed: BTreeMap<usize, usize>) -> StepOf {
        for (other, step) in &needed {
            self.waited.insert((own, *other), *step);
            let line = self.blocks.get_mut(*other).and_then(|block| block.lines.get_mut(*step));
            if let Some(line) = line {
                line.signals = true;
            }
        }
        let Some(Block { lines, .. }) = self.blocks.get_mut(own) else { return (own, 0) };
        let mut waits: Vec<StepOf> = needed.into_iter().collect();
        let last = waits.pop();
        // A step waits for one thread block; for more, others that do nothing wait before it.
        lines.extend(waits.into_iter().map(|wait| Line {
            piece: None,
            waits: Some(wait),
            signals: false,
            unread: 0,
        }));
        lines.push(Line { piece: Some(piece), waits: last, signals: false, unread: 0 });
        (own, lines.len() - 1)
    }
}
