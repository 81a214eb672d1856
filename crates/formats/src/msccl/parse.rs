//! The elements and attributes of an algorithm.

use roxmltree::Node;
use weft_base::Diagnostic;

use super::Origin;
use super::codes::MSCCL_REFUSES;
use crate::document::XmlTree;

/// More GPUs than any file has; more would be a number gone wrong.
const GPUS_MAX: usize = 4096;
/// Steps that the interpreter holds of a thread block.
pub(super) const STEPS_MAX: usize = 256;
/// Counts that it takes are below this.
pub(super) const COUNT_MAX: u32 = 72;
/// Offsets are kept in 16 bits.
const CHUNKS_MAX: u32 = 32_767;

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nop,
    Send,
    Recv,
    Copy,
    Reduce,
    RecvCopySend,
    RecvReduceSend,
    RecvReduceCopy,
    RecvReduceCopySend,
}

impl Kind {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "nop" => Self::Nop,
            "s" => Self::Send,
            "r" => Self::Recv,
            "cpy" => Self::Copy,
            "re" => Self::Reduce,
            "rcs" => Self::RecvCopySend,
            "rrs" => Self::RecvReduceSend,
            "rrc" => Self::RecvReduceCopy,
            "rrcs" => Self::RecvReduceCopySend,
            _ => return None,
        })
    }

    pub fn sends(self) -> bool {
        matches!(self, Self::Send | Self::RecvCopySend | Self::RecvReduceSend | Self::RecvReduceCopySend)
    }

    pub fn receives(self) -> bool {
        matches!(
            self,
            Self::Recv
                | Self::RecvCopySend
                | Self::RecvReduceSend
                | Self::RecvReduceCopy
                | Self::RecvReduceCopySend
        )
    }

    /// Whether it has to do with `src`.
    fn reads(self) -> bool {
        !matches!(self, Self::Nop | Self::Recv | Self::RecvCopySend)
    }

    /// Whether it has to do with `dst`.
    fn writes(self) -> bool {
        !matches!(self, Self::Nop | Self::Send | Self::RecvReduceSend)
    }
}

/// A buffer of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letter {
    Input,
    Output,
    Scratch,
}

/// A chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub buffer: Letter,
    pub offset: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub kind: Kind,
    pub source: Chunk,
    pub target: Chunk,
    pub count: u32,
    /// The thread block and the step for which it waits.
    pub waits: Option<(u32, u32)>,
    /// Whether it says that it is through.
    pub signals: bool,
    pub origin: Origin,
}

impl Step {
    /// Chunks of scratch space that there must be for it.
    fn scratch(&self) -> u32 {
        let end = |chunk: Chunk| if chunk.buffer == Letter::Scratch { chunk.offset + self.count } else { 0 };
        end(self.source).max(end(self.target))
    }
}

#[derive(Debug)]
pub(super) struct Block {
    pub send: Option<u32>,
    pub recv: Option<u32>,
    pub channel: u16,
    pub steps: Vec<Step>,
    pub origin: Origin,
}

#[derive(Debug)]
pub(super) struct Gpu {
    /// In the order of their numbers.
    pub blocks: Vec<Block>,
    pub scratch: u32,
    pub origin: Origin,
}

/// The document with what is wrong with it.
pub(super) struct Parser<'t> {
    tree: &'t XmlTree<'t>,
    pub findings: Vec<Diagnostic>,
}

impl<'t> Parser<'t> {
    pub fn new(tree: &'t XmlTree<'t>) -> Self {
        Self { tree, findings: Vec::new() }
    }

    pub fn refuse(&mut self, node: Node<'_, '_>, attribute: &str, message: impl Into<String>, hint: &str) {
        let place = self.tree.attribute(node, attribute);
        let message = format!("MSCCL refuses the algorithm: {}", message.into());
        self.findings.push(Diagnostic::warning(MSCCL_REFUSES, message).hint(hint).at(place));
    }

    fn origin(&self, node: Node<'_, '_>, number: u32) -> Origin {
        Origin { number, start: node.range().start, line: self.tree.line(node) }
    }

    /// A whole number that must be there.
    pub fn number(&mut self, node: Node<'_, '_>, name: &str) -> Option<i64> {
        let text = node.attribute(name);
        let number = text.and_then(|text| text.trim().parse().ok());
        if number.is_none() {
            let tag = node.tag_name().name();
            let message = match text {
                Some(text) => format!("`{name}` is `{text}`, which is no whole number"),
                None => format!("<{tag}> has no `{name}`"),
            };
            self.refuse(node, name, message, "every step and thread block states all its numbers");
        }
        number
    }

    /// A number that counts something.
    pub fn count(&mut self, node: Node<'_, '_>, name: &str) -> Option<u32> {
        let number = self.number(node, name)?;
        let count = u32::try_from(number).ok().filter(|count| *count <= CHUNKS_MAX);
        if count.is_none() {
            let message = format!("`{name}` is {number}, which is no number from 0 to {CHUNKS_MAX}");
            self.refuse(node, name, message, "offsets and counts are kept in 16 bits");
        }
        count
    }

