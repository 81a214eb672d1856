//! Plans as algorithms of MSCCL.

use std::collections::BTreeMap;
use std::fmt::Write;

use thiserror::Error;
use weft_base::Bytes;
use weft_collective::{Buffer, Call, Collective, Counts, Layout, Op, Plan, Program, Rank, Violation, verify};

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

/// A step of a thread block.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// `None` for a step that only waits.
    piece: Option<Piece>,
    waits: Option<StepOf>,
    signals: bool,
}

/// A thread block and a step of it.
type StepOf = (usize, usize);

/// What a thread block is for: local work of a thread, sending to a peer, receiving from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Local(usize),
    Send(Rank, u16),
    Recv(Rank, u16),
}

/// The plan as an algorithm of MSCCL: a thread block for each peer that a rank sends to or receives from on a channel,
/// and one for what each thread does by itself; steps wait for the steps whose chunks they use. Only what is proved
/// is written.
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
    let mut text = String::new();
    let (name, protocol) = (quoted(&about.name), quoted(&about.protocol));
    // 0 is no limit.
    let (bytes_min, bytes_max) = (about.smallest.get(), about.largest.map_or(0, Bytes::get));
    let _ = writeln!(
        text,
        "<algo name=\"{name}\" proto=\"{protocol}\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" \
         coll=\"{coll}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"{bytes_min}\" maxBytes=\"{bytes_max}\">",
        channels.len().max(1),
        document.chunks,
        plan.ranks,
        u8::from(call.in_place),
        u8::from(!call.in_place),
    );
    let scratch = u64::from(plan.scratch) * u64::from(document.chunks);
    for (rank, cut) in cut(&program)?.into_iter().enumerate() {
        let _ = writeln!(
            text,
            "  <gpu id=\"{rank}\" i_chunks=\"{input}\" o_chunks=\"{output}\" s_chunks=\"{scratch}\">"
        );
        document.gpu(rank, &cut, &mut text)?;
        text.push_str("  </gpu>\n");
    }
    text.push_str("</algo>\n");
    proved(&text, call)?;
    Ok(text)
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

/// Who has used a block.
#[derive(Debug, Default)]
struct Users {
    writer: Option<StepOf>,
    readers: Vec<StepOf>,
}

/// The thread blocks of a GPU while they are made.
#[derive(Debug, Default)]
struct Gpu {
    roles: BTreeMap<Role, usize>,
    blocks: Vec<(Role, Vec<Line>)>,
    users: BTreeMap<(u8, u64), Users>,
    /// How far each thread block has waited for each other one.
    waited: BTreeMap<(usize, usize), usize>,
}

impl Document<'_> {
    fn gpu(&self, rank: usize, cut: &Cut, text: &mut String) -> Result<(), MscclRefusal> {
        let mut gpu = Gpu::default();
        for (item, pieces) in cut {
            for piece in pieces {
                self.add(rank, &mut gpu, item, *piece);
            }
        }
        for (number, (role, lines)) in gpu.blocks.iter().enumerate() {
            if lines.len() > STEPS_MAX {
                return Err(MscclRefusal::Steps { rank, steps: lines.len() });
            }
            let (send, recv, channel) = match *role {
                Role::Local(_) => (-1, -1, None),
                Role::Send(peer, channel) => (i64::from(peer.get()), -1, Some(channel)),
                Role::Recv(peer, channel) => (-1, i64::from(peer.get()), Some(channel)),
            };
            let channel = channel.and_then(|channel| self.channels.get(&channel)).copied().unwrap_or(0);
            let _ =
                writeln!(text, "    <tb id=\"{number}\" send=\"{send}\" recv=\"{recv}\" chan=\"{channel}\">");
            for (step, line) in lines.iter().enumerate() {
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
            (Buffer::Scratch(_), ..) => (2, block),
            (Buffer::Input, true, Collective::AllGather)
            | (Buffer::Output, true, Collective::ReduceScatter) => (0, own + block),
            (Buffer::Input, ..) | (Buffer::Output, true, _) => (0, block),
            (Buffer::Output, false, _) => (1, block),
        }
    }

    /// Adds a step, behind steps that wait for those whose chunks it uses.
    fn add(&self, rank: usize, gpu: &mut Gpu, item: &Item, piece: Piece) {
        let role = match item.op {
            Op::Send { to, .. } => Role::Send(to, item.channel),
            Op::Recv { from, .. } | Op::RecvReduce { from, .. } => Role::Recv(from, item.channel),
            Op::Copy { .. }
            | Op::Reduce { .. }
            | Op::Multicast { .. }
            | Op::Contribute { .. }
            | Op::SwitchReduce { .. }
            | Op::Await { .. } => Role::Local(item.thread),
        };
        let next = gpu.blocks.len();
        let own = *gpu.roles.entry(role).or_insert(next);
        if own == next {
            gpu.blocks.push((role, Vec::new()));
        }
        let cells = |(buffer, first): (Buffer, u32)| {
            (first..first + piece.count).map(move |block| self.cell(rank, (buffer, block)))
        };
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
            gpu.users.insert(cell, Users { writer: Some(here), readers: Vec::new() });
        }
    }
}

impl Gpu {
    /// Puts a step behind those of its thread block, with what it waits for; gives where it is.
    fn place(&mut self, own: usize, piece: Piece, needed: BTreeMap<usize, usize>) -> StepOf {
        for (other, step) in &needed {
            self.waited.insert((own, *other), *step);
            let line = self.blocks.get_mut(*other).and_then(|(_, lines)| lines.get_mut(*step));
            if let Some(line) = line {
                line.signals = true;
            }
        }
        let Some((_, lines)) = self.blocks.get_mut(own) else { return (own, 0) };
        let mut waits: Vec<StepOf> = needed.into_iter().collect();
        let last = waits.pop();
        // A step waits for one thread block; for more, others that do nothing wait before it.
        lines.extend(waits.into_iter().map(|wait| Line { piece: None, waits: Some(wait), signals: false }));
        lines.push(Line { piece: Some(piece), waits: last, signals: false });
        (own, lines.len() - 1)
    }
}