    /// The GPUs in the order of their numbers, where there are as many as the file says.
    pub fn gpus(&mut self, root: Node<'t, 't>, ranks: u32) -> Option<Vec<Gpu>> {
        let mut gpus = Vec::new();
        for node in elements(root, "gpu").take(GPUS_MAX) {
            let (Some(id), Some(scratch)) = (self.count(node, "id"), self.count(node, "s_chunks")) else {
                continue;
            };
            let blocks = self.blocks(node, id, ranks);
            let reached = blocks.iter().flat_map(|block| &block.steps).map(Step::scratch).max().unwrap_or(0);
            if reached > scratch {
                let message = format!("GPU {id} uses {reached} chunks of scratch space, but has {scratch}");
                self.refuse(node, "s_chunks", message, "declare as many as are used");
            }
            gpus.push(Gpu { blocks, scratch, origin: self.origin(node, id) });
        }
        gpus.sort_by_key(|gpu| gpu.origin.number);
        if gpus.iter().map(|gpu| gpu.origin.number).eq(0..ranks) {
            return Some(gpus);
        }
        let message = format!("`ngpus` is {ranks}, but the file has {} different GPUs", gpus.len());
        self.refuse(root, "ngpus", message, "give each GPU from 0 on a <gpu> element");
        None
    }

    fn blocks(&mut self, gpu: Node<'t, 't>, id: u32, ranks: u32) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        for node in elements(gpu, "tb") {
            let numbers = (self.count(node, "id"), self.number(node, "send"), self.number(node, "recv"));
            let (Some(number), Some(send), Some(recv)) = numbers else { continue };
            let Some(channel) = self.count(node, "chan").and_then(|channel| u16::try_from(channel).ok())
            else {
                continue;
            };
            let mut peer = |name: &str, number: i64| {
                let peer = u32::try_from(number).ok();
                if number != -1 && peer.is_none_or(|peer| peer >= ranks || peer == id) {
                    let message = format!("`{name}` is {number}, which is no other GPU of {ranks}");
                    self.refuse(node, name, message, "-1 is for none");
                }
                peer
            };
            let (send, recv) = (peer("send", send), peer("recv", recv));
            let mut block =
                Block { send, recv, channel, steps: Vec::new(), origin: self.origin(node, number) };
            self.steps(node, &mut block);
            if blocks.iter().any(|known| known.origin.number == number) {
                let message = format!("GPU {id} has two thread blocks {number}");
                self.refuse(node, "id", message, "number them from 0 on");
                continue;
            }
            blocks.push(block);
        }
        blocks.sort_by_key(|block| block.origin.number);
        blocks
    }

    fn steps(&mut self, tb: Node<'t, 't>, block: &mut Block) {
        for (number, node) in (0..).zip(elements(tb, "step")) {
            let Some(step) = self.step(node, number) else { continue };
            for (needed, peer, name) in
                [(step.kind.sends(), block.send, "send"), (step.kind.receives(), block.recv, "recv")]
            {
                if needed && peer.is_none() {
                    let message = format!("the step needs a peer, but `{name}` of its thread block is -1");
                    self.refuse(node, "type", message, "name the GPU in the <tb> element");
                }
            }
            block.steps.push(step);
        }
        if block.steps.len() > STEPS_MAX {
            let message = format!("the thread block has {} steps, more than {STEPS_MAX}", block.steps.len());
            self.refuse(tb, "", message, "split it into several thread blocks");
        }
    }

    fn step(&mut self, node: Node<'_, '_>, number: u32) -> Option<Step> {
        let name = node.attribute("type").unwrap_or_default();
        let Some(kind) = Kind::from_name(name) else {
            let known = "the types are s, r, cpy, re, rcs, rrs, rrc, rrcs and nop";
            self.refuse(node, "type", format!("there is no step of type `{name}`"), known);
            return None;
        };
        let source = self.chunk(node, "srcbuf", "srcoff", kind.reads())?;
        let target = self.chunk(node, "dstbuf", "dstoff", kind.writes())?;
        let count = if kind == Kind::Nop { 0 } else { self.count(node, "cnt")? };
        if count >= COUNT_MAX {
            let message = format!("`cnt` is {count}, and must be less than {COUNT_MAX}");
            self.refuse(node, "cnt", message, "split the step");
        }
        let (block, step) = (self.number(node, "depid")?, self.number(node, "deps")?);
        let waits = u32::try_from(block).ok().zip(u32::try_from(step).ok());
        let signals = self.number(node, "hasdep")? != 0;
        Some(Step { kind, source, target, count, waits, signals, origin: self.origin(node, number) })
    }

    /// A chunk that the step has to do with, or any.
    fn chunk(&mut self, node: Node<'_, '_>, buffer: &str, offset: &str, needed: bool) -> Option<Chunk> {
        if !needed {
            return Some(Chunk { buffer: Letter::Input, offset: 0 });
        }
        let letter = match node.attribute(buffer).unwrap_or_default() {
            "i" => Letter::Input,
            "o" => Letter::Output,
            "s" => Letter::Scratch,
            other => {
                let message = format!("there is no buffer `{other}`");
                self.refuse(node, buffer, message, "`i` is the input, `o` the output, `s` scratch space");
                return None;
            }
        };
        Some(Chunk { buffer: letter, offset: self.count(node, offset)? })
    }
}

pub(super) fn elements<'t>(node: Node<'t, 't>, name: &'static str) -> impl Iterator<Item = Node<'t, 't>> {
    node.children().filter(move |child| child.has_tag_name(name))
}
